#include "kernels/conv/expanded_depthwise.h"

#include <algorithm>

#include "base/parallel_slots.h"
#include "kernels/conv/conv_kernels.h"
#include "kernels/conv/depthwise.h"
#include "kernels/conv/implicit_gemm.h"
#include "kernels/gemm/gemm.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

constexpr float kGiven[1] = {};              // in the place of an operand when only sizes count
constexpr int64_t kChunkPanels = 3;          // of the wide image's channels that are computed together, at most
constexpr int64_t kStripFloats = 40 * 1024;  // of their rows: a part of the second cache, beside x and y
constexpr int64_t kUnitsPerThread = 4;
constexpr int64_t kLeastRepeats = 8;  // a part has this many rows for each row that its neighbour computes, too

std::size_t FloatBytes(int64_t count) {
  return (static_cast<std::size_t>(count) * sizeof(float) + 63) & ~std::size_t{63};
}

// How channels and rows are cut. Only the number of parts of an image depends on the threads: sums do not.
class Cut {
 public:
  Cut(const ConvShape& s, const TileF32Set& tiles, int threads) : s_(s), nr_(tiles.columns) {
    panels_ = CeilDivide(s.out_channels, nr_);
    chunks_ = CeilDivide(panels_, kChunkPanels);
    if (chunks_ > 1) chunks_ += chunks_ % 2;  // two threads get as many, where an image is one part
    const int64_t row = s.in[2] * ChunkChannels(), kernel = s.kernel[1], stride = s.stride[1];
    rows_ = std::clamp<int64_t>((kStripFloats / row - kernel) / stride + 1, 1, s.out[1]);
    strip_floats_ = std::min(s.in[1], (rows_ - 1) * stride + kernel) * row;
    const int64_t wanted = threads == 1 ? 1 : CeilDivide(kUnitsPerThread * threads, s.batch * chunks_);
    const int64_t least = std::max<int64_t>(1, kLeastRepeats * (kernel - stride) / stride);
    parts_ = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, s.out[1] / least));
  }
  int64_t Units() const { return s_.batch * parts_ * chunks_; }
  int64_t Chunks() const { return chunks_; }
  int64_t Parts() const { return parts_; }
  int64_t Rows() const { return rows_; }
  int64_t StripFloats() const { return strip_floats_; }
  // The first channel of a chunk; all channels for the number of chunks.
  int64_t FirstChannel(int64_t chunk) const { return std::min(panels_ * chunk / chunks_ * nr_, s_.out_channels); }
  int64_t FirstRow(int64_t part) const { return s_.out[1] * part / parts_; }

 private:
  int64_t ChunkChannels() const { return CeilDivide(panels_, chunks_) * nr_; }

  const ConvShape& s_;
  int64_t nr_, panels_, chunks_, rows_, parts_, strip_floats_;
};

// Where the packed weights lie: those of the chunks, each 64-byte aligned, then the depthwise ones.
class Layout {
 public:
  Layout(const Cut& cut, int64_t x_channels, const TileF32Set& tiles) : cut_(cut), k_(x_channels) {
    const int64_t last = cut.Chunks() - 1, channels = cut.FirstChannel(last + 1) - cut.FirstChannel(last);
    depthwise_ = Aligned(Wide(last) + static_cast<int64_t>(GemmF32PackedCount(k_, channels, &tiles)));
  }
  int64_t Wide(int64_t chunk) const { return Aligned(cut_.FirstChannel(chunk) * k_ + chunk * kAlignment); }
  int64_t Depthwise() const { return depthwise_; }

 private:
  static constexpr int64_t kAlignment = 16;  // floats
  static int64_t Aligned(int64_t floats) { return CeilDivide(floats, kAlignment) * kAlignment; }

  const Cut& cut_;
  int64_t k_, depthwise_;
};

GemmF32Args WideProduct(const ExpandedDepthwiseArgs& args, const TileF32Set& tiles, int64_t pixels, int64_t channels) {
  GemmF32Args g;
  g.m = pixels, g.n = channels, g.k = args.x_channels;
  g.a = args.x, g.lda = args.shape.in_pixel != 0 ? args.shape.in_pixel : args.x_channels;
  g.packed_b = args.packed != nullptr ? args.packed : kGiven;
  g.ldc = channels;
  g.same_rows = true;
  g.tiles = &tiles;
  g.epilogue = args.wide;
  return g;
}

std::size_t ProductBytes(const ExpandedDepthwiseArgs& args, const Cut& cut, const TileF32Set& tiles) {
  const int64_t channels = cut.FirstChannel(1), pixels = cut.StripFloats() / channels;
  return GemmF32ScratchBytes(WideProduct(args, tiles, pixels, channels), 1);
}

const TileF32Set& Tiles(const TileF32Set* given) { return given != nullptr ? *given : BestTilesF32(); }

class Run {
 public:
  Run(const ExpandedDepthwiseArgs& args, const TileF32Set& tiles, const Cut& cut)
      : args_(args), s_(args.shape), tiles_(tiles), cut_(cut), layout_(cut, args.x_channels, tiles) {}

  void Unit(int64_t unit, std::byte* strip_bytes, std::byte* scratch) const {
    auto* strip = reinterpret_cast<float*>(strip_bytes);
    const int64_t chunk = unit % cut_.Chunks(), part = unit / cut_.Chunks() % cut_.Parts();
    const int64_t image = unit / cut_.Chunks() / cut_.Parts();
    const int64_t first = cut_.FirstChannel(chunk), channels = cut_.FirstChannel(chunk + 1) - first;
    const int64_t row_floats = s_.in[2] * channels, end = cut_.FirstRow(part + 1);
    int64_t low = 0, high = 0;  // rows of the wide image that the strip holds
    for (int64_t row = cut_.FirstRow(part); row < end; row += cut_.Rows()) {
      const int64_t rows = std::min(cut_.Rows(), end - row), start = row * s_.stride[1] - s_.pad_begin[1];
      const int64_t begin = std::max<int64_t>(0, start);
      const int64_t reach = std::min(s_.in[1], start + (rows - 1) * s_.stride[1] + s_.kernel[1]);
      if (begin < high)
        std::copy(strip + (begin - low) * row_floats, strip + (high - low) * row_floats, strip);
      else
        high = begin;
      low = begin;
      if (high < reach) Widen(image, chunk, high, reach - high, strip + (high - low) * row_floats, scratch);
      high = std::max(high, reach);
      Filter(image, first, channels, row, rows, low - start, high - low, strip);
    }
  }

 private:
  // Rows of the wide image, from `row` on.
  void Widen(int64_t image, int64_t chunk, int64_t row, int64_t rows, float* wide, std::byte* scratch) const {
    const int64_t first = cut_.FirstChannel(chunk), channels = cut_.FirstChannel(chunk + 1) - first;
    GemmF32Args g = WideProduct(args_, tiles_, rows * s_.in[2], channels);
    g.a += (image * s_.in[1] + row) * s_.in[2] * g.lda;
    g.packed_b += layout_.Wide(chunk);
    g.c = wide;
    if (g.epilogue.bias_n != nullptr) g.epilogue.bias_n += first;
    Serial serial;
    GemmF32(g, serial, scratch);
  }

  // Rows of y from `row` on, out of the strip's `in_rows` rows, above which `pad` are missing.
  void Filter(int64_t image, int64_t first, int64_t channels, int64_t row, int64_t rows, int64_t pad, int64_t in_rows,
              const float* strip) const {
    ConvF32Args a;
    a.shape = s_;
    a.shape.batch = 1;
    a.shape.in_channels = a.shape.out_channels = a.shape.groups = a.shape.in_pixel = channels;
    a.shape.in[1] = in_rows, a.shape.out[1] = rows, a.shape.pad_begin[1] = pad;
    a.shape.out_pixel = a.shape.residual_pixel = s_.OutPixel();
    a.x = strip;
    const int64_t lanes = ConvKernelsOf(tiles_.isa).lanes, taps = s_.kernel[1] * s_.kernel[2];
    a.packed_weights = args_.packed + layout_.Depthwise() + CeilDivide(first, lanes) * lanes * taps;
    const int64_t at = (image * s_.out[1] + row) * s_.out[2] * s_.OutPixel() + first;
    a.y = args_.y + at;
    a.epilogue = args_.epilogue;
    if (a.epilogue.bias_n != nullptr) a.epilogue.bias_n += first;
    if (a.epilogue.residual != nullptr) a.epilogue.residual += at;
    Serial serial;
    DepthwisePixels(a, tiles_, serial, nullptr);
  }

  const ExpandedDepthwiseArgs& args_;
  const ConvShape& s_;
  const TileF32Set& tiles_;
  const Cut& cut_;
  Layout layout_;
};

}  // namespace

std::size_t ExpandedDepthwisePackedCount(const ConvShape& s, int64_t x_channels, const TileF32Set* given) {
  const TileF32Set& tiles = Tiles(given);
  const Cut cut(s, tiles, 1);
  return static_cast<std::size_t>(Layout(cut, x_channels, tiles).Depthwise()) + DepthwisePixelsPackedCount(s, tiles);
}

void PackExpandedDepthwise(const ConvShape& s, int64_t x_channels, const float* wide, const float* w, float* packed,
                           Parallel& parallel, const TileF32Set* given) {
  const TileF32Set& tiles = Tiles(given);
  const Cut cut(s, tiles, 1);
  const Layout layout(cut, x_channels, tiles);
  for (int64_t chunk = 0; chunk < cut.Chunks(); ++chunk) {
    const int64_t first = cut.FirstChannel(chunk), channels = cut.FirstChannel(chunk + 1) - first;
    PackGemmF32B(x_channels, channels, wide + first * x_channels, x_channels, true, packed + layout.Wide(chunk),
                 parallel, &tiles);
  }
  PackDepthwisePixels(s, w, packed + layout.Depthwise(), tiles);
}

std::size_t ExpandedDepthwiseScratchBytes(const ExpandedDepthwiseArgs& args, int threads) {
  const TileF32Set& tiles = Tiles(args.tiles);
  const Cut cut(args.shape, tiles, threads);
  return static_cast<std::size_t>(threads) * (FloatBytes(cut.StripFloats()) + ProductBytes(args, cut, tiles));
}

void ExpandedDepthwise(const ExpandedDepthwiseArgs& args, Parallel& parallel, std::byte* scratch) {
  const TileF32Set& tiles = Tiles(args.tiles);
  const Cut cut(args.shape, tiles, parallel.ThreadCount());
  const Run run(args, tiles, cut);
  const std::size_t strip = FloatBytes(cut.StripFloats()), product = ProductBytes(args, cut, tiles);
  ForWithSlots(cut.Units(), parallel, [&](int64_t begin, int64_t end, int64_t slot) {
    std::byte* mine = scratch + static_cast<std::size_t>(slot) * (strip + product);
    for (int64_t unit = begin; unit < end; ++unit) run.Unit(unit, mine, product == 0 ? nullptr : mine + strip);
  });
}

}  // namespace sardonyx::kernels
