// capi/run.cpp - runs a session on values given by name.
//
// In the steady state nothing here allocates or looks a name up in a map: names are compared with those of the model by
// position first, and what a call needs lies on its stack. Only outputs that the caller did not bind become new values.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <span>

#include "base/lasting.h"
#include "capi/device_values.h"
#include "capi/functions.h"
#include "capi/handles/call_out.h"
#include "capi/handles/sync_stream.h"
#include "capi/handles/value.h"
#include "capi/options.h"
#include "capi/profile.h"
#include "capi/runs/captured_runs.h"
#include "capi/session.h"
#include "providers/plugin/session_calls.h"

namespace sardonyx::capi {
namespace {

using runtime::Session;

// `count` elements on the stack, or on the heap where they are more than any model we know of has (a decoder of 100
// layers has two caches each).
template <typename T>
class Scratch {
 public:
  explicit Scratch(std::size_t count) : count_(count) {
    if (count > kFew) {
      many_.resize(count);
    } else {
      std::uninitialized_value_construct_n(few(), count);
    }
  }
  ~Scratch() {
    if (count_ <= kFew) std::destroy_n(few(), count_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::span<T> span() { return {count_ > kFew ? many_.data() : few(), count_}; }
  T& operator[](std::size_t i) { return span()[i]; }

 private:
  static constexpr std::size_t kFew = 256;
  T* few() { return std::launder(reinterpret_cast<T*>(bytes_)); }

  alignas(T) std::byte bytes_[kFew * sizeof(T)];
  std::vector<T> many_;
  std::size_t count_;
};

std::size_t InputIndex(const Session& session, std::size_t position, const char* name) {
  const std::vector<runtime::Port>& inputs = session.inputs();
  if (position < inputs.size() && inputs[position].name == name) return position;
  if (const std::optional<std::size_t> index = session.FindInput(name)) return *index;
  session.FailUnknownInput(name);
}

std::optional<std::size_t> OutputIndex(const Session& session, std::size_t position, const char* name) {
  const std::vector<runtime::Port>& outputs = session.outputs();
  if (position < outputs.size() && outputs[position].name == name) return position;
  return session.FindOutput(name);
}

// Runs with the parameters of the active adapters as further inputs; they come before what the caller gives, and those
// of later adapters before those of earlier ones.
void RunAdapted(Session& session, const OrtRunOptions& options, std::span<const std::size_t> inputs,
                std::span<const Value* const> values, std::span<const std::size_t> outputs, std::span<Value> results) {
  std::vector<Value> parameters;
  std::vector<std::size_t> indices;
  for (auto adapter = options.adapters.rbegin(); adapter != options.adapters.rend(); ++adapter) {
    for (const auto& [name, tensor] : (*adapter)->parameters) {
      const std::optional<std::size_t> index = session.FindInput(name);
      if (!index) session.FailUnknownInput(name);
      if (std::find(indices.begin(), indices.end(), *index) != indices.end()) continue;
      indices.push_back(*index);
      parameters.emplace_back(tensor);
    }
  }
  std::vector<const Value*> all;
  for (const Value& parameter : parameters) all.push_back(&parameter);
  const std::size_t given = indices.size();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (std::find(indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>(given), inputs[i]) !=
        indices.begin() + static_cast<std::ptrdiff_t>(given))
      continue;
    indices.push_back(inputs[i]);
    all.push_back(values[i]);
  }
  RunWith(session, &options, indices, all, outputs, results);
}

// Hands the results over: into the caller's values, or as new ones where it gave NULL. All or none.
void StoreOutputs(std::span<Value> results, OrtValue** outputs) {
  std::size_t made = 0;
  Scratch<OrtValue*> fresh(results.size());
  try {
    for (; made < results.size(); ++made) {
      if (outputs[made] == nullptr) fresh[made] = NewHandle(std::move(results[made]));
    }
  } catch (...) {
    for (std::size_t i = 0; i < made; ++i) ReleaseValue(fresh[i]);
    throw;
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (outputs[i] == nullptr) {
      outputs[i] = fresh[i];
    } else {
      *AsValue(outputs[i]) = std::move(results[i]);
    }
  }
}

// Of an input that is given twice, ONNX Runtime takes the last value. How many are left, at the front.
std::size_t KeepLast(std::span<std::size_t> indices, std::span<const Value*> values) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto end = indices.begin() + static_cast<std::ptrdiff_t>(kept);
    const auto at = static_cast<std::size_t>(std::find(indices.begin(), end, indices[i]) - indices.begin());
    indices[at] = indices[i];
    values[at] = values[i];
    if (at == kept) ++kept;
  }
  return kept;
}

void RunNamed(Session& session, const OrtRunOptions* run_options, std::span<const char* const> input_names,
              const OrtValue* const* inputs, std::span<const char* const> output_names, OrtValue** outputs);

// An output that is asked for more than once is one value, to which each of the handles refers.
void RunRepeated(Session& session, const OrtRunOptions* run_options, std::span<const char* const> input_names,
                 const OrtValue* const* inputs, std::span<const char* const> output_names, OrtValue** outputs) {
  std::vector<const char*> names;
  std::vector<OrtValue*> made;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < output_names.size(); ++i) {
    const auto at = std::find_if(names.begin(), names.end(),
                                 [&](const char* name) { return std::strcmp(name, output_names[i]) == 0; });
    places.push_back(static_cast<std::size_t>(at - names.begin()));
    if (at != names.end()) {
      if (outputs[i] != nullptr)
        Fail(Code::kInvalidArgument, "output '", output_names[i],
             "': expected memory only where it is asked for first, found some at outputs[", std::to_string(i), "]");
      continue;
    }
    names.push_back(output_names[i]);
    made.push_back(outputs[i]);
  }
  RunNamed(session, run_options, input_names, inputs, names, made.data());
  std::vector<bool> given(made.size());
  for (std::size_t i = 0; i < output_names.size(); ++i) {
    OrtValue* const value = made[places[i]];
    if (!given[places[i]]) {
      outputs[i] = value;
      given[places[i]] = true;
    } else {
      outputs[i] = NewHandle(*AsValue(value));
    }
  }
}

void RunNamed(Session& session, const OrtRunOptions* run_options, std::span<const char* const> input_names,
              const OrtValue* const* inputs, std::span<const char* const> output_names, OrtValue** outputs) {
  Scratch<std::size_t> input_indices(input_names.size()), output_indices(output_names.size());
  Scratch<const Value*> input_values(input_names.size());
  Scratch<Value> results(output_names.size());
  NeedKind(run_options, "run_options");
  for (std::size_t i = 0; i < input_names.size(); ++i) {
    input_indices[i] = InputIndex(session, i, &Need(input_names[i], "input_names[i]"));
    input_values[i] = AsValue(NeedKind(inputs[i], "inputs[i]"));  // NULL: nothing, for an input of optional type
  }
  const std::size_t kept = KeepLast(input_indices.span(), input_values.span());
  const std::span<const std::size_t> given = input_indices.span().first(kept);
  const std::span<const Value* const> values = input_values.span().first(kept);
  for (std::size_t i = 0; i < output_names.size(); ++i) {
    const auto index = OutputIndex(session, i, &Need(output_names[i], "output_names[i]"));
    if (!index) {  // a value inside of the model
      std::vector<std::string> names;
      for (const char* name : output_names) names.emplace_back(&Need(name, "output_names[i]"));
      Session& fitting = session.ForInputs(given, values);
      const std::shared_ptr<Session> variant = fitting.WithValues(std::move(names));
      return RunNamed(*variant, run_options, input_names, inputs, output_names, outputs);
    }
    const auto earlier = output_indices.span().first(i);
    if (std::find(earlier.begin(), earlier.end(), *index) != earlier.end())
      return RunRepeated(session, run_options, input_names, inputs, output_names, outputs);
    output_indices[i] = *index;
    if (NeedKind(outputs[i], "outputs[i]") != nullptr) results[i] = *AsValue(outputs[i]);
  }
  if (run_options != nullptr && !run_options->adapters.empty()) {
    RunAdapted(session, *run_options, given, values, output_indices.span(), results.span());
  } else {
    RunWith(session, run_options, given, values, output_indices.span(), results.span());
  }
  StoreOutputs(results.span(), outputs);
}

// What a run in the background needs: its own copies of the arrays, which the caller may free at once.
struct BackgroundRun {
  Session* session;  // closing it waits for this run
  const OrtRunOptions* run_options;
  std::vector<std::string> input_names, output_names;
  std::vector<const OrtValue*> inputs;
  OrtValue** outputs;
  RunAsyncCallbackFn callback;
  void* user_data;

  void operator()() const {
    std::vector<const char*> in, out;
    const OrtStatusPtr status = Guard([&] {
      for (const std::string& name : input_names) in.push_back(name.c_str());
      for (const std::string& name : output_names) out.push_back(name.c_str());
      RunNamed(*session, run_options, in, inputs.data(), out, outputs);
    });
    FreeStatus(
        Guard([&] { CallOut("the callback of RunAsync", callback, user_data, outputs, output_names.size(), status); }));
  }
};

}  // namespace

const runtime::RunOptions& DefaultRunOptions() {
  static constinit Lasting<runtime::RunOptions, MakeDefault<runtime::RunOptions>> options;
  return *options;
}

static void RunInPlace(Session& session, const OrtRunOptions* options, std::span<const std::size_t> inputs,
                       std::span<const Value* const> values, std::span<const std::size_t> outputs,
                       std::span<Value> results, const runtime::RunExtras& extras) {
  const runtime::RunOptions& run_options = options != nullptr ? options->options : DefaultRunOptions();
  if (options != nullptr && (options->log_severity < -1 || options->log_severity > ORT_LOGGING_LEVEL_FATAL))
    Fail(Code::kFail, "log severity level of the run: expected 0 (verbose) to 4 (fatal), or -1 for the session's, ",
         "found ", options->log_severity);
  const auto run = [&](const runtime::RunExtras& told) {
    if (!run_options.profile_prefix.empty())
      return RunProfiled(session, run_options, inputs, values, outputs, results, told);
    session.Run(run_options, inputs, values, outputs, results, told);
  };
  if (session.providers().providers.size() < 2) return run(extras);  // there is only the CPU's
  static const OrtRunOptions kDefaults;
  RunCaptured(session, run_options, {inputs, values, outputs, results}, extras, [&](const runtime::RunExtras& told) {
    plugin::RunScope scope(session.providers(), options != nullptr ? *options : kDefaults,
                           run_options.synchronize || told.synchronize);
    run(told);
    scope.End();
  });
}

// A tensor may be made over NULL, to say its type and shape; it cannot be computed with.
static bool LacksData(const Value& value) {
  return value.is_tensor() && value.tensor().raw() == nullptr && value.tensor().count() != 0 &&
         value.tensor().device().IsHost();
}

[[noreturn]] static void FailNoData(const runtime::Port& port) {
  Fail(Code::kInvalidArgument, "value '", port.name,
       "': expected a tensor with data, found one that was made over NULL");
}

static const runtime::Port& InputPort(const Session& session, std::size_t index) {
  const std::size_t count = session.inputs().size();
  return index < count ? session.inputs()[index] : session.overridable_initializers()[index - count];
}

// The device that a tensor is copied to for an input or output whose place is `place`: the host, unless a plug-in
// copies from device to device.
static const std::shared_ptr<Allocator>& MeetingPlace(const Session& session, const Device& from, const Device& place,
                                                      bool back) {
  if (!place.IsHost() && (back ? CanCopyAcross(place, from) : CanCopyAcross(from, place)))
    for (const auto& provider : session.providers().providers)
      if (provider->device() == place) return provider->allocator();
  return HostAllocator();
}

// The caller's stream, if it takes work for one of the two devices: then what it was given before is done before the
// copy. NULL otherwise.
static OrtSyncStream* StreamOf(const OrtRunOptions* options, const Device& from, const Device& to) {
  if (options == nullptr || options->options.stream == nullptr) return nullptr;
  const Device device = options->options.stream->device();
  return device == from || device == to ? dynamic_cast<OrtSyncStream*>(options->options.stream.get()) : nullptr;
}

// The results of a run, where the caller wants them.
class OutputCopies {
 public:
  OutputCopies(const Session& session, std::span<const std::size_t> outputs, std::span<Value> made,
               std::span<Value> results, std::span<const OrtMemoryInfo* const> places)
      : session_(session), outputs_(outputs), made_(made), results_(results), places_(places), done_(made.size()) {}

  // Of output `i`, if it was not made where it is to lie. The stream may have yet to do it.
  void Copy(std::size_t i, OrtSyncStream* stream) {
    done_[i] = true;
    const bool bound = IsOnDevice(results_[i]);
    const bool wanted = !bound && !places_.empty() && places_[i] != nullptr;
    if (!(bound || wanted) || !made_[i].is_tensor() || IsThere(i)) {
      results_[i] = std::move(made_[i]);
    } else if (wanted) {
      results_[i] = OnDevice(made_[i], *places_[i], stream);
    } else {
      const Tensor &target = results_[i].tensor(), &found = made_[i].tensor();
      if (target.dtype() != found.dtype() || !(target.shape() == found.shape()))
        Fail(Code::kInvalidArgument, "output '", session_.outputs()[outputs_[i]].name, "': expected ",
             Name(found.dtype()), ToText(found.shape()), " to be bound, found ", Name(target.dtype()),
             ToText(target.shape()));
      CopyAcross(made_[i], results_[i], stream);
    }
  }
  // What the run has left, when it is over.
  void CopyRest(const OrtRunOptions* options) {
    for (std::size_t i = 0; i < made_.size(); ++i) {
      if (done_[i]) continue;
      OrtSyncStream* stream = made_[i].is_tensor() ? StreamOf(options, made_[i].tensor().device(), Target(i)) : nullptr;
      Copy(i, stream);
      if (stream != nullptr) stream->Flush();
    }
  }
  Device Target(std::size_t i) const {
    if (IsOnDevice(results_[i])) return results_[i].tensor().device();
    return !places_.empty() && places_[i] != nullptr ? places_[i]->device : Device{};
  }

 private:
  bool IsThere(std::size_t i) const { return IsOnDevice(made_[i]) && made_[i].tensor().device() == Target(i); }

  const Session& session_;
  std::span<const std::size_t> outputs_;
  std::span<Value> made_, results_;
  std::span<const OrtMemoryInfo* const> places_;
  std::vector<bool> done_;
};

// What the session cannot take or make where the caller has it is copied: from device to device where a plug-in does
// that, else through the host; as work of a stream of the session, if it has one for a device of the two.
static void RunWithCopies(Session& session, const OrtRunOptions* options, std::span<const std::size_t> inputs,
                          std::span<const Value* const> values, std::span<const std::size_t> outputs,
                          std::span<Value> results, std::span<const OrtMemoryInfo* const> places) {
  std::deque<Value> copies;
  std::vector<const Value*> given(values.begin(), values.end());
  std::vector<runtime::BorderCopy> before, after;
  for (std::size_t j = 0; j < values.size(); ++j) {
    const Value* value = values[j];
    const Device place = session.InputPlace(inputs[j]);
    if (value == nullptr || !IsOnDevice(*value) || value->tensor().device() == place) continue;
    const Tensor& tensor = value->tensor();
    const std::shared_ptr<Allocator>& memory = MeetingPlace(session, tensor.device(), place, false);
    Value* copy = &copies.emplace_back(Tensor(tensor.dtype(), tensor.shape(), memory));
    before.push_back({inputs[j], tensor.device(), memory->device(), [value, copy](Stream* stream) {
                        CopyAcross(*value, *copy, dynamic_cast<OrtSyncStream*>(stream));
                      }});
    given[j] = copy;
  }
  std::vector<Value> made(results.size());
  OutputCopies leaving(session, outputs, made, results, places);
  std::vector<Device> devices(results.size());
  bool all_fit = true;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Device place = session.OutputPlace(outputs[i]), target = leaving.Target(i);
    const bool wanted = !results[i].has_value() && !places.empty() && places[i] != nullptr;
    if (!IsOnDevice(results[i]) && !wanted) {
      made[i] = std::move(results[i]);
    } else if (target == place) {
      if (!wanted) made[i] = results[i];
      devices[i] = place;
    } else {
      all_fit = false;
      devices[i] = MeetingPlace(session, target, place, true)->device();
      after.push_back({outputs[i], devices[i], target,
                       [&leaving, i](Stream* stream) { leaving.Copy(i, dynamic_cast<OrtSyncStream*>(stream)); }});
    }
  }
  runtime::RunExtras extras{.places = devices};
  extras.synchronize = !copies.empty() || !all_fit;  // the copies go when this function returns
  extras.before = before;
  extras.after = after;
  RunInPlace(session, options, inputs, given, outputs, made, extras);
  leaving.CopyRest(options);
}

void RunWith(Session& session, const OrtRunOptions* options, std::span<const std::size_t> inputs,
             std::span<const Value* const> values, std::span<const std::size_t> outputs, std::span<Value> results,
             std::span<const OrtMemoryInfo* const> places) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != nullptr && LacksData(*values[i])) FailNoData(InputPort(session, inputs[i]));
  for (std::size_t i = 0; i < results.size(); ++i)
    if (LacksData(results[i])) FailNoData(session.outputs()[outputs[i]]);
  // Whether a session takes or makes a value where it lies, or is to lie.
  bool any = false, fits = true;
  const auto check = [&](const Device& device, const Device& place) {
    if (device.IsHost()) return;
    any = true;
    fits = fits && device == place;
  };
  for (std::size_t j = 0; j < values.size(); ++j)
    if (values[j] != nullptr && values[j]->is_tensor())
      check(values[j]->tensor().device(), session.InputPlace(inputs[j]));
  Scratch<Device> devices(results.size());
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (results[k].is_tensor()) {
      check(results[k].tensor().device(), session.OutputPlace(outputs[k]));
    } else if (!places.empty() && places[k] != nullptr) {
      devices[k] = places[k]->device;
      check(devices[k], session.OutputPlace(outputs[k]));
      fits = fits && !devices[k].IsHost();  // a kind of host memory that only its own allocator has
    }
  }
  if (!fits) return RunWithCopies(session, options, inputs, values, outputs, results, places);
  RunInPlace(session, options, inputs, values, outputs, results,
             {.places = any ? devices.span() : std::span<const Device>()});
}

OrtStatusPtr ORT_API_CALL Run(OrtSession* session, const OrtRunOptions* run_options, const char* const* input_names,
                              const OrtValue* const* inputs, size_t input_len, const char* const* output_names,
                              size_t output_names_len, OrtValue** outputs) noexcept {
  return Guard([&] {
    Session& target = BuiltSession(session);
    NeedArray(input_names, input_len, "input_names");
    NeedArray(inputs, input_len, "inputs");
    NeedArray(output_names, output_names_len, "output_names");
    NeedArray(outputs, output_names_len, "outputs");
    RunNamed(target, run_options, {input_names, input_len}, inputs, {output_names, output_names_len}, outputs);
  });
}

OrtStatusPtr ORT_API_CALL RunAsync(OrtSession* session, const OrtRunOptions* run_options,
                                   const char* const* input_names, const OrtValue* const* input, size_t input_len,
                                   const char* const* output_names, size_t output_names_len, OrtValue** output,
                                   RunAsyncCallbackFn run_async_callback, void* user_data) noexcept {
  return Guard([&] {
    Session& target = BuiltSession(session);
    NeedKind(run_options, "run_options");
    BackgroundRun run{&target, run_options, {}, {}, {}, output, run_async_callback, user_data};
    if (run_async_callback == nullptr) FailNullArgument("run_async_callback");
    NeedArray(output, output_names_len, "output");
    NeedArray(input_names, input_len, "input_names");
    NeedArray(output_names, output_names_len, "output_names");
    run.inputs.assign(NeedArray(input, input_len, "input"), input + input_len);
    for (const OrtValue* value : run.inputs) NeedKind(value, "input[i]");
    for (std::size_t i = 0; i < input_len; ++i) run.input_names.emplace_back(&Need(input_names[i], "input_names[i]"));
    for (std::size_t i = 0; i < output_names_len; ++i)
      run.output_names.emplace_back(&Need(output_names[i], "output_names[i]"));
    target.RunInBackground(std::move(run));
  });
}

// Without a provider that captures graphs, whatever is to be forgotten is not there.
OrtStatusPtr ORT_API_CALL SessionReleaseCapturedGraph(OrtSession* session, int graph_annotation_id) noexcept {
  return Guard([&] { ReleaseCaptured(BuiltSession(session), graph_annotation_id); });
}

}  // namespace sardonyx::capi
