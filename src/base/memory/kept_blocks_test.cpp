// base/memory/kept_blocks_test.cpp - the heap gets small blocks back only after some others were freed.
#include "base/memory/kept_blocks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace sardonyx {
namespace {

std::uintptr_t AddressOfFreed(std::size_t size) {
  void* const data = std::malloc(size);
  std::memset(data, 7, size);
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  FreeLater(data);
  return address;
}

TEST(KeptBlocks, AFreedBlockIsNotHandedOutAtOnce) {
  for (const std::size_t size : {std::size_t{4}, std::size_t{64}, std::size_t{1024}, kLargestKeptBlock}) {
    std::set<std::uintptr_t> addresses;
    for (std::size_t i = 0; i < kKeptBlocks; ++i) addresses.insert(AddressOfFreed(size));
    EXPECT_EQ(addresses.size(), kKeptBlocks) << "blocks of " << size << " bytes";
  }
}

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
TEST(KeptBlocks, NoMoreThanThatIsKept) {
  const std::size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 2000; ++i) AddressOfFreed(kLargestKeptBlock);
  EXPECT_LT(mallinfo2().uordblks, before + 2 * kKeptBlocks * kLargestKeptBlock);
}
#endif

TEST(KeptBlocks, ThreadsFreeSideBySide) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      for (int round = 0; round < 2000; ++round) {
        auto* const data = static_cast<unsigned char*>(std::malloc(256));
        std::memset(data, thread, 256);
        for (int at = 0; at < 256; at += 64) ASSERT_EQ(data[at], thread);
        FreeLater(data);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace sardonyx
