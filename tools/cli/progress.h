// tools/cli/progress.h - a line on the terminal that shows what is being done and how far it is.
#ifndef SARDONYX_TOOLS_CLI_PROGRESS_H
#define SARDONYX_TOOLS_CLI_PROGRESS_H

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace sardonyx::cli {

// If standard error is a terminal, shows `what` with a bar after half a second, and clears the line when destroyed.
// Otherwise does nothing, so that logs and pipes stay clean.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Sets how much is done, from 0 to 1; until then only the time is shown. Cheap; any thread may call it.
  void Done(double fraction) { fraction_.store(fraction, std::memory_order_relaxed); }

 private:
  void Show();

  std::string what_;
  std::atomic<double> fraction_ = -1;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread painter_;
};

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_PROGRESS_H
