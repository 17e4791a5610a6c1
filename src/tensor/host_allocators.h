// tensor/host_allocators.h - which of the process's host allocators serves a block of some size.
#pragma once

#include "tensor/allocator.h"

namespace sardonyx {

// The heap, or for large blocks pages of their own (base/page_blocks.h).
const std::shared_ptr<Allocator>& HostAllocatorFor(std::size_t size);

}  // namespace sardonyx
