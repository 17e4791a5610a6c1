// ops/elementwise.cpp - functions on tensors of any float type, and inference of the contents of small integer tensors.
#include "ops/elementwise.h"

#include <algorithm>

#include "kernels/copy/stream.h"

namespace sardonyx::ops {

using kernels::UnaryKind;

static std::int64_t GrainOf(UnaryKind kind) { return kernels::UnaryFunctionOf(kind).cheap ? kGrain : kHeavyGrain; }

FloatMap FloatMap::Of(UnaryKind kind, DType dtype, double a, double b) {
  FloatMap map = {.dtype = dtype, .a = a, .b = b, .grain = GrainOf(kind)};
  if (dtype == DType::kDouble) {
    map.f64 = kernels::UnaryF64(kind);
    return map;
  }
  map.f32 = kernels::UnaryF32(kind);
  if (dtype != DType::kFloat) {
    map.load = kernels::ToFloats(dtype);
    map.store = kernels::FromFloats(dtype);
  }
  return map;
}

void FloatMap::Make(const void* x, std::int64_t begin, std::size_t n, void* y, std::int64_t at) const {
  const auto fa = static_cast<float>(a), fb = static_cast<float>(b);
  if (f64 != nullptr) return f64(static_cast<const double*>(x) + begin, static_cast<double*>(y) + at, n, a, b);
  if (load == nullptr) return f32(static_cast<const float*>(x) + begin, static_cast<float*>(y) + at, n, fa, fb);
  alignas(64) float block[kFloatBlock];
  for (std::size_t i = 0; i < n; i += kFloatBlock) {
    const std::size_t count = std::min(kFloatBlock, n - i);
    const auto offset = static_cast<std::int64_t>(i);
    load(x, begin + offset, count, block);
    f32(block, block, count, fa, fb);
    store(block, count, y, at + offset);
  }
}

void FloatMap::Run(const void* x, void* y, std::int64_t begin, std::int64_t end, bool streamed) const {
  const auto n = static_cast<std::size_t>(end - begin);
  if (!streamed) return Make(x, begin, n, y, begin);
  const auto size = static_cast<std::size_t>(Bits(dtype) / 8);
  kernels::StreamBlocks(n, size, static_cast<std::byte*>(y) + begin * static_cast<std::int64_t>(size),
                        [&](std::size_t i, std::size_t count, std::byte* block) {
                          Make(x, begin + static_cast<std::int64_t>(i), count, block, 0);
                          return count;
                        });
}

bool IsStreamed(const OutputRef& y, const void* x, const void* z) {
  return Bits(y.dtype) >= 8 && y.byte_size() >= kernels::kStreamedBytes && y.data != x && y.data != z;
}

void RunFloatMap(KernelContext& c) {
  const auto& map = c.state<FloatMap>();
  const TensorRef& x = c.Input(0);
  const OutputRef y = c.Output(0);
  const bool streamed = IsStreamed(y, x.data);
  c.parallel().For(x.count, map.grain,
                   [&](std::int64_t begin, std::int64_t end) { map.Run(x.data, y.data, begin, end, streamed); });
}

Prepared PrepareFloatMap(PrepareContext& c, UnaryKind kind, double a, double b) {
  const DType dtype = c.InputDType(0);
  if (!IsFloating(dtype)) c.Unsupported(c.InputText(0), dtype);
  return WithState(RunFloatMap, FloatMap::Of(kind, dtype, a, b));
}

void InferSameType(InferContext& c) { c.SetOutputType(0, c.InputType(0)); }

void InferShapeDataOf(InferContext& c, Dim (*combine)(const Dim& a, const Dim& b)) {
  const DType dtype = c.InputDType(0);
  if (dtype != DType::kInt64 && dtype != DType::kInt32) return;
  if (!c.HasRank(0) || !c.HasRank(1) || c.Rank(0) > 1 || c.Rank(1) > 1) return;
  const auto a = c.ShapeData(0), b = c.ShapeData(1);
  if (!a || !b || a->empty() || b->empty()) return;
  const std::size_t n = a->size() == 1 ? b->size() : a->size();
  if (b->size() != 1 && b->size() != n) return;
  std::vector<Dim> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = combine((*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]);
  c.SetShapeData(0, std::move(out));
}

}  // namespace sardonyx::ops
