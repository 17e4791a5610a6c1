// kernels/copy/storage.h - maps every element type to one of a few storage types; operators that only move elements
// need no others.
//
// Numbers are moved by size (1, 2, 4, 8, 16 bytes), strings as objects, types of 2 and 4 bits through PackedStorage.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "base/dtype.h"

namespace sardonyx::kernels {

struct Bytes16 {
  std::uint64_t low, high;
  bool operator==(const Bytes16&) const = default;
};

// A storage whose T is const can only be read.
template <typename T>
struct PlainStorage {
  using Element = std::remove_const_t<T>;
  using Source = PlainStorage<const T>;
  static constexpr bool kPacked = false;  // packed: neighbours share a byte, so two threads must not write side by side
  T* data;

  operator Source() const requires(!std::is_const_v<T>) { return {data}; }
  const T& Get(std::int64_t i) const { return data[i]; }
  void Set(std::int64_t i, const T& value) const { data[i] = value; }
  // data[at..at+n) = from.data[begin..begin+n); the ranges do not overlap.
  void CopyRun(std::int64_t at, Source from, std::int64_t begin, std::int64_t n) const {
    if constexpr (std::is_trivially_copyable_v<T>) {
      if (n == 0) return;  // there may be no memory
      std::memcpy(data + at, from.data + begin, static_cast<std::size_t>(n) * sizeof(T));
    } else {
      std::copy_n(from.data + begin, n, data + at);
    }
  }
  void Fill(std::int64_t at, std::int64_t n, const T& value) const { std::fill_n(data + at, n, value); }
};

// Elements of kBits bits, the first in the low bits of its byte.
template <int kBits, typename Byte = std::uint8_t>
struct PackedStorage {
  using Element = std::uint8_t;
  using Source = PackedStorage<kBits, const std::uint8_t>;
  static constexpr bool kPacked = true;
  static constexpr int kPerByte = 8 / kBits;
  static constexpr unsigned kMask = (1u << kBits) - 1;
  Byte* data;

  operator Source() const requires(!std::is_const_v<Byte>) { return {data}; }
  std::uint8_t Get(std::int64_t i) const {
    return static_cast<std::uint8_t>((data[i / kPerByte] >> (i % kPerByte * kBits)) & kMask);
  }
  void Set(std::int64_t i, std::uint8_t value) const {
    const int shift = static_cast<int>(i % kPerByte) * kBits;
    std::uint8_t& byte = data[i / kPerByte];
    byte = static_cast<std::uint8_t>((byte & ~(kMask << shift)) | ((value & kMask) << shift));
  }
  void CopyRun(std::int64_t at, Source from, std::int64_t begin, std::int64_t n) const {
    if (at % kPerByte == 0 && begin % kPerByte == 0) {
      const std::int64_t whole = n / kPerByte;
      if (whole > 0)  // else there may be no memory
        std::memcpy(data + at / kPerByte, from.data + begin / kPerByte, static_cast<std::size_t>(whole));
      at += whole * kPerByte;
      begin += whole * kPerByte;
      n -= whole * kPerByte;
    }
    for (std::int64_t i = 0; i < n; ++i) Set(at + i, from.Get(begin + i));
  }
  void Fill(std::int64_t at, std::int64_t n, std::uint8_t value) const {
    for (std::int64_t i = 0; i < n; ++i) Set(at + i, value);
  }
};

// Calls f.template operator()<Storage>() with the storage of `dtype`.
template <typename F>
void VisitStorage(DType dtype, F&& f) {
  if (IsString(dtype)) return f.template operator()<PlainStorage<std::string>>();
  switch (Bits(dtype)) {
    case 2:
      return f.template operator()<PackedStorage<2>>();
    case 4:
      return f.template operator()<PackedStorage<4>>();
    case 8:
      return f.template operator()<PlainStorage<std::uint8_t>>();
    case 16:
      return f.template operator()<PlainStorage<std::uint16_t>>();
    case 32:
      return f.template operator()<PlainStorage<std::uint32_t>>();
    case 64:
      return f.template operator()<PlainStorage<std::uint64_t>>();
    default:
      return f.template operator()<PlainStorage<Bytes16>>();
  }
}

// The elements at `data`.
template <typename Storage>
Storage StorageAt(void* data) {
  return {static_cast<decltype(Storage::data)>(data)};
}
template <typename Storage>
typename Storage::Source StorageAt(const void* data) {
  return {static_cast<decltype(Storage::Source::data)>(data)};
}

}  // namespace sardonyx::kernels
