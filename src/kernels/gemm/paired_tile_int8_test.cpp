// kernels/gemm/paired_tile_int8_test.cpp - which pairs of groups fit, and sums of the largest products that do.
#include "kernels/gemm/paired_tile_int8.h"

#include <gtest/gtest.h>

#include <vector>

namespace sardonyx::kernels {
namespace {

constexpr std::int64_t kColumns = 16;

// One pair of groups: the four weights of column 3 that meet in the second sum.
std::vector<std::int8_t> Pair(std::int8_t a, std::int8_t b, std::int8_t c, std::int8_t d) {
  std::vector<std::int8_t> groups(2 * 4 * kColumns);
  groups[3 * 4 + 2] = a, groups[3 * 4 + 3] = b;
  groups[4 * kColumns + 3 * 4 + 2] = c, groups[4 * kColumns + 3 * 4 + 3] = d;
  return groups;
}

bool Fits(const std::vector<std::int8_t>& groups) {
  std::uint8_t fits = 77;
  FindPairsThatFit(reinterpret_cast<const std::byte*>(groups.data()), 2, kColumns, &fits);
  return fits == 1;
}

TEST(PairedTileInt8, FindsPairsWhoseWeightsOfOneSignAreSmallTogether) {
  EXPECT_TRUE(Fits(Pair(32, 32, 32, 32)));
  EXPECT_FALSE(Fits(Pair(32, 33, 32, 32)));
  EXPECT_TRUE(Fits(Pair(64, -64, 64, -64)));
  EXPECT_TRUE(Fits(Pair(-64, 0, -64, 1)));
  EXPECT_FALSE(Fits(Pair(-64, -1, -64, 0)));
}

TEST(PairedTileInt8, GivesTheLargestSums) {
  for (const TileInt8Set* set : RunnableTilesInt8()) {
    const PairedTilesInt8* tiles = PairedTilesOf(*set);
    EXPECT_EQ(tiles != nullptr, set->clipped != nullptr);
    if (tiles == nullptr) continue;
    for (const bool together : {true, false}) {
      const std::int8_t w = together ? 32 : 64;
      for (const std::int8_t sign : {std::int8_t{1}, std::int8_t{-1}}) {
        alignas(64) std::int8_t b[3 * 4 * kColumns];  // a pair and a group that is left
        for (std::int8_t& value : b) value = static_cast<std::int8_t>(sign * w);
        std::uint8_t fits = 0;
        FindPairsThatFit(reinterpret_cast<const std::byte*>(b), 3, kColumns, &fits);
        EXPECT_EQ(fits, together);
        constexpr std::int64_t kTiles = 2;
        const std::vector<std::uint8_t> a(kTiles * 6 * 12, 255);
        std::vector<std::int32_t> c(kTiles * 6 * kColumns);
        const std::ptrdiff_t offset = 0;
        TileInt8Args t{};
        t.a0 = reinterpret_cast<const std::byte*>(a.data()), t.a1 = t.a0 + 36, t.a_row_bytes = 12;
        t.tap_offsets = &offset, t.taps = 1, t.k_groups = 3;
        t.b = reinterpret_cast<const std::byte*>(b), t.prefetch = reinterpret_cast<const char*>(b);
        t.columns = t.c_row_stride = kColumns;
        t.c0 = c.data(), t.c1 = c.data() + 3 * kColumns;
        tiles->Run(t, kColumns, 6, kTiles, &fits);
        for (const std::int32_t sum : c) EXPECT_EQ(sum, 12 * 255 * w * sign);
      }
    }
  }
}

}  // namespace
}  // namespace sardonyx::kernels
