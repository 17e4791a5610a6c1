// tensor/weight_memory.h - memory for what stays as long as a session: weights as kernels read them.
//
// Touching fresh pages would take most of the time that packing weights takes. So they lie one after the other in
// ranges of huge pages. A freed one gives its memory back at once, whoever has its neighbours.
#pragma once

#include <cstddef>

namespace sardonyx {

// Whether weights of this size should be allocated here.
bool IsWeightMemory(std::size_t size) noexcept;

// `size` bytes, zeros, at the beginning of a page; nullptr if there is no memory, as always on systems without the page
// blocks of base/memory/page_blocks.h. Thread-safe, also after fork.
void* AllocateWeightMemory(std::size_t size) noexcept;
void FreeWeightMemory(void* data, std::size_t size) noexcept;

}  // namespace sardonyx
