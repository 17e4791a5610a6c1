// capi/session.cpp - makes sessions and describes them.
#include "capi/session.h"

#include <cstring>
#include <thread>

#include "capi/env.h"
#include "capi/functions.h"
#include "capi/handles/allocator.h"
#include "capi/handles/memory_info.h"
#include "capi/handles/status.h"
#include "capi/handles/type_info.h"
#include "capi/options.h"
#include "capi/profile.h"
#include "capi/provider_choice.h"
#include "providers/plugin/session_calls.h"
#include "runtime/disabled_passes.h"

OrtSession::~OrtSession() {
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

const Session& NeedSession(const OrtSession* session) { return *Need(session, "session").session; }

const Port& PortAt(const std::vector<Port>& ports, std::size_t index, const char* what) {
  if (index >= ports.size())
    Fail(Code::kInvalidArgument, what, ": expected an index below ", ports.size(), ", found ", index);
  return ports[index];
}

using Ports = const std::vector<Port>& (Session::*)() const;

OrtStatusPtr CountOf(const OrtSession* session, Ports ports, size_t* out) noexcept {
  return Guard([&] { Need(out, "out") = (NeedSession(session).*ports)().size(); });
}

OrtStatusPtr NameOf(const OrtSession* session, Ports ports, const char* what, size_t index, OrtAllocator* allocator,
                    char** value) noexcept {
  return Guard([&] {
    auto& result = Need(value, "value");
    result = CopyText(allocator, PortAt((NeedSession(session).*ports)(), index, what).name);
  });
}

OrtStatusPtr TypeOf(const OrtSession* session, Ports ports, const char* what, size_t index,
                    OrtTypeInfo** type_info) noexcept {
  return Guard([&] {
    const Port& port = PortAt((NeedSession(session).*ports)(), index, what);
    auto& result = Need(type_info, "type_info");
    result = MakeTypeInfo(port.type).release();
  });
}

OrtStatusPtr HostInfos(const OrtSession* session, Ports ports, const OrtMemoryInfo** infos, size_t count) noexcept {
  return Guard([&] {
    const std::size_t expected = (NeedSession(session).*ports)().size();
    if (count != expected)
      Fail(Code::kInvalidArgument, "memory infos: expected room for ", expected, ", found ", count);
    NeedArray(infos, count, "memory_info");
    for (std::size_t i = 0; i < count; ++i) infos[i] = &HostMemoryInfo();
  });
}

}  // namespace

runtime::SessionOptions CopyOptions(const OrtEnv* env, const OrtSessionOptions* options) {
  const Logger& logger = Need(env, "env").environment->logger();
  runtime::SessionOptions copy = options != nullptr ? options->options : runtime::SessionOptions{};
  if (options == nullptr || !options->has_log_severity) copy.log_severity = logger.threshold();
  if (copy.log_id.empty()) copy.log_id = logger.id();
  runtime::DisablePasses(copy);
  if (!copy.profile_prefix.empty()) CheckProfilePrefix(copy.profile_prefix);
  if (options != nullptr) SetThreadMaker(options->threads, copy.thread_pool);
  if (options != nullptr) ChooseLater(*env, options->selection, copy);
  if (options != nullptr && options->custom_operators != nullptr) {
    const runtime::Environment& environment = *env->environment;
    copy.operators = options->custom_operators->Make(
        environment.registry(), Logger(copy.log_sink ? copy.log_sink : logger.sink(), copy.log_id, copy.log_severity),
        copy.config);
  }
  // The caller may free both kinds of external weights as soon as the session is there.
  for (auto& [name, value] : copy.external_initializers)
    if (value.is_tensor() && value.tensor().buffer() && !value.tensor().buffer()->owner())
      value = value.tensor().Clone();
  for (auto& [name, file] : copy.external_files) {
    std::shared_ptr<Buffer> own = Buffer::Allocate(file->size());
    if (file->size() != 0) std::memcpy(own->data(), file->data(), file->size());
    file = std::move(own);
  }
  return copy;
}

OrtStatusPtr ORT_API_CALL CreateSession(const OrtEnv* env, const ORTCHAR_T* model_path,
                                        const OrtSessionOptions* options, OrtSession** out) noexcept {
  return Guard([&] {
    Need(out, "out");
    auto session =
        Session::FromFile(Need(env, "env").environment, &Need(model_path, "model_path"), CopyOptions(env, options));
    plugin::EndInitialization(session->providers());
    *out = std::make_unique<OrtSession>(std::move(session)).release();
  });
}

OrtStatusPtr ORT_API_CALL CreateSessionFromArray(const OrtEnv* env, const void* model_data, size_t model_data_length,
                                                 const OrtSessionOptions* options, OrtSession** out) noexcept {
  return Guard([&] {
    Need(out, "out");
    const auto* data = static_cast<const std::byte*>(NeedArray(model_data, model_data_length, "model_data"));
    auto session =
        Session::FromBytes(Need(env, "env").environment, {data, model_data_length}, nullptr, CopyOptions(env, options));
    plugin::EndInitialization(session->providers());
    *out = std::make_unique<OrtSession>(std::move(session)).release();
  });
}

OrtStatusPtr ORT_API_CALL CreatePrepackedWeightsContainer(OrtPrepackedWeightsContainer** out) noexcept {
  return Guard([&] {
    auto& result = Need(out, "out");
    result = std::make_unique<OrtPrepackedWeightsContainer>().release();
  });
}

void ORT_API_CALL ReleasePrepackedWeightsContainer(OrtPrepackedWeightsContainer* input) noexcept {
  std::unique_ptr<OrtPrepackedWeightsContainer> owned(input);
}

// The container only ever saves memory; each session packs its own weights.
OrtStatusPtr ORT_API_CALL CreateSessionWithPrepackedWeightsContainer(
    const OrtEnv* env, const ORTCHAR_T* model_path, const OrtSessionOptions* options,
    OrtPrepackedWeightsContainer* prepacked_weights_container, OrtSession** out) noexcept {
  const OrtStatusPtr failure = Guard([&] { Need(prepacked_weights_container, "prepacked_weights_container"); });
  return failure != nullptr ? failure : CreateSession(env, model_path, options, out);
}

OrtStatusPtr ORT_API_CALL CreateSessionFromArrayWithPrepackedWeightsContainer(
    const OrtEnv* env, const void* model_data, size_t model_data_length, const OrtSessionOptions* options,
    OrtPrepackedWeightsContainer* prepacked_weights_container, OrtSession** out) noexcept {
  const OrtStatusPtr failure = Guard([&] { Need(prepacked_weights_container, "prepacked_weights_container"); });
  return failure != nullptr ? failure : CreateSessionFromArray(env, model_data, model_data_length, options, out);
}

// The callback of a run in the background may close its session, or another one whose runs wait for the same worker: a
// thread of its own then waits for them.
void ORT_API_CALL ReleaseSession(OrtSession* input) noexcept {
  if (input != nullptr && runtime::BackgroundRuns::InsideOne()) {
    FreeStatus(Guard([&] { std::thread([input] { const std::unique_ptr<OrtSession> closed(input); }).detach(); }));
    return;
  }
  std::unique_ptr<OrtSession> owned(input);
}

OrtStatusPtr ORT_API_CALL SessionGetInputCount(const OrtSession* session, size_t* out) noexcept {
  return CountOf(session, &Session::inputs, out);
}

OrtStatusPtr ORT_API_CALL SessionGetOutputCount(const OrtSession* session, size_t* out) noexcept {
  return CountOf(session, &Session::outputs, out);
}

OrtStatusPtr ORT_API_CALL SessionGetOverridableInitializerCount(const OrtSession* session, size_t* out) noexcept {
  return CountOf(session, &Session::overridable_initializers, out);
}

OrtStatusPtr ORT_API_CALL SessionGetInputName(const OrtSession* session, size_t index, OrtAllocator* allocator,
                                              char** value) noexcept {
  return NameOf(session, &Session::inputs, "input", index, allocator, value);
}

OrtStatusPtr ORT_API_CALL SessionGetOutputName(const OrtSession* session, size_t index, OrtAllocator* allocator,
                                               char** value) noexcept {
  return NameOf(session, &Session::outputs, "output", index, allocator, value);
}

OrtStatusPtr ORT_API_CALL SessionGetOverridableInitializerName(const OrtSession* session, size_t index,
                                                               OrtAllocator* allocator, char** value) noexcept {
  return NameOf(session, &Session::overridable_initializers, "overridable initializer", index, allocator, value);
}

OrtStatusPtr ORT_API_CALL SessionGetInputTypeInfo(const OrtSession* session, size_t index,
                                                  OrtTypeInfo** type_info) noexcept {
  return TypeOf(session, &Session::inputs, "input", index, type_info);
}

OrtStatusPtr ORT_API_CALL SessionGetOutputTypeInfo(const OrtSession* session, size_t index,
                                                   OrtTypeInfo** type_info) noexcept {
  return TypeOf(session, &Session::outputs, "output", index, type_info);
}

OrtStatusPtr ORT_API_CALL SessionGetOverridableInitializerTypeInfo(const OrtSession* session, size_t index,
                                                                   OrtTypeInfo** type_info) noexcept {
  return TypeOf(session, &Session::overridable_initializers, "overridable initializer", index, type_info);
}

OrtStatusPtr ORT_API_CALL SessionGetMemoryInfoForInputs(const OrtSession* session,
                                                        const OrtMemoryInfo** inputs_memory_info,
                                                        size_t num_inputs) noexcept {
  return HostInfos(session, &Session::inputs, inputs_memory_info, num_inputs);
}

OrtStatusPtr ORT_API_CALL SessionGetMemoryInfoForOutputs(const OrtSession* session,
                                                         const OrtMemoryInfo** outputs_memory_info,
                                                         size_t num_outputs) noexcept {
  return HostInfos(session, &Session::outputs, outputs_memory_info, num_outputs);
}

}  // namespace sardonyx::capi
