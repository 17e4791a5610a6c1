// ops/shapes/window.h - the sliding window of convolutions and pools: attributes, output sizes, pads.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ops/infer_context.h"
#include "ops/prepare_context.h"

namespace sardonyx::ops {

enum class AutoPad : std::uint8_t { kNotSet, kSameUpper, kSameLower, kValid };

// As the node gives it; empty vectors where an attribute is missing.
struct WindowAttributes {
  std::vector<std::int64_t> kernel, strides, dilations;
  std::vector<std::int64_t> pads;  // begins, then ends
  AutoPad auto_pad = AutoPad::kNotSet;
  bool ceil_mode = false;

  std::int64_t stride(std::size_t axis) const { return strides.empty() ? 1 : strides[axis]; }
  std::int64_t dilation(std::size_t axis) const { return dilations.empty() ? 1 : dilations[axis]; }
  std::int64_t pad_begin(std::size_t axis) const { return pads.empty() ? 0 : pads[axis]; }
  std::int64_t pad_end(std::size_t axis) const { return pads.empty() ? 0 : pads[axis + pads.size() / 2]; }
};

// Fails unless all values of attribute `name` are from `least` to 2^31.
void CheckAtLeast(const AttributeReader& c, const char* name, const std::vector<std::int64_t>& values,
                  std::int64_t least);
// Reads and checks them (strides and dilations positive, pads not negative, equal lengths).
WindowAttributes ReadWindow(const AttributeReader& c);
// Fails unless every given attribute is for `spatial_rank` dimensions.
void CheckWindowRank(const AttributeReader& c, const WindowAttributes& w, std::size_t spatial_rank);

// The output size of one axis of a convolution or pool (ceil_mode included); unknown where it cannot be told.
// Fails if numbers give an output below 0.
Dim WindowOutput(const AttributeReader& c, const WindowAttributes& w, std::size_t axis, const Dim& in,
                 const Dim& kernel);

// The output size of one axis of a pool. The number of windows is rounded towards zero, as ONNX Runtime and ONNX's
// shape inference do it: of an input that is smaller than the window by less than the stride, one window is computed
// that lies partly outside. Models of released programs rely on it; by the text's formula their outputs are empty.
Dim PoolOutput(const AttributeReader& c, const WindowAttributes& w, std::size_t axis, const Dim& in, const Dim& kernel);

// The numbers of one run, depth-height-width: missing leading dimensions have size 1.
struct Window3 {
  std::array<std::int64_t, 3> in = {1, 1, 1};
  std::array<std::int64_t, 3> out = {1, 1, 1};
  std::array<std::int64_t, 3> kernel = {1, 1, 1};
  std::array<std::int64_t, 3> stride = {1, 1, 1};
  std::array<std::int64_t, 3> dilation = {1, 1, 1};
  std::array<std::int64_t, 3> pad_begin = {0, 0, 0};
  std::array<std::int64_t, 3> pad_end = {0, 0, 0};
};

// `x`, `y`: [N, C, spatial...] with 1 to 3 spatial dimensions; `kernel`: its spatial sizes.
Window3 MakeWindow(const WindowAttributes& w, Dims x, Dims y, Dims kernel);

}  // namespace sardonyx::ops
