// kernels/copy/stream_test.cpp - every form of the writes past the caches that this CPU can run, at all alignments.
#include "kernels/copy/stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace sardonyx::kernels {
namespace {

TEST(Stream, EveryFormWritesTheBytesAndNoOthers) {
  for (const auto& [isa, stream] : Runnable(StreamVariants())) {
    SCOPED_TRACE(Name(isa));
    std::vector<std::uint8_t> x(700);
    std::iota(x.begin(), x.end(), std::uint8_t{1});
    for (const std::size_t begin : {0U, 1U, 17U, 63U, 64U}) {
      for (const std::size_t n : {0U, 1U, 62U, 63U, 64U, 65U, 127U, 128U, 500U}) {
        std::vector<std::uint8_t> y(700, 255), want = y;
        std::copy_n(x.begin() + 3, n, want.begin() + static_cast<std::ptrdiff_t>(begin));
        stream(x.data() + 3, y.data() + begin, n);
        ASSERT_EQ(y, want) << begin << " " << n;
      }
    }
  }
}

TEST(Stream, BlocksEndWhereOneIsNotMadeWhole) {
  std::vector<std::int64_t> y(5000, -1);
  auto* to = reinterpret_cast<std::byte*>(y.data());
  const auto make = [&](std::size_t limit) {
    return StreamBlocks(y.size(), sizeof(std::int64_t), to, [&](std::size_t i, std::size_t n, std::byte* block) {
      const std::size_t made = i + n > limit ? limit - i : n;
      std::iota(reinterpret_cast<std::int64_t*>(block), reinterpret_cast<std::int64_t*>(block) + made,
                static_cast<std::int64_t>(i));
      return made;
    });
  };
  EXPECT_EQ(make(3000), 3000U);
  EXPECT_EQ(y[2999], 2999);
  EXPECT_EQ(y[3000], -1);
  EXPECT_EQ(make(5000), 5000U);
  EXPECT_EQ(y.back(), 4999);
}

}  // namespace
}  // namespace sardonyx::kernels
