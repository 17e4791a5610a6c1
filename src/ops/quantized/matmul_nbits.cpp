// ops/quantized/matmul_nbits.cpp - com.microsoft MatMulNBits: a product with weights of 2, 4 or 8 bits in blocks along
// K.
//
// Constant weights are packed for kernels/nbits; others are packed in every run. With a group index per row of K (old
// models) the weights are widened to floats for the f32 product. Weights in the layout of a GPU's kernel get the plain
// layout first.
#include <algorithm>

#include "kernels/gemm/gemm.h"
#include "kernels/nbits/nbits.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/quantized/gpu_weights.h"
#include "ops/registry.h"
#include "ops/same_rows.h"
#include "tensor/packing.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kA = 0, kB = 1, kScales = 2, kZeros = 3, kGroupIndex = 4, kBias = 5;

struct State {
  kernels::NBitsShape shape;
  bool int8 = false;
  bool by_index = false;   // a group index: weights as floats
  bool same_rows = false;  // see NBitsArgs
  Tensor packed;           // for kernels/nbits, or for the f32 product; undefined if the weights are no constants
};

State ReadState(const AttributeReader& c) {
  State s;
  s.shape.n = c.Int("N");
  s.shape.k = c.Int("K");
  s.shape.block = c.Int("block_size");
  const std::int64_t block = s.shape.block, bits = c.Int("bits", 4);
  constexpr std::int64_t kMost = std::int64_t{1} << 28;  // products of two of them are numbers
  if (s.shape.n < 1 || s.shape.k < 1 || s.shape.n > kMost || s.shape.k > kMost || block < 16 || block > kMost ||
      (block & (block - 1)) != 0) {
    c.Fail(Code::kInvalidArgument, "expected N and K in [1, ", kMost,
           "] and a block_size that is a power of two of at least 16, found ", s.shape.n, ", ", s.shape.k, " and ",
           block);
  }
  if (bits != 2 && bits != 4 && bits != 8)
    c.Fail(Code::kInvalidArgument, "attribute 'bits': expected 2, 4 or 8, found ", bits);
  s.shape.bits = static_cast<int>(bits);
  s.int8 = c.Int("accuracy_level", 0) == 4;
  return s;
}

void InferMatMulNBits(InferContext& c) {
  const State s = ReadState(c);
  if (!c.HasRank(kA)) return c.SetOutput(0, c.InputDType(kA));
  std::vector<Dim> dims = c.InputDims(kA);
  if (dims.empty() || (dims.back().known() && dims.back().number() != s.shape.k)) {
    c.Fail(Code::kInvalidArgument, "expected an input of ", s.shape.k, " columns, found ", c.InputType(kA).ToText());
  }
  dims.back() = Dim(s.shape.n);
  c.SetOutput(0, c.InputDType(kA), std::move(dims));
}

// A tensor of weights, scales, zero points or indices: constant or not.
struct Part {
  DType dtype = DType::kUndefined;
  const void* data = nullptr;
  std::int64_t count = 0;
  bool there() const { return dtype != DType::kUndefined; }
};
struct Parts {
  Part q, scales, zeros, index;
};

Part PartOf(const Tensor* t) { return t == nullptr ? Part{} : Part{t->dtype(), t->raw(), t->count()}; }
Part PartOf(const TensorRef& t) { return {t.dtype, t.data, t.count}; }

// Bytes of zero points of one column.
std::int64_t ZeroBytes(const kernels::NBitsShape& s) { return (s.blocks() * s.bits + 7) / 8; }

void CheckCounts(const kernels::NBitsShape& s, const Parts& p) {
  const auto check = [&](std::string_view name, const Part& part, std::int64_t want) {
    if (part.there() && part.count != want) {
      Fail(Code::kInvalidArgument, "expected ", want, " elements of ", name, " for N = ", s.n, ", K = ", s.k,
           " and blocks of ", s.block, ", found ", part.count);
    }
  };
  check("B", p.q, s.n * s.blocks() * s.block * s.bits / 8);
  check("scales", p.scales, s.n * s.blocks());
  check("zero_points", p.zeros, p.zeros.dtype == DType::kUInt8 ? s.n * ZeroBytes(s) : s.n * s.blocks());
}

// Scales and zero points [N, blocks] as floats, into memory for both.
void WidenScales(const kernels::NBitsShape& s, const Parts& p, float* scales, float* zeros, Parallel& parallel) {
  Convert(p.scales.dtype, p.scales.data, DType::kFloat, scales, p.scales.count, parallel);
  const std::int64_t blocks = s.blocks();
  if (!p.zeros.there()) {
    std::fill_n(zeros, s.n * blocks, static_cast<float>(1 << (s.bits - 1)));
  } else if (p.zeros.dtype != DType::kUInt8) {
    Convert(p.zeros.dtype, p.zeros.data, DType::kFloat, zeros, p.zeros.count, parallel);
  } else {
    const auto* bytes = static_cast<const std::uint8_t*>(p.zeros.data);
    for (std::int64_t n = 0; n < s.n; ++n) {
      for (std::int64_t i = 0; i < blocks; ++i) {
        const std::uint8_t byte = bytes[n * ZeroBytes(s) + i * s.bits / 8];
        zeros[n * blocks + i] = static_cast<float>((byte >> (i * s.bits % 8)) & ((1 << s.bits) - 1));
      }
    }
  }
}

// The weights [N, K] as floats, scales and zero points chosen by the index of each row of K.
void WidenByIndex(const kernels::NBitsShape& s, const Parts& p, const float* scales, const float* zeros, float* to) {
  const auto* q = static_cast<const std::uint8_t*>(p.q.data);
  const auto* index = static_cast<const std::int32_t*>(p.index.data);
  const std::int64_t blocks = s.blocks(), row = blocks * s.block * s.bits / 8;
  if (p.index.count < s.k) Fail(Code::kInvalidArgument, "expected ", s.k, " elements of g_idx, found ", p.index.count);
  for (std::int64_t k = 0; k < s.k; ++k) {
    const std::int64_t group = index[k];
    if (group < 0 || group >= blocks) {
      Fail(Code::kInvalidArgument, "expected elements of g_idx in [0, ", blocks, "), found ", group);
    }
    for (std::int64_t n = 0; n < s.n; ++n) {
      const int value = (q[n * row + k * s.bits / 8] >> (k * s.bits % 8)) & ((1 << s.bits) - 1);
      to[n * s.k + k] = (static_cast<float>(value) - zeros[n * blocks + group]) * scales[n * blocks + group];
    }
  }
}

std::size_t PackedBytes(const State& s) {
  return s.by_index ? kernels::GemmF32PackedCount(s.shape.k, s.shape.n) * sizeof(float)
                    : kernels::NBitsPackedBytes(s.shape);
}
std::size_t ScaleCount(const State& s) { return static_cast<std::size_t>(s.shape.n * s.shape.blocks()); }
std::size_t WideCount(const State& s) { return s.by_index ? static_cast<std::size_t>(s.shape.n * s.shape.k) : 0; }

// scales: twice ScaleCount floats, from WidenScales; wide: WideCount; packed: PackedBytes.
void Pack(const State& s, const Parts& p, const float* scales, float* wide, std::byte* packed, Parallel& parallel) {
  const float* zeros = scales + ScaleCount(s);
  if (s.by_index) {
    WidenByIndex(s.shape, p, scales, zeros, wide);
    kernels::PackGemmF32B(s.shape.k, s.shape.n, wide, s.shape.k, true, reinterpret_cast<float*>(packed), parallel);
  } else {
    kernels::PackNBits(s.shape, {static_cast<const std::uint8_t*>(p.q.data), scales, zeros}, packed, parallel);
  }
}

void RunMatMulNBits(KernelContext& c) {
  const State& s = c.state<State>();
  const OutputRef y = c.Output(0);
  if (y.count == 0) return;
  const bool is_packed = s.packed.defined();
  Parts p;
  if (!is_packed) {
    p.q = PartOf(c.Input(kB)), p.scales = PartOf(c.Input(kScales));
    if (c.HasInput(kZeros)) p.zeros = PartOf(c.Input(kZeros));
    if (c.HasInput(kGroupIndex)) p.index = PartOf(c.Input(kGroupIndex));
    CheckCounts(s.shape, p);  // before memory of these sizes is asked for
  }
  Operands io(c, DType::kFloat, 1u << kB | 1u << kScales | 1u << kZeros | 1u << kGroupIndex);
  if (c.HasInput(kBias) && c.Input(kBias).count != s.shape.n) {
    Fail(Code::kInvalidArgument, "expected a bias [", s.shape.n, "], found ", ToText(c.Input(kBias).shape));
  }
  kernels::NBitsArgs args;
  kernels::GemmF32Args gemm;
  args.shape = s.shape;
  args.m = gemm.m = y.count / s.shape.n;
  args.lda = gemm.lda = gemm.k = s.shape.k;
  args.ldy = gemm.ldc = gemm.n = s.shape.n;
  args.int8_activations = s.int8;
  args.same_rows = gemm.same_rows = s.same_rows;
  static constexpr float kGiven = 0;
  gemm.packed_b = &kGiven;
  const int threads = c.parallel().ThreadCount();
  const std::size_t scratch_at =
      io.Add(s.by_index ? kernels::GemmF32ScratchBytes(gemm, threads) : kernels::NBitsScratchBytes(args, threads));
  const std::size_t packed_at = io.Add(is_packed ? 0 : PackedBytes(s));
  const std::size_t scales_at = io.Add<float>(is_packed ? 0 : 2 * ScaleCount(s));
  const std::size_t wide_at = io.Add<float>(is_packed ? 0 : WideCount(s));
  const Operands::Computing computing(io);
  const std::byte* packed = is_packed ? static_cast<const std::byte*>(s.packed.raw()) : io.At(packed_at);
  if (!is_packed) {
    float* scales = io.At<float>(scales_at);
    WidenScales(s.shape, p, scales, scales + ScaleCount(s), c.parallel());
    Pack(s, p, scales, io.At<float>(wide_at), io.At(packed_at), c.parallel());
  }
  if (s.by_index) {
    gemm.a = io.In<float>(kA), gemm.c = io.Out<float>(0);
    gemm.packed_b = reinterpret_cast<const float*>(packed);
    gemm.epilogue.bias_n = io.In<float>(kBias);
    kernels::GemmF32(gemm, c.parallel(), io.At(scratch_at));
  } else {
    args.packed = packed;
    args.a = io.In<float>(kA), args.y = io.Out<float>(0), args.bias = io.In<float>(kBias);
    kernels::MultiplyNBits(args, c.parallel(), io.At(scratch_at));
  }
}

// The layout of the weights, checked: 0 for the plain one.
GpuWeights ReadLayout(PrepareContext& c, const kernels::NBitsShape& s) {
  const GpuWeights w{.n = s.n, .k = s.k, .block = s.block, .bits = s.bits, .layout = c.Int("weight_prepacked", 0)};
  if (w.layout == 0) return w;
  CheckGpuWeights(w);
  if (c.HasInput(kGroupIndex)) c.Unsupported("input 'g_idx' beside attribute 'weight_prepacked'");
  for (const std::size_t i : {kB, kScales, kZeros}) {
    if (c.HasInput(i) && c.Constant(i) == nullptr)
      c.Fail(Code::kInvalidArgument, c.InputText(i), ": expected a constant beside attribute 'weight_prepacked'");
  }
  return w;
}

// Packs constant weights: with scales of 16 bits where that changes nothing.
void PackConstants(PrepareContext& c, const GpuWeights& gpu, Parts p, State& s) {
  const auto form = [&](bool half_scales) {
    s.shape.half_scales = half_scales;
    return PackedForm{DType::kUInt8, Shape{static_cast<std::int64_t>(PackedBytes(s))}};
  };
  std::vector<PackedForm> forms = {form(false)};
  if (!s.by_index) forms.push_back(form(true));
  std::vector<float> scales;
  const auto choose = [&] {
    scales.resize(2 * ScaleCount(s));
    float* zeros = scales.data() + ScaleCount(s);
    WidenScales(s.shape, p, scales.data(), zeros, c.parallel());
    s.shape.half_scales =
        !s.by_index && kernels::NBitsScalesFitHalf(s.shape, {nullptr, scales.data(), zeros}, c.parallel());
    return std::size_t{s.shape.half_scales};
  };
  s.packed = Packed(forms, choose, [&](Tensor& packed) {
    std::vector<float> wide(WideCount(s));
    std::vector<std::uint8_t> plain(gpu.layout == 0 ? 0 : static_cast<std::size_t>(p.q.count));
    if (gpu.layout != 0) {
      UnpackGpuWeights(gpu, static_cast<const std::uint8_t*>(p.q.data), plain.data(), c.parallel());
      p.q.data = plain.data();
    }
    Pack(s, p, scales.data(), wide.data(), static_cast<std::byte*>(packed.raw()), c.parallel());
  });
  s.shape.half_scales = forms.size() > 1 && s.packed.shape() == forms[1].shape;  // they may come from a compiled model
}

Prepared PrepareMatMulNBits(PrepareContext& c) {
  State s = ReadState(c);
  const GpuWeights gpu = ReadLayout(c, s.shape);
  s.by_index = c.HasInput(kGroupIndex);
  s.same_rows = WantsSameRows();
  s.shape.has_zeros = c.HasInput(kZeros);
  const auto constant = [&](std::size_t i) { return !c.HasInput(i) || c.Constant(i) != nullptr; };
  if (constant(kB) && constant(kScales) && constant(kZeros) && constant(kGroupIndex)) {
    const Parts p{PartOf(c.Constant(kB)), PartOf(c.Constant(kScales)), PartOf(c.Constant(kZeros)),
                  PartOf(c.Constant(kGroupIndex))};
    CheckCounts(s.shape, p);
    PackConstants(c, gpu, p, s);
    for (const std::size_t i : {kB, kScales, kZeros, kGroupIndex})
      if (c.HasInput(i)) c.MarkPacked(i);
  }
  return WithState(RunMatMulNBits, std::move(s));
}

// The kernel multiplies integers where the model asks for it.
void CountQuantizedProduct(CostContext& c) {
  CountProduct(c);
  c.SetComputes(IntAttribute(c.node(), "accuracy_level", 0) == 4 ? DType::kInt8 : DType::kFloat);
}

constexpr OpDef kMatMulNBitsOps[] = {
    {.domain = "com.microsoft",
     .name = "MatMulNBits",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16, DType::kBFloat16},
     .infer = InferMatMulNBits,
     .prepare = PrepareMatMulNBits,
     .cost = CountQuantizedProduct},
};

}  // namespace

std::span<const OpDef> MatMulNBitsOps() { return kMatMulNBitsOps; }

}  // namespace sardonyx::ops
