// tensor/host_allocators.h - chooses between the process's host allocators by the size of a block.
#pragma once

#include "tensor/allocator.h"

namespace sardonyx {

// The heap, or for large blocks separate pages (base/memory/page_blocks.h).
const std::shared_ptr<Allocator>& HostAllocatorFor(std::size_t size);

}  // namespace sardonyx
