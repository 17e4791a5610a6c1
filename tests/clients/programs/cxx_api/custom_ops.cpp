// tests/clients/programs/cxx_api/custom_ops.cpp - custom operators in both forms, with shape inference, attributes,
// operators that they call, and those of the light-weight header.
#include <onnxruntime_lite_custom_op.h>

#include <atomic>
#include <fstream>
#include <iterator>

#include "report.h"

namespace {

int shapes_inferred = 0;

// Adds `amount` and prints what the header says of the node.
struct AddKernel {
  AddKernel(const OrtApi&, const OrtKernelInfo* raw) : info(raw) {
    Ort::KernelInfo copy = info.Copy();
    amount = info.GetAttribute<float>("amount");
    Say("kernel: attributes", amount, info.GetAttribute<int64_t>("whole"), info.GetAttribute<std::string>("text"),
        info.GetAttributes<float>("reals"), info.GetAttributes<int64_t>("longs"));
    SayOutcome("kernel: an attribute that is not there", [&] { info.GetAttribute<float>("nobody"); });
    Ort::AllocatorWithDefaultOptions allocator;
    const Ort::Value tensor = info.GetTensorAttribute("tensor", allocator);
    Say("kernel: tensor attribute", Elements<float>(tensor));
    Say("kernel: counts", info.GetInputCount(), info.GetOutputCount(), info.GetInputName(0), info.GetOutputName(0),
        info.GetNodeName(), copy.GetConst().GetInputCount());
    Say("kernel: types", info.GetInputTypeInfo(0).GetONNXType(),
        info.GetOutputTypeInfo(0).GetTensorTypeAndShapeInfo().GetElementType());
    int constant = 0;
    const Ort::ConstValue second = info.GetTensorConstantInput(1, &constant);
    Say("kernel: constant input", constant, constant != 0 ? Elements<float>(second) : std::vector<float>{});
    const Ort::Logger logger = info.GetLogger();
    Say("kernel: logger", logger.GetLoggingSeverityLevel() <= ORT_LOGGING_LEVEL_FATAL,
        logger.LogMessage(ORT_LOGGING_LEVEL_VERBOSE, ORT_FILE, __LINE__, "AddKernel", "made").IsOK(),
        logger.LogFormattedMessage(ORT_LOGGING_LEVEL_VERBOSE, ORT_FILE, __LINE__, "AddKernel", "%d", 1).IsOK());
    ORT_CXX_LOG(logger, ORT_LOGGING_LEVEL_VERBOSE, "made");
    ORT_CXX_LOGF_NOEXCEPT(logger, ORT_LOGGING_LEVEL_VERBOSE, "made %s", "so");
    MakeCalled();
  }

  // The sum is computed by ONNX's own Add.
  void MakeCalled() {
    const char* constraint = "T";
    const ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    add = Ort::Op::Create(info, "Add", "", 14, &constraint, &type, 1, nullptr, 0, 2, 1);
    const int64_t axes[] = {0};
    const Ort::OpAttr flag("keepdims", axes, 1, ORT_OP_ATTR_INT);
#if ORT_API_VERSION >= 23
    int64_t value = 1;
    Say("attribute", flag.GetName(), flag.GetType(), flag.GetValue(value).IsOK(), value, flag.GetConst().GetName());
    const float reals[] = {1, 2};
    const Ort::OpAttr list("reals", reals, 2, ORT_OP_ATTR_FLOATS);
    std::vector<float> found;
    Say("attribute of reals", list.GetValueArray(found).IsOK(), found, list.GetValue(value).IsOK());
    const Ort::OpAttr text("text", "words", 5, ORT_OP_ATTR_STRING);
    std::string words;
    Say("attribute of text", text.GetValue(words).IsOK(), words);
#endif
    SayOutcome("an operator that is not there",
               [&] { Ort::Op::Create(info, "Nobody", "", 14, &constraint, &type, 1, &flag, 1, 2, 1); });
  }

  void Compute(OrtKernelContext* raw) {
    const Ort::KernelContext context(raw);
    const Ort::ConstValue x = context.GetInput(0);
    const auto shape = x.GetTensorTypeAndShapeInfo().GetShape();
    Ort::UnownedValue y = context.GetOutput(0, shape);
    const auto place = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
    OrtAllocator* allocator = context.GetAllocator(*static_cast<const OrtMemoryInfo*>(place));
    void* memory = allocator->Alloc(allocator, 16);
    allocator->Free(allocator, memory);
    Say("context", context.GetInputCount(), context.GetOutputCount(), memory != nullptr,
        context.GetGPUComputeStream() == nullptr,
        context.GetLogger().GetLoggingSeverityLevel() <= ORT_LOGGING_LEVEL_FATAL, context.GetOrtKernelContext() == raw);
    const OrtValue* inputs[] = {x, context.GetInput(1)};
    OrtValue* outputs[] = {y};
    add.Invoke(raw, inputs, 2, outputs, 1);
    float* data = y.GetTensorMutableData<float>();
    struct Work {
      float* data;
      float amount;
      std::atomic<int> calls;
    } work{data, amount, 0};
    const size_t count = x.GetTensorTypeAndShapeInfo().GetElementCount();
    context.ParallelFor(
        [](void* user, size_t i) {
          auto& part = *static_cast<Work*>(user);
          part.data[i] += part.amount;
          ++part.calls;
        },
        count, 0, &work);
    Say("in parallel", work.calls.load() == static_cast<int>(count));
  }

  Ort::ConstKernelInfo info;
  float amount = 0;
  Ort::Op add{nullptr};
};

struct AddOp : Ort::CustomOpBase<AddOp, AddKernel> {
  void* CreateKernel(const OrtApi& api, const OrtKernelInfo* info) const { return new AddKernel(api, info); }
  const char* GetName() const { return "AddAmount"; }
  size_t GetInputTypeCount() const { return 2; }
  ONNXTensorElementDataType GetInputType(size_t) const { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; }
  size_t GetOutputTypeCount() const { return 1; }
  ONNXTensorElementDataType GetOutputType(size_t) const { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; }

  static Ort::Status InferOutputShape(Ort::ShapeInferContext& context) {
    Ort::ShapeInferContext::Shape shape;
    for (const auto& dim : context.GetInputShape(0)) shape.push_back(dim);
    if (shapes_inferred++ == 0)  // how often it is asked is the library's business
      Say("shape inference", context.GetInputCount(), shape.size(), shape[0].IsInt(), shape[1].AsInt(),
          context.GetAttrFloat("amount"), context.GetAttrInt("whole"), context.GetAttrString("text").substr(0, 5),
          context.GetAttrFloats("reals"), context.GetAttrInts("longs"), context.GetAttrStrings("texts"));
    if (!shape[0].IsInt() && shapes_inferred == 1) Say("shape inference: symbol", std::string(shape[0].AsSym()));
    return context.SetOutputShape(0, shape);
  }
};

// Returns a status, takes any number of inputs, and refuses to be made or run if it is told so.
struct SumKernel {
  explicit SumKernel(bool faulty) : faulty_(faulty) {}

  OrtStatusPtr ComputeV2(OrtKernelContext* raw) {
    if (faulty_) return Ort::Status("on purpose", ORT_ENGINE_ERROR).release();
    const Ort::KernelContext context(raw);
    const int64_t shape[] = {static_cast<int64_t>(context.GetInputCount())};
    float* sums = context.GetOutput(0, shape, 1).GetTensorMutableData<float>();
    for (size_t i = 0; i < context.GetInputCount(); ++i) {
      sums[i] = 0;
      for (const float value : Elements<float>(context.GetInput(i))) sums[i] += value;
    }
    return nullptr;
  }

 private:
  bool faulty_;
};

struct SumOp : Ort::CustomOpBase<SumOp, SumKernel, true> {
  OrtStatusPtr CreateKernelV2(const OrtApi&, const OrtKernelInfo* info, void** kernel) const {
    const std::string fault = Ort::ConstKernelInfo(info).GetAttribute<std::string>("fault");
    if (fault == "made") return Ort::Status("on purpose", ORT_NO_MODEL).release();
    *kernel = new SumKernel(fault == "run");
    return nullptr;
  }
  const char* GetName() const { return "Sums"; }
  size_t GetInputTypeCount() const { return 1; }
  ONNXTensorElementDataType GetInputType(size_t) const { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; }
  OrtCustomOpInputOutputCharacteristic GetInputCharacteristic(size_t) const { return INPUT_OUTPUT_VARIADIC; }
  OrtMemType GetInputMemoryType(size_t) const { return OrtMemTypeDefault; }
  int GetVariadicInputMinArity() const { return 1; }
  bool GetVariadicInputHomogeneity() const { return true; }
  size_t GetOutputTypeCount() const { return 1; }
  ONNXTensorElementDataType GetOutputType(size_t) const { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; }
};

Ort::Status Doubled(const Ort::Custom::Tensor<float>& x, Ort::Custom::Tensor<float>& y) {
  float* out = y.Allocate(x.Shape());
  for (int64_t i = 0; i < x.NumberOfElement(); ++i) out[i] = 2 * x.Data()[i];
  return Ort::Status{nullptr};
}

struct Scaled {
  Scaled(const OrtApi*, const OrtKernelInfo* info) : by(Ort::ConstKernelInfo(info).GetAttribute<float>("by")) {}
  void Compute(const Ort::Custom::Tensor<float>& x, std::optional<const Ort::Custom::Tensor<float>*> more,
               Ort::Custom::Tensor<float>& y) {
    float* out = y.Allocate(x.Shape());
    for (int64_t i = 0; i < x.NumberOfElement(); ++i)
      out[i] = by * x.Data()[i] + (more.has_value() ? more.value()->Data()[i] : 0);
  }
  float by;
};

void Run(const std::string& name, const Places& places, const Ort::SessionOptions& options, int count = 1) {
  SayOutcome(name, [&] {
    Ort::Session session(TheEnv(), (places.models + "/" + name + ".onnx").c_str(), options);
    std::vector<float> data{1, 2, 3, 4};
    std::vector<Ort::Value> inputs;
    for (int i = 0; i < count; ++i) inputs.push_back(Tensor(data, {2, 2}));
    const char *in[] = {"x", "z"}, *out = "y";
    const auto outputs = session.Run({}, in, inputs.data(), static_cast<size_t>(count), &out, 1);
    Say(name + ": result", Elements<float>(outputs[0]), outputs[0].GetTensorTypeAndShapeInfo().GetShape(),
        session.GetOutputTypeInfo(0).GetTensorTypeAndShapeInfo().GetDimensionsCount());
  });
}

}  // namespace

// Found by its name in the process.
extern "C" OrtStatus* RegisterByName(OrtSessionOptions* options, const OrtApiBase*) {
  static const AddOp add;
  static Ort::CustomOpDomain domain{"cxx"};
  static bool added = false;
  if (!added) domain.Add(&add);
  added = true;
  Ort::UnownedSessionOptions(options).Add(domain);
  return nullptr;
}

void CustomOps(const Places& places) {
  const AddOp add;
  const SumOp sum;
  Ort::CustomOpDomain domain("cxx");
  domain.Add(&add);
  domain.Add(&sum);
  const std::unique_ptr<Ort::Custom::OrtLiteCustomOp> doubled(
      Ort::Custom::CreateLiteCustomOp("Doubled", "CPUExecutionProvider", Doubled)),
      scaled(Ort::Custom::CreateLiteCustomOp<Scaled>("Scaled", "CPUExecutionProvider"));
  domain.Add(doubled.get());
  domain.Add(scaled.get());
  Ort::SessionOptions options;
  options.Add(domain);
  Run("cxx_add", places, options);
  Run("cxx_sums", places, options, 2);
  Run("cxx_sums_not_made", places, options, 2);
  Run("cxx_sums_not_run", places, options, 2);
  Run("cxx_lite", places, options);
  Run("cxx_add", places, Ort::SessionOptions{});

  Ort::SessionOptions by_name;
  by_name.RegisterCustomOpsUsingFunction("RegisterByName");
  Run("cxx_add", places, by_name);
  SayOutcome("a function that is not there", [&] { by_name.RegisterCustomOpsUsingFunction("RegisterNobody"); });
  Ort::CustomOpConfigs configs;
  configs.AddConfig("AddAmount", "some", "thing");
  Say("configurations", configs.GetFlattenedConfigs().size(),
      Ort::detail::MakeCustomOpConfigEntryKey("AddAmount", "some"));
  SayOutcome("a library that is not there", [&] { by_name.RegisterCustomOpsLibrary("nowhere.so", configs); });
}
