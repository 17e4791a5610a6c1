// kernels/tree/forest_test.cpp - every ISA, both forms of trees, all numbers of rows, against a plain walk.
#include "kernels/tree/forest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "kernels/tree/forest_builder.h"

namespace sardonyx::kernels {
namespace {

struct RandomForest {
  std::mt19937 random;
  ForestSource source;

  // A tree of `leaves` leaves, grown at random places.
  std::int32_t Grow(int leaves) {
    if (leaves == 1) return -1 - source.leaves++;
    const auto at = static_cast<std::int32_t>(source.splits.size());
    Split split;
    split.mode = static_cast<Branch>(random() % 7);
    split.missing_is_true = random() % 3 == 0;
    split.feature = static_cast<std::int32_t>(random() % 6);
    split.value = static_cast<double>(static_cast<int>(random() % 9) - 4);
    split.first_member = static_cast<std::int32_t>(source.members.size());
    if (split.mode == Branch::kMember)
      for (int i = 0; i < 3; ++i) source.members.push_back(static_cast<double>(static_cast<int>(random() % 9) - 4));
    split.end_member = static_cast<std::int32_t>(source.members.size());
    source.splits.push_back(split);
    const int left = 1 + static_cast<int>(random() % static_cast<unsigned>(leaves - 1));
    const std::int32_t on_true = Grow(left), on_false = Grow(leaves - left);
    source.splits[at].on_true = on_true;
    source.splits[at].on_false = on_false;
    return at;
  }
};

bool Takes(const ForestSource& source, const Split& split, double x) {
  if (std::isnan(x) && split.missing_is_true) return true;
  switch (split.mode) {
    case Branch::kLeq:
      return x <= split.value;
    case Branch::kLt:
      return x < split.value;
    case Branch::kGte:
      return x >= split.value;
    case Branch::kGt:
      return x > split.value;
    case Branch::kEq:
      return x == split.value;
    case Branch::kNeq:
      return x != split.value;
    case Branch::kMember:
      break;
  }
  const auto begin = source.members.begin();
  return std::find(begin + split.first_member, begin + split.end_member, x) != begin + split.end_member;
}

std::int32_t LeafOf(const ForestSource& source, std::int32_t at, const double* x) {
  while (at >= 0) {
    const Split& split = source.splits[at];
    at = Takes(source, split, x[split.feature]) ? split.on_true : split.on_false;
  }
  return -1 - at;
}

// Small integers, some NaN, infinities and -0.
std::vector<double> Rows(std::mt19937& random, std::size_t count) {
  std::vector<double> x(count);
  for (double& v : x) {
    const unsigned kind = random() % 16;
    v = kind == 0   ? std::numeric_limits<double>::quiet_NaN()
        : kind == 1 ? -0.0
        : kind == 2 ? (random() % 2 ? INFINITY : -INFINITY)
                    : static_cast<double>(static_cast<int>(random() % 11) - 5);
  }
  return x;
}

void Check(Isa isa, bool doubles, const std::vector<int>& sizes, unsigned seed) {
  RandomForest made{std::mt19937(seed), {}};
  made.source.doubles = doubles;
  for (const int leaves : sizes) {
    const std::int32_t root = made.Grow(leaves);
    made.source.roots.push_back(root);
  }
  const Forest forest = Forest::Build(made.source);
  const auto trees = static_cast<std::int64_t>(sizes.size());
  for (std::int64_t rows = 1; rows <= kForestRows; ++rows) {
    const std::vector<double> x = Rows(made.random, static_cast<std::size_t>(rows) * 6);
    const std::vector<float> floats(x.begin(), x.end());
    std::vector<std::int32_t> keys(static_cast<std::size_t>(forest.column_count() * kForestRows));
    if (doubles) {
      forest.Keys(x.data(), 6, rows, keys.data());
    } else {
      ForestOf(isa).keys(forest.view(), floats.data(), 6, rows, keys.data());
    }
    std::vector<std::int32_t> slots(static_cast<std::size_t>(trees * kForestRows));
    ForestOf(isa).slots(forest.view(), 0, trees, keys.data(), rows, slots.data());
    for (std::int64_t t = 0; t < trees; ++t) {
      for (std::int64_t r = 0; r < rows; ++r) {
        ASSERT_EQ(forest.LeafOf(slots[t * kForestRows + r]), LeafOf(made.source, made.source.roots[t], &x[r * 6]))
            << Name(isa) << " seed " << seed << " tree of " << sizes[t] << " leaves, row " << r << " of " << rows;
      }
    }
  }
}

TEST(Forest, ReachesTheLeavesOfAPlainWalk) {
  for (const Isa isa : SupportedIsas()) {
    for (const bool doubles : {false, true}) {
      Check(isa, doubles, {1, 2, 3, 16, 17, 31, 32, 33, 64, 65}, 1);
      Check(isa, doubles, {96, 97, 127, 128, 129, 300, 1, 2}, 2);
    }
  }
}

TEST(Forest, AddsTheValuesOfTheLeavesInTheOrderOfTheTrees) {
  for (const Isa isa : SupportedIsas()) {
    RandomForest made{std::mt19937(3), {}};
    for (const int leaves : {5, 40, 200, 70, 100, 130, 2, 9, 32, 1}) {
      const std::int32_t root = made.Grow(leaves);
      made.source.roots.push_back(root);
    }
    Forest forest = Forest::Build(made.source);
    std::vector<float> values, weights;
    for (std::int64_t s = 0; s < forest.slot_count(); ++s) {
      values.push_back(static_cast<float>(forest.LeafOf(s)) / 7);
      weights.insert(weights.end(), {values.back(), -1, 2 * values.back()});
    }
    forest.SetValues(values, std::vector<std::int32_t>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1});
    for (const std::int64_t rows : {1, 2, 3, 16, 17, 32}) {
      const std::vector<double> x = Rows(made.random, static_cast<std::size_t>(rows) * 6);
      const std::vector<float> floats(x.begin(), x.end());
      std::vector<std::int32_t> keys(static_cast<std::size_t>(forest.column_count() * kForestRows)), slots(10 * 32);
      ForestOf(isa).keys(forest.view(), floats.data(), 6, rows, keys.data());
      std::vector<float> sums(2 * 32, 1.0f), sums_of_rows(32 * 3, 1.0f);
      ForestOf(isa).add_values(forest.view(), 0, 10, keys.data(), rows, sums.data());
      ForestOf(isa).slots(forest.view(), 0, 10, keys.data(), rows, slots.data());
      ForestOf(isa).add_rows(weights.data(), 3, slots.data(), 10, rows, sums_of_rows.data());
      for (std::int64_t r = 0; r < rows; ++r) {
        float expected[2] = {1, 1}, row[3] = {1, 1, 1};
        for (std::size_t t = 0; t < 10; ++t) {
          const float value = static_cast<float>(LeafOf(made.source, made.source.roots[t], &x[r * 6])) / 7;
          expected[t % 2] += value;
          row[0] += value, row[1] -= 1, row[2] += 2 * value;
        }
        EXPECT_EQ(sums[r], expected[0]) << Name(isa);
        EXPECT_EQ(sums[32 + r], expected[1]) << Name(isa);
        for (int k = 0; k < 3; ++k) EXPECT_EQ(sums_of_rows[r * 3 + k], row[k]) << Name(isa);
      }
    }
  }
}

}  // namespace
}  // namespace sardonyx::kernels
