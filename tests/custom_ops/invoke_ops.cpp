// tests/custom_ops/invoke_ops.cpp - operators that call other operators, and the threads of the session.
#include <atomic>

#include "test_op.h"

namespace custom_ops {
namespace {

struct Attributes {
  std::vector<OrtOpAttr*> list;
  ~Attributes() {
    for (OrtOpAttr* attribute : list) api->ReleaseOpAttr(attribute);
  }
  void Add(const char* name, const void* data, int len, OrtOpAttrType type) {
    OrtOpAttr* made = nullptr;
    Check(api->CreateOpAttr(name, data, len, type, &made));
    list.push_back(made);
  }
};

OrtOp* NewOp(const OrtKernelInfo* info, const char* name, int version, std::vector<std::pair<const char*, Type>> types,
             const Attributes& attributes, int inputs, int outputs) {
  std::vector<const char*> names;
  std::vector<Type> values;
  for (const auto& [parameter, type] : types) {
    names.push_back(parameter);
    values.push_back(type);
  }
  OrtOp* op = nullptr;
  Check(api->CreateOp(info, name, "", version, names.data(), values.data(), static_cast<int>(names.size()),
                      attributes.list.data(), static_cast<int>(attributes.list.size()), inputs, outputs, &op));
  return op;
}

// (x + x) * x by Add and Mul; the largest 2 by TopK, whose attributes have several types.
class CallOthers final : public Kernel {
 public:
  static Kernel* Make(const OrtKernelInfo* info) {
    auto* kernel = new CallOthers;
    kernel->add_ = NewOp(info, "Add", 14, {{"T", kFloat}}, {}, 2, 1);
    kernel->mul_ = NewOp(info, "Mul", 14, {{"T", kFloat}}, {}, 2, 1);
    Attributes attributes;
    const std::int64_t axis = -1, largest = 1, sorted = 1;
    attributes.Add("axis", &axis, 1, ORT_OP_ATTR_INT);
    attributes.Add("largest", &largest, 1, ORT_OP_ATTR_INT);
    attributes.Add("sorted", &sorted, 1, ORT_OP_ATTR_INT);
    kernel->top_ = NewOp(info, "TopK", 11, {{"T", kFloat}, {"I", kInt64}}, attributes, 2, 2);
    Check(api->CopyKernelInfo(info, &kernel->info_));
    return kernel;
  }
  ~CallOthers() override {
    for (OrtOp* op : {add_, mul_, top_}) api->ReleaseOp(op);
    api->ReleaseKernelInfo(info_);
  }
  void Compute(OrtKernelContext* context) override {
    const OrtValue* x = InputValue(context, 0);
    const std::vector<std::int64_t> shape = Look(x).shape;
    OrtAllocator* allocator = nullptr;
    Check(api->GetAllocatorWithDefaultOptions(&allocator));
    OrtValue* sum = nullptr;
    Check(api->CreateTensorAsOrtValue(allocator, shape.data(), shape.size(), kFloat, &sum));
    const OrtValue* two[] = {x, x};
    OrtValue* into[] = {sum};
    Check(api->InvokeOp(context, add_, two, 2, into, 1));
    two[0] = sum;
    into[0] = OutputValue(context, 0, shape);
    Check(api->InvokeOp(context, mul_, two, 2, into, 1));
    api->ReleaseValue(sum);
    std::int64_t k = 2;
    const std::int64_t one = 1;
    OrtMemoryInfo* memory = nullptr;
    Check(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory));
    OrtValue* count = nullptr;
    Check(api->CreateTensorWithDataAsOrtValue(memory, &k, sizeof(k), &one, 1, kInt64, &count));
    const OrtValue* top_inputs[] = {x, count};
    std::vector<std::int64_t> top_shape = shape;
    top_shape.back() = k;
    OrtValue* top_outputs[] = {OutputValue(context, 1, top_shape), OutputValue(context, 2, top_shape)};
    Check(api->InvokeOp(context, top_, top_inputs, 2, top_outputs, 2));
    // Mistakes are errors of the call, not of the run.
    std::vector<std::string> mistakes;
    mistakes.push_back(Outcome(api->InvokeOp(context, top_, top_inputs, 1, top_outputs, 2)));
    OrtOp* none = nullptr;
    mistakes.push_back(
        Outcome(api->CreateOp(info_, "NoSuchOperator", "", 14, nullptr, nullptr, 0, nullptr, 0, 1, 1, &none)));
    for (std::string& outcome : mistakes) outcome = outcome == "ok" ? "ok" : "error";
    GiveTexts(context, 3, {static_cast<std::int64_t>(mistakes.size())}, mistakes);
    api->ReleaseValue(count);
    api->ReleaseMemoryInfo(memory);
  }

 private:
  OrtKernelInfo* info_ = nullptr;
  OrtOp *add_ = nullptr, *mul_ = nullptr, *top_ = nullptr;
};

// [x, x], a sequence that an operator of ONNX makes.
class Pair final : public Kernel {
 public:
  static Kernel* Make(const OrtKernelInfo* info) {
    auto* kernel = new Pair;
    kernel->construct_ = NewOp(info, "SequenceConstruct", 11, {{"T", kFloat}}, {}, 2, 1);
    return kernel;
  }
  ~Pair() override { api->ReleaseOp(construct_); }
  void Compute(OrtKernelContext* context) override {
    const OrtValue* x = InputValue(context, 0);
    const OrtValue* inputs[] = {x, x};
    OrtValue* outputs[] = {OutputValue(context, 0, {})};
    Check(api->InvokeOp(context, construct_, inputs, 2, outputs, 1));
  }

 private:
  OrtOp* construct_ = nullptr;
};

// y[i] = x[i]^2, each element by a call of its own; the second output counts the calls.
class ParallelSquare final : public Kernel {
 public:
  static Kernel* Make(const OrtKernelInfo* info) {
    auto* kernel = new ParallelSquare;
    Check(api->KernelInfoGetAttribute_int64(info, "batches", &kernel->batches_));
    return kernel;
  }
  void Compute(OrtKernelContext* context) override {
    struct Work {
      const float* x;
      float* y;
      std::atomic<std::int64_t> calls{0};
    } work{Input(context, 0).As<float>(), nullptr};
    const Tensor x = Input(context, 0);
    work.y = Output<float>(context, 0, x.shape);
    Check(api->KernelContext_ParallelFor(
        context,
        [](void* data, std::size_t i) {
          auto& w = *static_cast<Work*>(data);
          w.y[i] = w.x[i] * w.x[i];
          ++w.calls;
        },
        x.count, static_cast<std::size_t>(batches_), &work));
    *Output<std::int64_t>(context, 1, {}) = work.calls;
  }

 private:
  std::int64_t batches_ = 0;
};

}  // namespace

void AddSequenceOps(OrtCustomOpDomain* domain) {
  static TestOp pair("Pair", {{kFloat}}, {{kAny}}, Pair::Make);
  Check(api->CustomOpDomain_Add(domain, &pair));
}

void AddInvokeOps(OrtCustomOpDomain* domain) {
  static TestOp call("CallOthers", {{kFloat}}, {{kFloat}, {kFloat}, {kInt64}, {kString}}, CallOthers::Make);
  static TestOp parallel("ParallelSquare", {{kFloat}}, {{kFloat}, {kInt64}}, ParallelSquare::Make);
  for (TestOp* op : {&call, &parallel}) Check(api->CustomOpDomain_Add(domain, op));
}

}  // namespace custom_ops
