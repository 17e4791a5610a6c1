// kernels/conv/winograd_int8.h - 8-bit 3x3 convolutions of stride 1 by Winograd F(4x4, 3x3) with exact sums, for CPUs
// whose integer tiles multiply 16-bit values.
//
// A tile of 4 x 4 outputs takes 36 multiplications per pair of channels instead of 144, and four times the weights.
// Interpolation at 0, 1, -1, 2, -2 and infinity with all factors multiplied out keeps transformed values (at most
// 100 * 255) and weights (at most 49 * 255) in 16 bits and gives 576 (some outputs: less) times each sum, modulo 2^32.
// 9 is invertible there, and the 64 that is left is shifted out: sums below 2^25 without the bias come back exactly.
// WinogradInt8Fits says whether the weights keep all sums below that.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/conv/conv_int8_args.h"
#include "kernels/dispatch.h"
#include "kernels/gemm/tile_int8.h"

namespace sardonyx::kernels {

inline constexpr std::int64_t kWinogradInt8Outputs = 4;  // of a tile, each way
inline constexpr std::int64_t kWinogradInt8Positions = 36;

// True if the shape can be computed so and gains by it. Sizes of `in`, `out` and batch that are not known are 0.
bool WinogradInt8Pays(const ConvShape& shape, const TileInt8Set& tiles);
// True if no input makes sums too large.
bool WinogradInt8Fits(const ConvShape& shape, const ConvInt8Weights& weights);

// tiles: those of 16-bit values. Packed: [panels of nr output channels][positions][groups of in_channels][nr].
std::size_t WinogradInt8PackedBytes(const ConvShape& shape);
void PackWinogradInt8(const ConvShape& shape, const ConvInt8Weights& weights, std::byte* packed, Parallel& parallel,
                      const TileInt8Set& tiles);
std::size_t WinogradInt8ScratchBytes(const ConvInt8Args& args, int threads, const TileInt8Set& tiles);
void WinogradInt8(const ConvInt8Args& args, const TileInt8Set& tiles, Parallel& parallel, std::byte* scratch);

// ---- The loops of each ISA

// The input transform of a row of tiles: v[p * v_plane + tile * v_row + c] for the positions p of a transformed tile.
// Tile t reads from (row, column + 4 t) on; what lies outside the image reads as x_zero.
struct WinogradInt8InArgs {
  const std::uint8_t* x;  // channel 0 of the first position of the image, channels last
  bool x_signed;
  int x_zero;
  std::int64_t in_rows, in_columns;
  std::int64_t row, column;      // may be negative
  std::int64_t tiles, channels;  // channels: a multiple of 32
  std::int16_t* v;
  std::ptrdiff_t v_plane, v_row;
};
using WinogradInt8InFn = void(const WinogradInt8InArgs& args);

// The output transform of a row of tiles: `rows` x `columns` outputs of a panel.
struct WinogradInt8OutArgs {
  const std::uint32_t* m;  // [positions of a tile][tiles][nr]
  std::ptrdiff_t m_plane;
  std::int64_t tiles, rows, columns;
  const std::int32_t* bias;  // [nr], or null
  // What becomes of the sums: c0 and z0 belong to the first output, c_row_stride leads to the next one.
  TileInt8Args result;
  std::ptrdiff_t row_stride;  // elements of c and z from a row of outputs to the next
};
using WinogradInt8OutFn = void(const WinogradInt8OutArgs& args);

// The transforms of the kernels of a panel: u[position][in_channels / 2][nr][2].
struct WinogradInt8WeightsArgs {
  const std::uint8_t* w;  // [nr][in_channels][9]
  bool w_signed;
  const int* zeros;  // [nr]
  std::int64_t channels;
  std::int16_t* u;
};
using WinogradInt8WeightsFn = void(const WinogradInt8WeightsArgs& args);

#define SDX_DECLARE(isa)                    \
  namespace isa {                           \
  WinogradInt8InFn WinogradInt8In;          \
  WinogradInt8OutFn WinogradInt8Out;        \
  WinogradInt8WeightsFn WinogradInt8Weight; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

}  // namespace sardonyx::kernels
