// runtime/background_runs.cpp - starts runs on workers and waits for them.
#include "runtime/background_runs.h"

#include <utility>

namespace sardonyx::runtime {
namespace {

thread_local bool inside_run = false;

}  // namespace

void BackgroundRuns::Start(ThreadPool& pool, std::function<void()> run) {
  if (count_->forks.exchange(ForkCount()) != ForkCount()) count_->under_way = 0;
  // Its destructor speaks for a run that the pool could not take, too.
  struct Entry {
    explicit Entry(std::shared_ptr<Count> c) : count(std::move(c)) { count->under_way.fetch_add(1); }
    ~Entry() {
      count->under_way.fetch_sub(1);
      count->under_way.notify_all();
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    std::shared_ptr<Count> count;
  };
  pool.Schedule([entry = std::make_shared<Entry>(count_), work = std::move(run)]() mutable {
    inside_run = true;
    work();
    work = nullptr;
    inside_run = false;
  });
}

void BackgroundRuns::Wait() const {
  for (int left = count_->under_way.load(); left != 0 && count_->forks.load() == ForkCount();
       left = count_->under_way.load())
    count_->under_way.wait(left);
}

bool BackgroundRuns::InsideOne() { return inside_run; }

}  // namespace sardonyx::runtime
