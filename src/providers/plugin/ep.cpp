// providers/plugin/ep.cpp - makes and releases an OrtEp.
#include "providers/plugin/ep.h"

#include <utility>

#include "base/error.h"
#include "capi/handles/call_release.h"

namespace sardonyx::plugin {
namespace {

constexpr std::uint32_t kOldestVersion = 22;  // of OrtEp that ONNX Runtime takes

}  // namespace

Ep::Ep(std::shared_ptr<Library> library, const Factory& factory, std::vector<const OrtEpDevice*> devices,
       const OrtSessionOptions& options, const Logger& logger)
    : library_(std::move(library)),
      factory_(factory),
      devices_(std::move(devices)),
      logger_{{}, logger},
      name_(factory.name()),
      handle_(nullptr, Releaser{this}) {
  std::vector<const OrtHardwareDevice*> hardware;
  std::vector<const OrtKeyValuePairs*> metadata;
  for (const OrtEpDevice* device : devices_) {
    hardware.push_back(device->device);
    metadata.push_back(&device->metadata);
  }
  OrtEp* made = nullptr;
  try {
    capi::CallOut((name_ + ": OrtEpFactory::CreateEp").c_str(), factory.handle()->CreateEp, factory.handle(),
                  hardware.data(), metadata.data(), hardware.size(), &options, &logger_, &made);
  } catch (const Error& error) {  // whatever its code is: ONNX Runtime gives this one
    throw Error(Code::kFail, error.what());
  }
  if (made == nullptr) Fail(Code::kEpFail, name_, ": OrtEpFactory::CreateEp: expected a provider, found NULL");
  handle_.reset(made);
  if (made->ort_version_supported < kOldestVersion) {
    Fail(Code::kEpFail, name_, ": OrtEp: expected version ", kOldestVersion, " or newer, found ",
         made->ort_version_supported);
  }
  if (made->GetName == nullptr) Fail(Code::kEpFail, name_, ": OrtEp: expected a function GetName, found NULL");
  const char* name = capi::CallOut(Callee("GetName").c_str(), made->GetName, static_cast<const OrtEp*>(made));
  if (name == nullptr || name_ != name)
    Fail(Code::kEpFail, name_, ": OrtEp::GetName: expected the name of its factory, found '",
         name != nullptr ? name : "NULL", "'");
}

void Ep::Releaser::operator()(OrtEp* ep) const noexcept {
  OrtEpFactory* factory = owner->factory().handle();
  capi::CallRelease(owner->logger(), owner->name() + ": OrtEpFactory::ReleaseEp", factory->ReleaseEp, factory, ep);
}

}  // namespace sardonyx::plugin
