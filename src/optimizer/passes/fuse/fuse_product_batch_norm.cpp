// optimizer/passes/fuse/fuse_product_batch_norm.cpp - BatchNormalization behind a product with constant weights, and
// the sum with a constant row between them, go into weights and bias: what is left is a Gemm.
//
// y = (x W + b - mean) * scale / sqrt(variance + epsilon) + shift of matrices [M, N], so column n of W is multiplied by
// f[n] = scale[n] / sqrt(variance[n] + epsilon), and the bias becomes (b - mean) * f + shift. Computed in double.
#include <algorithm>
#include <cmath>

#include "ops/schema/schema.h"
#include "optimizer/fusion/epilogue.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

std::vector<double> Doubles(const Tensor& t) {
  std::vector<double> values(static_cast<std::size_t>(t.count()));
  VisitDType<float, double>(t.dtype(), [&]<typename T>() {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(t.data<T>()[i]);
  });
  return values;
}

Tensor Narrowed(DType dtype, const Shape& shape, const std::vector<double>& values) {
  Tensor t(dtype, shape);
  VisitDType<float, double>(dtype, [&]<typename T>() {
    for (std::size_t i = 0; i < values.size(); ++i) t.data<T>()[i] = static_cast<T>(values[i]);
  });
  return t;
}

float FloatAttribute(const Node& node, std::string_view name, float otherwise) {
  const AttributeValue* value = node.FindAttribute(name);
  return value != nullptr && std::holds_alternative<float>(*value) ? std::get<float>(*value) : otherwise;
}
std::int64_t IntAttribute(const Node& node, std::string_view name) {
  const AttributeValue* value = node.FindAttribute(name);
  return value != nullptr && std::holds_alternative<std::int64_t>(*value) ? std::get<std::int64_t>(*value) : 0;
}

const Tensor* ConstantInput(const Graph& graph, const Node& node, std::size_t i) {
  if (i >= node.inputs.size() || node.inputs[i] == kNoValue) return nullptr;
  const Tensor* t = graph.value(node.inputs[i]).constant();
  return t != nullptr && (t->dtype() == DType::kFloat || t->dtype() == DType::kDouble) ? t : nullptr;
}

// MatMul of matrices, or a Gemm without scaling, with constant weights and no bias but a constant row.
bool IsProduct(const Graph& graph, const Node& node) {
  if (!node.domain.empty() || (node.op_type != "MatMul" && node.op_type != "Gemm")) return false;
  const Tensor* weights = ConstantInput(graph, node, 1);
  const Type& y = graph.value(node.outputs[0]).type;
  if (weights == nullptr || weights->shape().rank() != 2 || weights->count() == 0 || !y.has_rank || y.rank() != 2)
    return false;
  if (node.op_type == "MatMul") return true;
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != kNoValue;
  return FloatAttribute(node, "alpha", 1) == 1 && FloatAttribute(node, "beta", 1) == 1 &&
         (!has_bias || ConstantInput(graph, node, 2) != nullptr);
}

bool IsInference(const Graph& graph, const Node& norm) {
  if (!norm.domain.empty() || norm.op_type != "BatchNormalization" || norm.inputs.size() != 5) return false;
  for (std::size_t i = 1; i < norm.outputs.size(); ++i)
    if (norm.outputs[i] != kNoValue) return false;
  for (std::size_t i = 1; i < 5; ++i)
    if (ConstantInput(graph, norm, i) == nullptr) return false;
  return IntAttribute(norm, "training_mode") == 0;
}

// The constant row that `node` adds to `value`: one that leaves its shape alone.
const Tensor* AddedRow(const Graph& graph, const Node& node, ValueId value) {
  if (!Is(node, "Add")) return nullptr;
  const Tensor* row = ConstantInput(graph, node, node.inputs[0] == value ? 1 : 0);
  return row != nullptr && row->shape().rank() <= 2 ? row : nullptr;
}

// Adds a constant row of N elements or one to `sums`; false if `row` is anything else.
bool AddRow(const Tensor& row, std::vector<double>* sums) {
  const std::vector<double> given = Doubles(row);
  if (given.size() != sums->size() && given.size() != 1) return false;
  if (row.shape().rank() == 2 && row.shape()[0] != 1) return false;
  for (std::size_t j = 0; j < sums->size(); ++j) (*sums)[j] += given[given.size() == 1 ? 0 : j];
  return true;
}

bool IsBatchNorm(const Node* node) { return node != nullptr && Is(*node, "BatchNormalization"); }

// A product whose result, or the sum with it, goes into a BatchNormalization.
bool IsNear(const Graph& graph, const Node& product) {
  if (!product.domain.empty() || (product.op_type != "MatMul" && product.op_type != "Gemm")) return false;
  const auto& readers = graph.value(product.outputs[0]).consumers;
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    const Node& node = graph.node(reader);
    return IsBatchNorm(&node) || (node.op_type == "Add" && IsBatchNorm(OnlyReader(graph, node.outputs[0])));
  });
}

bool Fuse(Graph& graph, const PassContext& context, NodeId id) {
  const Node& product = graph.node(id);
  if (!IsNear(graph, product)) return false;
  const auto no = [&](const auto&... parts) { return context.No(graph, id, parts...); };
  if (!IsProduct(graph, product)) return no("expected a plain product of a matrix with constant weights and bias");
  const Node* norm = OnlyReader(graph, product.outputs[0]);
  const Tensor* row = norm != nullptr ? AddedRow(graph, *norm, product.outputs[0]) : nullptr;
  const NodeId sum = row != nullptr ? norm->id : kNoNode;
  if (row != nullptr) norm = norm->provider == product.provider ? OnlyReader(graph, norm->outputs[0]) : nullptr;
  if (norm == nullptr) return no("its result is an output, or read by other nodes than the BatchNormalization");
  if (norm->provider != product.provider) return no(Describe(graph, *norm), " runs on another provider");
  if (!IsInference(graph, *norm)) return no(Describe(graph, *norm), " has no constant parameters, or trains");
  if (norm->inputs[0] != (sum != kNoNode ? graph.node(sum).outputs[0] : product.outputs[0])) return false;
  const Tensor& w = *graph.value(product.inputs[1]).constant();
  const bool trans = IntAttribute(product, "transB") != 0;
  const auto n = static_cast<std::size_t>(w.shape()[trans ? 0 : 1]), k = static_cast<std::size_t>(w.count()) / n;
  std::vector<double> parameters[4];
  for (std::size_t i = 0; i < 4; ++i) {
    parameters[i] = Doubles(*ConstantInput(graph, *norm, i + 1));
    if (parameters[i].size() != n) return no("expected ", n, " parameters, found ", parameters[i].size());
  }
  const auto& [scale, shift, mean, variance] = parameters;
  std::vector<double> weights = Doubles(w), bias(n, 0.0);
  const Tensor* c = ConstantInput(graph, product, 2);
  if ((c != nullptr && !AddRow(*c, &bias)) || (row != nullptr && !AddRow(*row, &bias)))
    return no("what is added to it is no row of ", n, " elements");
  const double epsilon = FloatAttribute(*norm, "epsilon", 1e-5f);
  for (std::size_t j = 0; j < n; ++j) {
    const double factor = scale[j] / std::sqrt(variance[j] + epsilon);
    if (!std::isfinite(factor)) return no("the factor of column ", j, " would be infinite");
    for (std::size_t i = 0; i < k; ++i) weights[trans ? j * k + i : i * n + j] *= factor;
    bias[j] = (bias[j] - mean[j]) * factor + shift[j];
  }
  const NodeId norm_id = norm->id;
  const std::string prefix = graph.value(product.inputs[1]).name;
  const DType dtype = w.dtype();
  const ValueId new_weights = graph.AddConstant(prefix, Narrowed(dtype, w.shape(), weights));
  const ValueId new_bias =
      graph.AddConstant(prefix + "_bias", Narrowed(dtype, Shape{static_cast<std::int64_t>(n)}, bias));
  graph.SetInput(id, 1, new_weights);
  graph.SetInput(id, 2, new_bias);
  Node& gemm = graph.node(id);
  gemm.op_type = "Gemm";
  gemm.since_version = ops::FindSchema("", "Gemm")->since_version;
  if (sum != kNoNode) Absorb(graph, id, sum);
  Absorb(graph, id, norm_id);
  return true;
}

bool FuseIn(Graph& graph, const PassContext& context) {
  bool changed = false;
  for (const NodeId id : OwnNodes(graph)) {
    if (graph.node(id).erased) continue;
    bool body_changed = false;
    for (Graph* body : graph.node(id).Subgraphs()) body_changed |= FuseIn(*body, context);
    if (body_changed) graph.RefreshCaptures(id);
    changed |= body_changed;
    changed |= Fuse(graph, context, id);
  }
  return changed;
}

bool FuseProductBatchNorm(Graph& graph, PassContext& context) { return FuseIn(graph, context); }

}  // namespace

constinit const Pass kFuseProductBatchNorm = {
    .name = "fuse_product_batch_norm", .level = Level::kExtended, .run = FuseProductBatchNorm};

}  // namespace sardonyx::optimizer
