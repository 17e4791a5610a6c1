// kernels/conv/conv_int8_loops.cpp - the loops of an 8-bit convolution around the integer tile.
//
// A unit of work is (group, chunk of strips whose input and output stay in the second cache level, panel of nr output
// channels): each panel writes its part of all pixels of a chunk.
#include "kernels/conv/conv_int8_loops.h"

#include <algorithm>

#include "kernels/conv/strips.h"
#include "kernels/gemm/tile_f32.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

constexpr int64_t kChunkBytes = int64_t{256} << 10;  // of what a chunk reads and writes
constexpr int64_t kSerialWork = int64_t{1} << 20;

// Of the results and what is added to them.
int64_t ImageBytes(const IntegerConvolution& g) {
  return Product(g.count) * g.Channels() * g.ResultBytes() * (g.sum.z != nullptr ? 2 : 1);
}

class Loops {
 public:
  Loops(const IntegerConvolution& g, int64_t threads)
      : g_(g),
        tiles_(*g.tiles),
        panels_(CeilDivide(g.group_out, tiles_.columns)),
        // What the threads share is cut into enough units that none waits long for the last one.
        wanted_(threads > 1 ? CeilDivide(kUnitsPerThread * threads, g.groups * panels_) : 1),
        strips_(g.count[0] * g.count[1], g.count[2], tiles_.rows, wanted_, true),
        chunks_(std::min(std::max(CeilDivide(g.x_bytes + ImageBytes(g), kChunkBytes), wanted_), strips_.count())),
        panel_bytes_(g.runs * tiles_.GroupCount(g.k) * tiles_.columns * 4) {}

  int64_t UnitCount() const { return g_.groups * chunks_ * panels_; }

  void Run(int64_t begin, int64_t end) const {
    const TilesInUse in_use(&tiles_);
    for (int64_t unit = begin; unit < end; ++unit) RunUnit(unit);
  }

 private:
  struct Unit {
    int64_t group, chunk, panel;
    const std::byte* panel_data;
    const std::uint8_t* fits;
  };
  // What a unit's tiles share.
  struct Sweep {
    TileInt8Args t;
    int64_t channel;  // the first of the panel
    PanelFetch fetch;
    std::byte* strip;  // [pixels][nr] of the result's type, channels-first output only
  };

  Unit Decode(int64_t unit) const {
    Unit u;
    u.panel = unit % panels_;
    unit /= panels_;
    u.chunk = unit % chunks_;
    u.group = unit / chunks_;
    const int64_t index = u.group * panels_ + u.panel;
    u.panel_data = g_.panels + index * panel_bytes_;
    u.fits = g_.paired != nullptr ? g_.fits + index * g_.runs * (tiles_.GroupCount(g_.k) / 2) : nullptr;
    return u;
  }

  // Positions that a call of a tile is given, about.
  int64_t RowsOfCall() const { return g_.paired != nullptr ? std::min(g_.count[2], kStripPixels) : tiles_.rows; }

  bool ChannelsLast() const { return g_.out_layout == ImageLayout::kChannelsLast; }

  void RunUnit(int64_t unit) const {
    const Unit u = Decode(unit);
    alignas(64) std::byte strip[kStripPixels * kMostColumns * 4];
    Sweep sweep{};
    TileInt8Args& t = sweep.t;
    sweep.channel = u.group * g_.group_out + u.panel * tiles_.columns;
    sweep.strip = strip;
    t.a_row_bytes = g_.x_step[2];
    t.tap_offsets = g_.run_offsets;
    t.taps = g_.runs;
    t.k_groups = tiles_.GroupCount(g_.k);
    t.b = u.panel_data;
    t.columns = std::min<int64_t>(tiles_.columns, g_.group_out - u.panel * tiles_.columns);
    t.column_terms = g_.terms + sweep.channel;
    t.b_zero = g_.row_terms != nullptr ? g_.zeros + sweep.channel : nullptr;
    t.result = g_.result;
    t.c_row_stride = ChannelsLast() ? g_.Channels() : kMostColumns;
    t.scales = g_.scales != nullptr ? g_.scales + sweep.channel : nullptr;
    t.SetBytes(g_.y_signed, g_.y_zero);
    t.sum = &g_.sum;
    const int64_t first = strips_.count() * u.chunk / chunks_, last = strips_.count() * (u.chunk + 1) / chunks_;
    const int64_t calls = (last - first) * Product(g_.count) / strips_.count() / RowsOfCall();
    sweep.fetch = PlanFetch(unit, calls);
    for (int64_t s = first; s < last; ++s) {
      const Strip at = strips_.At(s);
      RunStrip(u, at, &sweep);
      if (!ChannelsLast()) StoreChannelsFirst(at, sweep);
    }
  }

  // Also after the last unit of a piece of work: the thread goes on with the next one if no other is faster.
  PanelFetch PlanFetch(int64_t unit, int64_t calls) const {
    if (unit + 1 == UnitCount() || panels_ * g_.groups == 1) return {};
    return PanelFetch::Plan(Decode(unit + 1).panel_data, calls, tiles_.columns * 4);
  }

  void RunStrip(const Unit& u, const Strip& strip, Sweep* sweep) const {
    const int64_t width = strip.columns;
    if (ForTilesOfTwoRows(strip, tiles_.rows, [&](const TilePositions& at) { RunTiles(u, at, 1, sweep); })) return;
    int64_t pixel = 0;
    for (int64_t r = 0; r < strip.rows; ++r, pixel += width)
      RunRow(u, {strip.row + r, -1, strip.column, width, pixel}, sweep);
  }

  // Part of one row of positions: tiles one after the other by one call where the tile can, else tiles of like heights.
  void RunRow(const Unit& u, const TilePositions& row, Sweep* sweep) const {
    const int64_t parts = CeilDivide(row.count, tiles_.rows);
    const int64_t whole = g_.paired != nullptr ? row.count / tiles_.rows : 0;
    const auto run = [&](int64_t begin, int64_t count, int64_t tiles) {
      RunTiles(u, {row.row, -1, row.column + begin, count, row.pixel + begin}, tiles, sweep);
    };
    if (whole > 1) {
      run(0, tiles_.rows, whole);
      if (whole < parts) run(whole * tiles_.rows, row.count - whole * tiles_.rows, 1);
      return;
    }
    for (int64_t i = 0; i < parts; ++i) {
      const int64_t begin = row.count * i / parts;
      run(begin, row.count * (i + 1) / parts - begin, 1);
    }
  }

  // `tiles` tiles, each of the positions that follow those of the one before.
  void RunTiles(const Unit& u, const TilePositions& at, int64_t tiles, Sweep* sweep) const {
    const auto [row, second, column, count, pixel] = at;
    TileInt8Args& t = sweep->t;
    const int64_t rows = second >= 0 ? 2 * count : count, run = (rows + 1) / 2, size = g_.ResultBytes();
    const std::byte* x = g_.x + u.group * g_.group_in_bytes;
    t.a0 = x + g_.InputOffset(row, column);
    t.a1 = second >= 0 ? x + g_.InputOffset(second, column) : t.a0 + run * t.a_row_bytes;
    if (g_.row_terms != nullptr) {
      const std::uint32_t* terms = g_.row_terms + u.group * g_.out_pixels + column;
      t.row_terms0 = terms + row * g_.count[2];
      t.row_terms1 = second >= 0 ? terms + second * g_.count[2] : t.row_terms0 + run;
    }
    const int64_t at0 =
        ChannelsLast() ? (row * g_.count[2] + column) * g_.Channels() + sweep->channel : pixel * kMostColumns;
    auto* base = ChannelsLast() ? static_cast<std::byte*>(g_.y) : sweep->strip;
    t.c0 = base + at0 * size;
    if (g_.sum.z != nullptr) {
      t.z0 = static_cast<const std::uint8_t*>(g_.sum.z) + at0;
      t.z1 = t.z0 + (second >= 0 ? g_.count[2] : run) * t.c_row_stride;
    }
    // Rows of positions follow each other in y and in the strip alike.
    t.c1 = base + (at0 + (second >= 0 && ChannelsLast() ? g_.count[2] : run) * t.c_row_stride) * size;
    sweep->fetch.Give(g_.runs * t.k_groups, t.b, &t);
    t.prefetch_step = CeilDivide(t.prefetch_step, tiles);
    if (g_.paired != nullptr) return g_.paired->Run(t, tiles_.columns, rows, tiles, u.fits);
    tiles_.Run(t, rows);
  }

  // Transposes the strip to rows of pixels, one per channel.
  void StoreChannelsFirst(const Strip& strip, const Sweep& sweep) const {
    const int64_t pixels = strip.rows * strip.columns, size = g_.ResultBytes();
    std::byte* y =
        static_cast<std::byte*>(g_.y) + (sweep.channel * g_.out_pixels + strip.row * g_.count[2] + strip.column) * size;
    if (size == 1) {
      tiles_.transpose(pixels, sweep.t.columns, reinterpret_cast<const std::uint8_t*>(sweep.strip), kMostColumns,
                       reinterpret_cast<std::uint8_t*>(y), g_.out_pixels);
    } else {  // moves bits, whatever they mean
      BestTilesF32().transpose(pixels, sweep.t.columns, reinterpret_cast<const float*>(sweep.strip), kMostColumns,
                               reinterpret_cast<float*>(y), g_.out_pixels);
    }
  }

  const IntegerConvolution& g_;
  const TileInt8Set& tiles_;
  int64_t panels_;
  int64_t wanted_;  // strips
  StripCut strips_;
  int64_t chunks_;
  int64_t panel_bytes_;
};

}  // namespace

void RunIntegerConvolution(const IntegerConvolution& g, Parallel& parallel) {
  const int64_t positions = Product(g.count), threads = parallel.ThreadCount();
  if (positions == 0) return;
  const bool small = positions * g.Channels() * g.runs * g.k < kSerialWork;
  const Loops loops(g, small ? 1 : threads);
  const int64_t units = loops.UnitCount();
  if (threads == 1 || small) return loops.Run(0, units);
  parallel.For(units, 1, [&](int64_t begin, int64_t end) { loops.Run(begin, end); });
}

}  // namespace sardonyx::kernels
