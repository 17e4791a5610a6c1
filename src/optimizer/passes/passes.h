// optimizer/passes/passes.h - every pass, one line each; pipeline.cpp gives their order.
#pragma once

#include "optimizer/rules/pass.h"

namespace sardonyx::optimizer {

extern const Pass kFoldConstants;
extern const Pass kFoldShapes;
extern const Pass kInlineBodies;
extern const Pass kEliminateCommonSubexpressions;
extern const Pass kEliminateIdentity;
extern const Pass kEliminateDropout;
extern const Pass kEliminateCasts;
extern const Pass kEliminateDeadNodes;
extern const Pass kChangeLayout;
extern const Pass kFuseActivations;
extern const Pass kFuseConvActivation;
extern const Pass kMergeViews;
extern const Pass kMoveViews;
extern const Pass kSimplifyNodes;
extern const Pass kSimplifySlices;
extern const Pass kFuseReluClip;
extern const Pass kReplaceDivisions;
extern const Pass kReplaceEinsum;
extern const Pass kFuseAttention;
extern const Pass kFuseBlockQuantizedBias;
extern const Pass kFuseConvBatchNorm;
extern const Pass kFuseConvScale;
extern const Pass kFuseDistance;
extern const Pass kFuseGroupNorm;
extern const Pass kFusePad;
extern const Pass kFuseConvQuantizedSum;
extern const Pass kFuseElementwise;
extern const Pass kFuseEmbedLayerNorm;
extern const Pass kApproximateGelu;
extern const Pass kSplitBatchNorm;
extern const Pass kFuseGelu;
extern const Pass kFuseLayerNorm;
extern const Pass kFuseMatMulAdd;
extern const Pass kFuseMatMulTranspose;
extern const Pass kFuseProductBatchNorm;
extern const Pass kFuseProductEpilogue;
extern const Pass kFuseRotaryEmbedding;
extern const Pass kFuseSkipLayerNorm;
extern const Pass kWidenHalf;

}  // namespace sardonyx::optimizer
