// base/memory/free_memory_test.cpp - freed blocks between blocks that stay are returned to the system.
#include "base/memory/free_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace sardonyx {
namespace {

// Kilobytes of this process in memory.
long ResidentKilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmRSS:" && status >> word) return std::stol(word);
  return -1;
}

TEST(FreeMemory, HolesGoBackToTheSystem) {
  if (ResidentKilobytes() < 0) GTEST_SKIP() << "no /proc/self/status";
  constexpr std::size_t kBlock = 100'000, kPairs = 400;  // below the size that gets a mapping of its own
  std::vector<std::unique_ptr<char[]>> kept, freed;
  for (std::size_t i = 0; i < kPairs; ++i) {
    for (auto* list : {&kept, &freed}) {
      list->push_back(std::make_unique<char[]>(kBlock));
      std::memset(list->back().get(), 1, kBlock);
    }
  }
  freed.clear();
  const long before = ResidentKilobytes();
  ReturnFreeMemory(std::size_t{1} << 40);
  EXPECT_GT(ResidentKilobytes(), before - 1000);
  ReturnFreeMemory(1 << 20);
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(ResidentKilobytes(), before - 20'000);
#endif
}

}  // namespace
}  // namespace sardonyx
