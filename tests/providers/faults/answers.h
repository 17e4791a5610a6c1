// tests/providers/faults/answers.h - the wrong answers that functions of a plug-in give, and what is done to what they
// make.
#pragma once

#include <string>
#include <vector>

#include "wrap.h"

namespace faults {

// ---- wrong answers

template <>
struct Wrong<&OrtEpFactory::GetName> {
  static const char* Give(const std::string& kind, const OrtEpFactory* /*self*/) {
    return kind == "empty" ? "" : "AnotherProvider";
  }
};
template <>
struct Wrong<&OrtEp::GetName> {
  static const char* Give(const std::string& /*kind*/, const OrtEp* /*self*/) { return "AnotherProvider"; }
};
template <>
struct Wrong<&OrtEpFactory::GetSupportedDevices> {
  static OrtStatus* Give(const std::string& kind, OrtEpFactory* /*self*/, const OrtHardwareDevice* const* /*devices*/,
                         size_t /*num_devices*/, OrtEpDevice** made, size_t /*max*/, size_t* count) {
    if (kind == "many") *count = 1000;
    if (kind == "none") *count = 0;
    if (kind == "twice") made[(*count)++] = made[0];
    if (kind == "gap") made[(*count)++] = nullptr;
    return nullptr;
  }
};
template <>
struct Wrong<&OrtEpFactory::GetNumCustomOpDomains> {
  static OrtStatus* Give(const std::string& /*kind*/, OrtEpFactory* /*self*/, size_t* count) {
    *count = ~size_t{0};
    return nullptr;
  }
};
template <>
struct Wrong<&OrtCustomOp::GetInputTypeCount> {
  static size_t Give(const std::string& /*kind*/, const OrtCustomOp* /*self*/) { return ~size_t{0}; }
};
template <>
struct Wrong<&OrtCustomOp::GetInputType> {
  static ONNXTensorElementDataType Give(const std::string& /*kind*/, const OrtCustomOp* /*self*/, size_t /*index*/) {
    return static_cast<ONNXTensorElementDataType>(77);
  }
};
template <>
struct Wrong<&OrtCustomOp::GetInputCharacteristic> {
  static OrtCustomOpInputOutputCharacteristic Give(const std::string& /*kind*/, const OrtCustomOp* /*self*/,
                                                   size_t /*index*/) {
    return static_cast<OrtCustomOpInputOutputCharacteristic>(77);
  }
};
template <>
struct Wrong<&OrtCustomOp::GetVariadicInputMinArity> {
  static int Give(const std::string& /*kind*/, const OrtCustomOp* /*self*/) { return -1; }
};
template <>
struct Wrong<&OrtCustomOp::GetEndVersion> {
  static int Give(const std::string& /*kind*/, const OrtCustomOp* /*self*/) { return 0; }
};
struct OddPair {
  static size_t Give(const std::string& /*kind*/, int** input, int** output) {
    **input = **output = 1000;
    return 1;
  }
};
template <>
struct Wrong<&OrtCustomOp::GetMayInplace> : OddPair {};
template <>
struct Wrong<&OrtCustomOp::GetAliasMap> : OddPair {};
template <>
struct Wrong<&OrtEpFactory::ValidateCompiledModelCompatibilityInfo> {
  static OrtStatus* Give(const std::string& /*kind*/, OrtEpFactory* /*self*/, const OrtHardwareDevice* const* /*d*/,
                         size_t /*num_devices*/, const char* /*info*/, OrtCompiledModelCompatibility* answer) {
    *answer = static_cast<OrtCompiledModelCompatibility>(77);
    return nullptr;
  }
};
template <>
struct Wrong<&OrtEp::GetPreferredDataLayout> {
  static OrtStatus* Give(const std::string& /*kind*/, OrtEp* /*self*/, OrtEpDataLayout* layout) {
    *layout = static_cast<OrtEpDataLayout>(7);
    return nullptr;
  }
};
// What else it claims, after what the provider does.
template <>
struct Wrong<&OrtEp::GetCapability> {
  static OrtStatus* Give(const std::string& kind, OrtEp* /*self*/, const OrtGraph* graph, OrtEpGraphSupportInfo* info) {
    const OrtEpApi& ep_api = *api->GetEpApi();
    std::size_t count = 0;
    api->ReleaseStatus(api->Graph_GetNumNodes(graph, &count));
    std::vector<const OrtNode*> nodes(count);
    api->ReleaseStatus(api->Graph_GetNodes(graph, nodes.data(), count));
    OrtNodeFusionOptions options{};
    options.ort_version_supported = ORT_API_VERSION;
    if (count == 0) return nullptr;
    if (kind == "first_alone") return ep_api.EpGraphSupportInfo_AddSingleNode(info, nodes.front());
    if (kind == "null_node") nodes.front() = nullptr;
    if (kind == "first") nodes.resize(1);
    if (kind == "first_twice") nodes = {nodes.front(), nodes.front()};
    if (kind == "ends") nodes = {nodes.front(), nodes.back()};
    if (kind == "no_nodes") nodes.clear();
    return ep_api.EpGraphSupportInfo_AddNodesToFuse(info, nodes.data(), nodes.size(), &options);  // "all"
  }
};
template <>
struct Wrong<&OrtEp::Compile> {
  static OrtStatus* Give(const std::string& kind, OrtEp* self, const OrtGraph** /*graphs*/, const OrtNode** /*nodes*/,
                         size_t count, OrtNodeComputeInfo** infos, OrtNode** contexts) {
    if (kind == "context") {  // although nobody wants nodes
      OrtOpAttr* none = nullptr;
      return api->GetModelEditorApi()->CreateNode("EPContext", "com.microsoft", "odd", nullptr, 0, nullptr, 0, &none, 0,
                                                  contexts);
    }
    if (infos[count - 1] == infos[0]) return nullptr;
    self->ReleaseNodeComputeInfos(self, &infos[count - 1], 1);
    infos[count - 1] = infos[0];  // "same": for two nodes
    return nullptr;
  }
};
template <>
struct Wrong<&OrtEp::GetDefaultMemoryDevice> {
  static OrtStatus* Give(const std::string& /*kind*/, const OrtEp* /*self*/, const OrtMemoryDevice** device) {
    static OrtMemoryInfo* info = [] {
      OrtMemoryInfo* made = nullptr;
      api->ReleaseStatus(api->CreateMemoryInfo_V2("another", OrtMemoryInfoDeviceType_NPU, 0xabc, 3,
                                                  OrtDeviceMemoryType_DEFAULT, 0, OrtDeviceAllocator, &made));
      return made;
    }();
    *device = api->GetEpApi()->MemoryInfo_GetMemoryDevice(info);
    return nullptr;
  }
};
template <>
struct Wrong<&OrtEp::GetGraphCaptureNodeAssignmentPolicy> {
  static OrtGraphCaptureNodeAssignmentPolicy Give(const std::string& /*kind*/, const OrtEp* /*self*/) {
    return static_cast<OrtGraphCaptureNodeAssignmentPolicy>(77);
  }
};
template <>
struct Wrong<&OrtEp::GetEpContextDataSupport> {
  static OrtStatus* Give(const std::string& /*kind*/, const OrtEp* /*self*/, uint32_t* flags) {
    *flags = 0xff;
    return nullptr;
  }
};
template <>
struct Wrong<&OrtDataTransferImpl::CanCopy> {
  static bool Give(const std::string& /*kind*/, const OrtDataTransferImpl* /*self*/, const OrtMemoryDevice* /*from*/,
                   const OrtMemoryDevice* /*to*/) {
    return true;
  }
};
template <>
struct Wrong<&OrtKernelImpl::PrePackWeight> {
  static OrtStatus* Give(const std::string& /*kind*/, OrtKernelImpl* /*self*/, const OrtValue* /*weight*/, int /*in*/,
                         OrtAllocator* /*allocator*/, OrtSharedPrePackedWeightCache* /*cache*/, bool* is_packed) {
    *is_packed = false;  // although it has stored something
    return nullptr;
  }
};

// ---- what is made

template <typename Struct>
void WrapAll(Struct* made);

// Functions that the library's allocators lack.
namespace added {
inline void* ORT_API_CALL AllocOnStream(OrtAllocator* self, size_t size, OrtSyncStream* /*stream*/) {
  return self->Alloc(self, size);
}
inline void* ORT_API_CALL Reserve(OrtAllocator* self, size_t size) { return self->Alloc(self, size); }
inline OrtStatus* ORT_API_CALL GetStats(const OrtAllocator* /*self*/, OrtKeyValuePairs** stats) {
  api->CreateKeyValuePairs(stats);
  api->AddKeyValuePair(*stats, "InUse", "17");
  return nullptr;
}
inline OrtStatus* ORT_API_CALL Shrink(OrtAllocator* /*self*/) { return nullptr; }

}  // namespace added

template <>
struct Made<&OrtEpFactory::CreateEp> {
  static void Wrap(OrtEpFactory* /*self*/, const OrtHardwareDevice* const* /*devices*/,
                   const OrtKeyValuePairs* const* /*metadata*/, size_t /*num_devices*/,
                   const OrtSessionOptions* /*options*/, const OrtLogger* /*logger*/, OrtEp** made) {
    WrapAll(*made);
  }
};
template <>
struct Made<&OrtEpFactory::CreateAllocator> {
  static void Wrap(OrtEpFactory* /*self*/, const OrtMemoryInfo* /*info*/, const OrtKeyValuePairs* /*options*/,
                   OrtAllocator** made) {
    WrapAll(*made);
  }
};
template <>
struct Made<&OrtEp::CreateAllocator> {
  static void Wrap(OrtEp* /*self*/, const OrtMemoryInfo* /*info*/, OrtAllocator** made) { WrapAll(*made); }
};
template <>
struct Made<&OrtEpFactory::CreateDataTransfer> {
  static void Wrap(OrtEpFactory* /*self*/, OrtDataTransferImpl** made) { WrapAll(*made); }
};
template <>
struct Made<&OrtEpFactory::CreateSyncStreamForDevice> {
  static void Wrap(OrtEpFactory* /*self*/, const OrtMemoryDevice* /*device*/, const OrtKeyValuePairs* /*options*/,
                   OrtSyncStreamImpl** made) {
    WrapAll(*made);
  }
};
template <>
struct Made<&OrtEp::CreateSyncStreamForDevice> {
  static void Wrap(OrtEp* /*self*/, const OrtMemoryDevice* /*device*/, OrtSyncStreamImpl** made) { WrapAll(*made); }
};
template <>
struct Made<&OrtSyncStreamImpl::CreateNotification> {
  static void Wrap(OrtSyncStreamImpl* /*self*/, OrtSyncNotificationImpl** made) { WrapAll(*made); }
};
template <>
struct Made<&OrtEp::Compile> {
  static void Wrap(OrtEp* /*self*/, const OrtGraph** /*graphs*/, const OrtNode** /*nodes*/, size_t count,
                   OrtNodeComputeInfo** infos, OrtNode** /*contexts*/) {
    for (std::size_t i = 0; i < count; ++i) WrapAll(infos[i]);
  }
};
template <>
struct Made<&OrtEp::CreateProfiler> {
  static void Wrap(OrtEp* /*self*/, OrtEpProfilerImpl** made) { WrapAll(*made); }
};
template <>
struct Made<&OrtEpFactory::CreateExternalResourceImporterForDevice> {
  static void Wrap(OrtEpFactory* /*self*/, const OrtEpDevice* /*device*/, OrtExternalResourceImporterImpl** made) {
    WrapAll(*made);
  }
};
template <>
struct Made<&OrtExternalResourceImporterImpl::ImportMemory> {
  static void Wrap(OrtExternalResourceImporterImpl* /*self*/, const OrtExternalMemoryDescriptor* /*description*/,
                   OrtExternalMemoryHandle** made) {
    WrapAll(*made);
  }
};
template <>
struct Made<&OrtExternalResourceImporterImpl::ImportSemaphore> {
  static void Wrap(OrtExternalResourceImporterImpl* /*self*/, const OrtExternalSemaphoreDescriptor* /*description*/,
                   OrtExternalSemaphoreHandle** made) {
    WrapAll(*made);
  }
};

}  // namespace faults
