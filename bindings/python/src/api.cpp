// bindings/python/src/api.cpp - objects of the C interface that the whole module shares.
#include "api.h"

namespace sardonyx::python {

namespace {

// Arguments of the environment. The GIL is held whenever these are read or written.
struct GlobalThreads {
  int intra_op = -1, inter_op = -1;  // -1: not set
  bool used = false;
} global_threads;

OrtLoggingLevel log_level = ORT_LOGGING_LEVEL_WARNING;  // under the GIL, too

OrtEnv* MakeEnvironment() {
  OrtEnv* made = nullptr;
  global_threads.used = true;
  if (global_threads.intra_op < 0) {
    Check(Ort().CreateEnv(log_level, "Default", &made));
    return made;
  }
  OrtThreadingOptions* options = nullptr;
  Check(Ort().CreateThreadingOptions(&options));
  const ThreadingOptionsPtr owned(options);
  Check(Ort().SetGlobalIntraOpNumThreads(options, global_threads.intra_op));
  Check(Ort().SetGlobalInterOpNumThreads(options, global_threads.inter_op));
  Check(Ort().CreateEnvWithGlobalThreadPools(log_level, "Default", options, &made));
  return made;
}

}  // namespace

OrtEnv* Environment() {
  // Never released: sessions may outlive the module, and the order of destruction at exit is not ours.
  static OrtEnv* const env = MakeEnvironment();
  return env;
}

void SetGlobalThreads(int intra_op, int inter_op) {
  if (intra_op < 0 || inter_op < 0)
    throw StatusError(ORT_INVALID_ARGUMENT, "expected 0 or more threads, found " + std::to_string(intra_op) + " and " +
                                                std::to_string(inter_op));
  if (global_threads.used)
    throw StatusError(
        ORT_FAIL,
        "set_global_thread_pool_sizes: expected a call before the first session is created, found one after it");
  global_threads.intra_op = intra_op;
  global_threads.inter_op = inter_op;
}

void SetLogLevel(int level) {
  log_level = static_cast<OrtLoggingLevel>(level);
  if (global_threads.used) Check(Ort().UpdateEnvWithCustomLogLevel(Environment(), log_level));
}

const OrtMemoryInfo* HostMemory() {
  static const OrtMemoryInfo* const info = [] {
    OrtMemoryInfo* made = nullptr;
    Check(Ort().CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &made));
    return made;
  }();
  return info;
}

OrtAllocator* DefaultAllocator() {
  OrtAllocator* allocator = nullptr;
  Check(Ort().GetAllocatorWithDefaultOptions(&allocator));
  return allocator;
}

std::string TakeText(char* text) {
  std::string copy(text);
  Check(Ort().AllocatorFree(DefaultAllocator(), text));
  return copy;
}

}  // namespace sardonyx::python
