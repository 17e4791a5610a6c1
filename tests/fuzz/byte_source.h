// tests/fuzz/byte_source.h - makes decisions from the bytes of a fuzzer; when they are used up, they are zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sardonyx::fuzz {

class ByteSource {
 public:
  explicit ByteSource(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool done() const { return at_ >= bytes_.size(); }
  std::uint8_t Byte() { return done() ? std::uint8_t{0} : bytes_[at_++]; }
  // In [0, count); count at most 65,536. One byte where that is enough.
  std::size_t Below(std::size_t count);
  std::int64_t Between(std::int64_t low, std::int64_t high) {  // both included, at most 65,535 apart
    return low + static_cast<std::int64_t>(Below(static_cast<std::size_t>(high - low + 1)));
  }
  bool Bool() { return (Byte() & 1) != 0; }
  template <typename T>
  const T& Pick(std::span<const T> choices) {
    return choices[Below(choices.size())];
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

}  // namespace sardonyx::fuzz
