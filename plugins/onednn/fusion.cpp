// plugins/onednn/fusion.cpp - what follows a primitive and is computed with it.
#include "fusion.h"

#include <algorithm>

#include "keep_nan.h"

namespace sardonyx_onednn {
namespace {

constexpr std::size_t kMostPostOps = 8;

// Dims with ones in front; nothing if there are more than `rank`, or if they do not fit a tensor of `dims`.
std::optional<Dims> Padded(const Dims& own, const Dims& dims) {
  if (own.size() > dims.size()) return std::nullopt;
  Dims padded(dims.size() - own.size(), 1);
  padded.insert(padded.end(), own.begin(), own.end());
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (padded[i] != dims[i] && padded[i] != 1) return std::nullopt;
  return padded;
}

// True if only the axis of `dims` is longer than 1.
bool IsAlong(const Dims& padded, std::size_t axis) {
  for (std::size_t i = 0; i < padded.size(); ++i)
    if (i != axis && padded[i] != 1) return false;
  return true;
}

}  // namespace

Fusion::Fusion(Builder& builder, int value, const Dims& dims, const Rules& rules) : builder_(builder), value_(value) {
  while (items_.size() < kMostPostOps && !quantization_) {
    const int next = builder_.SoleConsumer(value_);
    if (next < 0 || !Take(next, dims, rules)) return;
    nodes_.push_back(next);
    value_ = builder_.node(next).outputs[0];
  }
}

bool Fusion::Take(int index, const Dims& dims, const Rules& rules) {
  const Node& node = builder_.node(index);
  if (!node.domain.empty()) return false;
  if (const auto chain = EltwiseOf(builder_.graph(), node); chain && node.inputs[chain->subject] == value_) {
    if (builder_.settings().keeps_nan &&
        std::any_of(chain->functions.begin(), chain->functions.end(), TakesLimitForNan))
      return false;
    for (const Eltwise& function : chain->functions) items_.push_back({function, dnnl::algorithm::undef, {}});
    return true;
  }
  if (node.op_type == "QuantizeLinear") return rules.quantize && TakeQuantize(node);
  return rules.tensors && BinaryAlgorithm(node.op_type) != dnnl::algorithm::undef &&
         TakeBinary(node, index, dims, rules);
}

bool Fusion::TakeBinary(const Node& node, int index, const Dims& dims, const Rules& rules) {
  const bool first = node.inputs[0] == value_;
  const int other_value = node.inputs[first ? 1 : 0];
  const bool commutes = node.op_type == "Add" || node.op_type == "Mul";
  if (other_value == value_ || (!first && !commutes) || !builder_.IsReady(other_value)) return false;
  if (!IsFloat(builder_.graph(), other_value)) return false;
  const Tensor other = builder_.Float(other_value);
  const std::optional<Dims> padded = Padded(other.dims, dims);
  if (!padded) return false;
  const dnnl::algorithm algorithm = BinaryAlgorithm(node.op_type);
  if (*padded == dims && CountOf(dims) != 1) {
    if (node.op_type == "Add" && rules.sum && sum_value_ < 0) {
      sum_value_ = other_value;
      sum_node_ = index;
      items_.push_back({});
      return true;
    }
    if (!rules.plain) return false;
    items_.push_back({{}, algorithm, builder_.View(builder_.Plain(other), rules.desc_dims)});
    return true;
  }
  const std::size_t axis = rules.channel + (dims.size() - rules.desc_dims.size());
  if (!IsAlong(*padded, axis)) return false;
  Dims view(rules.desc_dims.size(), 1);
  view[rules.channel] = (*padded)[axis];
  items_.push_back({{}, algorithm, builder_.View(builder_.Plain(other), view)});
  return true;
}

bool Fusion::TakeQuantize(const Node& node) {
  const Graph& graph = builder_.graph();
  if (node.inputs[0] != value_) return false;
  const Constant* zero = graph.ConstantOf(node.Input(2));
  quantization_ = Quantization{.scale = static_cast<float>(graph.ConstantOf(node.inputs[1])->Numbers()[0]),
                               .zero_point = zero == nullptr ? 0 : static_cast<int>(zero->Numbers()[0])};
  type_ = graph.at(node.outputs[0]).type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8 ? DataType::s8 : DataType::u8;
  return true;
}

bool Fusion::scale_commutes() const {
  return std::all_of(items_.begin(), items_.end(),
                     [](const Item& item) { return item.eltwise.algorithm == dnnl::algorithm::eltwise_relu; });
}

dnnl::post_ops Fusion::PostOps(bool scale_is_applied) const {
  dnnl::post_ops operations;
  for (const Item& item : items_) {
    if (item.eltwise.algorithm != dnnl::algorithm::undef)
      operations.append_eltwise(1, item.eltwise.algorithm, item.eltwise.alpha, item.eltwise.beta);
    else if (item.binary != dnnl::algorithm::undef)
      operations.append_binary(item.binary, item.other.desc);
    else
      operations.append_sum(1);
  }
  if (quantization_ && !scale_is_applied)
    operations.append_eltwise(1, dnnl::algorithm::eltwise_linear, 1 / quantization_->scale, 0);
  return operations;
}

Tensor Fusion::Result(const Desc& desc, const Dims& dims, const Arguments& reads) {
  if (sum_value_ < 0) return builder_.New(desc, dims);
  Tensor operand = builder_.Float(sum_value_);
  if (operand.desc.dims() != desc.dims()) operand = builder_.View(builder_.Plain(operand), desc.dims());
  Tensor result = builder_.Consumed(sum_value_, operand, desc, sum_node_, reads);
  result.dims = dims;
  return result;
}

void Fusion::AddArguments(Arguments& arguments) const {
  for (std::size_t i = 0; i < items_.size(); ++i)
    if (items_[i].binary != dnnl::algorithm::undef)
      arguments.emplace_back(DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1, items_[i].other);
}

void Fusion::Commit() {
  for (const int node : nodes_) builder_.Absorb(node);
}

std::optional<FollowingBias> FindBias(const Builder& builder, int value, const Dims& dims, std::size_t channel) {
  const int next = builder.SoleConsumer(value);
  if (next < 0) return std::nullopt;
  const Node& node = builder.node(next);
  if (node.op_type != "Add" || !node.domain.empty()) return std::nullopt;
  const int other = node.inputs[node.inputs[0] == value ? 1 : 0];
  const Constant* constant = builder.graph().ConstantOf(other);
  if (constant == nullptr || constant->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) return std::nullopt;
  const std::optional<Dims> padded = Padded(constant->dims, dims);
  if (!padded || !IsAlong(*padded, channel) || (*padded)[channel] != dims[channel]) return std::nullopt;
  return FollowingBias{.value = other, .node = next};
}

}  // namespace sardonyx_onednn
