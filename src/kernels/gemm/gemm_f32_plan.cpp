// kernels/gemm/gemm_f32_plan.cpp - what is decided from the shape of an f32 product: path, cache blocks, scratch.
#include "kernels/gemm/gemm_f32_plan.h"

#include <algorithm>

#include "base/cpu_info.h"

namespace sardonyx::kernels::gemm_f32 {
namespace {

constexpr int64_t kMaxBlockK = 1024;  // longer sums are cut into equal blocks of at most this
constexpr int64_t kMostChunkBytes = int64_t{640} << 10;
constexpr int64_t kSerialWork = int64_t{1} << 19;  // below this many multiplications threads cost more than they give
constexpr int64_t kAliasFloats = 1024;  // rows of A this far apart (4 KB) fall into one set of the first cache level
constexpr int64_t kAliasRows = 8;       // copying such an A pays from this size of the product on
constexpr int64_t kAliasColumns = 128;
constexpr int64_t kDotLength = 64;  // shorter sums of several rows are faster on tiles
constexpr int64_t kThinRows = 8;    // with fewer rows packing B for the thin path costs more than it gives

bool IsColumn(const GemmF32Args& g) {
  const bool is_packed = g.packed_b != nullptr || g.packed_half != nullptr, contiguous_b = g.trans_b || g.ldb == 1;
  const bool unit_c = g.ldc == 1 && (g.epilogue.residual == nullptr || g.epilogue.residual_stride <= 1);
  return g.n == 1 && !is_packed && contiguous_b && unit_c && !g.trans_a;
}

Path ChoosePath(const GemmF32Args& g, const TileF32Set& tiles) {
  if (g.m == 0 || g.n == 0 || g.batch == 0) return Path::kNothing;
  if (g.same_rows) return IsColumn(g) ? Path::kColumn : Path::kTiles;
  if (g.packed_half != nullptr) return g.m <= RowPanelsArgs::kRows ? Path::kPackedRows : Path::kTiles;
  const bool packed = g.packed_b != nullptr;
  const bool one_b = packed || (g.b_batch_stride == 0 && g.b_batch_offsets == nullptr) || g.batch == 1;
  if (g.k > 0 && g.k <= tiles.thin_k && g.m >= kThinRows && g.n > tiles.columns / 2 && one_b) return Path::kThin;
  const bool few = g.m == 1 || (g.m <= RowPanelsArgs::kRows && g.n > tiles.columns / 2);  // a tile may be narrower
  if (packed) return few ? Path::kPackedRows : Path::kTiles;
  if (IsColumn(g)) return Path::kColumn;
  if (g.m == 1 && !g.trans_b) return Path::kGemv;
  const bool contiguous_a = !g.trans_a || (g.m == 1 && g.lda == 1);
  const bool few_rows = g.m == 1 || (g.m <= kDotRows && g.k >= kDotLength);
  return few_rows && g.trans_b && contiguous_a ? Path::kDots : Path::kTiles;
}

// Either that is wanted, or B is bf16 and A may be; few rows are never rounded.
bool MayRound(const GemmF32Args& g) {
  if (g.same_rows) return false;
  return g.rounds_to_bf16 || (g.packed_half != nullptr && g.half_kind == HalfKind::kBFloat16);
}

// Of A, per chunk of rows: they stay in the second cache level beside a panel of B.
int64_t ChunkBytes() { return std::min(kMostChunkBytes, static_cast<int64_t>(Cpu().l2_bytes / 8 * 5)); }

int64_t RoundUp(int64_t value, int64_t step) { return CeilDiv(value, step) * step; }

}  // namespace

int64_t FewColumns(int64_t k, int64_t n, const TileF32Set& tiles) {
  const int64_t rest = n % tiles.columns;
  return k >= kDotLength && rest <= TileF32Set::kMaxColumns ? rest : 0;
}

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

Plan MakePlan(const GemmF32Args& g, int64_t threads) {
  const TileF32Set& tiles = Tiles(g.tiles);
  Plan plan;
  plan.path = ChoosePath(g, tiles);
  plan.blocks_k = std::max<int64_t>(1, CeilDiv(g.k, kMaxBlockK));
  plan.block_k = CeilDiv(g.k, plan.blocks_k);
  plan.panels = CeilDiv(g.n, tiles.columns);
  plan.bf16 =
      plan.path == Path::kTiles && g.batch == 1 && !g.trans_a && MayRound(g) && PaysInBf16(tiles, g.m, g.n, g.k);
  const int64_t row_bytes = std::max<int64_t>(1, plan.block_k) * (plan.bf16 ? 2 : 4);
  const int64_t most_rows = std::max<int64_t>(tiles.rows, ChunkBytes() / row_bytes);
  plan.chunks = std::max<int64_t>(1, CeilDiv(g.m, most_rows));
  if (g.packed_half != nullptr) {
    plan.mode = BMode::kHalf;
    plan.slot_floats = plan.block_k * tiles.columns;
  } else if (g.packed_b == nullptr) {
    const bool whole = plan.path == Path::kThin || (plan.chunks > 1 && g.batch == 1);
    plan.mode = whole ? BMode::kWhole : BMode::kPanel;
  }
  const int64_t units = g.batch * plan.panels * plan.chunks;
  if (threads > 1 && units > 0 && units < 4 * threads) {
    const int64_t most_chunks = CeilDiv(g.m, 2 * tiles.rows);
    plan.chunks = std::clamp<int64_t>(CeilDiv(4 * threads, g.batch * plan.panels), plan.chunks,
                                      std::max(plan.chunks, most_chunks));
  }
  if (plan.mode == BMode::kPanel)
    plan.slot_floats = std::max(plan.block_k * tiles.columns, (FewColumns(g.k, g.n, tiles) * g.k + 15) / 16 * 16);
  // A transposed A would be read from a new line for every step, and most of these lines share a set of the cache.
  plan.pad_a = !plan.bf16 && plan.path == Path::kTiles && g.batch == 1 && (g.trans_a || g.lda % kAliasFloats == 0) &&
               g.k > 0 && g.m >= kAliasRows && g.n >= kAliasColumns;
  return plan;
}

bool PaysThreads(const GemmF32Args& g) {
  return g.batch * std::max<int64_t>(g.m, 4) * g.n * std::max<int64_t>(g.k, 1) >= kSerialWork;
}

std::size_t PaddedABytes(const GemmF32Args& g, const Plan& plan) {
  return plan.pad_a ? static_cast<std::size_t>(g.m * (g.k + kAliasPadding) + 15) / 16 * 64 : 0;
}

Bf16Layout::Bf16Layout(const GemmF32Args& g, const Plan& plan, int threads) {
  constexpr int64_t kLine = 32;  // elements; an odd number of lines from row to row, because even ones share sets
  row = (CeilDiv(g.k + 1, kLine) | 1) * kLine;
  const auto bytes = [](int64_t count, int64_t size) { return static_cast<std::size_t>(RoundUp(count * size, 64)); };
  facts = bytes(threads, sizeof(bool));
  a = bytes(g.m * row, 2);
  slot_floats = bytes(plan.slot_floats, 4);
  slot = slot_floats + bytes(Tiles(g.tiles).bf16->PanelElements(1, plan.block_k), 2);
}

std::size_t ScratchBytes(const GemmF32Args& g, const Plan& plan, int threads) {
  if (plan.path != Path::kTiles && plan.path != Path::kThin) return 0;
  if (plan.bf16) {
    const Bf16Layout layout(g, plan, threads);
    const std::size_t whole =
        plan.mode == BMode::kWhole ? GemmF32PackedCount(g.k, g.n, g.tiles) * sizeof(float) : std::size_t{0};
    return whole + layout.facts + layout.a + layout.slot * static_cast<std::size_t>(std::max(1, threads));
  }
  const std::size_t a = PaddedABytes(g, plan);
  if (plan.mode == BMode::kPacked) return a;
  if (plan.mode == BMode::kWhole) return a + GemmF32PackedCount(g.k, g.n, g.tiles) * sizeof(float);
  return a +
         static_cast<std::size_t>(plan.slot_floats) * sizeof(float) * static_cast<std::size_t>(std::max(1, threads));
}

}  // namespace sardonyx::kernels::gemm_f32
