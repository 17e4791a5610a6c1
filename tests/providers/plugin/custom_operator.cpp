// tests/providers/plugin/custom_operator.cpp - an operator that the factory brings and that only its provider runs.
#include <vector>

#include "plugin.h"

namespace test_plugin {
namespace {

// Nobody runs the kernel: the provider compiles the operator's nodes.
OrtStatus* ORT_API_CALL CreateNoKernel(const OrtCustomOp* /*op*/, const OrtApi* /*api*/, const OrtKernelInfo* /*info*/,
                                       void** /*kernel*/) {
  return Failure("the provider has to compile this operator");
}
OrtStatus* ORT_API_CALL ComputeNothing(void* /*kernel*/, OrtKernelContext* /*context*/) {
  return Failure("the provider has to compile this operator");
}

const OrtCustomOp& Triple() {
  static const OrtCustomOp op = [] {
    OrtCustomOp made{};
    made.version = ORT_API_VERSION;
    made.GetName = [](const OrtCustomOp*) { return "Triple"; };
    made.GetExecutionProviderType = [](const OrtCustomOp*) { return kName; };
    made.GetInputTypeCount = [](const OrtCustomOp*) -> size_t { return 1; };
    made.GetInputType = [](const OrtCustomOp*, size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; };
    made.GetInputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
    made.GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
    made.GetOutputTypeCount = [](const OrtCustomOp*) -> size_t { return 1; };
    made.GetOutputType = [](const OrtCustomOp*, size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; };
    made.GetOutputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
    made.GetStartVersion = [](const OrtCustomOp*) { return 1; };
    made.GetEndVersion = [](const OrtCustomOp*) { return 2147483647; };
    made.CreateKernelV2 = CreateNoKernel;
    made.KernelComputeV2 = ComputeNothing;
    made.KernelDestroy = [](void*) {};
    return made;
  }();
  return op;
}

}  // namespace

OrtStatus* MakeDomain(OrtCustomOpDomain** domain) {
  TEST_PLUGIN_TRY(api->CreateCustomOpDomain(kDomain, domain));
  return api->CustomOpDomain_Add(*domain, &Triple());
}

}  // namespace test_plugin
