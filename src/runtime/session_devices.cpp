// runtime/session_devices.cpp - runs whose inputs and outputs lie on the devices of the session's providers.
#include <algorithm>

#include "runtime/program.h"
#include "runtime/session.h"
#include "runtime/session_threads.h"

namespace sardonyx::runtime {

Device Session::InputPlace(std::size_t index) const {
  return ports_.any() ? ports_.inputs[static_cast<std::size_t>(program_input_[index])] : Device{};
}

Device Session::OutputPlace(std::size_t index) const { return ports_.any() ? ports_.outputs[index] : Device{}; }

// The first that reads it, if there are several. A copy belongs to the provider of the device.
std::string_view Session::InputProvider(std::size_t index) const {
  const Graph& graph = program_->graph();
  const ValueInfo& value = graph.value(*graph.Find(InputPort(index).name));
  return value.consumers.empty() ? providers::kCpuName : std::string_view(graph.node(value.consumers.front()).provider);
}

std::string_view Session::OutputProvider(std::size_t index) const {
  const Graph& graph = program_->graph();
  const ValueInfo& value = graph.value(graph.outputs[index]);
  return value.producer == kNoNode ? providers::kCpuName : std::string_view(graph.node(value.producer).provider);
}

void Session::Synchronize() {
  for (const auto& provider : providers_->providers) provider->Sync();
}

// The program whose inputs and outputs lie where those of this run do.
Program& Session::ProgramFor(std::span<const std::size_t> input_indices, std::span<const Value* const> inputs,
                             std::span<const std::size_t> output_indices, std::span<const Value> outputs,
                             std::span<const Device> places) {
  const auto device_of = [](const Value* value) {
    return value != nullptr && value->is_tensor() ? value->tensor().device() : Device{};
  };
  const auto wanted = [&](std::size_t k) {
    return outputs[k].is_tensor() || places.empty() ? device_of(&outputs[k]) : places[k];
  };
  bool any = false;
  const auto check = [&](const char* kind, const Port& port, const Device& device, const Device& place) {
    if (device.IsHost()) return;
    any = true;
    if (!(device == place))
      Fail(Code::kNotImplemented, kind, " '", port.name, "': expected host memory or that of the session's provider ",
           "that uses it, found memory of another device");
  };
  for (std::size_t j = 0; j < input_indices.size(); ++j)
    check("input", InputPort(input_indices[j]), device_of(inputs[j]), InputPlace(input_indices[j]));
  for (std::size_t k = 0; k < output_indices.size(); ++k)
    check("output", outputs_[output_indices[k]], wanted(k), OutputPlace(output_indices[k]));
  if (!any) return *program_;
  thread_local PlacedProgram key;  // keeps its room, so that a repeated run allocates nothing
  key.inputs.assign(ports_.inputs.size(), false);
  key.outputs.assign(ports_.outputs.size(), false);
  for (std::size_t j = 0; j < input_indices.size(); ++j)
    key.inputs[static_cast<std::size_t>(program_input_[input_indices[j]])] = !device_of(inputs[j]).IsHost();
  for (std::size_t k = 0; k < output_indices.size(); ++k) key.outputs[output_indices[k]] = !wanted(k).IsHost();
  const std::scoped_lock lock(placed_mutex_);
  for (const PlacedProgram& placed : placed_)
    if (placed.inputs == key.inputs && placed.outputs == key.outputs) return *placed.program;
  auto program = std::make_shared<Program>(WithoutCopies(program_->graph(), key.inputs, key.outputs), *program_);
  if (threads_->branches() > 1) program->RunBranchesOn(threads_->pool(), threads_->branches());
  placed_.push_back({key.inputs, key.outputs, std::move(program)});
  return *placed_.back().program;
}

}  // namespace sardonyx::runtime
