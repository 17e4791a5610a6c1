// runtime/session_ports.cpp - the inputs and outputs of a session: their names and types, and runs for which they lie
// on the devices of its providers.
#include <algorithm>

#include "planner/scalar_inputs.h"
#include "runtime/program.h"
#include "runtime/run_state.h"
#include "runtime/session.h"
#include "runtime/session_threads.h"

namespace sardonyx::runtime {
namespace {

std::vector<std::string> NamesOf(const std::vector<Port>& ports) {
  std::vector<std::string> names;
  for (const Port& port : ports) names.push_back(port.name);
  return names;
}

std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < 20; ++i) text += (i ? ", '" : "'") + names[i] + "'";
  if (names.size() > 20) text += ", ... (" + std::to_string(names.size()) + " in all)";
  return text;
}

std::string Suggestion(std::string_view name, const std::vector<std::string>& names) {
  const std::string closest = ClosestName(name, names);
  return closest.empty() ? "" : "; did you mean '" + closest + "'?";
}

// Whether kind and element types of `value` are what `type` says; shapes aside.
bool HasType(const Value& value, const Type& type) {
  const auto fits = [](DType found, DType wanted) { return wanted == DType::kUndefined || found == wanted; };
  switch (type.kind) {
    case TypeKind::kTensor:
      return value.is_tensor() && fits(value.tensor().dtype(), type.dtype);
    case TypeKind::kSequence:
      return value.is_sequence() && std::all_of(value.sequence().items.begin(), value.sequence().items.end(),
                                                [&](const Value& item) { return HasType(item, *type.element); });
    case TypeKind::kMap:
      return value.is_map() && fits(value.map().keys.dtype(), type.dtype) &&
             fits(value.map().values.dtype(), type.element->dtype);
    case TypeKind::kSparseTensor:
      return value.is_sparse() && fits(value.sparse().values.dtype(), type.dtype);
    case TypeKind::kOptional:
      return !value.has_value() || HasType(value, *type.element);
    case TypeKind::kNone:
      return true;
  }
  return true;
}

// Whether a type says what its elements are.
bool IsWhole(const Type& type) {
  if (type.is_none()) return false;
  if (type.kind == TypeKind::kTensor || type.kind == TypeKind::kSparseTensor) return type.dtype != DType::kUndefined;
  return type.element != nullptr && IsWhole(*type.element);
}

}  // namespace

void Session::AddPorts(const Graph& graph) {
  std::vector<int> overridable_at;
  int at = 0;
  for (const ValueId id : graph.inputs) {
    const ValueInfo& value = graph.value(id);
    if (value.constant() != nullptr) continue;  // a constant that old models list among the inputs
    if (value.initializer) {
      overridable_.push_back({value.name, value.type, value.dim_params});
      defaults_.emplace_back(value.initializer->tensor);
      overridable_at.push_back(at);
    } else {
      // Kernels are chosen by element types, so what the caller will give has to be known.
      if (!IsWhole(value.type))
        Fail(Code::kInvalidGraph, "input '", value.name, "': expected a type that names its element type, found ",
             value.type.is_none() ? "none" : value.type.ToText());
      inputs_.push_back({value.name, value.type, value.dim_params});
      program_input_.push_back(at);
    }
    ++at;
  }
  program_input_.insert(program_input_.end(), overridable_at.begin(), overridable_at.end());
  const auto is_scalar = [](const Port& port) { return planner::IsScalar(port.type); };
  if (std::any_of(inputs_.begin(), inputs_.end(), is_scalar) ||
      std::any_of(overridable_.begin(), overridable_.end(), is_scalar))
    warned_of_shape_ = std::vector<std::atomic<bool>>(program_input_.size());
  for (const ValueId id : graph.outputs) {
    const ValueInfo& value = graph.value(id);
    outputs_.push_back({value.name, value.type, value.dim_params});
  }
}

std::optional<std::size_t> Session::FindInput(std::string_view name) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].name == name) return i;
  for (std::size_t i = 0; i < overridable_.size(); ++i)
    if (overridable_[i].name == name) return inputs_.size() + i;
  return std::nullopt;
}

std::optional<std::size_t> Session::FindOutput(std::string_view name) const {
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (outputs_[i].name == name) return i;
  return std::nullopt;
}

void Session::FailUnknownInput(std::string_view name) const {
  const std::vector<std::string> names = NamesOf(inputs_);
  std::vector<std::string> all = names;
  for (const Port& port : overridable_) all.push_back(port.name);
  Fail(Code::kInvalidArgument, "the model has no input '", name, "'; its inputs are ", Listed(names),
       Suggestion(name, all));
}

void Session::FailUnknownOutput(std::string_view name) const {
  const std::vector<std::string> names = NamesOf(outputs_);
  Fail(Code::kInvalidArgument, "the model has no output '", name, "'; its outputs are ", Listed(names),
       Suggestion(name, names));
}

void Session::CheckInput(const Port& port, const Value& value) const {
  const Type& type = port.type;
  const auto fail = [&](const auto&... parts) {
    Fail(Code::kInvalidArgument, "input '", port.name, "': expected ", type.ToText(), ", found ", parts...);
  };
  if (!value.has_value() && type.kind != TypeKind::kOptional) return fail("nothing (NULL)");
  switch (type.kind) {
    case TypeKind::kTensor: {
      if (!value.is_tensor()) return fail("a ", value.KindName());
      const Tensor& tensor = value.tensor();
      if (tensor.dtype() != type.dtype && type.dtype != DType::kUndefined) fail("element type ", Name(tensor.dtype()));
      if (!type.has_rank) return;
      if (tensor.shape().rank() != type.rank())
        fail("rank ", tensor.shape().rank(), ", shape ", ToText(tensor.shape()));
      for (std::size_t i = 0; i < type.rank(); ++i) {
        if (type.dims[i].known() && type.dims[i].number() != tensor.shape()[i])
          fail(tensor.shape()[i], " instead of ", type.dims[i].number(), " in dimension ", i, ", shape ",
               ToText(tensor.shape()));
      }
      return;
    }
    case TypeKind::kSequence:
      if (!value.is_sequence()) return fail("a ", value.KindName());
      for (const Value& item : value.sequence().items)
        if (!HasType(item, *type.element)) fail("an element of type ", item.KindName());
      return;
    case TypeKind::kMap:
      if (!HasType(value, type)) fail("a ", value.KindName());
      return;
    case TypeKind::kSparseTensor:
      if (!value.is_sparse()) return fail("a ", value.KindName());
      if (!HasType(value, type)) fail("elements of type ", Name(value.sparse().values.dtype()));
      return;
    case TypeKind::kOptional:
      if (value.has_value() && !HasType(value, *type.element)) fail("a ", value.KindName());
      return;
    case TypeKind::kNone:
      return;
  }
}

void Session::SetInputs(RunState& state, std::span<const std::size_t> indices,
                        std::span<const Value* const> inputs) const {
  std::vector<char>& given = state.given_inputs();
  given.assign(program_input_.size(), 0);
  for (std::size_t j = 0; j < indices.size(); ++j) {
    const Port& port = InputPort(indices[j]);
    if (given[indices[j]]) Fail(Code::kInvalidArgument, "input '", port.name, "' is given twice");
    given[indices[j]] = 1;
    static const Value nothing;
    const Value& value = inputs[j] != nullptr ? *inputs[j] : nothing;
    CheckInput(port, value);
    state.SetInput(static_cast<std::size_t>(program_input_[indices[j]]), value);
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i]) continue;
    if (i >= inputs_.size()) {
      state.SetInput(static_cast<std::size_t>(program_input_[i]), defaults_[i - inputs_.size()]);
    } else if (inputs_[i].type.kind == TypeKind::kOptional) {
      state.SetInput(static_cast<std::size_t>(program_input_[i]), Value());
    } else {
      std::vector<std::string> found;
      for (const std::size_t index : indices) found.push_back(InputPort(index).name);
      Fail(Code::kInvalidArgument, "input '", inputs_[i].name, "' (", inputs_[i].type.ToText(),
           ") is missing; inputs given: ", found.empty() ? "none" : Listed(found));
    }
  }
}

Device Session::InputPlace(std::size_t index) const {
  return ports_.any() ? ports_.inputs[static_cast<std::size_t>(program_input_[index])] : Device{};
}

Device Session::OutputPlace(std::size_t index) const { return ports_.any() ? ports_.outputs[index] : Device{}; }

bool Session::InputIsShared(std::size_t index) const {
  return ports_.any() && ports_.shared_inputs[static_cast<std::size_t>(program_input_[index])];
}

bool Session::OutputIsShared(std::size_t index) const { return ports_.any() && ports_.shared_outputs[index]; }

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
  program->ReadAheadOn(threads_->pool(), threads_->parallel().ThreadCount());
  if (threads_->branches() > 1) program->RunBranchesOn(threads_->pool(), threads_->branches());
  placed_.push_back({key.inputs, key.outputs, std::move(program)});
  return *placed_.back().program;
}

}  // namespace sardonyx::runtime
