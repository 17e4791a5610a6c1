// kernels/copy/pick.isa.cpp - picks elements by indices: a block of indices is checked and turned into places by
// vectors, then its elements are read one by one; compiled once per ISA.
#include "kernels/copy/pick.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

using std::int64_t;

// Element j from x[places[j] * stride + j * kNext]; a neighbour costs no multiplication.
template <typename T, bool kNeighbours>
void Read(const T* x, const int64_t* places, int64_t stride, int64_t n, T* y) {
  int64_t j = 0;
  for (; j + 4 <= n; j += 4) {
    const T* from = kNeighbours ? x : x + j;
    const int64_t step = kNeighbours ? 0 : 1;
    const T a = from[places[j] * stride], b = from[places[j + 1] * stride + step];
    const T c = from[places[j + 2] * stride + 2 * step], d = from[places[j + 3] * stride + 3 * step];
    y[j] = a, y[j + 1] = b, y[j + 2] = c, y[j + 3] = d;
  }
  for (; j < n; ++j) y[j] = x[places[j] * stride + (kNeighbours ? 0 : j)];
}

template <typename T, typename Index>
int64_t PickRow(const PickedRow& row, const void* from, const Index* indices, int64_t n, void* to) {
  constexpr int64_t kBlock = 128;
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  alignas(64) int64_t places[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = n - begin < kBlock ? n - begin : kBlock;
    const Index* at = indices + begin;
    int64_t outside = 0;  // negative if a place, or what lies between it and the last one, is
#pragma omp simd reduction(| : outside)
    for (int64_t j = 0; j < count; ++j) {
      const int64_t i = at[j], place = i + (i >> 63 & row.size);
      const auto behind = static_cast<std::uint64_t>(row.size - 1) - static_cast<std::uint64_t>(place);
      outside |= place | static_cast<int64_t>(behind);
      places[j] = place;
    }
    if (outside < 0) {
      for (int64_t j = 0; j < count; ++j)
        if (places[j] < 0 || places[j] >= row.size) return begin + j;
    }
    if (row.next == 0) {
      Read<T, true>(x, places, row.stride, count, y + begin);
    } else {
      Read<T, false>(x + begin * row.next, places, row.stride, count, y + begin);
    }
  }
  return n;
}

template <typename T>
constexpr PickLoops kLoops = {PickRow<T, std::int32_t>, PickRow<T, std::int64_t>};

}  // namespace

PickLoops FindPick(std::size_t bytes) {
  switch (bytes) {
    case 1:
      return kLoops<std::uint8_t>;
    case 2:
      return kLoops<std::uint16_t>;
    case 4:
      return kLoops<std::uint32_t>;
    case 8:
      return kLoops<std::uint64_t>;
    default:
      return {};
  }
}

}  // namespace sardonyx::kernels::SDX_ISA
