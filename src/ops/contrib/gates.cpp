// ops/contrib/gates.cpp - com.microsoft's gates: ScaledSiLU, GatedAdd, GatedRMSNorm, LinearAttentionGate, EngramGate.
#include <algorithm>
#include <cmath>

#include "kernels/reduce/reduce_f32.h"
#include "ops/elementwise.h"
#include "ops/operands.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr DTypeSet kGateTypes = {DType::kFloat, DType::kFloat16, DType::kBFloat16};

void Sigmoid(const float* x, float* y, std::int64_t n) {
  kernels::UnaryF32(kernels::UnaryKind::kSigmoid)(x, y, static_cast<std::size_t>(n), 1, 0);
}

// 1 / the root mean square of x, with epsilon under the root.
float InverseRms(const float* x, std::int64_t n, float epsilon) {
  const double mean = kernels::ReduceF32().sum_squared_deviations(x, n, 0) / static_cast<double>(n);
  return static_cast<float>(1 / std::sqrt(mean + static_cast<double>(epsilon)));
}

void CheckSameShape(KernelContext& c, std::size_t i, Dims expected) {
  if (!std::ranges::equal(c.Input(i).shape, expected)) {
    Fail(Code::kInvalidArgument, "input ", i, ": expected shape ", ToText(expected), ", found ",
         ToText(c.Input(i).shape));
  }
}

// Rounds floats to what a 16-bit type holds; does nothing for float.
class Rounder {
 public:
  explicit Rounder(DType dtype)
      : store_(dtype == DType::kFloat ? nullptr : kernels::FromFloats(dtype)), load_(kernels::ToFloats(dtype)) {}
  void Round(float* x, std::size_t n) const {  // n up to kFloatBlock
    if (store_ == nullptr) return;
    std::uint16_t rounded[kFloatBlock];
    store_(x, n, rounded, 0);
    load_(rounded, 0, n, x);
  }

 private:
  kernels::FromFloatsFn* store_;
  kernels::ToFloatsFn* load_;
};

// Calls block(begin, n) for runs of at most kFloatBlock elements of [begin, end).
template <typename Block>
void ForBlocks(std::int64_t begin, std::int64_t end, Block block) {
  for (std::int64_t i = begin; i < end; i += kFloatBlock)
    block(i, static_cast<std::size_t>(std::min<std::int64_t>(kFloatBlock, end - i)));
}

// ---- ScaledSiLU: z = scale * x, y = z * sigmoid(z), each step rounded to the element type

struct SiluState {
  float alpha = 1;
};

void RunScaledSilu(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  if (c.HasInput(1) && c.Input(1).count != 1)
    Fail(Code::kInvalidArgument, "input 1 ('scale'): expected one number, found shape ", ToText(c.Input(1).shape));
  Operands io(c, DType::kFloat);
  const Operands::Computing computing(io);
  const float scale = c.HasInput(1) ? *io.In<float>(1) : c.state<SiluState>().alpha;
  const Rounder rounder(x.dtype);
  c.parallel().For(x.count, kHeavyGrain, [&](std::int64_t begin, std::int64_t end) {
    ForBlocks(begin, end, [&](std::int64_t at, std::size_t n) {
      float z[kFloatBlock], gate[kFloatBlock];
      for (std::size_t i = 0; i < n; ++i) z[i] = io.In<float>(0)[at + static_cast<std::int64_t>(i)] * scale;
      rounder.Round(z, n);
      Sigmoid(z, gate, static_cast<std::int64_t>(n));
      rounder.Round(gate, n);
      for (std::size_t i = 0; i < n; ++i) io.Out<float>(0)[at + static_cast<std::int64_t>(i)] = z[i] * gate[i];
    });
  });
}

Prepared PrepareScaledSilu(PrepareContext& c) { return WithState(RunScaledSilu, SiluState{c.Float("alpha", 1)}); }

// ---- GatedAdd: x + y * gate, with a gate for each row; the product is rounded to the element type

void RunGatedAdd(KernelContext& c) {
  const Dims dims = c.Input(0).shape;
  if (dims.empty() || dims.back() == 0)
    Fail(Code::kInvalidArgument, "input 0 ('X'): expected rows with elements, found shape ", ToText(dims));
  Shape gates(dims);
  gates[dims.size() - 1] = 1;
  CheckSameShape(c, 1, dims);
  CheckSameShape(c, 2, Dims(gates));
  const DType dtype = c.Input(0).dtype;
  const std::int64_t width = dims.back();
  Operands io(c, DType::kFloat);
  const Operands::Computing computing(io);
  const Rounder rounder(dtype);
  const std::int64_t rows = c.Input(2).count;
  c.parallel().For(rows, std::max<std::int64_t>(1, kGrain / width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float gate = io.In<float>(2)[row];
      ForBlocks(row * width, (row + 1) * width, [&](std::int64_t at, std::size_t n) {
        const float *x = io.In<float>(0) + at, *y = io.In<float>(1) + at;
        float* sum = io.Out<float>(0) + at;
        for (std::size_t i = 0; i < n; ++i) sum[i] = y[i] * gate;
        rounder.Round(sum, n);
        for (std::size_t i = 0; i < n; ++i) sum[i] += x[i];
      });
    }
  });
}

Prepared PrepareGatedAdd(PrepareContext&) { return {RunGatedAdd, nullptr}; }

// ---- GatedRMSNorm: the root mean square normalization of each group of elements, times a function of the gate

struct GatedNormState {
  float epsilon = 0;
  bool silu = true;
};

void RunGatedNorm(KernelContext& c) {
  const GatedNormState& state = c.state<GatedNormState>();
  const Dims dims = c.Input(0).shape;
  const std::int64_t width = c.Input(1).count;
  if (dims.empty() || width == 0 || dims.back() % width != 0) {
    Fail(Code::kInvalidArgument, "expected a last dimension that is a multiple of the elements of 'scale', found ",
         ToText(dims), " and ", ToText(c.Input(1).shape));
  }
  CheckSameShape(c, 2, dims);
  const std::int64_t groups = c.Input(0).count / width;
  Operands io(c, DType::kFloat);
  const Operands::Computing computing(io);
  const float* scale = io.In<float>(1);
  c.parallel().For(groups, std::max<std::int64_t>(1, kHeavyGrain / width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t g = begin; g < end; ++g) {
      const float* x = io.In<float>(0) + g * width;
      const float inverse = InverseRms(x, width, state.epsilon);
      ForBlocks(0, width, [&](std::int64_t at, std::size_t n) {
        const float* gate = io.In<float>(2) + g * width + at;
        float* y = io.Out<float>(0) + g * width + at;
        float factor[kFloatBlock];
        Sigmoid(gate, factor, static_cast<std::int64_t>(n));
        for (std::size_t i = 0; i < n && state.silu; ++i) factor[i] *= gate[i];
        for (std::size_t i = 0; i < n; ++i) {
          const auto k = at + static_cast<std::int64_t>(i);
          y[i] = x[k] * inverse * scale[k] * factor[i];
        }
      });
    }
  });
}

Prepared PrepareGatedNorm(PrepareContext& c) {
  const std::string activation = c.String("activation", "silu");
  if (activation != "silu" && activation != "swish" && activation != "sigmoid")
    c.Fail(Code::kInvalidArgument, "attribute 'activation': expected silu, swish or sigmoid, found '", activation, "'");
  return WithState(RunGatedNorm, GatedNormState{c.Float("epsilon", 1e-5f), activation != "sigmoid"});
}

// ---- LinearAttentionGate: decay = decay_scale * softplus(a + dt_bias), beta = sigmoid(b)

void InferLinearGate(InferContext& c) {
  c.SetOutputType(0, c.InputType(0));
  if (!c.HasOutput(1)) return;
  if (!c.HasInput(3))
    c.Fail(Code::kInvalidArgument, "expected the input 'b' because the output 'beta' is wanted, found none");
  c.SetOutputType(1, c.InputType(0));
}

void RunLinearGate(KernelContext& c) {
  const Dims dims = c.Input(0).shape;
  const std::int64_t heads = dims.empty() ? 0 : dims.back();
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (dims.empty() || c.Input(i).count != heads) {
      Fail(Code::kInvalidArgument, "input ", i, ": expected as many elements as the last dimension of input 0 ('a') ",
           ToText(dims), ", found shape ", ToText(c.Input(i).shape));
    }
  }
  const bool beta = c.HasOutput(1);
  if (beta) CheckSameShape(c, 3, dims);
  if (c.Input(0).count == 0) return;
  const std::int64_t rows = c.Input(0).count / heads;
  Operands io(c, DType::kFloat, beta ? 0 : 1u << 3);
  const Operands::Computing computing(io);
  const float *bias = io.In<float>(1), *scale = io.In<float>(2);
  c.parallel().For(rows, std::max<std::int64_t>(1, kHeavyGrain / heads), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* a = io.In<float>(0) + row * heads;
      float* decay = io.Out<float>(0) + row * heads;
      for (std::int64_t h = 0; h < heads; ++h) decay[h] = a[h] + bias[h];
      kernels::UnaryF32(kernels::UnaryKind::kSoftplus)(decay, decay, static_cast<std::size_t>(heads), 0, 0);
      for (std::int64_t h = 0; h < heads; ++h) decay[h] *= scale[h];
      if (beta) Sigmoid(io.In<float>(3) + row * heads, io.Out<float>(1) + row * heads, heads);
    }
  });
}

Prepared PrepareLinearGate(PrepareContext& c) {
  for (const std::size_t i : {1u, 2u})
    if (c.InputDType(i) != DType::kFloat) c.Unsupported(c.InputText(i), c.InputDType(i));
  return {RunLinearGate, nullptr};
}

// ---- EngramGate: gate * value, where the gate is a function of the normalized product of key and query

constexpr std::size_t kKey = 0, kQuery = 1, kValue = 2, kKeyScale = 3, kQueryScale = 4, kOutScale = 5;

struct EngramState {
  float epsilon = 0;
};

void InferEngram(InferContext& c) {
  if (c.HasRank(kKey) && c.Rank(kKey) != 4) {
    c.Fail(Code::kInvalidArgument, c.InputText(kKey), ": expected [batch, sequence, connections, hidden], found ",
           c.InputType(kKey).ToText());
  }
  c.SetOutputType(0, c.InputType(kQuery));
  if (!c.HasOutput(1)) return;
  if (!c.HasInput(kOutScale)) {
    c.Fail(Code::kInvalidArgument,
           "expected the input 'conv_norm_scale' because the output 'gated_value_normed' is wanted, found none");
  }
  c.SetOutputType(1, c.InputType(kQuery));
}

// sigmoid(sign(dot) * sqrt(|dot|)), with 1e-6 as the least |dot| other than 0.
float EngramGateOf(float dot) {
  const float root = std::sqrt(std::max(std::abs(dot), 1e-6f));
  float gate = dot > 0 ? root : dot < 0 ? -root : dot;
  Sigmoid(&gate, &gate, 1);
  return gate;
}

void RunEngram(KernelContext& c) {
  const Dims dims = c.Input(kKey).shape;
  const std::int64_t tokens[] = {dims[0], dims[1], dims[3]}, scales[] = {dims[2], dims[3]};
  CheckSameShape(c, kQuery, dims);
  CheckSameShape(c, kValue, tokens);
  const bool normed = c.HasOutput(1);
  for (const std::size_t i : {kKeyScale, kQueryScale, kOutScale})
    if (c.HasInput(i)) CheckSameShape(c, i, scales);
  if (c.Input(kKey).count == 0) return;
  const float epsilon = c.state<EngramState>().epsilon;
  const DType dtype = c.Input(kKey).dtype;
  const std::int64_t connections = dims[2], width = dims[3];
  Operands io(c, DType::kFloat);
  const Operands::Computing computing(io);
  const Rounder rounder(dtype);
  const std::int64_t rows = dims[0] * dims[1] * connections;
  c.parallel().For(rows, std::max<std::int64_t>(1, kHeavyGrain / width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t connection = row % connections * width;
      const float *key = io.In<float>(kKey) + row * width, *query = io.In<float>(kQuery) + row * width;
      const float *key_scale = io.In<float>(kKeyScale) + connection,
                  *query_scale = io.In<float>(kQueryScale) + connection;
      double sum = 0;
      for (std::int64_t i = 0; i < width; ++i)
        sum += static_cast<double>(key[i] * key_scale[i] * query[i] * query_scale[i]);
      const float dot = static_cast<float>(sum) * InverseRms(key, width, epsilon) * InverseRms(query, width, epsilon) /
                        std::sqrt(static_cast<float>(width));
      const float gate = EngramGateOf(dot);
      const float* value = io.In<float>(kValue) + row / connections * width;
      float* y = io.Out<float>(0) + row * width;
      for (std::int64_t i = 0; i < width; ++i) y[i] = gate * value[i];
      if (!normed) continue;
      const float inverse = InverseRms(y, width, epsilon);
      const float* scale = io.In<float>(kOutScale) + connection;
      float* out = io.Out<float>(1) + row * width;
      ForBlocks(0, width, [&](std::int64_t at, std::size_t n) {
        rounder.Round(y + at, n);  // what is normalized is the output as it is stored
        for (std::int64_t i = at; i < at + static_cast<std::int64_t>(n); ++i) out[i] = y[i] * inverse * scale[i];
      });
    }
  });
}

Prepared PrepareEngram(PrepareContext& c) { return WithState(RunEngram, EngramState{c.Float("epsilon", 1e-5f)}); }

constexpr OpDef Row(std::string_view name, InferFn* infer, PrepareFn* prepare) {
  return {
      .domain = "com.microsoft", .name = name, .since = {1}, .types = kGateTypes, .infer = infer, .prepare = prepare};
}

constexpr OpDef kGatesOps[] = {
    Row("EngramGate", InferEngram, PrepareEngram),
    Row("GatedAdd", InferSameType, PrepareGatedAdd),
    Row("GatedRMSNorm", InferSameType, PrepareGatedNorm),
    Row("LinearAttentionGate", InferLinearGate, PrepareLinearGate),
    Row("ScaledSiLU", InferSameType, PrepareScaledSilu),
};

}  // namespace

std::span<const OpDef> GatesOps() { return kGatesOps; }

}  // namespace sardonyx::ops
