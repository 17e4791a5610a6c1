// kernels/simd/amx.h - the tile registers of AMX: their instructions, and a stand-in in plain C++ for CPUs without
// them.
//
// Include only from *.isa.cpp. Both units have the same functions, so a kernel is a template of the unit. Eight tiles
// of at most 16 rows of 64 bytes; Configure says how much of each is used, and clears them all. The caller asks
// MayUse(&CpuInfo::amx_int8) or amx_bf16 first (base/cpu_info.h). Facts: Intel 64 and IA-32 Architectures Software
// Developer's Manual, volume 1, chapter 18, and the pages of the instructions in volume 2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/dispatch.h"

namespace sardonyx::kernels::SDX_ISA {

inline constexpr int kTileRows = 16;
inline constexpr int kTileRowBytes = 64;
inline constexpr int kTileBytes = kTileRows * kTileRowBytes;

// The operand of LDTILECFG. A tile of no rows must have no columns either.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};

  void Set(int tile, std::int64_t tile_rows, std::int64_t bytes) {
    rows[tile] = static_cast<std::uint8_t>(bytes == 0 ? 0 : tile_rows);
    row_bytes[tile] = static_cast<std::uint16_t>(tile_rows == 0 ? 0 : bytes);
  }
};
static_assert(sizeof(TileShapes) == 64);

// The same in memory of the calling thread. Operands that do not fit each other, at which the CPU would raise an
// exception, give sums of ones, so that a test sees them.
struct StandInForAmx {
  struct State {
    TileShapes shapes;
    std::uint8_t tiles[8][kTileRows][kTileRowBytes];
  };
  static State& Tiles() {
    static thread_local State state;
    return state;
  }
  static void Configure(const TileShapes& shapes) {
    Tiles().shapes = shapes;
    std::memset(Tiles().tiles, 0, sizeof Tiles().tiles);
  }
  static void Release() { Configure({}); }
  template <int kTile>
  static void Clear() {
    std::memset(Tiles().tiles[kTile], 0, kTileBytes);
  }
  template <int kTile>
  static void Load(const void* p, std::ptrdiff_t stride) {
    Clear<kTile>();
    for (int r = 0; r < Tiles().shapes.rows[kTile]; ++r)
      std::memcpy(Tiles().tiles[kTile][r], static_cast<const std::byte*>(p) + r * stride,
                  Tiles().shapes.row_bytes[kTile]);
  }
  template <int kTile>
  static void Store(void* p, std::ptrdiff_t stride) {
    for (int r = 0; r < Tiles().shapes.rows[kTile]; ++r)
      std::memcpy(static_cast<std::byte*>(p) + r * stride, Tiles().tiles[kTile][r], Tiles().shapes.row_bytes[kTile]);
  }
  template <int kSum, int kA, int kB>
  static void DotBytes() {
    Dot<kSum, kA, kB, std::uint32_t>([](const std::uint8_t* a, const std::uint8_t* b) {
      std::uint32_t sum = 0;
      for (int i = 0; i < 4; ++i) sum += static_cast<std::uint32_t>(a[i] * static_cast<std::int8_t>(b[i]));
      return sum;
    });
  }
  template <int kSum, int kA, int kB>
  static void DotBf16() {
    Dot<kSum, kA, kB, float>([](const std::uint8_t* a, const std::uint8_t* b) {
      float sum = 0;
      for (int i = 0; i < 4; i += 2) sum += ReadBf16(a + i) * ReadBf16(b + i);
      return sum;
    });
  }

 private:
  static float ReadBf16(const std::uint8_t* p) {
    std::uint16_t half;
    std::memcpy(&half, p, 2);
    if ((half & 0x7F80) == 0) half &= 0x8000;  // a denormal number
    const std::uint32_t bits = std::uint32_t{half} << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  template <int kSum, int kA, int kB, typename T, typename F>
  static void Dot(F group) {
    State& s = Tiles();
    const int rows = s.shapes.rows[kSum], columns = s.shapes.row_bytes[kSum] / 4, depth = s.shapes.rows[kB];
    const bool fits = s.shapes.rows[kA] == rows && s.shapes.row_bytes[kA] == 4 * depth &&
                      s.shapes.row_bytes[kB] == 4 * columns && rows > 0 && columns > 0 && depth > 0;
    if (!fits) return static_cast<void>(std::memset(s.tiles[kSum], 0xFF, kTileBytes));
    for (int m = 0; m < rows; ++m)
      for (int n = 0; n < columns; ++n) {
        T sum = 0;
        for (int k = 0; k < depth; ++k) sum += group(&s.tiles[kA][m][4 * k], &s.tiles[kB][k][4 * n]);
        T total;
        std::memcpy(&total, &s.tiles[kSum][m][4 * n], 4);
        total += sum;
        std::memcpy(&s.tiles[kSum][m][4 * n], &total, 4);
      }
  }
};

#if defined(__AVX512F__)

constexpr bool kMayHaveAmx = true;

// The instructions are written as asm, so no compiler flag is needed, and since compilers know nothing of the tiles,
// each is volatile.
struct AmxUnit {
  static void Configure(const TileShapes& shapes) { asm volatile("ldtilecfg %0" : : "m"(shapes)); }
  static void Release() { asm volatile("tilerelease"); }
  template <int kTile>
  static void Clear() {
    asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }
  template <int kTile>
  static void Load(const void* p, std::ptrdiff_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(p), "r"(stride), "i"(kTile) : "memory");
  }
  template <int kTile>
  static void Store(void* p, std::ptrdiff_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(p), "r"(stride), "i"(kTile) : "memory");
  }
  // sum[m][n] += over k and i < 4: a[m][4 k + i], unsigned, times b[k][4 n + i], signed.
  template <int kSum, int kA, int kB>
  static void DotBytes() {
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kA), "i"(kB));
  }
  // sum[m][n] += over k and i < 2: a[m][2 k + i] times b[k][2 n + i], bf16; sum in f32. Denormal numbers count as zero.
  template <int kSum, int kA, int kB>
  static void DotBf16() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kA), "i"(kB));
  }
};

#else

constexpr bool kMayHaveAmx = false;
using AmxUnit = StandInForAmx;

#endif

// The registers of a product: sums of (run of rows, half of the columns), two runs of rows, two halves of a panel.
enum : int { kSum00, kSum01, kSum10, kSum11, kRun0, kRun1, kLeft, kRight };

// Rows of 64 bytes a step of a sum that has so many: equal steps where that is possible, because what is left over has
// to be copied.
inline std::int64_t StepDepth(std::int64_t rows) {
  const std::int64_t least = rows <= kTileRows ? 1 : (rows + kTileRows - 1) / kTileRows;
  for (std::int64_t steps = least; steps <= 2 * least; ++steps)
    if (rows % steps == 0) return rows == 0 ? 1 : rows / steps;
  return (rows + least - 1) / least;
}

// The shapes that a thread has configured. LDTILECFG takes as long as three steps of a product, so between Begin and
// End calls with the same shapes share one; meanwhile the thread must run no other code that uses tiles.
template <typename Unit>
class ProductShapes {
 public:
  static void Begin() { Mine() = {true, 0}; }
  static void End() {
    Mine() = {};
    Unit::Release();
  }
  // Registers for runs of run0 and run1 rows (0: none) in steps of `depth`; the sums are zero.
  static void Use(std::int64_t run0, std::int64_t run1, std::int64_t depth) {
    State& mine = Mine();
    const auto key = static_cast<std::uint32_t>(run0 << 16 | run1 << 8 | depth);
    if (mine.key == key) {
      Unit::template Clear<kSum00>(), Unit::template Clear<kSum01>();
      if (run1 > 0) Unit::template Clear<kSum10>(), Unit::template Clear<kSum11>();
      return;
    }
    TileShapes s;
    s.Set(kSum00, run0, kTileRowBytes), s.Set(kSum01, run0, kTileRowBytes);
    s.Set(kSum10, run1, kTileRowBytes), s.Set(kSum11, run1, kTileRowBytes);
    s.Set(kRun0, run0, 4 * depth), s.Set(kRun1, run1, 4 * depth);
    s.Set(kLeft, depth, kTileRowBytes), s.Set(kRight, depth, kTileRowBytes);
    Unit::Configure(s);
    if (mine.kept) mine.key = key;
  }
  // After the sums are stored.
  static void Leave() {
    if (!Mine().kept) Unit::Release();
  }

 private:
  struct State {
    bool kept = false;
    std::uint32_t key = 0;
  };
  static State& Mine() {
    static thread_local State state;
    return state;
  }
};

}  // namespace sardonyx::kernels::SDX_ISA
