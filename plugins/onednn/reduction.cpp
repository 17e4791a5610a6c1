// plugins/onednn/reduction.cpp - sums, means, products and norms along axes.
#include <algorithm>

#include "operators.h"

namespace sardonyx_onednn {
namespace {

using dnnl::algorithm;

struct Row {
  std::string_view name;
  algorithm function;
  float p;
  std::optional<float> of_nothing;  // the result of no elements
};
constexpr Row kFunctions[] = {
    {"ReduceMean", algorithm::reduction_mean, 0, std::nullopt},
    {"ReduceSum", algorithm::reduction_sum, 0, 0.0f},
    {"ReduceProd", algorithm::reduction_mul, 0, 1.0f},
    {"ReduceL1", algorithm::reduction_norm_lp_power_p_sum, 1, 0.0f},
    {"ReduceL2", algorithm::reduction_norm_lp_sum, 2, 0.0f},
    {"ReduceSumSquare", algorithm::reduction_norm_lp_power_p_sum, 2, 0.0f},
};

const Row& RowOf(const Node& node) {
  return *std::find_if(std::begin(kFunctions), std::end(kFunctions),
                       [&](const Row& row) { return row.name == node.op_type; });
}

std::string ReductionRefusal(const Graph& graph, const Node& node) {
  if (!IsFloat(graph, node.inputs[0]) || !IsFloat(graph, node.outputs[0])) return "not of float";
  if (!HasRank(graph, node.inputs[0], 1)) return "its rank is not known";
  if (node.Input(1) >= 0 && graph.ConstantOf(node.Input(1)) == nullptr) return "its axes are not constant";
  return "";
}

void BuildReduction(Builder& builder, const Node& node) {
  const Row& row = RowOf(node);
  const Tensor input = builder.Plain(node.inputs[0]);
  const std::size_t rank = input.dims.size();
  std::vector<bool> reduced(rank, false);
  const Dims axes = IntsOf(builder.graph(), node, 1, "axes").value_or(Dims{});
  for (const std::int64_t axis : axes) reduced[AxisOf(builder, node, axis, rank)] = true;
  if (axes.empty() && node.Int("noop_with_empty_axes", 0) == 0) reduced.assign(rank, true);
  Dims kept, dims;
  for (std::size_t i = 0; i < rank; ++i) {
    kept.push_back(reduced[i] ? 1 : input.dims[i]);
    if (!reduced[i] || node.Int("keepdims", 1) != 0) dims.push_back(kept.back());
  }
  Tensor result = builder.NewPlain(dims);
  builder.Set(node.outputs[0], result);
  if (CountOf(dims) == 0) return;
  if (CountOf(input.dims) == 0) {
    if (!row.of_nothing) builder.Fail(node, "expected elements to reduce, found shape " + Show(input.dims));
    const auto count = static_cast<std::size_t>(CountOf(dims));
    return builder.Native(
        [count, value = *row.of_nothing](std::span<void* const> places) {
          std::fill_n(static_cast<float*>(places[0]), count, value);
        },
        {result});
  }
  if (std::find(reduced.begin(), reduced.end(), true) == reduced.end() || kept == input.dims) {
    // Each result is of one element: oneDNN refuses equal shapes.
    using Function = algorithm;
    const bool absolute = row.p == 1 || row.name == "ReduceL2", square = row.name == "ReduceSumSquare";
    return RunEltwise(builder, input, builder.View(result, input.dims),
                      absolute ? Eltwise{Function::eltwise_abs, 0, 0}
                      : square ? Eltwise{Function::eltwise_square, 0, 0}
                               : Eltwise{Function::eltwise_linear, 1, 0});
  }
  const auto found = Describe<dnnl::reduction>({row.function, input.desc, Builder::PlainDesc(kept), row.p, 0.0f}, {},
                                               builder.engine());
  if (!found) builder.Fail(node, "oneDNN has no primitive for " + Show(input.dims));
  builder.Run<dnnl::reduction>(*found, {{DNNL_ARG_SRC, input}, {DNNL_ARG_DST, builder.View(result, kept)}});
}

constexpr Operator kOperators[] = {
    {"ReduceMean", 1, 18, true, ReductionRefusal, BuildReduction},
    {"ReduceSum", 1, 13, true, ReductionRefusal, BuildReduction},
    {"ReduceProd", 1, 18, true, ReductionRefusal, BuildReduction},
    {"ReduceL1", 1, 18, true, ReductionRefusal, BuildReduction},
    {"ReduceL2", 1, 18, true, ReductionRefusal, BuildReduction},
    {"ReduceSumSquare", 1, 18, true, ReductionRefusal, BuildReduction},
};

}  // namespace

std::span<const Operator> ReductionOperators() { return kOperators; }

}  // namespace sardonyx_onednn
