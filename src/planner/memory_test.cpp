// planner/memory_test.cpp - blocks never overlap in time and space, and chains reuse memory.
#include "planner/memory.h"

#include <gtest/gtest.h>

#include <random>

namespace sardonyx::planner {
namespace {

void ExpectDisjoint(const std::vector<Block>& blocks, const Placement& placement) {
  for (std::size_t a = 0; a < blocks.size(); ++a) {
    EXPECT_EQ(placement.offsets[a] % 64, 0u);
    EXPECT_LE(placement.offsets[a] + blocks[a].bytes, placement.arena_bytes);
    for (std::size_t b = 0; b < a; ++b) {
      const bool together = blocks[a].first <= blocks[b].last && blocks[b].first <= blocks[a].last;
      const bool overlap = placement.offsets[a] < placement.offsets[b] + blocks[b].bytes &&
                           placement.offsets[b] < placement.offsets[a] + blocks[a].bytes;
      EXPECT_FALSE(together && overlap && blocks[a].bytes != 0 && blocks[b].bytes != 0)
          << "blocks " << a << " and " << b;
    }
  }
}

TEST(PlaceBlocks, AChainNeedsTwoBuffers) {
  std::vector<Block> chain;
  for (int i = 0; i < 20; ++i) chain.push_back({1024, i, i + 1});
  const Placement placement = PlaceBlocks(chain);
  ExpectDisjoint(chain, placement);
  EXPECT_EQ(placement.arena_bytes, 2048u);
}

TEST(PlaceBlocks, FillsAGapWithTheSmallestFit) {
  const std::vector<Block> blocks = {{4096, 0, 9}, {1024, 0, 2}, {2048, 0, 9}, {1024, 3, 9}};
  const Placement placement = PlaceBlocks(blocks);
  ExpectDisjoint(blocks, placement);
  EXPECT_EQ(placement.arena_bytes, 4096u + 2048u + 1024u);
}

TEST(PlaceBlocks, RandomBlocksNeverOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Block> blocks(1 + random() % 60);
    std::size_t total = 0;
    for (Block& block : blocks) {
      block.bytes = random() % 5000;
      block.first = static_cast<int>(random() % 100);
      block.last = block.first + static_cast<int>(random() % 20);
      total += block.bytes + 64;
    }
    const Placement placement = PlaceBlocks(blocks);
    ExpectDisjoint(blocks, placement);
    EXPECT_LE(placement.arena_bytes, total);
  }
}

TEST(PlaceBlocks, VeryManyBlocksDoNotOverlapEither) {
  std::mt19937 random(11);
  std::vector<Block> blocks(10000);
  std::size_t most = 0;
  std::vector<std::size_t> live(3100, 0);
  for (Block& block : blocks) {
    block.bytes = 64 * (random() % 50);
    block.first = static_cast<int>(random() % 3000);
    block.last = block.first + static_cast<int>(random() % 100);
    for (int i = block.first; i <= block.last; ++i) most = std::max(most, live[i] += block.bytes);
  }
  const Placement placement = PlaceBlocks(blocks);
  int overlaps = 0;
  for (std::size_t a = 0; a < blocks.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const bool together = blocks[a].first <= blocks[b].last && blocks[b].first <= blocks[a].last;
      overlaps += together && placement.offsets[a] < placement.offsets[b] + blocks[b].bytes &&
                  placement.offsets[b] < placement.offsets[a] + blocks[a].bytes;
    }
  }
  EXPECT_EQ(overlaps, 0);
  EXPECT_LE(placement.arena_bytes, 2 * most) << "at least one step needs " << most;
}

TEST(PlaceBlocks, ALongChainNeedsTwoBuffersToo) {
  std::vector<Block> chain;
  for (int i = 0; i < 300000; ++i) chain.push_back({1024, i, i + 1});  // minutes if each looked at all others
  EXPECT_EQ(PlaceBlocks(chain).arena_bytes, 2048u);
}

}  // namespace
}  // namespace sardonyx::planner
