// kernels/conv/grouped_pixels.cpp - cuts a convolution of narrow groups into bands of rows of some groups.
#include "kernels/conv/grouped_pixels.h"

#include <algorithm>

#include "kernels/conv/conv_kernels.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

constexpr int64_t kLeastRows = 4;  // of a band: a group's weights come to the first cache once for them
constexpr int64_t kUnitsPerThread = 4;
constexpr int64_t kSerialWork = int64_t{1} << 17;

// A unit of work: rows of an image, some groups. Groups that follow each other read and write parts of the same cache
// lines.
class Run {
 public:
  Run(const ConvF32Args& args, const ConvShape& s, const TileF32Set& tiles, int64_t threads)
      : args_(args), s_(s), tiles_(tiles), lanes_(ConvKernelsOf(tiles.isa).lanes) {
    const ConvKernels& kernels = ConvKernelsOf(tiles.isa);
    run_ = s.stride[2] == 1 ? kernels.grouped_band1 : kernels.grouped_band2;
    const int64_t rows = s.out[1], wanted = threads == 1 ? 1 : kUnitsPerThread * threads;
    const int64_t cached = CeilDivide(kBandFloats, s.in[2] * s.InPixel() * s.stride[1]);
    bands_ = std::max(CeilDivide(rows, std::max(kLeastRows, cached)), CeilDivide(wanted, s.batch));
    bands_ = std::clamp<int64_t>(bands_, 1, std::max<int64_t>(1, rows / kLeastRows));
    chunks_ = std::clamp<int64_t>(CeilDivide(wanted, s.batch * bands_), 1, s.groups);
  }
  int64_t Units() const { return s_.batch * bands_ * chunks_; }

  void Unit(int64_t unit) const {
    const int64_t chunk = unit % chunks_, band = unit / chunks_ % bands_, image = unit / chunks_ / bands_;
    const int64_t row = s_.out[1] * band / bands_, rows = s_.out[1] * (band + 1) / bands_ - row;
    const int64_t first = s_.groups * chunk / chunks_, last = s_.groups * (chunk + 1) / chunks_;
    for (int64_t group = first; group < last; ++group) Group(image, row, rows, group);
    if (!NeedsPass(args_.epilogue.activation)) return;
    const int64_t group_out = s_.out_channels / s_.groups;
    for (int64_t r = row; r < row + rows; ++r)
      tiles_.activate(args_.y + Output(image, r) + first * group_out, s_.out[2], (last - first) * group_out,
                      s_.OutPixel(), args_.epilogue.activation);
  }

 private:
  static constexpr int64_t kBandFloats = int64_t{48} << 10;  // of x, in the second cache for all groups

  int64_t Output(int64_t image, int64_t row) const { return (image * s_.out[1] + row) * s_.out[2] * s_.OutPixel(); }

  void Group(int64_t image, int64_t row, int64_t rows, int64_t group) const {
    const int64_t group_in = s_.in_channels / s_.groups, group_out = s_.out_channels / s_.groups, nr = tiles_.columns;
    const int64_t panel_floats = s_.kernel[1] * s_.kernel[2] * group_in * nr;
    GroupedBandArgs d;
    d.x = args_.x + image * s_.in[1] * s_.in[2] * s_.InPixel() + group * group_in;
    d.in_rows = s_.in[1], d.in_columns = s_.in[2], d.in_channels = group_in;
    d.x_row_stride = s_.in[2] * s_.InPixel(), d.x_pixel_stride = s_.InPixel();
    d.row = row * s_.stride[1] - s_.pad_begin[1], d.row_step = s_.stride[1];
    d.column = -s_.pad_begin[2];
    d.w_tap_stride = group_in * nr, d.w_channel_stride = nr;
    d.kernel_rows = s_.kernel[1];
    d.y_row_stride = s_.out[2] * s_.OutPixel(), d.y_pixel_stride = s_.OutPixel();
    d.rows = rows, d.columns = s_.out[2];
    const Epilogue& e = args_.epilogue;
    d.epilogue.alpha = e.alpha, d.epilogue.beta = e.beta;
    d.epilogue.bias_scale = e.bias_scale, d.epilogue.bias = e.bias;
    TileF32Args clamp;
    SetClamp(e.activation, &clamp);
    d.epilogue.low = clamp.low, d.epilogue.high = clamp.high;
    const float* weights = args_.packed_weights + group * CeilDivide(group_out, nr) * panel_floats;
    for (int64_t j = 0; j < group_out; j += lanes_) {
      const int64_t channel = group * group_out + j, at = Output(image, row) + channel;
      d.w = weights + j / nr * panel_floats + j % nr;
      d.y = args_.y + at;
      d.channels = std::min(lanes_, group_out - j);
      d.epilogue.bias_n = e.bias_n != nullptr ? e.bias_n + channel : nullptr;
      d.epilogue.residual = e.residual != nullptr ? e.residual + at : nullptr;
      run_(d);
    }
  }

  const ConvF32Args& args_;
  const ConvShape& s_;
  const TileF32Set& tiles_;
  int64_t lanes_;
  GroupedBandFn* run_;
  int64_t bands_, chunks_;
};

}  // namespace

bool GroupedPixelsFits(const ConvShape& s, const TileF32Set& tiles) {
  const bool last = s.in_layout == ImageLayout::kChannelsLast && s.out_layout == ImageLayout::kChannelsLast;
  const bool flat = s.in[0] == 1 && s.out[0] == 1 && s.kernel[0] == 1 && s.pad_begin[0] == 0;
  if (!last || !flat || s.groups == 1 || s.kernel[2] != 3) return false;
  if ((s.kernel[1] != 1 && s.dilation[1] != 1) || s.dilation[2] != 1 || s.stride[2] > 2) return false;
  const int64_t reach = (s.out[2] - 1) * s.stride[2] + s.kernel[2] - s.pad_begin[2];
  if (s.pad_begin[2] > 1 || reach > s.in[2] + 1) return false;
  return s.out_channels / s.groups <= ConvKernelsOf(tiles.isa).lanes &&
         s.in_channels / s.groups <= kMostGroupedChannels && s.ResidualPixel() == s.OutPixel();
}

void GroupedPixels(const ConvF32Args& args, const ConvShape& s, const TileF32Set& tiles, Parallel& parallel) {
  const int64_t threads = parallel.ThreadCount();
  const int64_t work = s.batch * Product(s.out) * s.out_channels * (s.in_channels / s.groups) * Product(s.kernel);
  const Run run(args, s, tiles, work < kSerialWork ? 1 : threads);
  const auto units = [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) run.Unit(unit);
  };
  if (threads == 1 || work < kSerialWork) return units(0, run.Units());
  parallel.For(run.Units(), 1, units);
}

}  // namespace sardonyx::kernels
