// tensor/reserved_buffer.h - blocks for what stays as long as a session: its weights.
#pragma once

#include <cstddef>
#include <memory>

#include "tensor/allocator.h"
#include "tensor/buffer.h"

namespace sardonyx {

// `size` bytes by the allocator's Reserve, not initialised. Fails as Buffer::Allocate does.
std::shared_ptr<Buffer> ReserveBuffer(std::size_t size, const std::shared_ptr<Allocator>& allocator);

}  // namespace sardonyx
