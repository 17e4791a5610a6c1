// capi/package/select.cpp - selects the variant of a model package that fits an execution provider, and makes sessions
// of it.
#include <algorithm>
#include <iterator>
#include <memory>

#include "capi/env.h"
#include "capi/ep_device.h"
#include "capi/functions.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"
#include "capi/package/find.h"
#include "capi/provider_choice.h"

namespace sardonyx::capi {
namespace {

constexpr const char* kCpu = "CPUExecutionProvider";

std::string InLowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool HasDevice(const OrtModelPackageOptions& options, const std::string& type) {
  const auto name = [](OrtHardwareDeviceType device) {
    return device == OrtHardwareDeviceType_CPU   ? "cpu"
           : device == OrtHardwareDeviceType_GPU ? "gpu"
           : device == OrtHardwareDeviceType_NPU ? "npu"
                                                 : "";
  };
  return std::any_of(options.devices.begin(), options.devices.end(),
                     [&](const OrtEpDevice* device) { return name(device->device->type) == type; });
}

// How well a variant fits; nothing: not at all. As in ONNX Runtime, one for a certain type of device does not fit the
// built-in CPU provider.
std::optional<int> ScoreOf(const PackageVariant& variant, const OrtModelPackageOptions& options) {
  if (variant.ep != options.ep_name) return std::nullopt;
  if (variant.device && !variant.device->empty() && !HasDevice(options, InLowerCase(*variant.device)))
    return std::nullopt;
  if (options.devices.empty() || variant.compatibility.value_or("").empty()) return 0;
  OrtCompiledModelCompatibility compatibility = OrtCompiledModelCompatibility_EP_NOT_APPLICABLE;
  ThrowIfError(GetModelCompatibilityForEpDevices(options.devices.data(), options.devices.size(),
                                                 variant.compatibility->c_str(), &compatibility),
               "GetModelCompatibilityForEpDevices");
  switch (compatibility) {
    case OrtCompiledModelCompatibility_EP_SUPPORTED_OPTIMAL:
      return 100;
    case OrtCompiledModelCompatibility_EP_SUPPORTED_PREFER_RECOMPILATION:
      return 50;
    case OrtCompiledModelCompatibility_EP_UNSUPPORTED:
      return std::nullopt;
    default:
      return 0;
  }
}

// The best; of several that fit equally well the first.
const PackageVariant* BestOf(const PackageComponent& component, const OrtModelPackageOptions& options) {
  const PackageVariant* best = nullptr;
  int best_score = -1;
  for (const PackageVariant& variant : component.variants) {
    const std::optional<int> score = ScoreOf(variant, options);
    if (score.value_or(-1) <= best_score) continue;
    best = &variant;
    best_score = *score;
  }
  return best;
}

// Without options of the caller: those of the package.
OrtSessionOptions OptionsOf(const OrtModelPackageComponentContext& component) {
  OrtSessionOptions options;
  for (const auto& [key, value] : component.variant.session_options)
    SetConfigEntry(options.options.config, key.c_str(), value.c_str());
  if (!component.options.choice) return options;
  runtime::ProviderChoice choice = *component.options.choice;
  const std::string prefix = "ep." + InLowerCase(choice.name) + ".";  // where a plug-in finds its options
  for (const auto& [key, value] : component.variant.provider_options)
    if (choice.make) SetConfigEntry(options.options.config, (prefix + key).c_str(), value.c_str());
  options.options.providers.push_back(std::move(choice));
  return options;
}

OrtSessionOptions OptionsOf(const OrtModelPackageComponentContext& component, const OrtSessionOptions& given) {
  OrtSessionOptions options = given;
  for (const auto& [key, value] : component.variant.session_options)
    if (NamesFile(key) && !options.options.config.contains(key))
      SetConfigEntry(options.options.config, key.c_str(), value.c_str());
  if (options.options.providers.empty() && component.options.choice) {
    options.selection = {};
    options.options.providers.push_back(*component.options.choice);
  }
  return options;
}

}  // namespace

namespace model_package {

OrtStatusPtr ORT_API_CALL CreateModelPackageOptionsFromSessionOptions(const OrtEnv* env,
                                                                      const OrtSessionOptions* session_options,
                                                                      OrtModelPackageOptions** out) noexcept {
  return Guard([&] {
    const OrtEnv& environment = Need(env, "env");
    const OrtSessionOptions& given = Need(session_options, "session_options");
    auto& result = Need(out, "out");
    auto made = std::make_unique<OrtModelPackageOptions>();
    std::vector<runtime::ProviderChoice> choices = given.options.providers;
    std::vector<const OrtEpDevice*> devices = given.devices;
    if (choices.empty()) {
      const plugin::Libraries::Held held = environment.libraries.Hold();
      devices = SelectDevices(held.devices, given.selection, Model{});
      choices = ChoicesOf(environment, devices);
    }
    made->ep_name = kCpu;
    if (!choices.empty()) {
      made->ep_name = choices.front().name;
      made->choice = std::move(choices.front());
      std::copy_if(devices.begin(), devices.end(), std::back_inserter(made->devices), [&](const OrtEpDevice* device) {
        return device->factory != nullptr && device->ep_name == made->ep_name;
      });
    }
    result = made.release();
  });
}

void ORT_API_CALL ReleaseModelPackageOptions(OrtModelPackageOptions* options) noexcept { ReleaseHandle(options); }

OrtStatusPtr ORT_API_CALL SelectComponent(const OrtModelPackageContext* context, const char* component_name,
                                          const OrtModelPackageOptions* options,
                                          OrtModelPackageComponentContext** out) noexcept {
  return Guard([&] {
    const OrtModelPackageOptions& wanted = Need(options, "options");
    auto& result = Need(out, "out");
    const PackageComponent& component = FindComponent(context, "context", component_name);
    const PackageVariant* best = BestOf(component, wanted);
    if (best == nullptr)
      Fail(Code::kFail, "component '", component.name, "': none of its ", component.variants.size(),
           " variants fits the execution provider '", wanted.ep_name, "' and its devices");
    result = std::make_unique<OrtModelPackageComponentContext>(
                 OrtModelPackageComponentContext{{}, component.name, *best, wanted})
                 .release();
  });
}

void ORT_API_CALL ReleaseModelPackageComponentContext(OrtModelPackageComponentContext* ctx) noexcept {
  ReleaseHandle(ctx);
}

OrtStatusPtr ORT_API_CALL ModelPackageComponent_GetSelectedVariantName(const OrtModelPackageComponentContext* ctx,
                                                                       const char** out_name) noexcept {
  return Guard([&] { Need(out_name, "out_name") = Need(ctx, "ctx").variant.name.c_str(); });
}

OrtStatusPtr ORT_API_CALL ModelPackageComponent_GetSelectedVariantFolderPath(const OrtModelPackageComponentContext* ctx,
                                                                             const ORTCHAR_T** folder_path) noexcept {
  return Guard([&] {
    const OrtModelPackageComponentContext& component = Need(ctx, "ctx");
    auto& result = Need(folder_path, "folder_path");
    result = component.variant.folder.c_str();  // "" if the variant has none
  });
}

OrtStatusPtr ORT_API_CALL CreateSession(const OrtEnv* env, OrtModelPackageComponentContext* context,
                                        const OrtSessionOptions* session_options, OrtSession** session) noexcept {
  return Guard([&] {
    Need(env, "env");
    const OrtModelPackageComponentContext& component = Need(context, "context");
    Need(session, "session");
    NeedKind(session_options, "session_options");
    if (component.variant.model_file.empty())
      Fail(Code::kFail, "variant '", component.variant.name, "' of component '", component.component_name,
           "' has no executor_info[\"ort\"][\"model_file\"]");
    std::error_code error;
    if (std::filesystem::is_directory(component.variant.model_file, error))
      Fail(Code::kInvalidProtobuf, "'", component.variant.model_file.string(), "': expected a model, found a folder");
    const OrtSessionOptions options =
        session_options != nullptr ? OptionsOf(component, *session_options) : OptionsOf(component);
    ThrowIfError(capi::CreateSession(env, component.variant.model_file.c_str(), &options, session), "CreateSession");
  });
}

}  // namespace model_package
}  // namespace sardonyx::capi
