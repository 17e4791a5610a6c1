// tensor/shared_bytes_test.cpp - equal bytes are kept once, different ones are not shared, and nothing is kept longer
// than needed.
#include "tensor/shared_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "base/process.h"

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

TEST(SharedBytes, MemoryToFillIsZeroAndAlignedAlsoWhereItWasUsedBefore) {
  for (const std::int64_t count : {1, 100, 1000, 5000, 100'000}) {
    for (int round = 0; round < 3; ++round) {
      Tensor zeros = ZeroedToShare(DType::kUInt8, Shape{count});
      auto* const bytes = zeros.data<std::uint8_t>();
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes) % 64, 0u) << count;
      EXPECT_EQ(std::count(bytes, bytes + count, 0), count);
      std::memset(bytes, 255, static_cast<std::size_t>(count));
    }
  }
  EXPECT_EQ(ZeroedToShare(DType::kFloat, Shape{3, 0}).count(), 0);
  try {
    ZeroedToShare(DType::kUInt8, Shape{std::int64_t{1} << 58});
    ADD_FAILURE() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("out of memory: cannot allocate 288230376151711744 bytes"),
              std::string::npos)
        << error.what();
  }
}

// Who fills them touches the pages of a large block first, on its own node of memory.
TEST(SharedBytes, NobodyHasTouchedTheMemoryToFill) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  Tensor zeros = ZeroedToShare(DType::kUInt8, Shape{kBytes});
  const std::optional<std::size_t> before = ResidentBytes(zeros.raw(), kBytes);
  if (!before) GTEST_SKIP() << "this system does not tell what is resident";
  EXPECT_LT(*before, kBytes / 16) << "but for a large page at the beginning";
  std::memset(zeros.raw(), 1, kBytes);
  EXPECT_GT(ResidentBytes(zeros.raw(), kBytes).value_or(0), kBytes / 2);
}

}  // namespace
}  // namespace sardonyx
