// kernels/gemm/gemm_f32.cpp - the loops around the f32 tile: cache blocks, panels, threads, and the paths of few rows.
//
// C is cut into units: (element of the batch) x (chunk of rows whose A stays in the second cache level) x (panel of nr
// columns). A thread takes consecutive units, so each panel of B is read by one core; K is cut by the shape alone.
#include <algorithm>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/tile_f32.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

constexpr int64_t kMaxBlockK = 1024;                 // longer sums are cut into equal blocks of at most this
constexpr int64_t kChunkBytes = int64_t{640} << 10;  // of A, per chunk of rows
constexpr int64_t kSerialWork = int64_t{1} << 19;    // below this many multiplications threads cost more than they give
constexpr int64_t kAliasFloats = 1024;  // rows of A this far apart (4 KB) fall into one set of the first cache level
constexpr int64_t kAliasPadding = 16;
constexpr int64_t kAliasRows = 8;  // copying such an A pays from this size of the product on
constexpr int64_t kAliasColumns = 128;
constexpr int64_t kGemvColumns = 1024;  // columns of B that one pass of the matrix-vector path covers
constexpr int64_t kDotLength = 64;      // shorter sums of several rows are faster on tiles
constexpr int64_t kDotRows = 4;         // at most so many rows of A go through dot products when B is transposed

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

enum class BMode : std::uint8_t {
  kPacked,  // by the caller
  kWhole,   // packed into scratch first
  kPanel,   // each unit packs its panel; with few rows it reads full panels of row-major B where they lie
};

enum class Path : std::uint8_t { kNothing, kGemv, kDots, kColumn, kTiles };

// What is decided from the shape before any work.
struct Plan {
  Path path = Path::kNothing;
  BMode mode = BMode::kPacked;
  int64_t blocks_k = 1;
  int64_t block_k = 0;
  int64_t panels = 0;
  int64_t chunks = 1;
  int64_t slot_floats = 0;  // scratch of one thread in kPanel
  bool pad_a = false;       // A is first copied to rows of k + kAliasPadding floats
};

const TileF32Set& Tiles(const TileF32Set* tiles) { return tiles != nullptr ? *tiles : BestTilesF32(); }

int64_t AOffset(const GemmF32Args& g, int64_t i) {
  return g.a_batch_offsets ? g.a_batch_offsets[i] : i * g.a_batch_stride;
}
int64_t BOffset(const GemmF32Args& g, int64_t i) {
  return g.b_batch_offsets ? g.b_batch_offsets[i] : i * g.b_batch_stride;
}

// A batch that shares B and whose A and C follow each other is one product with batch * M rows.
GemmF32Args Collapse(const GemmF32Args& args) {
  GemmF32Args g = args;
  const Epilogue& e = g.epilogue;
  const bool one_b = g.b_batch_stride == 0 && g.b_batch_offsets == nullptr;
  const bool rows_follow =
      !g.trans_a && g.a_batch_offsets == nullptr && g.a_batch_stride == g.m * g.lda && g.c_batch_stride == g.m * g.ldc;
  const bool residual_follows = e.residual == nullptr || (g.residual_batch_stride == g.m * e.residual_stride) ||
                                (g.residual_batch_stride == 0 && e.residual_stride == 0);
  if (g.batch > 1 && one_b && rows_follow && residual_follows && e.bias_m == nullptr) {
    g.m *= g.batch;
    g.batch = 1;
  }
  return g;
}

Path ChoosePath(const GemmF32Args& g) {
  if (g.m == 0 || g.n == 0 || g.batch == 0) return Path::kNothing;
  if (g.packed_b != nullptr) return Path::kTiles;
  const bool contiguous_b = g.trans_b || g.ldb == 1;
  const bool unit_c = g.ldc == 1 && (g.epilogue.residual == nullptr || g.epilogue.residual_stride <= 1);
  if (g.n == 1 && contiguous_b && unit_c && !g.trans_a) return Path::kColumn;
  if (g.m == 1 && !g.trans_b) return Path::kGemv;
  const bool contiguous_a = !g.trans_a || (g.m == 1 && g.lda == 1);
  const bool few_rows = g.m == 1 || (g.m <= kDotRows && g.k >= kDotLength);
  return few_rows && g.trans_b && contiguous_a ? Path::kDots : Path::kTiles;
}

Plan MakePlan(const GemmF32Args& g, int64_t threads) {
  const TileF32Set& tiles = Tiles(g.tiles);
  Plan plan;
  plan.path = ChoosePath(g);
  plan.blocks_k = std::max<int64_t>(1, CeilDiv(g.k, kMaxBlockK));
  plan.block_k = CeilDiv(g.k, plan.blocks_k);
  plan.panels = CeilDiv(g.n, tiles.columns);
  const int64_t most_rows = std::max<int64_t>(tiles.rows, kChunkBytes / 4 / std::max<int64_t>(1, plan.block_k));
  plan.chunks = std::max<int64_t>(1, CeilDiv(g.m, most_rows));
  if (g.packed_b == nullptr) plan.mode = plan.chunks > 1 && g.batch == 1 ? BMode::kWhole : BMode::kPanel;
  const int64_t units = g.batch * plan.panels * plan.chunks;
  if (threads > 1 && units < 4 * threads) {
    const int64_t most_chunks = CeilDiv(g.m, 2 * tiles.rows);
    plan.chunks = std::clamp<int64_t>(CeilDiv(4 * threads, g.batch * plan.panels), plan.chunks,
                                      std::max(plan.chunks, most_chunks));
  }
  if (plan.mode == BMode::kPanel) plan.slot_floats = plan.block_k * tiles.columns;
  plan.pad_a = plan.path == Path::kTiles && !g.trans_a && g.batch == 1 && g.lda % kAliasFloats == 0 && g.k > 0 &&
               g.m >= kAliasRows && g.n >= kAliasColumns;
  return plan;
}

int64_t Work(const GemmF32Args& g) { return g.batch * std::max<int64_t>(g.m, 4) * g.n * std::max<int64_t>(g.k, 1); }

// One product (or batch) on tiles.
class TileLoop {
 public:
  TileLoop(const GemmF32Args& g, const Plan& plan, const float* packed)
      : g_(g), plan_(plan), tiles_(Tiles(g.tiles)), packed_(packed), panel_floats_(g.k * tiles_.columns) {}

  int64_t UnitCount() const { return g_.batch * plan_.chunks * plan_.panels; }

  // slot: scratch for one packed panel, only used in kPanel.
  void Run(int64_t begin, int64_t end, float* slot) const {
    for (int64_t block = 0; block < plan_.blocks_k; ++block)
      for (int64_t unit = begin; unit < end; ++unit) RunUnit(unit, end, block, slot);
  }

 private:
  struct Unit {
    int64_t item, chunk, panel;
  };
  Unit Decode(int64_t unit) const {
    const int64_t panel = unit % plan_.panels, rest = unit / plan_.panels;
    return {rest / plan_.chunks, rest % plan_.chunks, panel};
  }
  int64_t BlockStart(int64_t block) const { return g_.k * block / plan_.blocks_k; }

  // Where the panel's rows of this K block are in packed B.
  const float* PackedPanel(int64_t item, int64_t panel, int64_t block) const {
    const int64_t copy = plan_.mode == BMode::kPacked ? BOffset(g_, item) : 0;
    return packed_ + copy + panel * panel_floats_ + BlockStart(block) * tiles_.columns;
  }

  void SetB(const Unit& u, int64_t block, float* slot, TileF32Args* t) const {
    t->b_stride = tiles_.columns;
    if (plan_.mode != BMode::kPanel) {
      t->b = PackedPanel(u.item, u.panel, block);
      return;
    }
    const int64_t k0 = BlockStart(block), j0 = u.panel * tiles_.columns;
    const float* b = g_.b + BOffset(g_, u.item) + (g_.trans_b ? j0 * g_.ldb + k0 : k0 * g_.ldb + j0);
    if (!g_.trans_b && g_.m <= tiles_.rows && t->columns == tiles_.columns) {
      t->b = b;
      t->b_stride = g_.ldb;
      return;
    }
    tiles_.pack_panel(t->k, t->columns, b, g_.ldb, g_.trans_b, slot);
    t->b = slot;
  }

  // The first block of K adds the epilogue's terms, later ones add to C, the last one clamps and activates.
  void SetEpilogue(const Unit& u, int64_t block, int64_t row, TileF32Args* t) const {
    const Epilogue& e = g_.epilogue;
    const int64_t column = u.panel * tiles_.columns;
    t->c0 = g_.c + u.item * g_.c_batch_stride + row * g_.ldc + column;
    if (block > 0) {
      t->residual0 = t->c0;
    } else {
      t->bias_m = e.bias_m != nullptr ? e.bias_m + row : nullptr;
      if (e.residual != nullptr)
        t->residual0 = e.residual + u.item * g_.residual_batch_stride + row * e.residual_stride + column;
    }
  }

  void RunUnit(int64_t unit, int64_t end, int64_t block, float* slot) const {
    const Unit u = Decode(unit);
    const Epilogue& e = g_.epilogue;
    TileF32Args t;
    t.k = BlockStart(block + 1) - BlockStart(block);
    t.columns = std::min<int64_t>(tiles_.columns, g_.n - u.panel * tiles_.columns);
    SetB(u, block, slot, &t);
    t.a_row_stride = g_.trans_a ? 1 : g_.lda;
    t.a_k_stride = g_.trans_a ? g_.lda : 1;
    t.c_row_stride = g_.ldc;
    t.alpha = e.alpha;
    t.residual_row_stride = block > 0 ? g_.ldc : e.residual_stride;
    if (block == 0) {
      t.beta = e.beta;
      t.bias_scale = e.bias_scale;
      t.bias = e.bias;
      t.bias_n = e.bias_n != nullptr ? e.bias_n + u.panel * tiles_.columns : nullptr;
    }
    const bool last = block + 1 == plan_.blocks_k;
    if (last) SetClamp(e.activation, &t);
    RunRows(u, block, NextPanel(unit, end, block), last ? e.activation : Activation{}, &t);
  }

  // The panel that will be read after this one, or null if it is the same or not known.
  const float* NextPanel(int64_t unit, int64_t end, int64_t block) const {
    if (plan_.mode == BMode::kPanel || unit + 1 >= end) return nullptr;
    const Unit next = Decode(unit + 1);
    return PackedPanel(next.item, next.panel, block);
  }

  void RunRows(const Unit& u, int64_t block, const float* next, const Activation& activation, TileF32Args* t) const {
    const int64_t row0 = g_.m * u.chunk / plan_.chunks, rows = g_.m * (u.chunk + 1) / plan_.chunks - row0;
    const int64_t parts = CeilDiv(rows, tiles_.rows);
    const float* a = g_.a + AOffset(g_, u.item) + BlockStart(block) * t->a_k_stride;
    // While the first tiles run, they fetch the next panel into the second cache level, evenly spread.
    const int64_t fetchers = next == nullptr ? 0 : parts >= 8 ? 8 : parts >= 4 ? 4 : parts >= 2 ? 2 : 0;
    const int64_t fetch_step = fetchers == 0 ? 0 : tiles_.columns * 4 / fetchers;
    for (int64_t i = 0; i < parts; ++i) {
      const int64_t row = row0 + rows * i / parts, count = row0 + rows * (i + 1) / parts - row, run = (count + 1) / 2;
      t->a0 = a + row * t->a_row_stride;
      t->a1 = t->a0 + run * t->a_row_stride;
      SetEpilogue(u, block, row, t);
      t->c1 = t->c0 + run * t->c_row_stride;
      t->residual1 = t->residual0 != nullptr ? t->residual0 + run * t->residual_row_stride : nullptr;
      const bool fetch = i < fetchers;
      t->prefetch_step = fetch ? fetch_step : 0;
      t->prefetch =
          fetch ? reinterpret_cast<const char*>(next) + i * fetch_step * t->k : reinterpret_cast<const char*>(t->b);
      RunTileF32(tiles_, *t, count, activation);
    }
  }

  const GemmF32Args& g_;
  const Plan& plan_;
  const TileF32Set& tiles_;
  const float* packed_;
  int64_t panel_floats_;
};

std::size_t PaddedABytes(const GemmF32Args& g, const Plan& plan) {
  return plan.pad_a ? static_cast<std::size_t>(g.m * (g.k + kAliasPadding) + 15) / 16 * 64 : 0;
}

// Copies A to rows that do not alias, and lets g read the copy.
void PadA(GemmF32Args* g, float* copy, Parallel& parallel) {
  const int64_t stride = g->k + kAliasPadding, grain = std::max<int64_t>(1, 16384 / g->k);
  parallel.For(g->m, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) std::copy_n(g->a + row * g->lda, g->k, copy + row * stride);
  });
  g->a = copy;
  g->lda = stride;
}

void RunTiles(GemmF32Args g, const Plan& plan, Parallel& parallel, std::byte* scratch) {
  if (plan.pad_a) {
    PadA(&g, reinterpret_cast<float*>(scratch), parallel);
    scratch += PaddedABytes(g, plan);
  }
  const float* packed = g.packed_b;
  if (plan.mode == BMode::kWhole) {
    float* copy = reinterpret_cast<float*>(scratch);
    PackGemmF32B(g.k, g.n, g.b, g.ldb, g.trans_b, copy, parallel, g.tiles);
    packed = copy;
  }
  const TileLoop loop(g, plan, packed);
  const int64_t units = loop.UnitCount();
  const int64_t threads = parallel.ThreadCount();
  float* slots = reinterpret_cast<float*>(scratch);
  if (threads == 1 || Work(g) < kSerialWork) return loop.Run(0, units, slots);
  if (plan.mode != BMode::kPanel) {
    const int64_t grain = std::max<int64_t>(1, units / (4 * threads));
    return parallel.For(units, grain, [&](int64_t begin, int64_t end) { loop.Run(begin, end, nullptr); });
  }
  parallel.For(threads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s)
      loop.Run(units * s / threads, units * (s + 1) / threads, slots + s * plan.slot_floats);
  });
}

RowEpilogue RowOf(const GemmF32Args& g, int64_t item, int64_t row, int64_t column) {
  const Epilogue& e = g.epilogue;
  RowEpilogue r;
  r.alpha = e.alpha;
  r.beta = e.beta;
  r.bias_scale = e.bias_scale;
  r.bias = e.bias + (e.bias_m != nullptr ? e.bias_m[row] : 0);
  r.bias_n = e.bias_n != nullptr ? e.bias_n + column : nullptr;
  if (e.residual != nullptr)
    r.residual = e.residual + item * g.residual_batch_stride + row * e.residual_stride + column;
  r.activation = e.activation;
  return r;
}

// Splits batch x columns over the threads in blocks of `columns` and calls body(item, first column, count).
template <typename F>
void ForColumns(const GemmF32Args& g, int64_t extent, int64_t columns, Parallel& parallel, F body) {
  const int64_t blocks = CeilDiv(extent, columns), units = g.batch * blocks;
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; ++u) {
      const int64_t first = u % blocks * columns;
      body(u / blocks, first, std::min(columns, extent - first));
    }
  };
  const int64_t threads = parallel.ThreadCount();
  if (threads == 1 || Work(g) < kSerialWork) return run(0, units);
  parallel.For(units, std::max<int64_t>(1, units / (4 * threads)), run);
}

// M = 1, B row-major: eight rows of B at a time are added into sums that stay in the first cache level.
void RunGemv(const GemmF32Args& g, Parallel& parallel) {
  const TileF32Set& tiles = Tiles(g.tiles);
  const int64_t share = CeilDiv(g.n, 2 * int64_t{parallel.ThreadCount()});
  const int64_t columns = std::clamp<int64_t>((share + 63) & ~int64_t{63}, 64, kGemvColumns);
  ForColumns(g, g.n, columns, parallel, [&](int64_t item, int64_t first, int64_t count) {
    float sums[kGemvColumns];
    tiles.gemv(g.k, count, g.a + AOffset(g, item), g.trans_a ? g.lda : 1, g.b + BOffset(g, item) + first, g.ldb, sums);
    tiles.finish_row(sums, count, RowOf(g, item, 0, first), g.c + item * g.c_batch_stride + first);
  });
}

// Few rows of A, B stored by columns: dot products; the rows of A share each group of columns while it is cached.
void RunDots(const GemmF32Args& g, Parallel& parallel) {
  const TileF32Set& tiles = Tiles(g.tiles);
  constexpr int64_t kColumns = 16;
  ForColumns(g, g.n, kColumns, parallel, [&](int64_t item, int64_t first, int64_t count) {
    float sums[kDotRows][kColumns];
    for (int64_t j = 0; j < count; j += 4)
      for (int64_t row = 0; row < g.m; ++row)
        tiles.dots(g.k, std::min<int64_t>(4, count - j), g.a + AOffset(g, item) + row * g.lda,
                   g.b + BOffset(g, item) + (first + j) * g.ldb, g.ldb, sums[row] + j);
    for (int64_t row = 0; row < g.m; ++row)
      tiles.finish_row(sums[row], count, RowOf(g, item, row, first),
                       g.c + item * g.c_batch_stride + row * g.ldc + first);
  });
}

// N = 1: C is a column of dot products of the rows of A.
void RunColumn(const GemmF32Args& g, Parallel& parallel) {
  const TileF32Set& tiles = Tiles(g.tiles);
  constexpr int64_t kRows = 64;
  ForColumns(g, g.m, kRows, parallel, [&](int64_t item, int64_t first, int64_t count) {
    float sums[kRows];
    tiles.dots(g.k, count, g.b + BOffset(g, item), g.a + AOffset(g, item) + first * g.lda, g.lda, sums);
    RowEpilogue r = RowOf(g, item, 0, 0);
    r.bias = g.epilogue.bias + (g.epilogue.bias_n != nullptr ? g.epilogue.bias_n[0] : 0);
    r.bias_n = g.epilogue.bias_m != nullptr ? g.epilogue.bias_m + first : nullptr;
    float repeated[kRows];
    if (r.residual != nullptr && g.epilogue.residual_stride == 0) {
      std::fill_n(repeated, count, *r.residual);
      r.residual = repeated;
    } else if (r.residual != nullptr) {
      r.residual += first;
    }
    tiles.finish_row(sums, count, r, g.c + item * g.c_batch_stride + first);
  });
}

}  // namespace

std::size_t GemmF32PackedCount(int64_t k, int64_t n, const TileF32Set* tiles) {
  const int64_t columns = Tiles(tiles).columns;
  return static_cast<std::size_t>(CeilDiv(n, columns) * columns * k);
}

// NOLINTNEXTLINE(readability-function-size): the parameters of BLAS
void PackGemmF32B(int64_t k, int64_t n, const float* b, int64_t ldb, bool trans_b, float* packed, Parallel& parallel,
                  const TileF32Set* tiles) {
  const TileF32Set& t = Tiles(tiles);
  const int64_t panels = CeilDiv(n, t.columns);
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 16) / std::max<int64_t>(1, k * t.columns));
  parallel.For(panels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t j = p * t.columns;
      t.pack_panel(k, std::min<int64_t>(t.columns, n - j), b + (trans_b ? j * ldb : j), ldb, trans_b,
                   packed + p * t.columns * k);
    }
  });
}

std::size_t GemmF32ScratchBytes(const GemmF32Args& args, int threads) {
  const GemmF32Args g = Collapse(args);
  const Plan plan = MakePlan(g, threads);
  if (plan.path != Path::kTiles) return 0;
  const std::size_t a = PaddedABytes(g, plan);
  if (plan.mode == BMode::kPacked) return a;
  if (plan.mode == BMode::kWhole) return a + GemmF32PackedCount(g.k, g.n, g.tiles) * sizeof(float);
  return a +
         static_cast<std::size_t>(plan.slot_floats) * sizeof(float) * static_cast<std::size_t>(std::max(1, threads));
}

void GemmF32(const GemmF32Args& args, Parallel& parallel, std::byte* scratch) {
  const GemmF32Args g = Collapse(args);
  const Plan plan = MakePlan(g, parallel.ThreadCount());
  switch (plan.path) {
    case Path::kNothing:
      return;
    case Path::kGemv:
      return RunGemv(g, parallel);
    case Path::kDots:
      return RunDots(g, parallel);
    case Path::kColumn:
      return RunColumn(g, parallel);
    case Path::kTiles:
      return RunTiles(g, plan, parallel, scratch);
  }
}

}  // namespace sardonyx::kernels
