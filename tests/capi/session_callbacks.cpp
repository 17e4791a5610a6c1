// tests/capi/session_callbacks.cpp - follows the work of a session's threads with the environment's callbacks, which
// ONNX Runtime's released library is built without.
//
// usage: capi_session_callbacks MODEL   (x -> y, float[N, 1024])
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "onnxruntime_c_api.h"

namespace {

const OrtApi* const ort = OrtGetApiBase()->GetApi(ORT_API_VERSION);

void Must(OrtStatusPtr status) {
  if (status == nullptr) return;
  std::fprintf(stderr, "%s\n", ort->GetErrorMessage(status));
  std::exit(2);
}

// Every piece of work has a number, which is open until it is stopped or abandoned.
struct Work {
  std::mutex mutex;
  std::set<std::size_t> open;
  std::size_t next = 1;
  std::atomic<int> started = 0, stopped = 0, abandoned = 0, wrong = 0, on_the_caller = 0;
  std::thread::id caller = std::this_thread::get_id();
};

void* Enqueue(void* user) {
  Work& work = *static_cast<Work*>(user);
  const std::scoped_lock lock(work.mutex);
  work.open.insert(work.next);
  return reinterpret_cast<void*>(work.next++);
}

void Close(Work& work, void* data) {
  const std::scoped_lock lock(work.mutex);
  if (work.open.erase(reinterpret_cast<std::size_t>(data)) != 1) ++work.wrong;
}

void Start(void* user, void*) {
  Work& work = *static_cast<Work*>(user);
  ++work.started;
  if (std::this_thread::get_id() == work.caller) ++work.on_the_caller;
}

void Stop(void* user, void* data) {
  ++static_cast<Work*>(user)->stopped;
  Close(*static_cast<Work*>(user), data);
}

void Abandon(void* user, void* data) {
  ++static_cast<Work*>(user)->abandoned;
  Close(*static_cast<Work*>(user), data);
}

void* ThrowingEnqueue(void*) { throw std::runtime_error("no room"); }

void RunSession(OrtEnv* env, const char* model, int runs) {
  OrtSessionOptions* options = nullptr;
  Must(ort->CreateSessionOptions(&options));
  Must(ort->SetIntraOpNumThreads(options, 3));
  OrtSession* session = nullptr;
  Must(ort->CreateSession(env, model, options, &session));
  OrtAllocator* allocator = nullptr;
  Must(ort->GetAllocatorWithDefaultOptions(&allocator));
  const int64_t shape[] = {512, 1024};
  OrtValue* input = nullptr;
  Must(ort->CreateTensorAsOrtValue(allocator, shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &input));
  void* data = nullptr;
  Must(ort->GetTensorMutableData(input, &data));
  for (int i = 0; i < 512 * 1024; ++i) static_cast<float*>(data)[i] = 0.001f * static_cast<float>(i % 1000);
  const char* in[] = {"x"};
  const char* out[] = {"y"};
  for (int i = 0; i < runs; ++i) {
    OrtValue* output = nullptr;
    Must(ort->Run(session, nullptr, in, &input, 1, out, 1, &output));
    ort->ReleaseValue(output);
  }
  ort->ReleaseValue(input);
  ort->ReleaseSession(session);
  ort->ReleaseSessionOptions(options);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 4;
  OrtEnv* env = nullptr;
  Must(ort->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "callbacks", &env));
  Work work;
  OrtThreadPoolCallbacksConfig config{};
  config.version = ORT_API_VERSION;
  config.on_enqueue = Enqueue;
  config.on_start_work = Start;
  config.on_stop_work = Stop;
  config.on_abandon = Abandon;
  config.user_context = &work;
  Must(ort->SetPerSessionThreadPoolCallbacks(env, &config));
  RunSession(env, argv[1], 50);
  const std::size_t enqueued = work.next - 1;
  OrtThreadPoolCallbacksConfig none{};
  none.version = ORT_API_VERSION;
  Must(ort->SetPerSessionThreadPoolCallbacks(env, &none));
  RunSession(env, argv[1], 5);
  const std::size_t later = work.next - 1 - enqueued;
  config.on_enqueue = ThrowingEnqueue;
  config.on_start_work = nullptr;
  config.on_stop_work = nullptr;
  config.on_abandon = nullptr;
  Must(ort->SetPerSessionThreadPoolCallbacks(env, &config));
  RunSession(env, argv[1], 5);  // what a callback throws stops nothing
  ort->ReleaseEnv(env);
  std::printf(
      "{\"enqueued\": %zu, \"started\": %d, \"stopped\": %d, \"abandoned\": %d, \"open\": %zu, \"wrong\": %d, "
      "\"on_the_caller\": %d, \"later\": %zu}\n",
      enqueued, work.started.load(), work.stopped.load(), work.abandoned.load(), work.open.size(), work.wrong.load(),
      work.on_the_caller.load(), later);
}
