// capi/handles/key_value_pairs.h - OrtKeyValuePairs: strings by name, in the order of the names, readable as C arrays.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "capi/handles/kind.h"
#include "onnxruntime_c_api.h"

struct OrtKeyValuePairs {
 public:
  sardonyx::capi::Mark<sardonyx::capi::Kind::kKeyValuePairs> mark;
  using Entries = std::map<std::string, std::string, std::less<>>;

  OrtKeyValuePairs() = default;
  explicit OrtKeyValuePairs(Entries entries) : entries_(std::move(entries)) { Refresh(); }
  OrtKeyValuePairs(const OrtKeyValuePairs& other) : OrtKeyValuePairs(other.entries_) {}
  OrtKeyValuePairs& operator=(const OrtKeyValuePairs&) = delete;

  void Set(std::string_view key, std::string_view value) {
    entries_.insert_or_assign(std::string(key), std::string(value));
    Refresh();
  }
  void Remove(std::string_view key) {
    const auto at = entries_.find(key);
    if (at == entries_.end()) return;
    entries_.erase(at);
    Refresh();
  }
  const char* Find(std::string_view key) const {
    const auto at = entries_.find(key);
    return at == entries_.end() ? nullptr : at->second.c_str();
  }
  const Entries& entries() const { return entries_; }
  const char* const* keys() const { return keys_.data(); }
  const char* const* values() const { return values_.data(); }
  std::size_t size() const { return entries_.size(); }

 private:
  void Refresh() {
    keys_.clear();
    values_.clear();
    for (const auto& [key, value] : entries_) {
      keys_.push_back(key.c_str());
      values_.push_back(value.c_str());
    }
  }
  Entries entries_;
  std::vector<const char*> keys_, values_;
};
