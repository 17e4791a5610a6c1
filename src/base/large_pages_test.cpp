// base/large_pages_test.cpp - which memory the system is asked to keep on large pages.
#include "base/large_pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

namespace sardonyx {
namespace {

// Whether the mapping that holds `data` wants large pages, as /proc/self/smaps says ("hg").
bool WantsLargePages(const void* data) {
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    if (words >> std::hex >> begin >> dash >> end && dash == '-') inside = begin <= at && at < end;
    if (inside && line.rfind("VmFlags:", 0) == 0) return line.find(" hg") != std::string::npos;
  }
  return false;
}

TEST(LargePages, HoldTheWholePagesInsideABlock) {
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) GTEST_SKIP() << "no transparent huge pages";
  const std::unique_ptr<void, void (*)(void*)> block(std::aligned_alloc(kLargePage, 4 * kLargePage), std::free);
  auto* bytes = static_cast<std::byte*>(block.get());
  PreferLargePages(bytes + 64, 2 * kLargePage);
  EXPECT_FALSE(WantsLargePages(bytes));
  EXPECT_TRUE(WantsLargePages(bytes + kLargePage));
  EXPECT_FALSE(WantsLargePages(bytes + 2 * kLargePage));
  PreferLargePages(bytes + 3 * kLargePage, kLargePage - 1);
  EXPECT_FALSE(WantsLargePages(bytes + 3 * kLargePage));
}

}  // namespace
}  // namespace sardonyx
