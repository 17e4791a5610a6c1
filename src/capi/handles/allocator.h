// capi/handles/allocator.h - presents our allocators as OrtAllocator, and the caller's OrtAllocator as one of ours.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "onnxruntime_c_api.h"
#include "tensor/allocator.h"

namespace sardonyx::capi {

// The process-wide default allocator; never freed.
OrtAllocator* DefaultAllocator();
// A new handle of `allocator`, to be freed with FreeAllocator.
OrtAllocator* NewAllocator(std::shared_ptr<Allocator> allocator);
void FreeAllocator(OrtAllocator* allocator) noexcept;  // leaves the default one and the caller's alone

// The allocator behind a handle: ours itself, or one that calls the caller's functions, which must outlive its blocks.
std::shared_ptr<Allocator> FromHandle(OrtAllocator* handle);

// Memory from the caller's allocator for a result; fails with kFail naming the size where it returns NULL.
void* AllocateResult(OrtAllocator* allocator, std::size_t size);
// A copy of `text` that ends in NUL.
char* CopyText(OrtAllocator* allocator, std::string_view text);

}  // namespace sardonyx::capi
