// tests/providers/seen/seen.h - a plug-in that writes down all that it is shown, as JSON: what its files share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../small_plugin.h"

namespace seen {

using namespace small_plugin;

// ---- text.cpp: JSON
std::string Text(const std::string& text);
std::string List(const std::vector<std::string>& items);
class Object {
 public:
  Object& Add(const std::string& key, const std::string& json);
  Object& Text(const std::string& key, const char* text) { return Add(key, seen::Text(text != nullptr ? text : "")); }
  Object& Number(const std::string& key, std::int64_t number) { return Add(key, std::to_string(number)); }
  Object& Flag(const std::string& key, bool flag) { return Add(key, flag ? "true" : "false"); }
  std::string Json() const { return "{" + body_ + "}"; }

 private:
  std::string body_;
};

// ---- values.cpp
std::string TypeJson(const OrtTypeInfo* type);
std::string TensorJson(const OrtValue* tensor);  // its type, its shape and its bytes
std::string ValueJson(const OrtValueInfo* info);
std::string NameOf(const OrtValueInfo* info);  // "" for a missing one

// ---- graphs.cpp
std::string GraphJson(const OrtGraph* graph, bool with_bodies);
std::string NodeJson(const OrtNode* node, bool with_bodies);

}  // namespace seen
