// kernels/reduce/sum8.isa.cpp - 8-bit sums: rows by sums of differences from 0, columns as loops that compilers turn into vectors.
#include "kernels/reduce/sum8.h"

#include "kernels/simd/sum_bytes.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

// Contiguous bytes. A signed one with its highest bit changed is 128 more.
template <bool kSigned>
std::int32_t SumRow(const std::uint8_t* x, std::int64_t n) {
  std::int64_t i = 0, total = SumVectors(x, n, kSigned ? 0x80 : 0, &i);
  if (kSigned) total -= 128 * i;
  for (; i < n; ++i) total += kSigned ? static_cast<std::int8_t>(x[i]) : x[i];
  return static_cast<std::int32_t>(total);
}

template <typename T>
void SumColumns(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, std::int32_t* acc) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const T* row = x + i * stride;
#pragma omp simd
    for (std::int64_t k = 0; k < columns; ++k) acc[k] += row[k];
  }
}

}  // namespace

void Sum8(const std::uint8_t* x, bool is_signed, std::int64_t rows, std::int64_t stride, std::int64_t columns,
          std::int32_t* acc) {
  if (columns == 1 && stride == 1) {
    *acc += is_signed ? SumRow<true>(x, rows) : SumRow<false>(x, rows);
  } else if (is_signed) {
    SumColumns(static_cast<const std::int8_t*>(static_cast<const void*>(x)), rows, stride, columns, acc);
  } else {
    SumColumns(x, rows, stride, columns, acc);
  }
}

}  // namespace sardonyx::kernels::SDX_ISA
