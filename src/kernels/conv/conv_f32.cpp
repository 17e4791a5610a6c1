// kernels/conv/conv_f32.cpp - chooses the algorithm of a convolution, packs its weights and lays out its scratch
// memory.
#include <algorithm>
#include <vector>

#include "kernels/conv/conv.h"
#include "kernels/conv/dense.h"
#include "kernels/conv/depthwise.h"
#include "kernels/conv/implicit_gemm.h"
#include "kernels/conv/pointwise_bf16.h"
#include "kernels/conv/winograd.h"
#include "kernels/gemm/gemm.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

enum class Way : std::uint8_t {
  kPlanes,     // depthwise, channels first: weights as they are
  kPixels,     // depthwise, channels last: weights [channel blocks][taps][lanes]
  kPointwise,  // 1x1, channels first: y[M, pixels] = w[M, C] x[C, pixels]; weights as they are
  kWinograd,   // 3x3 kernels whose weights were packed so
  kDense,      // implicit GEMM: weights in panels
  kBf16,       // 1x1, channels last: y[pixels, M] = x[pixels, C] w[C, M]; weights in panels of bf16
};

const TileF32Set& Tiles(const TileF32Set* tiles) { return tiles != nullptr ? *tiles : BestTilesF32(); }
std::size_t RoundUp64(std::size_t bytes) { return (bytes + 63) & ~std::size_t{63}; }
std::size_t FloatBytes(int64_t count) { return RoundUp64(static_cast<std::size_t>(count) * sizeof(float)); }
bool IsFirst(ImageLayout layout) { return layout == ImageLayout::kChannelsFirst; }

// Floats from one output channel's weights to the next in the pointwise way; 4 KB apart they would share a set of the
// cache.
int64_t PointwiseRow(const ConvShape& s) {
  const int64_t k = s.in_channels / s.groups;
  return k % 1024 == 0 ? k + 16 : k;
}

// Only what packed weights may depend on.
Way ChooseWay(const ConvShape& s) {
  if (s.rounds_to_bf16) return Way::kBf16;
  if (s.algorithm != ConvAlgorithm::kDirect) return Way::kWinograd;
  const int64_t group_in = s.in_channels / s.groups, group_out = s.out_channels / s.groups;
  if (group_in == 1 && (group_out == 1 || s.groups > 1)) return IsFirst(s.out_layout) ? Way::kPlanes : Way::kPixels;
  if (Product(s.kernel) == 1 && IsFirst(s.in_layout) && IsFirst(s.out_layout)) return Way::kPointwise;
  return Way::kDense;
}

// Moves a trivial width out of the way (a column is a row), and makes one row of a 1x1 convolution that reads in order.
ConvShape Normalized(const ConvShape& shape) {
  ConvShape s = shape;
  for (int turn = 0; turn < 2 && s.in[2] == 1 && s.out[2] == 1 && s.kernel[2] == 1 && s.pad_begin[2] == 0; ++turn)
    for (Index3* v : {&s.in, &s.out, &s.kernel, &s.stride, &s.dilation, &s.pad_begin}) {
      const int64_t trivial = v == &s.pad_begin ? 0 : 1;
      *v = {trivial, (*v)[0], (*v)[1]};
    }
  if (Product(s.kernel) == 1 && s.in == s.out && Product(s.stride) == 1 && s.pad_begin == Index3{0, 0, 0}) {
    s.in = s.out = {1, 1, Product(s.in)};
    if (!IsFirst(s.in_layout) && !IsFirst(s.out_layout)) {
      s.in[2] = s.out[2] = s.in[2] * s.batch;
      s.batch = 1;
    }
  }
  return s;
}

// A strided or padded 1x1 convolution first takes the positions it reads out of x.
bool NeedsSampling(const ConvShape& s) {
  return s.in != s.out || Product(s.stride) != 1 || s.pad_begin != Index3{0, 0, 0};
}

void Sample(const ConvShape& s, const float* x, float* dst, Parallel& parallel) {
  const int64_t rows = s.out[0] * s.out[1];
  parallel.For(s.in_channels, std::max<int64_t>(1, 8192 / Product(s.out)), [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c)
      for (int64_t row = 0; row < rows; ++row) {
        float* out = dst + (c * rows + row) * s.out[2];
        const int64_t d = row / s.out[1] * s.stride[0] - s.pad_begin[0];
        const int64_t h = row % s.out[1] * s.stride[1] - s.pad_begin[1];
        const bool inside = d >= 0 && d < s.in[0] && h >= 0 && h < s.in[1];
        for (int64_t i = 0; i < s.out[2]; ++i) {
          const int64_t w = i * s.stride[2] - s.pad_begin[2];
          out[i] = inside && w >= 0 && w < s.in[2] ? x[((c * s.in[0] + d) * s.in[1] + h) * s.in[2] + w] : 0;
        }
      }
  });
}

// One group of one image, or all images of an ungrouped convolution.
GemmF32Args PointwiseGemm(const ConvF32Args& args, const TileF32Set& tiles) {
  const ConvShape& s = args.shape;
  const int64_t pixels = Product(s.out);
  GemmF32Args g;
  g.m = s.out_channels / s.groups;
  g.n = pixels;
  g.k = s.in_channels / s.groups;
  g.a = args.packed_weights;
  g.lda = PointwiseRow(s);
  g.b = args.x;
  g.ldb = pixels;
  g.c = args.y;
  g.ldc = pixels;
  g.tiles = &tiles;
  g.epilogue = args.epilogue;
  g.epilogue.bias_m = args.epilogue.bias_n;
  g.epilogue.bias_n = nullptr;
  g.epilogue.residual_stride = pixels;
  if (s.groups == 1 && !NeedsSampling(s)) {
    g.batch = s.batch;
    g.b_batch_stride = pixels * s.in_channels;
    g.c_batch_stride = pixels * s.out_channels;
    g.residual_batch_stride = g.c_batch_stride;
  }
  return g;
}

std::size_t SampleBytes(const ConvShape& s) {
  return NeedsSampling(s) ? FloatBytes(Product(s.out) * s.in_channels) : 0;
}

void RunPointwise(const ConvF32Args& args, const TileF32Set& tiles, Parallel& parallel, std::byte* scratch) {
  const ConvShape& s = args.shape;
  const GemmF32Args whole = PointwiseGemm(args, tiles);
  if (whole.batch == s.batch && s.groups == 1 && !NeedsSampling(s)) return GemmF32(whole, parallel, scratch);
  float* sampled = reinterpret_cast<float*>(scratch);
  for (int64_t n = 0; n < s.batch; ++n) {
    const float* x = args.x + n * Product(s.in) * s.in_channels;
    if (NeedsSampling(s)) Sample(s, x, sampled, parallel), x = sampled;
    for (int64_t group = 0; group < s.groups; ++group) {
      GemmF32Args g = whole;
      const int64_t y = (n * s.groups + group) * g.m * g.n;
      g.a += group * g.m * g.lda;
      g.b = x + group * g.k * g.n;
      g.c += y;
      if (g.epilogue.residual != nullptr) g.epilogue.residual += y;
      if (g.epilogue.bias_m != nullptr) g.epilogue.bias_m += group * g.m;
      GemmF32(g, parallel, scratch + SampleBytes(s));
    }
  }
}

// Depthwise with different layouts: x is first brought into the layout of y.
void ChangeLayout(const ConvShape& s, const TileF32Set& tiles, const float* x, float* dst) {
  const int64_t pixels = Product(s.in), c = s.in_channels;
  for (int64_t n = 0; n < s.batch; ++n, x += pixels * c, dst += pixels * c) {
    if (IsFirst(s.in_layout))
      tiles.transpose(c, pixels, x, pixels, dst, c);
    else
      tiles.transpose(pixels, c, x, c, dst, pixels);
  }
}

void RunDepthwise(const ConvF32Args& args, const TileF32Set& tiles, Parallel& parallel, std::byte* scratch) {
  ConvF32Args a = args;
  if (a.shape.in_layout != a.shape.out_layout) {
    float* copy = reinterpret_cast<float*>(scratch);
    scratch += FloatBytes(a.shape.batch * Product(a.shape.in) * a.shape.in_channels);
    ChangeLayout(a.shape, tiles, a.x, copy);
    a.x = copy;
    a.shape.in_layout = a.shape.out_layout;
  }
  const bool planes = IsFirst(a.shape.out_layout);
  // A 1x1 kernel would merge the batch of channels-last images into one, which is right for pixels, too.
  a.shape = Normalized(a.shape);
  if (planes)
    DepthwisePlanes(a, tiles, parallel, scratch);
  else
    DepthwisePixels(a, tiles, parallel, scratch);
}

// Winograd and depthwise kernels find the residual where y is in it.
bool LaysResidualLikeY(const ConvShape& s, Way way) {
  return (way == Way::kWinograd || way == Way::kPixels) && s.ResidualPixel() != s.OutPixel();
}

void ResidualIntoY(ConvF32Args& args, Parallel& parallel) {
  const ConvShape& s = args.shape;
  if (args.epilogue.residual == nullptr) return;
  const int64_t pixels = s.batch * Product(s.out), channels = s.out_channels;
  parallel.For(pixels, std::max<int64_t>(1, 16384 / channels), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::copy_n(args.epilogue.residual + i * s.ResidualPixel(), channels, args.y + i * s.OutPixel());
  });
  args.epilogue.residual = args.y;
  args.shape.residual_pixel = s.OutPixel();
}

}  // namespace

// The model: multiplications of the image at a share of the ceiling, plus the weights, which come from memory at a
// float in the time of 29 operations (two cores). Per pair of channels: 9 multiplications a pixel, 16 or 36 a tile.
// Where sizes are not known, F(2, 3) is never much slower than the direct sum, and weights up to 2 MB may be F(4, 3).
ConvAlgorithm ChooseConvF32Algorithm(const ConvShape& s) {
  if (!WinogradFits(s) || s.out[0] != 1 || std::min(s.in_channels, s.out_channels) < 8) return ConvAlgorithm::kDirect;
  if (s.out[1] == 0 || s.out[2] == 0) {
    const int64_t pairs = s.in_channels * s.out_channels;
    return pairs <= int64_t{128} * 128 ? ConvAlgorithm::kWinograd4 : ConvAlgorithm::kWinograd2;
  }
  const auto cost = [&](int64_t m, double multiplications, double efficiency) {
    const int64_t tiles = CeilDivide(s.out[1], m) * CeilDivide(s.out[2], m) * std::max<int64_t>(1, s.batch);
    return multiplications * (2 * static_cast<double>(tiles) / efficiency + 29);
  };
  const double direct = cost(1, 9, 0.95), two = cost(2, 16, 0.75), four = cost(4, 36, 0.7);
  if (std::min(two, four) > 0.9 * direct) return ConvAlgorithm::kDirect;
  return four < 0.9 * two ? ConvAlgorithm::kWinograd4 : ConvAlgorithm::kWinograd2;
}

std::size_t ConvF32PackedCount(const ConvShape& s, const TileF32Set* tiles) {
  const int64_t taps = Product(s.kernel);
  if (ChooseWay(s) == Way::kBf16) return (GemmHalfPackedCount(s.in_channels, s.out_channels, tiles) + 1) / 2;
  if (ChooseWay(s) == Way::kPointwise) return static_cast<std::size_t>(s.out_channels * PointwiseRow(s));
  if (ChooseWay(s) == Way::kWinograd) return WinogradPackedCount(s, Tiles(tiles));
  if (ChooseWay(s) == Way::kPixels) return DepthwisePixelsPackedCount(s, Tiles(tiles));
  if (ChooseWay(s) == Way::kPlanes) return static_cast<std::size_t>(s.out_channels * (s.in_channels / s.groups) * taps);
  return DensePackedCount(s, Tiles(tiles));
}

void PackConvF32Weights(const ConvShape& s, const float* w, float* packed, Parallel& parallel,
                        const TileF32Set* tiles) {
  switch (ChooseWay(s)) {
    case Way::kPlanes:
      std::copy_n(w, ConvF32PackedCount(s, tiles), packed);
      return;
    case Way::kPointwise: {
      const int64_t k = s.in_channels / s.groups;
      for (int64_t o = 0; o < s.out_channels; ++o) std::copy_n(w + o * k, k, packed + o * PointwiseRow(s));
      return;
    }
    case Way::kPixels:
      return PackDepthwisePixels(s, w, packed, Tiles(tiles));
    case Way::kWinograd:
      return PackWinograd(s, w, packed, parallel, Tiles(tiles));
    case Way::kBf16:
      return PackPointwiseBf16(s, w, packed, parallel, Tiles(tiles));
    case Way::kDense:
      return PackDense(s, w, packed, parallel, Tiles(tiles));
  }
}

std::size_t ConvF32ScratchBytes(const ConvShape& shape, int threads, const TileF32Set* tiles) {
  const Way way = ChooseWay(shape);
  if (way == Way::kWinograd) return WinogradScratchBytes(shape, threads, Tiles(tiles));
  if (way == Way::kDense) return DenseScratchBytes(Normalized(shape), threads, Tiles(tiles));
  if (way == Way::kBf16) return PointwiseBf16ScratchBytes(shape, threads, Tiles(tiles));
  if (way == Way::kPointwise) {
    ConvF32Args args;
    args.shape = shape;
    return SampleBytes(shape) + GemmF32ScratchBytes(PointwiseGemm(args, Tiles(tiles)), threads);
  }
  std::size_t bytes = 0;
  if (shape.in_layout != shape.out_layout) bytes = FloatBytes(shape.batch * Product(shape.in) * shape.in_channels);
  return bytes + (way == Way::kPlanes ? DepthwisePlanesScratchBytes(Normalized(shape), threads)
                                      : DepthwisePixelsScratchBytes(shape));
}

void ConvF32(const ConvF32Args& given, Parallel& parallel, std::byte* scratch) {
  ConvF32Args args = given;
  const TileF32Set& tiles = Tiles(args.tiles);
  const Way way = ChooseWay(args.shape);
  if (LaysResidualLikeY(args.shape, way)) ResidualIntoY(args, parallel);
  switch (way) {
    case Way::kPlanes:
    case Way::kPixels:
      return RunDepthwise(args, tiles, parallel, scratch);
    case Way::kPointwise:
      return RunPointwise(args, tiles, parallel, scratch);
    case Way::kWinograd:
      return Winograd(args, tiles, parallel, scratch);
    case Way::kBf16:
      return PointwiseBf16(args, tiles, parallel, scratch);
    case Way::kDense:
      args.shape = Normalized(args.shape);
      return Dense(args, tiles, parallel, scratch);
  }
}

}  // namespace sardonyx::kernels
