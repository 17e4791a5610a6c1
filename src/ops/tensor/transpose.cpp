// ops/tensor/transpose.cpp - Transpose: permutes the axes of a tensor.
#include "kernels/copy/strided_copy.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/layout.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/schema/schema.h"

namespace sardonyx::ops {
namespace {

struct TransposeState {
  std::vector<std::int64_t> perm;  // empty: reversed
};

// Fails unless `perm` holds each axis of `rank` once.
void CheckPerm(const std::vector<std::int64_t>& perm, std::size_t rank) {
  std::vector<bool> seen(rank);
  for (const std::int64_t axis : perm) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank) || seen[static_cast<std::size_t>(axis)])
      Fail(Code::kInvalidGraph, "attribute 'perm': expected a permutation of ", rank, " axes, found ",
           ToText(Dims(perm)));
    seen[static_cast<std::size_t>(axis)] = true;
  }
  if (perm.size() != rank)
    Fail(Code::kInvalidGraph, "attribute 'perm': expected one axis for each dimension of rank ", rank, ", found ",
         ToText(Dims(perm)));
}

void InferTranspose(InferContext& c) {
  const std::vector<std::int64_t> perm = c.Ints("perm");
  if (!c.HasRank(0)) {
    if (perm.empty()) return c.SetOutput(0, c.InputDType(0));
    return c.SetOutput(0, c.InputDType(0), std::vector<Dim>(perm.size()));
  }
  const std::vector<Dim>& x = c.InputDims(0);
  std::vector<Dim> dims(x.rbegin(), x.rend());
  if (c.Has("perm")) {
    CheckPerm(perm, x.size());
    for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = x[static_cast<std::size_t>(perm[i])];
  }
  c.SetOutput(0, c.InputDType(0), std::move(dims));
  if (x.size() <= 1 && IsInteger(c.InputDType(0))) {
    if (auto data = c.ShapeData(0)) c.SetShapeData(0, std::move(*data));
  }
}

void RunTranspose(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const std::vector<std::int64_t>& perm = c.state<TransposeState>().perm;
  const std::size_t rank = x.rank();
  Shape strides, shape;
  strides.Resize(rank);
  shape.Resize(rank);
  for (std::size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * x.shape[i];
  kernels::StridedLoops loops;
  std::int64_t to = x.count;
  const auto axis = [&](std::size_t i) { return perm.empty() ? rank - 1 - i : static_cast<std::size_t>(perm[i]); };
  for (std::size_t i = 0; i < rank; ++i) shape[i] = x.shape[axis(i)];
  const OutputRef y = c.Output(0, shape);
  if (x.count == 0) return;
  for (std::size_t i = 0; i < rank; ++i) {
    to /= shape[i];
    if (!loops.Add(shape[i], strides[axis(i)], to)) {
      Fail(Code::kNotImplemented, "expected a rank of at most ", kernels::StridedLoops::kMaxRank, ", found rank ",
           rank);
    }
  }
  kernels::StridedCopy(x.dtype, loops, x.data, 0, y.data, 0, c.parallel());
}

Prepared PrepareTranspose(PrepareContext& c) { return WithState(RunTranspose, TransposeState{c.Ints("perm")}); }

std::vector<std::int64_t> PermOf(const Node& node, std::size_t rank) {
  if (const AttributeValue* perm = node.FindAttribute("perm")) return std::get<std::vector<std::int64_t>>(*perm);
  std::vector<std::int64_t> reversed;
  for (std::size_t i = rank; i-- > 0;) reversed.push_back(static_cast<std::int64_t>(i));
  return reversed;
}

// A Transpose of three axes may lead to either layout: to "last" if an image comes in, else from it.
bool ComesFromAnImage(const Graph& graph, const Node& node) {
  const NodeId producer = graph.value(node.inputs[0]).producer;
  if (producer == kNoNode) return false;
  const Node& before = graph.node(producer);
  if (before.op_type == "Reshape" && !before.inputs.empty()) {
    const Type &x = InputType(graph, before, 0), &y = InputType(graph, node, 0);
    return IsImage(x) && x.rank() > 3 && SameDim(x.dims[0], y.dims[0]) && SameDim(x.dims[1], y.dims[1]);
  }
  return before.op_type == "Conv" || before.op_type == "FusedConv";
}

bool DescribeTranspose(const Graph& graph, const Node& node, NodeLayout& layout) {
  const Type& x = InputType(graph, node, 0);
  if (!IsImage(x)) return false;
  const std::vector<std::int64_t> perm = PermOf(node, x.rank());
  StayFirst(node, layout);
  layout.variables.resize(1);
  if (perm.size() != x.rank()) return false;
  if (perm[0] == 0 && perm[1] == 1) {
    FollowMain(node, layout);
    return true;
  }
  layout.variables[0].first_cost = ChangingCost(x);
  const bool to_last = perm == PermToLast(x.rank()), to_first = perm == PermToFirst(x.rank());
  if (to_last && (!to_first || ComesFromAnImage(graph, node))) {
    layout.inputs[0] = 0;
    return true;
  }
  layout.outputs[0] = 0;
  return to_first;
}

// The three cases of DescribeTranspose: among spatial axes; to "last", whose input is that already; from "last".
void ChangeTranspose(const LayoutChange& c) {
  const std::size_t rank = c.input_types[0].rank();
  if (c.layout.inputs[0] != kStaysFirst && c.layout.outputs[0] != kStaysFirst) {
    const std::vector<std::int64_t> perm = PermOf(c.node(), rank), to_last = PermToLast(rank);
    std::vector<std::int64_t> changed;
    for (const std::int64_t axis : to_last) changed.push_back(AxisToLast(perm[static_cast<std::size_t>(axis)], rank));
    c.node().SetAttribute("perm", changed);
    return;
  }
  c.node().op_type = "Identity";
  c.node().since_version = FindSchema("", "Identity")->since_version;
  c.node().RemoveAttribute("perm");
}

constexpr LayoutDef kTransposeLayout = {"may be the change itself", DescribeTranspose, ChangeTranspose};

constexpr OpDef kTransposeOps[] = {
    {.name = "Transpose",
     .since = {1, 13, 21, 23, 24, 25},
     .types = kAllTypes,
     .infer = InferTranspose,
     .prepare = PrepareTranspose,
     .cost = CountNothing,
     .layout = &kTransposeLayout,
     .traits = kMovesElements},
};

}  // namespace

std::span<const OpDef> TransposeOps() { return kTransposeOps; }

}  // namespace sardonyx::ops
