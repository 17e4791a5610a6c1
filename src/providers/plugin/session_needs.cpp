// providers/plugin/session_needs.cpp - asks an OrtEp for what goes with models of compiled nodes, and for the layout of
// images that it prefers.
#include <vector>

#include "base/error.h"
#include "capi/handles/call_out.h"
#include "providers/plugin/plugin_provider.h"

namespace sardonyx::plugin {

using capi::CallOut;

// A provider that would not call the caller's functions must not be left to read or write elsewhere.
void PluginProvider::CheckContextData() const {
  if (!needs_.reads && !needs_.writes) return;
  std::uint32_t flags = 0;
  constexpr std::uint32_t kKnown = OrtEpContextDataSupportFlags_READ | OrtEpContextDataSupportFlags_WRITE;
  if (const auto get_support = ep_->Find(&OrtEp::GetEpContextDataSupport))
    CallOut(ep_->Callee("GetEpContextDataSupport").c_str(), get_support, static_cast<const OrtEp*>(ep_->handle()),
            &flags);
  if ((flags & ~kKnown) != 0)
    Fail(Code::kFail, ep_->Callee("GetEpContextDataSupport"), ": expected flags of ", kKnown, ", found ", flags);
  const auto check = [&](bool needed, std::uint32_t flag, const char* what) {
    if (needed && (flags & flag) == 0)
      Fail(Code::kFail, "execution provider '", name(), "' does not support the registered EPContext data ", what,
           " callback");
  };
  check(needs_.reads, OrtEpContextDataSupportFlags_READ, "read");
  check(needs_.writes, OrtEpContextDataSupportFlags_WRITE, "write");
}

void PluginProvider::CheckWeightless() const {
  constexpr std::uint32_t kFirst = 29;  // the version with GetWeightlessSupport
  if (ep_->handle()->ort_version_supported < kFirst) {
    ep_->logger().Warn("execution provider '", name(), "' is of version ", ep_->handle()->ort_version_supported,
                       " of the interface: nobody can say whether it honours ep.enable_weightless");
    return;
  }
  const auto get_support = ep_->Find(&OrtEp::GetWeightlessSupport);
  if (get_support == nullptr)
    Fail(Code::kEpFail, "ep.enable_weightless: execution provider '", name(),
         "' does not implement GetWeightlessSupport");
  OrtWeightlessSupport support = OrtWeightlessSupport_NONE;
  CallOut(ep_->Callee("GetWeightlessSupport").c_str(), get_support, static_cast<const OrtEp*>(ep_->handle()), &support);
  if (support == OrtWeightlessSupport_NONE)
    Fail(Code::kEpFail, "ep.enable_weightless: execution provider '", name(),
         "' does not compile models without their weights");
}

providers::Layout PluginProvider::FindLayout() const {
  OrtEpDataLayout layout = OrtEpDataLayout_NCHW;
  if (const auto get_layout = ep_->Find(&OrtEp::GetPreferredDataLayout))
    CallOut(ep_->Callee("GetPreferredDataLayout").c_str(), get_layout, ep_->handle(), &layout);
  if (layout != OrtEpDataLayout_NCHW && layout != OrtEpDataLayout_NHWC)
    Fail(Code::kEpFail, ep_->Callee("GetPreferredDataLayout"), ": expected NCHW (0) or NHWC (1), found ", int{layout});
  return layout == OrtEpDataLayout_NHWC ? providers::Layout::kChannelsLast : providers::Layout::kChannelsFirst;
}

std::optional<bool> PluginProvider::WantsChannelsLast(std::string_view domain, std::string_view op_type) const {
  const auto should_convert = ep_->Find(&OrtEp::ShouldConvertDataLayoutForOp);
  if (should_convert == nullptr) return std::nullopt;
  int answer = -1;
  CallOut(ep_->Callee("ShouldConvertDataLayoutForOp").c_str(), should_convert, ep_->handle(),
          std::string(domain).c_str(), std::string(op_type).c_str(), OrtEpDataLayout_NHWC, &answer);
  if (answer < 0) return std::nullopt;  // it leaves that to us
  return answer != 0;
}

std::string PluginProvider::CompatibilityInfo(const Graph& graph, const Model* model) {
  const auto get_info = ep_->Find(&OrtEp::GetCompiledModelCompatibilityInfo);
  if (get_info == nullptr) return "";
  const std::unique_ptr<OrtGraph> shown =
      capi::ViewGraph(graph, model != nullptr ? capi::FactsOf(*model) : std::make_shared<const capi::ModelFacts>());
  const char* info = CallOut(ep_->Callee("GetCompiledModelCompatibilityInfo").c_str(), get_info, ep_->handle(),
                             static_cast<const OrtGraph*>(shown.get()));
  return info != nullptr ? info : "";
}

providers::Compatibility PluginProvider::Assess(const std::string& compatibility_info) {
  OrtEpFactory* factory = ep_->factory().handle();
  const auto validate =
      FieldOf(static_cast<const OrtEpFactory*>(factory), &OrtEpFactory::ValidateCompiledModelCompatibilityInfo);
  if (validate == nullptr) return providers::Compatibility::kUnknown;
  std::vector<const OrtHardwareDevice*> hardware;
  for (const OrtEpDevice* device : ep_->devices()) hardware.push_back(device->device);
  OrtCompiledModelCompatibility answer = OrtCompiledModelCompatibility_EP_NOT_APPLICABLE;
  try {
    CallOut((ep_->name() + ": OrtEpFactory::ValidateCompiledModelCompatibilityInfo").c_str(), validate, factory,
            hardware.data(), hardware.size(), compatibility_info.c_str(), &answer);
  } catch (const Error& error) {  // ONNX Runtime answers so, whatever the plug-in's code
    Fail(Code::kFail, error.what());
  }
  switch (answer) {
    case OrtCompiledModelCompatibility_EP_SUPPORTED_OPTIMAL:
      return providers::Compatibility::kOptimal;
    case OrtCompiledModelCompatibility_EP_SUPPORTED_PREFER_RECOMPILATION:
      return providers::Compatibility::kSuboptimal;
    case OrtCompiledModelCompatibility_EP_UNSUPPORTED:
      return providers::Compatibility::kUnsupported;
    default:
      return providers::Compatibility::kUnknown;
  }
}

}  // namespace sardonyx::plugin
