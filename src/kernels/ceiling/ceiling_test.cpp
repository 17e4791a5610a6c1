// kernels/ceiling/ceiling_test.cpp - every variant that this CPU can run really does the work that it is timed for.
#include "kernels/ceiling/ceiling.h"

#include <gtest/gtest.h>

#include <vector>

namespace sardonyx::kernels {
namespace {

TEST(Ceiling, StreamsReadAndWriteEveryElementOfEveryLength) {
  for (const Isa isa : SupportedIsas()) {
    for (std::int64_t n = 0; n <= 200; ++n) {
      std::vector<float> x(static_cast<std::size_t>(n)), y(static_cast<std::size_t>(n) + 1, -7);
      for (std::int64_t i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i);
      Ceiling(isa).stream(x.data(), n, y.data());
      for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(y[static_cast<std::size_t>(i)], static_cast<float>(i + 1));
      ASSERT_EQ(y[static_cast<std::size_t>(n)], -7) << Name(isa) << " n=" << n;
      ASSERT_EQ(Ceiling(isa).read(x.data(), n), static_cast<float>(n * (n - 1) / 2)) << Name(isa) << " n=" << n;
    }
  }
}

// With factor f = 0.999 and addend s each lane ends at c f^r + s (1 - f^r) / (1 - f), begun at the number c of its
// chain: whoever leaves a round out gives another sum.
TEST(Ceiling, MultiplyAddsAreDoneInEveryLaneAndRound) {
  for (const Isa isa : SupportedIsas()) {
    const CeilingSet& loops = Ceiling(isa);
    constexpr int kChains = 12;
    const auto lanes = static_cast<double>(loops.multiply_adds_per_round()) / kChains;
    for (const std::int64_t rounds : {0, 1, 2, 100}) {
      double want = 0;
      for (int chain = 0; chain < kChains; ++chain) {
        double value = chain;
        for (std::int64_t r = 0; r < rounds; ++r) value = value * double{0.999f} + 0.25;
        want += value * lanes;
      }
      EXPECT_NEAR(loops.multiply_adds(rounds, 0.25f), want, 1e-4 * want) << Name(isa) << " rounds=" << rounds;
    }
  }
}

}  // namespace
}  // namespace sardonyx::kernels
