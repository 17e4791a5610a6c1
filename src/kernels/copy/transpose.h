// kernels/copy/transpose.h - transposes of matrices of 2- and 8-byte elements, and elements at equal steps; transposes
// of 1 and 4 bytes stand beside the tiles of the matrix products (kernels/gemm).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

// to[j * to_stride + i] = from[i * from_stride + j] for i < rows, j < columns; from and to do not overlap.
template <typename T>
using TransposeFn = void(std::int64_t rows, std::int64_t columns, const T* from, std::ptrdiff_t from_stride, T* to,
                         std::ptrdiff_t to_stride);

// to[i] = from[i * step] for i < n; from and to do not overlap.
template <typename T>
using EveryFn = void(const T* from, std::ptrdiff_t step, T* to, std::int64_t n);

// The vector forms of one ISA.
struct TransposeTable {
  TransposeFn<std::uint16_t>* u16 = nullptr;
  TransposeFn<std::uint64_t>* u64 = nullptr;
  EveryFn<std::uint8_t>* every8 = nullptr;
  EveryFn<std::uint16_t>* every16 = nullptr;
  EveryFn<std::uint32_t>* every32 = nullptr;
  EveryFn<std::uint64_t>* every64 = nullptr;

  template <typename T>
  EveryFn<T>* Every() const {
    if constexpr (sizeof(T) == 1) return every8;
    if constexpr (sizeof(T) == 2) return every16;
    if constexpr (sizeof(T) == 4) return every32;
    if constexpr (sizeof(T) == 8) return every64;
  }
};
using TransposeTableFn = TransposeTable();
std::span<const Variant<TransposeTableFn>> TransposeVariants();
const TransposeTable& BestTransposes();

#define SDX_DECLARE(isa)             \
  namespace isa {                    \
  TransposeTableFn TransposeKernels; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

}  // namespace sardonyx::kernels
