// capi/session.cpp - makes sessions and describes them.
#include "capi/session.h"

#include <cstring>
#include <set>
#include <thread>

#include "base/stay_loaded.h"
#include "capi/env.h"
#include "capi/functions.h"
#include "capi/handles/allocator.h"
#include "capi/handles/memory_info.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"
#include "capi/handles/type_info.h"
#include "capi/options.h"
#include "capi/profile.h"
#include "capi/provider_choice.h"
#include "capi/runs/captured_runs.h"
#include "capi/runs/plugin_profilers.h"
#include "providers/plugin/session_calls.h"
#include "runtime/disabled_passes.h"
#include "runtime/option_keys.h"

OrtSession::~OrtSession() {
  if (session == nullptr) return;
  session->FinishBackground();
  if (!session->tracing()) return;
  sardonyx::capi::FreeStatus(sardonyx::capi::Guard([&] {
    try {
      sardonyx::capi::EndProfile(*session);
    } catch (const sardonyx::Error& error) {  // nobody is left to tell but the log
      session->logger().Warn(error.what());
    }
  }));
}

namespace sardonyx::capi {
namespace {

using runtime::Port;
using runtime::Session;

const Port& PortAt(const std::vector<Port>& ports, std::size_t index, const char* what) {
  if (index >= ports.size()) Fail(Code::kFail, what, ": expected an index below ", ports.size(), ", found ", index);
  return ports[index];
}

OrtStatusPtr CountOf(const OrtSession* session, PortList ports, size_t* out) noexcept {
  return Guard([&] { Need(out, "out") = PortsOf(session, ports).size(); });
}

OrtStatusPtr NameOf(const OrtSession* session, PortList ports, const char* what, size_t index, OrtAllocator* allocator,
                    char** value) noexcept {
  return Guard([&] {
    auto& result = Need(value, "value");
    result = CopyText(allocator, PortAt(PortsOf(session, ports), index, what).name);
  });
}

OrtStatusPtr TypeOf(const OrtSession* session, PortList ports, const char* what, size_t index,
                    OrtTypeInfo** type_info) noexcept {
  return Guard([&] {
    const Port& port = PortAt(PortsOf(session, ports), index, what);
    auto& result = Need(type_info, "type_info");
    std::unique_ptr<OrtTypeInfo> info = MakeTypeInfo(port.type);
    NameDims(*info, port.dim_params);
    result = info.release();
  });
}

}  // namespace

Session& BuiltSession(const OrtSession* session) {
  if (Need(session, "session").session == nullptr)
    Fail(Code::kFail, "the model of this session is being edited: expected a call of FinalizeModelEditorSession first");
  return *session->session;
}

const std::vector<Port>& PortsOf(const OrtSession* session, PortList list) {
  const auto of = [list](const std::vector<Port>& inputs, const std::vector<Port>& outputs,
                         const std::vector<Port>& overridable) -> const std::vector<Port>& {
    return list == PortList::kInputs ? inputs : list == PortList::kOutputs ? outputs : overridable;
  };
  if (const EditedModel* edited = Need(session, "session").edited.get())
    return of(edited->inputs, edited->outputs, edited->overridable);
  return of(session->session->inputs(), session->session->outputs(), session->session->overridable_initializers());
}

const Model& ModelOf(const OrtSession* session) {
  const EditedModel* edited = Need(session, "session").edited.get();
  return edited != nullptr ? *edited->model : session->session->model();
}

namespace {

// The custom operators of a session; where it chooses its providers itself, those of all that it may choose.
std::shared_ptr<const OperatorSource> OperatorsFor(const OrtEnv& env, const OrtSessionOptions& options) {
  if (!options.selection.policy && options.selection.delegate == nullptr) return options.custom_operators;
  OrtSessionOptions all = options;
  std::set<const plugin::Factory*> seen;
  for (const OrtEpDevice* device : env.libraries.devices()) {
    const plugin::Libraries::Place place = env.libraries.Find(device);
    if (place.factory != nullptr && seen.insert(place.factory).second)
      AddOperatorsOf(place.library, *place.factory, all);
  }
  return all.custom_operators;
}

}  // namespace

void TellPlugins(Session& session) {
  CheckCapture(session);
  if (session.trace() != nullptr) session.trace()->listener = PluginProfilers::Make(session, *session.trace());
  plugin::EndInitialization(session.providers());
}

runtime::SessionOptions CopyOptions(const OrtEnv* env, const OrtSessionOptions* options) {
  const Logger& logger = Need(env, "env").environment->logger();
  NeedKind(options, "options");
  if (options != nullptr && (options->log_severity < -1 || options->log_severity > ORT_LOGGING_LEVEL_FATAL))
    Fail(Code::kFail, "log severity level of the session: expected 0 (verbose) to 4 (fatal), or -1 for the ",
         "environment's, found ", options->log_severity);
  runtime::SessionOptions copy = options != nullptr ? options->options : runtime::SessionOptions{};
  if (options == nullptr || !options->has_log_severity) copy.log_severity = logger.threshold();
  runtime::ApplyOptionKeys(copy);
  if (copy.log_id.empty()) copy.log_id = logger.id();
  runtime::DisablePasses(copy);
  if (!copy.profile_prefix.empty()) CheckProfilePrefix(copy.profile_prefix);
  if (options != nullptr) SetThreadMaker(options->threads, copy.thread_pool);
  if (options != nullptr) ChooseLater(*env, options->selection, copy);
  if (options != nullptr) copy.plugin_data = std::make_shared<const runtime::PluginData>(options->context_data);
  const auto operators = options != nullptr ? OperatorsFor(*env, *options) : nullptr;
  if (operators != nullptr) {
    const runtime::Environment& environment = *env->environment;
    copy.operators = operators->Make(
        environment.registry(), Logger(copy.log_sink ? copy.log_sink : logger.sink(), copy.log_id, copy.log_severity),
        copy.config);
  }
  // The caller may free both kinds of external weights as soon as the session is there, unless it promised otherwise.
  for (auto& [name, value] : copy.external_initializers)
    if (value.is_tensor() && value.tensor().buffer() && !value.tensor().buffer()->owner())
      value = value.tensor().Clone();
  const bool borrowed = runtime::IsOn(copy, "session.use_external_initializer_file_buffers_directly", false);
  for (auto& [name, file] : copy.external_files) {
    if (borrowed) break;
    std::shared_ptr<Buffer> own = Buffer::Allocate(file->size());
    if (file->size() != 0) std::memcpy(own->data(), file->data(), file->size());
    file = std::move(own);
  }
  return copy;
}

namespace {

void SetContainer(runtime::SessionOptions& options, const OrtPrepackedWeightsContainer* container) {
  if (NeedKind(container, "prepacked_weights_container") == nullptr) return;
  options.packed_weights = container->weights;
  auto data = options.plugin_data != nullptr ? *options.plugin_data : runtime::PluginData{};
  data.weights = container->of_plugins;
  options.plugin_data = std::make_shared<const runtime::PluginData>(std::move(data));
}

// The handle of a session that is ready, which its plug-ins are told.
OrtSession* Started(std::unique_ptr<Session> session) {
  TellPlugins(*session);
  return std::make_unique<OrtSession>(std::move(session)).release();
}

OrtSession* SessionFromFile(const OrtEnv* env, const ORTCHAR_T* model_path, const OrtSessionOptions* options,
                            const OrtPrepackedWeightsContainer* packed) {
  const std::string path = &Need(model_path, "model_path");
  runtime::SessionOptions copy = CopyOptions(env, options);
  SetContainer(copy, packed);
  auto session = Session::FromFile(env->environment, path, std::move(copy));
  return Started(std::move(session));
}

OrtSession* SessionFromBytes(const OrtEnv* env, const void* model_data, std::size_t size,
                             const OrtSessionOptions* options, const OrtPrepackedWeightsContainer* packed) {
  const auto* data = &Need(static_cast<const std::byte*>(model_data), "model_data");
  if (size == 0) Fail(Code::kInvalidArgument, "argument 'model_data_length': expected the size of a model, found 0");
  runtime::SessionOptions copy = CopyOptions(env, options);
  SetContainer(copy, packed);
  auto session = Session::FromBytes(env->environment, {data, size}, nullptr, std::move(copy));
  return Started(std::move(session));
}

}  // namespace

OrtStatusPtr ORT_API_CALL CreateSession(const OrtEnv* env, const ORTCHAR_T* model_path,
                                        const OrtSessionOptions* options, OrtSession** out) noexcept {
  return Guard([&] {
    Need(env, "env");
    auto& result = Need(out, "out");
    result = SessionFromFile(env, model_path, options, nullptr);
  });
}

OrtStatusPtr ORT_API_CALL CreateSessionFromArray(const OrtEnv* env, const void* model_data, size_t model_data_length,
                                                 const OrtSessionOptions* options, OrtSession** out) noexcept {
  return Guard([&] {
    Need(env, "env");
    auto& result = Need(out, "out");
    result = SessionFromBytes(env, model_data, model_data_length, options, nullptr);
  });
}

OrtStatusPtr ORT_API_CALL CreatePrepackedWeightsContainer(OrtPrepackedWeightsContainer** out) noexcept {
  return Guard([&] {
    auto& result = Need(out, "out");
    result = std::make_unique<OrtPrepackedWeightsContainer>().release();
  });
}

void ORT_API_CALL ReleasePrepackedWeightsContainer(OrtPrepackedWeightsContainer* input) noexcept {
  ReleaseHandle(input);
}

OrtStatusPtr ORT_API_CALL CreateSessionWithPrepackedWeightsContainer(
    const OrtEnv* env, const ORTCHAR_T* model_path, const OrtSessionOptions* options,
    OrtPrepackedWeightsContainer* prepacked_weights_container, OrtSession** out) noexcept {
  return Guard([&] {
    Need(env, "env");
    auto& result = Need(out, "out");
    result = SessionFromFile(env, model_path, options, prepacked_weights_container);
  });
}

OrtStatusPtr ORT_API_CALL CreateSessionFromArrayWithPrepackedWeightsContainer(
    const OrtEnv* env, const void* model_data, size_t model_data_length, const OrtSessionOptions* options,
    OrtPrepackedWeightsContainer* prepacked_weights_container, OrtSession** out) noexcept {
  return Guard([&] {
    Need(env, "env");
    auto& result = Need(out, "out");
    result = SessionFromBytes(env, model_data, model_data_length, options, prepacked_weights_container);
  });
}

// The callback of a run in the background may close its session, or another one whose runs wait for the same worker: a
// thread of its own then waits for them.
void ORT_API_CALL ReleaseSession(OrtSession* input) noexcept {
  if (input != nullptr && !IsOther(input) && runtime::BackgroundRuns::InsideOne()) {
    HoldLibrary();
    const OrtStatusPtr failure = Guard([&] {
      std::thread([input] {
        MoveHoldToThisThread();
        const std::unique_ptr<OrtSession> closed(input);
      }).detach();
    });
    if (failure != nullptr) ReleaseHold();
    FreeStatus(failure);
    return;
  }
  ReleaseHandle(input);
}

OrtStatusPtr ORT_API_CALL SessionGetInputCount(const OrtSession* session, size_t* out) noexcept {
  return CountOf(session, PortList::kInputs, out);
}

OrtStatusPtr ORT_API_CALL SessionGetOutputCount(const OrtSession* session, size_t* out) noexcept {
  return CountOf(session, PortList::kOutputs, out);
}

OrtStatusPtr ORT_API_CALL SessionGetOverridableInitializerCount(const OrtSession* session, size_t* out) noexcept {
  return CountOf(session, PortList::kOverridable, out);
}

OrtStatusPtr ORT_API_CALL SessionGetInputName(const OrtSession* session, size_t index, OrtAllocator* allocator,
                                              char** value) noexcept {
  return NameOf(session, PortList::kInputs, "input", index, allocator, value);
}

OrtStatusPtr ORT_API_CALL SessionGetOutputName(const OrtSession* session, size_t index, OrtAllocator* allocator,
                                               char** value) noexcept {
  return NameOf(session, PortList::kOutputs, "output", index, allocator, value);
}

OrtStatusPtr ORT_API_CALL SessionGetOverridableInitializerName(const OrtSession* session, size_t index,
                                                               OrtAllocator* allocator, char** value) noexcept {
  return NameOf(session, PortList::kOverridable, "overridable initializer", index, allocator, value);
}

OrtStatusPtr ORT_API_CALL SessionGetInputTypeInfo(const OrtSession* session, size_t index,
                                                  OrtTypeInfo** type_info) noexcept {
  return TypeOf(session, PortList::kInputs, "input", index, type_info);
}

OrtStatusPtr ORT_API_CALL SessionGetOutputTypeInfo(const OrtSession* session, size_t index,
                                                   OrtTypeInfo** type_info) noexcept {
  return TypeOf(session, PortList::kOutputs, "output", index, type_info);
}

OrtStatusPtr ORT_API_CALL SessionGetOverridableInitializerTypeInfo(const OrtSession* session, size_t index,
                                                                   OrtTypeInfo** type_info) noexcept {
  return TypeOf(session, PortList::kOverridable, "overridable initializer", index, type_info);
}

}  // namespace sardonyx::capi
