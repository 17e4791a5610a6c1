// capi/io_binding.cpp - the functions of OrtIoBinding.
#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capi/device_values.h"
#include "capi/env.h"
#include "capi/functions.h"
#include "capi/handles/allocator.h"
#include "capi/handles/memory_info.h"
#include "capi/handles/release.h"
#include "capi/handles/value.h"
#include "capi/options.h"
#include "capi/session.h"

namespace sardonyx::capi {
namespace {

using runtime::Session;

void Bind(OrtIoBinding& binding, const char* name, const Value& value) {
  const std::optional<std::size_t> index = binding.session->FindInput(name);
  if (!index) {
    try {
      binding.session->FailUnknownInput(name);
    } catch (const Error& error) {  // the same words, with the code that ONNX Runtime gives here
      Fail(Code::kFail, error.what());
    }
  }
  const auto at = std::find(binding.input_indices.begin(), binding.input_indices.end(), *index);
  if (at != binding.input_indices.end()) {
    binding.inputs[static_cast<std::size_t>(at - binding.input_indices.begin())] = value;
    return;
  }
  binding.inputs.push_back(value);
  binding.input_indices.push_back(*index);
  binding.input_pointers.clear();
  for (const Value& input : binding.inputs) binding.input_pointers.push_back(&input);
}

void BindResult(OrtIoBinding& binding, const char* name, const Value& value, bool fresh,
                const OrtMemoryInfo* device = nullptr) {
  const std::optional<std::size_t> index = binding.session->FindOutput(name);
  if (!index) {
    binding.unknown_outputs.emplace_back(name);
    return;
  }
  const auto at = std::find(binding.output_indices.begin(), binding.output_indices.end(), *index);
  const auto position = static_cast<std::size_t>(at - binding.output_indices.begin());
  if (at == binding.output_indices.end()) {
    binding.output_indices.push_back(*index);
    binding.outputs.emplace_back();
    binding.fresh_outputs.push_back(fresh);
    binding.output_memory.emplace_back();
  }
  binding.outputs[position] = value;
  binding.fresh_outputs[position] = fresh;
  binding.output_memory[position] = device != nullptr ? std::optional(*device) : std::nullopt;
  binding.output_places.clear();
  for (const auto& memory : binding.output_memory) binding.output_places.push_back(memory ? &*memory : nullptr);
}

// Where in another session than the binding's what is bound belongs: it is found by its name.
std::vector<std::size_t> InputsOf(const Session& other, const OrtIoBinding& binding) {
  const auto& inputs = binding.session->inputs();
  const auto& overridable = binding.session->overridable_initializers();
  std::vector<std::size_t> indices;
  for (const std::size_t i : binding.input_indices) {
    const std::string& name = i < inputs.size() ? inputs[i].name : overridable[i - inputs.size()].name;
    const std::optional<std::size_t> index = other.FindInput(name);
    if (!index) other.FailUnknownInput(name);
    indices.push_back(*index);
  }
  return indices;
}

std::vector<std::size_t> OutputsOf(const Session& other, const OrtIoBinding& binding) {
  std::vector<std::size_t> indices;
  for (const std::size_t i : binding.output_indices) {
    const std::string& name = binding.session->outputs()[i].name;
    const std::optional<std::size_t> index = other.FindOutput(name);
    if (!index) other.FailUnknownOutput(name);
    indices.push_back(*index);
  }
  return indices;
}

}  // namespace

OrtStatusPtr ORT_API_CALL CreateIoBinding(OrtSession* session, OrtIoBinding** out) noexcept {
  return Guard([&] {
    auto binding = std::make_unique<OrtIoBinding>();
    BuiltSession(session);
    binding->session = session->session;
    auto& result = Need(out, "out");
    result = binding.release();
  });
}

void ORT_API_CALL ReleaseIoBinding(OrtIoBinding* input) noexcept { ReleaseHandle(input); }

// The binding shares the tensor's memory and keeps it alive; a caller's own memory must live until the last run.
OrtStatusPtr ORT_API_CALL BindInput(OrtIoBinding* binding_ptr, const char* name, const OrtValue* val_ptr) noexcept {
  return Guard(
      [&] { Bind(Need(binding_ptr, "binding_ptr"), &Need(name, "name"), *AsValue(&Need(val_ptr, "val_ptr"))); });
}

OrtStatusPtr ORT_API_CALL BindOutput(OrtIoBinding* binding_ptr, const char* name, const OrtValue* val_ptr) noexcept {
  return Guard([&] {
    BindResult(Need(binding_ptr, "binding_ptr"), &Need(name, "name"), *AsValue(&Need(val_ptr, "val_ptr")), false);
  });
}

// The run allocates the output; every run makes a new one, so that values got earlier keep their contents.
OrtStatusPtr ORT_API_CALL BindOutputToDevice(OrtIoBinding* binding_ptr, const char* name,
                                             const OrtMemoryInfo* mem_info_ptr) noexcept {
  return Guard([&] {
    const OrtMemoryInfo& info = Need(mem_info_ptr, "mem_info_ptr");
    const char* output = &Need(name, "name");
    const bool on_host = info.device.type == DeviceType::kCpu;
    OrtAllocator* memory = nullptr;
    if (!on_host) ThrowIfError(GetSharedAllocator(CurrentEnv(), &info, &memory), "GetSharedAllocator");
    if (!on_host && memory == nullptr)
      Fail(Code::kInvalidArgument, "output '", output, "': expected the host ('Cpu') or a device of a registered ",
           "provider library, found '", info.name, "'");
    BindResult(Need(binding_ptr, "binding_ptr"), output, Value(), true, on_host ? nullptr : &info);
  });
}

OrtStatusPtr ORT_API_CALL RunWithBinding(OrtSession* session, const OrtRunOptions* run_options,
                                         const OrtIoBinding* binding_ptr) noexcept {
  return Guard([&] {
    Session& target = BuiltSession(session);
    OrtIoBinding& binding = const_cast<OrtIoBinding&>(Need(binding_ptr, "binding_ptr"));  // a run fills its outputs
    if (NeedKind(run_options, "run_options") != nullptr && !run_options->adapters.empty())
      target.logger().Warn(
          "RunWithBinding: the active LoRA adapters of the run options are not used, as in ONNX "
          "Runtime: bind their parameters, or use Run");
    if (!binding.unknown_outputs.empty()) binding.session->FailUnknownOutput(binding.unknown_outputs.front());
    for (std::size_t i = 0; i < binding.outputs.size(); ++i) {
      if (binding.fresh_outputs[i]) binding.outputs[i] = Value();
    }
    std::span<const std::size_t> inputs = binding.input_indices, outputs = binding.output_indices;
    std::vector<std::size_t> other_inputs, other_outputs;
    if (binding.session.get() != &target) {
      inputs = other_inputs = InputsOf(target, binding);
      outputs = other_outputs = OutputsOf(target, binding);
    }
    RunWith(target, run_options, inputs, binding.input_pointers, outputs, binding.outputs, binding.output_places);
  });
}

// The names follow each other without separators; `lengths` tells where each ends.
OrtStatusPtr ORT_API_CALL GetBoundOutputNames(const OrtIoBinding* binding_ptr, OrtAllocator* allocator, char** buffer,
                                              size_t** lengths, size_t* count) noexcept {
  return Guard([&] {
    const OrtIoBinding& binding = Need(binding_ptr, "binding_ptr");
    Need(buffer, "buffer") = nullptr;
    Need(lengths, "lengths") = nullptr;
    const std::size_t output_count = Need(count, "count") = binding.output_indices.size();
    if (output_count == 0) return;
    std::string names;
    std::vector<std::size_t> sizes;
    for (const std::size_t index : binding.output_indices) {
      names += binding.session->outputs()[index].name;
      sizes.push_back(binding.session->outputs()[index].name.size());
    }
    auto* size_array = static_cast<std::size_t*>(AllocateResult(allocator, sizes.size() * sizeof(std::size_t)));
    std::memcpy(size_array, sizes.data(), sizes.size() * sizeof(std::size_t));
    *buffer = CopyText(allocator, names);
    *lengths = size_array;
  });
}

OrtStatusPtr ORT_API_CALL GetBoundOutputValues(const OrtIoBinding* binding_ptr, OrtAllocator* allocator,
                                               OrtValue*** output, size_t* output_count) noexcept {
  return Guard([&] {
    const OrtIoBinding& binding = Need(binding_ptr, "binding_ptr");
    Need(output, "output") = nullptr;
    Need(output_count, "output_count") = binding.outputs.size();
    if (binding.outputs.empty()) return;
    auto** values = static_cast<OrtValue**>(AllocateResult(allocator, binding.outputs.size() * sizeof(OrtValue*)));
    for (std::size_t i = 0; i < binding.outputs.size(); ++i) values[i] = NewHandle(binding.outputs[i]);
    *output = values;
  });
}

void ORT_API_CALL ClearBoundInputs(OrtIoBinding* binding_ptr) noexcept {
  if (!Given(binding_ptr)) return;
  binding_ptr->input_indices.clear();
  binding_ptr->inputs.clear();
  binding_ptr->input_pointers.clear();
}

void ORT_API_CALL ClearBoundOutputs(OrtIoBinding* binding_ptr) noexcept {
  if (!Given(binding_ptr)) return;
  binding_ptr->output_indices.clear();
  binding_ptr->unknown_outputs.clear();
  binding_ptr->outputs.clear();
  binding_ptr->fresh_outputs.clear();
  binding_ptr->output_memory.clear();
  binding_ptr->output_places.clear();
}

// Have the providers finish what they were given.
OrtStatusPtr ORT_API_CALL SynchronizeBoundInputs(OrtIoBinding* binding_ptr) noexcept {
  return Guard([&] { Need(binding_ptr, "binding_ptr").session->Synchronize(); });
}

OrtStatusPtr ORT_API_CALL SynchronizeBoundOutputs(OrtIoBinding* binding_ptr) noexcept {
  return Guard([&] { Need(binding_ptr, "binding_ptr").session->Synchronize(); });
}

}  // namespace sardonyx::capi
