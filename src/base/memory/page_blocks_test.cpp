// base/memory/page_blocks_test.cpp - blocks are aligned, reused for requests of a similar size, returned to the system,
// and never handed out twice.
#include "base/memory/page_blocks.h"

#include <gtest/gtest.h>

#if defined(__linux__)
#include <sys/resource.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace sardonyx {
namespace {

constexpr std::size_t kMega = std::size_t{1} << 20;

TEST(PageBlocks, AFreedBlockServesTheNextOfItsSizeUntilItIsReleased) {
  if (!IsPageBlock(kMega)) GTEST_SKIP() << "no page blocks here";
  EXPECT_FALSE(IsPageBlock(kMega / 16));
  ReleasePageBlocks();
  void* const first = AllocatePageBlock(3 * kMega);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0u);
  std::memset(first, 1, 3 * kMega);
  FreePageBlock(first);
  EXPECT_GE(KeptPageBlocks(), 3 * kMega);
  void* const small = AllocatePageBlock(kMega);
  EXPECT_NE(small, first) << "a block of three times the size is no fit";
  void* const again = AllocatePageBlock(3 * kMega - 5000);
  EXPECT_EQ(again, first);
  EXPECT_EQ(KeptPageBlocks(), 0u);
  FreePageBlock(small);
  FreePageBlock(again);
  ReleasePageBlocks();
  EXPECT_EQ(KeptPageBlocks(), 0u);
}

TEST(PageBlocks, AFreedBlockIsClearedForZeros) {
  if (!IsPageBlock(kMega)) GTEST_SKIP() << "no page blocks here";
  ReleasePageBlocks();
  void* const first = AllocatePageBlock(kMega);
  std::memset(first, 1, kMega);
  FreePageBlock(first);
  auto* const zeros = static_cast<unsigned char*>(AllocateZeroPageBlock(kMega));
  EXPECT_EQ(zeros, first);
  EXPECT_EQ(std::count(zeros, zeros + kMega, 0), static_cast<std::ptrdiff_t>(kMega));
  auto* const fresh = static_cast<unsigned char*>(AllocateZeroPageBlock(kMega));
  EXPECT_EQ(std::count(fresh, fresh + kMega, 0), static_cast<std::ptrdiff_t>(kMega));
  ReturnPageBlock(zeros);
  ReturnPageBlock(fresh);
  EXPECT_EQ(KeptPageBlocks(), 0u);
}

TEST(PageBlocks, AKeptBlockOfZerosIsTakenOnlyIfThereIsOne) {
  if (!IsPageBlock(kMega)) GTEST_SKIP() << "no page blocks here";
  ReleasePageBlocks();
  EXPECT_EQ(TakeKeptZeroPageBlock(kMega), nullptr);
  void* const first = AllocatePageBlock(kMega);
  std::memset(first, 1, kMega);
  FreePageBlock(first);
  auto* const zeros = static_cast<unsigned char*>(TakeKeptZeroPageBlock(kMega));
  EXPECT_EQ(zeros, first);
  EXPECT_EQ(std::count(zeros, zeros + kMega, 0), static_cast<std::ptrdiff_t>(kMega));
  ReturnPageBlock(zeros);
}

TEST(PageBlocks, ReservedPagesAreZerosAgainWhenTheyWereDropped) {
  if (!IsPageBlock(kMega)) GTEST_SKIP() << "no page blocks here";
  constexpr std::size_t kSize = 4 * kHugePage;
  auto* const pages = static_cast<unsigned char*>(ReservePages(kSize));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pages) % kSize, 0u);
  PreferHugePages(pages, kSize);
  std::memset(pages, 1, kSize);
  DropPages(pages + 5000, kMega);
  const auto begin = static_cast<std::ptrdiff_t>(8192), end = static_cast<std::ptrdiff_t>((5000 + kMega) / 4096 * 4096);
  EXPECT_EQ(std::count(pages, pages + begin, 1), begin) << "a page that was not dropped as a whole";
  EXPECT_EQ(std::count(pages + begin, pages + end, 0), end - begin);
  EXPECT_EQ(std::count(pages + end, pages + kSize, 1), static_cast<std::ptrdiff_t>(kSize) - end);
  UnreservePages(pages, kSize);
}

#if defined(__linux__)
long PageFaults() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

// Many blocks that each become a little longer, as a decoder's keys and values do, old and new ones at a time.
TEST(PageBlocks, LengthsThatGrowTouchFewFreshPages) {
  if (!IsPageBlock(kMega)) GTEST_SKIP() << "no page blocks here";
  ReleasePageBlocks();
  std::vector<void*> old;
  long faults = 0;
  for (std::size_t step = 0; step < 400; ++step) {
    if (step == 2) faults = PageFaults();
    const std::size_t bytes = kMega + step * 768;
    std::vector<void*> grown;
    for (int i = 0; i < 60; ++i) {
      grown.push_back(AllocatePageBlock(bytes));
      for (std::size_t at = 0; at < bytes; at += 4096) static_cast<char*>(grown.back())[at] = 1;
    }
    for (void* const block : old) FreePageBlock(block);
    old = std::move(grown);
  }
  // Each of 120 blocks grows by 75 pages, and none is thrown away.
  EXPECT_LT(PageFaults() - faults, 120 * 75 * 5 / 4);
  for (void* const block : old) FreePageBlock(block);
  EXPECT_LE(KeptPageBlocks(), 32 * kMega);
  ReleasePageBlocks();
}

// The keys and values of a small decoder in its first generation, each token's beside those of the token before, in
// blocks as tensors get them: while they were the heap's, it gave the last ones back to the system in each step.
TEST(PageBlocks, ASmallCacheThatGrowsTouchesFewFreshPages) {
  if (!IsPageBlock(kMega)) GTEST_SKIP() << "no page blocks here";
  constexpr std::size_t kSteps = 40, kTensors = 24, kRow = 3072;  // bytes of a token
  const auto size = [](std::size_t step) { return (44 + step) * kRow / 64 * 64; };
  const auto free_all = [&](const std::vector<void*>& blocks, std::size_t step) {
    for (void* const block : blocks) IsPageBlock(size(step)) ? FreePageBlock(block) : std::free(block);
  };
  ReleasePageBlocks();
  std::vector<void*> past;
  long faults = 0;
  for (std::size_t step = 0; step < kSteps; ++step) {
    if (step == 4) faults = PageFaults();
    std::vector<void*> present;
    for (std::size_t i = 0; i < kTensors; ++i) {
      const bool pages = IsPageBlock(size(step));
      present.push_back(pages ? AllocatePageBlock(size(step)) : std::aligned_alloc(64, size(step)));
      std::memset(present.back(), 1, size(step));
    }
    if (step > 0) free_all(past, step - 1);
    past = std::move(present);
  }
  // The pages by which past and present grow, and as many again.
  EXPECT_LT(PageFaults() - faults, static_cast<long>(2 * 2 * kTensors * (kSteps - 4) * kRow / 4096));
  free_all(past, kSteps - 1);
  ReleasePageBlocks();
}
#endif

TEST(PageBlocks, LittleIsKept) {
  if (!IsPageBlock(kMega)) GTEST_SKIP() << "no page blocks here";
  std::vector<void*> blocks;
  for (int i = 0; i < 20; ++i) blocks.push_back(AllocatePageBlock(10 * kMega));
  for (void* block : blocks) FreePageBlock(block);
  EXPECT_LE(KeptPageBlocks(), 32 * kMega);
  ReleasePageBlocks();
}

TEST(PageBlocks, OneLargeBlockIsKeptOnceItsSizeComesBack) {
  if (!IsPageBlock(kMega)) GTEST_SKIP() << "no page blocks here";
  ReleasePageBlocks();
  const auto free = [](std::size_t size) { FreePageBlock(AllocatePageBlock(size)); };
  free(40 * kMega);
  EXPECT_EQ(KeptPageBlocks(), 0u) << "it may have been the only one";
  free(50 * kMega);
  EXPECT_EQ(KeptPageBlocks(), 0u);
  free(50 * kMega);
  EXPECT_GE(KeptPageBlocks(), 50 * kMega);
  void* const other = AllocatePageBlock(100 * kMega);
  EXPECT_GE(KeptPageBlocks(), 50 * kMega) << "a block of half the size is no fit";
  void* const again = AllocatePageBlock(45 * kMega);
  EXPECT_EQ(KeptPageBlocks(), 0u) << "the kept block serves it";
  FreePageBlock(again);
  FreePageBlock(other);
  free(500 * kMega);
  free(500 * kMega);
  EXPECT_LT(KeptPageBlocks(), 100 * kMega) << "none so large is kept";
  ReleasePageBlocks();
  EXPECT_EQ(KeptPageBlocks(), 0u);
}

TEST(PageBlocks, FailsForMoreThanThereIs) {
  if (!IsPageBlock(kMega)) GTEST_SKIP() << "no page blocks here";
  EXPECT_EQ(AllocatePageBlock(SIZE_MAX - 10), nullptr);
  EXPECT_EQ(AllocatePageBlock(SIZE_MAX / 2), nullptr);
}

TEST(PageBlocks, ThreadsNeverGetTheSameBlock) {
  if (!IsPageBlock(kMega)) GTEST_SKIP() << "no page blocks here";
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      for (int round = 0; round < 300; ++round) {
        auto* const block = static_cast<unsigned char*>(AllocatePageBlock(kMega + static_cast<std::size_t>(round % 3)));
        for (std::size_t at = 0; at < kMega; at += 65536) block[at] = static_cast<unsigned char>(thread);
        for (std::size_t at = 0; at < kMega; at += 65536) ASSERT_EQ(block[at], thread);
        FreePageBlock(block);
        if (round % 50 == 0) ReleasePageBlocks();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ReleasePageBlocks();
}

}  // namespace
}  // namespace sardonyx
