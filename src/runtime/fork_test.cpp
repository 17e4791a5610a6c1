// runtime/fork_test.cpp - the pool after a fork. Separate from thread_pool_test.cpp because the thread sanitizer can't
// follow forks.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/thread_pool.h"

namespace sardonyx::runtime {
namespace {

TEST(ThreadPool, WorksAfterFork) {
  ThreadPool pool;
  pool.For(3, 100, 1, [](std::int64_t, std::int64_t) {});
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<std::int64_t> sum = 0;
    for (int round = 0; round < 10; ++round) pool.For(3, 100, 1, [&](std::int64_t b, std::int64_t e) { sum += e - b; });
    _exit(sum.load() == 1000 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace sardonyx::runtime
