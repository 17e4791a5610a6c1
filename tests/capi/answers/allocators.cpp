// tests/capi/answers/allocators.cpp - allocators of the environment: registered ones, arenas, statistics.
#include <algorithm>
#include <atomic>

#include "answers.h"

namespace {

// Of the caller: counts what is asked of it.
struct CountingAllocator : OrtAllocator {
  CountingAllocator() : OrtAllocator{} {
    version = ORT_API_VERSION;
    OrtAllocator::Alloc = [](OrtAllocator* self, size_t size) -> void* {
      auto& counts = *static_cast<CountingAllocator*>(self);
      ++counts.allocated;
      counts.largest = std::max<size_t>(counts.largest, size);
      return size == 0 ? nullptr : std::aligned_alloc(64, (size + 63) / 64 * 64);
    };
    OrtAllocator::Free = [](OrtAllocator* self, void* p) {
      if (p != nullptr) ++static_cast<CountingAllocator*>(self)->freed;
      std::free(p);
    };
    OrtAllocator::Info = [](const OrtAllocator* self) -> const OrtMemoryInfo* {
      return static_cast<const CountingAllocator*>(self)->info;
    };
    Must(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info));
  }
  ~CountingAllocator() { ort->ReleaseMemoryInfo(info); }
  OrtMemoryInfo* info = nullptr;
  int allocated = 0, freed = 0;
  size_t largest = 0;
};

OrtSession* MakeSession(const char* key, const char* value) {
  OrtSessionOptions* options = nullptr;
  Must(ort->CreateSessionOptions(&options));
  Must(ort->SetIntraOpNumThreads(options, 1));
  if (key != nullptr) Must(ort->AddSessionConfigEntry(options, key, value));
  OrtSession* session = nullptr;
  Must(ort->CreateSession(env, ModelPath("chain.onnx").c_str(), options, &session));
  ort->ReleaseSessionOptions(options);
  return session;
}

// One run of the model x -> y, both [64, 1024] floats; the output is released by the caller.
OrtValue* RunOnce(OrtSession* session) {
  OrtAllocator* allocator = nullptr;
  Must(ort->GetAllocatorWithDefaultOptions(&allocator));
  const int64_t shape[] = {64, 1024};
  OrtValue* input = nullptr;
  Must(ort->CreateTensorAsOrtValue(allocator, shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &input));
  void* data = nullptr;
  Must(ort->GetTensorMutableData(input, &data));
  std::fill_n(static_cast<float*>(data), 64 * 1024, 0.5f);
  const char* in[] = {"x"};
  const char* out[] = {"y"};
  OrtValue* output = nullptr;
  Must(ort->Run(session, nullptr, in, &input, 1, out, 1, &output));
  ort->ReleaseValue(input);
  return output;
}

void SayStatistics(const char* what, const OrtAllocator* allocator, bool values) {
  OrtKeyValuePairs* pairs = nullptr;
  if (Answer(what, ort->AllocatorGetStats(allocator, &pairs)) != 0) return;
  const char* const* keys = nullptr;
  const char* const* texts = nullptr;
  size_t count = 0;
  ort->GetKeyValuePairs(pairs, &keys, &texts, &count);
  std::vector<std::string> lines;
  for (size_t i = 0; i < count; ++i)
    lines.push_back(std::string(keys[i]) + (values ? std::string(" ") + texts[i] : ""));
  std::sort(lines.begin(), lines.end());
  for (const std::string& line : lines) Say("  %s", line.c_str());
  ort->ReleaseKeyValuePairs(pairs);
}

void Configurations() {
  OrtArenaCfg* config = nullptr;
  if (Answer("CreateArenaCfg", ort->CreateArenaCfg(0, -1, -1, -1, &config)) == 0) ort->ReleaseArenaCfg(config);
  config = nullptr;
  if (Answer("CreateArenaCfg with a bad strategy", ort->CreateArenaCfg(0, 7, -1, -1, &config)) == 0)
    ort->ReleaseArenaCfg(config);
  const char* keys[] = {"max_mem",
                        "arena_extend_strategy",
                        "initial_chunk_size_bytes",
                        "max_dead_bytes_per_chunk",
                        "initial_growth_chunk_size_bytes",
                        "max_power_of_two_extend_bytes"};
  const size_t values[] = {1 << 20, 1, 4096, 128, 8192, 1 << 18};
  config = nullptr;
  if (Answer("CreateArenaCfgV2", ort->CreateArenaCfgV2(keys, values, 6, &config)) == 0) ort->ReleaseArenaCfg(config);
  const char* unknown[] = {"max_memory"};
  config = nullptr;
  if (Answer("CreateArenaCfgV2 with an unknown key", ort->CreateArenaCfgV2(unknown, values, 1, &config)) == 0)
    ort->ReleaseArenaCfg(config);
  config = nullptr;
  if (Answer("CreateArenaCfgV2 without keys", ort->CreateArenaCfgV2(nullptr, nullptr, 0, &config)) == 0)
    ort->ReleaseArenaCfg(config);
  ort->ReleaseArenaCfg(nullptr);
}

void Registered() {
  CountingAllocator counting;
  Answer("RegisterAllocator", ort->RegisterAllocator(env, &counting));
  Answer("RegisterAllocator twice", ort->RegisterAllocator(env, &counting));
  OrtSession* other = MakeSession(nullptr, nullptr);
  ort->ReleaseValue(RunOnce(other));
  Say("without the entry: %s", counting.allocated == 0 ? "not used" : "used");
  OrtSession* session = MakeSession("session.use_env_allocators", "1");
  OrtValue* output = RunOnce(session);
  Say("with the entry: %s, a block of the output's size: %s", counting.allocated > 0 ? "used" : "not used",
      counting.largest >= 64 * 1024 * 4 ? "yes" : "no");
  OrtAllocator* of_session = nullptr;
  if (Answer("CreateAllocator", ort->CreateAllocator(session, counting.info, &of_session)) == 0) {
    const int before = counting.allocated;
    void* block = nullptr;
    Must(ort->AllocatorAlloc(of_session, 100, &block));
    Say("the session's allocator is the registered one: %s", counting.allocated == before + 1 ? "yes" : "no");
    Must(ort->AllocatorFree(of_session, block));
    ort->ReleaseAllocator(of_session);
  }
  Answer("UnregisterAllocator", ort->UnregisterAllocator(env, counting.info));
  Answer("UnregisterAllocator twice", ort->UnregisterAllocator(env, counting.info));
  ort->ReleaseValue(output);
  ort->ReleaseSession(session);
  ort->ReleaseSession(other);
  Say("all that was allocated is free: %s", counting.allocated == counting.freed ? "yes" : "no");
}

void Arena() {
  OrtMemoryInfo* info = nullptr;
  Must(ort->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &info));
  OrtArenaCfg* config = nullptr;
  const char* keys[] = {"max_mem", "arena_extend_strategy", "initial_chunk_size_bytes"};
  const size_t values[] = {64 << 20, 1, 4096};
  Must(ort->CreateArenaCfgV2(keys, values, 3, &config));
  Answer("CreateAndRegisterAllocator", ort->CreateAndRegisterAllocator(env, info, config));
  Answer("CreateAndRegisterAllocator twice", ort->CreateAndRegisterAllocator(env, info, config));
  OrtSession* session = MakeSession("session.use_env_allocators", "1");
  OrtAllocator* arena = nullptr;
  if (Answer("CreateAllocator of an arena", ort->CreateAllocator(session, info, &arena)) == 0) {
    SayStatistics("AllocatorGetStats", arena, false);
    void* block = nullptr;
    Must(ort->AllocatorAlloc(arena, 1000, &block));
    SayStatistics("AllocatorGetStats with 1000 bytes in use", arena, true);
    void* second = nullptr;
    Must(ort->AllocatorAlloc(arena, 1 << 20, &second));
    SayStatistics("AllocatorGetStats with 1 MiB more", arena, true);
    Must(ort->AllocatorFree(arena, second));
    Must(ort->AllocatorFree(arena, block));
    SayStatistics("AllocatorGetStats with all free", arena, true);
    void* reserved = arena->Reserve(arena, 500);
    SayStatistics("AllocatorGetStats with 500 bytes reserved", arena, true);
    arena->Free(arena, reserved);
    block = nullptr;
    Answer("AllocatorAlloc beyond the limit", ort->AllocatorAlloc(arena, 65 << 20, &block));
    Say("a block beyond the limit: %s", block == nullptr ? "NULL" : "given");
    ort->ReleaseAllocator(arena);
  }
  ort->ReleaseValue(RunOnce(session));
  ort->ReleaseSession(session);
  Answer("UnregisterAllocator of an arena", ort->UnregisterAllocator(env, info));
  const char* none[] = {""};
  Answer("CreateAndRegisterAllocatorV2 of the CPU",
         ort->CreateAndRegisterAllocatorV2(env, "CPUExecutionProvider", info, config, none, none, 0));
  Answer("UnregisterAllocator of it", ort->UnregisterAllocator(env, info));
  Answer("CreateAndRegisterAllocatorV2 of CUDA",
         ort->CreateAndRegisterAllocatorV2(env, "CUDAExecutionProvider", info, config, none, none, 0));
  Answer("CreateAndRegisterAllocator without a configuration", ort->CreateAndRegisterAllocator(env, info, nullptr));
  Answer("UnregisterAllocator of it", ort->UnregisterAllocator(env, info));
  ort->ReleaseArenaCfg(config);
  ort->ReleaseMemoryInfo(info);
}

// How an arena grows: by the two strategies, its chunks, and what Shrink gives back.
void Growth(size_t strategy, size_t initial, size_t growth, size_t most, size_t dead) {
  Say("growth %zu %zu %zu %zu %zu", strategy, initial, growth, most, dead);
  OrtMemoryInfo* info = nullptr;
  Must(ort->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &info));
  OrtArenaCfg* config = nullptr;
  const char* keys[] = {"arena_extend_strategy", "initial_chunk_size_bytes", "initial_growth_chunk_size_bytes",
                        "max_power_of_two_extend_bytes", "max_dead_bytes_per_chunk"};
  const size_t values[] = {strategy, initial, growth, most, dead};
  Must(ort->CreateArenaCfgV2(keys, values, dead == 0 ? 4 : 5, &config));
  Answer("CreateAndRegisterAllocator", ort->CreateAndRegisterAllocator(env, info, config));
  OrtSession* session = MakeSession("session.use_env_allocators", "1");
  OrtAllocator* arena = nullptr;
  Must(ort->CreateAllocator(session, info, &arena));
  std::vector<void*> blocks;
  for (const size_t size : {100ul, 1000ul, 1ul << 20, 3ul << 20, 5ul << 20, 100ul << 10, 1ul << 20, 10ul << 20}) {
    blocks.push_back(arena->Alloc(arena, size));
    Say("%zu bytes, aligned: %s", size, reinterpret_cast<uintptr_t>(blocks.back()) % 64 == 0 ? "yes" : "no");
    SayStatistics("AllocatorGetStats", arena, true);
  }
  arena->Free(arena, blocks[2]);
  arena->Free(arena, blocks[3]);
  blocks.push_back(arena->Alloc(arena, 700 << 10));
  SayStatistics("AllocatorGetStats with a block used again", arena, true);
  arena->Free(arena, blocks[4]);
  arena->Free(arena, blocks[7]);
  const bool shrinks = arena->version >= 25 && arena->Shrink != nullptr;
  Say("shrinks: %s", shrinks ? "yes" : "no");
  if (shrinks) Answer("Shrink", arena->Shrink(arena));
  SayStatistics("AllocatorGetStats after that", arena, true);
  for (const size_t i : {0, 1, 5, 6, 8}) arena->Free(arena, blocks[i]);
  ort->ReleaseAllocator(arena);
  ort->ReleaseSession(session);
  Answer("UnregisterAllocator", ort->UnregisterAllocator(env, info));
  ort->ReleaseArenaCfg(config);
  ort->ReleaseMemoryInfo(info);
}

}  // namespace

int main(int argc, char** argv) {
  Open(argc, argv);
  OrtAllocator* allocator = nullptr;
  Must(ort->GetAllocatorWithDefaultOptions(&allocator));
  SayStatistics("AllocatorGetStats of the default allocator", allocator, true);
  Configurations();
  Registered();
  Arena();
  const size_t unset = static_cast<size_t>(-1);
  Growth(0, unset, unset, unset, 0);
  Growth(0, 1 << 16, 1 << 18, 1 << 22, 0);
  Growth(1, unset, unset, unset, 1024);
  ort->ReleaseEnv(env);
}
