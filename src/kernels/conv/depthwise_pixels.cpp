// kernels/conv/depthwise_pixels.cpp - groups the outputs of a channels-last depthwise convolution into blocks that are
// computed together.
//
// The image is read in place; borders are positions that read as zero, or taps that are left out. A channel multiplier
// repeats the channels of x in scratch first.
#include <algorithm>

#include "kernels/conv/conv_kernels.h"
#include "kernels/conv/depthwise.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;
using std::ptrdiff_t;

constexpr int64_t kSerialWork = int64_t{1} << 17;

LinearEpilogue Linear(const Epilogue& e) {
  LinearEpilogue linear;
  linear.alpha = e.alpha, linear.beta = e.beta, linear.bias_scale = e.bias_scale, linear.bias = e.bias;
  TileF32Args clamp;
  SetClamp(e.activation, &clamp);
  linear.low = clamp.low, linear.high = clamp.high;
  return linear;
}

bool Repeats(const ConvShape& s) { return s.out_channels != s.in_channels; }

// What both ways of cutting an image share: x and y of C channels, weights [channel blocks][taps][lanes].
struct Task {
  const ConvF32Args& args;
  const ConvShape& s;
  const TileF32Set& tiles;
  const ConvKernels& kernels;
  LinearEpilogue linear;

  int64_t Channels() const { return s.out_channels; }
  int64_t InPixel() const { return Repeats(s) ? s.out_channels : s.InPixel(); }
  int64_t OutPixel() const { return s.OutPixel(); }
  // The epilogue of channels from c on and the floats of y from `at` on.
  LinearEpilogue EpilogueAt(int64_t c, int64_t at) const {
    LinearEpilogue e = linear;
    if (args.epilogue.bias_n != nullptr) e.bias_n = args.epilogue.bias_n + c;
    if (args.epilogue.residual != nullptr) e.residual = args.epilogue.residual + at;
    return e;
  }
};

// Images of two dimensions without dilation: bands of rows.
class Bands {
 public:
  Bands(const Task& task, DepthwiseBandFn* run, int64_t threads) : t_(task), run_(run) {
    bands_ = CeilDivide(t_.s.out[1], kDepthwiseRows);
    const int64_t most = CeilDivide(t_.Channels(), 2 * t_.kernels.lanes);
    if (threads > 1) chunks_ = std::clamp<int64_t>(CeilDivide(4 * threads, t_.s.batch * bands_), 1, most);
  }
  int64_t UnitCount() const { return t_.s.batch * bands_ * chunks_; }

  void RunUnit(int64_t unit) const {
    const ConvShape& s = t_.s;
    const int64_t chunk = unit % chunks_, band = unit / chunks_ % bands_, image = unit / chunks_ / bands_;
    const int64_t lanes = t_.kernels.lanes, vectors = CeilDivide(t_.Channels(), lanes);
    const int64_t first = vectors * chunk / chunks_ * lanes;
    const int64_t row = s.out[1] * band / bands_;
    DepthwiseBandArgs d;
    d.x = t_.args.x + image * s.in[1] * s.in[2] * t_.InPixel() + first;
    d.in_rows = s.in[1], d.in_columns = s.in[2];
    d.x_row_stride = s.in[2] * t_.InPixel(), d.x_pixel_stride = t_.InPixel();
    d.row = row * s.stride[1] - s.pad_begin[1];
    d.row_step = s.stride[1];
    d.w = t_.args.packed_weights + first * s.kernel[1] * s.kernel[2];
    d.kernel_rows = s.kernel[1];
    d.y_row_stride = s.out[2] * t_.OutPixel(), d.y_pixel_stride = t_.OutPixel();
    d.rows = s.out[1] * (band + 1) / bands_ - row;
    d.channels = std::min(vectors * (chunk + 1) / chunks_ * lanes, t_.Channels()) - first;
    d.column = -s.pad_begin[2], d.columns = s.out[2];
    const int64_t y_row = (image * s.out[1] + row) * d.y_row_stride + first;
    d.y = t_.args.y + y_row;
    d.epilogue = t_.EpilogueAt(first, y_row);
    run_(d);
    if (!NeedsPass(t_.args.epilogue.activation)) return;
    for (int64_t r = 0; r < d.rows; ++r)
      t_.tiles.activate(t_.args.y + y_row + r * d.y_row_stride, s.out[2], d.channels, d.y_pixel_stride,
                        t_.args.epilogue.activation);
  }

 private:
  const Task& t_;
  DepthwiseBandFn* run_;
  int64_t bands_, chunks_ = 1;
};

// Taps of one dimension that fall into the image at output position o.
struct TapRange {
  TapRange(const ConvShape& s, int dim, int64_t o) {
    const int64_t start = o * s.stride[dim] - s.pad_begin[dim];
    first = start < 0 ? CeilDivide(-start, s.dilation[dim]) : 0;
    const int64_t last =
        start >= s.in[dim] ? 0 : std::min(s.kernel[dim], (s.in[dim] - 1 - start) / s.dilation[dim] + 1);
    count = std::max<int64_t>(0, last - first);
    input = start + first * s.dilation[dim];
  }
  int64_t first, count, input;  // the first tap, how many, the input position of the first
};

// Any depthwise convolution: runs of positions of an output row that see the same taps.
class Runs {
 public:
  explicit Runs(const Task& task) : t_(task) {}
  int64_t UnitCount() const { return t_.s.batch * t_.s.out[0] * t_.s.out[1]; }

  void RunUnit(int64_t row) const {
    const ConvShape& s = t_.s;
    const TapRange depth(s, 0, row / s.out[1] % s.out[0]), height(s, 1, row % s.out[1]);
    for (int64_t w = 0; w < s.out[2];) {
      const TapRange width(s, 2, w);
      int64_t pixels = 1;
      if (width.count == s.kernel[2]) {  // inside: as many as still see all taps
        const int64_t reach = s.in[2] - 1 - width.input - (s.kernel[2] - 1) * s.dilation[2];
        pixels = std::min(s.out[2] - w, reach / s.stride[2] + 1);
      }
      RunPixels(row, {depth, height, width}, w, pixels);
      w += pixels;
    }
  }

 private:
  void RunPixels(int64_t row, const std::array<TapRange, 3>& taps, int64_t column, int64_t pixels) const {
    const ConvShape& s = t_.s;
    const int64_t image = row / (s.out[0] * s.out[1]);
    const Index3 pitch = {s.in[1] * s.in[2] * t_.InPixel(), s.in[2] * t_.InPixel(), t_.InPixel()};
    const Index3 weights = {s.kernel[1] * s.kernel[2], s.kernel[2], 1};
    DepthwiseRunArgs d;
    d.x = t_.args.x + image * Product(s.in) * t_.InPixel();
    d.w = t_.args.packed_weights;
    bool none = false;
    for (int i = 0; i < 3; ++i) none = none || taps[i].count == 0;
    for (int i = 0; i < 3; ++i) {
      if (!none) d.x += taps[i].input * pitch[i], d.w += taps[i].first * weights[i] * t_.kernels.lanes;
      d.taps[i] = none ? 0 : taps[i].count;
      d.x_tap_step[i] = s.dilation[i] * pitch[i];
      d.w_step[i] = weights[i];
    }
    d.x_step = s.stride[2] * t_.InPixel(), d.y_step = t_.OutPixel();
    d.w_block = Product(s.kernel) * t_.kernels.lanes;
    d.pixels = pixels, d.channels = t_.Channels();
    const int64_t at = (row * s.out[2] + column) * t_.OutPixel();
    d.y = t_.args.y + at;
    d.epilogue = t_.EpilogueAt(0, at);
    t_.kernels.depthwise_run(d);
    if (!NeedsPass(t_.args.epilogue.activation)) return;
    const int64_t rows = t_.OutPixel() == t_.Channels() ? 1 : pixels;
    t_.tiles.activate(d.y, rows, pixels / rows * t_.Channels(), t_.OutPixel(), t_.args.epilogue.activation);
  }

  const Task& t_;
};

template <typename Units>
void RunUnits(const Units& units, bool small, Parallel& parallel) {
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) units.RunUnit(unit);
  };
  const int64_t threads = parallel.ThreadCount(), count = units.UnitCount();
  if (threads == 1 || small) return run(0, count);
  parallel.For(count, std::max<int64_t>(1, count / (4 * threads)), run);
}

// dst[pixel][c * multiplier + i] = x[pixel][c]
void RepeatChannels(const ConvShape& s, const float* x, float* dst, Parallel& parallel) {
  const int64_t channels = s.in_channels, multiplier = s.out_channels / s.in_channels;
  const int64_t pixels = s.batch * Product(s.in);
  parallel.For(pixels, std::max<int64_t>(1, 16384 / s.out_channels), [&](int64_t begin, int64_t end) {
    for (int64_t pixel = begin; pixel < end; ++pixel)
      for (int64_t c = 0; c < channels; ++c)
        std::fill_n(dst + (pixel * channels + c) * multiplier, multiplier, x[pixel * s.InPixel() + c]);
  });
}

}  // namespace

std::size_t DepthwisePixelsPackedCount(const ConvShape& s, const TileF32Set& tiles) {
  const int64_t lanes = ConvKernelsOf(tiles.isa).lanes;
  return static_cast<std::size_t>(CeilDivide(s.out_channels, lanes) * lanes * Product(s.kernel));
}

void PackDepthwisePixels(const ConvShape& s, const float* w, float* packed, const TileF32Set& tiles) {
  const int64_t lanes = ConvKernelsOf(tiles.isa).lanes, taps = Product(s.kernel);
  for (int64_t c = 0; c < CeilDivide(s.out_channels, lanes) * lanes; ++c)
    for (int64_t t = 0; t < taps; ++t)
      packed[(c / lanes * taps + t) * lanes + c % lanes] = c < s.out_channels ? w[c * taps + t] : 0;
}

std::size_t DepthwisePixelsScratchBytes(const ConvShape& s) {
  return Repeats(s) ? static_cast<std::size_t>(s.batch * Product(s.in) * s.out_channels) * sizeof(float) : 0;
}

void DepthwisePixels(const ConvF32Args& args, const TileF32Set& tiles, Parallel& parallel, std::byte* scratch) {
  ConvF32Args a = args;
  const ConvShape& s = args.shape;
  if (Repeats(s)) {
    auto* repeated = reinterpret_cast<float*>(scratch);
    RepeatChannels(s, args.x, repeated, parallel);
    a.x = repeated;
  }
  const ConvKernels& kernels = ConvKernelsOf(tiles.isa);
  const Task task{a, s, tiles, kernels, Linear(a.epilogue)};
  const bool small = s.batch * Product(s.out) * s.out_channels * Product(s.kernel) < kSerialWork;
  const bool flat = s.in[0] == 1 && s.out[0] == 1 && s.kernel[0] == 1 && s.pad_begin[0] == 0;
  const bool dense = (s.kernel[1] == 1 || s.dilation[1] == 1) && s.dilation[2] == 1;
  DepthwiseBandFn* band = flat && dense ? kernels.depthwise_band(s.kernel[2], s.stride[2]) : nullptr;
  if (band != nullptr)
    RunUnits(Bands(task, band, parallel.ThreadCount()), small, parallel);
  else
    RunUnits(Runs(task), small, parallel);
}

}  // namespace sardonyx::kernels
