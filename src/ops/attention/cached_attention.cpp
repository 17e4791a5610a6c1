// ops/attention/cached_attention.cpp - gathers keys and values, and calls the kernel.
#include "ops/attention/cached_attention.h"

#include <algorithm>

#include "kernels/elementwise/convert.h"

namespace sardonyx::ops {

void CachedAttention::Plan(Operands& io, int threads) {
  const bool fits = k.heads > 0 && q.heads % k.heads == 0 && k.heads == v.heads && q.size == k.size &&
                    k.sequence == v.sequence && q.batch == k.batch && k.batch == v.batch;
  if (!fits) {
    const auto text = [](const Heads& h) {
      const std::int64_t dims[] = {h.batch, h.heads, h.sequence, h.size};
      return ToText(dims);
    };
    Fail(Code::kInvalidArgument, "expected Q, K and V [batch, heads, sequence, size] that match, found ", text(q), ", ",
         text(k), " and ", text(v));
  }
  args.batch = q.batch, args.heads = q.heads, args.kv_heads = k.heads;
  args.queries = q.sequence, args.keys = past + k.sequence;
  args.size = q.size, args.value_size = v.size;
  if (cache_type != DType::kFloat) {
    args.to_floats = kernels::ToFloats(cache_type);
    args.element_bytes = sizeof(std::uint16_t);
  }
  const auto floats = [](bool wanted, const Heads& h, std::int64_t rows) {
    return wanted ? static_cast<std::size_t>(h.batch * h.heads * rows * h.size) : 0;
  };
  q_at_ = io.Add<float>(floats(bias_q, q, q.sequence));
  k_at_ = io.Add<float>(floats((gather_k || bias_kv) && !present_k, k, cache_rows));
  v_at_ = io.Add<float>(floats((gather_v || bias_kv) && !present_v, v, cache_rows));
  beam_k_at_ = io.Add<float>(floats(beam_table != nullptr, k, cache_rows));
  beam_v_at_ = io.Add<float>(floats(beam_table != nullptr, v, cache_rows));
  scratch_at_ = io.Add(kernels::AttentionF32ScratchBytes(args, threads));
}

Heads CachedAttention::CacheOf(const Heads& source, std::int64_t rows) const {
  return LaidOut(cache_axes, source.batch, source.heads, rows, source.size);
}

void CachedAttention::Gather(const float* from, const Heads& source, const float* bias, const float* past_data,
                             float* to, kernels::PastRows* rows, Parallel& parallel) {
  const Heads target = CacheOf(source, cache_rows);
  if (past_rows > 0 && past_data != nullptr && past_data != to) {
    Heads old = CacheOf(source, past_rows);
    const std::int64_t kept = std::min(past_rows, cache_rows);  // what is behind the past stays in the cache, too
    std::int64_t first = 0;
    if (beam_table == nullptr) {  // the kernel copies the past beside its use
      args.past = std::min(past, kept);
      *rows = {past_data, to, old.strides};
      first = std::min(past + source.sequence, kept);
    }
    old.sequence = kept - first;
    if (old.sequence > 0) CopyHeads(past_data + first * old.strides.row, old, nullptr, to, target, first, parallel);
  }
  CopyHeads(from, source, bias, to, target, past, parallel);
}

// The new rows as they are stored, behind the past.
void CachedAttention::Store(const float* from, const Heads& source, void* to, Parallel& parallel) const {
  constexpr std::int64_t kGrain = 8192;  // elements that are worth a thread
  const Heads target = CacheOf(source, cache_rows);
  kernels::FromFloatsFn* round = kernels::FromFloats(cache_type);
  const std::int64_t pieces = source.batch * source.heads, each = source.sequence * source.size;
  if (pieces * each == 0) return;
  parallel.For(pieces, std::max<std::int64_t>(1, kGrain / each), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t row = 0; row < source.sequence; ++row)
        round(from + source.Offset(i / source.heads, i % source.heads, row), static_cast<std::size_t>(source.size), to,
              target.Offset(i / source.heads, i % source.heads, past + row));
  });
}

void CachedAttention::RunStored(Operands& io, const AttentionData& data, Parallel& parallel) {
  args.k = args.v = nullptr;
  args.stored_k = data.stored_k, args.k_strides = CacheOf(k, cache_rows).strides;
  args.stored_v = data.stored_v, args.v_strides = CacheOf(v, cache_rows).strides;
  if (past > 0) {
    args.past = past;
    args.past_k = {data.stored_past_k, data.stored_k, CacheOf(k, past_rows).strides};
    args.past_v = {data.stored_past_v, data.stored_v, CacheOf(v, past_rows).strides};
  }
  Store(data.k, k, data.stored_k, parallel);
  Store(data.v, v, data.stored_v, parallel);
  kernels::AttentionF32(args, parallel, io.At(scratch_at_));
}

// The keys of each row from the caches of its beams; the newest keys are the row's own.
const float* CachedAttention::FollowBeams(const float* from, const Heads& source, float* to) const {
  const Heads cache = BlocksOfHeads(source.batch, source.heads, cache_rows, source.size);
  for (std::int64_t b = 0; b < source.batch; ++b) {
    for (std::int64_t j = 0; j < args.keys; ++j) {
      const std::int64_t beam = j < past ? beam_table[b * beam_table_rows + j] : b % beams;
      if (beam < 0 || beam >= beams) {
        Fail(Code::kInvalidArgument, "expected elements of cache_indirection in [0, ", beams, "), found ", beam);
      }
      for (std::int64_t h = 0; h < source.heads; ++h) {
        std::copy_n(from + cache.Offset(b - b % beams + beam, h, j), source.size, to + cache.Offset(b, h, j));
      }
    }
  }
  return to;
}

void CachedAttention::Run(Operands& io, const AttentionData& data, Parallel& parallel) {
  args.q = data.q, args.q_strides = q.strides;
  args.k = data.k, args.k_strides = k.strides;
  args.v = data.v, args.v_strides = v.strides;
  args.y = data.y, args.y_strides = y.strides;
  const std::int64_t hidden = q.heads * q.size, kv_hidden = k.heads * k.size;
  if (bias_q) {
    const Heads copy = BlocksOfHeads(q.batch, q.heads, q.sequence, q.size);
    CopyHeads(data.q, q, data.bias, io.At<float>(q_at_), copy, 0, parallel);
    args.q = io.At<float>(q_at_), args.q_strides = copy.strides;
  }
  if (cache_type != DType::kFloat) return RunStored(io, data, parallel);
  if (gather_k || bias_kv) {
    float* to = present_k ? data.present_k : io.At<float>(k_at_);
    Gather(data.k, k, bias_kv ? data.bias + hidden : nullptr, data.past_k, to, &args.past_k, parallel);
    args.k = to, args.k_strides = CacheOf(k, cache_rows).strides;
  }
  if (gather_v || bias_kv) {
    float* to = present_v ? data.present_v : io.At<float>(v_at_);
    Gather(data.v, v, bias_kv ? data.bias + hidden + kv_hidden : nullptr, data.past_v, to, &args.past_v, parallel);
    args.v = to, args.v_strides = CacheOf(v, cache_rows).strides;
  }
  if (beam_table != nullptr && gather_k && gather_v) {
    args.k = FollowBeams(args.k, k, io.At<float>(beam_k_at_));
    args.v = FollowBeams(args.v, v, io.At<float>(beam_v_at_));
  }
  kernels::AttentionF32(args, parallel, io.At(scratch_at_));
}

}  // namespace sardonyx::ops
