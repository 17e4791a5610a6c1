// plugins/onednn/builder.cpp - makes the plan of a group for given shapes.
#include "builder.h"

#include <algorithm>
#include <cstring>

#include "operators.h"

namespace sardonyx_onednn {
namespace {

DataType TypeOf(ONNXTensorElementDataType type, const std::string& value) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
      return DataType::f32;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
      return DataType::s8;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
      return DataType::u8;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
      return DataType::s32;
    default:
      throw Failure(ORT_NOT_IMPLEMENTED,
                    "value '" + value + "': expected float, int8, uint8 or int32, found type " + std::to_string(type));
  }
}

dnnl::primitive_attr DequantizingAttributes(const Quantization& from) {
  dnnl::primitive_attr attributes;
  attributes.set_output_scales(0, {from.scale});
  if (from.zero_point != 0) attributes.set_zero_points(DNNL_ARG_SRC, 0, {from.zero_point});
  return attributes;
}

bool IsWritten(int argument) { return argument == DNNL_ARG_DST || argument == DNNL_ARG_SCRATCHPAD; }

}  // namespace

std::size_t PackedConstants::size() const {
  const std::lock_guard lock(mutex_);
  std::size_t size = 0;
  for (const auto& [key, entries] : entries_)
    for (const auto& [desc, memory] : entries) size += memory.get_desc().get_size();
  return size;
}

Builder::Builder(const Graph& graph, const Settings& settings, const dnnl::engine& engine, PackedConstants& packed,
                 const std::vector<Dims>& input_dims)
    : graph_(graph),
      settings_(settings),
      engine_(engine),
      packed_(packed),
      plan_(std::make_unique<Plan>(engine)),
      done_(graph.nodes.size(), false) {
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const int value = graph.inputs[i];
    if (graph.ConstantOf(value) != nullptr) continue;
    Buffer buffer;
    buffer.kind = Buffer::Kind::kInput;
    buffer.index = i;
    const DataType type = TypeOf(graph.at(value).type, graph.at(value).name);
    Tensor tensor{.desc = PlainDesc(input_dims[i], type),
                  .dims = input_dims[i],
                  .buffer = plan_->AddBuffer(buffer),
                  .quantization = {}};
    tensors_.emplace(value, std::move(tensor));
  }
}

std::unique_ptr<Plan> Builder::Build() {
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (done_[i]) continue;
    const Node& node = graph_.nodes[i];
    current_ = "node '" + node.name + "' (" + node.op_type + ")";
    done_[i] = true;
    try {
      FindOperator(node)->build(*this, node);
    } catch (const dnnl::error& error) {
      Fail(node, std::string("oneDNN: ") + error.what());
    }
  }
  current_ = "the group's outputs";
  BindOutputs();
  return std::move(plan_);
}

void Builder::Fail(const Node& node, const std::string& message) const {
  throw Failure(ORT_EP_FAIL, "node '" + node.name + "' (" + node.op_type + "): " + message);
}

Desc Builder::PlainDesc(const Dims& dims, DataType type) {
  Dims sizes = dims.empty() ? Dims{1} : dims;
  Dims strides(sizes.size(), 1);
  for (std::size_t i = sizes.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * std::max<std::int64_t>(sizes[i], 1);
  return {sizes, type, strides};
}

bool Builder::IsPlain(const Desc& desc) {
  return desc == PlainDesc(desc.dims(), static_cast<DataType>(desc.data.data_type));
}

bool Builder::IsReady(int value) const {
  if (value < 0) return false;
  return tensors_.contains(value) || graph_.ConstantOf(value) != nullptr || Quantized(value).has_value();
}

const Tensor& Builder::Raw(int value) {
  if (const auto found = tensors_.find(value); found != tensors_.end()) return found->second;
  if (Quantized(value)) return tensors_.emplace(value, Float(value)).first->second;
  const Constant* constant = graph_.ConstantOf(value);
  if (constant == nullptr)
    throw Failure(ORT_EP_FAIL, current_ + ": expected value '" + graph_.at(value).name + "' to be there, found none");
  const Desc desc = PlainDesc(constant->dims, TypeOf(constant->type, graph_.at(value).name));
  const dnnl::memory memory(desc, engine_, const_cast<std::byte*>(constant->bytes.data()));
  Tensor tensor = ConstantTensor("v" + std::to_string(value), memory, constant->dims);
  return tensors_.emplace(value, std::move(tensor)).first->second;
}

Tensor Builder::Float(int value) {
  if (const auto found = floats_.find(value); found != floats_.end()) return found->second;
  if (const auto quantized = Quantized(value)) {
    const QuantizedConstant from = *quantized;
    return floats_[value] = Computed("d" + std::to_string(value), from.integers->dims, [&] {
             const std::vector<double> integers = from.integers->Numbers();
             std::vector<float> numbers(integers.size());
             std::size_t inner = 1, count = from.scales.size();
             if (count > 1)
               for (std::size_t i = static_cast<std::size_t>(from.axis) + 1; i < from.integers->dims.size(); ++i)
                 inner *= static_cast<std::size_t>(from.integers->dims[i]);
             for (std::size_t i = 0; i < integers.size(); ++i) {
               const std::size_t at = count > 1 ? i / inner % count : 0;
               numbers[i] =
                   static_cast<float>(integers[i] - from.zero_points[at]) * static_cast<float>(from.scales[at]);
             }
             return numbers;
           });
  }
  const Tensor tensor = Raw(value);
  if (!tensor.quantization) {
    if (tensor.desc.data.data_type == dnnl_f32) return tensor;
    Desc desc = tensor.desc;
    desc.data.data_type = dnnl_f32;
    return floats_[value] = Reorder(tensor, desc);
  }
  Desc desc = tensor.desc;
  desc.data.data_type = dnnl_f32;
  Tensor result = New(desc, tensor.dims);
  dnnl::primitive_attr attributes = DequantizingAttributes(*tensor.quantization);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  Run<dnnl::reorder>(dnnl::reorder::primitive_desc(engine_, tensor.desc, engine_, desc, attributes),
                     {{DNNL_ARG_SRC, tensor}, {DNNL_ARG_DST, result}});
  return floats_[value] = result;
}

void Builder::Set(int value, Tensor tensor) {
  if (value >= 0) tensors_[value] = std::move(tensor);
}

std::optional<QuantizedConstant> Builder::Quantized(int value) const {
  const int maker = value < 0 ? -1 : graph_.producer[static_cast<std::size_t>(value)];
  if (maker < 0 || node(maker).op_type != "DequantizeLinear") return std::nullopt;
  const Node& from = node(maker);
  QuantizedConstant quantized;
  quantized.value = from.inputs[0];
  quantized.integers = graph_.ConstantOf(from.inputs[0]);
  if (quantized.integers == nullptr) return std::nullopt;
  quantized.scales = graph_.ConstantOf(from.inputs[1])->Numbers();
  const Constant* zero = graph_.ConstantOf(from.Input(2));
  quantized.zero_points = zero == nullptr ? std::vector<double>(quantized.scales.size(), 0) : zero->Numbers();
  quantized.axis = from.Int("axis", 1);
  const auto rank = static_cast<std::int64_t>(quantized.integers->dims.size());
  if (quantized.axis < 0) quantized.axis += rank;
  if (quantized.scales.size() > 1 && (quantized.axis < 0 || quantized.axis >= rank ||
                                      quantized.integers->dims[static_cast<std::size_t>(quantized.axis)] !=
                                          static_cast<std::int64_t>(quantized.scales.size()) ||
                                      quantized.zero_points.size() != quantized.scales.size()))
    Fail(from, "expected a scale and a zero point for each position of axis " + std::to_string(quantized.axis) +
                   " of " + Show(quantized.integers->dims) + ", found " + std::to_string(quantized.scales.size()) +
                   " and " + std::to_string(quantized.zero_points.size()));
  return quantized;
}

Tensor Builder::New(const Desc& desc, const Dims& dims) {
  std::size_t elements = 1;
  for (const std::int64_t dim : desc.dims())
    if (__builtin_mul_overflow(elements, static_cast<std::size_t>(dim), &elements) || elements > (std::size_t{1} << 60))
      throw Failure(ORT_INVALID_ARGUMENT, current_ + ": expected a result that fits into memory, found " + Show(dims));
  Buffer buffer;
  buffer.size = desc.get_size();
  return {.desc = desc, .dims = dims, .buffer = plan_->AddBuffer(buffer), .quantization = {}};
}

Tensor Builder::ConstantTensor(const std::string& key, const dnnl::memory& memory, const Dims& dims) {
  Buffer buffer;
  buffer.kind = Buffer::Kind::kConstant;
  buffer.constant = memory;
  const int index = plan_->AddBuffer(buffer);
  constant_keys_.emplace(index, key);
  return {.desc = memory.get_desc(), .dims = dims, .buffer = index, .quantization = {}};
}

Tensor Builder::Computed(const std::string& key, const Dims& dims, DataType type,
                         const std::function<void(void*)>& fill) {
  const Desc desc = PlainDesc(dims, type);
  const dnnl::memory memory = packed_.Find(key, desc, [&] {
    dnnl::memory made(desc, engine_);
    fill(made.get_data_handle());
    return made;
  });
  return ConstantTensor(key, memory, dims);
}

Tensor Builder::Computed(const std::string& key, const Dims& dims, const std::function<std::vector<float>()>& compute) {
  return Computed(key, dims, DataType::f32, [&](void* place) {
    const std::vector<float> numbers = compute();
    if (!numbers.empty()) std::memcpy(place, numbers.data(), numbers.size() * sizeof(float));
  });
}

Tensor Builder::Reorder(const Tensor& tensor, const Desc& desc) {
  Tensor result = New(desc, tensor.dims);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  Run<dnnl::reorder>(dnnl::reorder::primitive_desc(engine_, tensor.desc, engine_, desc, attributes),
                     {{DNNL_ARG_SRC, tensor}, {DNNL_ARG_DST, result}});
  result.quantization = tensor.quantization;
  return result;
}

Tensor Builder::As(const Tensor& tensor, const Desc& desc) {
  if (tensor.desc == desc) return tensor;
  for (const Tensor& known : conversions_[tensor.buffer])
    if (known.desc == desc) return known;
  Tensor result;
  if (const auto constant = constant_keys_.find(tensor.buffer); constant != constant_keys_.end()) {
    std::string key = constant->second + ":";
    for (const std::int64_t each : tensor.desc.dims()) key += std::to_string(each) + ",";
    for (const std::int64_t each : tensor.desc.data.format_desc.blocking.strides) key += std::to_string(each) + ",";
    const dnnl::memory memory = packed_.Find(key, desc, [&] {
      dnnl::memory from(tensor.desc, engine_, plan_->buffer(tensor.buffer).constant.get_data_handle());
      dnnl::memory to(desc, engine_);
      dnnl::stream stream(engine_);
      dnnl::reorder(from, to).execute(stream, from, to);
      stream.wait();
      return to;
    });
    result = ConstantTensor(key, memory, tensor.dims);
    result.quantization = tensor.quantization;
  } else {
    result = Reorder(tensor, desc);
  }
  conversions_[tensor.buffer].push_back(result);
  return result;
}

Tensor Builder::Plain(const Tensor& tensor) {
  return As(tensor, PlainDesc(tensor.desc.dims(), static_cast<DataType>(tensor.desc.data.data_type)));
}

Tensor Builder::View(const Tensor& tensor, const Dims& dims) const {
  Tensor view = tensor;
  view.dims = dims;
  view.desc = PlainDesc(dims, static_cast<DataType>(tensor.desc.data.data_type));
  return view;
}

Tensor Builder::Expanded(const Tensor& tensor, const Dims& dims) {
  const Tensor from = Plain(tensor);
  Dims sizes(dims.size() - from.dims.size(), 1);
  sizes.insert(sizes.end(), from.dims.begin(), from.dims.end());
  Tensor result = NewPlain(dims);
  Native(
      [sizes, dims](std::span<void* const> places) {
        const auto* source = static_cast<const float*>(places[0]);
        auto* target = static_cast<float*>(places[1]);
        const std::int64_t row = dims.empty() ? 1 : dims.back(), count = CountOf(dims);
        const bool repeat = !dims.empty() && sizes.back() == 1;
        for (std::int64_t begin = 0; begin < count; begin += row) {
          std::int64_t rest = begin / std::max<std::int64_t>(row, 1), at = 0, stride = repeat ? 1 : row;
          for (std::size_t i = dims.size() - 1; i-- > 0;) {
            if (sizes[i] != 1) at += rest % dims[i] * stride;
            stride *= sizes[i];
            rest /= dims[i];
          }
          if (repeat)
            std::fill_n(target + begin, row, source[at]);
          else
            std::copy_n(source + at, row, target + begin);
        }
      },
      {from, result});
  return result;
}

Tensor Builder::Consumed(int value, const Tensor& tensor, const Desc& desc, int reader, const Arguments& reads) {
  const auto is_needed = [&](int each) {
    if (graph_.is_output[static_cast<std::size_t>(each)]) return true;
    for (const int consumer : graph_.consumers[static_cast<std::size_t>(each)])
      if (consumer != reader && !done_[static_cast<std::size_t>(consumer)]) return true;
    return false;
  };
  bool free = plan_->buffer(tensor.buffer).kind == Buffer::Kind::kArena && tensor.desc == desc && !is_needed(value);
  for (const auto& [other, kept] : tensors_)
    if (kept.buffer == tensor.buffer && is_needed(other)) free = false;
  for (const auto& [argument, read] : reads)
    if (read.buffer == tensor.buffer) free = false;
  return free ? tensor : Reorder(tensor, desc);
}

void Builder::Add(const dnnl::primitive& primitive, Arguments arguments) {
  std::vector<StepArgument> list;
  for (const auto& [argument, tensor] : arguments) {
    if (IsWritten(argument)) conversions_.erase(tensor.buffer);
    list.push_back({.argument = argument, .desc = tensor.desc, .buffer = tensor.buffer});
  }
  plan_->AddPrimitive(current_, primitive, std::move(list));
}

void Builder::Native(NativeFunction function, std::vector<Tensor> tensors) {
  std::vector<StepArgument> list;
  for (const Tensor& tensor : tensors) list.push_back({.argument = 0, .desc = tensor.desc, .buffer = tensor.buffer});
  plan_->AddNative(current_, std::move(function), std::move(list));
}

int Builder::SoleConsumer(int value) const {
  if (value < 0 || graph_.is_output[static_cast<std::size_t>(value)]) return -1;
  const std::vector<int>& readers = graph_.consumers[static_cast<std::size_t>(value)];
  return readers.size() == 1 && !done_[static_cast<std::size_t>(readers[0])] ? readers[0] : -1;
}

// Results lie where the host wants them. One that is an input, a constant, or shares its memory is copied there.
void Builder::BindOutputs() {
  std::vector<Dims> dims;
  for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
    const int value = graph_.outputs[i];
    const bool is_float = graph_.at(value).type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    Tensor tensor = Plain(is_float ? Float(value) : Raw(value));
    dims.push_back(tensor.dims);
    if (plan_->buffer(tensor.buffer).kind != Buffer::Kind::kArena) tensor = Reorder(tensor, tensor.desc);
    plan_->buffer(tensor.buffer).kind = Buffer::Kind::kOutput;
    plan_->buffer(tensor.buffer).index = i;
  }
  plan_->Finish(std::move(dims));
}

}  // namespace sardonyx_onednn
