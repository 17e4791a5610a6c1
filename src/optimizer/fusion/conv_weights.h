// optimizer/fusion/conv_weights.h - a factor and a summand for each output channel go into the weights and bias of a
// Conv or ConvTranspose.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace sardonyx::optimizer {

// The elements of a constant of a float type; empty for other types.
std::vector<double> FloatsOf(const Tensor& tensor);
// A tensor of a float type from doubles, rounded once.
Tensor TensorOfFloats(DType dtype, const Shape& shape, const std::vector<double>& values);

// The Conv or ConvTranspose that makes `value` for one reader only, if its weights and bias are constant; kNoNode if
// there is none.
NodeId FoldableConv(const Graph& graph, ValueId value, const char** why = nullptr);
// Output channels of that node.
std::int64_t ConvOutputChannels(const Graph& graph, const Node& conv);

// Makes the node compute factor[m] * (what it computed) + shift[m] for every output channel m, and lets its output take
// the place of the first output of `after`, which is erased. False, and nothing changed, if a number is not finite or
// the sizes do not fit.
bool FoldIntoConv(Graph& graph, NodeId conv, const std::vector<double>& factor, const std::vector<double>& shift,
                  NodeId after);

}  // namespace sardonyx::optimizer
