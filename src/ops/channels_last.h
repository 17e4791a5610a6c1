// ops/channels_last.h - the operators of com.ms.internal.nhwc: ONNX's operators on images [N, spatial..., C].
//
// The domain is ONNX Runtime's. The optimizer makes nodes of it (optimizer/passes/layout/change_layout.cpp), and saved
// models may contain them. Their attributes, weights and parameters are spelled as in ONNX.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "kernels/conv/conv.h"
#include "ops/node_view.h"

namespace sardonyx::ops {

inline constexpr std::string_view kChannelsLastDomain = "com.ms.internal.nhwc";

// com.microsoft's NhwcConv and NhwcFusedConv are Conv and FusedConv of the domain under another name.
inline bool IsChannelsLast(const AttributeReader& c) {
  return c.node().domain == kChannelsLastDomain || c.op_type() == "NhwcConv" || c.op_type() == "NhwcFusedConv";
}

// How the image inputs and outputs of a node lie. A convolution of the domain may read or write channels first all the
// same (attributes channels_first_input, channels_first_output): its kernels change the layout on the way.
struct ImageLayouts {
  bool input_last = false, output_last = false;

  static ImageLayouts Of(const AttributeReader& c) {
    const bool last = IsChannelsLast(c);
    return {last && !c.Flag("channels_first_input"), last && !c.Flag("channels_first_output")};
  }
  static kernels::ImageLayout Kernel(bool last) {
    return last ? kernels::ImageLayout::kChannelsLast : kernels::ImageLayout::kChannelsFirst;
  }
};

// [N, spatial..., C] as [N, C, spatial...] if `last`, and back. Ranks below 3 stay as they are.
inline Type ToChannelsFirst(const Type& type, bool last) {
  Type first = type;
  if (last && type.has_rank && type.rank() > 2)
    std::rotate(first.dims.begin() + 1, first.dims.end() - 1, first.dims.end());
  return first;
}
inline std::vector<Dim> FromChannelsFirst(std::vector<Dim> dims, bool last) {
  if (last && dims.size() > 2) std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  return dims;
}
inline Shape ToChannelsFirst(Dims dims, bool last) {
  Shape first(dims);
  if (last && dims.size() > 2) std::rotate(first.begin() + 1, first.end() - 1, first.end());
  return first;
}

}  // namespace sardonyx::ops
