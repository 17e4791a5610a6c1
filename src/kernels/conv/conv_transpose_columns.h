// kernels/conv/conv_transpose_columns.h - transposed convolution of channels-first images as one product per image:
// each pixel gives the values of all taps of all output channels, and those are added where they belong.
//
// It suits windows that do not overlap, whose values only change places, and few output channels, which would fill a
// small part of a tile of conv_transpose_f32.cpp. Error per output: that of conv.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/conv/conv.h"
#include "kernels/dispatch.h"

namespace sardonyx::kernels {

// Depends on channels, groups, kernel, strides, dilations and layouts alone.
bool ColumnsSuitConvTranspose(const ConvShape& shape);

// x and y as the shape's layouts say, w as ONNX ConvTranspose has it (nothing is packed), bias [out_channels] or null.
// scratch: of the function beside it, 64-byte aligned, null if 0.
std::size_t ConvTransposeColumnsScratchBytes(const ConvShape& shape, int threads);
void ConvTransposeColumnsF32(const ConvShape& shape, const float* x, const float* w, const float* bias, float* y,
                             Parallel& parallel, std::byte* scratch);

// y[i * stride + r] = rows[r][i] + bias for r < stride and i < count; with `add`, += without the bias.
struct InterleavedRows {
  const float* rows = nullptr;  // row r begins at r * pitch
  std::int64_t pitch = 0, stride = 1, count = 0;
  float bias = 0;
  float* y = nullptr;
  bool add = false;
};
using InterleaveRowsFn = void(const InterleavedRows& rows);
#define SDX_DECLARE(isa)            \
  namespace isa {                   \
  InterleaveRowsFn InterleaveRows; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

}  // namespace sardonyx::kernels
