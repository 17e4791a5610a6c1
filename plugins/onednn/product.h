// plugins/onednn/product.h - what Conv, ConvTranspose, MatMul and Gemm share: weights packed once, a bias, what follows
// computed with it, in float32, bfloat16 or int8.
#pragma once

#include <functional>
#include <optional>

#include "fusion.h"

namespace sardonyx_onednn {

struct Product {
  int input = -1, weights = -1, bias = -1, output = -1;  // values; no bias: -1
  Dims dims;                                             // of the result in the model
  Desc input_desc, weights_desc, result_desc;  // as the primitive sees them, with layout `any` where it chooses
  Dims bias_dims;
  std::size_t channel = 1;        // the axis of `result_desc` that the bias and the weights' scales go along
  std::int64_t weights_axis = 0;  // the same axis among those of the weights in the model
  bool plain = false;             // the result is row-major
  bool fuse = true;               // take over what follows
  // The tensors of the model as the primitive sees them.
  std::function<Tensor(const Tensor&)> view_input, view_weights;
};

// The data of a quantized product: input and weights as integers.
struct QuantizedProduct {
  Quantization input;
  Tensor weights;
  std::vector<float> scales;  // of the accumulated integers: one, or one for each channel
};
std::optional<QuantizedProduct> FindQuantizedProduct(Builder& builder, const Product& product);
// The bias in units of the accumulated integers.
Tensor ScaledBias(Builder& builder, const Product& product, int bias, const QuantizedProduct& quantized);
// True if everybody who reads the value computes in bfloat16 too.
bool IsReadAsBfloat16(const Builder& builder, int value);

inline Desc WithType(Desc desc, DataType type) {
  desc.data.data_type = static_cast<dnnl_data_type_t>(type);
  return desc;
}

// Runs the product with everything that can be computed with it. `describe(input, weights, bias or nullptr, result)`
// makes the primitive's descriptor.
template <typename Primitive, typename DescribeFn>
class ProductRun {
 public:
  ProductRun(Builder& builder, const Node& node, const Product& product, DescribeFn describe)
      : builder_(builder), node_(node), product_(product), describe_(describe) {}

  void Run() {
    quantized_ = FindQuantizedProduct(builder_, product_);
    bias_ = product_.bias;
    value_ = product_.output;
    if (bias_ < 0 && product_.fuse)
      if (const auto found = FindBias(builder_, value_, product_.dims,
                                      product_.channel + product_.dims.size() - product_.result_desc.dims().size())) {
        bias_ = found->value;
        value_ = builder_.node(found->node).outputs[0];
        builder_.Absorb(found->node);
      }
    if (quantized_ && (Try(product_.fuse, true) || (product_.fuse && Try(false, true)))) return;
    quantized_.reset();
    if ((product_.fuse && Try(true, true)) || Try(false, false)) return;
    throw Failure(ORT_NOT_IMPLEMENTED, "node '" + node_.name + "' (" + node_.op_type +
                                           "): oneDNN has no primitive for " + Show(product_.input_desc.dims()) +
                                           " and " + Show(product_.weights_desc.dims()));
  }

 private:
  // False if oneDNN does not implement it; with `fast`, also if it has only its reference implementation.
  bool Try(bool fuse, bool fast) {
    Fusion::Rules rules{.desc_dims = product_.result_desc.dims(),
                        .channel = product_.channel,
                        .plain = product_.plain,
                        .sum = !quantized_,
                        .quantize = quantized_.has_value()};
    std::optional<Fusion> fusion;
    if (fuse) fusion.emplace(builder_, value_, product_.dims, rules);
    if (fuse && fusion->empty()) return false;
    const int value = fuse ? fusion->value() : value_;
    const bool bf16 = !quantized_ && builder_.settings().bf16;
    Tensor input = quantized_ ? builder_.Raw(product_.input) : builder_.Float(product_.input);
    if (bf16 && !quantized_ && builder_.Raw(product_.input).desc.data.data_type == dnnl_bf16)
      input = builder_.Raw(product_.input);
    const Desc input_desc = WithType(product_.input_desc, quantized_ ? TypeOf(input)
                                                          : bf16     ? DataType::bf16
                                                                     : DataType::f32);
    const Desc weights_desc = WithType(product_.weights_desc, quantized_ ? DataType::s8
                                                              : bf16     ? DataType::bf16
                                                                         : DataType::f32);
    const DataType result_type = quantized_ && fuse && fusion->quantization() ? fusion->type()
                                 : bf16 && IsReadAsBfloat16(builder_, value)  ? DataType::bf16
                                                                              : DataType::f32;
    const Desc bias_desc = Builder::PlainDesc(product_.bias_dims);
    const auto found = Describe<Primitive>(describe_(input_desc, weights_desc, bias_ >= 0 ? &bias_desc : nullptr,
                                                     WithType(product_.result_desc, result_type)),
                                           Attributes(fuse ? &*fusion : nullptr), builder_.engine());
    if (!found || (fast && IsReference(*found))) return false;
    Arguments arguments;
    arguments.emplace_back(DNNL_ARG_SRC, builder_.As(product_.view_input(input), found->src_desc()));
    const Tensor weights = quantized_ ? quantized_->weights : builder_.Float(product_.weights);
    arguments.emplace_back(DNNL_ARG_WEIGHTS, builder_.As(product_.view_weights(weights), found->weights_desc()));
    if (bias_ >= 0) arguments.emplace_back(DNNL_ARG_BIAS, Bias());
    if (fuse) fusion->AddArguments(arguments);
    Tensor result = fuse ? fusion->Result(found->dst_desc(), product_.dims, arguments)
                         : builder_.New(found->dst_desc(), product_.dims);
    arguments.emplace_back(DNNL_ARG_DST, result);
    builder_.template Run<Primitive>(*found, std::move(arguments));
    if (fuse) fusion->Commit();
    if (result.desc.dims() != Builder::PlainDesc(product_.dims).dims()) result = builder_.View(result, product_.dims);
    builder_.Set(value, result);
    return true;
  }

  static DataType TypeOf(const Tensor& tensor) { return static_cast<DataType>(tensor.desc.data.data_type); }

  Tensor Bias() {
    if (quantized_) return ScaledBias(builder_, product_, bias_, *quantized_);
    return builder_.View(builder_.Plain(bias_), product_.bias_dims);
  }

  dnnl::primitive_attr Attributes(const Fusion* fusion) const {
    dnnl::primitive_attr attributes;
    const bool result_scale = fusion != nullptr && fusion->quantization() && fusion->scale_commutes();
    if (quantized_) {
      std::vector<float> scales = quantized_->scales;
      if (result_scale)
        for (float& scale : scales) scale /= fusion->quantization()->scale;
      attributes.set_output_scales(scales.size() > 1 ? 1 << product_.channel : 0, scales);
      if (quantized_->input.zero_point != 0)
        attributes.set_zero_points(DNNL_ARG_SRC, 0, {quantized_->input.zero_point});
      if (fusion != nullptr && fusion->quantization() && fusion->quantization()->zero_point != 0)
        attributes.set_zero_points(DNNL_ARG_DST, 0, {fusion->quantization()->zero_point});
    }
    if (fusion != nullptr) attributes.set_post_ops(fusion->PostOps(result_scale));
    return attributes;
  }

  Builder& builder_;
  const Node& node_;
  const Product& product_;
  DescribeFn describe_;
  std::optional<QuantizedProduct> quantized_;
  int bias_ = -1, value_ = -1;
};

template <typename Primitive, typename DescribeFn>
void RunProduct(Builder& builder, const Node& node, const Product& product, DescribeFn describe) {
  ProductRun<Primitive, DescribeFn>(builder, node, product, describe).Run();
}

}  // namespace sardonyx_onednn
