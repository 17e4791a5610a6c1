// tests/providers/plugin/control_flow.cpp - kernels of If, Loop and Scan, which the runtime makes; their bodies' nodes
// have kernels like others.
#include <cstring>
#include <memory>
#include <string>

#include "plugin.h"

namespace test_plugin {
namespace {

struct LoopHelper : OrtLoopKernelHelper {
  LoopHelper() : OrtLoopKernelHelper{} { ++counts.helpers; }
  ~LoopHelper() { --counts.helpers; }
};

struct ScanHelper : OrtScanKernelHelper {
  ScanHelper() : OrtScanKernelHelper{} { ++counts.helpers; }
  ~ScanHelper() { --counts.helpers; }
};

void ORT_API_CALL ReleaseLoopHelper(OrtLoopKernelHelper* self) { delete static_cast<LoopHelper*>(self); }
void ORT_API_CALL ReleaseScanHelper(OrtScanKernelHelper* self) { delete static_cast<ScanHelper*>(self); }

// What a runtime does on a stream before these calls has to be done when they read.
OrtStatus* ORT_API_CALL ConcatOutput(OrtLoopKernelHelper* /*self*/, void* stream, const OrtValue* const* parts,
                                     size_t count, void* output, size_t size) {
  const OpenDevice open;
  FinishStream(stream);
  auto* to = static_cast<char*>(output);
  for (std::size_t i = 0; i < count; ++i) {
    const void* data = nullptr;
    std::size_t bytes = 0;
    TEST_PLUGIN_TRY(api->GetTensorData(parts[i], &data));
    TEST_PLUGIN_TRY(api->GetTensorSizeInBytes(parts[i], &bytes));
    if (bytes > size) return Failure("no room for an output of the loop");
    std::memcpy(to, data, bytes);
    to += bytes;
    size -= bytes;
  }
  return nullptr;
}

OrtStatus* ORT_API_CALL Transpose(OrtScanKernelHelper* /*self*/, const size_t* permutation, size_t rank,
                                  const OrtValue* input, OrtSyncStream* stream, OrtValue* output) {
  const OpenDevice open;
  FinishStream(stream != nullptr ? api->SyncStream_GetHandle(stream) : nullptr);
  Array from, to;
  TEST_PLUGIN_TRY(ReadTensor(input, from));
  if (from.shape.size() != rank) return Failure("a permutation of another rank");
  for (std::size_t i = 0; i < rank; ++i) to.shape.push_back(from.shape[permutation[i]]);
  to.data.resize(from.data.size());
  for (std::size_t at = 0; at < from.data.size(); ++at) {
    std::vector<std::size_t> index(rank);
    std::size_t rest = at;
    for (std::size_t i = rank; i-- > 0;) {
      index[i] = rest % static_cast<std::size_t>(from.shape[i]);
      rest /= static_cast<std::size_t>(from.shape[i]);
    }
    std::size_t place = 0;
    for (std::size_t i = 0; i < rank; ++i)
      place = place * static_cast<std::size_t>(to.shape[i]) + index[permutation[i]];
    to.data[place] = from.data[at];
  }
  return WriteTensor(output, to);
}

}  // namespace

OrtStatus* ORT_API_CALL CreateControlFlow(void* state, const OrtKernelInfo* info, OrtKernelImpl** kernel) {
  TEST_PLUGIN_TRY(Fault("CreateControlFlow"));
  const std::string op_type = static_cast<const char*>(state);
  if (op_type == "If") return ep_api->CreateIfKernel(info, kernel);
  if (op_type == "Loop") {
    auto helper = std::make_unique<LoopHelper>();
    helper->ort_version_supported = Version();
    helper->Release = ReleaseLoopHelper;
    helper->ConcatOutput = ConcatOutput;
    TEST_PLUGIN_TRY(ep_api->CreateLoopKernel(info, helper.get(), kernel));
    static_cast<void>(helper.release());  // the kernel's
    return nullptr;
  }
  auto helper = std::make_unique<ScanHelper>();
  helper->ort_version_supported = Version();
  helper->Release = ReleaseScanHelper;
  helper->Transpose = Transpose;
  TEST_PLUGIN_TRY(ep_api->CreateScanKernel(info, helper.get(), kernel));
  static_cast<void>(helper.release());
  return nullptr;
}

}  // namespace test_plugin
