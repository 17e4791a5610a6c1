// optimizer/derivatives/window.h - the derivatives of operators with a sliding window: convolutions and pools.
#pragma once

#include "optimizer/derivatives/derivation.h"

namespace sardonyx::optimizer {

// The window of a node, with every list given and auto_pad resolved.
struct Sliding {
  std::vector<std::int64_t> kernel, strides, dilations, pads;  // pads: begins, then ends
  std::vector<std::int64_t> axes() const;                      // the spatial ones: 2, 3 ...
  std::vector<std::int64_t> begins() const { return {pads.begin(), pads.begin() + static_cast<long>(kernel.size())}; }
};

// Reads the node's window; its kernel is that of `weights`, or the attribute kernel_shape if that is kNoValue.
Sliding ReadSliding(const Derivation& d, ValueId weights);

// The gradient of x [N, C, ...], given that of the results of its windows, dy [N, O, ...], and the weights [O, C /
// groups, kernel...] with which each element of a window counts.
ValueId SpreadOver(Derivation& d, const Sliding& s, ValueId dy, ValueId weights, std::int64_t groups, ValueId x);

}  // namespace sardonyx::optimizer
