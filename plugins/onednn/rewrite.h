// plugins/onednn/rewrite.h - functions that exporters write as several nodes, as one.
#pragma once

#include "model.h"

namespace sardonyx_onednn {

// Replaces GELU written with Erf, LayerNormalization written with ReduceMean, and x * Sigmoid(x). The new nodes keep
// the host's nodes that they stand for.
void Rewrite(Graph& graph);

}  // namespace sardonyx_onednn
