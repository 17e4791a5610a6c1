// planner/sparse_outputs.h - constants that a model holds in a sparse form and gives out: their runs give sparse
// tensors, as in ONNX Runtime, whatever the model declares. Nodes read the dense form.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "tensor/value.h"

namespace sardonyx::planner {

// By output of the graph, whether it is such a constant: an initializer that nobody can replace, or a Constant node.
// Empty if there is none.
std::vector<bool> FindSparseOutputs(const Graph& graph);
// Such outputs may be declared as sparse tensors; the graph that runs has tensors there.
void DeclareDense(Graph& graph, const std::vector<bool>& outputs);
// The elements other than zero, in COO form with linear indices [nnz]. `dense`: a tensor of numbers on the host.
SparseTensor ToSparse(const Tensor& dense);

}  // namespace sardonyx::planner
