// base/thread_place_test.cpp - a thread leaves the core that it is told to avoid, and may use all others.
#include "base/thread_place.h"

#include <gtest/gtest.h>

#if defined(__linux__)
#include <sys/resource.h>
#endif

#include <thread>

namespace sardonyx {
namespace {

#if defined(__linux__)
cpu_set_t Mask() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  return set;
}

TEST(ThreadPlace, LeavesOneCoreAndTakesItBackForAnother) {
  const cpu_set_t before = Mask();
  std::thread([&] {
    ThreadPlace place;
    const int first = CurrentCore();
    ASSERT_GE(first, 0);
    place.KeepOff(first);
    if (CPU_COUNT(&before) > 1) {
      EXPECT_NE(CurrentCore(), first);
      const int second = CurrentCore();
      place.KeepOff(second);
      EXPECT_NE(CurrentCore(), second);
      const cpu_set_t now = Mask();
      EXPECT_TRUE(CPU_ISSET(first, &now));
      EXPECT_EQ(CPU_COUNT(&now), CPU_COUNT(&before) - 1);
    }
    place.KeepOff(-1);
    const cpu_set_t after = Mask();
    EXPECT_TRUE(CPU_EQUAL(&after, &before));
  }).join();
}

TEST(ThreadPlace, StaysWhereThereIsOneCoreOnly) {
  std::thread([] {
    const int core = CurrentCore();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    ThreadPlace place;
    place.KeepOff(core);
    const cpu_set_t now = Mask();
    EXPECT_TRUE(CPU_EQUAL(&now, &one));
  }).join();
}

TEST(ThreadPlace, ShortSlicesLeavePolicyAndPriorityAlone) {
  std::thread([] {
    const int policy = sched_getscheduler(0), nice_before = getpriority(PRIO_PROCESS, 0);
    AskForShortSlices();
    EXPECT_EQ(sched_getscheduler(0), policy);
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), nice_before);
  }).join();
}
#endif

}  // namespace
}  // namespace sardonyx
