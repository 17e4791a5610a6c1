// kernels/conv/pointwise_bf16.cpp - a 1x1 convolution of channels-last images as one product, with numbers rounded to
// bf16.
#include "kernels/conv/pointwise_bf16.h"

#include <algorithm>
#include <vector>

#include "base/small_float.h"
#include "kernels/conv/implicit_gemm.h"
#include "kernels/gemm/gemm.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

constexpr float kGiven[1] = {};  // in the place of an operand when only sizes count

std::size_t FloatBytes(int64_t count) {
  return (static_cast<std::size_t>(count) * sizeof(float) + 63) & ~std::size_t{63};
}

GemmF32Args Bf16Gemm(const ConvF32Args& args, const TileF32Set& tiles) {
  const ConvShape& s = args.shape;
  GemmF32Args g;
  g.m = s.batch * Product(s.out), g.n = s.out_channels, g.k = s.in_channels;
  g.a = args.x, g.lda = s.InPixel();
  g.packed_half = static_cast<const std::uint16_t*>(static_cast<const void*>(args.packed_weights));
  g.half_kind = HalfKind::kBFloat16;
  g.rounds_to_bf16 = true;
  g.c = args.y, g.ldc = s.OutPixel();
  g.tiles = &tiles;
  g.epilogue = args.epilogue;
  g.epilogue.residual_stride = s.ResidualPixel();
  return g;
}

// The pixels that a strided 1x1 kernel reads, channels last.
void SamplePixels(const ConvShape& s, const float* x, float* dst, Parallel& parallel) {
  const int64_t rows = s.batch * s.out[0] * s.out[1], channels = s.in_channels;
  const int64_t grain = std::max<int64_t>(1, 16384 / (s.out[2] * channels));
  parallel.For(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t h = row % s.out[1], d = row / s.out[1] % s.out[0], n = row / (s.out[1] * s.out[0]);
      const float* from = x + ((n * s.in[0] + d * s.stride[0]) * s.in[1] + h * s.stride[1]) * s.in[2] * s.InPixel();
      for (int64_t w = 0; w < s.out[2]; ++w)
        std::copy_n(from + w * s.stride[2] * s.InPixel(), channels, dst + (row * s.out[2] + w) * channels);
    }
  });
}

std::size_t SampledBytes(const ConvShape& s) {
  return s.in == s.out ? 0 : FloatBytes(s.batch * Product(s.out) * s.in_channels);
}

}  // namespace

std::size_t PointwiseBf16ScratchBytes(const ConvShape& s, int threads, const TileF32Set& tiles) {
  ConvF32Args args;
  args.shape = s, args.packed_weights = kGiven;
  return SampledBytes(s) + GemmF32ScratchBytes(Bf16Gemm(args, tiles), threads);
}

void PointwiseBf16(const ConvF32Args& args, const TileF32Set& tiles, Parallel& parallel, std::byte* scratch) {
  GemmF32Args g = Bf16Gemm(args, tiles);
  if (const std::size_t bytes = SampledBytes(args.shape); bytes > 0) {
    float* sampled = reinterpret_cast<float*>(scratch);
    SamplePixels(args.shape, args.x, sampled, parallel);
    g.a = sampled, g.lda = g.k;
    scratch += bytes;
  }
  GemmF32(g, parallel, scratch);
}

void PackPointwiseBf16(const ConvShape& s, const float* w, float* packed, Parallel& parallel, const TileF32Set& tiles) {
  std::vector<std::uint16_t> rounded(static_cast<std::size_t>(s.out_channels * s.in_channels));
  for (std::size_t i = 0; i < rounded.size(); ++i) rounded[i] = BFloat16(w[i]).bits;
  PackGemmHalfB(s.in_channels, s.out_channels, rounded.data(), s.in_channels, true,
                static_cast<std::uint16_t*>(static_cast<void*>(packed)), parallel, &tiles);
}

}  // namespace sardonyx::kernels
