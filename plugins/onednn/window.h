// plugins/onednn/window.h - the windows of convolutions and pools along the spatial axes.
#pragma once

#include <string>

#include "builder.h"

namespace sardonyx_onednn {

struct Window {
  Dims kernel, strides, dilations, begin, end;  // `begin`, `end`: padding

  Dims OneDnnDilations() const;  // oneDNN counts the elements between two of the kernel
};

// Of a Conv or pool with input `spatial`: attributes, and the padding that auto_pad asks for.
Window WindowOf(const Node& node, const Dims& kernel, const Dims& spatial);
// Sizes of the result; with `round_up`, windows that begin inside of the input or its left padding count although they
// end outside. Fails with the node's name if the window does not fit.
Dims SlideOver(const Builder& builder, const Node& node, const Window& window, const Dims& spatial, bool round_up);
// "" unless attributes are out of the range that the standard gives them.
std::string WindowRefusal(const Node& node, std::size_t spatial_rank);

}  // namespace sardonyx_onednn
