// plugins/onednn/convolution.cpp - Conv and ConvTranspose.
#include "product.h"
#include "window.h"

namespace sardonyx_onednn {
namespace {

using dnnl::algorithm;
using dnnl::prop_kind;
using Tag = dnnl::memory::format_tag;

std::string ConvolutionRefusal(const Graph& graph, const Node& node) {
  if (const std::string refusal = FloatsRefusal(graph, node); !refusal.empty()) return refusal;
  if (!HasRank(graph, node.inputs[0], 3, 5)) return "oneDNN has 1 to 3 spatial axes";
  const std::size_t rank = graph.at(node.inputs[0]).dims.size();
  if (!HasRank(graph, node.inputs[1], rank, rank)) return "its weights have another rank";
  if (node.Int("group", 1) < 1) return "its group";
  if (node.op_type == "ConvTranspose")
    for (const char* attribute : {"output_padding", "output_shape"})
      if (node.Has(attribute) && node.Ints(attribute, {}).size() + 2 != rank) return "its output sizes";
  return WindowRefusal(node, rank - 2);
}

Dims Spatial(const Dims& dims) { return {dims.begin() + 2, dims.end()}; }

// Weights [M, C/g, ...] as [g, M/g, C/g, ...].
Dims GroupedDims(const Dims& dims, std::int64_t groups) {
  if (groups == 1) return dims;
  Dims grouped{groups, dims[0] / groups};
  grouped.insert(grouped.end(), dims.begin() + 1, dims.end());
  return grouped;
}

// What both kinds have in common.
Product ProductOf(const Node& node, const Dims& input, const Dims& weights, const Dims& result) {
  Product product;
  product.input = node.inputs[0];
  product.weights = node.inputs[1];
  product.bias = node.Input(2);
  product.output = node.outputs[0];
  product.dims = result;
  product.input_desc = {input, DataType::f32, Tag::any};
  product.weights_desc = {weights, DataType::f32, Tag::any};
  product.result_desc = {result, DataType::f32, Tag::any};
  product.bias_dims = {result[1]};
  product.view_input = [](const Tensor& tensor) { return tensor; };
  return product;
}

void BuildConv(Builder& builder, const Node& node) {
  const Dims input = builder.Raw(node.inputs[0]).dims;
  const auto quantized = builder.Quantized(node.inputs[1]);
  const Dims weights = quantized ? quantized->integers->dims : builder.Raw(node.inputs[1]).dims;
  const std::int64_t groups = node.Int("group", 1);
  if (weights[1] * groups != input[1] || weights[0] % groups != 0)
    builder.Fail(node, "expected weights for " + std::to_string(input[1]) + " channels in " + std::to_string(groups) +
                           " groups, found " + Show(weights));
  const Window window = WindowOf(node, node.Ints("kernel_shape", Spatial(weights)), Spatial(input));
  if (window.kernel != Spatial(weights))
    builder.Fail(node, "expected weights of kernel_shape " + Show(window.kernel) + ", found " + Show(weights));
  Dims result{input[0], weights[0]};
  for (const std::int64_t size : SlideOver(builder, node, window, Spatial(input), false)) result.push_back(size);
  if (CountOf(result) == 0) return builder.Set(node.outputs[0], builder.NewPlain(result));
  const Dims grouped = GroupedDims(weights, groups);
  Product product = ProductOf(node, input, grouped, result);
  product.view_weights = [&](const Tensor& tensor) { return builder.View(builder.Plain(tensor), grouped); };
  RunProduct<dnnl::convolution_forward>(
      builder, node, product, [&](const Desc& from, const Desc& by, const Desc* bias, const Desc& to) {
        using Description = dnnl::convolution_forward::desc;
        const Dims dilations = window.OneDnnDilations();
        if (bias == nullptr)
          return Description(prop_kind::forward_inference, algorithm::convolution_direct, from, by, to, window.strides,
                             dilations, window.begin, window.end);
        return Description(prop_kind::forward_inference, algorithm::convolution_direct, from, by, *bias, to,
                           window.strides, dilations, window.begin, window.end);
      });
}

// Sizes and padding of a ConvTranspose: either follows from the other.
Dims TransposedSizes(const Node& node, Window& window, const Dims& spatial) {
  const Dims extra = node.Ints("output_padding", Dims(spatial.size(), 0));
  const Dims wanted = node.Ints("output_shape", {});
  const std::string auto_pad = node.Text("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  Dims result;
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    const std::int64_t full =
        window.strides[i] * (spatial[i] - 1) + extra[i] + (window.kernel[i] - 1) * window.dilations[i] + 1;
    if (wanted.empty() && !same) {
      result.push_back(full - window.begin[i] - window.end[i]);
      continue;
    }
    result.push_back(wanted.empty() ? spatial[i] * window.strides[i] : wanted[i]);
    const std::int64_t pad = std::max<std::int64_t>(full - result[i], 0);
    window.begin[i] = auto_pad == "SAME_UPPER" ? pad / 2 : pad - pad / 2;
    window.end[i] = pad - window.begin[i];
  }
  return result;
}

void BuildConvTranspose(Builder& builder, const Node& node) {
  const Dims input = builder.Raw(node.inputs[0]).dims;
  const auto quantized = builder.Quantized(node.inputs[1]);
  const Dims weights = quantized ? quantized->integers->dims : builder.Raw(node.inputs[1]).dims;
  const std::int64_t groups = node.Int("group", 1);
  if (weights[0] != input[1] || weights[0] % groups != 0)
    builder.Fail(node, "expected weights for " + std::to_string(input[1]) + " channels in " + std::to_string(groups) +
                           " groups, found " + Show(weights));
  Window window = WindowOf(node, Spatial(weights), Spatial(input));
  Dims result{input[0], weights[1] * groups};
  for (const std::int64_t size : TransposedSizes(node, window, Spatial(input))) result.push_back(size);
  for (const std::int64_t size : result)
    if (size < 0) builder.Fail(node, "expected sizes of 0 or more, found " + Show(result));
  if (CountOf(result) == 0) return builder.Set(node.outputs[0], builder.NewPlain(result));
  for (std::size_t i = 0; i < window.end.size(); ++i)  // oneDNN wants the padding that fits the sizes
    window.end[i] = window.strides[i] * (input[i + 2] - 1) + (window.kernel[i] - 1) * window.dilations[i] + 1 -
                    window.begin[i] - result[i + 2];
  // Weights [C, M/g, ...] as [g, M/g, C/g, ...], seen through their strides.
  Dims grouped{groups, weights[1], weights[0] / groups};
  Dims strides(weights.size() + 1, 1);
  std::int64_t kernel = 1;
  for (std::size_t i = weights.size(); i-- > 2;) {
    strides[i + 1] = kernel;
    kernel *= weights[i];
  }
  strides[1] = kernel;
  strides[2] = kernel * weights[1];
  strides[0] = strides[2] * grouped[2];
  grouped.insert(grouped.end(), weights.begin() + 2, weights.end());
  if (groups == 1) {
    grouped.erase(grouped.begin());
    strides.erase(strides.begin());
  }
  Product product = ProductOf(node, input, grouped, result);
  product.weights_axis = groups == 1 ? 1 : -1;
  product.view_weights = [&](const Tensor& tensor) {
    Tensor view = builder.Plain(tensor);
    view.desc = Desc(grouped, static_cast<DataType>(view.desc.data.data_type), strides);
    return view;
  };
  RunProduct<dnnl::deconvolution_forward>(
      builder, node, product, [&](const Desc& from, const Desc& by, const Desc* bias, const Desc& to) {
        using Description = dnnl::deconvolution_forward::desc;
        const Dims dilations = window.OneDnnDilations();
        if (bias == nullptr)
          return Description(prop_kind::forward_inference, algorithm::deconvolution_direct, from, by, to,
                             window.strides, dilations, window.begin, window.end);
        return Description(prop_kind::forward_inference, algorithm::deconvolution_direct, from, by, *bias, to,
                           window.strides, dilations, window.begin, window.end);
      });
}

constexpr Operator kOperators[] = {
    {"Conv", 1, 22, true, ConvolutionRefusal, BuildConv},
    {"ConvTranspose", 1, 22, true, ConvolutionRefusal, BuildConvTranspose},
};

}  // namespace

std::span<const Operator> ConvolutionOperators() { return kOperators; }

}  // namespace sardonyx_onednn
