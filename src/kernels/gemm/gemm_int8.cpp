// kernels/gemm/gemm_int8.cpp - zero points, packing and loops around the integer tile.
//
// With A' = A + s, B' = B - t (see tile_int8.h), za' = a_zero + s and zb' = b_zero - t:
//   sum (A - a_zero)(B - b_zero) = sum A' B' - za' sum B' - zb' (sum A' - K za')
// so one pass over A arranges its rows in groups and yields their sums, and packed B carries the sums of its columns.
#include "kernels/gemm/gemm_int8.h"

#include <algorithm>
#include <cstring>

#include "kernels/gemm/clipped_product.h"
#include "kernels/gemm/few_rows_int8.h"
#include "kernels/gemm/tile_int8.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;
using std::uint32_t;

constexpr int64_t kSerialWork = int64_t{1} << 21;
constexpr int64_t kChunkBytes = int64_t{512} << 10;  // of A' per chunk of rows

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
std::size_t RoundUp64(int64_t bytes) { return (static_cast<std::size_t>(bytes) + 63) & ~std::size_t{63}; }

const TileInt8Set& Tiles(const TileInt8Set* tiles) { return tiles != nullptr ? *tiles : BestTilesInt8(); }

int64_t PanelBytes(const TileInt8Set& t, int64_t k) { return t.GroupCount(k) * t.columns * 4; }
int64_t PanelCount(const TileInt8Set& t, int64_t n) { return CeilDiv(n, t.columns); }

// A value of a u8 or s8 array, as a number.
int ValueAt(const void* p, int64_t i, bool is_signed) {
  return is_signed ? static_cast<const std::int8_t*>(p)[i] : static_cast<const std::uint8_t*>(p)[i];
}

template <typename Byte>
bool ColumnZeros(const GemmInt8Args& g, int shift, uint32_t* zeros) {
  const auto* from = static_cast<const Byte*>(g.b_zero);
  const int64_t step = g.b_zero_per_column ? 1 : 0;
  uint32_t any = 0;
  for (int64_t j = 0; j < g.n; ++j) {
    zeros[j] = static_cast<uint32_t>(from[step * j] - shift);
    any |= zeros[j];
  }
  return any != 0;
}

// The zero points of B's columns less `shift`, modulo 2^32; true if any is not 0.
bool ColumnZeros(const GemmInt8Args& g, int shift, uint32_t* zeros) {
  if (g.b_zero != nullptr)
    return g.b_signed ? ColumnZeros<std::int8_t>(g, shift, zeros) : ColumnZeros<std::uint8_t>(g, shift, zeros);
  std::fill_n(zeros, g.n, static_cast<uint32_t>(-shift));
  return shift != 0 && g.n > 0;
}

// A's values can be multiplied where they lie.
bool IsInPlace(const GemmInt8Args& g, const TileInt8Set& t) {
  return t.AShift(g.a_signed) == 0 && t.bytes && g.k % t.GroupValues() == 0;
}

// Scratch of one product: rows of A', terms of rows and columns, packed B.
struct Layout {
  Layout(const GemmInt8Args& g, const TileInt8Set& t) {
    const std::size_t columns = RoundUp64(PanelCount(t, g.n) * t.columns * 4), rows = RoundUp64(g.m * 4);
    row_bytes = IsInPlace(g, t) ? g.lda : t.GroupCount(g.k) * 4;
    a = 0;
    a_zero = a + (IsInPlace(g, t) ? 0 : RoundUp64(g.m * row_bytes));
    row_terms = a_zero + rows;
    b_zero = row_terms + rows;
    column_terms = b_zero + columns;
    scales = column_terms + columns;
    b = scales + columns;
    total = b + (g.packed_b == nullptr ? GemmInt8PackedBytes(g.k, g.n, &t) : 0);
  }
  int64_t row_bytes;
  std::size_t a, a_zero, row_terms, b_zero, column_terms, scales, b, total;
};

constexpr int64_t kMostColumns = 32;

// Rows of a panel's columns, one after the other.
class PanelRows {
 public:
  PanelRows(const GemmInt8Args& g, const TileInt8Set& t, int64_t first, int64_t columns)
      : g_(g),
        t_(t),
        columns_(columns),
        b_(static_cast<const std::uint8_t*>(g.b) + first * (g.b_transposed ? g.ldb : 1)) {}
  // Row k, valid until the row of the next multiple of kBlock is asked for.
  const std::uint8_t* At(int64_t k) {
    if (!g_.b_transposed) return b_ + k * g_.ldb;
    if (k % kBlock == 0) t_.transpose(columns_, std::min(kBlock, g_.k - k), b_ + k, g_.ldb, block_, kMostColumns);
    return block_ + k % kBlock * kMostColumns;
  }

 private:
  static constexpr int64_t kBlock = 64;  // a multiple of every group
  const GemmInt8Args& g_;
  const TileInt8Set& t_;
  int64_t columns_;
  const std::uint8_t* b_;
  std::uint8_t block_[kBlock * kMostColumns];
};

void PackPanel(const GemmInt8Args& g, const TileInt8Set& t, int64_t first, std::byte* panel, uint32_t* sums) {
  const int64_t group = t.bytes ? 4 : 2, columns = std::min<int64_t>(t.columns, g.n - first);
  PanelRows b(g, t, first, columns);
  // What becomes 0 in B', for rows beyond K and columns beyond N.
  const auto neutral = static_cast<std::uint8_t>(t.BShift(g.b_signed));
  std::uint8_t edge[4][kMostColumns];
  std::memset(edge, neutral, sizeof edge);
  std::fill_n(sums, t.columns, 0u);
  for (int64_t k = 0; k < g.k; k += group, panel += t.columns * 4) {
    const std::uint8_t* rows[4];
    for (int64_t r = 0; r < group; ++r) {
      const std::uint8_t* const row = k + r < g.k ? b.At(k + r) : nullptr;
      const bool whole = row != nullptr && columns == t.columns;
      if (!whole && row != nullptr)
        std::memcpy(edge[r], row, static_cast<std::size_t>(columns));
      else if (!whole)
        std::memset(edge[r], neutral, sizeof edge[r]);
      rows[r] = whole ? row : edge[r];
    }
    t.pack_group(rows, g.b_signed, panel, sums);
  }
}

// Packed B: panels, the sums of columns, and with `clipped` the limits of values.
void PackB(const GemmInt8Args& g, const TileInt8Set& t, std::byte* packed, Parallel& parallel) {
  const int64_t panels = PanelCount(t, g.n);
  auto* sums = reinterpret_cast<uint32_t*>(packed + panels * PanelBytes(t, g.k));
  parallel.For(panels, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, PanelBytes(t, g.k))),
               [&](int64_t begin, int64_t end) {
                 for (int64_t p = begin; p < end; ++p) {
                   std::byte* panel = packed + p * PanelBytes(t, g.k);
                   PackPanel(g, t, p * t.columns, panel, sums + p * t.columns);
                 }
               });
  if (t.clipped == nullptr) return;
  auto* limits = reinterpret_cast<std::byte*>(sums + panels * t.columns);
  ClippedLimits::Write(*t.clipped, packed, panels, PanelBytes(t, g.k), t.GroupCount(g.k), limits, parallel);
}

void SetResult(const GemmInt8Args& g, TileInt8Args* t) {
  t->result = g.result;
  t->c_row_stride = g.ldc;
  t->SetBytes(g.c_signed, g.c_zero);
}

class Product {
 public:
  Product(const GemmInt8Args& g, const TileInt8Set& t, std::byte* scratch, Parallel& parallel)
      : g_(g), t_(t), layout_(g, t), scratch_(scratch) {
    const auto* packed = static_cast<const std::byte*>(g.packed_b);
    if (packed == nullptr) {
      PackB(g, t, scratch + layout_.b, parallel);
      packed = scratch + layout_.b;
    }
    panels_ = PanelCount(t, g.n);
    panel_bytes_ = PanelBytes(t, g.k);
    packed_ = packed;
    b_sums_ = reinterpret_cast<const uint32_t*>(packed + panels_ * panel_bytes_);
    PrepareColumns();
    PrepareRows(parallel);
    chunks_ = std::max<int64_t>(1, CeilDiv(g.m * layout_.row_bytes, kChunkBytes));
    if (parallel.ThreadCount() > 1) chunks_ = std::max(chunks_, CeilDiv(Ranges(parallel), panels_));
    chunks_ = std::min(chunks_, CeilDiv(g.m, t.rows));
  }

  void Run(Parallel& parallel) const {
    const int64_t units = panels_ * chunks_;
    if (parallel.ThreadCount() == 1) return RunUnits(0, units);
    parallel.For(units, 1, [&](int64_t begin, int64_t end) { RunUnits(begin, end); });
  }

 private:
  // Units enough that no thread waits long for the last one.
  static int64_t Ranges(const Parallel& parallel) { return int64_t{8} * parallel.ThreadCount(); }
  bool ZeroPerRow() const { return g_.a_zero != nullptr && g_.a_zero_per_row; }
  uint32_t AZero(int64_t row) const {
    const int zero = g_.a_zero == nullptr ? 0 : ValueAt(g_.a_zero, g_.a_zero_per_row ? row : 0, g_.a_signed);
    return static_cast<uint32_t>(zero + t_.AShift(g_.a_signed));
  }
  uint32_t* At(std::size_t offset) const { return reinterpret_cast<uint32_t*>(scratch_ + offset); }

  // The terms of columns: bias, zero points and scales.
  void PrepareColumns() {
    uint32_t *b_zero = At(layout_.b_zero), *terms = At(layout_.column_terms);
    const uint32_t a_zero = ZeroPerRow() ? 0 : AZero(0);
    any_b_zero_ = ColumnZeros(g_, t_.BShift(g_.b_signed), b_zero);
    for (int64_t j = 0; j < g_.n; ++j)
      terms[j] = (g_.bias != nullptr ? static_cast<uint32_t>(g_.bias[j]) : 0) - a_zero * b_sums_[j];
    scales_ = g_.scales;
    if (g_.result != Int8Result::kSums && !g_.scale_per_column) {
      float* scales = reinterpret_cast<float*>(scratch_ + layout_.scales);
      std::fill_n(scales, g_.n, *g_.scales);
      scales_ = scales;
    }
  }

  // A' and the terms of its rows.
  void PrepareRows(Parallel& parallel) {
    const bool in_place = IsInPlace(g_, t_);
    a_ = in_place ? static_cast<const std::byte*>(g_.a) : scratch_ + layout_.a;
    if (in_place && !any_b_zero_ && !ZeroPerRow()) return;
    const auto* a = static_cast<const std::uint8_t*>(g_.a);
    uint32_t *a_zero = At(layout_.a_zero), *row_terms = At(layout_.row_terms);
    parallel.For(g_.m, std::max<int64_t>(1, 32768 / std::max<int64_t>(1, g_.k)), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        uint32_t sum = 0;
        if (in_place) {
          sum = t_.sum_row(a_ + r * layout_.row_bytes, g_.k);
        } else if (g_.k > 0) {
          std::byte* row = scratch_ + layout_.a + r * layout_.row_bytes;
          std::memset(row + layout_.row_bytes - 4, 0, 4);
          sum = t_.pack_row(a + r * g_.lda, g_.k, g_.a_signed, row);
        }
        a_zero[r] = AZero(r);
        row_terms[r] = sum - static_cast<uint32_t>(g_.k) * a_zero[r];
      }
    });
  }

  // What all tiles share.
  TileInt8Args Start() const {
    static constexpr std::ptrdiff_t kNoOffset = 0;
    TileInt8Args a{};
    a.a_row_bytes = layout_.row_bytes;
    a.tap_offsets = &kNoOffset;
    a.taps = 1;
    a.k_groups = t_.GroupCount(g_.k);
    SetResult(g_, &a);
    return a;
  }

  void RunUnits(int64_t begin, int64_t end) const {
    const TilesInUse in_use(&t_);
    TileInt8Args a = Start();
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t chunk = unit / panels_, panel = unit % panels_, column = panel * t_.columns;
      const int64_t row0 = g_.m * chunk / chunks_, rows = g_.m * (chunk + 1) / chunks_ - row0;
      const int64_t parts = CeilDiv(rows, t_.rows);
      a.b = packed_ + panel * panel_bytes_;
      a.columns = std::min<int64_t>(t_.columns, g_.n - column);
      a.column_terms = At(layout_.column_terms) + column;
      a.b_sums = b_sums_ + column;
      a.b_zero = any_b_zero_ ? At(layout_.b_zero) + column : nullptr;
      a.scales = scales_ != nullptr ? scales_ + column : nullptr;
      a.bias = g_.float_bias != nullptr ? g_.float_bias + column : nullptr;
      // The first tiles fetch the next panel, each a part of every group, also after the last unit of a piece of work:
      // the thread goes on with the next one if no other is faster.
      const int64_t fetchers = unit + 1 == panels_ * chunks_ || panels_ == 1 ? 0
                               : parts >= 8                                  ? 8
                               : parts >= 4                                  ? 4
                                                                             : parts / 2 * 2;
      const auto* next = reinterpret_cast<const char*>(packed_ + (unit + 1) % panels_ * panel_bytes_);
      for (int64_t i = 0; i < parts; ++i) {
        const int64_t row = row0 + rows * i / parts, count = row0 + rows * (i + 1) / parts - row;
        const bool fetch = i < fetchers;
        a.prefetch_step = fetch ? t_.columns * 4 / fetchers : 0;
        a.prefetch = fetch ? next + i * a.prefetch_step * a.k_groups : reinterpret_cast<const char*>(a.b);
        RunTile(row, column, count, &a);
      }
    }
  }

  void RunTile(int64_t row, int64_t column, int64_t count, TileInt8Args* a) const {
    const int64_t half = (count + 1) / 2, size = g_.result == Int8Result::kBytes ? 1 : 4;
    a->a0 = a_ + row * layout_.row_bytes;
    a->a1 = a->a0 + half * layout_.row_bytes;
    a->c0 = static_cast<std::byte*>(g_.c) + (row * g_.ldc + column) * size;
    a->c1 = static_cast<std::byte*>(a->c0) + half * g_.ldc * size;
    a->a_zero = ZeroPerRow() ? At(layout_.a_zero) + row : nullptr;
    a->row_terms0 = At(layout_.row_terms) + row;
    a->row_terms1 = a->row_terms0 + half;
    a->row_scales = g_.row_scales != nullptr ? g_.row_scales + row : nullptr;
    t_.Run(*a, count);
  }

  const GemmInt8Args& g_;
  const TileInt8Set& t_;
  Layout layout_;
  std::byte* scratch_;
  const std::byte* a_ = nullptr;
  const std::byte* packed_;
  const uint32_t* b_sums_;
  const float* scales_ = nullptr;
  int64_t panels_, panel_bytes_, chunks_;
  bool any_b_zero_ = false;
};

// Scratch of one product by sets with `clipped`: zero points of rows and columns, scales, packed B, blocks of rows.
struct ClippedLayout {
  ClippedLayout(const GemmInt8Args& g, const TileInt8Set& t, int threads) {
    const std::size_t columns = RoundUp64(PanelCount(t, g.n) * t.columns * 4);
    b_zero = RoundUp64(g.m * 4);
    scales = b_zero + columns;
    b = scales + columns;
    blocks = b + (g.packed_b == nullptr ? GemmInt8PackedBytes(g.k, g.n, &t) : 0);
    total = blocks + ClippedScratchBytes(g.m, t.GroupCount(g.k), threads);
  }
  std::size_t b_zero, scales, b, blocks, total;
};

void RunClipped(const GemmInt8Args& g, const TileInt8Set& t, std::byte* scratch, Parallel& parallel) {
  const ClippedLayout layout(g, t, parallel.ThreadCount());
  const auto* packed = static_cast<const std::byte*>(g.packed_b);
  if (packed == nullptr) {
    PackB(g, t, scratch + layout.b, parallel);
    packed = scratch + layout.b;
  }
  const auto* a = static_cast<const std::uint8_t*>(g.a);
  const auto read = [&](int64_t row, ClippedRow& out) { out.Take(a + row * g.lda, g.k); };
  const int64_t panels = PanelCount(t, g.n);
  const auto a_zero = [&](int64_t row) {
    const int zero = g.a_zero == nullptr ? 0 : ValueAt(g.a_zero, row, g.a_signed);
    return static_cast<uint32_t>(zero + t.AShift(g.a_signed));
  };
  ClippedProduct p{.read = read};
  p.tiles = &t;
  p.rows = g.m, p.columns = g.n, p.k = g.k, p.groups = t.GroupCount(g.k);
  p.a_signed = g.a_signed;
  p.panels = packed;
  p.b_sums = reinterpret_cast<const uint32_t*>(packed + panels * PanelBytes(t, g.k));
  p.limits = reinterpret_cast<const std::byte*>(p.b_sums + panels * t.columns);
  if (g.a_zero != nullptr && g.a_zero_per_row) {
    auto* zeros = reinterpret_cast<uint32_t*>(scratch);
    for (int64_t r = 0; r < g.m; ++r) zeros[r] = a_zero(r);
    p.row_zeros = zeros;
  } else {
    p.a_zero = a_zero(0);
  }
  auto* b_zero = reinterpret_cast<uint32_t*>(scratch + layout.b_zero);
  if (ColumnZeros(g, t.BShift(g.b_signed), b_zero)) p.b_zero = b_zero;
  p.bias = g.bias;
  SetResult(g, &p.common);
  p.c = static_cast<std::byte*>(g.c);
  p.scales = g.scales;
  if (g.result != Int8Result::kSums && !g.scale_per_column) {
    auto* scales = reinterpret_cast<float*>(scratch + layout.scales);
    std::fill_n(scales, g.n, *g.scales);
    p.scales = scales;
  }
  p.float_bias = g.float_bias, p.row_scales = g.row_scales;
  RunClippedProduct(p, parallel, scratch + layout.blocks);
}

void RunOne(const GemmInt8Args& g, std::byte* scratch, Parallel& parallel) {
  const bool small = std::max<int64_t>(g.m, 4) * g.n * g.k < kSerialWork;
  Serial serial;
  Parallel& threads = small ? serial : parallel;
  if (IsOfFewRows(g)) return RunFewRowsInt8(g, Tiles(g.tiles).isa, scratch, threads);
  if (Tiles(g.tiles).clipped != nullptr) return RunClipped(g, Tiles(g.tiles), scratch, threads);
  Product(g, Tiles(g.tiles), scratch, threads).Run(threads);
}

// A batch that shares B and whose A and C follow each other is one product.
GemmInt8Args Collapse(const GemmInt8Args& args) {
  GemmInt8Args g = args;
  if (g.batch > 1 && g.b_batch_stride == 0 && g.b_batch_offsets == nullptr && g.a_batch_offsets == nullptr &&
      g.a_batch_stride == g.m * g.lda && g.c_batch_stride == g.m * g.ldc &&
      !(g.a_zero != nullptr && g.a_zero_per_row) && g.row_scales == nullptr) {
    g.m *= g.batch;
    g.batch = 1;
  }
  return g;
}

bool ItemsInParallel(const GemmInt8Args& g, int64_t threads) { return threads > 1 && g.batch >= threads; }

GemmInt8Args Item(const GemmInt8Args& g, int64_t i) {
  GemmInt8Args one = g;
  one.batch = 1;
  const int64_t b = g.b_batch_offsets ? g.b_batch_offsets[i] : i * g.b_batch_stride;
  one.a = static_cast<const std::byte*>(g.a) + (g.a_batch_offsets ? g.a_batch_offsets[i] : i * g.a_batch_stride);
  if (g.packed_b != nullptr)
    one.packed_b = static_cast<const std::byte*>(g.packed_b) + b;
  else
    one.b = static_cast<const std::byte*>(g.b) + b;
  one.c = static_cast<std::byte*>(g.c) + i * g.c_batch_stride * (g.result == Int8Result::kBytes ? 1 : 4);
  return one;
}

// Scratch of an item that runs on so many threads.
std::size_t ItemBytes(const GemmInt8Args& g, int threads) {
  const TileInt8Set& t = Tiles(g.tiles);
  if (IsOfFewRows(g)) return FewRowsInt8ScratchBytes(g);
  return t.clipped != nullptr ? RoundUp64(static_cast<int64_t>(ClippedLayout(g, t, threads).total))
                              : Layout(g, t).total;
}

}  // namespace

// clang-format off
static constexpr Variant<TileInt8SetFn> kVariants[] = {
    SDX_X86_VARIANT(avx512, TileSetAmx, amx_int8)
    SDX_X86_VARIANT(avx512, TileSetBytes, avx512_vnni)
    SDX_X86_VARIANT(avx512, TileSetWords, avx512)
    SDX_X86_VARIANT(avx2, TileSetClipped, avx2)
    SDX_VARIANTS(TileSetWords)
};
// clang-format on

std::span<const Variant<TileInt8SetFn>> TileInt8Variants() { return kVariants; }
const TileInt8Set& BestTilesInt8() { return *Best(kVariants)(); }
const TileInt8Set& BestTilesWithoutClipping() {
  const TileInt8Set& best = BestTilesInt8();
  return best.clipped == nullptr ? best : WordTilesInt8(best.isa);
}
const TileInt8Set& WordTilesInt8(Isa isa) {
  static constexpr Variant<TileInt8SetFn> kWords[] = {SDX_VARIANTS(TileSetWords)};
  return *Best(kWords, isa)();
}

std::vector<const TileInt8Set*> RunnableTilesInt8() {
  static constexpr Variant<TileInt8SetFn> kStandIn[] = {SDX_X86_VARIANT(avx512, TileSetStandIn, avx512_vnni)
                                                            SDX_VARIANT(baseline, TileSetStandIn)};
  std::vector<const TileInt8Set*> sets;
  for (const auto& [isa, set] : Runnable(TileInt8Variants())) sets.push_back(set());
  if (const TileInt8Set* stand_in = Best(kStandIn)()) sets.push_back(stand_in);
  return sets;
}

std::size_t GemmInt8PackedBytes(int64_t k, int64_t n, const TileInt8Set* tiles) {
  const TileInt8Set& t = Tiles(tiles);
  const int64_t panels = PanelCount(t, n);
  const std::size_t bytes = static_cast<std::size_t>(panels * (PanelBytes(t, k) + t.columns * 4));
  return t.clipped == nullptr ? bytes : bytes + ClippedLimits::Bytes(t.GroupCount(k));
}

// NOLINTNEXTLINE(readability-function-size): the parameters of BLAS
void PackGemmInt8B(int64_t k, int64_t n, const void* b, int64_t ldb, bool b_signed, void* packed, Parallel& parallel,
                   const TileInt8Set* tiles) {
  GemmInt8Args g;
  g.n = n, g.k = k, g.b = b, g.ldb = ldb, g.b_signed = b_signed;
  PackB(g, Tiles(tiles), static_cast<std::byte*>(packed), parallel);
}

std::size_t GemmInt8ScratchBytes(const GemmInt8Args& args, int threads) {
  const GemmInt8Args g = Collapse(args);
  return ItemsInParallel(g, threads) ? static_cast<std::size_t>(threads) * ItemBytes(g, 1) : ItemBytes(g, threads);
}

void GemmInt8(const GemmInt8Args& args, Parallel& parallel, std::byte* scratch) {
  const GemmInt8Args g = Collapse(args);
  if (g.m == 0 || g.n == 0) return;
  const int64_t threads = parallel.ThreadCount();
  if (!ItemsInParallel(g, threads)) {
    for (int64_t i = 0; i < g.batch; ++i) RunOne(Item(g, i), scratch, parallel);
    return;
  }
  const std::size_t slot = ItemBytes(g, 1);
  parallel.For(threads, 1, [&](int64_t begin, int64_t end) {
    Serial serial;
    for (int64_t s = begin; s < end; ++s)
      for (int64_t i = g.batch * s / threads; i < g.batch * (s + 1) / threads; ++i)
        RunOne(Item(g, i), scratch + static_cast<std::size_t>(s) * slot, serial);
  });
}

}  // namespace sardonyx::kernels
