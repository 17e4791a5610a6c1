// tensor/weight_memory_test.cpp - parts are zeros, aligned and apart, and freed ones give their memory back.
#include "tensor/weight_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/memory/page_blocks.h"
#include "base/process.h"

namespace sardonyx {
namespace {

constexpr std::size_t kKilo = 1024, kMega = kKilo * kKilo;

// Whether this system has it: not those that watch the heap.
bool IsThere() { return IsPageBlock(kMega); }

// A part that is filled after it was found to be zeros.
class Part {
 public:
  explicit Part(std::size_t size) : size_(size), data_(static_cast<unsigned char*>(AllocateWeightMemory(size))) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data_) % 64, 0u);
    EXPECT_EQ(std::count(data_, data_ + size, 0), static_cast<std::ptrdiff_t>(size));
    std::memset(data_, 1, size);
  }
  ~Part() { FreeWeightMemory(data_, size_); }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  unsigned char* data() const { return data_; }

 private:
  std::size_t size_;
  unsigned char* data_;
};

TEST(WeightMemory, IsForTheSizesOfWeights) {
  EXPECT_FALSE(IsWeightMemory(kKilo));
  EXPECT_TRUE(IsWeightMemory(100 * kKilo));
  EXPECT_TRUE(IsWeightMemory(10 * kMega));
  EXPECT_FALSE(IsWeightMemory(100 * kMega));
}

TEST(WeightMemory, PartsAreZerosAndKeepTheirBytes) {
  if (!IsThere()) GTEST_SKIP() << "no page blocks here";
  std::vector<std::unique_ptr<Part>> parts;
  for (std::size_t i = 0; i < 60; ++i) {
    parts.push_back(std::make_unique<Part>(100 * kKilo + i * 70001));
    parts.back()->data()[0] = static_cast<unsigned char>(i);
    if (i % 3 == 2) parts[i - 1].reset();
    if (i % 5 == 4) parts[i].reset();  // the last one of its range
  }
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i] != nullptr) {
      EXPECT_EQ(parts[i]->data()[0], i);
    }
}

TEST(WeightMemory, ThePlaceOfAPartThatIsFreedAtOnceServesTheNext) {
  if (!IsThere()) GTEST_SKIP() << "no page blocks here";
  const Part stays(kMega);
  const unsigned char* place = nullptr;
  {
    const Part freed(kMega);
    place = freed.data();
  }
  const Part next(kMega / 2);
  EXPECT_EQ(next.data(), place);
}

TEST(WeightMemory, AFreedPartGivesItsMemoryBackWhileItsNeighboursStay) {
  if (!IsThere()) GTEST_SKIP() << "no page blocks here";
  constexpr std::size_t kSize = 5 * kMega;
  std::vector<std::unique_ptr<Part>> parts;
  for (int i = 0; i < 6; ++i) parts.push_back(std::make_unique<Part>(kSize));
  for (const std::size_t i : {1, 3}) {
    const unsigned char* const data = parts[i]->data();
    const std::optional<std::size_t> before = ResidentBytes(data, kSize);
    if (!before) GTEST_SKIP() << "the system does not tell what is resident";
    EXPECT_GT(*before, kSize - 100 * kKilo);
    parts[i].reset();
    EXPECT_EQ(ResidentBytes(data, kSize).value_or(kSize), 0u);
    EXPECT_EQ(parts[i - 1]->data()[kSize - 1], 1);
    EXPECT_EQ(parts[i + 1]->data()[0], 1);
  }
}

TEST(WeightMemory, PartsThatAreFreedFromTheLastOnGiveTheirMemoryBack) {
  if (!IsThere()) GTEST_SKIP() << "no page blocks here";
  const Part stays(kMega);
  std::vector<std::unique_ptr<Part>> parts;
  for (int i = 0; i < 200; ++i) parts.push_back(std::make_unique<Part>(50 * kKilo + 1));
  const unsigned char* const first = parts.front()->data();
  const auto size = static_cast<std::size_t>(parts.back()->data() - first);
  while (!parts.empty()) parts.pop_back();
  const std::optional<std::size_t> after = ResidentBytes(first, size);
  if (!after) GTEST_SKIP() << "the system does not tell what is resident";
  EXPECT_LE(*after, 2 * kMega);
  parts.push_back(std::make_unique<Part>(3 * kMega));  // the same place: zeros
  EXPECT_EQ(parts.front()->data(), first);
}

TEST(WeightMemory, SmallNeighboursThatAreFreedLeaveNothing) {
  if (!IsThere()) GTEST_SKIP() << "no page blocks here";
  std::vector<std::unique_ptr<Part>> parts;
  for (int i = 0; i < 200; ++i) parts.push_back(std::make_unique<Part>(17 * kKilo));
  const unsigned char* const first = parts[1]->data();
  const auto size = static_cast<std::size_t>(parts[199]->data() - first);
  for (std::size_t i = 1; i < 199; ++i) parts[i].reset();
  const std::optional<std::size_t> after = ResidentBytes(first, size);
  if (!after) GTEST_SKIP() << "the system does not tell what is resident";
  EXPECT_EQ(*after, 0u);
}

TEST(WeightMemory, ThreadsNeverGetTheSamePart) {
  if (!IsThere()) GTEST_SKIP() << "no page blocks here";
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      for (std::size_t round = 0; round < 100; ++round) {
        const Part first(20 * kKilo + round), second(300 * kKilo);
        std::memset(first.data(), thread, 20 * kKilo);
        std::memset(second.data(), thread, 300 * kKilo);
        EXPECT_EQ(std::count(first.data(), first.data() + 20 * kKilo, thread), static_cast<std::ptrdiff_t>(20 * kKilo));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace sardonyx
