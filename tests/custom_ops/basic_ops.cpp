// tests/custom_ops/basic_ops.cpp - operators that compute: element types, shapes, strings, variadic and optional
// values.
#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstring>
#include <numeric>

#include "test_op.h"

namespace custom_ops {
namespace {

std::atomic<int> ticks = 0;

// y = x + amount
class AddAmount final : public Kernel {
 public:
  explicit AddAmount(float amount) : amount_(amount) {}
  static Kernel* Make(const OrtKernelInfo* info) { return new AddAmount(FloatAttribute(info, "amount", 1)); }
  void Compute(OrtKernelContext* context) override {
    const Tensor x = Input(context, 0);
    auto* y = Output<float>(context, 0, x.shape);
    for (std::size_t i = 0; i < x.count; ++i) y[i] = x.As<float>()[i] + amount_;
  }

 private:
  float amount_;
};

// y = 2 x, one operator for each element type.
template <typename T>
class Twice final : public Kernel {
 public:
  static Kernel* Make(const OrtKernelInfo*) { return new Twice; }
  void Compute(OrtKernelContext* context) override {
    const Tensor x = Input(context, 0);
    auto* y = Output<T>(context, 0, x.shape);
    for (std::size_t i = 0; i < x.count; ++i) y[i] = 2 * x.As<T>()[i];
  }
};

// y = x, of any type; with elements in reverse order, to see that it was this kernel.
class Reverse final : public Kernel {
 public:
  static Kernel* Make(const OrtKernelInfo*) { return new Reverse; }
  void Compute(OrtKernelContext* context) override {
    const OrtValue* value = InputValue(context, 0);
    const Tensor x = Look(value);
    if (x.type == kString) {
      const std::vector<std::string> texts = Texts(value);
      return GiveTexts(context, 0, x.shape, {texts.rbegin(), texts.rend()});
    }
    std::size_t bytes = 0;
    Check(api->GetTensorSizeInBytes(value, &bytes));
    const std::size_t size = x.count == 0 ? 0 : bytes / x.count;
    auto* y = Output<char>(context, 0, x.shape);
    for (std::size_t i = 0; i < x.count; ++i) std::memcpy(y + i * size, x.As<char>() + (x.count - 1 - i) * size, size);
  }
};

// The elements that are not negative: only the kernel knows how many.
class Positive final : public Kernel {
 public:
  static Kernel* Make(const OrtKernelInfo*) { return new Positive; }
  void Compute(OrtKernelContext* context) override {
    const Tensor x = Input(context, 0);
    std::vector<float> kept;
    for (std::size_t i = 0; i < x.count; ++i)
      if (x.As<float>()[i] >= 0) kept.push_back(x.As<float>()[i]);
    auto* y = Output<float>(context, 0, {static_cast<std::int64_t>(kept.size())});
    std::copy(kept.begin(), kept.end(), y);
  }
};

// The number of elements of each input that is there, -1 for one that is not; the last input is variadic.
class Counts final : public Kernel {
 public:
  static Kernel* Make(const OrtKernelInfo*) { return new Counts; }
  void Compute(OrtKernelContext* context) override {
    std::size_t inputs = 0;
    Check(api->KernelContext_GetInputCount(context, &inputs));
    auto* y = Output<std::int64_t>(context, 0, {static_cast<std::int64_t>(inputs)});
    for (std::size_t i = 0; i < inputs; ++i) {
      const OrtValue* value = InputValue(context, i);
      y[i] = value == nullptr ? -1 : static_cast<std::int64_t>(Look(value).count);
    }
  }
};

// Deals the rows of x to any number of outputs.
class Deal final : public Kernel {
 public:
  static Kernel* Make(const OrtKernelInfo*) { return new Deal; }
  void Compute(OrtKernelContext* context) override {
    const Tensor x = Input(context, 0);
    std::size_t outputs = 0;
    Check(api->KernelContext_GetOutputCount(context, &outputs));
    for (std::size_t k = 0; k < outputs; ++k) {
      std::vector<float> hand;
      for (std::size_t i = k; i < x.count; i += outputs) hand.push_back(x.As<float>()[i]);
      auto* y = Output<float>(context, k, {static_cast<std::int64_t>(hand.size())});
      std::copy(hand.begin(), hand.end(), y);
    }
  }
};

// Scales x by an optional factor; an optional second output is the sum.
class Scale final : public Kernel {
 public:
  static Kernel* Make(const OrtKernelInfo*) { return new Scale; }
  void Compute(OrtKernelContext* context) override {
    const Tensor x = Input(context, 0);
    const OrtValue* factor = InputValue(context, 1);
    const float by = factor == nullptr ? 10 : *Look(factor).As<float>();
    auto* y = Output<float>(context, 0, x.shape);
    float sum = 0;
    for (std::size_t i = 0; i < x.count; ++i) sum += y[i] = x.As<float>()[i] * by;
    if (auto* s = Output<float>(context, 1, {})) *s = sum;
  }
};

class Upper final : public Kernel {
 public:
  static Kernel* Make(const OrtKernelInfo*) { return new Upper; }
  void Compute(OrtKernelContext* context) override {
    const OrtValue* value = InputValue(context, 0);
    std::vector<std::string> texts = Texts(value);
    for (std::string& text : texts)
      for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    GiveTexts(context, 0, Look(value).shape, texts);
  }
};

// Writes the first element only: the others come from the input, whose bytes the output shares.
class SetFirst final : public Kernel {
 public:
  static Kernel* Make(const OrtKernelInfo*) { return new SetFirst; }
  void Compute(OrtKernelContext* context) override {
    const Tensor x = Input(context, 0);
    auto* y = Output<float>(context, 0, x.shape);
    y[0] = 100;
  }
};

size_t ORT_API_CALL FirstToFirst(int** inputs, int** outputs) {
  *inputs = new int[1]{0};
  *outputs = new int[1]{0};
  return 1;
}
void ORT_API_CALL ReleasePairs(int* inputs, int* outputs) {
  delete[] inputs;
  delete[] outputs;
}

// y[i] = x[i] + other[n - 1 - i], of the first `count` elements; which is wrong if y lies where `other` does. Says
// whether y has the memory of x.
class AddTurned final : public Kernel {
 public:
  explicit AddTurned(float count) : count_(static_cast<std::int64_t>(count)) {}
  static Kernel* Make(const OrtKernelInfo* info) { return new AddTurned(FloatAttribute(info, "count", -1)); }
  void Compute(OrtKernelContext* context) override {
    const Tensor x = Input(context, 0);
    const OrtValue* other = InputValue(context, 1);
    auto* y = Output<float>(context, 0, count_ >= 0 ? std::vector{count_} : x.shape);
    const std::size_t count = count_ >= 0 ? static_cast<std::size_t>(count_) : x.count;
    *Output<std::int64_t>(context, 1, {}) = y == x.As<float>();
    for (std::size_t i = 0; i < count; ++i)
      y[i] = x.As<float>()[i] + (other == nullptr ? 1 : Look(other).As<float>()[count - 1 - i]);
  }

 private:
  std::int64_t count_;
};

// Counts its calls, in this process: nobody may fold, merge or drop it.
class Tick final : public Kernel {
 public:
  static Kernel* Make(const OrtKernelInfo*) { return new Tick; }
  void Compute(OrtKernelContext* context) override {
    ++ticks;
    const Tensor x = Input(context, 0);
    auto* y = Output<float>(context, 0, x.shape);
    std::copy_n(x.As<float>(), x.count, y);
  }
};

template <int kNumber>
class Number final : public Kernel {
 public:
  static Kernel* Make(const OrtKernelInfo*) { return new Number; }
  void Compute(OrtKernelContext* context) override { *Output<std::int64_t>(context, 0, {}) = kNumber; }
};

// y = x repeated along the first axis, as often as attribute `times` says; its shape function says so, too.
class Repeat final : public Kernel {
 public:
  static Kernel* Make(const OrtKernelInfo* info) {
    auto* kernel = new Repeat;
    Check(api->KernelInfoGetAttribute_int64(info, "times", &kernel->times_));
    return kernel;
  }
  void Compute(OrtKernelContext* context) override {
    const Tensor x = Input(context, 0);
    std::vector<std::int64_t> shape = x.shape;
    shape[0] *= times_;
    auto* y = Output<float>(context, 0, shape);
    for (std::int64_t k = 0; k < times_; ++k)
      std::copy_n(x.As<float>(), x.count, y + k * static_cast<std::int64_t>(x.count));
  }
  static OrtStatus* ORT_API_CALL Infer(const OrtCustomOp*, OrtShapeInferContext* context) {
    return Guarded([&] {
      std::size_t inputs = 0, rank = 0, size = 0;
      Check(api->ShapeInferContext_GetInputCount(context, &inputs));
      OrtTensorTypeAndShapeInfo* info = nullptr;
      Check(api->ShapeInferContext_GetInputTypeShape(context, 0, &info));
      Check(api->GetDimensionsCount(info, &rank));
      std::vector<std::int64_t> shape(rank);
      std::vector<const char*> symbols(rank);
      Check(api->GetDimensions(info, shape.data(), rank));
      Check(api->GetSymbolicDimensions(info, symbols.data(), rank));
      const OrtOpAttr* attribute = nullptr;
      std::int64_t times = 0;
      Check(api->ShapeInferContext_GetAttribute(context, "times", &attribute));
      Check(api->ReadOpAttr(attribute, ORT_OP_ATTR_INT, &times, sizeof(times), &size));
      std::int64_t predicted = 0;  // what the function says instead, if the node has it: a prediction may be wrong
      OrtStatus* none = api->ShapeInferContext_GetAttribute(context, "predicted", &attribute);
      if (none == nullptr) {
        Check(api->ReadOpAttr(attribute, ORT_OP_ATTR_INT, &predicted, sizeof(predicted), &size));
        times = predicted;
      }
      api->ReleaseStatus(none);
      if (inputs != 1 || rank == 0 || size != sizeof(times)) throw std::runtime_error("Repeat: wrong context");
      const std::string repeated = "repeated_" + std::string(symbols[0]);
      if (shape[0] >= 0)
        shape[0] *= times;
      else
        symbols[0] = repeated.c_str();
      OrtTensorTypeAndShapeInfo* made = nullptr;
      Check(api->CreateTensorTypeAndShapeInfo(&made));
      Check(api->SetTensorElementType(made, kFloat));
      Check(api->SetDimensions(made, shape.data(), rank));
      Check(api->SetSymbolicDimensions(made, symbols.data(), rank));
      Check(api->ShapeInferContext_SetOutputTypeShape(context, 0, made));
      api->ReleaseTensorTypeAndShapeInfo(made);
    });
  }

 private:
  std::int64_t times_ = 0;
};

// The number of elements of a sequence, or of a tensor.
class Items final : public Kernel {
 public:
  static Kernel* Make(const OrtKernelInfo*) { return new Items; }
  void Compute(OrtKernelContext* context) override {
    const OrtValue* value = InputValue(context, 0);
    ONNXType kind = ONNX_TYPE_UNKNOWN;
    Check(api->GetValueType(value, &kind));
    std::size_t count = 0;
    if (kind == ONNX_TYPE_TENSOR)
      count = Look(value).count;
    else
      Check(api->GetValueCount(value, &count));
    *Output<std::int64_t>(context, 0, {}) = static_cast<std::int64_t>(count);
  }
};

void AddAll(OrtCustomOpDomain* domain, std::initializer_list<TestOp*> ops) {
  for (TestOp* op : ops) Check(api->CustomOpDomain_Add(domain, op));
}

}  // namespace

void AddOldestOps(OrtCustomOpDomain* domain) {
  static TestOp add("AddAmountOldest", {{kFloat}}, {{kFloat}}, AddAmount::Make);
  add.OldForm(1);
  AddAll(domain, {&add});
}

void AddReplacingOps(OrtCustomOpDomain* onnx, OrtCustomOpDomain* microsoft) {
  static TestOp relu("Relu", {{kFloat}}, {{kFloat}}, AddAmount::Make);
  static TestOp extra("AddToAll", {{kFloat}}, {{kFloat}}, AddAmount::Make);
  static TestOp gelu("Gelu", {{kFloat}}, {{kFloat}}, AddAmount::Make);
  AddAll(onnx, {&relu, &extra});
  AddAll(microsoft, {&gelu});
}

void AddBasicOps(OrtCustomOpDomain* domain) {
  static TestOp add("AddAmount", {{kFloat}}, {{kFloat}}, AddAmount::Make);
  static TestOp add_old("AddAmountOld", {{kFloat}}, {{kFloat}}, AddAmount::Make);
  static TestOp add_16("AddAmount16", {{kFloat}}, {{kFloat}}, AddAmount::Make);
  add_old.OldForm(8);
  add_16.OldForm(16);
  static TestOp twice_float("Twice", {{kFloat}}, {{kFloat}}, Twice<float>::Make);
  static TestOp twice_int("Twice", {{kInt64}}, {{kInt64}}, Twice<std::int64_t>::Make);
  static TestOp twice_double("Twice", {{kDouble}}, {{kDouble}}, Twice<double>::Make);
  static TestOp reverse("Reverse", {{kAny}}, {{kAny}}, Reverse::Make);
  static TestOp positive("Positive", {{kFloat}}, {{kFloat}}, Positive::Make);
  static TestOp counts("Counts", {{kFloat}, {kFloat, INPUT_OUTPUT_OPTIONAL}, {kAny, INPUT_OUTPUT_VARIADIC}}, {{kInt64}},
                       Counts::Make);
  counts.Variadic(1, false);
  static TestOp alike("CountsAlike", {{kAny, INPUT_OUTPUT_VARIADIC}}, {{kInt64}}, Counts::Make);
  alike.Variadic(2, true);
  static TestOp deal("Deal", {{kFloat}}, {{kFloat, INPUT_OUTPUT_VARIADIC}}, Deal::Make);
  static TestOp scale("Scale", {{kFloat}, {kFloat, INPUT_OUTPUT_OPTIONAL}}, {{kFloat}, {kFloat, INPUT_OUTPUT_OPTIONAL}},
                      Scale::Make);
  static TestOp upper("Upper", {{kString}}, {{kString}}, Upper::Make);
  static TestOp first("SetFirst", {{kFloat}}, {{kFloat}}, SetFirst::Make);
  first.GetAliasMap = FirstToFirst;
  first.ReleaseAliasMap = ReleasePairs;
  static TestOp in_place("AddInPlace", {{kFloat}}, {{kFloat}}, AddAmount::Make);
  in_place.GetMayInplace = FirstToFirst;
  in_place.ReleaseMayInplace = ReleasePairs;
  static TestOp turned("AddTurned", {{kFloat}, {kFloat, INPUT_OUTPUT_OPTIONAL}}, {{kFloat}, {kInt64}}, AddTurned::Make);
  turned.GetMayInplace = FirstToFirst;
  turned.ReleaseMayInplace = ReleasePairs;
  static TestOp tick("Tick", {{kFloat}}, {{kFloat}}, Tick::Make);
  static TestOp version1("Version", {{kFloat}}, {{kInt64}}, Number<1>::Make);
  static TestOp version3("Version", {{kFloat}}, {{kInt64}}, Number<3>::Make);
  version1.Versions(1, 2);
  version3.Versions(3);
  static TestOp later("Later", {{kFloat}}, {{kInt64}}, Number<2>::Make);
  later.Versions(2);
  static TestOp repeat("Repeat", {{kFloat}}, {{kFloat}}, Repeat::Make);
  repeat.Shapes(Repeat::Infer);
  static TestOp items("Items", {{kAny}}, {{kInt64}}, Items::Make);
  AddAll(domain, {&add,      &add_old,  &add_16, &twice_float, &twice_int, &twice_double, &reverse,  &positive,
                  &counts,   &alike,    &deal,   &scale,       &upper,     &first,        &in_place, &tick,
                  &version1, &version3, &later,  &repeat,      &items,     &turned});
}

}  // namespace custom_ops

int CustomOpsTicks() { return custom_ops::ticks; }