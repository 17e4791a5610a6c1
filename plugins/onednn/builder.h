// plugins/onednn/builder.h - makes the plan of a group for given shapes. Operators call it for their inputs, in the
// layout that their primitive prefers, and tell it what they have computed.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model.h"
#include "plan.h"

namespace sardonyx_onednn {

using Desc = dnnl::memory::desc;
using DataType = dnnl::memory::data_type;

struct Settings {
  int threads = 1;
  bool bf16 = false;
  bool int8 = true;
  bool small_groups = false;
  bool keep_nan = true;    // runs with inputs that are not finite get plans that keep NaN
  bool keeps_nan = false;  // of a plan: nothing is computed with what takes the other operand where an element is NaN
};

// Constants as primitives want them, shared by all plans of a group: packed weights, biases in other units.
class PackedConstants {
 public:
  // What `make` made for the same key and layout earlier, or makes it. The layout decides besides the key, because
  // the same weights may be packed for several shapes.
  template <typename Make>
  dnnl::memory Find(const std::string& key, const Desc& desc, Make&& make) {
    const std::lock_guard lock(mutex_);
    for (const auto& [known, memory] : entries_[key])
      if (known == desc) return memory;
    dnnl::memory memory = make();
    entries_[key].emplace_back(desc, memory);
    return memory;
  }
  std::size_t size() const;  // bytes

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<std::pair<Desc, dnnl::memory>>> entries_;
};

// Scale and zero point of a tensor: (element - zero_point) * scale.
struct Quantization {
  float scale = 1;
  int zero_point = 0;
};

struct Tensor {
  Desc desc;  // dims as in the model, but {1} for a scalar
  Dims dims;
  int buffer = -1;
  std::optional<Quantization> quantization;  // its elements are integers that stand for these numbers
};

// The values of a DequantizeLinear of a constant.
struct QuantizedConstant {
  int value = -1;  // the integers
  const Constant* integers = nullptr;
  std::vector<double> scales, zero_points;  // one, or one for each position of the axis
  std::int64_t axis = 0;
};

using Arguments = std::vector<std::pair<int, Tensor>>;

class Builder {
 public:
  Builder(const Graph& graph, const Settings& settings, const dnnl::engine& engine, PackedConstants& packed,
          const std::vector<Dims>& input_dims);

  // Fails with the node's name.
  std::unique_ptr<Plan> Build();

  const Graph& graph() const { return graph_; }
  const Settings& settings() const { return settings_; }
  const dnnl::engine& engine() const { return engine_; }

  bool IsReady(int value) const;
  const Tensor& Raw(int value);  // whatever it is kept as
  Tensor Float(int value);       // float32, in any layout
  Tensor Plain(int value) { return Plain(Float(value)); }
  void Set(int value, Tensor tensor);
  std::optional<QuantizedConstant> Quantized(int value) const;

  Tensor Plain(const Tensor& tensor);  // row-major
  // In this layout and element type; a constant is converted once for all plans.
  Tensor As(const Tensor& tensor, const Desc& desc);
  // The same elements, in a layout of other dims; the tensor must be row-major.
  Tensor View(const Tensor& tensor, const Dims& dims) const;
  Tensor New(const Desc& desc, const Dims& dims);
  Tensor NewPlain(const Dims& dims, DataType type = DataType::f32) { return New(PlainDesc(dims, type), dims); }
  // A constant computed from the model's: `key` names it among those of the group. `fill` writes the elements.
  Tensor Computed(const std::string& key, const Dims& dims, DataType type, const std::function<void(void*)>& fill);
  Tensor Computed(const std::string& key, const Dims& dims, const std::function<std::vector<float>()>& compute);
  // Row-major, repeated to the size of `dims`.
  Tensor Expanded(const Tensor& tensor, const Dims& dims);
  // The memory of a value, to be overwritten once node `reader` has read it: its own if nobody needs it any more and
  // it is not among `reads`, else a copy; in this layout.
  Tensor Consumed(int value, const Tensor& tensor, const Desc& desc, int reader, const Arguments& reads);

  template <typename Primitive>
  void Run(const typename Primitive::primitive_desc& desc, Arguments arguments) {
    if (const Desc scratch = desc.scratchpad_desc(); scratch.get_size() != 0)
      arguments.emplace_back(DNNL_ARG_SCRATCHPAD, New(scratch, {}));
    Add(Primitive(desc), std::move(arguments));
  }
  void Native(NativeFunction function, std::vector<Tensor> tensors);

  // The only reader of a value that nobody else sees, -1 if it has none or if it is part of the plan already.
  int SoleConsumer(int value) const;
  void Absorb(int node) { done_[static_cast<std::size_t>(node)] = true; }
  const Node& node(int index) const { return graph_.nodes[static_cast<std::size_t>(index)]; }

  [[noreturn]] void Fail(const Node& node, const std::string& message) const;

  static Desc PlainDesc(const Dims& dims, DataType type = DataType::f32);
  static bool IsPlain(const Desc& desc);

 private:
  void Add(const dnnl::primitive& primitive, Arguments arguments);
  Tensor ConstantTensor(const std::string& key, const dnnl::memory& memory, const Dims& dims);
  Tensor Reorder(const Tensor& tensor, const Desc& desc);
  void BindOutputs();

  const Graph& graph_;
  const Settings& settings_;
  const dnnl::engine& engine_;
  PackedConstants& packed_;
  std::unique_ptr<Plan> plan_;
  std::string current_;  // the node that is being built
  std::vector<bool> done_;
  std::map<int, Tensor> tensors_;                   // by value
  std::map<int, Tensor> floats_;                    // by value: dequantized
  std::map<int, std::string> constant_keys_;        // by buffer
  std::map<int, std::vector<Tensor>> conversions_;  // by buffer: the same elements in other layouts
};

// A primitive's description, or nothing if oneDNN does not implement it.
template <typename Primitive>
std::optional<typename Primitive::primitive_desc> Describe(const typename Primitive::desc& desc,
                                                           dnnl::primitive_attr attributes,
                                                           const dnnl::engine& engine) {
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  typename Primitive::primitive_desc found(desc, attributes, engine, /*allow_empty=*/true);
  if (!found) return std::nullopt;
  return found;
}

template <typename Description>
bool IsReference(const Description& description) {
  return std::string_view(description.impl_info_str()).find("ref") != std::string_view::npos;
}

}  // namespace sardonyx_onednn
