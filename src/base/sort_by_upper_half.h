// base/sort_by_upper_half.h - sorts numbers whose upper half is a key and whose lower half is the place of an element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace sardonyx {

// Sorts n numbers by their upper 32 bits, digit after digit, so that no branch has to guess; equal ones stay in order.
// other: room for n more.
inline void SortByUpperHalf(std::uint64_t* numbers, std::uint64_t* other, std::size_t n) {
  constexpr std::size_t kDigits = 4, kValues = 256;
  const auto digit = [](std::uint64_t number, std::size_t d) { return (number >> (32 + 8 * d)) % kValues; };
  std::size_t counts[kDigits][kValues] = {};
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t d = 0; d < kDigits; ++d) ++counts[d][digit(numbers[i], d)];
  for (std::size_t d = 0; d < kDigits; ++d) {
    std::size_t begin = 0;
    for (std::size_t& count : counts[d]) begin += std::exchange(count, begin);
    for (std::size_t i = 0; i < n; ++i) other[counts[d][digit(numbers[i], d)]++] = numbers[i];
    std::swap(numbers, other);
  }
  static_assert(kDigits % 2 == 0, "the last pass writes to where the numbers were");
}

}  // namespace sardonyx
