// model/flat_buffer.h - reads FlatBuffers: tables whose fields lie at offsets, each checked before it is followed.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.h"

namespace sardonyx::model {

// The bytes of one buffer, and how much has been read of it. Parts of a buffer may be shared, so a small one could
// unfold to a huge model: tables are not shared by those who write them, and texts seldom.
class FlatBuffer {
 public:
  // `name` is what errors call it.
  FlatBuffer(std::string_view bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  template <typename... Parts>
  [[noreturn]] void Fail(Code code, const Parts&... parts) const {
    sardonyx::Fail(code, name_, ": ", parts...);
  }
  template <typename T>
  T Read(std::size_t at) const {
    Check(at, sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof(T));
    return value;
  }
  std::string_view Bytes(std::size_t at, std::size_t size) const {
    Check(at, size);
    return bytes_.substr(at, size);
  }
  // Where the offset that lies at `at` leads.
  std::size_t Follow(std::size_t at) const { return at + Read<std::uint32_t>(at); }
  std::size_t size() const { return bytes_.size(); }

  void CountTable() {
    if (++tables_ > bytes_.size() / 4 + 1)
      Fail(Code::kFail, "expected a FlatBuffer whose tables lie beside each other, found ", tables_, " of them in ",
           bytes_.size(), " bytes");
  }
  void CountText(std::size_t size) {
    constexpr std::size_t kShared = 64;  // a name of a value stands once, however many nodes read it
    text_ += size;
    if (text_ / kShared > bytes_.size())
      Fail(Code::kFail, "expected a FlatBuffer that unfolds to at most ", kShared, " times its size, found more in ",
           bytes_.size(), " bytes");
  }

 private:
  void Check(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at)
      Fail(Code::kFail, "expected ", size, " bytes at byte ", at, " of the FlatBuffer, found its end at ",
           bytes_.size());
  }

  std::string_view bytes_;
  std::string name_;
  std::size_t tables_ = 0, text_ = 0;
};

// A table, or none, whose fields are all missing. Fields have the numbers of their order in the schema.
class FlatTable {
 public:
  static constexpr int kMaxDepth = 100;

  FlatTable() = default;
  FlatTable(FlatBuffer& buffer, std::size_t at, int depth) : buffer_(&buffer), at_(at), depth_(depth) {
    buffer.CountTable();
    if (depth > kMaxDepth)
      buffer.Fail(Code::kFail, "expected tables nested at most ", kMaxDepth, " deep, found deeper ones");
    const std::int64_t table = static_cast<std::int64_t>(at) - buffer.Read<std::int32_t>(at);
    if (table < 0) buffer.Fail(Code::kFail, "expected the table at byte ", at, " to say where its fields lie");
    fields_ = static_cast<std::size_t>(table);
    count_ = buffer.Read<std::uint16_t>(fields_) / std::size_t{2};
  }

  explicit operator bool() const { return buffer_ != nullptr; }
  FlatBuffer& buffer() const { return *buffer_; }

  template <typename T>
  T Number(std::size_t field, T otherwise = {}) const {
    const std::size_t at = Find(field);
    return at == 0 ? otherwise : buffer_->Read<T>(at);
  }
  std::string_view Text(std::size_t field) const {
    const std::size_t at = Find(field);
    return at == 0 ? std::string_view() : TextAt(buffer_->Follow(at));
  }
  FlatTable Table(std::size_t field) const {
    const std::size_t at = Find(field);
    return at == 0 ? FlatTable() : FlatTable(*buffer_, buffer_->Follow(at), depth_ + 1);
  }
  // The bytes of a vector whose elements have `size` bytes each.
  std::string_view Vector(std::size_t field, std::size_t size) const {
    const std::size_t at = Find(field);
    if (at == 0) return {};
    const std::size_t vector = buffer_->Follow(at);
    return buffer_->Bytes(vector + 4, buffer_->Read<std::uint32_t>(vector) * size);
  }
  // Calls f(number) for each element.
  template <typename T, typename F>
  void ForEachNumber(std::size_t field, F&& f) const {
    for (std::string_view rest = Vector(field, sizeof(T)); !rest.empty(); rest.remove_prefix(sizeof(T))) {
      T value;
      std::memcpy(&value, rest.data(), sizeof(T));
      f(value);
    }
  }
  template <typename F>
  void ForEachText(std::size_t field, F&& f) const {
    ForEachPlace(field, [&](std::size_t at) { f(TextAt(at)); });
  }
  template <typename F>
  void ForEachTable(std::size_t field, F&& f) const {
    ForEachPlace(field, [&](std::size_t at) { f(FlatTable(*buffer_, at, depth_ + 1)); });
  }

 private:
  // Where a field lies; 0: nowhere, it has its default.
  std::size_t Find(std::size_t field) const {
    if (buffer_ == nullptr || field + 2 >= count_) return 0;
    const auto offset = buffer_->Read<std::uint16_t>(fields_ + 4 + 2 * field);
    return offset == 0 ? 0 : at_ + offset;
  }
  std::string_view TextAt(std::size_t at) const {
    const std::string_view text = buffer_->Bytes(at + 4, buffer_->Read<std::uint32_t>(at));
    buffer_->CountText(text.size());
    return text;
  }
  template <typename F>
  void ForEachPlace(std::size_t field, F&& f) const {
    const std::size_t found = Find(field);
    if (found == 0) return;
    const std::size_t vector = buffer_->Follow(found);
    const std::size_t count =
        buffer_->Bytes(vector + 4, buffer_->Read<std::uint32_t>(vector) * std::size_t{4}).size() / 4;
    for (std::size_t i = 0; i < count; ++i) f(buffer_->Follow(vector + 4 + 4 * i));
  }

  FlatBuffer* buffer_ = nullptr;
  std::size_t at_ = 0, fields_ = 0, count_ = 0;
  int depth_ = 0;
};

}  // namespace sardonyx::model
