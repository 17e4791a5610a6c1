// kernels/simd/sum_lanes_i32.h - the sums of the lanes of as many vectors as there are lanes.
//
// Include only from *.isa.cpp.
#pragma once

#include "kernels/simd/vec_i32.h"

namespace sardonyx::kernels::SDX_ISA {

// Each step adds halves of two vectors, whose parts then lie side by side; no part crosses 128 bits before it must.
template <int... I>
[[gnu::always_inline]] inline UintVec AddHalves(UintVec a, UintVec b) {
  static_assert(sizeof...(I) == 2 * kLanes);
  constexpr int kIndex[] = {I...};
  const auto half = [&]<int kFirst, int... J>(std::integer_sequence<int, J...>) {
    return __builtin_shufflevector(a, b, kIndex[kFirst + J]...);
  };
  using Sequence = std::make_integer_sequence<int, kLanes>;
  return half.template operator()<0>(Sequence()) + half.template operator()<kLanes>(Sequence());
}

// Lane i: the sum of the lanes of v[i], modulo 2^32.
[[gnu::always_inline]] inline UintVec SumLanes(const UintVec (&v)[kLanes]) {
  UintVec pairs[kLanes / 2], quads[kLanes / 4];
#if defined(__AVX512F__)
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i)
    pairs[i] = AddHalves<0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29,  //
                         2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31>(v[2 * i], v[2 * i + 1]);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    quads[i] = AddHalves<0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29,  //
                         2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31>(pairs[2 * i], pairs[2 * i + 1]);
  UintVec eights[2];
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i)
    eights[i] = AddHalves<0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23,  //
                          8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31>(quads[2 * i], quads[2 * i + 1]);
  return AddHalves<0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27,  //
                   4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31>(eights[0], eights[1]);
#elif defined(__AVX2__)
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    pairs[i] = AddHalves<0, 8, 1, 9, 4, 12, 5, 13,  //
                         2, 10, 3, 11, 6, 14, 7, 15>(v[2 * i], v[2 * i + 1]);
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i)
    quads[i] = AddHalves<0, 1, 8, 9, 4, 5, 12, 13,  //
                         2, 3, 10, 11, 6, 7, 14, 15>(pairs[2 * i], pairs[2 * i + 1]);
  return AddHalves<0, 1, 2, 3, 8, 9, 10, 11,  //
                   4, 5, 6, 7, 12, 13, 14, 15>(quads[0], quads[1]);
#else
  static_assert(kLanes == 4);
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) pairs[i] = AddHalves<0, 4, 1, 5, 2, 6, 3, 7>(v[2 * i], v[2 * i + 1]);
  quads[0] = AddHalves<0, 1, 4, 5, 2, 3, 6, 7>(pairs[0], pairs[1]);
  return quads[0];
#endif
}

}  // namespace sardonyx::kernels::SDX_ISA
