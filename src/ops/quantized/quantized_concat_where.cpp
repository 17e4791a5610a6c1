// ops/quantized/quantized_concat_where.cpp - QLinearConcat and QLinearWhere of com.microsoft: join 8-bit tensors of
// different scales; each element goes through a table of the 256 results of its requantization.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kernels/elementwise/quantize.h"
#include "kernels/elementwise/quantized_binary.h"
#include "ops/elementwise.h"
#include "ops/quantized_operators.h"
#include "ops/shapes/broadcast.h"
#include "ops/shapes/joined_dims.h"

namespace sardonyx::ops {
namespace {

using Table = std::array<std::uint8_t, 256>;

// What QuantizeLinear makes of every byte that was dequantized.
Table RequantizationTable(DType dtype, const QuantizedScale& from, const QuantizedScale& to) {
  std::array<float, 256> values = {};
  Table table = {};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(i);
    const int whole = dtype == DType::kInt8 ? static_cast<std::int8_t>(byte) : int{byte};
    values[i] = (static_cast<float>(whole) - from.zero) * from.scale;
  }
  const float low = dtype == DType::kInt8 ? -128.0f : 0.0f;
  kernels::Quantization().quantize(dtype, true)(values.data(), &to.scale, &to.zero, low, low + 255, values.size(),
                                                table.data());
  return table;
}

// ---- QLinearConcat: scale and zero point of Y, then X, its scale and zero point, as often as there are tensors

constexpr std::size_t kFirst = kQLinearConcatFirst, kStep = 3;

}  // namespace

void InferQLinearConcat(InferContext& c) {
  std::vector<std::size_t> inputs;
  for (std::size_t i = kFirst; i < c.InputCount(); i += kStep) inputs.push_back(i);
  std::optional<std::vector<Dim>> dims = JoinedDims(c, inputs);
  if (!dims) return c.SetOutput(0, c.InputDType(kFirst));
  c.SetOutput(0, c.InputDType(kFirst), std::move(*dims));
}

namespace {

struct ConcatState {
  std::int64_t axis = 0;
};

// A tensor's part of every row of the result: `run` elements from `at` on.
struct Part {
  const std::uint8_t* source = nullptr;
  std::int64_t run = 0, at = 0;
  bool same = false;  // the scale and the zero point are the result's
  Table table = {};
};

void CopyRows(std::span<const Part> parts, std::int64_t row, std::int64_t begin, std::int64_t end, std::uint8_t* y) {
  kernels::Lookup8Fn* const lookup = kernels::Quantized8().lookup;
  for (std::int64_t k = begin; k < end; ++k) {
    for (const Part& part : parts) {
      const std::uint8_t* source = part.source + k * part.run;
      std::uint8_t* target = y + k * row + part.at;
      if (part.same) {
        std::copy_n(source, part.run, target);
      } else {
        lookup(source, part.table.data(), static_cast<std::size_t>(part.run), target);
      }
    }
  }
}

void RunConcat(KernelContext& c) {
  const OutputRef y = c.Output(0);
  if (y.count == 0) return;
  const QuantizedScale to = ReadScale(c, 0, 1);
  const std::size_t axis = NormalizeAxis(c.state<ConcatState>().axis, y.rank());
  const std::int64_t outer = ElementCount(y.shape, 0, axis), inner = ElementCount(y.shape, axis + 1, y.rank());
  const std::size_t count = (c.InputCount() - kFirst) / kStep;
  Part* parts = c.Scratch<Part>(count);
  std::int64_t at = 0;
  for (std::size_t p = 0; p < count; ++p) {
    const std::size_t i = kFirst + kStep * p;
    const TensorRef& x = c.Input(i);
    const QuantizedScale from = ReadScale(c, i + 1, i + 2);
    const std::int64_t run = x.shape[axis] * inner;
    parts[p] = {x.As<const std::uint8_t>(), run, at, from.scale == to.scale && from.zero == to.zero};
    if (!parts[p].same) parts[p].table = RequantizationTable(x.dtype, from, to);
    at += run;
  }
  const std::int64_t row = y.shape[axis] * inner;
  c.parallel().For(outer, std::max<std::int64_t>(1, kGrain / row), [&](std::int64_t begin, std::int64_t end) {
    CopyRows({parts, count}, row, begin, end, y.As<std::uint8_t>());
  });
}

}  // namespace

Prepared PrepareQLinearConcat(PrepareContext& c) {
  if (c.InputCount() < kFirst + kStep || (c.InputCount() - kFirst) % kStep != 0)
    c.Fail(Code::kInvalidGraph, "expected scale and zero point of Y and three inputs for each tensor, found ",
           c.InputCount(), " inputs");
  for (std::size_t i = kFirst; i < c.InputCount(); i += kStep)
    if (c.InputDType(i) != c.OutputDType(0))
      c.Unsupported("different element types: an output of type " + std::string(Name(c.OutputDType(0))) + " and " +
                        c.InputText(i),
                    c.InputDType(i));
  return WithState(RunConcat, ConcatState{c.Int("axis")});
}

// ---- QLinearWhere: condition, X, its scale and zero point, Y, its two, scale and zero point of the result

void InferQLinearWhere(InferContext& c) {
  const DType dtype = c.InputDType(1);
  if (!c.HasRank(0) || !c.HasRank(1) || !c.HasRank(4)) return c.SetOutput(0, dtype);
  c.SetOutput(0, dtype, BroadcastDims(c, BroadcastDims(c, c.InputDims(0), c.InputDims(1)), c.InputDims(4)));
}

static void RunWhere(KernelContext& c) {
  const TensorRef &condition = c.Input(0), &x = c.Input(1), &y = c.Input(4);
  const OutputRef z = c.Output(0);
  if (z.count == 0) return;
  const QuantizedScale to = ReadScale(c, 7, 8);
  const Table of_x = RequantizationTable(x.dtype, ReadScale(c, 2, 3), to);
  const Table of_y = RequantizationTable(y.dtype, ReadScale(c, 5, 6), to);
  const Dims shapes[] = {condition.shape, x.shape, y.shape};
  const BroadcastPlan plan(z.shape, shapes);
  const std::int64_t steps[] = {plan.repeats(0) ? 0 : 1, plan.repeats(1) ? 0 : 1, plan.repeats(2) ? 0 : 1};
  c.parallel().For(z.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    plan.ForRange(begin, end, [&](const BroadcastRun& r) {
      const bool* chosen = condition.As<const bool>() + r.in[0];
      const std::uint8_t *from_x = x.As<const std::uint8_t>() + r.in[1], *from_y = y.As<const std::uint8_t>() + r.in[2];
      std::uint8_t* result = z.As<std::uint8_t>() + r.out;
      for (std::int64_t i = 0; i < r.count; ++i)
        result[i] = chosen[i * steps[0]] ? of_x[from_x[i * steps[1]]] : of_y[from_y[i * steps[2]]];
    });
  });
}

Prepared PrepareQLinearWhere(PrepareContext& c) {
  if (c.InputDType(4) != c.InputDType(1))
    c.Unsupported("different element types: input 'X' of type " + std::string(Name(c.InputDType(1))) + " and input 'Y'",
                  c.InputDType(4));
  return {.run = RunWhere, .state = nullptr};
}

}  // namespace sardonyx::ops
