// kernels/gemm/gemm_int8.cpp - zero points, packing and loops around the integer tile.
//
// With A' = A + s, B' = B - t (see tile_int8.h), za' = a_zero + s and zb' = b_zero - t:
//   sum (A - a_zero)(B - b_zero) = sum A' B' - za' sum B' - zb' (sum A' - K za')
// so one pass over A yields its rows in groups and their sums, and packed B carries the sums of its columns.
#include "kernels/gemm/gemm_int8.h"

#include <algorithm>
#include <cstring>

#include "base/cpu_info.h"
#include "kernels/gemm/tile_int8.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;
using std::uint32_t;

constexpr int64_t kSerialWork = int64_t{1} << 21;
constexpr int64_t kChunkBytes = int64_t{512} << 10;  // of A' per chunk of rows

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
std::size_t RoundUp64(int64_t bytes) { return (static_cast<std::size_t>(bytes) + 63) & ~std::size_t{63}; }

const TileInt8Set& Tiles(const TileInt8Set* tiles) {
  if (tiles != nullptr) return *tiles;
  int count = 0;
  return *TilesInt8(&count)[0];
}

int64_t GroupCount(const TileInt8Set& t, int64_t k) { return CeilDiv(k, t.bytes ? 4 : 2); }
int64_t PanelBytes(const TileInt8Set& t, int64_t k) { return GroupCount(t, k) * t.columns * 4; }
int64_t PanelCount(const TileInt8Set& t, int64_t n) { return CeilDiv(n, t.columns); }

// A value of a u8 or s8 array, as a number.
int ValueAt(const void* p, int64_t i, bool is_signed) {
  return is_signed ? static_cast<const std::int8_t*>(p)[i] : static_cast<const std::uint8_t*>(p)[i];
}

int AShift(const TileInt8Set& t, bool a_signed) { return t.bytes && a_signed ? 128 : 0; }
int BShift(const TileInt8Set& t, bool b_signed) { return t.bytes && !b_signed ? 128 : 0; }

// Scratch of one product: rows of A', per-row and per-column terms, packed B.
struct Layout {
  Layout(const GemmInt8Args& g, const TileInt8Set& t) {
    row_bytes = GroupCount(t, g.k) * 4;
    a = 0;
    a_zero = a + RoundUp64(g.m * row_bytes);
    row_terms = a_zero + RoundUp64(g.m * 4);
    b_zero = row_terms + RoundUp64(g.m * 4);
    b = b_zero + RoundUp64(PanelCount(t, g.n) * t.columns * 4);
    total = b + (g.packed_b == nullptr ? GemmInt8PackedBytes(g.k, g.n, &t) : 0);
  }
  int64_t row_bytes;
  std::size_t a, a_zero, row_terms, b_zero, b, total;
};

constexpr int64_t kMostColumns = 32;

void PackPanel(const GemmInt8Args& g, const TileInt8Set& t, int64_t first, std::byte* panel, uint32_t* sums) {
  const int64_t group = t.bytes ? 4 : 2, columns = std::min<int64_t>(t.columns, g.n - first);
  const auto* b = static_cast<const std::uint8_t*>(g.b) + first;
  // What becomes 0 in B', for rows beyond K and columns beyond N.
  const auto neutral = static_cast<std::uint8_t>(BShift(t, g.b_signed));
  std::uint8_t edge[4][kMostColumns];
  std::memset(edge, neutral, sizeof edge);
  std::fill_n(sums, t.columns, 0u);
  for (int64_t k = 0; k < g.k; k += group, panel += t.columns * 4) {
    const std::uint8_t* rows[4];
    for (int64_t r = 0; r < group; ++r) {
      const bool whole = k + r < g.k && columns == t.columns;
      if (!whole && k + r < g.k)
        std::memcpy(edge[r], b + (k + r) * g.ldb, static_cast<std::size_t>(columns));
      else if (!whole)
        std::memset(edge[r], neutral, sizeof edge[r]);
      rows[r] = whole ? b + (k + r) * g.ldb : edge[r];
    }
    t.pack_group(rows, g.b_signed, panel, sums);
  }
}

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
}

// A' and the terms of its rows and of the columns. Returns whether any column has a zero point.
bool Prepare(const GemmInt8Args& g, const TileInt8Set& t, const Layout& layout, std::byte* scratch,
             Parallel& parallel) {
  auto* a_zero = reinterpret_cast<uint32_t*>(scratch + layout.a_zero);
  auto* row_terms = reinterpret_cast<uint32_t*>(scratch + layout.row_terms);
  auto* b_zero = reinterpret_cast<uint32_t*>(scratch + layout.b_zero);
  const auto* a = static_cast<const std::uint8_t*>(g.a);
  parallel.For(g.m, std::max<int64_t>(1, 32768 / std::max<int64_t>(1, g.k)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const uint32_t sum = t.pack_row(a + r * g.lda, g.k, g.a_signed, scratch + layout.a + r * layout.row_bytes);
      const int zero = g.a_zero == nullptr ? 0 : ValueAt(g.a_zero, g.a_zero_per_row ? r : 0, g.a_signed);
      a_zero[r] = static_cast<uint32_t>(zero + AShift(t, g.a_signed));
      row_terms[r] = sum - static_cast<uint32_t>(g.k) * a_zero[r];
    }
  });
  bool any = false;
  for (int64_t j = 0; j < g.n; ++j) {
    const int zero = g.b_zero == nullptr ? 0 : ValueAt(g.b_zero, g.b_zero_per_column ? j : 0, g.b_signed);
    b_zero[j] = static_cast<uint32_t>(zero - BShift(t, g.b_signed));
    any = any || b_zero[j] != 0;
  }
  return any;
}

void RunOne(const GemmInt8Args& g, std::byte* scratch, Parallel& parallel) {
  const TileInt8Set& t = Tiles(g.tiles);
  const Layout layout(g, t);
  const bool small = std::max<int64_t>(g.m, 4) * g.n * g.k < kSerialWork;
  Serial serial;
  Parallel& threads = small ? serial : parallel;
  const bool any_zero = Prepare(g, t, layout, scratch, threads);
  const auto* packed = static_cast<const std::byte*>(g.packed_b);
  if (packed == nullptr) {
    PackB(g, t, scratch + layout.b, threads);
    packed = scratch + layout.b;
  }
  const int64_t panels = PanelCount(t, g.n), panel_bytes = PanelBytes(t, g.k);
  int64_t chunks = std::max<int64_t>(1, CeilDiv(g.m * layout.row_bytes, kChunkBytes));
  const int64_t most = CeilDiv(g.m, t.rows);
  const int64_t ranges = int64_t{4} * threads.ThreadCount();
  if (threads.ThreadCount() > 1) chunks = std::max(chunks, CeilDiv(ranges, panels));
  chunks = std::min(chunks, most);
  const auto* b_sums = reinterpret_cast<const uint32_t*>(packed + panels * panel_bytes);
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t chunk = unit / panels, panel = unit % panels, column = panel * t.columns;
      const int64_t row0 = g.m * chunk / chunks, rows = g.m * (chunk + 1) / chunks - row0,
                    parts = CeilDiv(rows, t.rows);
      for (int64_t i = 0; i < parts; ++i) {
        const int64_t row = row0 + rows * i / parts, count = row0 + rows * (i + 1) / parts - row;
        TileInt8Args a;
        a.a = scratch + layout.a + row * layout.row_bytes;
        a.a_row_bytes = layout.row_bytes;
        a.k_groups = GroupCount(t, g.k);
        a.b = packed + panel * panel_bytes;
        a.c = g.c + row * g.ldc + column;
        a.c_row_stride = g.ldc;
        a.columns = std::min<int64_t>(t.columns, g.n - column);
        a.a_zero = reinterpret_cast<const uint32_t*>(scratch + layout.a_zero) + row;
        a.row_terms = reinterpret_cast<const uint32_t*>(scratch + layout.row_terms) + row;
        a.b_sums = b_sums + column;
        a.b_zero = any_zero ? reinterpret_cast<const uint32_t*>(scratch + layout.b_zero) + column : nullptr;
        t.tile[count - 1](a);
      }
    }
  };
  const int64_t units = panels * chunks;
  if (threads.ThreadCount() == 1) return run(0, units);
  threads.For(units, std::max<int64_t>(1, units / ranges), run);
}

// A batch that shares B and whose A and C follow each other is one product.
GemmInt8Args Collapse(const GemmInt8Args& args) {
  GemmInt8Args g = args;
  if (g.batch > 1 && g.b_batch_stride == 0 && g.b_batch_offsets == nullptr && g.a_batch_offsets == nullptr &&
      g.a_batch_stride == g.m * g.lda && g.c_batch_stride == g.m * g.ldc &&
      !(g.a_zero != nullptr && g.a_zero_per_row)) {
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
  one.c = g.c + i * g.c_batch_stride;
  return one;
}

}  // namespace

const TileInt8Set* const* TilesInt8(int* count) {
  using SetFn = const TileInt8Set*();
  struct Found {
    const TileInt8Set* sets[4] = {};
    int count = 0;
  };
  static const Found found = [] {
    static constexpr Variant<SetFn> kBytes[] = SDX_VARIANTS(TileSetBytes);
    static constexpr Variant<SetFn> kWords[] = SDX_VARIANTS(TileSetWords);
    Found f;
    for (const auto& v : kBytes)
      if (Supported(v.isa) && v.run() != nullptr && Cpu().avx512_vnni) f.sets[f.count++] = v.run();
    for (const auto& v : kWords)
      if (Supported(v.isa)) f.sets[f.count++] = v.run();
    return f;
  }();
  *count = found.count;
  return found.sets;
}

std::size_t GemmInt8PackedBytes(int64_t k, int64_t n, const TileInt8Set* tiles) {
  const TileInt8Set& t = Tiles(tiles);
  return static_cast<std::size_t>(PanelCount(t, n) * (PanelBytes(t, k) + t.columns * 4));
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
  const std::size_t slots = ItemsInParallel(g, threads) ? static_cast<std::size_t>(threads) : 1;
  return slots * Layout(g, Tiles(g.tiles)).total;
}

void GemmInt8(const GemmInt8Args& args, Parallel& parallel, std::byte* scratch) {
  const GemmInt8Args g = Collapse(args);
  if (g.m == 0 || g.n == 0) return;
  const int64_t threads = parallel.ThreadCount();
  if (!ItemsInParallel(g, threads)) {
    for (int64_t i = 0; i < g.batch; ++i) RunOne(Item(g, i), scratch, parallel);
    return;
  }
  const std::size_t slot = Layout(g, Tiles(g.tiles)).total;
  parallel.For(threads, 1, [&](int64_t begin, int64_t end) {
    Serial serial;
    for (int64_t s = begin; s < end; ++s)
      for (int64_t i = g.batch * s / threads; i < g.batch * (s + 1) / threads; ++i)
        RunOne(Item(g, i), scratch + static_cast<std::size_t>(s) * slot, serial);
  });
}

}  // namespace sardonyx::kernels
