// tools/cli/progress.h - a line on the terminal that says what takes so long, and how far it has got.
#ifndef SARDONYX_TOOLS_CLI_PROGRESS_H
#define SARDONYX_TOOLS_CLI_PROGRESS_H

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace sardonyx::cli {

// While it lives and standard error is a terminal, shows `what` with a bar from half a second on, and wipes it at the
// end. Elsewhere it does nothing, so that logs and pipes stay clean.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // How much is done, 0 ... 1. Never called: only the time is shown. Cheap, from any thread.
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
