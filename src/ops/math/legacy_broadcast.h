// ops/math/legacy_broadcast.h - the broadcasting of opsets 1 and 6: the dimensions of the second input begin at an axis
// of the first.
//
// The node keeps the attribute `axis`, because newer versions of the operators would need a second node to say the
// same.
#pragma once

#include <cstdint>

#include "ops/infer_context.h"
#include "ops/prepare_context.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {

// Where the second input begins; absent in every model since opset 7.
struct LegacyAxis {
  bool present = false;
  std::int64_t axis = 0;

  static LegacyAxis Of(const AttributeReader& c);
  // b's shape with ones appended so that it aligns with a shape of rank `rank` at its end; b itself if the attribute is
  // absent. Fails with kInvalidArgument if b does not fit behind the axis.
  Shape Align(std::size_t rank, Dims b) const;
};

// Output 0 is the broadcast of inputs 0 and 1 with element type `dtype`.
void InferLegacyBroadcast(InferContext& c, DType dtype);
// Drops `broadcast` and `consumed_inputs`; keeps `axis`.
void UpgradeLegacyBroadcast(UpgradeContext& c);

// PRelu: the slope broadcasts to X; before opset 7 a slope of rank 1 (or of no declared rank) began at axis 1.
void InferPRelu(InferContext& c);
void UpgradePRelu(UpgradeContext& c);

}  // namespace sardonyx::ops
