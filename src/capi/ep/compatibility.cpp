// capi/ep/compatibility.cpp - asks plug-ins whether a compiled model, or a device, fits them.
#include <memory>
#include <string>
#include <vector>

#include "capi/env.h"
#include "capi/functions.h"
#include "capi/handles/allocator.h"
#include "capi/handles/call_out.h"
#include "capi/handles/ep_device.h"
#include "capi/handles/kind.h"
#include "capi/handles/release.h"
#include "model/load.h"
#include "providers/plugin/fields.h"

// Why a provider cannot use a device.
struct OrtDeviceEpIncompatibilityDetails {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kDeviceEpIncompatibilityDetails> mark;
  std::uint32_t reasons = OrtDeviceEpIncompatibility_NONE;
  std::int32_t error_code = 0;
  std::string notes;
};

namespace sardonyx::capi {
namespace {

// A model's metadata has it under this key, followed by the name of the provider that compiled it.
constexpr const char* kCompatibilityKey = "ep_compatibility_info.";

// NULL if the model has none for this provider.
char* CompatibilityOf(const Model& model, const char* ep_type, OrtAllocator* allocator) {
  if (Need(ep_type, "ep_type") == '\0')
    Fail(Code::kInvalidArgument, "argument 'ep_type': expected the name of an execution provider, found ''");
  const std::string wanted = std::string(kCompatibilityKey) + ep_type;
  for (const auto& [key, value] : model.metadata)
    if (key == wanted) return CopyText(allocator, value);
  return nullptr;
}

// As in ONNX Runtime, what is not a model is an invalid graph here.
template <typename Load>
Model LoadModel(const Load& load) {
  try {
    return load();
  } catch (const Error& error) {
    Fail(error.code() == Code::kNoSuchFile ? Code::kNoSuchFile : Code::kInvalidGraph, error.what());
  }
}

}  // namespace

OrtStatusPtr ORT_API_CALL GetModelCompatibilityForEpDevices(const OrtEpDevice* const* ep_devices, size_t num_ep_devices,
                                                            const char* compatibility_info,
                                                            OrtCompiledModelCompatibility* out_status) noexcept {
  return Guard([&] {
    NeedArray(ep_devices, num_ep_devices, "ep_devices");
    const char* info = &Need(compatibility_info, "compatibility_info");
    auto& result = Need(out_status, "out_status");
    if (num_ep_devices == 0) Fail(Code::kInvalidArgument, "compatibility: expected at least one device, found none");
    std::vector<const OrtHardwareDevice*> hardware;
    for (std::size_t i = 0; i < num_ep_devices; ++i) {
      if (Need(ep_devices[i], "ep_devices[i]").factory != ep_devices[0]->factory)
        Fail(Code::kInvalidArgument, "compatibility: expected devices of one provider, found '", ep_devices[0]->ep_name,
             "' and '", ep_devices[i]->ep_name, "'");
      hardware.push_back(ep_devices[i]->device);
    }
    result = OrtCompiledModelCompatibility_EP_NOT_APPLICABLE;
    if (ep_devices[0]->factory == nullptr) return;  // our CPU provider compiles no models
    const plugin::Libraries::Place place = FindRegistered(ep_devices[0]);
    if (place.factory == nullptr)
      Fail(Code::kInvalidArgument, "compatibility: expected devices of a registered provider library");
    OrtEpFactory* factory = place.factory->handle();
    const auto validate = plugin::FieldOf(static_cast<const OrtEpFactory*>(factory),
                                          &OrtEpFactory::ValidateCompiledModelCompatibilityInfo);
    if (validate == nullptr) return;
    CallOut((place.factory->name() + ": OrtEpFactory::ValidateCompiledModelCompatibilityInfo").c_str(), validate,
            factory, hardware.data(), hardware.size(), info, &result);
  });
}

OrtStatusPtr ORT_API_CALL GetCompatibilityInfoFromModel(const ORTCHAR_T* model_path, const char* ep_type,
                                                        OrtAllocator* allocator, char** compatibility_info) noexcept {
  return Guard([&] {
    auto& result = Need(compatibility_info, "compatibility_info");
    const char* path = &Need(model_path, "model_path");
    const Model model = LoadModel([&] { return model::LoadFile(path, {}); });
    result = CompatibilityOf(model, ep_type, &Need(allocator, "allocator"));
  });
}

OrtStatusPtr ORT_API_CALL GetCompatibilityInfoFromModelBytes(const void* model_data, size_t model_data_length,
                                                             const char* ep_type, OrtAllocator* allocator,
                                                             char** compatibility_info) noexcept {
  return Guard([&] {
    const auto* data = &Need(static_cast<const std::byte*>(model_data), "model_data");
    if (model_data_length == 0)
      Fail(Code::kInvalidArgument, "argument 'model_data_length': expected the size of a model, found 0");
    auto& result = Need(compatibility_info, "compatibility_info");
    const Model model = LoadModel([&] { return model::LoadBytes({data, model_data_length}, nullptr, {}); });
    result = CompatibilityOf(model, ep_type, &Need(allocator, "allocator"));
  });
}

OrtStatusPtr ORT_API_CALL
GetHardwareDeviceEpIncompatibilityDetails(const OrtEnv* env, const char* ep_name, const OrtHardwareDevice* hw,
                                          OrtDeviceEpIncompatibilityDetails** details) noexcept {
  return Guard([&] {
    const OrtEnv& environment = Need(env, "env");
    const std::string name = &Need(ep_name, "ep_name");
    const OrtHardwareDevice* device = &Need(hw, "hw");
    auto& result = Need(details, "details");
    auto made = std::make_unique<OrtDeviceEpIncompatibilityDetails>();
    const std::vector<plugin::Libraries::Place> places = environment.libraries.FindProvider(name);
    if (places.empty() && environment.environment->FindFactory(name) == nullptr)
      Fail(Code::kInvalidArgument, "there is no execution provider '", name, "' in a registered library");
    for (const plugin::Libraries::Place& place : places) {
      OrtEpFactory* factory = place.factory->handle();
      const auto explain = plugin::FieldOf(static_cast<const OrtEpFactory*>(factory),
                                           &OrtEpFactory::GetHardwareDeviceIncompatibilityDetails);
      if (explain != nullptr)
        CallOut((name + ": OrtEpFactory::GetHardwareDeviceIncompatibilityDetails").c_str(), explain, factory, device,
                made.get());
    }
    result = made.release();
  });
}

OrtStatusPtr ORT_API_CALL DeviceEpIncompatibilityDetails_GetReasonsBitmask(
    const OrtDeviceEpIncompatibilityDetails* details, uint32_t* reasons_bitmask) noexcept {
  return Guard([&] { Need(reasons_bitmask, "reasons_bitmask") = Need(details, "details").reasons; });
}

OrtStatusPtr ORT_API_CALL DeviceEpIncompatibilityDetails_GetNotes(const OrtDeviceEpIncompatibilityDetails* details,
                                                                  const char** notes) noexcept {
  return Guard([&] {
    const std::string& text = Need(details, "details").notes;
    Need(notes, "notes") = text.empty() ? nullptr : text.c_str();
  });
}

OrtStatusPtr ORT_API_CALL DeviceEpIncompatibilityDetails_GetErrorCode(const OrtDeviceEpIncompatibilityDetails* details,
                                                                      int32_t* error_code) noexcept {
  return Guard([&] { Need(error_code, "error_code") = Need(details, "details").error_code; });
}

void ORT_API_CALL ReleaseDeviceEpIncompatibilityDetails(OrtDeviceEpIncompatibilityDetails* input) noexcept {
  ReleaseHandle(input);
}

OrtStatusPtr ORT_API_CALL ep::DeviceEpIncompatibilityDetails_SetDetails(OrtDeviceEpIncompatibilityDetails* details,
                                                                        uint32_t reasons_bitmask, int32_t error_code,
                                                                        const char* notes) noexcept {
  return Guard([&] {
    OrtDeviceEpIncompatibilityDetails& target = Need(details, "details");
    target = {{}, reasons_bitmask, error_code, notes != nullptr ? notes : ""};
  });
}

}  // namespace sardonyx::capi
