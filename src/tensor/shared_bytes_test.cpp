// tensor/shared_bytes_test.cpp - equal bytes are kept once, others are not, and nothing is kept longer than needed.
#include "tensor/shared_bytes.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace sardonyx {
namespace {

Tensor Ramp(float first, std::int64_t count = 4096) {
  Tensor t(DType::kFloat, Shape{count});
  for (std::int64_t i = 0; i < count; ++i) t.data<float>()[i] = first + static_cast<float>(i);
  return t;
}

TEST(SharedBytes, EqualTensorsHoldTheSameMemory) {
  const Tensor first = Shared(Ramp(1)), second = Shared(Ramp(1));
  EXPECT_EQ(first.raw(), second.raw());
  EXPECT_EQ(second.data<float>()[7], 8);
}

TEST(SharedBytes, OneDifferentElementKeepsThemApartWhereverItIs) {
  const Tensor first = Shared(Ramp(2));
  for (std::int64_t i = 0; i < 4096; i += 5) {
    Tensor other = Ramp(2);
    other.data<float>()[i] = -1;
    const Tensor second = Shared(other);
    EXPECT_NE(first.raw(), second.raw()) << i;
    EXPECT_EQ(second.data<float>()[i], -1);
  }
}

TEST(SharedBytes, ShapeAndTypeAreThoseAskedFor) {
  const Tensor first = Shared(Ramp(3));
  const Tensor second = Shared(Ramp(3).Reshaped({64, 64}));
  EXPECT_EQ(first.raw(), second.raw());
  EXPECT_EQ(second.shape(), Shape({64, 64}));
}

TEST(SharedBytes, NothingIsHeldOnceNobodyNeedsIt) {
  std::weak_ptr<Buffer> held;
  {
    const Tensor only = Shared(Ramp(4));
    held = only.buffer();
  }
  EXPECT_TRUE(held.expired());
}

TEST(SharedBytes, LeavesAloneWhatSomebodyElseOwns) {
  std::vector<float> mine(4096, 5), yours(4096, 5);
  const auto view = [](std::vector<float>& v) {
    return Shared(Tensor(DType::kFloat, {4096}, Buffer::View(v.data(), v.size() * sizeof(float))));
  };
  EXPECT_EQ(view(mine).raw(), mine.data());
  EXPECT_EQ(view(yours).raw(), yours.data());
}

TEST(SharedBytes, ManyThreadsShareAtOnce) {
  std::vector<Tensor> made(8);
  std::vector<std::thread> threads;
  for (Tensor& tensor : made) {
    threads.emplace_back([&tensor] {
      for (int round = 0; round < 200; ++round) tensor = Shared(Ramp(static_cast<float>(round % 3)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& tensor : made) EXPECT_EQ(tensor.data<float>()[1], 199 % 3 + 1);
}

}  // namespace
}  // namespace sardonyx
