// kernels/attention/past_copy.cpp - decides how a past is written, and copies its rows.
#include "kernels/attention/past_copy.h"

#include <cstring>

namespace sardonyx::kernels {

namespace {
constexpr std::int64_t kLine = 64;
}

PastCopy::PastCopy(const AttentionF32Args& args, const PastRows& rows, const HeadStrides& to, std::int64_t width)
    : args_(args),
      rows_(rows),
      to_(to),
      row_bytes_(width * static_cast<std::int64_t>(args.element_bytes)),
      one_piece_(rows.strides.row == width && to.row == width) {
  const std::int64_t elements = args.batch * args.kv_heads * args.keys * (args.size + args.value_size);
  const bool large = elements * static_cast<std::int64_t>(args.element_bytes) >= kStreamedPastBytes;
  // A row by itself must be whole lines of memory.
  const bool streams = large && (one_piece_ || row_bytes_ % kLine == 0);
  if (rows.from != nullptr && streams) stream_ = Stream();
}

void PastCopy::Copy(std::int64_t b, std::int64_t kv, std::int64_t first, std::int64_t count) const {
  if (rows_.from == nullptr || count <= 0 || row_bytes_ == 0) return;
  const auto offset = [&](const HeadStrides& s) {
    return (b * s.batch + kv * s.head + first * s.row) * static_cast<std::int64_t>(args_.element_bytes);
  };
  const auto* from = static_cast<const std::byte*>(rows_.from) + offset(rows_.strides);
  auto* to = static_cast<std::byte*>(rows_.to) + offset(to_);
  const std::int64_t pieces = one_piece_ ? 1 : count, bytes = one_piece_ ? count * row_bytes_ : row_bytes_;
  const auto step = [&](const HeadStrides& s) { return s.row * static_cast<std::int64_t>(args_.element_bytes); };
  for (std::int64_t i = 0; i < pieces; ++i, from += step(rows_.strides), to += step(to_)) {
    const auto each = static_cast<std::size_t>(bytes);
    stream_ != nullptr ? stream_(from, to, each) : static_cast<void>(std::memcpy(to, from, each));
  }
}

void PastCopy::CopyAll(Parallel& parallel) const {
  if (rows_.from == nullptr) return;
  parallel.For(args_.batch * args_.kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t b = i / args_.kv_heads;
      Copy(b, i % args_.kv_heads, 0, Count(b));
    }
    Finish();
  });
}

}  // namespace sardonyx::kernels
