// kernels/resize/resample.h - resizing one axis: every output element is a weighted sum of a few input elements.
#pragma once

#include <cstdint>

#include "base/parallel.h"

namespace sardonyx::kernels {

// Output position j of the axis is the sum over t of weight[j * taps + t] * input[index[j * taps + t]].
template <typename T>
struct Taps {
  std::int64_t taps, in, out;  // elements of the axis before and after
  const std::int32_t* index;   // [out, taps], each in [0, in)
  const T* weight;             // [out, taps]
};

// x [outer, in, inner] to y [outer, out, inner]; not overlapping. T is float or double.
template <typename T>
void ResampleAxis(const Taps<T>& taps, const T* x, std::int64_t outer, std::int64_t inner, T* y, Parallel& parallel);

}  // namespace sardonyx::kernels
