// kernels/gemm/activate_test.cpp - the activations of rows, on every ISA, against the same functions in double.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/gemm/kernel_test.h"

namespace sardonyx::kernels {
namespace {

// Relative errors. Of hard functions, whose terms cancel, to max(|x|, 1), else to max(|y|, 2^-10).
struct Bound {
  Activation activation;
  double bound;
  bool hard = false;
};
constexpr Bound kBounds[] = {
    {{UnaryKind::kRelu}, 0},
    {{UnaryKind::kClip, 0.2f, 0.5f}, 0},
    {{UnaryKind::kLeakyRelu, 0.2f}, 1e-7},
    {{UnaryKind::kSigmoid, 1}, 4e-7},
    {{UnaryKind::kTanh}, 4e-7},
    {{UnaryKind::kGelu}, 8e-7},
    {{UnaryKind::kGeluTanh}, 1.2e-6},
    {{UnaryKind::kHardSigmoid, 0.2f, 0.5f}, 3e-7, true},
    {{UnaryKind::kHardSwish}, 3e-7, true},
    {{UnaryKind::kSwish, 1}, 4e-7},
    {{UnaryKind::kSwish, 0.2f}, 4e-7},
    {{UnaryKind::kElu, 0.2f}, 6e-7},
    {{UnaryKind::kMish}, 3e-7},
    {{UnaryKind::kSelu, 0.2f, 0.5f}, 6e-7},
    {{UnaryKind::kSoftplus}, 6e-7},
    {{UnaryKind::kSoftsign}, 2e-7},
    {{UnaryKind::kThresholdedRelu, 0.2f}, 0},
};

void Activate(const TileF32Set& set, const Activation& activation, std::vector<float>& y) {
  const auto count = static_cast<int64_t>(y.size());
  set.activate(y.data(), 1, count, count, activation);
}

// Over the range where the functions are not constant.
TEST(Activate, ErrorsStayInTheirBounds) {
  std::vector<float> x;
  for (int i = -40000; i <= 40000; ++i) x.push_back(static_cast<float>(i) * 5e-4f);
  for (const float v : {-1e30f, -200.0f, -90.0f, -88.0f, 88.0f, 90.0f, 200.0f, 1e30f}) x.push_back(v);
  for (const TileF32Set* set : Sets())
    for (const auto& [activation, bound, hard] : kBounds) {
      std::vector<float> y = x;
      Activate(*set, activation, y);
      double worst = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double want = Activated(x[i], activation);
        const double magnitude = hard ? std::max(std::abs(x[i]), 1.0f) : std::max(std::abs(want), 0x1p-10);
        worst = std::max(worst, std::abs(y[i] - want) / magnitude);
      }
      EXPECT_LE(worst, bound) << Name(set->isa) << " kind " << static_cast<int>(activation.kind);
    }
}

// Rows of a tile, rows that end within a vector, rows that lie apart: what is between them stays.
TEST(Activate, EveryKindOfEveryShapeChangesItsElementsOnly) {
  for (const TileF32Set* set : Sets())
    for (int kind = 0; kind < static_cast<int>(UnaryKind::kCount); ++kind)
      for (const int64_t columns : {1, 5, 16, 23, 32, 40}) {
        const Activation activation{static_cast<UnaryKind>(kind), 0.5f, 0.75f};
        constexpr int64_t kRows = 3, kStride = 48;
        auto y = Random(kRows * kStride, 5);
        const auto before = y;
        set->activate(y.data(), kRows, columns, kStride, activation);
        for (std::size_t i = 0; i < y.size(); ++i) {
          const bool inside = static_cast<int64_t>(i) % kStride < columns;
          const double want = inside ? Activated(before[i], activation) : before[i];
          if (std::isnan(want)) continue;
          ASSERT_NEAR(y[i], want, inside ? 4e-6 * std::max(std::abs(want), 1.0) : 0)
              << Name(set->isa) << " kind " << kind << " columns " << columns << " at " << i;
        }
      }
}

// Several vectors are computed together where a row has as many, also of two rows of a tile.
TEST(Activate, BitsOfAnElementDoNotDependOnWhatIsComputedWithIt) {
  constexpr int64_t kRows = 3, kStride = 80;
  std::vector<float> x = Random(kRows * kStride, 7);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= static_cast<float>(i % 100);
  const float infinity = std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i + 9 < x.size(); i += 31) {
    x[i] = std::nanf(""), x[i + 3] = infinity, x[i + 5] = -infinity, x[i + 6] = -0.0f, x[i + 9] = 1e-40f;
  }
  for (const TileF32Set* set : Sets())
    for (const Bound& row : kBounds)
      for (const int64_t columns : {16, 32, 40, 64, 75}) {
        std::vector<float> together = x, alone = x;
        set->activate(together.data(), kRows, columns, kStride, row.activation);
        for (int64_t r = 0; r < kRows; ++r)
          for (int64_t c = 0; c < columns; ++c) set->activate(&alone[r * kStride + c], 1, 1, 1, row.activation);
        for (std::size_t i = 0; i < x.size(); ++i) {
          if (std::isnan(together[i]) && std::isnan(alone[i])) continue;
          ASSERT_EQ(std::bit_cast<std::uint32_t>(together[i]), std::bit_cast<std::uint32_t>(alone[i]))
              << Name(set->isa) << " kind " << static_cast<int>(row.activation.kind) << " columns " << columns << " at "
              << i << " of " << x[i];
        }
      }
}

TEST(Activate, NanBecomesWhatTheFunctionSaysAndInfinityDoesNotBecomeNan) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const TileF32Set* set : Sets())
    for (const Bound& row : kBounds) {
      const UnaryKind kind = row.activation.kind;
      std::vector<float> y = {std::nanf(""), infinity, -infinity};
      Activate(*set, row.activation, y);
      EXPECT_EQ(std::isnan(y[0]), std::isnan(Activated(std::nanf(""), row.activation)))
          << Name(set->isa) << " kind " << static_cast<int>(kind);
      EXPECT_FALSE(std::isnan(y[1])) << Name(set->isa) << " kind " << static_cast<int>(kind);
      if (std::isnan(Activated(-infinity, row.activation))) continue;  // x times a factor that is 0 there
      EXPECT_FALSE(std::isnan(y[2])) << Name(set->isa) << " kind " << static_cast<int>(kind);
    }
}

}  // namespace
}  // namespace sardonyx::kernels
