// kernels/gemm/row_f32.h - declares the row kernels of a TileF32Set, once for each ISA.
#pragma once

#include "kernels/gemm/tile_f32.h"

namespace sardonyx::kernels {

#define SDX_DECLARE(isa)                                                                                              \
  namespace isa {                                                                                                     \
  void PackPanel(std::int64_t k, std::int64_t columns, const float* b, std::ptrdiff_t ldb, bool trans, float* panel); \
  void Activate(float* c, std::int64_t rows, std::int64_t columns, std::ptrdiff_t stride,                             \
                const Activation& activation);                                                                        \
  void FinishRow(const float* sums, std::int64_t count, const RowEpilogue& epilogue, float* y);                       \
  void Gemv(std::int64_t k, std::int64_t n, const float* a, std::ptrdiff_t a_stride, const float* b,                  \
            std::ptrdiff_t ldb, float* sums);                                                                         \
  void Dots(std::int64_t k, std::int64_t n, const float* a, const float* b, std::ptrdiff_t ldb, float* sums);         \
  void Transpose(std::int64_t rows, std::int64_t columns, const float* src, std::ptrdiff_t src_stride, float* dst,    \
                 std::ptrdiff_t dst_stride);                                                                          \
  void RowPanels(const RowPanelsArgs& args, const float* b);                                                          \
  void RowPanelsHalf(const RowPanelsArgs& args, HalfKind kind, const std::uint16_t* b);                               \
  void Widen(HalfKind kind, std::int64_t count, const std::uint16_t* src, float* dst);                                \
  void ColumnsOf(std::int64_t k, std::int64_t rows, std::int64_t columns, const float* a, std::ptrdiff_t lda,         \
                 const float* b, std::ptrdiff_t ldb, float* sums);                                                    \
  void Thin(const ThinArgs& args);                                                                                    \
  void DepthwisePlane(const PlaneArgs& args);                                                                         \
  void SplitPairs(const float* src, std::int64_t pairs, float* even, float* odd);                                     \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

}  // namespace sardonyx::kernels
