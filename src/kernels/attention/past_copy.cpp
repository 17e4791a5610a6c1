// kernels/attention/past_copy.cpp - decides how a past is written, and copies its rows.
#include "kernels/attention/past_copy.h"

#include <cstring>

namespace sardonyx::kernels {

PastCopy::PastCopy(const AttentionF32Args& args, const PastRows& rows, const HeadStrides& to, std::int64_t width)
    : args_(args), rows_(rows), to_(to), row_bytes_(width * static_cast<std::int64_t>(args.element_bytes)) {
  const std::int64_t elements = args.batch * args.kv_heads * args.keys * (args.size + args.value_size);
  const bool streams = elements * static_cast<std::int64_t>(args.element_bytes) >= kStreamedPastBytes;
  if (rows.from != nullptr && streams) stream_ = Stream();
}

void PastCopy::Copy(std::int64_t b, std::int64_t kv, std::int64_t first, std::int64_t count) const {
  if (rows_.from == nullptr || count <= 0 || row_bytes_ == 0) return;
  const auto offset = [&](const HeadStrides& s) {
    return (b * s.batch + kv * s.head + first * s.row) * static_cast<std::int64_t>(args_.element_bytes);
  };
  const auto* from = static_cast<const std::byte*>(rows_.from) + offset(rows_.strides);
  auto* to = static_cast<std::byte*>(rows_.to) + offset(to_);
  const auto bytes = static_cast<std::size_t>(count * row_bytes_);
  stream_ != nullptr ? stream_(from, to, bytes) : static_cast<void>(std::memcpy(to, from, bytes));
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
