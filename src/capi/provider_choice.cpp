// capi/provider_choice.cpp - puts providers of plug-ins into the options of a session.
#include "capi/provider_choice.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "capi/ep_device.h"
#include "capi/handles/allocator.h"
#include "capi/handles/call_out.h"
#include "capi/handles/key_value_pairs.h"
#include "capi/handles/model_metadata.h"
#include "providers/plugin/fields.h"
#include "providers/plugin/plugin_provider.h"

namespace sardonyx::capi {
namespace {

// Makes a provider for a session that is being created. The library may have been unregistered since its devices were
// chosen: options do not keep it.
std::shared_ptr<providers::Provider> MakeProvider(const std::weak_ptr<plugin::Library>& library,
                                                  const plugin::Factory* factory,
                                                  const std::vector<const OrtEpDevice*>& devices,
                                                  const std::string& name, const runtime::SessionOptions& options,
                                                  const Logger& logger) {
  std::shared_ptr<plugin::Library> held = library.lock();
  if (held == nullptr)
    Fail(Code::kInvalidArgument, "execution provider '", name,
         "': the library of the devices in these session options has been unregistered");
  OrtSessionOptions handle;
  handle.options = options;
  if (options.plugin_data != nullptr) handle.context_data = *options.plugin_data;
  const plugin::SessionNeeds needs{
      .contexts = options.Config("ep.context_enable", "0") == "1",
      .reads = handle.context_data.read != nullptr,
      .writes = handle.context_data.write != nullptr,
      .packs = options.Config("session.disable_prepacking", "0") != "1",
      .shared_weights = handle.context_data.weights,
      .weightless = options.Config("ep.enable_weightless", "0") == "1",
  };
  plugin::PluginProvider::Lend lend;
  if (OrtEnv* env = CurrentEnv(); env != nullptr && options.Config("session.use_env_allocators", "0") == "1") {
    lend = [env, held, factory](const OrtMemoryInfo& info) {
      std::shared_ptr<Allocator> registered = env->allocators.Find(info.device);
      return registered != nullptr ? registered : FromHandle(env->shared_allocators.Get(held, *factory, info));
    };
  }
  return std::make_shared<plugin::PluginProvider>(std::make_shared<plugin::Ep>(held, *factory, devices, handle, logger),
                                                  needs, lend);
}

}  // namespace

runtime::ProviderChoice ChoiceOf(const OrtEnv& env, std::span<const OrtEpDevice* const> devices) {
  const plugin::Libraries::Place place = env.libraries.Find(devices.front());
  if (place.factory == nullptr)
    Fail(Code::kInvalidArgument, "execution provider: expected devices that GetEpDevices lists, found another one");
  for (const OrtEpDevice* device : devices) {
    if (place.factory->FindDevice(device) == nullptr)
      Fail(Code::kInvalidArgument, "execution provider '", place.factory->name(),
           "': expected devices of this provider only, found one of another");
  }
  return {.name = place.factory->name(),
          .make = [library = std::weak_ptr<plugin::Library>(place.library), factory = place.factory,
                   devices = std::vector<const OrtEpDevice*>(devices.begin(), devices.end()),
                   name = place.factory->name()](const runtime::SessionOptions& options, const Logger& logger) {
            return MakeProvider(library, factory, devices, name, options, logger);
          }};
}

namespace {

constexpr std::size_t kMaxSelected = 8;  // as many as ONNX Runtime makes room for

// How well a device's provider suits it: its maker's own first, ours last.
int RankOf(const OrtEpDevice& device) {
  if (device.factory == nullptr) return 2;
  const auto vendor_id = plugin::FieldOf(static_cast<const OrtEpFactory*>(device.factory), &OrtEpFactory::GetVendorId);
  const bool own = vendor_id != nullptr && device.device->vendor_id != 0 &&
                   CallOut((device.ep_name + ": OrtEpFactory::GetVendorId").c_str(), vendor_id,
                           static_cast<const OrtEpFactory*>(device.factory)) == device.device->vendor_id;
  return own ? 0 : 1;
}

// A GPU with memory of its own.
bool IsDiscrete(const OrtEpDevice& device) {
  const char* discrete = device.device->metadata.Find("Discrete");
  return device.device->type == OrtHardwareDeviceType_GPU && discrete != nullptr && std::string_view(discrete) == "1";
}

// NPUs, GPUs, then CPUs; of each the best suited first, and the provider's name decides between equals.
std::vector<const OrtEpDevice*> InOrder(std::span<const OrtEpDevice* const> devices) {
  const auto place = [](const OrtEpDevice* device) {
    const OrtHardwareDeviceType type = device->device->type;
    const int by_type = type == OrtHardwareDeviceType_NPU ? 0 : type == OrtHardwareDeviceType_GPU ? 1 : 2;
    return std::tuple(by_type, IsDiscrete(*device) ? 0 : 1, RankOf(*device), std::string_view(device->ep_name));
  };
  std::vector<const OrtEpDevice*> ordered(devices.begin(), devices.end());
  std::stable_sort(ordered.begin(), ordered.end(), [&](const auto* a, const auto* b) { return place(a) < place(b); });
  return ordered;
}

OrtHardwareDeviceType TypeWanted(OrtExecutionProviderDevicePolicy policy) {
  switch (policy) {
    case OrtExecutionProviderDevicePolicy_PREFER_GPU:
    case OrtExecutionProviderDevicePolicy_MAX_PERFORMANCE:
      return OrtHardwareDeviceType_GPU;
    case OrtExecutionProviderDevicePolicy_PREFER_NPU:
    case OrtExecutionProviderDevicePolicy_MAX_EFFICIENCY:
    case OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER:
      return OrtHardwareDeviceType_NPU;
    default:
      return OrtHardwareDeviceType_CPU;
  }
}

// The best device of the type that the policy prefers, if there is one, and the best CPU for what that does not take.
std::vector<const OrtEpDevice*> SelectByPolicy(std::span<const OrtEpDevice* const> devices,
                                               OrtExecutionProviderDevicePolicy policy) {
  std::vector<const OrtEpDevice*> selected;
  for (const OrtHardwareDeviceType type : {TypeWanted(policy), OrtHardwareDeviceType_CPU}) {
    const auto found = std::find_if(devices.begin(), devices.end(),
                                    [&](const OrtEpDevice* device) { return device->device->type == type; });
    if (found != devices.end() && (selected.empty() || selected.front() != *found)) selected.push_back(*found);
  }
  return selected;
}

OrtKeyValuePairs Describe(const Model& model) {
  OrtKeyValuePairs pairs;
  pairs.Set("doc_string", model.doc);
  pairs.Set("domain", model.domain);
  pairs.Set("graph_description", model.graph.doc);
  pairs.Set("graph_name", model.graph.name);
  pairs.Set("model_version", std::to_string(model.model_version));
  pairs.Set("producer_name", model.producer_name);
  pairs.Set("producer_version", model.producer_version);
  for (const auto& [key, value] : model.metadata) pairs.Set(key, value);
  return pairs;
}

std::vector<const OrtEpDevice*> SelectByCaller(std::span<const OrtEpDevice* const> devices,
                                               const EpSelection& selection, const Model& model) {
  std::vector<const OrtEpDevice*> offered(devices.begin(), devices.end());
  std::array<const OrtEpDevice*, kMaxSelected> selected{};
  std::size_t count = 0;
  const OrtKeyValuePairs of_model = Describe(model), of_runtime;
  CallOut<Code::kRuntimeException>("the function that selects devices", selection.delegate, offered.data(),
                                   offered.size(), &of_model, &of_runtime, selected.data(), selected.size(), &count,
                                   selection.state);
  if (count == 0 || count > kMaxSelected)
    Fail(Code::kFail, "the function that selects devices: expected 1 to ", kMaxSelected, " of them, found ", count);
  for (std::size_t i = 0; i < count; ++i) {
    if (std::find(devices.begin(), devices.end(), selected[i]) == devices.end())
      Fail(Code::kInvalidArgument, "the function that selects devices: expected devices that it was offered, found ",
           "another");
  }
  return {selected.begin(), selected.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

std::vector<runtime::ProviderChoice> ChoicesOf(const OrtEnv& env, const std::vector<const OrtEpDevice*>& devices) {
  std::vector<runtime::ProviderChoice> choices;
  std::vector<const OrtEpFactory*> seen;
  for (const OrtEpDevice* device : devices) {
    if (std::find(seen.begin(), seen.end(), device->factory) != seen.end()) continue;
    seen.push_back(device->factory);
    if (device == &CpuEpDevice()) {
      choices.push_back({device->ep_name, {}});
      continue;
    }
    std::vector<const OrtEpDevice*> together;
    std::copy_if(devices.begin(), devices.end(), std::back_inserter(together),
                 [&](const OrtEpDevice* other) { return other->factory == device->factory; });
    choices.push_back(ChoiceOf(env, together));
  }
  return choices;
}

std::vector<const OrtEpDevice*> SelectDevices(std::span<const OrtEpDevice* const> devices, const EpSelection& selection,
                                              const Model& model) {
  const std::vector<const OrtEpDevice*> ordered = InOrder(devices);
  if (selection.delegate != nullptr) return SelectByCaller(ordered, selection, model);
  return selection.policy ? SelectByPolicy(ordered, *selection.policy) : std::vector<const OrtEpDevice*>();
}

void ChooseLater(const OrtEnv& env, const EpSelection& selection, runtime::SessionOptions& options) {
  if (!selection.policy && selection.delegate == nullptr) return;
  options.choose_providers = [&env, selection](const Model& model) {
    const plugin::Libraries::Held held = env.libraries.Hold();
    return ChoicesOf(env, SelectDevices(held.devices, selection, model));
  };
}

}  // namespace sardonyx::capi
