// ops/math/packed_matrix.cpp - a constant right operand of products, packed once.
#include "ops/math/packed_matrix.h"

#include <algorithm>

#include "base/mapped_file.h"
#include "kernels/gemm/gemm_any.h"
#include "tensor/packing.h"

namespace sardonyx::ops {
namespace {

template <typename T>
std::size_t PackedCount(const MatrixLayout& l) {
  if constexpr (std::is_same_v<T, float>) {
    return kernels::GemmF32PackedCount(l.k, l.n);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return kernels::GemmAnyPackedCount<T>(l.k, l.n);
  } else {
    return kernels::GemmHalfPackedCount(l.k, l.n);
  }
}

template <typename T>
void PackOne(const MatrixLayout& l, const T* from, T* to, Parallel& parallel) {
  if constexpr (std::is_same_v<T, float>) {
    kernels::PackGemmF32B(l.k, l.n, from, l.ld, l.trans, to, parallel);
  } else if constexpr (std::is_arithmetic_v<T>) {
    kernels::PackGemmAnyB(l.k, l.n, from, l.ld, l.trans, to);
  } else {
    const void* bits = from;
    void* packed = to;
    kernels::PackGemmHalfB(l.k, l.n, static_cast<const std::uint16_t*>(bits), l.ld, l.trans,
                           static_cast<std::uint16_t*>(packed), parallel);
  }
}

// A large matrix of a mapped file that is stored by columns is packed piece by piece, and the pages of each piece are
// given back: what is in memory at once is one copy.
constexpr std::int64_t kPieceBytes = std::int64_t{8} << 20;
constexpr std::int64_t kPanels = 32;  // a multiple of every panel's width

void PackPieces(const MatrixLayout& l, const Tensor& b, const float* from, float* to, Parallel& parallel) {
  const std::int64_t row = l.ld * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t step = std::max<std::int64_t>(1, kPieceBytes / row / kPanels) * kPanels;
  for (std::int64_t column = 0; column < l.n; column += step) {
    MatrixLayout piece = l;
    piece.n = std::min(step, l.n - column);
    PackOne<float>(piece, from + column * l.ld, to + column * l.k, parallel);
    MappedFile::ReleaseBehind(b.buffer()->owner(), from + column * l.ld, static_cast<std::size_t>(piece.n * row));
  }
}

}  // namespace

PackedMatrix PackMatrix(const Tensor& b, const MatrixLayout& l, Parallel& parallel) {
  PackedMatrix packed;
  VisitDType<float, Half, BFloat16, double, std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>(
      b.dtype(), [&]<typename T>() {
        packed.count = static_cast<std::int64_t>((PackedCount<T>(l) + 31) / 32 * 32);  // whole cache lines
        packed.data = Packed(b.dtype(), Shape{l.batch, packed.count}, [&](Tensor& all) {
          for (std::int64_t i = 0; i < l.batch; ++i) {
            const T* from = b.data<T>() + i * l.unit;
            T* to = all.data<T>() + i * packed.count;
            if constexpr (std::is_same_v<T, float>) {
              if (l.trans && b.buffer() != nullptr && MappedFile::Behind(b.buffer()->owner()) != nullptr) {
                PackPieces(l, b, from, to, parallel);
                continue;
              }
            }
            PackOne<T>(l, from, to, parallel);
          }
        });
      });
  return packed;
}

}  // namespace sardonyx::ops
