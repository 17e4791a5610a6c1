// ops/shapes/conv_attributes.h - what the convolutions share: their state, checks, and sizes for the kernels.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "kernels/conv/conv.h"
#include "ops/channels_last.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/shapes/window.h"

namespace sardonyx::ops {

constexpr std::size_t kMostKernelAxes = 3;  // spatial dimensions that the kernels of convolutions take
constexpr std::size_t kMostConvAxes = 30;   // of Conv and ConvTranspose, channels first

struct ConvState {
  WindowAttributes window;
  std::vector<std::int64_t> output_padding;  // ConvTranspose
  bool has_output_shape = false;
  std::int64_t group = 1;
  Tensor packed;                                                       // undefined if the weights are no constant
  Shape weights;                                                       // their shape, if packed
  kernels::ConvAlgorithm algorithm = kernels::ConvAlgorithm::kDirect;  // what they are packed for
  bool rounds_to_bf16 = false;                                         // 1x1 kernels, see ConvShape
  kernels::Activation activation;
  ImageLayouts layouts;
  bool z_first = false;                        // QLinearConvAdd: the order of the summands
  std::shared_ptr<std::atomic<bool>> is_wide;  // what 8-bit kernels remember of earlier runs (kernels/conv/conv_int8.h)
};

// y = bias[channel], or 0: the convolution over nothing. `shape` is y's, channels first.
template <typename T>
void FillWithBias(const T* bias, Dims shape, bool channels_last, T* y) {
  const std::int64_t channels = shape[1], pixels = ElementCount(shape, 2, shape.size());
  for (std::int64_t i = 0; i < shape[0] * channels * pixels; ++i)
    y[i] = bias != nullptr ? bias[channels_last ? i % channels : i / pixels % channels] : T(0);
}

// Reads layouts, window and group and checks them against the types of X (channels first) and W as far as they are
// known.
ConvState ReadConv(const AttributeReader& c, const Type& x, const Type& w, std::size_t most_axes = kMostKernelAxes);
// Output dims of a convolution (not transposed); empty if a rank is unknown.
std::vector<Dim> ConvOutputDims(const AttributeReader& c, const ConvState& state, const Type& x, const Type& w);
// Fails unless x [N, C, ...] and w [M, C / group, ...] go together (the numbers of a run).
void CheckConvShapes(const WindowAttributes& window, std::int64_t group, Dims x, Dims w, bool transposed,
                     std::size_t most_axes = kMostKernelAxes);

// The sizes for the kernels, which lay out images with their pads. Fails with kInvalidArgument where no memory could
// hold those of `w`.
kernels::ConvShape MakeConvShape(const Window3& w, std::int64_t batch, std::int64_t in_channels,
                                 std::int64_t out_channels, const ConvState& state, bool transposed);
// Sets batch and outputs of a shape from y [N, M, ...] as far as they are known, else to 0.
void SetKnownOutput(const std::vector<Dim>& y, kernels::ConvShape* shape);

}  // namespace sardonyx::ops
