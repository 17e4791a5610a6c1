// kernels/copy/transpose.isa.cpp - square tiles of one 16-byte vector a side are transposed in registers, and elements
// at equal steps collected; compiled once per ISA.
#include "kernels/copy/transpose.h"

#include <cstring>

namespace sardonyx::kernels::SDX_ISA {
namespace {

template <typename T>
constexpr std::int64_t kSide = 16 / static_cast<std::int64_t>(sizeof(T));

template <typename T>
struct Vectors {
  using Row __attribute__((vector_size(16))) = T;
};

using Row16 = Vectors<std::uint16_t>::Row;
using Row64 = Vectors<std::uint64_t>::Row;

// One of log2(side) equal steps that together transpose the rows: each interleaves a row with the one half a side on.
inline void Interleave(Row16 (&rows)[8]) {
  Row16 next[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    next[2 * i] = __builtin_shufflevector(rows[i], rows[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
    next[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
  }
  std::memcpy(rows, next, sizeof next);
}
inline void Interleave(Row64 (&rows)[2]) {
  const Row64 low = __builtin_shufflevector(rows[0], rows[1], 0, 2),
              high = __builtin_shufflevector(rows[0], rows[1], 1, 3);
  rows[0] = low;
  rows[1] = high;
}

template <typename T>
void Tile(const T* from, std::ptrdiff_t from_stride, T* to, std::ptrdiff_t to_stride) {
  constexpr int kRows = kSide<T>;
  typename Vectors<T>::Row rows[kRows];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) std::memcpy(&rows[i], from + i * from_stride, 16);
#pragma GCC unroll 3
  for (int step = 1; step < kRows; step *= 2) Interleave(rows);
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) std::memcpy(to + i * to_stride, &rows[i], 16);
}

template <typename T>
void Transpose(std::int64_t rows, std::int64_t columns, const T* from, std::ptrdiff_t from_stride, T* to,
               std::ptrdiff_t to_stride) {
  constexpr std::int64_t kTile = kSide<T>;
  if (rows < kTile || columns < kTile) {
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t i = 0; i < rows; ++i) to[j * to_stride + i] = from[i * from_stride + j];
    return;
  }
  // Whole lines of the destination are written before the next ones: bands of 64 bytes of `from`'s columns. The last
  // tile of either direction overlaps the one before it where the side does not divide the size.
  constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t line = 0; line < rows; line += kLine) {
    const std::int64_t end = line + kLine < rows ? line + kLine : rows;
    for (std::int64_t j = 0; j < columns; j += kTile) {
      const std::int64_t column = j + kTile <= columns ? j : columns - kTile;
      for (std::int64_t i = line; i < end; i += kTile) {
        const std::int64_t row = i + kTile <= rows ? i : rows - kTile;
        Tile(from + row * from_stride + column, from_stride, to + column * to_stride + row, to_stride);
      }
    }
  }
}

template <std::ptrdiff_t kStep, typename T>
void EveryAt(const T* from, T* to, std::ptrdiff_t n) {
#pragma omp simd
  for (std::ptrdiff_t i = 0; i < n; ++i) to[i] = from[i * kStep];
}

// The steps of images in blocks and of what is read backwards are constants, for which there are shuffles.
template <typename T>
void Every(const T* from, std::ptrdiff_t step, T* to, std::int64_t n) {
  if (step == 2) return EveryAt<2>(from, to, n);
  if (step == 3) return EveryAt<3>(from, to, n);
  if (step == 4) return EveryAt<4>(from, to, n);
  if (step == -1) return EveryAt<-1>(from, to, n);
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * step];
}

}  // namespace

TransposeTable TransposeKernels() {
  return {Transpose<std::uint16_t>, Transpose<std::uint64_t>, Every<std::uint8_t>,
          Every<std::uint16_t>,     Every<std::uint32_t>,     Every<std::uint64_t>};
}

}  // namespace sardonyx::kernels::SDX_ISA
