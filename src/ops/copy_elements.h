// ops/copy_elements.h - copies elements of a tensor, strings included, from one place to another.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "base/dtype.h"
#include "base/parallel.h"
#include "kernels/copy/stream.h"

namespace sardonyx::ops {

// `count` elements from `from` to `to`, which hold the same type; nothing if they are the same place.
inline void CopyElements(DType dtype, const void* from, void* to, std::int64_t count, Parallel& parallel) {
  if (from == to || count == 0) return;
  if (IsString(dtype)) {
    std::copy_n(static_cast<const std::string*>(from), count, static_cast<std::string*>(to));
    return;
  }
  constexpr std::int64_t kBytes = 1 << 18;  // a thread's least share
  const std::size_t bytes = ByteSize(dtype, count);
  kernels::StreamFn* const stream = bytes < kernels::kStreamedBytes ? nullptr : kernels::Stream();
  parallel.For(static_cast<std::int64_t>(bytes), kBytes, [&](std::int64_t begin, std::int64_t end) {
    const void* source = static_cast<const char*>(from) + begin;
    void* target = static_cast<char*>(to) + begin;
    if (stream != nullptr) {
      stream(source, target, static_cast<std::size_t>(end - begin));
      return kernels::FinishStreaming();
    }
    std::memcpy(target, source, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace sardonyx::ops
