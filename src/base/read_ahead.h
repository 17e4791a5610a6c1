// base/read_ahead.h - bytes that a run reads soon, which idle threads bring into their caches meanwhile.
//
// A run announces them, workers without work ask for a few at a time. Nothing is read for its value, so neither wrong
// nor outdated announcements change a result: they may even name memory that is gone.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sardonyx {

class ReadAhead {
 public:
  static constexpr std::size_t kStep = 1024;  // bytes at a time: a worker soon sees that there is work

  // A loop of `threads` threads is about to read `bytes`, each thread a part of its own, the caller the first one.
  // Takes the place of what was announced before. Thread-safe.
  void Announce(std::span<const std::byte> bytes, int threads) {
    begin_.store(bytes.data(), std::memory_order_relaxed);
    size_.store(bytes.size(), std::memory_order_relaxed);
    threads_.store(threads, std::memory_order_relaxed);
    number_.fetch_add(1, std::memory_order_release);
  }

  // What one worker has still to fetch.
  class Reader {
   public:
    // most: bytes of a part that are fetched, its first ones.
    Reader(const ReadAhead& ahead, int worker, std::size_t most) : ahead_(ahead), worker_(worker), most_(most) {}

    // The next kStep bytes or fewer of the worker's part of what was announced last; none: there is nothing left.
    std::span<const std::byte> Next() {
      const std::uint32_t number = ahead_.number_.load(std::memory_order_acquire);
      if (number != number_) Begin(number);
      const std::size_t count = std::min(left_.size(), kStep);
      const std::span<const std::byte> next = left_.first(count);
      left_ = left_.subspan(count);
      return next;
    }

   private:
    // While others announce, the three facts may be of different announcements.
    void Begin(std::uint32_t number) {
      number_ = number;
      const auto parts = static_cast<std::size_t>(std::max(1, ahead_.threads_.load(std::memory_order_relaxed)));
      const auto part = static_cast<std::size_t>(worker_) + 1;
      const std::size_t size = ahead_.size_.load(std::memory_order_relaxed);
      const std::size_t begin = part >= parts ? size : size / parts * part;
      const std::size_t end = part + 1 >= parts ? size : begin + size / parts;
      left_ = {ahead_.begin_.load(std::memory_order_relaxed) + begin, std::min(end - begin, most_)};
    }

    const ReadAhead& ahead_;
    const int worker_;  // from 0
    const std::size_t most_;
    std::uint32_t number_ = 0;
    std::span<const std::byte> left_;
  };

 private:
  std::atomic<const std::byte*> begin_ = nullptr;
  std::atomic<std::size_t> size_ = 0;
  std::atomic<int> threads_ = 1;
  std::atomic<std::uint32_t> number_ = 0;  // of announcements
};

// Asks the CPU to bring them into the second level of this core's caches. They need not be readable.
inline void Prefetch(std::span<const std::byte> bytes) {
  constexpr std::size_t kLine = 64;
  for (std::size_t at = 0; at < bytes.size(); at += kLine) __builtin_prefetch(bytes.data() + at, 0, 2);
}

}  // namespace sardonyx
