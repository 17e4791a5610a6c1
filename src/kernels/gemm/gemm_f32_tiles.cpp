// kernels/gemm/gemm_f32_tiles.cpp - the loops around the f32 tile: cache blocks, panels, threads.
//
// C is cut into units: (element of the batch) x (chunk of rows whose A stays in the second cache level) x (panel of nr
// columns). A thread takes consecutive units, so each panel of B is read by one core; K is cut by the shape alone.
#include <algorithm>

#include "base/parallel_slots.h"
#include "kernels/gemm/gemm_f32_plan.h"

namespace sardonyx::kernels::gemm_f32 {
namespace {

// A in bf16, where a product runs on that.
struct Bf16A {
  const std::uint16_t* data;
  const Bf16Layout* layout;
};

// One product (or batch) on tiles.
class TileLoop {
 public:
  // bf16: null where the product runs on floats.
  TileLoop(const GemmF32Args& g, const Plan& plan, const float* packed, const Bf16A* bf16)
      : g_(g),
        plan_(plan),
        tiles_(Tiles(g.tiles)),
        packed_(packed),
        bf16_(bf16),
        panel_floats_(g.k * tiles_.columns),
        few_columns_(plan.mode == BMode::kHalf ? 0 : FewColumns(g.k, g.n, tiles_)) {}

  int64_t UnitCount() const { return g_.batch * plan_.chunks * plan_.panels; }

  // slot: scratch for one panel, of Bf16Layout::slot bytes or plan.slot_floats floats.
  void Run(int64_t begin, int64_t end, float* slot) const {
    const TilesInUse in_use(bf16_ != nullptr ? tiles_.bf16 : nullptr);
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
  bool PairsHalves() const {
    return bf16_ != nullptr && plan_.mode == BMode::kHalf && g_.half_kind == HalfKind::kBFloat16;
  }
  int64_t BlockStart(int64_t block) const { return g_.k * block / plan_.blocks_k; }

  // Where the panel's rows of this K block are in packed B.
  const float* PackedPanel(int64_t item, int64_t panel, int64_t block) const {
    const int64_t copy = plan_.mode == BMode::kPacked ? BOffset(g_, item) : 0;
    return packed_ + copy + panel * panel_floats_ + BlockStart(block) * tiles_.columns;
  }

  const std::uint16_t* HalfPanel(int64_t item, int64_t panel, int64_t block) const {
    return g_.packed_half + BOffset(g_, item) + panel * panel_floats_ + BlockStart(block) * tiles_.columns;
  }

  void SetB(const Unit& u, int64_t block, float* slot, TileF32Args* t) const {
    t->b_stride = tiles_.columns;
    if (t->k == 0) {  // B has no elements, and may have no address
      t->b = slot;
      return;
    }
    if (plan_.mode == BMode::kHalf) {
      if (PairsHalves()) {  // nobody reads floats
        t->b = slot;
        return;
      }
      tiles_.widen(g_.half_kind, t->k * tiles_.columns, HalfPanel(u.item, u.panel, block), slot);
      t->b = slot;
      return;
    }
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
    if (few_columns_ > 0 && u.panel + 1 == plan_.panels) return block == 0 ? RunFewColumns(u, slot) : void();
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
    TileBf16Args pairs;
    if (bf16_ != nullptr) SetPairs(u, block, t, slot, &pairs);
    RunRows(u, block, NextPanel(unit, end, block), last ? e.activation : Activation{}, &t,
            bf16_ != nullptr ? &pairs : nullptr);
  }

  // Makes the pairs of the panel.
  void SetPairs(const Unit& u, int64_t block, const TileF32Args& t, float* slot, TileBf16Args* pairs) const {
    auto* b = reinterpret_cast<std::uint16_t*>(reinterpret_cast<std::byte*>(slot) + bf16_->layout->slot_floats);
    if (PairsHalves())
      tiles_.bf16->pair_halves(t.k, HalfPanel(u.item, u.panel, block), b);
    else
      tiles_.bf16->pair_panel(t.k, t.b, t.b_stride, t.columns, b);
    pairs->a0 = bf16_->data + BlockStart(block);
    pairs->a_row_stride = bf16_->layout->row;
    pairs->b = b;
  }

  // The last panel where it has so few columns that each is a dot product with the rows of A.
  void RunFewColumns(const Unit& u, float* slot) const {
    const int64_t first = u.panel * tiles_.columns;
    const float* b = nullptr;
    int64_t ldb = g_.k;
    if (plan_.mode != BMode::kPanel) {
      b = packed_ + (plan_.mode == BMode::kPacked ? BOffset(g_, u.item) : 0) + u.panel * panel_floats_;
    } else {
      const float* from = g_.b + BOffset(g_, u.item) + first * (g_.trans_b ? g_.ldb : 1);
      if (!g_.trans_b) tiles_.transpose(g_.k, few_columns_, from, g_.ldb, slot, g_.k);
      b = g_.trans_b ? from : slot;
      ldb = g_.trans_b ? g_.ldb : g_.k;
    }
    const float* a = g_.a + AOffset(g_, u.item);
    const int64_t end = g_.m * (u.chunk + 1) / plan_.chunks;
    constexpr int64_t kRows = 64;
    for (int64_t row = g_.m * u.chunk / plan_.chunks; row < end; row += kRows) {
      const int64_t rows = std::min(kRows, end - row);
      float sums[kRows * TileF32Set::kMaxColumns];
      if (g_.trans_a) {
        float column[kRows];
        for (int64_t j = 0; j < few_columns_; ++j) {
          tiles_.gemv(g_.k, rows, b + j * ldb, 1, a + row, g_.lda, column);
          for (int64_t r = 0; r < rows; ++r) sums[r * few_columns_ + j] = column[r];
        }
      } else {
        tiles_.columns_of(g_.k, rows, few_columns_, a + row * g_.lda, g_.lda, b, ldb, sums);
      }
      FinishColumns(g_, u.item, row, rows, first, few_columns_, sums);
    }
  }

  // The panel that will be read after this one, or null if it is not known. Also after the last unit of a piece of
  // work: the thread goes on with the next one if no other is faster.
  const char* NextPanel(int64_t unit, int64_t end, int64_t block) const {
    const int64_t known = plan_.blocks_k > 1 ? end : UnitCount();  // of K, all blocks of a piece follow each other
    if (plan_.mode == BMode::kPanel || unit + 1 == known) return nullptr;
    const Unit next = Decode(unit + 1);
    if (plan_.mode == BMode::kHalf) return reinterpret_cast<const char*>(HalfPanel(next.item, next.panel, block));
    return reinterpret_cast<const char*>(PackedPanel(next.item, next.panel, block));
  }

  // pairs: null, or A in bf16, from the block on, and the pairs of the panel.
  void RunRows(const Unit& u, int64_t block, const char* next, const Activation& activation, TileF32Args* t,
               const TileBf16Args* pairs) const {
    const int64_t row0 = g_.m * u.chunk / plan_.chunks, rows = g_.m * (u.chunk + 1) / plan_.chunks - row0;
    if (rows == 0) return;
    const int64_t tallest = 2 * t->columns <= tiles_.columns ? tiles_.narrow_rows : tiles_.rows;
    const int64_t parts = CeilDiv(rows, pairs != nullptr ? tiles_.bf16->rows : tallest);
    const int64_t least = rows / parts, longer = rows % parts;  // of each part, parts of one more row
    // While the first tiles run, they fetch the next panel into the second cache level, evenly spread.
    const int64_t fetchers = next == nullptr ? 0 : parts >= 8 ? 8 : parts >= 4 ? 4 : parts >= 2 ? 2 : 0;
    const int64_t fetch_step = fetchers == 0 ? 0 : tiles_.columns * (plan_.mode == BMode::kHalf ? 2 : 4) / fetchers;
    // What differs between tiles is moved on: the units wait while it is worked out.
    t->a0 = g_.a + AOffset(g_, u.item) + BlockStart(block) * t->a_k_stride + row0 * t->a_row_stride;
    SetEpilogue(u, block, row0, t);
    TileF32Fn* const* run = 2 * t->columns <= tiles_.columns ? tiles_.narrow : tiles_.wide;
    const bool activates = NeedsPass(activation);
    int64_t row = row0;
    for (int64_t i = 0; i < parts; ++i) {
      const int64_t count = least + (i < longer ? 1 : 0), half = (count + 1) / 2;
      t->a1 = t->a0 + half * t->a_row_stride;
      t->c1 = t->c0 + half * t->c_row_stride;
      if (t->residual0 != nullptr) t->residual1 = t->residual0 + half * t->residual_row_stride;
      const bool fetch = i < fetchers;
      t->prefetch_step = fetch ? fetch_step : 0;
      t->prefetch = fetch ? next + i * fetch_step * t->k : reinterpret_cast<const char*>(t->b);
      if (pairs != nullptr) {
        RunPairs(*pairs, *t, row, count, activation);
      } else {
        run[count - 1](*t);
        if (activates) ActivateTile(tiles_, *t, count, activation);
      }
      row += count;
      t->a0 += count * t->a_row_stride;
      t->c0 += count * t->c_row_stride;
      if (t->residual0 != nullptr) t->residual0 += count * t->residual_row_stride;
      if (t->bias_m != nullptr) t->bias_m += count;
    }
  }

  void RunPairs(const TileBf16Args& pairs, const TileF32Args& t, int64_t row, int64_t count,
                const Activation& activation) const {
    TileBf16Args s = pairs;
    s.a0 += row * s.a_row_stride;
    s.a1 = s.a0 + (count + 1) / 2 * s.a_row_stride;
    s.tile = t;
    RunTileBf16(tiles_, s, count, activation);
  }

  const GemmF32Args& g_;
  const Plan& plan_;
  const TileF32Set& tiles_;
  const float* packed_;
  const Bf16A* bf16_;
  int64_t panel_floats_;
  int64_t few_columns_;
};

// Copies A to rows that do not alias, and lets g read the copy.
void PadA(GemmF32Args* g, float* copy, Parallel& parallel) {
  constexpr int64_t kBlock = 16;  // rows of a transposed A that are copied at once: they share cache lines
  const int64_t stride = g->k + kAliasPadding, grain = CeilDiv(std::max<int64_t>(1, 16384 / g->k), kBlock) * kBlock;
  parallel.For(g->m, grain, [&](int64_t begin, int64_t end) {
    if (g->trans_a) {
      for (int64_t row = begin; row < end; row += kBlock)
        Tiles(g->tiles).transpose(g->k, std::min(kBlock, end - row), g->a + row, g->lda, copy + row * stride, stride);
      return;
    }
    for (int64_t row = begin; row < end; ++row) std::copy_n(g->a + row * g->lda, g->k, copy + row * stride);
  });
  g->trans_a = false;
  g->a = copy;
  g->lda = stride;
}

// Rounds A to bf16, into layout.a bytes, and says whether no element changed.
bool RoundA(const GemmF32Args& g, const Bf16Layout& layout, Parallel& parallel, bool* facts, std::uint16_t* a) {
  const TileBf16Set& set = *Tiles(g.tiles).bf16;
  const auto fill = [&](int64_t first, int64_t last) {
    bool exact = true;
    for (int64_t row = first; row < last; ++row) {
      exact = set.round(g.k, g.a + row * g.lda, a + row * layout.row) && exact;
      a[row * layout.row + g.k] = 0;  // the last of an odd number has a partner, which is multiplied by zero
    }
    return exact;
  };
  const int threads = parallel.ThreadCount();
  if (threads == 1 || !PaysThreads(g)) return fill(0, g.m);
  parallel.For(threads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) facts[s] = fill(g.m * s / threads, g.m * (s + 1) / threads);
  });
  return std::all_of(facts, facts + threads, [](bool exact) { return exact; });
}

// Threads take units as they finish, each with a slot of its own.
void RunWithSlots(const TileLoop& loop, Parallel& parallel, std::byte* slots, std::size_t slot_bytes) {
  ForWithSlots(loop.UnitCount(), parallel, [&](int64_t begin, int64_t end, int64_t slot) {
    loop.Run(begin, end, reinterpret_cast<float*>(slots + static_cast<std::size_t>(slot) * slot_bytes));
  });
}

// Runs the product in bf16; false, and nothing done, if A is not bf16 and may not be rounded.
bool RunBf16(const GemmF32Args& g, const Plan& plan, const float* packed, Parallel& parallel, std::byte* scratch) {
  const Bf16Layout layout(g, plan, parallel.ThreadCount());
  auto* a = reinterpret_cast<std::uint16_t*>(scratch + layout.facts);
  const bool exact = RoundA(g, layout, parallel, reinterpret_cast<bool*>(scratch), a);
  if (!exact && !g.rounds_to_bf16) return false;
  const Bf16A rounded = {a, &layout};
  const TileLoop loop(g, plan, packed, &rounded);
  std::byte* slots = scratch + layout.facts + layout.a;
  if (parallel.ThreadCount() == 1 || !PaysThreads(g))
    loop.Run(0, loop.UnitCount(), reinterpret_cast<float*>(slots));
  else
    RunWithSlots(loop, parallel, slots, layout.slot);
  return true;
}

}  // namespace

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
    if (plan.bf16) scratch += GemmF32PackedCount(g.k, g.n, g.tiles) * sizeof(float);
  }
  if (plan.bf16 && RunBf16(g, plan, packed, parallel, scratch)) return;
  const TileLoop loop(g, plan, packed, nullptr);
  const int64_t units = loop.UnitCount();
  const int64_t threads = parallel.ThreadCount();
  float* slots = reinterpret_cast<float*>(scratch);
  if (threads == 1 || !PaysThreads(g)) return loop.Run(0, units, slots);
  if (plan.slot_floats == 0) {
    return parallel.For(units, 1, [&](int64_t begin, int64_t end) { loop.Run(begin, end, nullptr); });
  }
  RunWithSlots(loop, parallel, scratch, static_cast<std::size_t>(plan.slot_floats) * sizeof(float));
}

}  // namespace sardonyx::kernels::gemm_f32
