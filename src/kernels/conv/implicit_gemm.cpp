// kernels/conv/implicit_gemm.cpp - the loops of a convolution around the f32 tile.
//
// A unit of work is (image, group, chunk of strips whose input stays in the second cache level, panel of nr output
// channels).
#include "kernels/conv/implicit_gemm.h"

#include <algorithm>

#include "base/cpu_info.h"
#include "kernels/conv/strips.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

constexpr int64_t kMostChunkFloats = int64_t{160} << 10;
constexpr int64_t kSerialWork = int64_t{1} << 19;
constexpr int64_t kMostRows = 16;
constexpr int64_t kMostCuts = 8;
constexpr int64_t kShortSum = 512;  // k steps of a tile below which finding out what it reads costs too much
constexpr int64_t kDetour = 16;     // k steps that a tile's own sums cost

// Floats of the input that a unit's tiles read: they stay in the second cache level.
int64_t ChunkFloats() {
  const auto most = static_cast<int64_t>(Cpu().l2_bytes / 8 * 5 / sizeof(float));
  return std::min(kMostChunkFloats, most);
}

class Convolution {
 public:
  Convolution(const ImplicitGemm& g, int64_t threads)
      : g_(g),
        tiles_(*g.tiles),
        panels_(CeilDivide(g.group_out, tiles_.columns)),
        tile_rows_(2 * g.group_out <= tiles_.columns ? tiles_.narrow_rows : tiles_.rows),
        // What the threads share is cut into enough units that none waits long for the last one.
        wanted_(threads > 1 ? CeilDivide(kUnitsPerThread * threads, g.images * (panels_ > 1 ? g.groups * panels_ : 1))
                            : 1),
        strips_(g.count[0] * g.count[1], g.count[2], tile_rows_, wanted_, false),
        chunks_(std::clamp<int64_t>(CeilDivide(g.x_image_floats, ChunkFloats()), 1, strips_.count())),
        panel_floats_(g.taps * g.k * tiles_.columns) {
    chunks_ = std::clamp<int64_t>(wanted_, chunks_, strips_.count());
    groups_together_ = g.groups > 1 && panels_ == 1 && (threads == 1 || g.images * chunks_ >= 2 * threads);
    PlanCuts();
  }

  int64_t UnitCount() const { return g_.images * g_.groups * chunks_ * panels_; }
  // Units that one thread takes at once.
  int64_t Grain() const { return groups_together_ ? g_.groups * panels_ : 1; }

  void Run(int64_t begin, int64_t end) const {
    for (int64_t unit = begin; unit < end; ++unit) RunUnit(unit);
  }

 private:
  struct Unit {
    int64_t image, group, chunk, panel;
    const float* weights;
  };
  // What a unit's tiles share.
  struct Sweep {
    TileF32Args t;
    Activation activation;
    PanelFetch fetch;
    float* strip_sums;  // [pixels][nr], channels-first output only
  };

  // The taps [first, last) of one dimension that may read inside the image for positions [position, position + count).
  struct TapRange {
    int64_t first, last;
  };
  TapRange Range(int dim, int64_t position, int64_t count) const {
    const TapGrid& grid = g_.grid;
    const int64_t low = position * grid.stride[dim] - grid.lead[dim], dilation = grid.dilation[dim];
    const int64_t high = low + (count - 1) * grid.stride[dim];
    const int64_t first = high >= 0 ? 0 : CeilDivide(-high, dilation);
    const int64_t last = low >= grid.in[dim] ? 0 : std::min(grid.kernel[dim], (grid.in[dim] - 1 - low) / dilation + 1);
    return {std::min(first, last), last};
  }

  Unit Decode(int64_t unit) const {
    Unit u;
    u.panel = unit % panels_;
    unit /= panels_;
    const int64_t first_count = groups_together_ ? g_.groups : chunks_;
    const int64_t first = unit % first_count;
    unit /= first_count;
    const int64_t second_count = groups_together_ ? chunks_ : g_.groups;
    const int64_t second = unit % second_count;
    u.group = groups_together_ ? first : second;
    u.chunk = groups_together_ ? second : first;
    u.image = unit / second_count;
    u.weights = g_.weights + (u.group * panels_ + u.panel) * panel_floats_;
    return u;
  }

  int64_t InputOffset(int64_t row, int64_t column) const {
    if (g_.count[0] == 1) return row * g_.x_step[1] + column * g_.x_step[2];  // divisions are slow beside short sums
    return row / g_.count[1] * g_.x_step[0] + row % g_.count[1] * g_.x_step[1] + column * g_.x_step[2];
  }
  int64_t Pixel(int64_t row, int64_t column) const {
    if (g_.count[0] == 1) return g_.y_start + row * g_.y_step[1] + column * g_.y_step[2];
    return g_.y_start + row / g_.count[1] * g_.y_step[0] + row % g_.count[1] * g_.y_step[1] + column * g_.y_step[2];
  }
  bool ChannelsLast() const { return g_.out_layout == ImageLayout::kChannelsLast; }
  int64_t Channels() const { return g_.groups * g_.group_out; }
  int64_t OutPixel() const { return g_.y_pixel != 0 ? g_.y_pixel : Channels(); }
  int64_t ResidualPixel() const { return g_.residual_pixel != 0 ? g_.residual_pixel : Channels(); }

  void RunUnit(int64_t unit) const {
    const Unit u = Decode(unit);
    const Epilogue& e = *g_.epilogue;
    float strip_sums[kStripPixels * kMostColumns];
    Sweep sweep{};
    TileF32Args& t = sweep.t;
    t.a_row_stride = g_.x_step[2];
    t.tap_offsets = g_.tap_offsets;
    t.taps = g_.taps;
    t.k = g_.k;
    t.b = u.weights;
    t.b_stride = tiles_.columns;
    t.columns = std::min<int64_t>(tiles_.columns, g_.group_out - u.panel * tiles_.columns);
    t.alpha = e.alpha;
    t.bias_scale = e.bias_scale;
    t.bias = e.bias;
    if (e.bias_n != nullptr) t.bias_n = e.bias_n + u.group * g_.group_out + u.panel * tiles_.columns;
    sweep.strip_sums = strip_sums;
    if (ChannelsLast()) {
      t.beta = e.beta;
      t.c_row_stride = g_.y_step[2] * OutPixel();
      t.residual_row_stride = g_.y_step[2] * ResidualPixel();
      SetClamp(e.activation, &t);
      sweep.activation = e.activation;
    } else {
      t.c_row_stride = tiles_.columns;
    }
    const int64_t first = strips_.count() * u.chunk / chunks_, last = strips_.count() * (u.chunk + 1) / chunks_;
    sweep.fetch = PlanFetch(unit, (last - first) * Product(g_.count) / strips_.count() / tile_rows_);
    for (int64_t s = first; s < last; ++s) {
      const Strip strip = strips_.At(s);
      RunStrip(u, strip, &sweep);
      if (!ChannelsLast()) StoreChannelsFirst(u, strip, sweep);
    }
  }

  // Also after the last unit of a piece of work: the thread goes on with the next one if no other is faster.
  PanelFetch PlanFetch(int64_t unit, int64_t tiles) const {
    if (unit + 1 == UnitCount() || panels_ * g_.groups == 1) return {};
    return PanelFetch::Plan(Decode(unit + 1).weights, tiles, tiles_.columns * 4);
  }

  void RunStrip(const Unit& u, const Strip& strip, Sweep* sweep) const {
    const int64_t width = strip.columns;
    if (ForTilesOfTwoRows(strip, tile_rows_, [&](const TilePositions& at) { RunTile(u, at, sweep); })) return;
    if (AllTilesAreAlike()) return RunAlikeTiles(u, strip, sweep);
    int64_t pixel = 0;
    for (int64_t r = 0; r < strip.rows; ++r)
      for (int64_t cut = 0; cut < cut_count_; ++cut) {
        const int64_t from = std::max(cuts_[cut], strip.column), to = std::min(cuts_[cut + 1], strip.column + width);
        const int64_t parts = from < to ? CeilDivide(to - from, tile_rows_) : 0;
        for (int64_t i = 0; i < parts; ++i) {
          const int64_t begin = (to - from) * i / parts, count = (to - from) * (i + 1) / parts - begin;
          RunTile(u, {strip.row + r, -1, from + begin, count, pixel}, sweep);
          pixel += count;
        }
      }
  }

  // Tiles take all taps and write to y: nothing is to be found out for each, which takes 5 % of a 1x1 kernel's time.
  bool AllTilesAreAlike() const {
    return ChannelsLast() && (g_.grid.kernel[0] == 0 || g_.taps == 1 || g_.taps * g_.k < kShortSum);
  }

  void RunAlikeTiles(const Unit& u, const Strip& strip, Sweep* sweep) const {
    TileF32Args& t = sweep->t;
    const int64_t channel = u.group * g_.group_out + u.panel * tiles_.columns;
    const int64_t parts = CeilDivide(strip.columns, tile_rows_), least = strip.columns / parts;
    const int64_t longer = strip.columns % parts;  // parts of one more position
    const float* x = g_.x + u.image * g_.x_image_stride + u.group * g_.group_in;
    TileF32Fn* const* run = 2 * t.columns <= tiles_.columns ? tiles_.narrow : tiles_.wide;
    const bool activates = NeedsPass(sweep->activation);
    for (int64_t row = strip.row; row < strip.row + strip.rows; ++row) {
      const int64_t pixel = u.image * g_.out_pixels + Pixel(row, strip.column);
      t.a0 = x + InputOffset(row, strip.column);
      t.c0 = g_.y + channel + pixel * OutPixel();
      if (g_.residual != nullptr) t.residual0 = g_.residual + channel + pixel * ResidualPixel();
      for (int64_t i = 0; i < parts; ++i) {
        const int64_t count = least + (i < longer ? 1 : 0), half = (count + 1) / 2;
        t.a1 = t.a0 + half * t.a_row_stride;
        t.c1 = t.c0 + half * t.c_row_stride;
        if (g_.residual != nullptr) t.residual1 = t.residual0 + half * t.residual_row_stride;
        sweep->fetch.Give(g_.taps * t.k, u.weights, &t);
        run[count - 1](t);
        if (activates) ActivateTile(tiles_, t, count, sweep->activation);
        t.a0 += count * t.a_row_stride;
        t.c0 += count * t.c_row_stride;
        if (g_.residual != nullptr) t.residual0 += count * t.residual_row_stride;
      }
    }
  }

  // Where tiles shall end because other taps read inside the image from there on: rows of positions are cut there if
  // the pieces are not too short for tiles.
  void PlanCuts() {
    const int64_t width = g_.count[2], shortest = std::max<int64_t>(2, tile_rows_ / 3);
    if (g_.grid.kernel[0] != 0 && g_.grid.kernel[2] > 1 && g_.taps * g_.k >= kShortSum) {
      TapRange range = Range(2, 0, 1);
      for (int64_t column = shortest; column + shortest <= width && cut_count_ < kMostCuts; ++column) {
        const TapRange here = Range(2, column, 1);
        if (here.first == range.first && here.last == range.last) continue;
        range = here;
        if (column - cuts_[cut_count_ - 1] >= shortest) cuts_[cut_count_++] = column;
      }
    }
    cuts_[cut_count_] = width;
  }

  void RunTile(const Unit& u, const TilePositions& at, Sweep* sweep) const {
    const auto [row, second, column, count, pixel] = at;
    TileF32Args& t = sweep->t;
    const int64_t rows = second >= 0 ? 2 * count : count, run = (rows + 1) / 2;
    const float* x = g_.x + u.image * g_.x_image_stride + u.group * g_.group_in;
    t.a0 = x + InputOffset(row, column);
    t.a1 = second >= 0 ? x + InputOffset(second, column) : t.a0 + run * t.a_row_stride;
    if (ChannelsLast()) {
      const int64_t channel = u.group * g_.group_out + u.panel * tiles_.columns;
      const int64_t pixel0 = u.image * g_.out_pixels + Pixel(row, column);
      const int64_t pixel1 =
          second >= 0 ? u.image * g_.out_pixels + Pixel(second, column) : pixel0 + run * g_.y_step[2];
      t.c0 = g_.y + channel + pixel0 * OutPixel();
      t.c1 = g_.y + channel + pixel1 * OutPixel();
      if (g_.residual != nullptr) {
        t.residual0 = g_.residual + channel + pixel0 * ResidualPixel();
        t.residual1 = g_.residual + channel + pixel1 * ResidualPixel();
      }
    } else {
      t.c0 = sweep->strip_sums + pixel * tiles_.columns;
      t.c1 = t.c0 + run * tiles_.columns;
    }
    sweep->fetch.Give(g_.taps * t.k, u.weights, &t);
    RunTaps(u, at, rows, sweep);
  }

  // The tile over the taps that read something. They are runs of consecutive ones, as tiles want them: several runs are
  // summed on the side.
  void RunTaps(const Unit& u, const TilePositions& at, int64_t rows, Sweep* sweep) const {
    TileF32Args& t = sweep->t;
    const auto set = [&](int64_t first, int64_t count) {
      t.tap_offsets = g_.tap_offsets + first;
      t.taps = count;
      t.b = u.weights + first * t.k * tiles_.columns;
    };
    const Index3& kernel = g_.grid.kernel;
    set(0, g_.taps);
    if (kernel[0] == 0 || g_.taps == 1 || g_.taps * t.k < kShortSum)
      return RunTileF32(tiles_, t, rows, sweep->activation);
    const int64_t height = g_.count[1], last_row = at.second >= 0 ? at.second : at.row;
    const bool one_depth = at.row / height == last_row / height;
    const TapRange all = {0, kernel[0]}, depth = one_depth ? Range(0, at.row / height, 1) : all;
    const TapRange rows_of = one_depth ? Range(1, at.row % height, last_row - at.row + 1) : TapRange{0, kernel[1]};
    const TapRange columns = Range(2, at.column, at.count);
    const int64_t depths = depth.last - depth.first, heights = rows_of.last - rows_of.first;
    const int64_t widths = columns.last - columns.first;
    const auto tap = [&](int64_t d, int64_t h) { return (d * kernel[1] + h) * kernel[2] + columns.first; };
    if (depths * heights * widths == 0) {
      set(0, 0);
      return RunTileF32(tiles_, t, rows, sweep->activation);
    }
    if (widths == kernel[2] || heights == 1) {
      if (heights == kernel[1] || depths == 1) {
        set(tap(depth.first, rows_of.first), ((depths - 1) * kernel[1] + heights - 1) * kernel[2] + widths);
        return RunTileF32(tiles_, t, rows, sweep->activation);
      }
    }
    const int64_t left_out = (depths == 1 ? heights * kernel[2] : g_.taps) - depths * heights * widths;
    if (left_out * t.k < kDetour * depths * heights) {
      if (depths == 1) set(tap(depth.first, rows_of.first) - columns.first, heights * kernel[2]);
      return RunTileF32(tiles_, t, rows, sweep->activation);
    }
    SumRuns(t, rows, sweep, depths * heights,
            [&](int64_t run) { set(tap(depth.first + run / heights, rows_of.first + run % heights), widths); });
  }

  // set_run(i) chooses the taps of run i of `runs`.
  template <typename SetRun>
  void SumRuns(TileF32Args& t, int64_t rows, Sweep* sweep, int64_t runs, SetRun set_run) const {
    float sums[kMostRows * kMostColumns];
    const TileF32Args whole = t;
    const int64_t half = (rows + 1) / 2;
    t.alpha = 1, t.bias = 0, t.bias_n = nullptr, t.beta = 1;
    SetClamp({}, &t);
    t.c0 = sums, t.c1 = sums + half * kMostColumns, t.c_row_stride = kMostColumns;
    for (int64_t run = 0; run < runs; ++run) {
      set_run(run);
      t.residual0 = run == 0 ? nullptr : t.c0, t.residual1 = run == 0 ? nullptr : t.c1;
      t.residual_row_stride = kMostColumns;
      RunTileF32(tiles_, t, rows, {});
      t.prefetch_step = 0;
    }
    t = whole;
    RowEpilogue e;
    e.alpha = t.alpha, e.beta = t.beta, e.bias_scale = t.bias_scale, e.bias = t.bias, e.bias_n = t.bias_n;
    e.activation = ChannelsLast() ? sweep->activation : Activation{};
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t in_run = r < half ? r : r - half;
      const float* residual = r < half ? t.residual0 : t.residual1;
      e.residual = residual != nullptr ? residual + in_run * t.residual_row_stride : nullptr;
      tiles_.finish_row(sums + r * kMostColumns, t.columns, e, (r < half ? t.c0 : t.c1) + in_run * t.c_row_stride);
    }
  }

  // Transposes the strip to rows of pixels, one per channel, and finishes them in y.
  void StoreChannelsFirst(const Unit& u, const Strip& strip, const Sweep& sweep) const {
    float planes[kStripPixels * kMostColumns];
    const int64_t pixels = strip.rows * strip.columns;
    tiles_.transpose(pixels, sweep.t.columns, sweep.strip_sums, tiles_.columns, planes, kStripPixels);
    const bool whole_rows = g_.y_step[2] == 1 && (strip.rows == 1 || RowsFollow());
    for (int64_t c = 0; c < sweep.t.columns; ++c) {
      const int64_t channel = u.group * g_.group_out + u.panel * tiles_.columns + c;
      const int64_t plane = (u.image * Channels() + channel) * g_.out_pixels;
      const float* sums = planes + c * kStripPixels;
      if (whole_rows) {
        FinishRun(sums, pixels, plane + Pixel(strip.row, strip.column), 1);
        continue;
      }
      for (int64_t r = 0; r < strip.rows; ++r)
        FinishRun(sums + r * strip.columns, strip.columns, plane + Pixel(strip.row + r, strip.column), g_.y_step[2]);
    }
  }

  // Rows of positions lie one after the other in y.
  bool RowsFollow() const { return g_.y_step[1] == g_.count[2] && g_.y_step[0] == g_.count[1] * g_.y_step[1]; }

  // y[at + i * step] = activation(sums[i] + beta * residual), i < count; alpha and bias are in the sums already.
  void FinishRun(const float* sums, int64_t count, int64_t at, int64_t step) const {
    RowEpilogue e;
    e.beta = g_.epilogue->beta;
    e.activation = g_.epilogue->activation;
    if (step == 1) {
      if (g_.residual != nullptr) e.residual = g_.residual + at;
      tiles_.finish_row(sums, count, e, g_.y + at);
      return;
    }
    float row[kStripPixels], residual[kStripPixels];
    if (g_.residual != nullptr) {
      for (int64_t i = 0; i < count; ++i) residual[i] = g_.residual[at + i * step];
      e.residual = residual;
    }
    tiles_.finish_row(sums, count, e, row);
    for (int64_t i = 0; i < count; ++i) g_.y[at + i * step] = row[i];
  }

  const ImplicitGemm& g_;
  const TileF32Set& tiles_;
  int64_t panels_;
  int64_t tile_rows_;  // of the tallest tile for this many columns
  int64_t wanted_;     // strips
  StripCut strips_;
  int64_t chunks_;
  // The groups of a chunk follow each other, on one thread: of a pixel, they read and write parts of the same cache
  // lines.
  bool groups_together_;
  int64_t panel_floats_;
  int64_t cut_count_ = 1;  // pieces of a row of positions: [cuts_[i], cuts_[i + 1])
  int64_t cuts_[kMostCuts + 1] = {};
};

}  // namespace

void RunImplicitGemm(const ImplicitGemm& g, Parallel& parallel) {
  const int64_t positions = g.images * Product(g.count);
  if (positions == 0) return;
  const int64_t threads = parallel.ThreadCount();
  const Convolution convolution(g, threads);
  const int64_t units = convolution.UnitCount();
  if (threads == 1 || positions * g.groups * g.group_out * g.taps * g.k < kSerialWork) return convolution.Run(0, units);
  parallel.For(units, convolution.Grain(), [&](int64_t begin, int64_t end) { convolution.Run(begin, end); });
}

std::int64_t PanelWeightFloats(const TileF32Set& tiles, int64_t groups, int64_t group_in, int64_t group_out,
                               int64_t taps) {
  return groups * CeilDivide(group_out, tiles.columns) * tiles.columns * taps * group_in;
}

void FillHalo(const TileF32Set& tiles, const HaloedImage& halo, const SourceImage& image, float* dst,
              Parallel& parallel) {
  const Index3& in = image.size;
  const float* x = image.data;
  const int64_t from_pixel = image.pixel != 0 ? image.pixel : halo.channels;
  const int64_t channels = halo.channels, row_floats = halo.size[2] * halo.pixel, rows = halo.size[0] * halo.size[1];
  const int64_t lead = std::max<int64_t>(0, halo.lead[2]), skipped = std::max<int64_t>(0, -halo.lead[2]);
  const int64_t width = std::clamp<int64_t>(halo.size[2] - lead, 0, std::max<int64_t>(0, in[2] - skipped));
  const auto fill_row = [&](int64_t row) {
    float* out = dst + row * row_floats;
    const int64_t d = row / halo.size[1] - halo.lead[0], h = row % halo.size[1] - halo.lead[1];
    if (d < 0 || d >= in[0] || h < 0 || h >= in[1] || width == 0) {
      std::fill_n(out, row_floats, 0.0f);
      return;
    }
    float* middle = out + lead * halo.pixel;
    std::fill(out, middle, 0.0f);
    std::fill(middle + width * halo.pixel, out + row_floats, 0.0f);
    const int64_t first = (d * in[1] + h) * in[2] + skipped;
    if (image.layout == ImageLayout::kChannelsFirst) {
      tiles.transpose(channels, width, x + first, Product(in), middle, halo.pixel);
    } else if (halo.pixel == channels && from_pixel == channels) {
      std::copy_n(x + first * channels, width * channels, middle);
    } else {
      for (int64_t w = 0; w < width; ++w) std::copy_n(x + (first + w) * from_pixel, channels, middle + w * halo.pixel);
    }
  };
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, row_floats));
  parallel.For(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) fill_row(row);
  });
}

}  // namespace sardonyx::kernels
