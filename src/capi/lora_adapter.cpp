// capi/lora_adapter.cpp - LoRA adapters: reads them, and makes them active for runs.
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capi/functions.h"
#include "capi/handles/allocator.h"
#include "capi/handles/kind.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"
#include "capi/handles/value.h"
#include "capi/options.h"
#include "capi/own_functions.h"
#include "model/adapter_file.h"

struct OrtLoraAdapter {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kLoraAdapter> mark;
  std::shared_ptr<const sardonyx::model::Adapter> adapter;  // shared with the options of runs
};

namespace sardonyx::capi {
namespace {

std::shared_ptr<Allocator> HostMemoryOf(OrtAllocator* allocator) {
  if (NeedKind(allocator, "allocator") == nullptr) return HostAllocator();
  std::shared_ptr<Allocator> memory = FromHandle(allocator);
  if (!memory->device().IsHost())
    Fail(Code::kNotImplemented, "argument 'allocator': expected host memory, which the CPU reads, found a device's");
  return memory;
}

OrtLoraAdapter* NewAdapter(model::Adapter adapter) {
  return std::make_unique<OrtLoraAdapter>(
             OrtLoraAdapter{{}, std::make_shared<const model::Adapter>(std::move(adapter))})
      .release();
}

}  // namespace

OrtStatusPtr ORT_API_CALL CreateLoraAdapter(const ORTCHAR_T* adapter_file_path, OrtAllocator* allocator,
                                            OrtLoraAdapter** out) noexcept {
  return Guard([&] {
    const std::string path = &Need(adapter_file_path, "adapter_file_path");
    auto& result = Need(out, "out");
    result = NewAdapter(model::ReadAdapterFile(path, HostMemoryOf(allocator)));
  });
}

OrtStatusPtr ORT_API_CALL CreateLoraAdapterFromArray(const void* bytes, size_t num_bytes, OrtAllocator* allocator,
                                                     OrtLoraAdapter** out) noexcept {
  return Guard([&] {
    const auto* data = &Need(static_cast<const std::byte*>(bytes), "bytes");
    auto& result = Need(out, "out");
    result = NewAdapter(model::ReadAdapter({data, num_bytes}, nullptr, HostMemoryOf(allocator)));
  });
}

void ORT_API_CALL ReleaseLoraAdapter(OrtLoraAdapter* input) noexcept { ReleaseHandle(input); }

OrtStatusPtr ORT_API_CALL LoraAdapterInfo(const OrtLoraAdapter* adapter, int* format_version, int* adapter_version,
                                          int* model_version, size_t* parameter_count) noexcept {
  return Guard([&] {
    const model::Adapter& found = *Need(adapter, "adapter").adapter;
    Need(format_version, "format_version") = found.format_version;
    Need(adapter_version, "adapter_version") = found.adapter_version;
    Need(model_version, "model_version") = found.model_version;
    Need(parameter_count, "parameter_count") = found.parameters.size();
  });
}

OrtStatusPtr ORT_API_CALL LoraAdapterParameter(const OrtLoraAdapter* adapter, size_t index, const char** name,
                                               OrtValue** value) noexcept {
  return Guard([&] {
    const auto& parameters = Need(adapter, "adapter").adapter->parameters;
    if (index >= parameters.size())
      Fail(Code::kInvalidArgument, "parameter of an adapter: expected an index below ", parameters.size(), ", found ",
           index);
    Need(name, "name") = parameters[index].first.c_str();
    auto& result = Need(value, "value");
    result = NewHandle(parameters[index].second);
  });
}

OrtStatusPtr ORT_API_CALL WriteLoraAdapter(const char* path, int adapter_version, int model_version,
                                           const char* const* names, const OrtValue* const* values,
                                           size_t count) noexcept {
  return Guard([&] {
    const std::string file = &Need(path, "path");
    NeedArray(names, count, "names");
    NeedArray(values, count, "values");
    model::Adapter adapter;
    adapter.adapter_version = adapter_version;
    adapter.model_version = model_version;
    for (std::size_t i = 0; i < count; ++i)
      adapter.parameters.emplace_back(&Need(names[i], "names[i]"), NeedTensor(values[i], "values[i]"));
    const std::vector<std::byte> bytes = model::WriteAdapter(adapter);
    std::ofstream out(file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out) Fail(Code::kFail, file, ": cannot be written");
  });
}

OrtStatusPtr ORT_API_CALL RunOptionsAddActiveLoraAdapter(OrtRunOptions* options,
                                                         const OrtLoraAdapter* adapter) noexcept {
  return Guard([&] { Need(options, "options").adapters.push_back(Need(adapter, "adapter").adapter); });
}

}  // namespace sardonyx::capi
