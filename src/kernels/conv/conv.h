// kernels/conv/conv.h - f32 convolutions of 1, 2 and 3 spatial dimensions, and their transposes.
//
// Inside, everything is channels-last (implicit GEMM on the tiles of kernels/gemm, depthwise as its own loop); NCHW
// images are packed on the way in and unpacked on the way out. Nothing allocates or throws; bits do not depend on the
// thread count. Error per output: at most T * 2^-24 * sum |x||w| with T = kernel taps * input channels per group,
// tested in conv_test.cpp; that of the Winograd algorithms: winograd.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/gemm/epilogue.h"

namespace sardonyx::kernels {

struct TileF32Set;  // kernels/gemm/tile_f32.h

enum class ImageLayout : std::uint8_t {
  kChannelsFirst,  // [N, C, D, H, W]
  kChannelsLast,   // [N, D, H, W, C]
};

// How a convolution is computed where there is a choice; packed weights are made for one.
enum class ConvAlgorithm : std::uint8_t {
  kDirect,
  kWinograd2,  // F(2x2, 3x3): 2.25 times fewer multiplications, 1.8 times the weights
  kWinograd4,  // F(4x4, 3x3): 4 times fewer multiplications, 4 times the weights
};

// Sizes of one convolution. Spatial arrays are (depth, height, width); missing dimensions have size 1, kernel 1, stride
// 1, dilation 1, pad 0: a 1-D convolution uses only the last entry. `out` is given by the caller:
//   Conv:          out = (in + pad_begin + pad_end - dilation * (kernel - 1) - 1) / stride + 1
//   ConvTranspose: out = stride * (in - 1) + output_padding + dilation * (kernel - 1) + 1 - pad_begin - pad_end
// so the pads at the end are implied. Every size is at least 1, pads may be negative nowhere.
struct ConvShape {
  std::int64_t batch = 1;
  std::int64_t in_channels = 1;   // C, a multiple of groups
  std::int64_t out_channels = 1;  // M, a multiple of groups
  std::int64_t groups = 1;
  std::array<std::int64_t, 3> in = {1, 1, 1};
  std::array<std::int64_t, 3> out = {1, 1, 1};
  std::array<std::int64_t, 3> kernel = {1, 1, 1};
  std::array<std::int64_t, 3> stride = {1, 1, 1};
  std::array<std::int64_t, 3> dilation = {1, 1, 1};
  std::array<std::int64_t, 3> pad_begin = {0, 0, 0};
  ImageLayout in_layout = ImageLayout::kChannelsFirst;
  ImageLayout out_layout = ImageLayout::kChannelsFirst;
  ConvAlgorithm algorithm = ConvAlgorithm::kDirect;  // from ChooseConvF32Algorithm; ConvTranspose: unused
  // Floats from a pixel to the next of channels-last x, y and residual, as parts of wider images: both layouts are
  // channels last then. 0: the channels.
  std::int64_t in_pixel = 0, out_pixel = 0, residual_pixel = 0;
  std::int64_t InPixel() const { return in_pixel != 0 ? in_pixel : in_channels; }
  std::int64_t OutPixel() const { return out_pixel != 0 ? out_pixel : out_channels; }
  std::int64_t ResidualPixel() const { return residual_pixel != 0 ? residual_pixel : out_channels; }
  // The input and the weights are rounded to bf16, as in GemmF32Args, and so are packed weights. Only for 1x1 kernels,
  // channels last, without pads and groups.
  bool rounds_to_bf16 = false;
};

struct ConvF32Args {
  ConvShape shape;
  const float* x = nullptr;               // in_layout
  const float* packed_weights = nullptr;  // 64-byte aligned, from PackConvF32Weights
  float* y = nullptr;                     // out_layout; overlaps neither x (another part of one image may) nor weights
  Epilogue epilogue;                      // bias_n [out_channels]; residual like y (residual_stride unused), may be y
  const TileF32Set* tiles = nullptr;      // null: the best of this CPU; tests name others
};

// The best algorithm for what is known when weights are packed: sizes of `in`, `out` and batch that are not known are
// 0. All of them compute any sizes; a guess costs time only.
ConvAlgorithm ChooseConvF32Algorithm(const ConvShape& shape);

// Floats of packed weights. The packed form depends on channels, groups, kernel, the two layouts and the algorithm (and
// the ISA), never on batch, image sizes, distances of pixels, strides, dilations or pads: weights are packed once when
// only these are known.
std::size_t ConvF32PackedCount(const ConvShape& shape, const TileF32Set* tiles = nullptr);

// w: [out_channels, in_channels / groups, kD, kH, kW], as ONNX Conv has it.
void PackConvF32Weights(const ConvShape& shape, const float* w, float* packed, Parallel& parallel,
                        const TileF32Set* tiles = nullptr);

// Bytes of scratch that ConvF32 needs with up to `threads` threads. Throws nothing; the sizes were checked by the
// caller.
std::size_t ConvF32ScratchBytes(const ConvShape& shape, int threads, const TileF32Set* tiles = nullptr);

// y = epilogue(x * w). scratch: ConvF32ScratchBytes(shape, parallel.ThreadCount()) bytes, 64-byte aligned, null if 0.
void ConvF32(const ConvF32Args& args, Parallel& parallel, std::byte* scratch);

// The transposed convolution; w: [in_channels, out_channels / groups, kD, kH, kW], as ONNX ConvTranspose has it.
// The same rules as above, but its packed weights depend on strides and dilations, too.
std::size_t ConvTransposeF32PackedCount(const ConvShape& shape, const TileF32Set* tiles = nullptr);
void PackConvTransposeF32Weights(const ConvShape& shape, const float* w, float* packed, Parallel& parallel,
                                 const TileF32Set* tiles = nullptr);
std::size_t ConvTransposeF32ScratchBytes(const ConvShape& shape, int threads, const TileF32Set* tiles = nullptr);
void ConvTransposeF32(const ConvF32Args& args, Parallel& parallel, std::byte* scratch);

}  // namespace sardonyx::kernels
