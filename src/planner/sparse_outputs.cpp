// planner/sparse_outputs.cpp - finds constants in a sparse form among a graph's outputs, and makes sparse tensors.
#include "planner/sparse_outputs.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace sardonyx::planner {
namespace {

bool IsSparseConstant(const Graph& graph, const ValueInfo& value) {
  if (value.type.kind != TypeKind::kSparseTensor || value.producer == kNoNode) return false;
  const Node& node = graph.node(value.producer);
  return node.op_type == "Constant" && node.domain.empty() && node.FindAttribute("sparse_value") != nullptr;
}

}  // namespace

std::vector<bool> FindSparseOutputs(const Graph& graph) {
  std::vector<bool> found;
  for (const ValueId output : graph.outputs) found.push_back(IsSparseConstant(graph, graph.value(output)));
  if (std::find(found.begin(), found.end(), true) == found.end()) found.clear();
  return found;
}

void DeclareDense(Graph& graph, const std::vector<bool>& outputs) {
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    Type& type = graph.value(graph.outputs[k]).type;
    if (outputs[k]) type.kind = TypeKind::kTensor;
  }
}

SparseTensor ToSparse(const Tensor& dense) {
  const std::size_t size = ByteSize(dense.dtype(), 1);
  const auto* const bytes = static_cast<const char*>(dense.raw());
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < dense.count(); ++i) {
    const char* const element = bytes + static_cast<std::size_t>(i) * size;
    if (std::any_of(element, element + size, [](char byte) { return byte != 0; })) indices.push_back(i);
  }
  const auto count = static_cast<std::int64_t>(indices.size());
  SparseTensor sparse{dense.shape(), Tensor(dense.dtype(), Shape{count}), Tensor(DType::kInt64, Shape{count})};
  if (count == 0) return sparse;
  std::memcpy(sparse.indices.raw(), indices.data(), indices.size() * sizeof(std::int64_t));
  auto* const values = static_cast<char*>(sparse.values.raw());
  for (std::size_t k = 0; k < indices.size(); ++k)
    std::memcpy(values + k * size, bytes + static_cast<std::size_t>(indices[k]) * size, size);
  return sparse;
}

}  // namespace sardonyx::planner
