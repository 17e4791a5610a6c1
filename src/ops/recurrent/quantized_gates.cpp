// ops/recurrent/quantized_gates.cpp - packs the weights of DynamicQuantizeLSTM and multiplies with them.
#include "ops/recurrent/quantized_gates.h"

#include "kernels/elementwise/quantize.h"
#include "ops/operands.h"
#include "tensor/shared_bytes.h"

namespace sardonyx::ops {
namespace {

// The elements for each direction: 1 or n.
std::int64_t CountEach(KernelContext& c, std::size_t input, std::int64_t directions, std::int64_t n) {
  const std::int64_t count = c.Input(input).count;
  if (count == directions) return 1;
  if (count != directions * n) {
    Fail(Code::kInvalidArgument, "expected ", directions, " or ", directions * n, " elements as input ", input,
         ", found ", ToText(c.Input(input).shape));
  }
  return n;
}

}  // namespace

void CheckQuantizedWeights(PrepareContext& c, const QuantizedWeights& weights) {
  const DType dtype = c.InputDType(weights.input);
  if (dtype != DType::kInt8 && dtype != DType::kUInt8) c.Unsupported(c.InputText(weights.input), dtype);
  if (c.InputDType(weights.zero) != dtype) {
    c.Fail(Code::kInvalidArgument, c.InputText(weights.zero), ": expected the type of ", c.InputText(weights.input),
           ", ", Name(dtype), ", found ", Name(c.InputDType(weights.zero)));
  }
}

void PackQuantizedWeights(PrepareContext& c, QuantizedWeights& weights) {
  const Tensor& from = *c.Constant(weights.input);
  const std::int64_t directions = from.shape()[0], k = from.shape()[1], n = from.shape()[2];
  weights.is_signed = from.dtype() == DType::kInt8;
  const auto each = static_cast<std::int64_t>((kernels::GemmInt8PackedBytes(k, n) + 63) / 64 * 64);
  Tensor packed = ZeroedToShare(DType::kUInt8, Shape{directions, each});
  for (std::int64_t d = 0; d < directions; ++d) {
    kernels::PackGemmInt8B(k, n, static_cast<const std::uint8_t*>(from.raw()) + d * k * n, n, weights.is_signed,
                           packed.data<std::uint8_t>() + d * each, c.parallel());
  }
  weights.packed = Shared(std::move(packed));
  c.MarkPacked(weights.input);
}

QuantizedGates::QuantizedGates(KernelContext& c, const QuantizedWeights& weights, std::int64_t directions,
                               std::int64_t k, std::int64_t n)
    : scales_(c.Input(weights.scale).As<float>()),
      weights_(nullptr),
      zeros_(c.Input(weights.zero).As<std::uint8_t>()),
      packed_(weights.packed),
      is_signed_(weights.is_signed),
      k_(k),
      n_(n),
      scales_each_(CountEach(c, weights.scale, directions, n)),
      zeros_each_(CountEach(c, weights.zero, directions, n)) {
  if (packed_.defined()) return;
  weights_ = c.Input(weights.input).As<std::uint8_t>();
  is_signed_ = c.Input(weights.input).dtype == DType::kInt8;
}

kernels::GemmInt8Args QuantizedGates::Args(std::int64_t direction, std::int64_t m) const {
  kernels::GemmInt8Args args;
  args.m = m, args.n = n_, args.k = k_;
  args.lda = k_, args.ldb = n_, args.ldc = n_;
  args.b_signed = is_signed_;
  if (packed_.defined())
    args.packed_b = packed_.data<std::uint8_t>() + direction * packed_.shape()[1];
  else
    args.b = weights_ + direction * k_ * n_;
  args.b_zero = zeros_ + direction * zeros_each_;
  args.b_zero_per_column = zeros_each_ > 1;
  args.result = kernels::Int8Result::kFloats;
  args.scale_per_column = true;
  return args;
}

QuantizedGates::Places QuantizedGates::Layout(std::int64_t m, int threads) const {
  static const std::uint8_t kThere = 0;
  const std::size_t count =
      CheckedMul(static_cast<std::size_t>(m), static_cast<std::size_t>(k_), "the size of quantized rows");
  kernels::GemmInt8Args args = Args(0, m);
  args.a_zero = &kThere;
  ScratchLayout layout;
  Places at = {};
  at.a = layout.Add(count);
  at.ranges = layout.Add<float>(kernels::DynamicRangeFloats(m * k_));
  at.scales = layout.Add<float>(static_cast<std::size_t>(n_));
  at.gemm = layout.Add(kernels::GemmInt8ScratchBytes(args, threads));
  at.bytes = layout.bytes();
  return at;
}

std::size_t QuantizedGates::ScratchBytes(std::int64_t m, int threads) const { return Layout(m, threads).bytes; }

void QuantizedGates::Multiply(std::int64_t direction, std::int64_t m, const float* a, const float* bias, float* y,
                              Parallel& parallel, std::byte* scratch) const {
  const Places at = Layout(m, parallel.ThreadCount());
  const auto floats = [&](std::size_t offset) { return static_cast<float*>(static_cast<void*>(scratch + offset)); };
  auto* quantized = static_cast<std::uint8_t*>(static_cast<void*>(scratch + at.a));
  const kernels::DynamicScale rows = kernels::QuantizeDynamically(a, m * k_, quantized, floats(at.ranges), parallel);
  float* scales = floats(at.scales);
  const float* from = scales_ + direction * scales_each_;
  for (std::int64_t j = 0; j < n_; ++j) scales[j] = rows.scale * from[scales_each_ == 1 ? 0 : j];
  kernels::GemmInt8Args args = Args(direction, m);
  args.a = quantized, args.a_zero = &rows.zero;
  args.c = y;
  args.scales = scales;
  args.float_bias = bias;
  kernels::GemmInt8(args, parallel, scratch + at.gemm);
}

}  // namespace sardonyx::ops
