// bindings/python/src/api.cpp - the objects of the C interface that the whole module shares.
#include "api.h"

namespace sardonyx::python {

OrtEnv* Environment() {
  // Never released: sessions may outlive the module, and the order of destruction at exit is not ours.
  static OrtEnv* const env = [] {
    OrtEnv* made = nullptr;
    Check(Ort().CreateEnv(ORT_LOGGING_LEVEL_WARNING, "Default", &made));
    return made;
  }();
  return env;
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
