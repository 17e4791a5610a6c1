// kernels/region/roi_align.isa.cpp - weighted sums of rows, then of columns, compiled once per ISA.
#include "kernels/region/roi_align.h"

#include <cstddef>

namespace sardonyx::kernels::SDX_ISA {

void AlignPlane(const AlignAxis& rows, const AlignAxis& columns, const float* plane, float* line, float* y) {
  std::int64_t begin = columns.size, end = 0;  // the columns that any bin reads
  for (std::int64_t j = 0; j < columns.bins; ++j) {
    for (std::int64_t t = 0; t < columns.count[j]; ++t) {
      const std::int64_t c = columns.index[j * columns.size + t];
      begin = c < begin ? c : begin;
      end = c >= end ? c + 1 : end;
    }
  }
  for (std::int64_t i = 0; i < rows.bins; ++i) {
    for (std::int64_t c = begin; c < end; ++c) line[c] = 0;
    for (std::int64_t t = 0; t < rows.count[i]; ++t) {
      const float* row = plane + rows.index[i * rows.size + t] * columns.size;
      const float w = rows.weight[i * rows.size + t];
#pragma omp simd
      for (std::int64_t c = begin; c < end; ++c) line[c] += w * row[c];
    }
    for (std::int64_t j = 0; j < columns.bins; ++j) {
      const std::int64_t* at = columns.index + j * columns.size;
      const float* w = columns.weight + j * columns.size;
      float sum = 0;
      for (std::int64_t t = 0; t < columns.count[j]; ++t) sum += w[t] * line[at[t]];
      y[i * columns.bins + j] = sum;
    }
  }
}

}  // namespace sardonyx::kernels::SDX_ISA
