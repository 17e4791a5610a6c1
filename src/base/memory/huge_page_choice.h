// base/memory/huge_page_choice.h - whether huge pages are worth asking for, judged by how long the last one took.
//
// A huge page that the system has ready takes a fifth of a millisecond, a quarter of what 512 small ones take. Where
// the system first has to move other pages, or a virtual machine has to get the memory back from its host, it takes 7
// ms, and small pages, of which there are always some ready, take less time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>

namespace sardonyx {

// Thread-safe. Threads that ask at the same time may each try a page.
class HugePageChoice {
 public:
  // Whether to ask for huge pages for the next `size` bytes; if so, touch one of them and say how long that took.
  bool AskFor(std::size_t size) noexcept {
    std::size_t left = without_.load(std::memory_order_relaxed);
    while (left != 0) {
      if (without_.compare_exchange_weak(left, left - (size < left ? size : left), std::memory_order_relaxed))
        return false;
    }
    return true;
  }

  // Returns whether that was too long: then AskFor says no for the next kBytesWithout bytes.
  bool Took(std::chrono::nanoseconds time) noexcept {
    if (time <= kLong) return false;
    without_.store(kBytesWithout, std::memory_order_relaxed);
    return true;
  }

  static constexpr std::chrono::microseconds kLong{1500};
  static constexpr std::size_t kBytesWithout = std::size_t{128} << 20;

 private:
  std::atomic<std::size_t> without_ = 0;
};

}  // namespace sardonyx
