// runtime/profile/cost.cpp - counts the bytes of a node, and asks its row about its arithmetic.
#include "runtime/profile/cost.h"

#include <algorithm>

namespace sardonyx::runtime {
namespace {

double BytesOf(const ops::TensorRef& tensor) {
  return tensor.present() && !IsString(tensor.dtype) ? static_cast<double>(tensor.byte_size()) : 0;
}

// Weights of 8 bits make a product one of integers, whatever it scales its result to.
DType ComputedType(const ops::CostContext& c) {
  const auto is_byte = [](DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUInt8; };
  return is_byte(c.In(0).dtype) || is_byte(c.In(1).dtype) ? DType::kInt8 : c.In(0).dtype;
}

}  // namespace

ops::Cost CostOf(const Node& node, const ops::OpDef* op, const ops::Prepared* prepared,
                 std::span<const ops::TensorRef> inputs, std::span<const ops::TensorRef> outputs) {
  ops::Cost cost;
  if (!node.Subgraphs().empty()) return cost;  // its body's nodes are counted
  ops::CostContext c(node, prepared, inputs, outputs, cost);
  cost.computes = ComputedType(c);
  if (ops::CostFn* const count = op != nullptr ? ops::CostFnOf(*op) : nullptr; count != nullptr) count(c);
  for (const ops::TensorRef& output : outputs) cost.written += BytesOf(output);
  cost.bytes = cost.written;
  const bool shape_only = op != nullptr && (op->traits & ops::kShapeOnly) != 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (i == 0 && shape_only) continue;
    cost.bytes += c.PicksFrom(i) ? std::min(BytesOf(inputs[i]), BytesOf(c.Out(0))) : BytesOf(inputs[i]);
  }
  return cost;
}

}  // namespace sardonyx::runtime
