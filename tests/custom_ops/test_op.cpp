// tests/custom_ops/test_op.cpp - the callbacks of TestOp, and the calls that kernels share.
#include "test_op.h"

#include <cstring>

namespace custom_ops {

const OrtApi* api = nullptr;
int kernels_made = 0, kernels_destroyed = 0;

namespace {

const TestOp& Self(const OrtCustomOp* op) { return *static_cast<const TestOp*>(op); }

void* ORT_API_CALL CreateOld(const OrtCustomOp* op, const OrtApi*, const OrtKernelInfo* info) {
  Kernel* kernel = Self(op).make(info);
  ++kernels_made;
  return kernel;
}

OrtStatus* ORT_API_CALL Create(const OrtCustomOp* op, const OrtApi*, const OrtKernelInfo* info, void** kernel) {
  return Guarded([&] {
    *kernel = Self(op).make(info);
    ++kernels_made;
  });
}

void ORT_API_CALL ComputeOld(void* kernel, OrtKernelContext* context) {
  static_cast<Kernel*>(kernel)->Compute(context);
}

OrtStatus* ORT_API_CALL Compute(void* kernel, OrtKernelContext* context) {
  return Guarded([&] { static_cast<Kernel*>(kernel)->Compute(context); });
}

void ORT_API_CALL Destroy(void* kernel) {
  ++kernels_destroyed;
  delete static_cast<Kernel*>(kernel);
}

}  // namespace

TestOp::TestOp(const char* op_name, std::vector<Formal> in, std::vector<Formal> out, Make make_kernel)
    : OrtCustomOp{}, name(op_name), inputs(std::move(in)), outputs(std::move(out)), make(make_kernel) {
  version = ORT_API_VERSION;
  GetName = [](const OrtCustomOp* op) { return Self(op).name; };
  GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
  GetInputTypeCount = [](const OrtCustomOp* op) { return Self(op).inputs.size(); };
  GetInputType = [](const OrtCustomOp* op, std::size_t i) { return Self(op).inputs[i].type; };
  GetOutputTypeCount = [](const OrtCustomOp* op) { return Self(op).outputs.size(); };
  GetOutputType = [](const OrtCustomOp* op, std::size_t i) { return Self(op).outputs[i].type; };
  GetInputCharacteristic = [](const OrtCustomOp* op, std::size_t i) { return Self(op).inputs[i].option; };
  GetOutputCharacteristic = [](const OrtCustomOp* op, std::size_t i) { return Self(op).outputs[i].option; };
  GetInputMemoryType = [](const OrtCustomOp*, std::size_t) { return OrtMemTypeDefault; };
  GetVariadicInputMinArity = [](const OrtCustomOp* op) { return Self(op).variadic_least; };
  GetVariadicOutputMinArity = GetVariadicInputMinArity;
  GetVariadicInputHomogeneity = [](const OrtCustomOp* op) { return Self(op).variadic_homogeneous ? 1 : 0; };
  GetVariadicOutputHomogeneity = GetVariadicInputHomogeneity;
  GetStartVersion = [](const OrtCustomOp* op) { return Self(op).first_version; };
  GetEndVersion = [](const OrtCustomOp* op) { return Self(op).last_version; };
  CreateKernelV2 = Create;
  KernelComputeV2 = Compute;
  KernelDestroy = Destroy;
}

TestOp& TestOp::OldForm(std::uint32_t struct_version) {
  CreateKernel = CreateOld;
  KernelCompute = ComputeOld;
  version = struct_version;
  const auto spoil = [&](std::uint32_t since, auto& first) {
    if (struct_version >= since) return;
    auto* begin = reinterpret_cast<char*>(&first);
    std::memset(begin, 0x5a, reinterpret_cast<char*>(static_cast<OrtCustomOp*>(this) + 1) - begin);
  };
  spoil(18, GetMayInplace);
  spoil(17, InferOutputShapeFn);
  if (struct_version >= 16) CreateKernelV2 = nullptr, KernelComputeV2 = nullptr;
  spoil(16, CreateKernelV2);
  spoil(14, GetInputMemoryType);
  spoil(8, GetInputCharacteristic);
  return *this;
}

TestOp& TestOp::Versions(int first, int last) {
  first_version = first;
  last_version = last;
  return *this;
}

TestOp& TestOp::Shapes(OrtStatus* (*infer)(const OrtCustomOp*, OrtShapeInferContext*)) {
  InferOutputShapeFn = infer;
  return *this;
}

TestOp& TestOp::Variadic(int least, bool homogeneous) {
  variadic_least = least;
  variadic_homogeneous = homogeneous;
  return *this;
}

const OrtValue* InputValue(OrtKernelContext* context, std::size_t i) {
  const OrtValue* value = nullptr;
  Check(api->KernelContext_GetInput(context, i, &value));
  return value;
}

Tensor Look(const OrtValue* value) {
  Tensor tensor;
  OrtTensorTypeAndShapeInfo* info = nullptr;
  Check(api->GetTensorTypeAndShape(value, &info));
  std::size_t rank = 0;
  Check(api->GetTensorElementType(info, &tensor.type));
  Check(api->GetDimensionsCount(info, &rank));
  tensor.shape.resize(rank);
  Check(api->GetDimensions(info, tensor.shape.data(), rank));
  Check(api->GetTensorShapeElementCount(info, &tensor.count));
  api->ReleaseTensorTypeAndShapeInfo(info);
  if (tensor.type != kString) {
    void* data = nullptr;  // as older headers read constant inputs, too
    Check(api->GetTensorMutableData(const_cast<OrtValue*>(value), &data));
    tensor.data = data;
  }
  return tensor;
}

Tensor Input(OrtKernelContext* context, std::size_t i) { return Look(InputValue(context, i)); }

OrtValue* OutputValue(OrtKernelContext* context, std::size_t i, const std::vector<std::int64_t>& shape) {
  OrtValue* value = nullptr;
  Check(api->KernelContext_GetOutput(context, i, shape.data(), shape.size(), &value));
  return value;
}

std::vector<std::string> Texts(const OrtValue* value) {
  const std::size_t count = Look(value).count;
  std::vector<std::string> texts(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t length = 0;
    Check(api->GetStringTensorElementLength(value, i, &length));
    texts[i].resize(length);
    Check(api->GetStringTensorElement(value, length, i, texts[i].data()));
  }
  return texts;
}

void GiveTexts(OrtKernelContext* context, std::size_t i, const std::vector<std::int64_t>& shape,
               const std::vector<std::string>& texts) {
  OrtValue* value = OutputValue(context, i, shape);
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  Check(api->FillStringTensor(value, pointers.data(), pointers.size()));
}

float FloatAttribute(const OrtKernelInfo* info, const char* name, float otherwise) {
  float value = otherwise;
  api->ReleaseStatus(api->KernelInfoGetAttribute_float(info, name, &value));
  return value;
}

std::string TextAttribute(const OrtKernelInfo* info, const char* name, const std::string& otherwise) {
  std::size_t size = 0;
  OrtStatus* missing = api->KernelInfoGetAttribute_string(info, name, nullptr, &size);
  if (missing != nullptr) {
    api->ReleaseStatus(missing);
    return otherwise;
  }
  std::string text(size, '\0');
  Check(api->KernelInfoGetAttribute_string(info, name, text.data(), &size));
  text.resize(size - 1);
  return text;
}

std::string Outcome(OrtStatus* status) {
  if (status == nullptr) return "ok";
  const std::string code = "error " + std::to_string(static_cast<int>(api->GetErrorCode(status)));
  api->ReleaseStatus(status);
  return code;
}

}  // namespace custom_ops
