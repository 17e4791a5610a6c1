// capi/thread_options.cpp - options for the worker threads of a session or of the environment: where they run and who
// makes them.
#include <memory>
#include <utility>

#include "capi/functions.h"
#include "capi/handles/call_out.h"
#include "capi/handles/status.h"
#include "capi/options.h"
#include "runtime/session_threads.h"

namespace sardonyx::capi {

void SetThreadMaker(const CustomThreads& custom, runtime::ThreadPoolOptions& pool) {
  if (custom.create == nullptr && custom.join == nullptr) return;
  if (custom.create == nullptr || custom.join == nullptr)
    Fail(Code::kInvalidArgument, "custom threads: expected a function that creates threads and one that joins them, ",
         "found only the one that ", custom.create != nullptr ? "creates" : "joins");
  pool.make = [custom](void (*work)(void*), void* parameter) -> const void* {
    const OrtCustomThreadHandle handle =
        CallOut("the function that creates threads", custom.create, custom.options, work, parameter);
    if (handle == nullptr) Fail(Code::kFail, "the function that creates threads: expected a handle, found NULL");
    return handle;
  };
  pool.join = [custom](const void* handle) {
    CallOut("the function that joins threads", custom.join, static_cast<OrtCustomThreadHandle>(handle));
  };
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
    Need(tp_options, "tp_options").cores = runtime::ParseAffinities(&Need(affinity_string, "affinity_string"));
  });
}

}  // namespace sardonyx::capi
