// kernels/gemm/few_rows_int8.isa.cpp - the tile of few rows and 16 columns of a B that is not packed.
#include "kernels/gemm/few_rows_int8.h"

#include "kernels/gemm/tile_int8_finish.h"
#include "kernels/simd/pairs_i32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr ptrdiff_t kVectors = kFewRowsColumns / kLanes;

template <int R, typename Byte>
void Tile(const FewRowsInt8Args& args) {
  const TileInt8Args& t = args.t;
  UintVec acc[R][kVectors];
#pragma GCC unroll 4
  for (ptrdiff_t v = 0; v < kVectors; ++v) {
    UintVec start = {};
    if (t.column_terms != nullptr) start = LoadInt(t.column_terms + v * kLanes, FirstLanes(t.columns - v * kLanes));
#pragma GCC unroll 4
    for (ptrdiff_t r = 0; r < R; ++r) acc[r][v] = start;
  }
  const auto* b = reinterpret_cast<const Byte*>(args.b);
  for (int64_t k = 0; k < args.k; k += 2, b += 2 * args.b_stride) {
    UintVec pairs[kVectors];
    PairUp(b, k + 1 < args.k ? b + args.b_stride : b, pairs);
#pragma GCC unroll 4
    for (ptrdiff_t r = 0; r < R; ++r) {
      std::uint32_t pair;
      std::memcpy(&pair, args.a + r * args.a_stride + k, 4);
      const UintVec a = BroadcastInt(pair);
#pragma GCC unroll 4
      for (ptrdiff_t v = 0; v < kVectors; ++v) acc[r][v] = DotWords(acc[r][v], a, pairs[v]);
    }
  }
  Finish(t, acc);
}

template <typename Byte>
void RunRows(const FewRowsInt8Args& args, int64_t rows) {
  switch (rows) {
    case 1:
      return Tile<1, Byte>(args);
    case 2:
      return Tile<2, Byte>(args);
    case 3:
      return Tile<3, Byte>(args);
    default:
      return Tile<4, Byte>(args);
  }
}

}  // namespace

void FewRowsInt8Tile(const FewRowsInt8Args& args, int64_t rows, bool b_signed) {
  b_signed ? RunRows<std::int8_t>(args, rows) : RunRows<std::uint8_t>(args, rows);
}

}  // namespace sardonyx::kernels::SDX_ISA
