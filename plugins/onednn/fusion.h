// plugins/onednn/fusion.h - what follows a primitive and is computed with it (oneDNN's post-ops).
#pragma once

#include <optional>
#include <vector>

#include "operators.h"

namespace sardonyx_onednn {

// The nodes after `value` that one primitive can take over, as long as each result has one reader.
class Fusion {
 public:
  struct Rules {
    Dims desc_dims;           // of the primitive's result; they may be a view of the value's
    std::size_t channel = 1;  // the axis of `desc_dims` along which a vector may be added
    bool plain = false;       // the result is row-major: tensors of its size can be read beside it
    bool sum = true;          // it can be added to what its memory holds
    bool tensors = true;      // other tensors can take part
    bool quantize = false;    // it can end in a QuantizeLinear
  };
  Fusion(Builder& builder, int value, const Dims& dims, const Rules& rules);

  int value() const { return value_; }  // that the primitive computes in the end
  bool empty() const { return nodes_.empty(); }
  bool has_sum() const { return sum_value_ >= 0; }
  const std::optional<Quantization>& quantization() const { return quantization_; }  // of the result
  DataType type() const { return type_; }                                            // of the result if it has one
  // `scale`: what the primitive's own result is to be multiplied with is the caller's matter; if it can be 1 / the
  // result's scale, `scale_is_applied`.
  dnnl::post_ops PostOps(bool scale_is_applied) const;
  // True if all functions commute with a positive factor, so that the result's scale can be applied before them.
  bool scale_commutes() const;

  // Once the primitive is chosen: the memory for its result, the arguments of its post-ops; the nodes are done.
  Tensor Result(const Desc& desc, const Dims& dims, const Arguments& reads);
  void AddArguments(Arguments& arguments) const;
  void Commit();

 private:
  struct Item {
    Eltwise eltwise;                                  // if `algorithm` is set
    dnnl::algorithm binary = dnnl::algorithm::undef;  // else if this is set
    Tensor other;                                     // of the binary one
  };

  bool Take(int index, const Dims& dims, const Rules& rules);
  bool TakeBinary(const Node& node, int index, const Dims& dims, const Rules& rules);
  bool TakeQuantize(const Node& node);

  Builder& builder_;
  int value_;
  std::vector<int> nodes_;
  std::vector<Item> items_;  // one with neither is the sum
  int sum_value_ = -1, sum_node_ = -1;
  std::optional<Quantization> quantization_;
  DataType type_ = DataType::f32;
};

// The constant vector that the only reader of `value` adds along the channels, for a primitive that has room for a
// bias: its elements, and the value of the sum. Nothing is absorbed yet.
struct FollowingBias {
  int value = -1;  // the constant
  int node = -1;   // the Add
};
std::optional<FollowingBias> FindBias(const Builder& builder, int value, const Dims& dims, std::size_t channel);

}  // namespace sardonyx_onednn
