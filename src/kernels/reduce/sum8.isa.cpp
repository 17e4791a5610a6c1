// kernels/reduce/sum8.isa.cpp - 8-bit sums in 32 bits, as loops that compilers turn into vectors.
#include "kernels/reduce/sum8.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

template <typename T>
void Sum(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, std::int32_t* acc) {
  if (columns == 1 && stride == 1) {
    std::int32_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < rows; ++i) sum += x[i];
    *acc += sum;
    return;
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    const T* row = x + i * stride;
#pragma omp simd
    for (std::int64_t k = 0; k < columns; ++k) acc[k] += row[k];
  }
}

}  // namespace

void Sum8(const std::uint8_t* x, bool is_signed, std::int64_t rows, std::int64_t stride, std::int64_t columns,
          std::int32_t* acc) {
  if (is_signed) return Sum(static_cast<const std::int8_t*>(static_cast<const void*>(x)), rows, stride, columns, acc);
  Sum(x, rows, stride, columns, acc);
}

}  // namespace sardonyx::kernels::SDX_ISA
