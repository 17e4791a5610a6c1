// tensor/buffer.cpp - allocates and frees blocks of bytes.
#include "tensor/buffer.h"

#include <memory>
#include <string>
#include <utility>

#include "base/limits.h"
#include "base/memory/kept_blocks.h"
#include "base/shape.h"
#include "tensor/host_allocators.h"

namespace sardonyx {
std::shared_ptr<Buffer> Buffer::Allocate(std::size_t size, const std::shared_ptr<Allocator>& allocator) {
  struct Constructible : Buffer {};  // make_shared cannot reach the private constructor
  ChargeMemory(size);
  auto buffer = std::make_shared<Constructible>();
  const std::shared_ptr<Allocator>& from = allocator == HostAllocator() ? HostAllocatorFor(size) : allocator;
  buffer->device_ = from->device();
  buffer->data_ = from->Allocate(size);
  buffer->size_ = size;
  buffer->allocator_ = from;
  return buffer;
}

std::shared_ptr<Buffer> Buffer::View(void* data, std::size_t size, std::shared_ptr<const void> owner, Device device) {
  struct Constructible : Buffer {};
  auto buffer = std::make_shared<Constructible>();
  buffer->data_ = data;
  buffer->size_ = size;
  buffer->device_ = device;
  buffer->owner_ = std::move(owner);
  return buffer;
}

std::shared_ptr<Buffer> Buffer::ReadOnly(const void* data, std::size_t size, std::shared_ptr<const void> owner) {
  auto buffer = View(const_cast<void*>(data), size, std::move(owner));  // read_only_ is what keeps writers off
  buffer->read_only_ = true;
  return buffer;
}

std::shared_ptr<Buffer> Buffer::Strings(std::size_t count) {
  auto buffer = Allocate(CheckedMul(count, sizeof(std::string), "the size of a string tensor"));
  auto* strings = static_cast<std::string*>(buffer->data_);
  std::uninitialized_value_construct_n(strings, count);
  buffer->string_count_ = count;
  return buffer;
}

Buffer::~Buffer() {
  if (string_count_ != 0) std::destroy_n(static_cast<std::string*>(data_), string_count_);
  if (allocator_ && data_ != nullptr) {
    if (size_ <= kLargestKeptBlock && allocator_ == HostAllocator()) {
      FreeLater(data_);
    } else {
      allocator_->Free(data_);
    }
    ReturnMemory(size_);
  }
}

}  // namespace sardonyx
