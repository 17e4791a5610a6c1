// plugins/onednn/binary.h - arithmetic of two tensors, with broadcasting.
#pragma once

#include "fusion.h"

namespace sardonyx_onednn {

// The result has `dims`, to which both broadcast. `fusion` is what follows, elementwise functions only: `*fused` says
// whether oneDNN computes them too.
Tensor RunBinary(Builder& builder, const Node& node, dnnl::algorithm algorithm, Tensor a, Tensor b, const Dims& dims,
                 const Fusion* fusion = nullptr, bool* fused = nullptr);
// The shape to which two shapes broadcast; fails with the node's name if they do not.
Dims BroadcastDims(const Builder& builder, const Node& node, const Dims& a, const Dims& b);

}  // namespace sardonyx_onednn
