// ops/control/greedy_search.h - com.microsoft GreedySearch and Sampling, whose rows are in control_flow.cpp.
#pragma once

#include "ops/op_def.h"

namespace sardonyx::ops {

InferFn InferGreedySearch;
PrepareFn PrepareGreedySearch, PrepareSampling;

}  // namespace sardonyx::ops
