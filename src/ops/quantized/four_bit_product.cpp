// ops/quantized/four_bit_product.cpp - com.microsoft MatMulBnb4 and MatMulFpQ4: products with weights of 4 bits in
// blocks of their own layouts.
//
// Constant weights are widened and packed for the float product once, others in every run.
#include <algorithm>
#include <cstring>

#include "kernels/gemm/gemm.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/tensor_ref.h"
#include "tensor/shared_bytes.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kA = 0, kB = 1, kExtra = 2;  // the third input: absmax, or the shape of B

constexpr std::int64_t kMostSize = std::int64_t{1} << 28;  // products of two of them are numbers

struct ProductState {
  std::int64_t k = 0, n = 0;     // of the product; 0: B's shape is not known before the run
  bool transposed = true;        // the weights are stored [n, k], not [k, n]
  std::int64_t block = 32;       // weights that share a scale
  const float* table = nullptr;  // MatMulBnb4: what the 16 codes mean
  bool has_zeros = false;        // MatMulFpQ4
  Tensor packed;                 // undefined unless the weights are constant
};

// ---- MatMulBnb4: codes of a table, two a byte (the high half first), times the largest magnitude of their block

// Source: T. Dettmers et al., "QLoRA" (2023), appendix E: the quantiles of a normal distribution.
constexpr float kNormalFloat4[16] = {-1.0f,
                                     -0.6961928009986877f,
                                     -0.5250730514526367f,
                                     -0.39491748809814453f,
                                     -0.28444138169288635f,
                                     -0.18477343022823334f,
                                     -0.09105003625154495f,
                                     0.0f,
                                     0.07958029955625534f,
                                     0.16093020141124725f,
                                     0.24611230194568634f,
                                     0.33791524171829224f,
                                     0.44070982933044434f,
                                     0.5626170039176941f,
                                     0.7229568362236023f,
                                     1.0f};
// A sign, and 0, 1/16, 8, 12, 4, 6, 2, 3 as parts of 12.
constexpr float kFloat4[16] = {
    0.0f,  5.208333333e-03f,  0.66666667f,  1.0f,  0.33333333f,  0.5f,  0.16666667f,  0.25f,
    -0.0f, -5.208333333e-03f, -0.66666667f, -1.0f, -0.33333333f, -0.5f, -0.16666667f, -0.25f};

ProductState ReadBnb4(const AttributeReader& c) {
  const std::int64_t n = c.Int("N"), k = c.Int("K"), block = c.Int("block_size"), kind = c.Int("quant_type");
  if (n < 1 || k < 1 || n > kMostSize || k > kMostSize) {
    c.Fail(Code::kInvalidArgument, "attributes 'N' and 'K': expected numbers in [1, ", kMostSize, "], found ", n,
           " and ", k);
  }
  if (block < 16 || block > kMostSize || (block & (block - 1)) != 0) {
    c.Fail(Code::kInvalidArgument, "attribute 'block_size': expected a power of two of at least 16, found ", block);
  }
  if (kind != 0 && kind != 1)
    c.Fail(Code::kInvalidArgument, "attribute 'quant_type': expected 0 (FP4) or 1 (NF4), found ", kind);
  ProductState s;
  s.transposed = c.Flag("transB", true);
  s.n = s.transposed ? n : k;
  s.k = s.transposed ? k : n;
  s.block = block;
  s.table = kind == 0 ? kFloat4 : kNormalFloat4;
  return s;
}

void CheckBnb4(const ProductState& s, std::int64_t bytes, std::int64_t scales) {
  const std::int64_t count = s.n * s.k, want = (count + 1) / 2, blocks = (count + s.block - 1) / s.block;
  if (bytes != want)
    Fail(Code::kInvalidArgument, "input 1 ('B'): expected ", want, " bytes for ", count, " weights, found ", bytes);
  if (scales != blocks) {
    Fail(Code::kInvalidArgument, "input 2 ('absmax'): expected ", blocks, " values for ", count,
         " weights in blocks of ", s.block, ", found ", scales);
  }
}

void WidenBnb4(const ProductState& s, const std::uint8_t* bytes, const float* scales, float* to, Parallel& parallel) {
  const std::int64_t count = s.n * s.k;
  parallel.For((count + s.block - 1) / s.block, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * s.block; i < std::min(end * s.block, count); ++i)
      to[i] = s.table[bytes[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15] * scales[i / s.block];
  });
}

// ---- MatMulFpQ4: for each column blocks along K, of a scale, a zero point (one kind only) and the 4-bit numbers. A
// byte holds number i of 32 in its low half and number i + 16 in its high half.

constexpr std::int64_t kGroup = 32;

ProductState ReadFpQ4(const AttributeReader& c) {
  ProductState s;
  const std::int64_t kind = c.Int("blk_quant_type", 1);
  if (kind < 0 || kind > 2)
    c.Fail(Code::kInvalidArgument, "attribute 'blk_quant_type': expected 0, 1 or 2, found ", kind);
  s.has_zeros = kind == 1;
  s.block = kind == 2 ? 64 : 32;
  return s;
}

// Sets k and n from the input that holds them, and checks the size of the blob.
void SetShape(ProductState& s, const TensorRef& shape, std::int64_t bytes) {
  if (shape.count != 2) {
    Fail(Code::kInvalidArgument, "input 2 ('B_shape'): expected two numbers, K and N, found shape ",
         ToText(shape.shape));
  }
  s.k = IntAt(shape, 0), s.n = IntAt(shape, 1);
  if (s.n < 1 || s.k < 1 || s.n > kMostSize || s.k > kMostSize) {
    Fail(Code::kInvalidArgument, "input 2 ('B_shape'): expected numbers in [1, ", kMostSize, "], found ", s.k, " and ",
         s.n);
  }
  const std::int64_t block_bytes = 4 + (s.has_zeros ? 1 : 0) + s.block / 2;
  const std::int64_t want = s.n * ((s.k + s.block - 1) / s.block) * block_bytes;
  if (bytes != want) {
    Fail(Code::kInvalidArgument, "input 1 ('B'): expected ", want, " bytes for weights [", s.k, ", ", s.n, "], found ",
         bytes);
  }
}

void WidenFpQ4(const ProductState& s, const std::uint8_t* bytes, float* to, Parallel& parallel) {
  const std::int64_t blocks = (s.k + s.block - 1) / s.block, header = 4 + (s.has_zeros ? 1 : 0);
  parallel.For(s.n * blocks, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint8_t* block = bytes + i * (header + s.block / 2);
      float scale;
      std::memcpy(&scale, block, sizeof(scale));
      const int zero = s.has_zeros ? block[4] : 8;
      const std::int64_t first = i % blocks * s.block;
      for (std::int64_t j = 0; j < std::min(s.block, s.k - first); ++j) {
        const std::int64_t in_group = j % kGroup;
        const std::uint8_t byte = block[header + j / kGroup * (kGroup / 2) + in_group % (kGroup / 2)];
        const int value = in_group < kGroup / 2 ? byte & 15 : byte >> 4;
        to[i / blocks * s.k + first + j] = static_cast<float>(value - zero) * scale;
      }
    }
  });
}

// ---- Both

void InferProduct(InferContext& c, std::int64_t k, const Dim& n) {
  if (c.HasRank(kB) && c.Rank(kB) != 1)
    c.Fail(Code::kInvalidArgument, c.InputText(kB), ": expected a vector, found ", c.InputType(kB).ToText());
  if (!c.HasRank(kA)) return c.SetOutput(0, c.InputDType(kA));
  std::vector<Dim> dims = c.InputDims(kA);
  if (dims.empty() || (k > 0 && dims.back().known() && dims.back().number() != k)) {
    c.Fail(Code::kInvalidArgument, c.InputText(kA), ": expected ", k > 0 ? ToText(Shape{k}) : "some",
           " columns, found ", c.InputType(kA).ToText());
  }
  dims.back() = n;
  c.SetOutput(0, c.InputDType(kA), std::move(dims));
}

void InferBnb4(InferContext& c) {
  const ProductState s = ReadBnb4(c);
  InferProduct(c, s.k, Dim(s.n));
}

void InferFpQ4(InferContext& c) {
  ReadFpQ4(c);
  const auto shape = c.ConstantInts(kExtra);
  const bool known = shape && shape->size() == 2;
  InferProduct(c, known ? (*shape)[0] : 0, known ? Dim((*shape)[1]) : Dim());
}

void RunFourBits(KernelContext& c) {
  ProductState s = c.state<ProductState>();
  const bool is_packed = s.packed.defined(), bnb4 = s.table != nullptr;
  if (bnb4 && !is_packed) CheckBnb4(s, c.Input(kB).count, c.Input(kExtra).count);
  if (!bnb4 && !is_packed) SetShape(s, c.Input(kExtra), c.Input(kB).count);
  Shape shape(c.Input(kA).shape);
  if (shape.size() == 0 || shape[shape.size() - 1] != s.k) {
    Fail(Code::kInvalidArgument, "input 0 ('A'): expected ", s.k, " columns, found shape ", ToText(c.Input(kA).shape));
  }
  shape[shape.size() - 1] = s.n;
  const OutputRef y = c.Output(0, shape);
  if (y.count == 0) return;
  kernels::GemmF32Args gemm;
  gemm.m = y.count / s.n, gemm.n = s.n, gemm.k = s.k;
  gemm.lda = s.k, gemm.ldb = s.transposed ? s.k : s.n, gemm.ldc = s.n;
  gemm.trans_b = s.transposed;
  static constexpr float kGiven = 0;
  if (is_packed) gemm.packed_b = &kGiven;
  Operands io(c, DType::kFloat, 1u << kB | (is_packed || !bnb4 ? 1u << kExtra : 0));
  const std::size_t scratch = io.Add(kernels::GemmF32ScratchBytes(gemm, c.parallel().ThreadCount()));
  const std::size_t wide = io.Add<float>(is_packed ? 0 : static_cast<std::size_t>(s.n * s.k));
  const Operands::Computing computing(io);
  if (is_packed) {
    gemm.packed_b = s.packed.data<float>();
  } else {
    const auto* bytes = c.Input(kB).As<std::uint8_t>();
    if (bnb4)
      WidenBnb4(s, bytes, io.In<float>(kExtra), io.At<float>(wide), c.parallel());
    else
      WidenFpQ4(s, bytes, io.At<float>(wide), c.parallel());
    gemm.b = io.At<float>(wide);
  }
  gemm.a = io.In<float>(kA), gemm.c = io.Out<float>(0);
  kernels::GemmF32(gemm, c.parallel(), io.At(scratch));
}

Prepared PrepareFourBits(PrepareContext& c) {
  const bool bnb4 = c.op_type() == "MatMulBnb4";
  if (c.InputDType(kB) != DType::kUInt8) c.Unsupported(c.InputText(kB), c.InputDType(kB));
  ProductState s = bnb4 ? ReadBnb4(c) : ReadFpQ4(c);
  const Tensor *b = c.Constant(kB), *extra = c.Constant(kExtra);
  if (b == nullptr || extra == nullptr) return WithState(RunFourBits, std::move(s));
  if (!bnb4) SetShape(s, RefOf(*extra), b->count());
  if (bnb4) CheckBnb4(s, b->count(), extra->count());
  std::vector<float> wide(static_cast<std::size_t>(s.n * s.k));
  if (bnb4) {
    std::vector<float> scales(static_cast<std::size_t>(extra->count()));
    Convert(extra->dtype(), extra->raw(), DType::kFloat, scales.data(), extra->count(), c.parallel());
    WidenBnb4(s, b->data<std::uint8_t>(), scales.data(), wide.data(), c.parallel());
  } else {
    WidenFpQ4(s, b->data<std::uint8_t>(), wide.data(), c.parallel());
  }
  s.packed = ZeroedToShare(DType::kFloat, Shape{static_cast<std::int64_t>(kernels::GemmF32PackedCount(s.k, s.n))});
  kernels::PackGemmF32B(s.k, s.n, wide.data(), s.transposed ? s.k : s.n, s.transposed, s.packed.data<float>(),
                        c.parallel());
  s.packed = Shared(std::move(s.packed));
  c.MarkPacked(kB);
  if (bnb4) c.MarkPacked(kExtra);
  return WithState(RunFourBits, std::move(s));
}

void CountFourBits(CostContext& c) { c.SetOperations(2 * CostContext::DimOf(c.In(kA), -1) * c.CountOut(0)); }

constexpr OpDef kFourBitProductOps[] = {
    {.domain = "com.microsoft",
     .name = "MatMulBnb4",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16, DType::kBFloat16},
     .infer = InferBnb4,
     .prepare = PrepareFourBits,
     .cost = CountFourBits},
    {.domain = "com.microsoft",
     .name = "MatMulFpQ4",
     .since = {1},
     .types = {DType::kFloat},
     .infer = InferFpQ4,
     .prepare = PrepareFourBits,
     .cost = CountFourBits},
};

}  // namespace

std::span<const OpDef> FourBitProductOps() { return kFourBitProductOps; }

}  // namespace sardonyx::ops
