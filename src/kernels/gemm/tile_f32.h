// kernels/gemm/tile_f32.h - the f32 batch-reduce microkernel and the row kernels around it, one set per ISA.
//
// A tile computes R rows x nr columns: sum over taps t and i < k of A[t][row, i] * B[t][i, column], then the linear
// part of an epilogue. GEMM uses one tap; a convolution one tap per kernel position, each an offset into the image.
// gemm_f32.cpp and conv/ hold the loops around it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/dispatch.h"
#include "kernels/gemm/epilogue.h"
#include "kernels/gemm/half_kind.h"
#include "kernels/gemm/tile_f32_args.h"

namespace sardonyx::kernels {

// One row after its sums are known: y[i] = activation(alpha * sums[i] + ...), with the fields as in Epilogue.
struct RowEpilogue {
  float alpha = 1;
  float beta = 1;
  float bias_scale = 1;
  float bias = 0;  // bias and bias_m together
  const float* bias_n = nullptr;
  const float* residual = nullptr;
  Activation activation;
};

// y[r, i] = min(max(alpha * (sum over t of w[t] * x[offsets[t] + r * x_row_stride + i]) + bias + beta * residual[r, i],
// low), high) for r < rows, i < columns. x must be readable for kPlaneSlack floats beyond the last position.
inline constexpr std::int64_t kPlaneSlack = 64;
struct PlaneArgs {
  const float* x;
  std::ptrdiff_t x_row_stride;
  const std::ptrdiff_t* offsets;
  const float* w;
  std::int64_t taps;
  std::int64_t rows;
  std::int64_t columns;
  float* y;
  const float* residual;  // like y, or null
  std::ptrdiff_t y_row_stride;
  float alpha, beta, bias, low, high;
};

// c[r * ldc + j] = sum over i < k of a[r * row_stride + i * k_stride] * B[i, j] for r < rows, j < columns; b: packed
// panels [columns / nr, rounded up][k][nr].
struct ThinArgs {
  std::int64_t k;  // 1..TileF32Set::thin_k
  std::int64_t rows;
  std::int64_t columns;
  const float* a;
  std::ptrdiff_t row_stride;
  std::ptrdiff_t k_stride;
  const float* b;
  float* c;
  std::ptrdiff_t ldc;
};

// sums[r * stride + p * nr + j] = sum over i of a[r * row_stride + i * k_stride] * b[p][i][j] for r < rows, p < panels;
// b: packed panels, read once for all rows. A row's sum does not depend on the rows beside it.
struct RowPanelsArgs {
  static constexpr std::int64_t kRows = 8;
  static constexpr std::int64_t kPanels = 4;  // read at once

  std::int64_t k;
  std::int64_t rows;    // 1..kRows
  std::int64_t panels;  // at least 1
  const float* a;
  std::ptrdiff_t row_stride;
  std::ptrdiff_t k_stride;
  float* sums;
  std::ptrdiff_t stride;
  bool cached = false;  // b was read a moment ago: asking for it early would only take time
};

using TileF32Fn = void(const TileF32Args&);

struct TileBf16Set;  // kernels/gemm/tile_bf16.h

struct TileF32Set {
  static constexpr std::int64_t kMaxColumns = 3;  // of columns_of

  Isa isa;
  std::int64_t rows;         // the tallest tile
  std::int64_t columns;      // nr, the width of a packed panel
  TileF32Fn* const* wide;    // wide[r - 1]: r rows x nr columns
  TileF32Fn* const* narrow;  // narrow[r - 1]: r rows x nr / 2 columns, for columns <= nr / 2
  std::int64_t narrow_rows;  // the tallest of these

  // panel[i * nr + j] = trans ? b[j * ldb + i] : b[i * ldb + j] for i < k, j < columns, else 0.
  void (*pack_panel)(std::int64_t k, std::int64_t columns, const float* b, std::ptrdiff_t ldb, bool trans,
                     float* panel);
  // c[r * stride + i] = activation(c[r * stride + i])
  void (*activate)(float* c, std::int64_t rows, std::int64_t columns, std::ptrdiff_t stride,
                   const Activation& activation);
  // y may be sums
  void (*finish_row)(const float* sums, std::int64_t count, const RowEpilogue& epilogue, float* y);
  // sums[j] = sum over i of a[i * a_stride] * b[i * ldb + j], j < n: B read row by row
  void (*gemv)(std::int64_t k, std::int64_t n, const float* a, std::ptrdiff_t a_stride, const float* b,
               std::ptrdiff_t ldb, float* sums);
  // sums[j] = sum over i of a[i] * b[j * ldb + i], j < n: dot products
  void (*dots)(std::int64_t k, std::int64_t n, const float* a, const float* b, std::ptrdiff_t ldb, float* sums);
  void (*row_panels)(const RowPanelsArgs& args, const float* b);
  // The same from panels in 16 bits.
  void (*row_panels_half)(const RowPanelsArgs& args, HalfKind kind, const std::uint16_t* b);
  // dst[i] = src[i] as float; count is a multiple of nr
  void (*widen)(HalfKind kind, std::int64_t count, const std::uint16_t* src, float* dst);
  // sums[r * columns + j] = sum over i of a[r * lda + i] * b[j * ldb + i], r < rows, j < columns <= kMaxColumns
  void (*columns_of)(std::int64_t k, std::int64_t rows, std::int64_t columns, const float* a, std::ptrdiff_t lda,
                     const float* b, std::ptrdiff_t ldb, float* sums);
  void (*thin)(const ThinArgs& args);
  std::int64_t thin_k;  // the longest sum that `thin` takes
  // dst[c * dst_stride + r] = src[r * src_stride + c], r < rows, c < columns
  void (*transpose)(std::int64_t rows, std::int64_t columns, const float* src, std::ptrdiff_t src_stride, float* dst,
                    std::ptrdiff_t dst_stride);
  // Depthwise convolution of a plane, see PlaneArgs.
  void (*depthwise_plane)(const PlaneArgs& args);
  // even[i] = src[2 * i], odd[i] = src[2 * i + 1], i < pairs
  void (*split_pairs)(const float* src, std::int64_t pairs, float* even, float* odd);
  // Not null where the CPU multiplies bf16 faster than f32.
  const TileBf16Set* bf16 = nullptr;
};

#define SDX_DECLARE(isa)          \
  namespace isa {                 \
  const TileF32Set& TileSetF32(); \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

// The set of an ISA (which this CPU must support), and the best one of this CPU.
const TileF32Set& TilesF32(Isa isa);
const TileF32Set& BestTilesF32();

// Runs the tile of `rows` rows on args, then the activation where it is more than a clamp.
void RunTileF32(const TileF32Set& tiles, const TileF32Args& args, std::int64_t rows, const Activation& activation);

// The second half of it: an activation that is more than a clamp.
void ActivateTile(const TileF32Set& tiles, const TileF32Args& args, std::int64_t rows, const Activation& activation);

// Sets low and high for the activations that are clamps.
void SetClamp(const Activation& activation, TileF32Args* args);

// True for activations that need a pass over the stored values.
bool NeedsPass(const Activation& activation);

}  // namespace sardonyx::kernels
