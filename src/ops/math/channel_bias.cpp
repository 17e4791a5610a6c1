// ops/math/channel_bias.cpp - com.microsoft BiasAdd and BiasSplitGelu, which diffusion models have: a bias along the
// last dimension, then a sum with another tensor, or the left half of each row times GELU of the right half.
#include <algorithm>

#include "kernels/norm/affine_f32.h"
#include "ops/elementwise.h"
#include "ops/operands.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr DTypeSet kTypes = {DType::kFloat, DType::kFloat16};

void CheckTypes(const InferContext& c, std::size_t i, const Type& expected) {
  const Type& found = c.InputType(i);
  if (!expected.has_rank || !found.has_rank) return;
  bool fits = expected.rank() == found.rank();
  for (std::size_t d = 0; fits && d < found.rank(); ++d) {
    const Dim &a = expected.dims[d], &b = found.dims[d];
    fits = !a.known() || !b.known() || a.number() == b.number();
  }
  if (!fits)
    c.Fail(Code::kInvalidArgument, c.InputText(i), ": expected ", expected.ToText(), ", found ", found.ToText());
}

void InferBias(InferContext& c, bool split) {
  const Type& x = c.InputType(0);
  if (!c.HasRank(0)) return c.SetOutput(0, x.dtype);
  if (x.rank() == 0)
    c.Fail(Code::kInvalidArgument, c.InputText(0), ": expected at least one dimension, found a scalar");
  Type bias = x;
  bias.dims = {x.dims.back()};
  CheckTypes(c, 1, bias);
  Type y = x;
  if (!split) {
    CheckTypes(c, 2, x);
  } else if (y.dims.back().known() && y.dims.back().number() % 2 != 0) {
    c.Fail(Code::kInvalidArgument, c.InputText(0), ": expected an even last dimension, found ", x.ToText());
  } else {
    y.dims.back() = FloorDiv(y.dims.back(), Dim(2));
  }
  c.SetOutputType(0, y);
}

void InferBiasAdd(InferContext& c) { InferBias(c, false); }
void InferBiasSplitGelu(InferContext& c) { InferBias(c, true); }

void RunBiasAdd(KernelContext& c) {
  if (c.Output(0).count == 0) return;
  Operands io(c, DType::kFloat);
  const Operands::Computing computing(io);
  const std::int64_t width = c.Input(0).shape.back(), rows = c.Input(0).count / width;
  c.parallel().For(rows, std::max<std::int64_t>(1, kGrain / width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin * width; at < end * width; at += width) {
      kernels::AffineF32().add(io.In<float>(0) + at, io.In<float>(1), io.In<float>(2) + at, width,
                               io.Out<float>(0) + at);
    }
  });
}

void RunBiasSplitGelu(KernelContext& c) {
  if (c.Output(0).count == 0) return;
  Operands io(c, DType::kFloat);
  const Operands::Computing computing(io);
  const std::int64_t half = c.Input(0).shape.back() / 2, rows = c.Input(0).count / (2 * half);
  const float* bias = io.In<float>(1);
  c.parallel().For(rows, std::max<std::int64_t>(1, kHeavyGrain / half), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float *left = io.In<float>(0) + row * 2 * half, *right = left + half;
      float* y = io.Out<float>(0) + row * half;
      kernels::AffineF32().add(right, bias + half, nullptr, half, y);
      kernels::UnaryF32(kernels::UnaryKind::kGelu)(y, y, static_cast<std::size_t>(half), 0, 0);
      for (std::int64_t i = 0; i < half; ++i) y[i] *= left[i] + bias[i];
    }
  });
}

Prepared PrepareBiasAdd(PrepareContext&) { return {RunBiasAdd, nullptr}; }
Prepared PrepareBiasSplitGelu(PrepareContext&) { return {RunBiasSplitGelu, nullptr}; }

constexpr OpDef Row(std::string_view name, InferFn* infer, PrepareFn* prepare) {
  return {.domain = "com.microsoft", .name = name, .since = {1}, .types = kTypes, .infer = infer, .prepare = prepare};
}

constexpr OpDef kChannelBiasOps[] = {
    Row("BiasAdd", InferBiasAdd, PrepareBiasAdd),
    Row("BiasSplitGelu", InferBiasSplitGelu, PrepareBiasSplitGelu),
};

}  // namespace

std::span<const OpDef> ChannelBiasOps() { return kChannelBiasOps; }

}  // namespace sardonyx::ops
