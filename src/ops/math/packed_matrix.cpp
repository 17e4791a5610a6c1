// ops/math/packed_matrix.cpp - a constant right operand of products, packed once.
#include "ops/math/packed_matrix.h"

#include <algorithm>
#include <vector>

#include "base/mapped_file.h"
#include "kernels/elementwise/convert.h"
#include "kernels/gemm/gemm_any.h"
#include "ops/math/narrow_weights.h"
#include "ops/operands.h"
#include "ops/same_rows.h"
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

// A large matrix is packed piece by piece where that keeps what is in memory at once small.
constexpr std::int64_t kPieceBytes = std::int64_t{8} << 20;
constexpr std::int64_t kPanels = 32;  // a multiple of every panel's width

// Calls pack(first column, the piece's layout).
template <typename F>
void ForPieces(const MatrixLayout& l, F&& pack) {
  const std::int64_t column_bytes = (l.trans ? l.ld : l.k) * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t step = std::max<std::int64_t>(1, kPieceBytes / column_bytes / kPanels) * kPanels;
  for (std::int64_t column = 0; column < l.n; column += step) {
    MatrixLayout piece = l;
    piece.n = std::min(step, l.n - column);
    pack(column, piece);
  }
}

// Of a matrix of a mapped file that is stored by columns, the pages of each piece are given back.
template <typename T>
void PackAndRelease(const MatrixLayout& l, const Tensor& b, const T* from, T* to, Parallel& parallel) {
  if (!l.trans || b.buffer() == nullptr || MappedFile::Behind(b.buffer()->owner()) == nullptr)
    return PackOne<T>(l, from, to, parallel);
  ForPieces(l, [&](std::int64_t column, const MatrixLayout& piece) {
    PackOne<T>(piece, from + column * l.ld, to + column * l.k, parallel);
    const auto bytes = static_cast<std::size_t>(piece.n * l.ld) * sizeof(T);
    MappedFile::ReleaseBehind(b.buffer()->owner(), from + column * l.ld, bytes);
  });
}

// Floats that are numbers of the 16-bit type T, or are rounded to it.
template <typename T>
void PackNarrow(const MatrixLayout& l, const float* from, T* to, Parallel& parallel) {
  kernels::FromFloatsFn* const round = kernels::FromFloats(kDTypeOf<T>);
  std::vector<T> narrow;
  ForPieces(l, [&](std::int64_t column, MatrixLayout piece) {
    const std::int64_t rows = l.trans ? piece.n : l.k, columns = l.trans ? l.k : piece.n;
    narrow.resize(static_cast<std::size_t>(rows * columns));
    const float* first = from + (l.trans ? column * l.ld : column);
    parallel.For(rows, std::max<std::int64_t>(1, (1 << 15) / columns), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        round(first + i * l.ld, static_cast<std::size_t>(columns), narrow.data(), i * columns);
    });
    piece.ld = columns;
    PackOne<T>(piece, narrow.data(), to + column * l.k, parallel);
  });
}

std::int64_t WholeLines(std::size_t count) { return static_cast<std::int64_t>((count + 31) / 32 * 32); }

Tensor Widened(const Tensor& halves, Parallel& parallel) {
  Tensor floats(DType::kFloat, halves.shape());
  Convert(halves.dtype(), halves.raw(), DType::kFloat, floats.raw(), halves.count(), parallel);
  return floats;
}

// B: floats, or halves that are packed as floats would be.
PackedMatrix PackFloats(const Tensor& b, const MatrixLayout& l, Parallel& parallel, bool rounds_to_bf16) {
  Tensor floats = b.dtype() == DType::kFloat ? b : Tensor();
  const auto widen = [&] {
    if (!floats.defined()) floats = Widened(b, parallel);
  };
  const std::int64_t count = WholeLines(PackedCount<float>(l)), halves = WholeLines(PackedCount<Half>(l));
  const PackedForm forms[] = {{DType::kFloat, Shape{l.batch, count}},
                              {DType::kFloat16, Shape{l.batch, halves}},
                              {DType::kBFloat16, Shape{l.batch, halves}}};
  const auto choose = [&] {
    if (rounds_to_bf16) return std::size_t{2};
    widen();
    const DType exact = ExactType(floats.data<float>(), floats.count(), parallel);
    return exact == DType::kFloat ? std::size_t{0} : std::size_t{exact == DType::kFloat16 ? 1u : 2u};
  };
  PackedMatrix packed;
  packed.data = Packed(forms, choose, [&](Tensor& all) {
    widen();
    for (std::int64_t i = 0; i < l.batch; ++i) {
      const float* from = floats.data<float>() + i * l.unit;
      if (all.dtype() == DType::kFloat16) {
        PackNarrow(l, from, all.data<Half>() + i * halves, parallel);
      } else if (all.dtype() == DType::kBFloat16) {
        PackNarrow(l, from, all.data<BFloat16>() + i * halves, parallel);
      } else {
        PackAndRelease(l, floats, from, all.data<float>() + i * count, parallel);
      }
    }
  });
  packed.count = packed.data.dtype() == DType::kFloat ? count : halves;
  packed.rounds_to_bf16 = rounds_to_bf16;
  return packed;
}

}  // namespace

PackedMatrix PackMatrix(const Tensor& b, DType a, const MatrixLayout& l, Parallel& parallel, bool rounds_to_bf16) {
  if (b.dtype() == DType::kFloat || (a == DType::kFloat && (rounds_to_bf16 || !ConvertsFloat16())))
    return PackFloats(b, l, parallel, rounds_to_bf16);
  PackedMatrix packed;
  VisitDType<Half, BFloat16, double, std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>(
      b.dtype(), [&]<typename T>() {
        packed.count = WholeLines(PackedCount<T>(l));
        packed.data = Packed(b.dtype(), Shape{l.batch, packed.count}, [&](Tensor& all) {
          for (std::int64_t i = 0; i < l.batch; ++i)
            PackAndRelease(l, b, b.data<T>() + i * l.unit, all.data<T>() + i * packed.count, parallel);
        });
      });
  return packed;
}

bool ReadsInPlace(const Tensor& b, DType a, bool one_row, Parallel& parallel, bool rounds_to_bf16) {
  constexpr std::size_t kLarge = std::size_t{4} << 20;  // smaller matrices may be in the cache, where packed ones win
  return one_row && a == DType::kFloat && b.dtype() == DType::kFloat && b.byte_size() >= kLarge && !rounds_to_bf16 &&
         !WantsSameRows() && ExactType(b.data<float>(), b.count(), parallel) == DType::kFloat;
}

}  // namespace sardonyx::ops
