#include "kernels/conv/pointwise_max.h"

#include <algorithm>

#include "base/cpu_info.h"
#include "kernels/conv/strips.h"
#include "kernels/gemm/tile_f32.h"
#include "kernels/reduce/reduce_f32.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

constexpr int64_t kMostChunkFloats = int64_t{160} << 10;
constexpr double kSerialWork = 1 << 19;  // multiplications below which threads take longer to wake up
constexpr int64_t kStripRows = 96;       // whole tiles of any ISA but the widest; with 16 columns, 6 KB
constexpr int64_t kFolds = 4;            // positions whose maxima are kept apart: one chain would wait for itself

const TileF32Set& Tiles(const TileF32Set* given) { return given != nullptr ? *given : BestTilesF32(); }

// How positions are cut into chunks, whose x stays in the second cache level: several groups, or a part of one.
class Cut {
 public:
  Cut(const PointwiseMaxArgs& args, const TileF32Set& tiles, int threads)
      : positions_(args.positions), panels_(CeilDivide(args.out_channels, tiles.columns)) {
    const auto cache = static_cast<int64_t>(Cpu().l2_bytes / 8 * 5 / sizeof(float));
    int64_t rows = std::min(kMostChunkFloats, cache) / std::max<int64_t>(1, args.in_channels);
    if (threads > 1) rows = std::min(rows, args.groups * positions_ / CeilDivide(kUnitsPerThread * threads, panels_));
    rows = std::max(rows, kLeastPixels);
    together_ = std::clamp<int64_t>(rows / std::max<int64_t>(1, positions_), 1, std::max<int64_t>(1, args.groups));
    parts_ = std::clamp<int64_t>(CeilDivide(positions_, rows), 1, std::max<int64_t>(1, positions_));
    chunks_ = parts_ > 1 ? args.groups * parts_ : CeilDivide(args.groups, together_);
  }
  int64_t Panels() const { return panels_; }
  int64_t Units() const { return chunks_ * panels_; }
  int64_t Together() const { return together_; }  // groups of a chunk; 1 where there are parts
  int64_t Parts() const { return parts_; }        // of a group
  int64_t FirstPosition(int64_t part) const { return positions_ * part / parts_; }

 private:
  int64_t positions_, panels_, together_, parts_, chunks_;
};

class Run {
 public:
  // maxima: [groups, parts, out_channels]
  Run(const PointwiseMaxArgs& args, const TileF32Set& tiles, const Cut& cut, float* maxima)
      : args_(args),
        tiles_(tiles),
        reduce_(ReduceF32(tiles.isa)),
        cut_(cut),
        maxima_(maxima),
        panel_floats_(args.in_channels * tiles.columns) {}

  void Units(int64_t begin, int64_t end) const {
    for (int64_t unit = begin; unit < end; ++unit) Unit(unit);
  }

 private:
  struct Sweep {
    TileF32Args t;
    PanelFetch fetch;
    const float* weights;
    float strip[kStripRows * kMostColumns];  // [rows][nr]
  };

  void Unit(int64_t unit) const {
    const int64_t nr = tiles_.columns, panel = unit % cut_.Panels(), chunk = unit / cut_.Panels();
    const int64_t group = chunk / cut_.Parts() * cut_.Together(), part = chunk % cut_.Parts();
    const int64_t groups = std::min(cut_.Together(), args_.groups - group);
    const int64_t first = cut_.FirstPosition(part), count = cut_.FirstPosition(part + 1) - first;
    Sweep sweep;
    TileF32Args& t = sweep.t = {};
    t.a_row_stride = args_.x_pixel;
    t.k = args_.in_channels;
    t.b = sweep.weights = args_.packed + panel * panel_floats_;
    t.b_stride = t.c_row_stride = nr;
    t.columns = std::min(nr, args_.out_channels - panel * nr);
    if (args_.bias != nullptr) t.bias_n = args_.bias + panel * nr;
    SetClamp(args_.activation, &t);
    if (unit + 1 < cut_.Units() && cut_.Panels() > 1)
      sweep.fetch = PanelFetch::Plan(args_.packed + (unit + 1) % cut_.Panels() * panel_floats_,
                                     groups * count / tiles_.rows, nr * 4);
    if (t.columns < nr) std::fill_n(sweep.strip, kStripRows * nr, 0.0f);  // columns that no tile writes
    for (int64_t g = 0; g < groups; ++g) {
      const float* x = args_.x + ((group + g) * args_.positions + first) * args_.x_pixel;
      Maximum(x, count, &sweep, maxima_ + ((group + g) * cut_.Parts() + part) * args_.out_channels + panel * nr);
    }
  }

  // y[j] = the maximum of column j of the sums of `rows` positions.
  void Maximum(const float* x, int64_t rows, Sweep* sweep, float* y) const {
    const int64_t nr = tiles_.columns;
    float maxima[kFolds * kMostColumns];
    std::fill_n(maxima, kFolds * nr, ReduceIdentity(ReduceKind::kMax));
    for (int64_t row = 0; row < rows; row += kStripRows) {
      const int64_t count = std::min(kStripRows, rows - row), whole = count / kFolds;
      Compute(x + row * args_.x_pixel, count, sweep);
      reduce_.columns(ReduceKind::kMax, sweep->strip, whole, kFolds * nr, kFolds * nr, maxima);
      const float* rest = sweep->strip + whole * kFolds * nr;
      reduce_.columns(ReduceKind::kMax, rest, count % kFolds, nr, nr, maxima);
    }
    std::fill_n(y, sweep->t.columns, ReduceIdentity(ReduceKind::kMax));
    reduce_.columns(ReduceKind::kMax, maxima, kFolds, nr, sweep->t.columns, y);
  }

  // The sums of up to kStripRows positions, after bias and activation.
  void Compute(const float* x, int64_t rows, Sweep* sweep) const {
    TileF32Args& t = sweep->t;
    const bool is_narrow = 2 * t.columns <= tiles_.columns;
    TileF32Fn* const* run = is_narrow ? tiles_.narrow : tiles_.wide;
    const int64_t parts = CeilDivide(rows, is_narrow ? tiles_.narrow_rows : tiles_.rows);
    const int64_t least = rows / parts, longer = rows % parts;  // of each part, parts of one more row
    const bool activates = NeedsPass(args_.activation);
    t.a0 = x;
    t.c0 = sweep->strip;
    for (int64_t i = 0; i < parts; ++i) {
      const int64_t count = least + (i < longer ? 1 : 0), half = (count + 1) / 2;
      t.a1 = t.a0 + half * t.a_row_stride;
      t.c1 = t.c0 + half * t.c_row_stride;
      sweep->fetch.Give(t.k, sweep->weights, &t);
      run[count - 1](t);
      if (activates) ActivateTile(tiles_, t, count, args_.activation);
      t.a0 += count * t.a_row_stride;
      t.c0 += count * t.c_row_stride;
    }
  }

  const PointwiseMaxArgs& args_;
  const TileF32Set& tiles_;
  const ReduceF32Set& reduce_;
  const Cut& cut_;
  float* maxima_;
  int64_t panel_floats_;
};

}  // namespace

std::size_t PointwiseMaxPackedCount(int64_t in_channels, int64_t out_channels, const TileF32Set* given) {
  return static_cast<std::size_t>(PanelWeightFloats(Tiles(given), 1, in_channels, out_channels, 1));
}

void PackPointwiseMax(int64_t in_channels, int64_t out_channels, const float* w, float* packed, Parallel& parallel,
                      const TileF32Set* given) {
  const TileF32Set& tiles = Tiles(given);
  const int64_t nr = tiles.columns;
  parallel.For(CeilDivide(out_channels, nr), 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel)
      tiles.pack_panel(in_channels, std::min(nr, out_channels - panel * nr), w + panel * nr * in_channels, in_channels,
                       true, packed + panel * nr * in_channels);
  });
}

std::size_t PointwiseMaxScratchBytes(const PointwiseMaxArgs& args, int threads) {
  if (args.groups == 0 || args.out_channels == 0) return 0;
  const Cut cut(args, Tiles(args.tiles), threads);
  if (cut.Parts() == 1) return 0;
  return static_cast<std::size_t>(args.groups * cut.Parts() * args.out_channels) * sizeof(float);
}

void PointwiseMax(const PointwiseMaxArgs& args, Parallel& parallel, std::byte* scratch) {
  if (args.groups == 0 || args.out_channels == 0) return;
  const TileF32Set& tiles = Tiles(args.tiles);
  const Cut cut(args, tiles, parallel.ThreadCount());
  const int64_t parts = cut.Parts(), m = args.out_channels;
  float* maxima = parts > 1 ? reinterpret_cast<float*>(scratch) : args.y;
  const Run run(args, tiles, cut, maxima);
  const double work = static_cast<double>(args.groups * args.positions * args.in_channels) * static_cast<double>(m);
  if (parallel.ThreadCount() == 1 || work < kSerialWork)
    run.Units(0, cut.Units());
  else
    parallel.For(cut.Units(), 1, [&](int64_t begin, int64_t end) { run.Units(begin, end); });
  if (parts == 1) return;
  for (int64_t g = 0; g < args.groups; ++g) {
    std::fill_n(args.y + g * m, m, ReduceIdentity(ReduceKind::kMax));
    ReduceF32(tiles.isa).columns(ReduceKind::kMax, maxima + g * parts * m, parts, m, m, args.y + g * m);
  }
}

}  // namespace sardonyx::kernels
