// tensor/arena_test.cpp - blocks of an arena do not overlap, are used again, and are counted.
#include "tensor/arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "base/error.h"

namespace sardonyx {
namespace {

// Hands out host memory and counts what it still has outside.
class Source final : public Allocator {
 public:
  void* Allocate(std::size_t size) override {
    void* const data = HostAllocator()->Allocate(size);
    outside[data] = size;
    return data;
  }
  void Free(void* data) override {
    EXPECT_EQ(outside.erase(data), 1u);
    HostAllocator()->Free(data);
  }
  Device device() const override { return {}; }
  std::map<void*, std::size_t> outside;
};

TEST(Arena, GivesBlocksThatDoNotOverlapAndReturnsAllItTook) {
  const auto source = std::make_shared<Source>();
  constexpr unsigned kSeed = 20261122;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  {
    Arena arena(source, {.first_region = 4096, .second_region = 4096, .largest_region = 65536, .largest_waste = 512});
    struct Mine {
      unsigned char* data;
      std::size_t size;
      unsigned char mark;
    };
    std::vector<Mine> blocks;
    for (int turn = 0; turn < 4000; ++turn) {
      if (blocks.empty() || random() % 5 < 3) {
        const std::size_t size = 1 + random() % 6000;
        auto* data = static_cast<unsigned char*>(arena.Allocate(size));
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(data) % 64, 0u);
        const auto mark = static_cast<unsigned char>(random());
        std::memset(data, mark, size);
        blocks.push_back({data, size, mark});
      } else {
        const std::size_t at = random() % blocks.size();
        for (std::size_t i = 0; i < blocks[at].size; ++i) ASSERT_EQ(blocks[at].data[i], blocks[at].mark);
        arena.Free(blocks[at].data);
        blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    for (const Mine& block : blocks) arena.Free(block.data);
    const AllocatorStatistics statistics = *arena.Statistics();
    EXPECT_EQ(statistics.in_use, 0u);
    EXPECT_EQ(statistics.requested_in_use, 0u);
    std::size_t held = 0;
    for (const auto& [data, size] : source->outside) held += size;
    EXPECT_EQ(statistics.held, held);
    arena.Shrink();
    EXPECT_EQ(arena.Statistics()->held, 0u);
    EXPECT_TRUE(source->outside.empty());
    EXPECT_EQ(arena.Statistics()->shrinkages, statistics.extensions);
    arena.Allocate(100);  // is left to the destructor
    arena.Reserve(100);
  }
  EXPECT_TRUE(source->outside.empty());
}

TEST(Arena, UsesFreedNeighboursAsOneBlock) {
  Arena arena(std::make_shared<Source>(), {.extend = ArenaOptions::Extend::kNextPowerOfTwo, .first_region = 1024});
  void* const blocks[] = {arena.Allocate(256), arena.Allocate(256), arena.Allocate(256), arena.Allocate(256)};
  EXPECT_EQ(arena.Statistics()->extensions, 1);
  for (const int i : {0, 2, 1}) arena.Free(blocks[i]);
  EXPECT_EQ(arena.Allocate(768), blocks[0]);
  EXPECT_EQ(arena.Statistics()->extensions, 1);
}

TEST(Arena, FailsBeyondItsLimitWithBothSizes) {
  Arena arena(std::make_shared<Source>(), {.max_memory = 4096, .first_region = 1024});
  arena.Allocate(3000);
  try {
    arena.Allocate(2000);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFail);
    EXPECT_NE(std::string(error.what()).find("4096"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("2048"), std::string::npos) << error.what();
  }
  EXPECT_THROW(arena.Reserve(4096), Error);
}

TEST(Arena, RefusesAnAddressThatItDidNotHandOut) {
  Arena arena(std::make_shared<Source>(), {});
  int other = 0;
  EXPECT_THROW(arena.Free(&other), Error);
  void* const block = arena.Allocate(10);
  arena.Free(block);
  EXPECT_THROW(arena.Free(block), Error);
}

}  // namespace
}  // namespace sardonyx
