// tests/providers/kernels/computing.cpp - the kernels, each of one operator, and their registry.
#include <algorithm>
#include <climits>
#include <cstring>
#include <functional>
#include <memory>

#include "plugin.h"

namespace kernels {
namespace {

// A tensor of a call: its shape, and the bytes as the plug-in reaches them.
struct Tensor {
  std::vector<std::int64_t> shape;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  const void* data = nullptr;  // as the runtime knows it
  std::int64_t count() const {
    std::int64_t all = 1;
    for (const std::int64_t dim : shape) all *= dim;
    return all;
  }
  std::size_t bytes() const {
    return static_cast<std::size_t>(count()) * (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 ? 8 : 4);
  }
  float* floats() const { return static_cast<float*>(Reach(data)); }
  std::int64_t* integers() const { return static_cast<std::int64_t*>(Reach(data)); }
};

Tensor Describe(const OrtValue* value) {
  Tensor tensor;
  OrtTensorTypeAndShapeInfo* info = nullptr;
  Check(api->GetTensorTypeAndShape(value, &info));
  std::size_t rank = 0;
  OrtStatus* status = api->GetTensorElementType(info, &tensor.type);
  if (status == nullptr) status = api->GetDimensionsCount(info, &rank);
  tensor.shape.resize(rank);
  if (status == nullptr) status = api->GetDimensions(info, tensor.shape.data(), rank);
  api->ReleaseTensorTypeAndShapeInfo(info);
  Check(status);
  Check(api->GetTensorData(value, &tensor.data));
  return tensor;
}

enum class Where { kCard, kHost };

void CheckPlace(const Tensor& tensor, Where where, bool reads, bool is_counted) {
  if (tensor.count() == 0) return;
  if (where == Where::kCard && reaches_host) where = Where::kHost;
  if (IsOnCard(tensor.data) != (where == Where::kCard))
    Fail(where == Where::kCard ? "expected memory of the card, found other memory"
                               : "expected memory that the host reaches, found the card's");
  if (where != Where::kHost || !is_counted) return;
  const bool pinned = IsPinned(tensor.data);
  ++(reads ? (pinned ? counts.read_pinned : counts.read_pageable)
           : (pinned ? counts.wrote_pinned : counts.wrote_pageable));
}

class Call {
 public:
  // Copies between the host and the card are the runtime's idea: which there are is not counted.
  Call(const char* op_type, OrtKernelContext* context)
      : op_type_(op_type), counts_(op_type_.rfind("Memcpy", 0) != 0), context_(context) {}
  Tensor Input(std::size_t i, Where where = Where::kCard) const {
    const OrtValue* value = nullptr;
    Check(api->KernelContext_GetInput(context_, i, &value));
    const Tensor tensor = Describe(value);
    CheckPlace(tensor, where, true, counts_);
    if (counts_) NoteMemory(op_type_ + ", input " + std::to_string(i), value);
    return tensor;
  }
  Tensor Output(const std::vector<std::int64_t>& shape, Where where = Where::kCard) const {
    OrtValue* value = nullptr;
    Check(api->KernelContext_GetOutput(context_, 0, shape.data(), shape.size(), &value));
    const Tensor tensor = Describe(value);
    CheckPlace(tensor, where, false, counts_);
    if (counts_) NoteMemory(op_type_ + ", output", value);
    return tensor;
  }

 private:
  std::string op_type_;
  bool counts_;
  OrtKernelContext* context_;
};

// Of two tensors, whose shapes are the same or of which one is a suffix of the other.
void RunPairs(const Call& call, float (*function)(float, float)) {
  const Tensor a = call.Input(0), b = call.Input(1);
  const Tensor& larger = a.count() >= b.count() ? a : b;
  const Tensor to = call.Output(larger.shape);
  const std::int64_t a_count = std::max<std::int64_t>(a.count(), 1), b_count = std::max<std::int64_t>(b.count(), 1);
  for (std::int64_t i = 0; i < to.count(); ++i)
    to.floats()[i] = function(a.floats()[i % a_count], b.floats()[i % b_count]);
}

void RunAdd(const Call& call) {
  RunPairs(call, [](float a, float b) { return a + b; });
}
void RunMul(const Call& call) {
  RunPairs(call, [](float a, float b) { return a * b; });
}

void RunRelu(const Call& call) {
  const Tensor from = call.Input(0), to = call.Output(from.shape);
  for (std::int64_t i = 0; i < from.count(); ++i) to.floats()[i] = std::max(from.floats()[i], 0.0f);
}

void RunMatMul(const Call& call) {
  const Tensor a = call.Input(0), b = call.Input(1);
  if (a.shape.size() != 2 || b.shape.size() != 2) Fail("MatMul: expected matrices");
  const std::int64_t rows = a.shape[0], depth = a.shape[1], columns = b.shape[1];
  const Tensor to = call.Output({rows, columns});
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) sum += a.floats()[i * depth + k] * b.floats()[k * columns + j];
      to.floats()[i * columns + j] = sum;
    }
  }
}

void RunShape(const Call& call) {
  const Tensor from = call.Input(0);
  const Tensor to = call.Output({static_cast<std::int64_t>(from.shape.size())}, Where::kHost);
  std::copy(from.shape.begin(), from.shape.end(), to.integers());
}

// The target shape is read on the host, to know how much memory to ask for.
void RunReshape(const Call& call) {
  const Tensor from = call.Input(0), target = call.Input(1, Where::kHost);
  std::vector<std::int64_t> shape(target.integers(), target.integers() + target.count());
  std::int64_t known = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) shape[i] = from.shape[i];
    if (shape[i] > 0) known *= shape[i];
  }
  for (std::int64_t& dim : shape)
    if (dim < 0) dim = known == 0 ? 0 : from.count() / known;
  const Tensor to = call.Output(shape);
  if (to.bytes() != 0) std::memcpy(to.floats(), from.floats(), from.bytes());
}

void RunSize(const Call& call) {
  const Tensor from = call.Input(0), to = call.Output({}, Where::kHost);
  *to.integers() = from.count();
}

void RunFromHost(const Call& call) {
  const Tensor from = call.Input(0, Where::kHost), to = call.Output(from.shape);
  if (to.bytes() != 0) std::memcpy(Reach(to.data), from.data, to.bytes());
}

void RunToHost(const Call& call) {
  const Tensor from = call.Input(0), to = call.Output(from.shape, Where::kHost);
  if (to.bytes() != 0) std::memcpy(Reach(to.data), Reach(from.data), to.bytes());
}

struct Operator {
  const char* name;
  int first, last;  // versions
  void (*run)(const Call&);
  std::vector<const char*> types;  // the constraints: each takes floats, those of `all` integers, too
  bool all = false;
  int host_input = -1, host_output = -1;
};

const std::vector<Operator>& Operators() {
  static const std::vector<Operator> kAll = {
      {"Add", 7, 13, RunAdd, {"T"}},
      {"Add", 14, INT_MAX, RunAdd, {"T"}},
      {"Mul", 7, 13, RunMul, {"T"}},
      {"Mul", 14, INT_MAX, RunMul, {"T"}},
      {"Relu", 6, 13, RunRelu, {"T"}},
      {"Relu", 14, INT_MAX, RunRelu, {"T"}},
      {"MatMul", 9, 12, RunMatMul, {"T"}},
      {"MatMul", 13, INT_MAX, RunMatMul, {"T"}},
      {"Shape", 1, 14, RunShape, {"T"}, false, -1, 0},
      {"Shape", 15, 18, RunShape, {"T"}, false, -1, 0},
      {"Size", 1, 18, RunSize, {"T"}, false, -1, 0},
      {"Reshape", 5, 13, RunReshape, {"T"}, false, 1, -1},
      {"Reshape", 14, 18, RunReshape, {"T"}, false, 1, -1},
      {"MemcpyFromHost", 1, INT_MAX, RunFromHost, {"T"}, true, 0, -1},
      {"MemcpyToHost", 1, INT_MAX, RunToHost, {"T"}, true, -1, 0},
  };
  return kAll;
}

struct Kernel : OrtKernelImpl {
  Kernel(const Operator& runs, const OrtKernelInfo* info) : OrtKernelImpl{}, op(runs), memories(MemoriesOf(info)) {
    ort_version_supported = kVersion;
    Compute = [](OrtKernelImpl* self, OrtKernelContext* context) -> OrtStatus* {
      return Guard([&] {
        const auto& kernel = *static_cast<const Kernel*>(self);
        kernel.op.run(Call(kernel.op.name, context));
        AskWhenRun(kernel.memories, context);
        ++counts.computed;
      });
    };
    Release = [](OrtKernelImpl* self) { delete static_cast<Kernel*>(self); };
    AskWhenMade(info);
    ++counts.kernels;
  }
  ~Kernel() { --counts.kernels; }
  const Operator& op;
  const Memories memories;
};

OrtStatus* ORT_API_CALL CreateKernel(void* state, const OrtKernelInfo* info, OrtKernelImpl** kernel) {
  return Guard([&] { *kernel = std::make_unique<Kernel>(*static_cast<const Operator*>(state), info).release(); });
}

void Define(OrtKernelDefBuilder* builder, const Operator& op) {
  Check(ep_api->KernelDefBuilder_SetOperatorType(builder, op.name));
  Check(ep_api->KernelDefBuilder_SetDomain(builder, ""));
  Check(ep_api->KernelDefBuilder_SetSinceVersion(builder, op.first, op.last));
  Check(ep_api->KernelDefBuilder_SetExecutionProvider(builder, kName));
  const OrtDataType* types[2] = {};
  Check(ep_api->GetTensorDataType(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &types[0]));
  Check(ep_api->GetTensorDataType(ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, &types[1]));
  for (const char* constraint : op.types)
    Check(ep_api->KernelDefBuilder_AddTypeConstraint(builder, constraint, types, op.all ? 2 : 1));
  if (op.host_input >= 0)
    Check(ep_api->KernelDefBuilder_SetInputMemType(builder, static_cast<size_t>(op.host_input), OrtMemTypeCPUInput));
  if (op.host_output >= 0)
    Check(ep_api->KernelDefBuilder_SetOutputMemType(builder, static_cast<size_t>(op.host_output), OrtMemTypeCPUOutput));
}

}  // namespace

OrtKernelRegistry* NewRegistry() {
  OrtKernelRegistry* registry = nullptr;
  Check(ep_api->CreateKernelRegistry(&registry));
  for (const Operator& op : Operators()) {
    OrtKernelDefBuilder* builder = nullptr;
    OrtKernelDef* definition = nullptr;
    OrtStatus* status = Guard([&] {
      Check(ep_api->CreateKernelDefBuilder(&builder));
      Define(builder, op);
      Check(ep_api->KernelDefBuilder_Build(builder, &definition));
      Check(ep_api->KernelRegistry_AddKernel(registry, definition, CreateKernel, const_cast<Operator*>(&op)));
    });
    if (definition != nullptr) ep_api->ReleaseKernelDef(definition);
    if (builder != nullptr) ep_api->ReleaseKernelDefBuilder(builder);
    if (status != nullptr) {
      ep_api->ReleaseKernelRegistry(registry);
      throw Failure(status);
    }
  }
  return registry;
}

}  // namespace kernels
