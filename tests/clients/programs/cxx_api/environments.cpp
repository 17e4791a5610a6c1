// tests/clients/programs/cxx_api/environments.cpp - environments with loggers, shared threads and shared allocators.
// The library keeps one environment for the process: this part runs last, after the others' environment is gone.
#include <thread>

#include "report.h"

namespace {

struct Heard {
  int lines = 0;
  bool named = false;
};

void Listen(void* user, OrtLoggingLevel, const char*, const char* name, const char*, const char*) {
  auto& heard = *static_cast<Heard*>(user);
  ++heard.lines;
  heard.named |= std::string(name).find("listening") != std::string::npos;
}

int threads_started = 0;

OrtCustomThreadHandle StartThread(void*, OrtThreadWorkerFn work, void* argument) {
  ++threads_started;
  return reinterpret_cast<OrtCustomThreadHandle>(new std::thread(work, argument));
}

void JoinThread(OrtCustomThreadHandle handle) {
  auto* thread = reinterpret_cast<std::thread*>(const_cast<OrtCustomHandleType*>(handle));
  thread->join();
  delete thread;
}

std::vector<float> Compute(const Ort::Env& env, const Places& places, const Ort::SessionOptions& options) {
  Ort::Session session(env, (places.models + "/linear.onnx").c_str(), options);
  std::vector<float> data{1, 2, 3};
  const Ort::Value input = Tensor(data, {1, 3});
  const char *in = "x", *out = "y";
  return Elements<float>(session.Run({}, &in, &input, 1, &out, 1)[0]);
}

void Logging(const Places& places) {
  Heard heard;
  Ort::Env env(ORT_LOGGING_LEVEL_VERBOSE, "listening", Listen, &heard);
  env.DisableTelemetryEvents().EnableTelemetryEvents();
  const auto result = Compute(env, places, Ort::SessionOptions{});
  Say("an environment that is heard", result, heard.lines > 0, heard.named);
  env.UpdateEnvWithCustomLogLevel(ORT_LOGGING_LEVEL_FATAL);
  const int before = heard.lines;
  Ort::SessionOptions options;
  options.SetLogSeverityLevel(4);
  Compute(env, places, options);
  Say("an environment that is silent", heard.lines == before);
}

void Threads(const Places& places) {
  Ort::ThreadingOptions threading;
  threading.SetGlobalIntraOpNumThreads(3)
      .SetGlobalInterOpNumThreads(2)
      .SetGlobalSpinControl(0)
      .SetGlobalDenormalAsZero()
      .SetGlobalCustomCreateThreadFn(StartThread)
      .SetGlobalCustomThreadCreationOptions(nullptr)
      .SetGlobalCustomJoinThreadFn(JoinThread);
  {
    const Ort::Env env(threading, ORT_LOGGING_LEVEL_FATAL, "shared threads");
    Ort::SessionOptions options;
    options.DisablePerSessionThreads();
    const auto result = Compute(env, places, options);
    Say("an environment with threads", result, threads_started > 0);
  }
  Heard heard;
  Ort::ThreadingOptions plain;
  const Ort::Env env(plain, Listen, &heard, ORT_LOGGING_LEVEL_VERBOSE, "listening");
  Ort::SessionOptions options;
  options.DisablePerSessionThreads();
  const auto result = Compute(env, places, options);
  Say("one with both", result, heard.lines > 0);
}

void Allocators(const Places& places) {
  Ort::Env env(ORT_LOGGING_LEVEL_FATAL, "allocators");
  const auto arena = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  const std::unordered_map<std::string, size_t> entries{{"max_mem", size_t{1} << 28},
                                                        {"initial_chunk_size_bytes", 4096}};
#if ORT_API_VERSION >= 23
  const Ort::ArenaCfg keys(entries);
#else
  const Ort::ArenaCfg keys(entries.at("max_mem"), -1, 4096, -1);
#endif
  const Ort::ArenaCfg numbers(size_t{1} << 28, -1, 4096, -1);
  env.CreateAndRegisterAllocator(arena, keys);
  SayOutcome("the same allocator twice", [&] { env.CreateAndRegisterAllocator(arena, numbers); });
  Ort::SessionOptions options;
  options.AddConfigEntry("session.use_env_allocators", "1");
  Say("a shared allocator", Compute(env, places, options));
  SayOutcome("of a provider", [&] { env.CreateAndRegisterAllocatorV2("CPUExecutionProvider", arena, {}, numbers); });
  SayOutcome("of an unknown provider", [&] { env.CreateAndRegisterAllocatorV2("Nobody", arena, {}, numbers); });
  Ort::Session session(env, (places.models + "/linear.onnx").c_str(), options);
  Ort::Allocator of_session(session, arena);
  void* memory = of_session.Alloc(64);
  Say("the allocator of a session", memory != nullptr, of_session.GetInfo().GetAllocatorName());
  of_session.Free(memory);
#if ORT_API_VERSION >= 23
  env.UnregisterAllocator(arena);
  SayOutcome("unregistered twice", [&] { env.UnregisterAllocator(arena); });
  Ort::AllocatorWithDefaultOptions own;
  SayOutcome("the default allocator registered", [&] { env.RegisterAllocator(own); });
#endif
}

}  // namespace

void Environments(const Places& places) {
  TheEnv() = Ort::Env{nullptr};
  Logging(places);
  Threads(places);
  Allocators(places);
}
