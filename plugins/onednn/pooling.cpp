// plugins/onednn/pooling.cpp - MaxPool, AveragePool and the global pools.
#include <algorithm>

#include "keep_nan.h"
#include "operators.h"
#include "window.h"

namespace sardonyx_onednn {
namespace {

using dnnl::algorithm;

std::string GlobalRefusal(const Graph& graph, const Node& node) {
  if (const std::string refusal = FloatsRefusal(graph, node); !refusal.empty()) return refusal;
  return HasRank(graph, node.inputs[0], 3, 5) ? "" : "oneDNN has 1 to 3 spatial axes";
}

std::string PoolRefusal(const Graph& graph, const Node& node) {
  if (const std::string refusal = GlobalRefusal(graph, node); !refusal.empty()) return refusal;
  if (node.outputs.size() > 1 && node.outputs[1] >= 0) return "it asks for indices";
  const std::size_t rank = graph.at(node.inputs[0]).dims.size() - 2;
  if (const std::string refusal = WindowRefusal(node, rank); !refusal.empty()) return refusal;
  const Dims kernel = node.Ints("kernel_shape", {}), pads = node.Ints("pads", Dims(2 * rank, 0));
  if (kernel.size() != rank) return "its kernel_shape";
  for (std::size_t i = 0; i < 2 * rank; ++i)
    if (pads[i] >= kernel[i % rank]) return "a window may lie in the padding alone";
  if (node.op_type == "MaxPool") return "";
  const Dims dilations = node.Ints("dilations", Dims(rank, 1));
  if (std::any_of(dilations.begin(), dilations.end(), [](auto each) { return each != 1; })) return "its dilations";
  if (node.Int("ceil_mode", 0) != 0 && node.Int("count_include_pad", 0) != 0)
    return "the standard counts the padding that was asked for, oneDNN all of it";
  return "";
}

void Run(Builder& builder, const Node& node, algorithm kind, Window window, const Dims& dims) {
  const Tensor input = builder.Float(node.inputs[0]);
  if (CountOf(dims) == 0) return builder.Set(node.outputs[0], builder.NewPlain(dims));
  if (CountOf(input.dims) == 0) builder.Fail(node, "expected elements to pool, found shape " + Show(input.dims));
  if (kind == algorithm::pooling_max && builder.settings().keeps_nan) {
    const Tensor result = builder.NewPlain(dims);
    RunMaxPool(builder, builder.Plain(input), result, window);
    return builder.Set(node.outputs[0], result);
  }
  // oneDNN wants the padding that fits the sizes.
  for (std::size_t i = 0; i < window.end.size(); ++i)
    window.end[i] = (dims[i + 2] - 1) * window.strides[i] + (window.kernel[i] - 1) * window.dilations[i] + 1 -
                    window.begin[i] - input.dims[i + 2];
  const Desc any(dims, DataType::f32, dnnl::memory::format_tag::any);
  const bool dilated =
      std::any_of(window.dilations.begin(), window.dilations.end(), [](auto each) { return each != 1; });
  Tensor result;
  const auto run = [&]<typename Primitive>(const std::optional<typename Primitive::primitive_desc>& found) {
    if (!found) builder.Fail(node, "oneDNN has no primitive for " + Show(input.dims));
    result = builder.New(found->dst_desc(), dims);
    builder.Run<Primitive>(*found, {{DNNL_ARG_SRC, input}, {DNNL_ARG_DST, result}});
  };
  if (dilated)
    run.template operator()<dnnl::pooling_v2_forward>(
        Describe<dnnl::pooling_v2_forward>({dnnl::prop_kind::forward_inference, kind, input.desc, any, window.strides,
                                            window.kernel, window.OneDnnDilations(), window.begin, window.end},
                                           {}, builder.engine()));
  else
    run.template operator()<dnnl::pooling_forward>(
        Describe<dnnl::pooling_forward>({dnnl::prop_kind::forward_inference, kind, input.desc, any, window.strides,
                                         window.kernel, window.begin, window.end},
                                        {}, builder.engine()));
  builder.Set(node.outputs[0], result);
}

void BuildPool(Builder& builder, const Node& node) {
  const Dims input = builder.Raw(node.inputs[0]).dims;
  const Dims spatial(input.begin() + 2, input.end());
  const Window window = WindowOf(node, node.Ints("kernel_shape", {}), spatial);
  Dims dims{input[0], input[1]};
  for (const std::int64_t size : SlideOver(builder, node, window, spatial, node.Int("ceil_mode", 0) != 0))
    dims.push_back(size);
  const bool with_padding = node.Int("count_include_pad", 0) != 0;
  Run(builder, node,
      node.op_type == "MaxPool" ? algorithm::pooling_max
      : with_padding            ? algorithm::pooling_avg_include_padding
                                : algorithm::pooling_avg_exclude_padding,
      window, dims);
}

void BuildGlobalPool(Builder& builder, const Node& node) {
  const Dims input = builder.Raw(node.inputs[0]).dims;
  const Dims spatial(input.begin() + 2, input.end());
  const Dims ones(spatial.size(), 1), zeros(spatial.size(), 0);
  Dims dims{input[0], input[1]};
  dims.insert(dims.end(), ones.begin(), ones.end());
  Run(builder, node, node.op_type == "GlobalMaxPool" ? algorithm::pooling_max : algorithm::pooling_avg_include_padding,
      {.kernel = spatial, .strides = ones, .dilations = ones, .begin = zeros, .end = zeros}, dims);
}

constexpr Operator kOperators[] = {
    {"MaxPool", 1, 22, true, PoolRefusal, BuildPool},
    {"AveragePool", 1, 22, true, PoolRefusal, BuildPool},
    {"GlobalMaxPool", 1, 22, true, GlobalRefusal, BuildGlobalPool},
    {"GlobalAveragePool", 1, 22, true, GlobalRefusal, BuildGlobalPool},
};

}  // namespace

std::span<const Operator> PoolingOperators() { return kOperators; }

}  // namespace sardonyx_onednn
