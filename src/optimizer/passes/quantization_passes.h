// optimizer/passes/quantization_passes.h - the passes that make integer operators of Quantize- and DequantizeLinear
// around float ones, in the order in which they run (pipeline.cpp).
#pragma once

#include "optimizer/rules/pass.h"

namespace sardonyx::optimizer {

// fold_constants, but for dequantized constants that an integer operator may take: until the passes below have run.
extern const Pass kFoldUnquantizedConstants;

extern const Pass kQuantizeActivations;
extern const Pass kMoveQuantization;
extern const Pass kFuseQuantizedProduct;
extern const Pass kFuseLookup;
extern const Pass kFuseQuantizedOperator;
extern const Pass kFuseDynamicQuantization;
extern const Pass kFuseBlockQuantizedProduct;
extern const Pass kEliminateQuantization;

// fold_constants again, for dequantized constants that no integer operator took.
extern const Pass kFoldQuantizedConstants;

}  // namespace sardonyx::optimizer
