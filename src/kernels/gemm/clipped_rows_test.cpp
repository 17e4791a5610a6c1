// kernels/gemm/clipped_rows_test.cpp - clipped values and remainders give the original ones, and no sum of two products
// leaves 16 bits.
#include "kernels/gemm/clipped_rows.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/gemm/kernel_test.h"
#include "kernels/gemm/tile_int8.h"

namespace sardonyx::kernels {
namespace {

std::vector<const ClippedRowsSet*> RowSets() {
  std::vector<const ClippedRowsSet*> sets;
  for (const auto& [isa, set] : Runnable(TileInt8Variants()))
    if (set()->clipped != nullptr) sets.push_back(set()->clipped);
  return sets;
}

std::vector<std::uint8_t> Bytes(std::size_t count, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(engine());
  return bytes;
}

// Adds the remainders of a list to values, or takes them from these.
void Apply(const ClippedGroup* first, const ClippedGroup* last, int64_t row, int sign, std::vector<int>* values) {
  for (; first != last; ++first) {
    EXPECT_EQ(first->where % kClippedRows, static_cast<std::uint32_t>(row));
    for (std::uint32_t i = 0; i < 4; ++i) {
      const int remainder = static_cast<int>(first->values >> (8 * i) & 0xFF);
      EXPECT_LE(remainder, 128);
      (*values)[first->where / kClippedRows * 4 + i] += sign * remainder;
    }
  }
}

TEST(ClippedRows, ClippedValuesAndRemaindersAreTheWhole) {
  for (const ClippedRowsSet* loops : RowSets())
    for (int64_t n = 0; n <= 100; ++n)
      for (const int shift : {0, 1, 64, 128})
        for (const std::uint8_t flip : {0, 128}) {
          SCOPED_TRACE(testing::Message() << n << " values, shift " << shift << ", flip " << int{flip});
          const auto x = Bytes(static_cast<std::size_t>(n), 1);
          auto limits = Bytes(static_cast<std::size_t>(n) + 64, 2);
          for (std::uint8_t& limit : limits) limit |= 127;
          std::vector<std::uint8_t> out(static_cast<std::size_t>(n) + 64, 77);
          std::vector<ClippedGroup> above(64), below(64);
          ClippedWindow window = {
              shift, limits.data(), flip, {above.data(), above.data() + 64}, {below.data(), below.data() + 64}, false};
          const std::uint32_t sum = loops->clip(x.data(), n, 0, 5, out.data(), &window);
          ASSERT_FALSE(window.is_full);
          std::vector<int> values(static_cast<std::size_t>(n) + 64);
          for (int64_t i = 0; i < n; ++i) {
            EXPECT_LE(out[i], limits[i]);
            values[i] = out[i] + shift;
          }
          Apply(above.data(), window.above.next, 5, 1, &values);
          Apply(below.data(), window.below.next, 5, -1, &values);
          std::uint32_t want = 0;
          for (int64_t i = 0; i < n; ++i) {
            ASSERT_EQ(values[i], x[i] ^ flip) << "at " << i;
            want += x[i] ^ flip;
          }
          EXPECT_EQ(sum, want);
          for (int64_t i = n; i < (n + 3) / 4 * 4; ++i) EXPECT_EQ(out[i], 0);
        }
}

TEST(ClippedRows, SaysWhereAListIsFull) {
  for (const ClippedRowsSet* loops : RowSets()) {
    const std::vector<std::uint8_t> x(96, 255), limits(128, 127);
    std::vector<std::uint8_t> out(128);
    std::vector<ClippedGroup> list(16);
    ClippedWindow window = {0, limits.data(), 0, {list.data(), list.data() + 16}, {list.data(), list.data()}, false};
    loops->clip(x.data(), 64, 0, 0, out.data(), &window);
    EXPECT_FALSE(window.is_full);
    loops->clip(x.data() + 64, 32, 16, 0, out.data() + 64, &window);
    EXPECT_TRUE(window.is_full);
    EXPECT_EQ(window.above.next, list.data() + 16);
  }
}

TEST(ClippedRows, LimitsAreTheLargestThatCannotSaturate) {
  Serial serial;
  for (const ClippedRowsSet* loops : RowSets()) {
    constexpr int64_t kGroups = 9, kPanels = 3, kPanelBytes = kGroups * 4 * kClippedColumns;
    auto w = Bytes(kPanels * kPanelBytes, 3);
    for (int64_t i = 0; i < 2 * 4 * kClippedColumns; ++i)  // two groups of small weights, and one of -128
      for (int64_t p = 0; p < kPanels; ++p)
        w[p * kPanelBytes + i] = static_cast<std::uint8_t>(w[p * kPanelBytes + i] % 64);
    std::fill_n(w.begin() + 3 * 4 * kClippedColumns, 4 * kClippedColumns, std::uint8_t{0x80});
    Scratch memory(ClippedLimits::Bytes(kGroups));
    ClippedLimits::Write(*loops, reinterpret_cast<const std::byte*>(w.data()), kPanels, kPanelBytes, kGroups,
                         memory.data(), serial);
    const ClippedLimits limits(memory.data());
    int sum = 0;
    for (int64_t k = 0; k < 4 * kGroups; ++k) {
      int largest = 0;  // of two weights of one sign that share a sum
      for (int64_t p = 0; p < kPanels; ++p)
        for (int64_t j = 0; j < kClippedColumns; ++j) {
          const std::uint8_t* pair = &w[p * kPanelBytes + k / 4 * 4 * kClippedColumns + j * 4 + k % 4 / 2 * 2];
          const int a = static_cast<std::int8_t>(pair[0]), b = static_cast<std::int8_t>(pair[1]);
          largest = std::max({largest, std::max(a, 0) + std::max(b, 0), -std::min(a, 0) - std::min(b, 0)});
        }
      const int limit = limits.values()[k];
      EXPECT_TRUE(limit * largest <= 32767 && (limit == 255 || (limit + 1) * largest > 32767)) << "value " << k;
      EXPECT_GE(limit, 127);
      sum += limit;
    }
    EXPECT_EQ(limits.mean(), sum / (4 * kGroups));
    EXPECT_EQ(limits.values()[0], 255);
    EXPECT_EQ(limits.values()[3 * 4], 127);
    EXPECT_FALSE(limits.merges());
  }
}

TEST(ClippedRows, SmallWeightsOfTwoGroupsShareSums) {
  Serial serial;
  for (const ClippedRowsSet* loops : RowSets()) {
    constexpr int64_t kGroups = 9, kPanels = 3, kPanelBytes = kGroups * 4 * kClippedColumns;
    auto w = Bytes(kPanels * kPanelBytes, 5);
    for (std::uint8_t& b : w) b = static_cast<std::uint8_t>(b % 129 - 64);
    std::fill_n(w.begin(), 8 * kClippedColumns, std::uint8_t{0xC0});  // -64
    for (int64_t i = 0; i < 2 * 4 * kClippedColumns; ++i)             // groups 2 and 3
      for (int64_t p = 0; p < kPanels; ++p) w[p * kPanelBytes + 8 * kClippedColumns + i] = 32;
    Scratch memory(ClippedLimits::Bytes(kGroups));
    ClippedLimits::Write(*loops, reinterpret_cast<const std::byte*>(w.data()), kPanels, kPanelBytes, kGroups,
                         memory.data(), serial);
    const ClippedLimits limits(memory.data());
    EXPECT_TRUE(limits.merges());
    for (int64_t k = 0; k < 4 * kGroups; ++k) {
      int largest = 0;  // of up to four weights of one sign that share a sum
      for (int64_t p = 0; p < kPanels; ++p)
        for (int64_t j = 0; j < kClippedColumns; ++j) {
          int above = 0, below = 0;
          for (int64_t g = k / 8 * 2; g < std::min(k / 8 * 2 + 2, kGroups); ++g)
            for (int64_t i = 0; i < 2; ++i) {
              const int value =
                  static_cast<std::int8_t>(w[p * kPanelBytes + (g * kClippedColumns + j) * 4 + k % 4 / 2 * 2 + i]);
              above += std::max(value, 0), below -= std::min(value, 0);
            }
          largest = std::max({largest, above, below});
        }
      const int limit = limits.values()[k];
      EXPECT_TRUE(limit * largest <= 32767 && (limit == 255 || (limit + 1) * largest > 32767)) << "value " << k;
      EXPECT_GE(limit, 127);
    }
    EXPECT_EQ(limits.values()[0], 127);
    EXPECT_EQ(limits.values()[8], 255);
  }
}

}  // namespace
}  // namespace sardonyx::kernels
