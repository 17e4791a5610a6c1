// kernels/copy/stream.h - writes that go past the caches, for results too large to be found there again: a line that is
// written as a whole is then not read from memory before.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

// to[0 .. bytes) = from[0 .. bytes), which do not overlap. The caller ends its last one with FinishStreaming().
using StreamFn = void(const void* from, void* to, std::size_t bytes);
StreamFn* Stream();

// Makes what this thread streamed visible to others before anything that it writes later. It waits for memory, so it
// stands behind a thread's whole share, not behind each block: there it cost a fifth of the time.
//
// An exchange, as x86 lets none overtake streamed writes: the thread sanitizer of g++ refuses std::atomic_thread_fence.
inline void FinishStreaming() {
  std::atomic<int> fence{0};
  fence.exchange(1, std::memory_order_seq_cst);
}

// Results of at least so many bytes are streamed: more than the share of the last cache that a core can count on.
inline constexpr std::size_t kStreamedBytes = std::size_t{16} << 20;

// n elements of `size` bytes to `to`: make(i, count, block) makes elements [i, i + count) in a block that stays in the
// first cache, from where they are streamed while the next ones are computed. Returns n, or what is made before the
// first block of which make returns less than count.
template <typename Make>
std::size_t StreamBlocks(std::size_t n, std::size_t size, std::byte* to, const Make& make) {
  constexpr std::size_t kBytes = 2048;  // as many lines as the store buffer takes at once
  alignas(64) std::byte block[kBytes];
  StreamFn* const stream = Stream();
  const std::size_t most = kBytes / size;
  std::size_t done = 0;
  for (std::size_t i = 0; i < n; i += most) {
    const std::size_t count = std::min(most, n - i), made = make(i, count, block);
    stream(block, to + i * size, made * size);
    done += made;
    if (made < count) break;
  }
  FinishStreaming();
  return done;
}

// The vector forms of one ISA.
std::span<const Variant<StreamFn>> StreamVariants();

#define SDX_DECLARE(isa) \
  namespace isa {        \
  StreamFn StreamMemory; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

}  // namespace sardonyx::kernels
