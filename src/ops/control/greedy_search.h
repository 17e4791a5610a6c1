// ops/control/greedy_search.h - com.microsoft GreedySearch, Sampling, BeamSearch and WhisperBeamSearch, whose rows are
// in control_flow.cpp.
#pragma once

#include "ops/op_def.h"

namespace sardonyx::ops {

InferFn InferGreedySearch, InferBeamSearch;
PrepareFn PrepareGreedySearch, PrepareSampling, PrepareBeamSearch;

}  // namespace sardonyx::ops
