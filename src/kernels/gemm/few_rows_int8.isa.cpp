// kernels/gemm/few_rows_int8.isa.cpp - the tiles of few rows and 16 columns of a B that is not packed.
#include "kernels/gemm/few_rows_int8.h"

#include "kernels/gemm/tile_int8_finish.h"
#include "kernels/simd/pairs_i32.h"
#include "kernels/simd/sum_lanes_i32.h"

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

constexpr ptrdiff_t kWords = 2 * kLanes;  // of a vector
static_assert(kFewRowsValues % kWords == 0);

// A vector of values.
template <typename Byte>
UintVec Widen(const Byte* p) {
  using Bytes __attribute__((vector_size(kWords))) = Byte;
  using Words __attribute__((vector_size(2 * kWords))) = std::int16_t;
  Bytes bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  return (UintVec) __builtin_convertvector(bytes, Words);
}

// The dot products of a row of A with kLanes rows of B.
template <typename Byte>
UintVec DotRows(const std::int16_t* a, const Byte* b, ptrdiff_t stride, int64_t k) {
  UintVec sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kWords <= k; i += kWords) {
    const UintVec x = LoadInt(a + i);
#pragma GCC unroll 16
    for (ptrdiff_t j = 0; j < kLanes; ++j) sums[j] = DotWords(sums[j], x, Widen(b + j * stride + i));
  }
  if (i < k) {
    const UintVec x = LoadInt(a + i);
#pragma GCC unroll 16
    for (ptrdiff_t j = 0; j < kLanes; ++j) {
      Byte rest[kWords] = {};
      std::memcpy(rest, b + j * stride + i, static_cast<std::size_t>(k - i));
      sums[j] = DotWords(sums[j], x, Widen(rest));
    }
  }
  return SumLanes(sums);
}

template <int R, typename Byte>
void TransposedTile(const FewRowsInt8Args& args) {
  const TileInt8Args& t = args.t;
  const auto* b = reinterpret_cast<const Byte*>(args.b);
  UintVec acc[R][kVectors];
#pragma GCC unroll 4
  for (ptrdiff_t v = 0; v < kVectors; ++v) {
    const UintVec start = t.column_terms != nullptr ? LoadInt(t.column_terms + v * kLanes) : UintVec{};
#pragma GCC unroll 4
    for (ptrdiff_t r = 0; r < R; ++r)
      acc[r][v] = start + DotRows(args.a + r * args.a_stride, b + v * kLanes * args.b_stride, args.b_stride, args.k);
  }
  Finish(t, acc);
}

template <typename Byte, bool kTransposed>
void RunRows(const FewRowsInt8Args& args, int64_t rows) {
  const auto run = [&]<int R>() { kTransposed ? TransposedTile<R, Byte>(args) : Tile<R, Byte>(args); };
  switch (rows) {
    case 1:
      return run.template operator()<1>();
    case 2:
      return run.template operator()<2>();
    case 3:
      return run.template operator()<3>();
    default:
      return run.template operator()<4>();
  }
}

}  // namespace

void FewRowsInt8Tile(const FewRowsInt8Args& args, int64_t rows, bool b_signed) {
  b_signed ? RunRows<std::int8_t, false>(args, rows) : RunRows<std::uint8_t, false>(args, rows);
}

void FewRowsInt8Transposed(const FewRowsInt8Args& args, int64_t rows, bool b_signed) {
  b_signed ? RunRows<std::int8_t, true>(args, rows) : RunRows<std::uint8_t, true>(args, rows);
}

}  // namespace sardonyx::kernels::SDX_ISA
