// kernels/conv/dense.cpp - convolutions as an implicit GEMM: where the taps read, the border of zeros, weights in
// panels.
#include "kernels/conv/dense.h"

#include <algorithm>

#include "base/cpu_info.h"
#include "base/parallel_slots.h"
#include "kernels/conv/grouped_pixels.h"
#include "kernels/conv/implicit_gemm.h"
#include "kernels/conv/strips.h"
#include "kernels/gemm/gemm.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;
using std::ptrdiff_t;

constexpr int64_t kMostTapsOfBlock = 128;
constexpr int64_t kMergedChannels = 32;  // input channels of a merged group, at most
constexpr float kGiven[1] = {};          // in the place of an operand when only sizes count

std::size_t RoundUp64(std::size_t bytes) { return (bytes + 63) & ~std::size_t{63}; }
std::size_t FloatBytes(int64_t count) { return RoundUp64(static_cast<std::size_t>(count) * sizeof(float)); }
bool IsFirst(ImageLayout layout) { return layout == ImageLayout::kChannelsFirst; }

// Groups too narrow for a tile are taken together, with zeros for the weights between them: as many multiplications in
// fewer and longer sums. s: of the dense way.
ConvShape MergedGroups(const ConvShape& s, const TileF32Set& tiles) {
  ConvShape merged = s;
  while (merged.groups % 2 == 0 && s.groups > 1 && 4 * s.out_channels <= tiles.columns * merged.groups &&
         s.in_channels <= kMergedChannels * merged.groups / 2)
    merged.groups /= 2;
  return merged;
}

constexpr int64_t kLongLine = 16;  // positions for each that a kernel reaches

// How the dense way reads its input.
struct DenseInput {
  explicit DenseInput(const ConvShape& s) {
    for (int i = 0; i < 3; ++i) {
      halo.lead[i] = -TapStart(s, i, 0);
      halo.size[i] = (s.out[i] - 1) * s.stride[i] + TapStart(s, i, s.kernel[i] - 1) + halo.lead[i] + 1;
    }
    halo.channels = s.in_channels;
    // Positions 4 KB apart would fall into one set of the first cache level: kernels then read from padded pixels.
    const auto alias = [&](int64_t pixel) { return pixel * s.stride[2] % 1024 == 0 && s.out[2] >= 8; };
    const int64_t reach = halo.size[2] - (s.out[2] - 1) * s.stride[2];
    in_place = !alias(s.InPixel()) && !IsFirst(s.in_layout) && s.pad_begin == Index3{0, 0, 0} &&
               halo.size[0] <= s.in[0] && halo.size[1] <= s.in[1] && halo.size[2] <= s.in[2];
    if (in_place) halo.size = s.in;
    halo.pixel = in_place ? s.InPixel() : s.in_channels + (alias(s.in_channels) ? 16 : 0);
    // The taps of a kernel row are consecutive pixels: one long sum.
    merged = s.groups == 1 && s.dilation[2] == 1 && halo.pixel == s.in_channels;
    line = s.out[0] * s.out[1] * s.kernel[0] * s.kernel[1] == 1 && (merged || kLongLine * reach <= s.out[2]);
    taps = s.kernel[0] * s.kernel[1] * (merged ? 1 : s.kernel[2]);
    k = s.in_channels / s.groups * (merged ? s.kernel[2] : 1);
  }
  std::size_t OffsetBytes() const { return RoundUp64(static_cast<std::size_t>(taps) * sizeof(ptrdiff_t)); }
  // Where in the image a tap reads for the first position. A tap so far away that it reads only padding reads nearer
  // padding: a large dilation of a small image would make a halo of many times its size.
  static int64_t TapStart(const ConvShape& s, int dim, int64_t tap) {
    const int64_t start = tap * s.dilation[dim] - s.pad_begin[dim];
    if (s.dilation[dim] == 1) return start;
    const int64_t reach = std::max<int64_t>(0, (s.out[dim] - 1) * s.stride[dim]);
    return std::clamp(start, -reach - 1, s.in[dim]);
  }

  HaloedImage halo;
  bool in_place;
  bool merged;
  bool line;  // one row, as of audio, of whose taps too few read only padding to look for them
  int64_t taps, k;
};

void SetTapOffsets(const ConvShape& s, const DenseInput& input, ptrdiff_t* offsets) {
  const Index3 pitch = input.halo.Pitch();
  const auto offset = [&](int dim, int64_t tap) {
    return (DenseInput::TapStart(s, dim, tap) + input.halo.lead[dim]) * pitch[dim];
  };
  for (int64_t d = 0; d < s.kernel[0]; ++d)
    for (int64_t h = 0; h < s.kernel[1]; ++h)
      for (int64_t w = 0; w < (input.merged ? 1 : s.kernel[2]); ++w)
        *offsets++ = offset(0, d) + offset(1, h) + offset(2, w);
}

// A product of a few rows: 1x1 kernels on nearly nothing, as in squeeze-and-excitation. s: normalized.
constexpr int64_t kThinRows = 8;
constexpr int64_t kThinSerialWork = int64_t{1} << 17;
bool IsThin(const ConvShape& s, const TileF32Set& tiles) {
  // The product keeps a last panel of few columns in another form (PackGemmF32B) than the convolution's weights have.
  const int64_t rest = s.out_channels % tiles.columns;
  if (rest != 0 && rest <= TileF32Set::kMaxColumns) return false;
  return Product(s.kernel) == 1 && s.groups == 1 && s.batch == 1 && s.in == s.out && s.in[2] <= kThinRows &&
         s.in[0] * s.in[1] == 1 && s.pad_begin == Index3{0, 0, 0} && !IsFirst(s.in_layout) && !IsFirst(s.out_layout);
}

GemmF32Args ThinGemm(const ConvF32Args& args, const ConvShape& s, const TileF32Set& tiles) {
  GemmF32Args g;
  g.m = s.in[2], g.n = s.out_channels, g.k = s.in_channels;
  g.a = args.x, g.lda = s.InPixel();
  g.packed_b = args.packed_weights;
  g.c = args.y, g.ldc = s.OutPixel();
  g.tiles = &tiles;
  g.epilogue = args.epilogue;
  g.epilogue.residual_stride = s.ResidualPixel();
  return g;
}

// What the positions of all images share; x, images and y are set for each piece of work.
ImplicitGemm PlanGemm(const ConvF32Args& args, const ConvShape& s, const TileF32Set& tiles, const DenseInput& input,
                      const ptrdiff_t* offsets) {
  const Index3 pitch = input.halo.Pitch();
  ImplicitGemm g{};
  g.tiles = &tiles;
  g.x_image_stride = Product(s.in) * s.InPixel();
  g.x_image_floats = input.halo.Floats();
  for (int i = 0; i < 3; ++i) g.x_step[i] = s.stride[i] * pitch[i];
  g.tap_offsets = offsets;
  g.taps = input.taps;
  g.grid = {{s.kernel[0], s.kernel[1], input.merged ? 1 : s.kernel[2]}, s.in, s.pad_begin, s.stride, s.dilation};
  if (input.merged) g.grid.in[2] = INT64_MAX, g.grid.lead[2] = 0;  // a tap is a row of them: always there
  if (input.line) g.grid.kernel = {0, 0, 0};
  g.k = input.k;
  g.groups = s.groups;
  g.group_in = s.in_channels / s.groups;
  g.group_out = s.out_channels / s.groups;
  g.weights = args.packed_weights;
  g.count = s.out;
  g.out_layout = s.out_layout;
  g.out_pixels = Product(s.out);
  g.y_pixel = s.OutPixel(), g.residual_pixel = s.ResidualPixel();
  g.y_step = {s.out[1] * s.out[2], s.out[2], 1};
  g.epilogue = &args.epilogue;
  g.y = args.y;
  g.residual = args.epilogue.residual;
  return g;
}

// Rows of output, or positions of a single row, whose input with its border each thread makes and multiplies at once: a
// whole image would leave the second cache level in between.
class Bands {
 public:
  Bands(const ConvShape& s, const DenseInput& input, const TileF32Set& tiles, int64_t threads)
      : halo_(input.halo), dim_(input.line ? 2 : 1), out_rows_(s.out[dim_]), step_(s.stride[dim_]) {
    const int64_t row_floats = halo_.Pitch()[dim_], reach = InputRows(1), width = dim_ == 1 ? s.out[2] : 1;
    if (input.in_place || s.out[0] * s.kernel[0] != 1 || Product(s.out) == 0 || row_floats == 0) return;
    // Fewer rows would read most of the input twice, and the next panel of weights would not arrive in time.
    const int64_t least = std::max(CeilDivide(reach, step_) - 1, CeilDivide(kBandTiles * tiles.rows, width));
    const int64_t in_cache = (kBandFloats / row_floats - reach) / step_ + 1;
    const int64_t share = CeilDivide(s.batch * out_rows_, kUnitsPerThread * threads);
    const int64_t most = std::max(std::min(in_cache, share), least);
    int64_t bands = CeilDivide(out_rows_, most);
    if (input.line && bands > threads) bands -= bands % threads;  // often few: as many for each thread
    const int64_t rows = std::max(CeilDivide(out_rows_, bands), least);
    // Tiles of two rows begin at even ones, with bands or without: the bits are the same.
    rows_ = std::min(input.line ? rows : CeilDivide(rows, 2) * 2, out_rows_);
    count_ = CeilDivide(out_rows_, rows_);
    fits_ = InputRows(rows_) * row_floats <= MostFloats() && s.batch * count_ >= kLeastUnitsPerThread * threads;
  }

  bool Fit() const { return fits_; }
  int64_t count() const { return count_; }  // of an image
  std::size_t Bytes() const { return FloatBytes(HaloOf(0).Floats()); }

  HaloedImage HaloOf(int64_t band) const {
    HaloedImage halo = halo_;
    halo.size[dim_] = InputRows(Rows(band));
    halo.lead[dim_] -= FirstRow(band) * step_;
    return halo;
  }
  // Leaves of a whole image what a band computes of it.
  void Cut(int64_t band, ImplicitGemm* g) const {
    g->x_image_floats = HaloOf(band).Floats();
    g->count[dim_] = Rows(band);
    g->y_start = FirstRow(band) * g->y_step[dim_];
    g->grid.lead[dim_] -= FirstRow(band) * step_;
  }

 private:
  static constexpr int64_t kBandFloats = int64_t{32} << 10;
  static constexpr int64_t kBandTiles = 8;  // of a panel, at least
  static constexpr int64_t kLeastUnitsPerThread = 4;
  static int64_t MostFloats() { return static_cast<int64_t>(Cpu().l2_bytes / 8 * 5 / sizeof(float)); }
  int64_t InputRows(int64_t rows) const { return halo_.size[dim_] - (out_rows_ - rows) * step_; }
  int64_t FirstRow(int64_t band) const { return band * rows_; }
  int64_t Rows(int64_t band) const { return std::min(rows_, out_rows_ - FirstRow(band)); }

  HaloedImage halo_;
  std::size_t dim_;  // of the rows; 2: they are the positions of a single one
  int64_t out_rows_, step_;
  int64_t rows_ = 0, count_ = 0;
  bool fits_ = false;
};

// One image of y, computed from x.
ImplicitGemm OfImage(const ImplicitGemm& all, const float* x, int64_t image) {
  ImplicitGemm g = all;
  g.x = x;
  g.images = 1;
  g.y += image * g.out_pixels * g.y_pixel;
  if (g.residual != nullptr) g.residual += image * g.out_pixels * g.residual_pixel;
  return g;
}

void RunBands(const ImplicitGemm& whole, const Bands& bands, const ConvF32Args& args, const ConvShape& s,
              Parallel& parallel, std::byte* scratch) {
  ForWithSlots(s.batch * bands.count(), parallel, [&](int64_t begin, int64_t end, int64_t slot) {
    float* input = reinterpret_cast<float*>(scratch + static_cast<std::size_t>(slot) * bands.Bytes());
    Serial serial;
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t image = unit / bands.count(), band = unit % bands.count();
      const SourceImage source = {args.x + image * whole.x_image_stride, s.in, s.in_layout, s.InPixel()};
      FillHalo(*whole.tiles, bands.HaloOf(band), source, input, serial);
      ImplicitGemm g = OfImage(whole, input, image);
      bands.Cut(band, &g);
      RunImplicitGemm(g, serial);
    }
  });
}

// dst[t][channel][j] = w[j][channel][t] for the columns j of a panel, panels of one group. dst: [taps][channels][nr].
void PackColumns(const TileF32Set& tiles, const float* w, int64_t columns, int64_t channels, int64_t taps, float* dst) {
  const int64_t nr = tiles.columns;
  if (taps == 1) return tiles.transpose(columns, channels, w, channels, dst, nr);
  constexpr int64_t kFloats = kMostTapsOfBlock * kMostColumns;  // of a block, in the first cache level
  float block[kFloats];
  const int64_t most = std::max<int64_t>(1, kFloats / (taps * nr));
  for (int64_t first = 0; first < channels; first += most) {
    const int64_t count = std::min(most, channels - first);
    tiles.transpose(columns, count * taps, w + first * taps, channels * taps, block, nr);
    for (int64_t c = 0; c < count; ++c)
      for (int64_t t = 0; t < taps; ++t)
        std::copy_n(block + (c * taps + t) * nr, columns, dst + (t * channels + first + c) * nr);
  }
}

}  // namespace

std::size_t DensePackedCount(const ConvShape& s, const TileF32Set& tiles) {
  const int64_t groups = MergedGroups(s, tiles).groups;
  return static_cast<std::size_t>(
      PanelWeightFloats(tiles, groups, s.in_channels / groups, s.out_channels / groups, Product(s.kernel)));
}

void PackDense(const ConvShape& s, const float* w, float* packed, Parallel& parallel, const TileF32Set& tiles) {
  const int64_t group_in = s.in_channels / s.groups, group_out = s.out_channels / s.groups, taps = Product(s.kernel);
  const ConvShape merged = MergedGroups(s, tiles);
  const int64_t merged_in = s.in_channels / merged.groups, merged_out = s.out_channels / merged.groups;
  const int64_t nr = tiles.columns, panels = CeilDivide(merged_out, nr), panel_floats = nr * merged_in * taps;
  parallel.For(merged.groups * panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t first = unit % panels * nr, columns = std::min(nr, merged_out - first);
      float* dst = packed + unit * panel_floats;
      if (columns < nr || merged.groups != s.groups) std::fill_n(dst, panel_floats, 0.0f);
      const float* src = w + (unit / panels * merged_out + first) * group_in * taps;
      if (merged.groups == s.groups && taps <= kMostTapsOfBlock) {
        PackColumns(tiles, src, columns, group_in, taps, dst);
        continue;
      }
      int64_t starts[kMostColumns];  // where the own group of a channel begins in the merged one
      for (int64_t j = 0; j < columns; ++j) starts[j] = (first + j) / group_out * group_in;
      for (int64_t c = 0; c < group_in; ++c)
        for (int64_t t = 0; t < taps; ++t)
          for (int64_t j = 0; j < columns; ++j)
            dst[(t * merged_in + starts[j] + c) * nr + j] = src[(j * group_in + c) * taps + t];
    }
  });
}

std::size_t DenseScratchBytes(const ConvShape& shape, int threads, const TileF32Set& tiles) {
  const ConvShape s = MergedGroups(shape, tiles);
  if (IsThin(s, tiles)) {
    ConvF32Args args;
    args.packed_weights = kGiven;
    return GemmF32ScratchBytes(ThinGemm(args, s, tiles), threads);
  }
  if (GroupedPixelsFits(s, tiles)) return 0;
  const DenseInput input(s);
  if (input.in_place) return input.OffsetBytes();
  const Bands bands(s, input, tiles, threads);
  return input.OffsetBytes() +
         (bands.Fit() ? static_cast<std::size_t>(threads) * bands.Bytes() : FloatBytes(input.halo.Floats()));
}

void Dense(const ConvF32Args& args, const TileF32Set& tiles, Parallel& parallel, std::byte* scratch) {
  const ConvShape s = MergedGroups(args.shape, tiles);
  if (IsThin(s, tiles)) {
    Serial serial;  // as one loop over the weights, faster than other threads wake up
    const bool small = s.in_channels * s.out_channels < kThinSerialWork;
    return GemmF32(ThinGemm(args, s, tiles), small ? static_cast<Parallel&>(serial) : parallel, scratch);
  }
  if (GroupedPixelsFits(s, tiles)) return GroupedPixels(args, s, tiles, parallel);
  const DenseInput input(s);
  auto* offsets = reinterpret_cast<ptrdiff_t*>(scratch);
  SetTapOffsets(s, input, offsets);
  ImplicitGemm g = PlanGemm(args, s, tiles, input, offsets);
  if (input.in_place) {
    g.x = args.x;
    g.images = s.batch;
    return RunImplicitGemm(g, parallel);
  }
  scratch += input.OffsetBytes();
  const Bands bands(s, input, tiles, parallel.ThreadCount());
  if (bands.Fit()) return RunBands(g, bands, args, s, parallel, scratch);
  float* image = reinterpret_cast<float*>(scratch);
  for (int64_t n = 0; n < s.batch; ++n) {
    FillHalo(tiles, input.halo, {args.x + n * g.x_image_stride, s.in, s.in_layout, s.InPixel()}, image, parallel);
    RunImplicitGemm(OfImage(g, image, n), parallel);
  }
}

}  // namespace sardonyx::kernels
