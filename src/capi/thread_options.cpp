// capi/thread_options.cpp - options for the worker threads of a session or of the environment: where they run and who
// makes them.
#include <memory>
#include <utility>

#include "capi/env.h"
#include "capi/functions.h"
#include "capi/handles/call_out.h"
#include "capi/handles/status.h"
#include "capi/options.h"
#include "runtime/session_threads.h"

namespace sardonyx::capi {
namespace {

// What a callback throws cannot stop the work that it is told of: it goes to the log.
template <typename Call>
void CallAndLog(const Logger& logger, Call&& call) noexcept {
  FreeStatus(Guard([&] {
    try {
      call();
    } catch (const Error& error) {
      logger.Log(Severity::kError, error.what());
    }
  }));
}

runtime::WorkCallbacks MakeWorkCallbacks(const OrtThreadPoolCallbacksConfig& given, const Logger& logger) {
  runtime::WorkCallbacks callbacks;
  callbacks.enqueue = [given, logger]() -> void* {
    void* data = nullptr;
    if (given.on_enqueue != nullptr)
      CallAndLog(logger, [&] { data = CallOut("the callback on_enqueue", given.on_enqueue, given.user_context); });
    return data;
  };
  const auto follow = [&](const char* name, void (*function)(void*, void*)) {
    return [name, function, logger, user = given.user_context](void* data) {
      if (function != nullptr) CallAndLog(logger, [&] { CallOut(name, function, user, data); });
    };
  };
  callbacks.start = follow("the callback on_start_work", given.on_start_work);
  callbacks.stop = follow("the callback on_stop_work", given.on_stop_work);
  callbacks.abandon = follow("the callback on_abandon", given.on_abandon);
  return callbacks;
}

}  // namespace

void SetThreadMaker(const CustomThreads& custom, runtime::ThreadPoolOptions& pool) {
  if (custom.create == nullptr && custom.join == nullptr) return;
  if (custom.create == nullptr || custom.join == nullptr)
    Fail(Code::kInvalidArgument, "custom threads: expected a function that creates threads and one that joins them, ",
         "found only the one that ", custom.create != nullptr ? "creates" : "joins");
  pool.make = [custom](void (*work)(void*), void* parameter) -> const void* {
    const OrtCustomThreadHandle handle = CallOut<Code::kRuntimeException>(
        "the function that creates threads", custom.create, custom.options, work, parameter);
    if (handle == nullptr) Fail(Code::kFail, "the function that creates threads: expected a handle, found NULL");
    return handle;
  };
  pool.join = [custom](const void* handle) {
    CallOut("the function that joins threads", custom.join, static_cast<OrtCustomThreadHandle>(handle));
  };
}

// Sessions created afterwards have pools of their own, which call these functions. A function that is NULL is not
// called; with all of them NULL sessions share the environment's threads again.
OrtStatusPtr ORT_API_CALL SetPerSessionThreadPoolCallbacks(OrtEnv* env,
                                                           const OrtThreadPoolCallbacksConfig* config) noexcept {
  return Guard([&] {
    constexpr std::uint32_t kFirstVersion = 25;
    OrtEnv& target = Need(env, "env");
    const OrtThreadPoolCallbacksConfig given = Need(config, "config");
    if (given.version < kFirstVersion)
      Fail(Code::kInvalidArgument, "thread pool callbacks: expected a struct of version ", kFirstVersion,
           " or newer, found ", given.version);
    if (given.on_enqueue == nullptr && given.on_start_work == nullptr && given.on_stop_work == nullptr &&
        given.on_abandon == nullptr)
      return target.environment->set_session_callbacks(nullptr);
    target.environment->set_session_callbacks(
        std::make_shared<const runtime::WorkCallbacks>(MakeWorkCallbacks(given, target.environment->logger())));
  });
}

OrtStatusPtr ORT_API_CALL SessionOptionsSetCustomCreateThreadFn(
    OrtSessionOptions* options, OrtCustomCreateThreadFn ort_custom_create_thread_fn) noexcept {
  return Guard([&] { Need(options, "options").threads.create = ort_custom_create_thread_fn; });
}

OrtStatusPtr ORT_API_CALL SessionOptionsSetCustomThreadCreationOptions(
    OrtSessionOptions* options, void* ort_custom_thread_creation_options) noexcept {
  return Guard([&] { Need(options, "options").threads.options = ort_custom_thread_creation_options; });
}

OrtStatusPtr ORT_API_CALL SessionOptionsSetCustomJoinThreadFn(
    OrtSessionOptions* options, OrtCustomJoinThreadFn ort_custom_join_thread_fn) noexcept {
  return Guard([&] { Need(options, "options").threads.join = ort_custom_join_thread_fn; });
}

OrtStatusPtr ORT_API_CALL SetGlobalCustomCreateThreadFn(OrtThreadingOptions* tp_options,
                                                        OrtCustomCreateThreadFn ort_custom_create_thread_fn) noexcept {
  return Guard([&] { Need(tp_options, "tp_options").threads.create = ort_custom_create_thread_fn; });
}

OrtStatusPtr ORT_API_CALL SetGlobalCustomThreadCreationOptions(OrtThreadingOptions* tp_options,
                                                               void* ort_custom_thread_creation_options) noexcept {
  return Guard([&] { Need(tp_options, "tp_options").threads.options = ort_custom_thread_creation_options; });
}

OrtStatusPtr ORT_API_CALL SetGlobalCustomJoinThreadFn(OrtThreadingOptions* tp_options,
                                                      OrtCustomJoinThreadFn ort_custom_join_thread_fn) noexcept {
  return Guard([&] { Need(tp_options, "tp_options").threads.join = ort_custom_join_thread_fn; });
}

OrtStatusPtr ORT_API_CALL SetGlobalIntraOpThreadAffinity(OrtThreadingOptions* tp_options,
                                                         const char* affinity_string) noexcept {
  return Guard([&] {
    OrtThreadingOptions& options = Need(tp_options, "tp_options");
    if (Need(affinity_string, "affinity_string") == '\0')
      Fail(Code::kInvalidArgument, "argument 'affinity_string': expected groups of processors, found ''");
    options.affinity = &Need(affinity_string, "affinity_string");  // read when the environment is made
  });
}

}  // namespace sardonyx::capi
