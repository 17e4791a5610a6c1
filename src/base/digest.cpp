// base/digest.cpp - computes digests.
#include "base/digest.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sardonyx {
namespace {

std::uint64_t Mixed(std::uint64_t sum, std::uint64_t word, std::uint64_t factor) {
  sum = (sum ^ word) * factor;
  return sum ^ (sum >> 29);
}

}  // namespace

// Two sums with different factors and starts; four words of each are under way at a time.
Digest DigestOf(std::span<const std::byte> bytes) {
  constexpr std::uint64_t kFirst = 0x9E3779B97F4A7C15u, kSecond = 0xC2B2AE3D27D4EB4Fu;
  std::array<std::uint64_t, 4> first = {1, 2, 3, 4}, second = {5, 6, 7, 8};
  std::size_t at = 0;
  for (; at + 32 <= bytes.size(); at += 32) {
    for (std::size_t lane = 0; lane < 4; ++lane) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at + 8 * lane, sizeof word);
      first[lane] = Mixed(first[lane], word, kFirst);
      second[lane] = Mixed(second[lane], std::rotl(word, 32), kSecond);
    }
  }
  for (; at < bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<std::size_t>(8, bytes.size() - at));
    first[0] = Mixed(first[0], word, kFirst);
    second[0] = Mixed(second[0], std::rotl(word, 32), kSecond);
  }
  Digest digest = {bytes.size(), bytes.size()};
  for (std::size_t lane = 0; lane < 4; ++lane) {
    digest[0] = Mixed(digest[0], first[lane], kSecond);
    digest[1] = Mixed(digest[1], second[lane], kFirst);
  }
  return digest;
}

}  // namespace sardonyx
