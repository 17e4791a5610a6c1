// examples/provider/provider.cpp - a complete execution provider for Sardonyx and ONNX Runtime: it computes Abs, Neg
// and Sqrt of floats. docs/write_a_provider.md explains it part by part.
#include <cmath>
#include <cstring>
#include <exception>
#include <memory>
#include <vector>

#include "onnxruntime_c_api.h"

namespace {

constexpr const char* kName = "ExampleExecutionProvider";
constexpr uint32_t kVersion = 23;  // of the host's API: the oldest one that compiles nodes
const OrtApi* api = nullptr;       // both are set when the library is registered
const OrtEpApi* ep_api = nullptr;

// Throws what a call says, unless it succeeded.
struct Failure : std::exception {
  explicit Failure(OrtStatus* from) : status(from) {}
  OrtStatus* status;
};
void Check(OrtStatus* status) {
  if (status != nullptr) throw Failure(status);
}

// Runs the body of a function that the host calls. An exception must not leave a library.
template <typename Body>
OrtStatus* Guard(Body&& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const Failure& failure) {
    return failure.status;
  } catch (const std::exception& error) {
    return api->CreateStatus(ORT_EP_FAIL, error.what());
  }
}

struct Function {
  const char* op_type;
  float (*compute)(float);
};
constexpr Function kFunctions[] = {
    {"Abs", [](float x) { return std::abs(x); }},
    {"Neg", [](float x) { return -x; }},
    {"Sqrt", [](float x) { return std::sqrt(x); }},
};

// The function of a node, nullptr if it is none of ours.
const Function* FunctionOf(const OrtNode* node) {
  const char *domain = nullptr, *op_type = nullptr;
  Check(api->Node_GetDomain(node, &domain));
  Check(api->Node_GetOperatorType(node, &op_type));
  if (*domain != '\0' && std::strcmp(domain, "ai.onnx") != 0) return nullptr;
  const OrtValueInfo* input = nullptr;
  const OrtTypeInfo* type = nullptr;
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  for (const Function& function : kFunctions) {
    if (std::strcmp(function.op_type, op_type) != 0) continue;
    Check(api->Node_GetInputs(node, &input, 1));
    Check(api->GetValueInfoTypeInfo(input, &type));
    Check(api->CastTypeInfoToTensorInfo(type, &tensor));
    if (tensor != nullptr) Check(api->GetTensorElementType(tensor, &element));
    return element == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT ? &function : nullptr;
  }
  return nullptr;
}

// A node that the provider has compiled.
struct Computation : OrtNodeComputeInfo {
  explicit Computation(const Function* of) : OrtNodeComputeInfo{}, function(of) {
    ort_version_supported = kVersion;
    CreateState = [](OrtNodeComputeInfo* self, OrtNodeComputeContext*, void** state) -> OrtStatus* {
      *state = self;  // several runs may be under way at once; this one has nothing that they could disturb
      return nullptr;
    };
    Compute = [](OrtNodeComputeInfo* self, void*, OrtKernelContext* context) -> OrtStatus* {
      return Guard([&] { static_cast<Computation*>(self)->Run(context); });
    };
    ReleaseState = [](OrtNodeComputeInfo*, void*) {};
  }

  void Run(OrtKernelContext* context) const {
    const OrtValue* input = nullptr;
    OrtValue* output = nullptr;
    const void* from = nullptr;
    void* to = nullptr;
    OrtTensorTypeAndShapeInfo* made = nullptr;
    Check(api->KernelContext_GetInput(context, 0, &input));
    Check(api->GetTensorTypeAndShape(input, &made));
    const std::unique_ptr<OrtTensorTypeAndShapeInfo, void (*)(OrtTensorTypeAndShapeInfo*)> info(
        made, api->ReleaseTensorTypeAndShapeInfo);
    size_t rank = 0, count = 0;
    Check(api->GetDimensionsCount(info.get(), &rank));
    std::vector<int64_t> dims(rank);
    if (rank != 0) Check(api->GetDimensions(info.get(), dims.data(), rank));
    Check(api->GetTensorShapeElementCount(info.get(), &count));
    Check(api->KernelContext_GetOutput(context, 0, dims.data(), rank, &output));
    Check(api->GetTensorData(input, &from));
    Check(api->GetTensorMutableData(output, &to));
    for (size_t i = 0; i < count; ++i)
      static_cast<float*>(to)[i] = function->compute(static_cast<const float*>(from)[i]);
  }

  const Function* function;
};

// The provider of one session.
struct Provider : OrtEp {
  Provider() : OrtEp{} {
    ort_version_supported = kVersion;
    GetName = [](const OrtEp*) -> const char* { return kName; };
    GetCapability = [](OrtEp*, const OrtGraph* graph, OrtEpGraphSupportInfo* support) -> OrtStatus* {
      return Guard([&] { Claim(graph, support); });
    };
    Compile = [](OrtEp*, const OrtGraph** graphs, const OrtNode**, size_t count, OrtNodeComputeInfo** infos,
                 OrtNode**) -> OrtStatus* {
      return Guard([&] {
        for (size_t i = 0; i < count; ++i) infos[i] = new Computation(FunctionOf(NodesOf(graphs[i]).at(0)));
      });
    };
    ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** infos, size_t count) {
      for (size_t i = 0; i < count; ++i) delete static_cast<Computation*>(infos[i]);
    };
  }

  static std::vector<const OrtNode*> NodesOf(const OrtGraph* graph) {
    size_t count = 0;
    Check(api->Graph_GetNumNodes(graph, &count));
    std::vector<const OrtNode*> nodes(count);
    if (count != 0) Check(api->Graph_GetNodes(graph, nodes.data(), count));
    return nodes;
  }

  // Each node is a group of its own.
  static void Claim(const OrtGraph* graph, OrtEpGraphSupportInfo* support) {
    OrtNodeFusionOptions options{};
    options.ort_version_supported = kVersion;
    for (const OrtNode* node : NodesOf(graph))
      if (FunctionOf(node) != nullptr) Check(ep_api->EpGraphSupportInfo_AddNodesToFuse(support, &node, 1, &options));
  }
};

// Tells the host which devices the library has providers for, and makes these.
struct Factory : OrtEpFactory {
  Factory() : OrtEpFactory{} {
    ort_version_supported = kVersion;
    GetName = [](const OrtEpFactory*) -> const char* { return kName; };
    GetVendor = [](const OrtEpFactory*) -> const char* { return "Example"; };
    GetVendorId = [](const OrtEpFactory*) -> uint32_t { return 0; };
    GetVersion = [](const OrtEpFactory*) -> const char* { return "1.0.0"; };
    GetSupportedDevices = [](OrtEpFactory* self, const OrtHardwareDevice* const* devices, size_t count,
                             OrtEpDevice** found, size_t room, size_t* found_count) -> OrtStatus* {
      return Guard([&] {
        *found_count = 0;
        for (size_t i = 0; i < count && *found_count < room; ++i)
          if (api->HardwareDevice_Type(devices[i]) == OrtHardwareDeviceType_CPU)
            Check(ep_api->CreateEpDevice(self, devices[i], nullptr, nullptr, &found[(*found_count)++]));
      });
    };
    CreateEp = [](OrtEpFactory*, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                  const OrtSessionOptions*, const OrtLogger*,
                  OrtEp** provider) -> OrtStatus* { return Guard([&] { *provider = new Provider; }); };
    ReleaseEp = [](OrtEpFactory*, OrtEp* provider) { delete static_cast<Provider*>(provider); };
    // It computes in the host's memory, without copies and streams of its own.
    CreateAllocator = [](OrtEpFactory*, const OrtMemoryInfo*, const OrtKeyValuePairs*,
                         OrtAllocator** allocator) -> OrtStatus* {
      *allocator = nullptr;
      return nullptr;
    };
    ReleaseAllocator = [](OrtEpFactory*, OrtAllocator*) {};
    CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** transfer) -> OrtStatus* {
      *transfer = nullptr;
      return nullptr;
    };
    IsStreamAware = [](const OrtEpFactory*) { return false; };
  }
};

}  // namespace

extern "C" {

__attribute__((visibility("default"))) OrtStatus* CreateEpFactories(const char*, const OrtApiBase* host,
                                                                    const OrtLogger*, OrtEpFactory** factories,
                                                                    size_t room, size_t* count) {
  api = host->GetApi(kVersion);
  if (api == nullptr)
    return host->GetApi(1)->CreateStatus(ORT_EP_FAIL, "the example provider needs API version 23 or newer");
  if (room == 0) return api->CreateStatus(ORT_INVALID_ARGUMENT, "expected room for a factory, found none");
  ep_api = api->GetEpApi();
  return Guard([&] {
    factories[0] = new Factory;
    *count = 1;
  });
}

__attribute__((visibility("default"))) OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<Factory*>(factory);
  return nullptr;
}

}  // extern "C"
