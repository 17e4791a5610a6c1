// tests/providers/kernels/questions.cpp - asks the runtime for memory in the ways that a kernel can.
#include <mutex>
#include <set>

#include "plugin.h"

namespace kernels {
namespace {

std::mutex mutex;
std::set<std::string> answers;
std::string told;

void Note(const std::string& what, const std::string& answer) {
  const std::lock_guard lock(mutex);
  answers.insert(what + ": " + answer);
}

std::string CodeOf(OrtStatus* status) {
  const std::string text = "error " + std::to_string(api->GetErrorCode(status));
  api->ReleaseStatus(status);
  return text;
}

std::string Describe(const OrtMemoryInfo* info) {
  const char* name = "";
  OrtMemType type = OrtMemTypeDefault;
  OrtStatus* status = api->MemoryInfoGetName(info, &name);
  if (status == nullptr) status = api->MemoryInfoGetMemType(info, &type);
  return status != nullptr ? CodeOf(status) : name + std::string(" ") + std::to_string(type);
}

std::string PlaceOf(const void* data) {
  if (data == nullptr) return "nowhere";
  return IsOnCard(data) ? "on the card" : IsPinned(data) ? "pinned" : "elsewhere";
}

// Whose it is and where it allocates.
void NoteAllocator(const std::string& what, OrtStatus* status, OrtAllocator* allocator) {
  if (status != nullptr) return Note(what, CodeOf(status));
  const OrtMemoryInfo* info = nullptr;
  status = api->AllocatorGetInfo(allocator, &info);
  void* data = nullptr;
  if (status == nullptr) status = api->AllocatorAlloc(allocator, 64, &data);
  Note(what, status != nullptr ? CodeOf(status) : Describe(info) + ", allocates " + PlaceOf(data));
  if (data != nullptr) Note(what + ", freed", api->AllocatorFree(allocator, data) == nullptr ? "well" : "badly");
  api->ReleaseAllocator(allocator);
}

}  // namespace

void AskWhenMade(const OrtKernelInfo* info) {
  const std::pair<const char*, OrtMemType> kinds[] = {
      {"default", OrtMemTypeDefault}, {"CPU input", OrtMemTypeCPUInput}, {"CPU output", OrtMemTypeCPUOutput}};
  for (const auto& [name, type] : kinds) {
    OrtAllocator* allocator = nullptr;
    OrtStatus* status = api->KernelInfoGetAllocator(info, type, &allocator);
    NoteAllocator(std::string("made, ") + name, status, allocator);
  }
}

void AskWhenRun(const Memories& memories, OrtKernelContext* context) {
  OrtMemoryInfo* host = nullptr;
  Check(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &host));
  const std::pair<const char*, const OrtMemoryInfo*> kinds[] = {
      {"card", memories.card}, {"pinned", memories.pinned}, {"host", host}};
  for (const auto& [name, info] : kinds) {
    if (info == nullptr) continue;
    OrtAllocator* allocator = nullptr;
    OrtStatus* status = api->KernelContext_GetAllocator(context, info, &allocator);
    NoteAllocator(std::string("run, ") + name, status, allocator);
    void* data = nullptr;
    status = api->KernelContext_GetScratchBuffer(context, info, 64, &data);
    const std::string what = std::string("scratch, ") + name;
    Note(what, status != nullptr ? CodeOf(status) : PlaceOf(data));
    // As the interface says: with an allocator of the same memory.
    if (data == nullptr || api->KernelContext_GetAllocator(context, info, &allocator) != nullptr) continue;
    Note(what + ", freed", api->AllocatorFree(allocator, data) == nullptr ? "well" : "badly");
    api->ReleaseAllocator(allocator);
  }
  api->ReleaseMemoryInfo(host);
}

void NoteMemory(const std::string& what, const OrtValue* value) {
  const OrtMemoryInfo* info = nullptr;
  OrtMemoryInfoDeviceType type = OrtMemoryInfoDeviceType_CPU;
  Check(api->GetTensorMemoryInfo(value, &info));
  api->MemoryInfoGetDeviceType(info, &type);
  const OrtMemoryDevice* device = ep_api->Value_GetMemoryDevice(value);
  Note(what, "device " + std::to_string(type) + ", maker " + std::to_string(ep_api->MemoryDevice_GetVendorId(device)) +
                 ", memory " + std::to_string(ep_api->MemoryDevice_GetMemoryType(device)));
}

const char* Answers() {
  const std::lock_guard lock(mutex);
  told.clear();
  for (const std::string& line : answers) told += line + "\n";
  return told.c_str();
}

}  // namespace kernels
