// kernels/attention/past_copy.h - copies keys or values of an earlier call behind their use: past the caches if they
// are too many to be found there by the next call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/attention/attention_args.h"
#include "kernels/copy/stream.h"

namespace sardonyx::kernels {

// Pasts of at least so many bytes of keys and values are written past the caches. A model has many such nodes, and its
// weights pass through the caches between two steps, so this is far less than kStreamedBytes.
inline constexpr std::int64_t kStreamedPastBytes = std::int64_t{1} << 20;

// Keys that stay in the first cache level for all of a few rows.
inline constexpr std::int64_t kFewKeys = 32;

class PastCopy {
 public:
  // to: strides of rows.to; width: elements of a row
  PastCopy(const AttentionF32Args& args, const PastRows& rows, const HeadStrides& to, std::int64_t width);

  const void* from() const { return rows_.from; }
  const HeadStrides& strides() const { return rows_.strides; }
  // Rows of batch b that come from the past.
  std::int64_t Count(std::int64_t b) const {
    return rows_.from == nullptr ? 0 : args_.pasts != nullptr ? args_.pasts[b] : args_.past;
  }
  // All rows of the past, if nobody uses them meanwhile.
  void CopyAll(Parallel& parallel) const;
  // Calls use(first, count, whether they lie in the past) for the rows [first, end) of the block of `rows` rows from
  // row k0 of a head on, in steps of kFewKeys, and copies the block's rows of the past. Those that are streamed are
  // copied right behind their use, from the first cache level; a step that has new rows, too, finds all in one piece,
  // as the order of its sums demands. Others are copied in front of it: they are found in the second level, and the
  // copy as a whole is faster than its parts.
  template <typename Use>
  void Through(std::int64_t b, std::int64_t kv, std::int64_t k0, std::int64_t rows, std::int64_t first,
               std::int64_t end, const Use& use) const {
    std::int64_t past = std::clamp<std::int64_t>(Count(b) - k0, 0, rows);
    if (stream_ == nullptr) {
      Copy(b, kv, k0, past);
      past = 0;
    }
    Copy(b, kv, k0, std::min(first, past));
    for (std::int64_t j = first; j < end; j += kFewKeys) {
      const std::int64_t step = std::min(kFewKeys, end - j);
      const bool whole = j + step <= past;
      if (!whole) Copy(b, kv, k0 + j, past - j);
      use(j, step, whole);
      if (whole) Copy(b, kv, k0 + j, step);
    }
    Copy(b, kv, k0 + end, past - end);
  }
  // Ends what a thread copied.
  void Finish() const {
    if (stream_ != nullptr) FinishStreaming();
  }

 private:
  // Rows [first, first + count) of a head; none if count is not positive.
  void Copy(std::int64_t b, std::int64_t kv, std::int64_t first, std::int64_t count) const;

  const AttentionF32Args& args_;
  const PastRows& rows_;
  const HeadStrides& to_;
  std::int64_t row_bytes_;
  bool one_piece_;  // the rows of a head lie one behind the other, there and at `to`
  StreamFn* stream_ = nullptr;
};

}  // namespace sardonyx::kernels
