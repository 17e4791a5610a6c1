// planner/sparse_outputs.h - constants in a sparse form that a model gives out as sparse tensors: its runs give such.
// Nodes read the dense form. (ONNX Runtime also gives a sparse tensor where the model declares a dense one.)
#pragma once

#include <vector>

#include "ir/graph.h"
#include "tensor/value.h"

namespace sardonyx::planner {

// By output of the graph, whether it is a Constant node's sparse value that is declared as a sparse tensor. Empty if
// there is none.
std::vector<bool> FindSparseOutputs(const Graph& graph);
// The graph that runs has tensors there.
void DeclareDense(Graph& graph, const std::vector<bool>& outputs);
// The elements other than zero, in COO form with linear indices [nnz]. `dense`: a tensor of numbers on the host.
SparseTensor ToSparse(const Tensor& dense);

}  // namespace sardonyx::planner
