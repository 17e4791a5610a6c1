// kernels/simd/vec_any.h - a vector of any arithmetic element type of the ISA being compiled. Include only from
// *.isa.cpp.
#pragma once

#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {

template <typename T>
struct VecOf {
  static constexpr ptrdiff_t kCount = 4 * kLanes / static_cast<ptrdiff_t>(sizeof(T));
  using Type __attribute__((vector_size(4 * kLanes))) = T;
};

template <typename T>
typename VecOf<T>::Type LoadAny(const T* p) {
  typename VecOf<T>::Type v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

}  // namespace sardonyx::kernels::SDX_ISA
