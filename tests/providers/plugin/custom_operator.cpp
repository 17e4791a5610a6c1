// tests/providers/plugin/custom_operator.cpp - the operators that the factory brings: Triple, which only its provider
// runs, and Fourfold and OldFourfold, whose kernels the CPU runs, in both forms of the interface.
#include <memory>
#include <vector>

#include "plugin.h"

namespace test_plugin {
namespace {

// Four times each of its inputs.
class Fourfold {
 public:
  Fourfold() { ++counts.kernels; }
  ~Fourfold() { --counts.kernels; }
  static OrtStatus* Compute(OrtKernelContext* context) {
    size_t count = 0;
    TEST_PLUGIN_TRY(api->KernelContext_GetInputCount(context, &count));
    for (size_t i = 0; i < count; ++i) {
      const OrtValue* input = nullptr;
      OrtValue* output = nullptr;
      TEST_PLUGIN_TRY(api->KernelContext_GetInput(context, i, &input));
      Array array;
      TEST_PLUGIN_TRY(ReadTensor(input, array));
      TEST_PLUGIN_TRY(api->KernelContext_GetOutput(context, i, array.shape.data(), array.shape.size(), &output));
      for (float& element : array.data) element *= 4;
      TEST_PLUGIN_TRY(WriteTensor(output, array));
    }
    return nullptr;
  }
};

OrtStatus* ORT_API_CALL CreateNoKernel(const OrtCustomOp* /*op*/, const OrtApi* /*api*/, const OrtKernelInfo* /*info*/,
                                       void** /*kernel*/) {
  return Failure("the provider has to compile this operator");
}
OrtStatus* ORT_API_CALL CreateV2(const OrtCustomOp* /*op*/, const OrtApi* /*api*/, const OrtKernelInfo* /*info*/,
                                 void** kernel) {
  *kernel = std::make_unique<Fourfold>().release();
  return nullptr;
}
OrtStatus* ORT_API_CALL ComputeV2(void* /*kernel*/, OrtKernelContext* context) { return Fourfold::Compute(context); }
void* ORT_API_CALL Create(const OrtCustomOp* /*op*/, const OrtApi* /*api*/, const OrtKernelInfo* /*info*/) {
  return std::make_unique<Fourfold>().release();
}
void ORT_API_CALL Compute(void* /*kernel*/, OrtKernelContext* context) {
  if (OrtStatus* status = Fourfold::Compute(context)) api->ReleaseStatus(status);
}
void ORT_API_CALL Destroy(void* kernel) { delete static_cast<Fourfold*>(kernel); }

OrtStatus* ORT_API_CALL InferShapes(const OrtCustomOp* /*op*/, OrtShapeInferContext* context) {
  size_t count = 0;
  TEST_PLUGIN_TRY(api->ShapeInferContext_GetInputCount(context, &count));
  for (size_t i = 0; i < count; ++i) {
    OrtTensorTypeAndShapeInfo* info = nullptr;
    TEST_PLUGIN_TRY(api->ShapeInferContext_GetInputTypeShape(context, i, &info));
    TEST_PLUGIN_TRY(api->ShapeInferContext_SetOutputTypeShape(context, i, info));
  }
  return nullptr;
}

size_t ORT_API_CALL GivePair(int** input, int** output) {
  *input = std::make_unique<int>(0).release();
  *output = std::make_unique<int>(0).release();
  counts.packed += 2;
  return 1;
}
void ORT_API_CALL FreePair(int* input, int* output) {
  delete input;
  delete output;
  counts.packed -= 2;
}

OrtCustomOp NewOperator() {
  OrtCustomOp made{};
  made.version = ORT_API_VERSION;
  made.GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
  made.GetInputTypeCount = [](const OrtCustomOp*) -> size_t { return 1; };
  made.GetInputType = [](const OrtCustomOp*, size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; };
  made.GetInputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
  made.GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
  made.GetOutputTypeCount = [](const OrtCustomOp*) -> size_t { return 1; };
  made.GetOutputType = [](const OrtCustomOp*, size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; };
  made.GetOutputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
  made.GetStartVersion = [](const OrtCustomOp*) { return 1; };
  made.GetEndVersion = [](const OrtCustomOp*) { return 2147483647; };
  made.CreateKernelV2 = CreateV2;
  made.KernelComputeV2 = ComputeV2;
  made.KernelDestroy = Destroy;
  return made;
}

const OrtCustomOp& Triple() {
  static const OrtCustomOp op = [] {
    OrtCustomOp made = NewOperator();
    made.GetName = [](const OrtCustomOp*) { return "Triple"; };
    made.GetExecutionProviderType = [](const OrtCustomOp*) { return kName; };
    made.CreateKernelV2 = CreateNoKernel;
    return made;
  }();
  return op;
}

const OrtCustomOp& NewFourfold() {
  static const OrtCustomOp op = [] {
    OrtCustomOp made = NewOperator();
    made.GetName = [](const OrtCustomOp*) { return "Fourfold"; };
    made.GetInputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_VARIADIC; };
    made.GetOutputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_VARIADIC; };
    made.GetVariadicInputMinArity = [](const OrtCustomOp*) { return 1; };
    made.GetVariadicInputHomogeneity = [](const OrtCustomOp*) { return 1; };
    made.GetVariadicOutputMinArity = [](const OrtCustomOp*) { return 1; };
    made.GetVariadicOutputHomogeneity = [](const OrtCustomOp*) { return 1; };
    made.InferOutputShapeFn = InferShapes;
    made.GetMayInplace = GivePair;
    made.ReleaseMayInplace = FreePair;
    made.GetAliasMap = GivePair;
    made.ReleaseAliasMap = FreePair;
    return made;
  }();
  return op;
}

const OrtCustomOp& OldFourfold() {
  static const OrtCustomOp op = [] {
    OrtCustomOp made = NewOperator();
    made.version = 8;
    made.GetName = [](const OrtCustomOp*) { return "OldFourfold"; };
    made.CreateKernelV2 = nullptr;
    made.KernelComputeV2 = nullptr;
    made.CreateKernel = Create;
    made.KernelCompute = Compute;
    return made;
  }();
  return op;
}

}  // namespace

OrtStatus* MakeDomain(OrtCustomOpDomain** domain) {
  TEST_PLUGIN_TRY(api->CreateCustomOpDomain(kDomain, domain));
  for (const OrtCustomOp* op : {&Triple(), &NewFourfold(), &OldFourfold()})
    TEST_PLUGIN_TRY(api->CustomOpDomain_Add(*domain, op));
  return nullptr;
}

}  // namespace test_plugin
