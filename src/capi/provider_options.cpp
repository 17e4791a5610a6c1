// capi/provider_options.cpp - lists the available execution providers, and adds chosen ones to a session's options.
#include <algorithm>
#include <cstring>
#include <memory>

#include "capi/functions.h"
#include "capi/handles/allocator.h"
#include "capi/handles/status.h"
#include "capi/options.h"
#include "capi/own_functions.h"
#include "capi/providers.h"

namespace sardonyx::capi {
namespace {

// Of ONNX Runtime: who asks for one of them has not mistyped the name of another.
constexpr std::string_view kOthers[] = {"ACL",      "ArmNN",  "Azure",   "CANN",     "CUDA",  "CoreML",
                                        "DML",      "Dnnl",   "JS",      "MIGraphX", "NNAPI", "NvTensorRTRTX",
                                        "OpenVINO", "QNN",    "RKNPU",   "ROCM",     "SNPE",  "Tensorrt",
                                        "TVM",      "VSINPU", "VitisAI", "WebGPU",   "WebNN", "XNNPACK"};

bool IsOther(std::string_view name) {
  return std::any_of(std::begin(kOthers), std::end(kOthers), [&](std::string_view other) {
    return name == other || name == std::string(other) + "ExecutionProvider";
  });
}

[[noreturn]] void FailNoProvider(const char* name) {
  std::string listed;
  std::vector<std::string> names;
  for (const providers::ProviderFactory& factory : ProviderFactories()) {
    listed += (listed.empty() ? "" : ", ") + factory.name;
    names.push_back(factory.name);
  }
  const std::string closest = IsOther(name) ? "" : ClosestName(name, names);
  Fail(Code::kInvalidArgument, "execution provider '", name, "' is not part of this library; it has: ", listed,
       closest.empty() ? "" : "; did you mean '" + closest + "'?");
}

// ONNX Runtime's short names leave out the ending.
const providers::ProviderFactory* FindProvider(std::string_view name) {
  for (const providers::ProviderFactory& factory : ProviderFactories())
    if (factory.name == name || factory.name == std::string(name) + "ExecutionProvider") return &factory;
  return nullptr;
}

runtime::ProviderChoice ChoiceOf(const std::string& name, const char* const* keys, const char* const* values,
                                 std::size_t count) {
  NeedArray(keys, count, "provider_options_keys");
  NeedArray(values, count, "provider_options_values");
  runtime::ProviderChoice choice{name, {}};
  for (std::size_t i = 0; i < count; ++i)
    choice.options.emplace_back(&Need(keys[i], "provider_options_keys[i]"),
                                &Need(values[i], "provider_options_values[i]"));
  return choice;
}

}  // namespace

OrtStatusPtr ORT_API_CALL AppendProvider(OrtSessionOptions* options, const char* provider_name,
                                         const char* const* provider_options_keys,
                                         const char* const* provider_options_values, size_t num_keys,
                                         const char* missing) noexcept {
  return Guard([&] {
    runtime::SessionOptions& target = Need(options, "options").options;
    const providers::ProviderFactory* factory = FindProvider(&Need(provider_name, "provider_name"));
    runtime::ProviderChoice choice = ChoiceOf(factory != nullptr ? factory->name : provider_name, provider_options_keys,
                                              provider_options_values, num_keys);
    if (missing != nullptr) choice.missing = missing;
    target.providers.push_back(std::move(choice));
  });
}

OrtStatusPtr ORT_API_CALL GetAvailableProviders(char*** out_ptr, int* provider_length) noexcept {
  return Guard([&] {
    const std::vector<providers::ProviderFactory>& factories = ProviderFactories();
    const std::size_t count = factories.size();
    OrtAllocator* allocator = DefaultAllocator();
    Need(out_ptr, "out_ptr");
    Need(provider_length, "provider_length") = static_cast<int>(count);
    char** names = static_cast<char**>(AllocateResult(allocator, count * sizeof(char*)));
    for (std::size_t i = 0; i < count; ++i) names[i] = CopyText(allocator, factories[i].name);
    Need(out_ptr, "out_ptr") = names;
  });
}

OrtStatusPtr ORT_API_CALL ReleaseAvailableProviders(char** ptr, int providers_length) noexcept {
  return Guard([&] {
    OrtAllocator* allocator = DefaultAllocator();
    for (int i = 0; ptr != nullptr && i < providers_length; ++i) allocator->Free(allocator, ptr[i]);
    allocator->Free(allocator, ptr);
  });
}

OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider(OrtSessionOptions* options, const char* provider_name,
                                                                const char* const* provider_options_keys,
                                                                const char* const* provider_options_values,
                                                                size_t num_keys) noexcept {
  return Guard([&] {
    runtime::SessionOptions& target = Need(options, "options").options;
    const std::string_view name = &Need(provider_name, "provider_name");
    NeedArray(provider_options_keys, num_keys, "provider_options_keys");
    NeedArray(provider_options_values, num_keys, "provider_options_values");
    const providers::ProviderFactory* factory = FindProvider(name);
    if (factory == nullptr) FailNoProvider(provider_name);
    target.providers.push_back(ChoiceOf(factory->name, provider_options_keys, provider_options_values, num_keys));
  });
}

const char* ORT_API_CALL GetBuildInfoString() noexcept {
  return "Build Info: Sardonyx " SDX_VERSION ", ONNX Runtime API " SDX_ORT_VERSION;
}

}  // namespace sardonyx::capi
