// tools/cli/progress.cpp - draws the progress line.
#include "progress.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "terminal.h"

namespace sardonyx::cli {

namespace {

constexpr std::chrono::milliseconds kPatience(500);  // shorter work shows no line
constexpr std::chrono::milliseconds kPace(100);
constexpr int kBarWidth = 24;

std::string Bar(double fraction) {
  const int filled = std::clamp(static_cast<int>(fraction * kBarWidth), 0, kBarWidth);
  char percent[16];
  std::snprintf(percent, sizeof(percent), " %3.0f %%", std::clamp(fraction, 0.0, 1.0) * 100);
  return "[" + std::string(static_cast<std::size_t>(filled), '=') +
         std::string(static_cast<std::size_t>(kBarWidth - filled), ' ') + "]" + percent;
}

}  // namespace

Progress::Progress(std::string what) : what_(std::move(what)) {
  if (IsLiveTerminal()) painter_ = std::thread([this] { Show(); });
}

Progress::~Progress() {
  if (!painter_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_all();
  painter_.join();
}

void Progress::Show() {
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  if (ended_.wait_for(lock, kPatience, [this] { return end_; })) return;
  do {
    const double fraction = fraction_.load(std::memory_order_relaxed);
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - start;
    std::fprintf(stderr, "\r\033[K%s  %s%.0f s", what_.c_str(), fraction < 0 ? "" : (Bar(fraction) + "  ").c_str(),
                 since.count());
    std::fflush(stderr);
  } while (!ended_.wait_for(lock, kPace, [this] { return end_; }));
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

}  // namespace sardonyx::cli
