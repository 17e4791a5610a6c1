// ops/nn/conv_many_axes.h - convolutions of images with more than three spatial dimensions: few models have them, and
// no kernel. Columns for some pixels at a time are multiplied with the weights.
#pragma once

#include "ops/kernel_context.h"
#include "ops/shapes/conv_attributes.h"

namespace sardonyx::ops {

// Conv and FusedConv of float (16-bit floats are converted) or double, channels first; a double has no activation.
template <typename T>
void RunConvOfManyAxes(KernelContext& c);

// ConvTranspose; `bias` is the index of that input. `skipped` are bits of inputs that are no operands.
template <typename T>
void RunTransposeOfManyAxes(KernelContext& c, std::size_t bias, std::uint32_t skipped);

// The window of one run along spatial axis `axis` alone; its numbers are those of the last dimension.
Window3 WindowOfAxis(const WindowAttributes& w, std::size_t axis, Dims x, Dims y, Dims kernel);
// The same for ConvTranspose, where output_shape and SAME decide about pads. For images of up to three dimensions, too.
std::int64_t TransposedPad(const ConvState& state, std::size_t axis, const Window3& w, std::size_t at);

}  // namespace sardonyx::ops
