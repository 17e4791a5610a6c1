// tests/custom_ops/invoke_ops.cpp - operators that call other operators, and the threads of the session.
#include <time.h>

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

// x + x by Add, computed `calls` times; and the nanoseconds of processor time that one call takes.
class TimeCalls final : public Kernel {
 public:
  static Kernel* Make(const OrtKernelInfo* info) {
    auto* kernel = new TimeCalls;
    Check(api->KernelInfoGetAttribute_int64(info, "calls", &kernel->calls_));
    kernel->add_ = NewOp(info, "Add", 14, {{"T", kFloat}}, {}, 2, 1);
    return kernel;
  }
  ~TimeCalls() override { api->ReleaseOp(add_); }
  void Compute(OrtKernelContext* context) override {
    const OrtValue* x = InputValue(context, 0);
    const OrtValue* inputs[] = {x, x};
    OrtValue* outputs[] = {OutputValue(context, 0, Look(x).shape)};
    Check(api->InvokeOp(context, add_, inputs, 2, outputs, 1));
    const double start = Now();
    for (std::int64_t i = 0; i < calls_; ++i) Check(api->InvokeOp(context, add_, inputs, 2, outputs, 1));
    *Output<double>(context, 1, {}) = (Now() - start) / static_cast<double>(calls_);
  }

 private:
  static double Now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  }
  OrtOp* add_ = nullptr;
  std::int64_t calls_ = 1;
};

// One operator of each kind, called with shapes, types and contents that change from call to call.
class CallAgain final : public Kernel {
 public:
  static Kernel* Make(const OrtKernelInfo* info) {
    auto* kernel = new CallAgain;
    kernel->add_ = NewOp(info, "Add", 14, {{"T", kFloat}}, {}, 2, 1);
    kernel->fill_ = NewOp(info, "Expand", 13, {{"T", kFloat}}, {}, 2, 1);
    return kernel;
  }
  ~CallAgain() override {
    for (OrtOp* op : {add_, fill_}) api->ReleaseOp(op);
  }
  void Compute(OrtKernelContext* context) override {
    std::vector<std::string> told;
    for (const std::int64_t n : {3, 3, 5, 1, 3}) {
      std::vector<float> values(static_cast<std::size_t>(n), static_cast<float>(told.size() + 1));
      Use<float> x({n}, values.data(), values.size(), kFloat), sum({n}, values.data(), values.size(), kFloat);
      // The result goes where an input lies.
      const std::string outcome = Outcome(Call(context, add_, {x.value, sum.value}, sum.value));
      told.push_back(outcome + " " + std::to_string(values.back()));
    }
    for (const std::int64_t n : {2, 4, 2, 4}) {
      float one = 7;
      std::int64_t shape = n;
      std::vector<float> filled(4, 0);
      Use<float> x({1}, &one, 1, kFloat), y({4}, filled.data(), 4, kFloat);
      Use<std::int64_t> wanted({1}, &shape, 1, kInt64);
      const std::string outcome = Outcome(Call(context, fill_, {x.value, wanted.value}, y.value));
      told.push_back((outcome == "ok" ? "ok " : "error ") + std::to_string(n == 4 ? filled.back() : 0));
    }
    GiveTexts(context, 0, {static_cast<std::int64_t>(told.size())}, told);
  }

 private:
  template <typename T>
  struct Use {
    Use(const std::vector<std::int64_t>& shape, T* data, std::size_t count, Type type) {
      Check(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory));
      Check(api->CreateTensorWithDataAsOrtValue(memory, data, count * sizeof(T), shape.data(), shape.size(), type,
                                                &value));
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() {
      api->ReleaseValue(value);
      api->ReleaseMemoryInfo(memory);
    }
    OrtMemoryInfo* memory = nullptr;
    OrtValue* value = nullptr;
  };
  static OrtStatus* Call(OrtKernelContext* context, OrtOp* op, std::vector<const OrtValue*> inputs, OrtValue* output) {
    return api->InvokeOp(context, op, inputs.data(), static_cast<int>(inputs.size()), &output, 1);
  }
  OrtOp *add_ = nullptr, *fill_ = nullptr;
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
  static TestOp times("TimeCalls", {{kFloat}}, {{kFloat}, {kDouble}}, TimeCalls::Make);
  static TestOp again("CallAgain", {{kFloat}}, {{kString}}, CallAgain::Make);
  for (TestOp* op : {&call, &parallel, &times, &again}) Check(api->CustomOpDomain_Add(domain, op));
}

}  // namespace custom_ops
