// optimizer/passes/fuse/merge_convs.cpp - convolutions of one value that are added up become one convolution, and so do
// a convolution of x and x itself, normalized or as it is: conv3x3(x) + conv1x1(x) + x.
//
// Networks that are trained with several branches (RepVGG, MobileOne, FastViT) are exported that way; their authors
// call the merged form re-parameterized. Weights are added in double and rounded once.
#include <cmath>

#include "optimizer/fusion/conv_weights.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

using Ints = std::vector<std::int64_t>;

// A convolution with constant weights. Their numbers are read when something is about to be added to them: most sums of
// a network add no convolutions of one value, and its weights are most of what loading it would read.
struct Conv {
  ValueId x = kNoValue;
  const Tensor *w = nullptr, *b = nullptr;  // b may be null
  std::vector<double> weights;              // [M, C / groups, kernel...]
  std::vector<double> bias;                 // [M]
  std::int64_t out_channels = 0, group_in = 0, groups = 1;
  Ints kernel, strides, dilations, pads;  // pads: those at the beginning

  std::int64_t Taps() const {
    std::int64_t taps = 1;
    for (const std::int64_t size : kernel) taps *= size;
    return taps;
  }

  // Those of sign * conv(x).
  void ReadNumbers(double sign) {
    weights = FloatsOf(*w);
    bias = b == nullptr ? std::vector<double>(static_cast<std::size_t>(out_channels)) : FloatsOf(*b);
    for (double& number : weights) number *= sign;
    for (double& number : bias) number *= sign;
  }
};

// Of the operands in the sum.
struct Signs {
  double host = 1, other = 1;
};

Ints List(const Node& node, std::string_view name, std::size_t count, std::int64_t otherwise) {
  const AttributeValue* value = node.FindAttribute(name);
  const auto* list = value == nullptr ? nullptr : std::get_if<Ints>(value);
  if (list == nullptr) return Ints(count, otherwise);
  return {list->begin(), list->begin() + static_cast<std::ptrdiff_t>(std::min(list->size(), count))};
}

// The convolution that makes `value` for `reader` alone.
std::optional<Conv> ConvOf(const Graph& graph, ValueId value, NodeId reader) {
  const Node* node = ProducerOf(graph, value, "Conv");
  if (node == nullptr || SoleReader(graph, value) != reader) return std::nullopt;
  const Tensor* w = graph.value(node->inputs[1]).constant();
  const bool has_bias = node->inputs.size() > 2 && node->inputs[2] != kNoValue;
  const Tensor* b = has_bias ? graph.value(node->inputs[2]).constant() : nullptr;
  if (w == nullptr || (has_bias && b == nullptr) || w->shape().rank() < 3 || w->count() == 0) return std::nullopt;
  if (w->dtype() != DType::kFloat && w->dtype() != DType::kDouble) return std::nullopt;
  const AttributeValue* auto_pad = node->FindAttribute("auto_pad");
  if (auto_pad != nullptr && std::get<std::string>(*auto_pad) != "NOTSET") return std::nullopt;
  Conv conv;
  const Shape& shape = w->shape();
  const std::size_t spatial = shape.rank() - 2;
  conv.x = node->inputs[0];
  conv.out_channels = shape[0], conv.group_in = shape[1], conv.groups = IntAttribute(*node, "group", 1);
  conv.kernel.assign(shape.begin() + 2, shape.end());
  conv.strides = List(*node, "strides", spatial, 1);
  conv.dilations = List(*node, "dilations", spatial, 1);
  conv.pads = List(*node, "pads", spatial, 0);
  conv.w = w, conv.b = b;
  if ((b != nullptr && (b->count() != shape[0] || b->dtype() != w->dtype())) || conv.pads.size() != spatial)
    return std::nullopt;
  return conv;
}

// Makes `host` the sum of both with their signs, if all taps of the guest are taps of the host.
bool AddConv(Conv& host, Conv& guest, const Signs& signs) {
  const bool alike = host.x == guest.x && host.groups == guest.groups && host.group_in == guest.group_in &&
                     host.out_channels == guest.out_channels && host.strides == guest.strides &&
                     host.kernel.size() == guest.kernel.size();
  if (!alike) return false;
  const std::size_t spatial = host.kernel.size();
  Ints first(spatial), step(spatial);  // of the guest's taps among the host's
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t distance = host.pads[i] - guest.pads[i];
    const std::int64_t dilation = guest.kernel[i] == 1 ? host.dilations[i] : guest.dilations[i];
    if (distance < 0 || distance % host.dilations[i] != 0 || dilation % host.dilations[i] != 0) return false;
    first[i] = distance / host.dilations[i], step[i] = dilation / host.dilations[i];
    if (first[i] + (guest.kernel[i] - 1) * step[i] >= host.kernel[i]) return false;
  }
  host.ReadNumbers(signs.host);
  guest.ReadNumbers(signs.other);
  const std::int64_t host_taps = host.Taps(), guest_taps = guest.Taps(), rows = host.out_channels * host.group_in;
  for (std::int64_t tap = 0; tap < guest_taps; ++tap) {
    std::int64_t at = 0, rest = tap, scale = 1;
    for (std::size_t i = spatial; i-- > 0; rest /= guest.kernel[i], scale *= host.kernel[i])
      at += (first[i] + rest % guest.kernel[i] * step[i]) * scale;
    for (std::int64_t row = 0; row < rows; ++row)
      host.weights[static_cast<std::size_t>(row * host_taps + at)] +=
          guest.weights[static_cast<std::size_t>(row * guest_taps + tap)];
  }
  for (std::size_t m = 0; m < host.bias.size(); ++m) host.bias[m] += guest.bias[m];
  return true;
}

// Factor and summand of each channel that `value` is of `x`: x itself, or its BatchNormalization for `reader` alone.
std::optional<std::pair<std::vector<double>, std::vector<double>>> ScaledOf(const Graph& graph, ValueId value,
                                                                            const Conv& host, NodeId reader) {
  const auto channels = static_cast<std::size_t>(host.out_channels);
  if (value == host.x) return std::pair(std::vector<double>(channels, 1), std::vector<double>(channels, 0));
  const Node* norm = ProducerOf(graph, value, "BatchNormalization");
  if (norm == nullptr || norm->inputs[0] != host.x || SoleReader(graph, value) != reader || norm->outputs.size() != 1 ||
      IntAttribute(*norm, "training_mode", 0) != 0)
    return std::nullopt;
  std::vector<double> parameters[4];  // scale, shift, mean, variance
  for (std::size_t i = 0; i < 4; ++i) {
    const Tensor* constant = graph.value(norm->inputs[i + 1]).constant();
    if (constant == nullptr) return std::nullopt;
    parameters[i] = FloatsOf(*constant);
    if (parameters[i].size() != channels) return std::nullopt;
  }
  const AttributeValue* epsilon = norm->FindAttribute("epsilon");
  const double e = epsilon == nullptr ? 1e-5 : static_cast<double>(std::get<float>(*epsilon));
  std::pair<std::vector<double>, std::vector<double>> scaled;
  for (std::size_t c = 0; c < channels; ++c) {
    const double factor = parameters[0][c] / std::sqrt(parameters[3][c] + e);
    if (!std::isfinite(factor)) return std::nullopt;
    scaled.first.push_back(factor);
    scaled.second.push_back(parameters[1][c] - parameters[2][c] * factor);
  }
  return scaled;
}

// Makes `host` the sum, with signs, of itself and x * factor + summand. x itself is left to the sum that convolutions
// do, but where each channel has its own kernel: weights of others are small beside 1.
bool AddScaled(const Graph& graph, Conv& host, ValueId value, const Signs& signs, NodeId reader) {
  const Type &x = graph.value(host.x).type, &y = graph.value(graph.node(reader).outputs[0]).type;
  if (!SameDims(x, y) || host.group_in * host.groups != host.out_channels) return false;
  if (value == host.x && host.group_in != 1) return false;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < host.kernel.size(); ++i) {
    const std::int64_t tap = host.pads[i] / host.dilations[i];
    if (host.strides[i] != 1 || host.pads[i] % host.dilations[i] != 0 || tap >= host.kernel[i]) return false;
    at = at * host.kernel[i] + tap;
  }
  const auto scaled = ScaledOf(graph, value, host, reader);
  if (!scaled) return false;
  host.ReadNumbers(signs.host);
  const std::int64_t taps = host.Taps();
  for (std::int64_t m = 0; m < host.out_channels; ++m) {
    const auto channel = static_cast<std::size_t>(m);
    host.weights[static_cast<std::size_t>((m * host.group_in + m % host.group_in) * taps + at)] +=
        signs.other * scaled->first[channel];
    host.bias[channel] += signs.other * scaled->second[channel];
  }
  return true;
}

// The sum with the convolution that makes operand `side`, if the other one can be added to it.
bool Merge(Graph& graph, const PassContext& context, NodeId id, std::size_t side) {
  const Node& sum = graph.node(id);
  const ValueId own = sum.inputs[side], other = sum.inputs[1 - side];
  const ValueId y = sum.outputs[0];
  std::optional<Conv> host = ConvOf(graph, own, id);
  if (!host || own == other || !SameDims(graph.value(own).type, graph.value(y).type)) return false;
  Signs signs;
  if (sum.op_type == "Sub") (side == 0 ? signs.other : signs.host) = -1;
  std::optional<Conv> guest = ConvOf(graph, other, id);
  const bool added = guest && SameDims(graph.value(other).type, graph.value(y).type)
                         ? AddConv(*host, *guest, signs)
                         : AddScaled(graph, *host, other, signs, id);
  if (!added) {
    if (guest && guest->x == host->x)
      context.No(graph, id, "the convolutions of ", graph.value(host->x).name, " have taps in different places");
    return false;
  }
  const Node conv = graph.node(graph.value(own).producer);
  const Tensor& w = *graph.value(conv.inputs[1]).constant();
  const Tensor weights = TensorOfFloats(w.dtype(), w.shape(), host->weights);
  const Tensor bias = TensorOfFloats(w.dtype(), Shape{host->out_channels}, host->bias);
  const std::string name = graph.value(conv.inputs[1]).name;
  Rewrite rewrite(graph, context.registry, conv.id);
  const ValueId merged = rewrite.Add(
      "Conv", {host->x, graph.AddConstant(name, weights), graph.AddConstant(name + "_bias", bias)}, conv.attributes);
  rewrite.Replace(y, merged);
  return true;
}

bool MergeConvs(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) {
    const Node& sum = each.node(id);
    if (!Is(sum, "Add") && !Is(sum, "Sub")) return false;
    return Merge(each, context, id, 0) || Merge(each, context, id, 1);
  });
}

}  // namespace

constinit const Pass kMergeConvs = {.name = "merge_convs", .level = Level::kExtended, .run = MergeConvs};

}  // namespace sardonyx::optimizer
