// kernels/gemm/tile_int8_finish.h - what becomes of the sums of an integer tile: terms of rows, then 32-bit sums, bytes
// or floats (int8_result.h).
//
// Include only from *.isa.cpp.
#pragma once

#include "kernels/gemm/tile_int8.h"
#include "kernels/simd/bytes_f32.h"
#include "kernels/simd/vec_i32.h"
#include "kernels/simd/vec_u8.h"

namespace sardonyx::kernels::SDX_ISA {

// Row r of an array whose first half of the rows begins at `first` and the others at `second`.
template <int R, typename T>
T* RowAt(T* first, T* second, ptrdiff_t stride, ptrdiff_t r) {
  constexpr ptrdiff_t kRun = (R + 1) / 2;
  return r < kRun ? first + r * stride : second + (r - kRun) * stride;
}

// The terms that differ from row to row.
template <int R, int V>
[[gnu::always_inline]] inline void AddRowTerms(const TileInt8Args& t, UintVec (&acc)[R][V]) {
#pragma GCC unroll 2
  for (ptrdiff_t v = 0; v < V; ++v) {
    const Lanes lanes = FirstLanes(t.columns - v * kLanes);
    if (t.a_zero != nullptr) {
      const UintVec sums = LoadInt(t.b_sums + v * kLanes, lanes);
#pragma GCC unroll 16
      for (ptrdiff_t r = 0; r < R; ++r) acc[r][v] -= BroadcastInt(t.a_zero[r]) * sums;
    }
    if (t.b_zero != nullptr) {
      const UintVec zero = LoadInt(t.b_zero + v * kLanes, lanes);
#pragma GCC unroll 16
      for (ptrdiff_t r = 0; r < R; ++r) acc[r][v] -= BroadcastInt(*RowAt<R>(t.row_terms0, t.row_terms1, 1, r)) * zero;
    }
  }
}

template <int R, int V>
[[gnu::always_inline]] inline void StoreSums(const TileInt8Args& t, const UintVec (&acc)[R][V]) {
  auto *c0 = static_cast<std::int32_t*>(t.c0), *c1 = static_cast<std::int32_t*>(t.c1);
#pragma GCC unroll 2
  for (ptrdiff_t v = 0; v < V; ++v) {
    if (t.columns >= (v + 1) * kLanes) {  // apart: a memcpy of any length is a call
#pragma GCC unroll 16
      for (ptrdiff_t r = 0; r < R; ++r)
        std::memcpy(RowAt<R>(c0, c1, t.c_row_stride, r) + v * kLanes, &acc[r][v], sizeof acc[r][v]);
      continue;
    }
    const Lanes lanes = FirstLanes(t.columns - v * kLanes);
#pragma GCC unroll 16
    for (ptrdiff_t r = 0; r < R; ++r) StoreInt(RowAt<R>(c0, c1, t.c_row_stride, r) + v * kLanes, acc[r][v], lanes);
  }
}

template <int R, int V>
[[gnu::always_inline]] inline void StoreFloats(const TileInt8Args& t, const UintVec (&acc)[R][V]) {
  auto *c0 = static_cast<float*>(t.c0), *c1 = static_cast<float*>(t.c1);
#pragma GCC unroll 2
  for (ptrdiff_t v = 0; v < V; ++v) {
    const Lanes lanes = FirstLanes(t.columns - v * kLanes);
    const Vec scale = Load(t.scales + v * kLanes, lanes);
    const Vec bias = t.bias != nullptr ? Load(t.bias + v * kLanes, lanes) : Broadcast(0);
#pragma GCC unroll 16
    for (ptrdiff_t r = 0; r < R; ++r) {
      const Vec of_row = t.row_scales != nullptr ? scale * Broadcast(t.row_scales[r]) : scale;
      const Vec y = ToFloat(acc[r][v]) * of_row + bias;
      Store(RowAt<R>(c0, c1, t.c_row_stride, r) + v * kLanes, y, lanes);
    }
  }
}

// Whole rows of two vectors; value(r, v) is what becomes a byte.
template <int R, typename Value>
[[gnu::always_inline]] inline void PackRows(const TileInt8Args& t, const RowPacker& packer, Value value) {
  auto *c0 = static_cast<std::uint8_t*>(t.c0), *c1 = static_cast<std::uint8_t*>(t.c1);
#pragma GCC unroll 8
  for (ptrdiff_t r = 0; r < R; r += 2) {
    const ptrdiff_t other = r + 1 < R ? r + 1 : r;
    packer.Store({value(r, 0), value(r, 1)}, RowAt<R>(c0, c1, t.c_row_stride, r), {value(other, 0), value(other, 1)},
                 RowAt<R>(c0, c1, t.c_row_stride, other));
  }
}

// Bytes plus those of z.
template <int R, int V, bool kZFirst, bool kSigned>
[[gnu::noinline]] void StoreByteSums(const TileInt8Args& t, const UintVec (&acc)[R][V]) {
  auto *c0 = static_cast<std::uint8_t*>(t.c0), *c1 = static_cast<std::uint8_t*>(t.c1);
  const Int8Sum& sum = *t.sum;
  constexpr float kLowest = kSigned ? -128 : 0;
  // What float additions round to a whole number (vec_u8.h); taken off less the zero point, so that it is added.
  constexpr float kRounder = 12582912.0f;
  const Vec low = Broadcast(t.low), high = Broadcast(t.high), rounder = Broadcast(kRounder);
  const Vec back = Broadcast(kRounder - static_cast<float>(static_cast<std::int32_t>(t.zero)));
  const Vec q_scale = Broadcast(sum.scale), z_scale = Broadcast(sum.z_scale), constant = Broadcast(sum.constant);
  // Products next to their sums: compilers fuse the two then, in every ISA that can.
  const auto add = [&](UintVec sums, Vec scale, Vec z) {
    const Vec rounded = Min(high, Max(low, ToFloat(sums) * scale)) + rounder;
    const Vec q = rounded - back;
    return kZFirst ? z * z_scale + (q * q_scale + constant) : q * q_scale + (z * z_scale + constant);
  };
  if constexpr (V == 2) {
    if (t.columns == V * kLanes) {
      const Vec scales[2] = {Load(t.scales), Load(t.scales + kLanes)};
      return PackRows<R>(t, RowPacker(kLowest + 255, 0, kSigned), [&](ptrdiff_t r, ptrdiff_t v) {
        return add(acc[r][v], scales[v], BytesAsFloats<kSigned>(RowAt<R>(t.z0, t.z1, t.c_row_stride, r) + v * kLanes));
      });
    }
  }
  const ByteBounds last(kLowest, kLowest + 255, 0);
  for (ptrdiff_t v = 0; v < V; ++v) {
    const ptrdiff_t count = t.columns - v * kLanes;
    if (count <= 0) return;
    const Vec scale = Load(t.scales + v * kLanes, FirstLanes(count));
    for (ptrdiff_t r = 0; r < R; ++r) {
      const Vec z = BytesAsFloats<kSigned>(RowAt<R>(t.z0, t.z1, t.c_row_stride, r) + v * kLanes, count);
      StoreAsBytes(RowAt<R>(c0, c1, t.c_row_stride, r) + v * kLanes, last.Quantize(add(acc[r][v], scale, z)), count);
    }
  }
}

template <int R, int V>
[[gnu::always_inline]] inline void StoreBytes(const TileInt8Args& t, const UintVec (&acc)[R][V]) {
  auto *c0 = static_cast<std::uint8_t*>(t.c0), *c1 = static_cast<std::uint8_t*>(t.c1);
  if constexpr (V == 2) {
    if (t.columns == V * kLanes && t.row_scales == nullptr) {
      const Vec scale0 = Load(t.scales), scale1 = Load(t.scales + kLanes);
      return PackRows<R>(t, RowPacker(t.high, t.zero, t.c_signed), [&](ptrdiff_t r, ptrdiff_t v) {
        return v == 0 ? ToFloat(acc[r][0]) * scale0 : ToFloat(acc[r][V - 1]) * scale1;
      });
    }
  }
  const ByteBounds bounds(t.low, t.high, t.zero);
#pragma GCC unroll 2
  for (ptrdiff_t v = 0; v < V; ++v) {
    const ptrdiff_t count = t.columns - v * kLanes;
    const Vec scale = Load(t.scales + v * kLanes, FirstLanes(count));
#pragma GCC unroll 16
    for (ptrdiff_t r = 0; r < R; ++r) {
      const Vec of_row = t.row_scales != nullptr ? scale * Broadcast(t.row_scales[r]) : scale;
      StoreAsBytes(RowAt<R>(c0, c1, t.c_row_stride, r) + v * kLanes, bounds.Quantize(ToFloat(acc[r][v]) * of_row),
                   count);
    }
  }
}

// Stores the sums of a tile, to which column_terms have been added.
template <int R, int V>
[[gnu::always_inline]] inline void Finish(const TileInt8Args& t, UintVec (&acc)[R][V]) {
  if (t.a_zero != nullptr || t.b_zero != nullptr) AddRowTerms(t, acc);
  if (t.result == Int8Result::kBytes) {
    if (t.z0 == nullptr) return StoreBytes(t, acc);
    UintVec copy[R][V];  // so that the accumulators themselves need no memory
#pragma GCC unroll 16
    for (ptrdiff_t r = 0; r < R; ++r)
      for (ptrdiff_t v = 0; v < V; ++v) copy[r][v] = acc[r][v];
    const auto store = t.sum->z_first ? t.c_signed ? StoreByteSums<R, V, true, true> : StoreByteSums<R, V, true, false>
                       : t.c_signed ? StoreByteSums<R, V, false, true>
                                      : StoreByteSums<R, V, false, false>;
    return store(t, copy);
  }
  if (t.result == Int8Result::kFloats) return StoreFloats(t, acc);
  StoreSums(t, acc);
}

}  // namespace sardonyx::kernels::SDX_ISA
