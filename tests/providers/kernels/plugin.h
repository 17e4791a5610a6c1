// tests/providers/kernels/plugin.h - a plug-in as the maker of a small accelerator would begin: a kernel for each
// operator that it has, memory of its own, and memory of the host that its card reaches.
//
// Written against the public headers alone; nothing here knows which runtime loads it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../small_plugin.h"

namespace kernels {

using namespace small_plugin;

inline constexpr const char* kName = "SingleKernelsProvider";
inline constexpr std::uint32_t kVersion = 27;  // of the interface
inline constexpr std::uint32_t kVendorId = 0x7a11;
inline constexpr const char* kCardName = "KernelsCard";
inline constexpr const char* kPinnedName = "KernelsPinned";
inline constexpr const char* kOptions = "ep.singlekernelsprovider.";  // where a session keeps those of the provider

extern bool reaches_host;  // the last provider's kernels take memory that the host reaches in place of the card's

// ---- memory.cpp
// The card's addresses have no access rights; Reach gives the address by which the plug-in itself reaches the bytes.
void* Reach(const void* data);
bool IsOnCard(const void* data);
bool IsPinned(const void* data);
OrtAllocator* NewAllocator(const OrtMemoryInfo* info);
void DeleteAllocator(OrtAllocator* allocator);
OrtDataTransferImpl* NewTransfer();

struct Counts {
  std::atomic<long> card_blocks, pinned_blocks, kernels;             // that live at the moment
  std::atomic<long> card_allocations, pinned_allocations, computed;  // since the library was loaded
  std::atomic<long> read_pinned, wrote_pinned;                       // host values of kernels that lay in pinned memory
  std::atomic<long> read_pageable, wrote_pageable;                   // and in other memory
};
extern Counts counts;

// ---- plugin.cpp
// The memory that kernels may ask for, as the factory has declared it; NULL: none.
struct Memories {
  const OrtMemoryInfo *card = nullptr, *pinned = nullptr;
};
Memories MemoriesOf(const OrtKernelInfo* info);

// ---- questions.cpp
// Asks for each kind of memory that a kernel may have, when it is made and when it runs, and writes the answers down.
void AskWhenMade(const OrtKernelInfo* info);
void AskWhenRun(const Memories& memories, OrtKernelContext* context);
// The memory that a value of a kernel says it lies in.
void NoteMemory(const std::string& what, const OrtValue* value);
// All answers, a line each.
const char* Answers();

// ---- computing.cpp
// The registry of all kernels; to be given back with OrtEpApi::ReleaseKernelRegistry.
OrtKernelRegistry* NewRegistry();

}  // namespace kernels
