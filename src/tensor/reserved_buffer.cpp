// tensor/reserved_buffer.cpp - has an allocator reserve blocks, and give them back with their last user.
#include "tensor/reserved_buffer.h"

#include <utility>

#include "base/limits.h"

namespace sardonyx {

std::shared_ptr<Buffer> ReserveBuffer(std::size_t size, const std::shared_ptr<Allocator>& allocator) {
  ChargeMemory(size);
  void* const data = allocator->Reserve(size);
  // Shared, for that is how a buffer keeps what it views.
  std::shared_ptr<const void> block(data, [allocator, size](void* reserved) {
    allocator->Free(reserved);
    ReturnMemory(size);
  });
  return Buffer::View(data, size, std::move(block), allocator->device());
}

}  // namespace sardonyx
