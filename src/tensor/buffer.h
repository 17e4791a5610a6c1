// tensor/buffer.h - a block of bytes, together with whatever keeps it alive.
#pragma once

#include <cstddef>
#include <memory>

#include "tensor/allocator.h"
#include "tensor/device.h"

namespace sardonyx {

// Shared between all tensors that view it (weights, outputs given to the user), hence held by shared_ptr.
class Buffer {
 public:
  // `size` bytes from `allocator`, not initialised.
  static std::shared_ptr<Buffer> Allocate(std::size_t size,
                                          const std::shared_ptr<Allocator>& allocator = HostAllocator());
  // Somebody else's bytes; `owner` (may be null) is kept alive as long as the buffer.
  static std::shared_ptr<Buffer> View(void* data, std::size_t size, std::shared_ptr<const void> owner = nullptr,
                                      Device device = {});
  // Bytes that nobody may write (a mapped file, a constant): read_only() is true.
  static std::shared_ptr<Buffer> ReadOnly(const void* data, std::size_t size, std::shared_ptr<const void> owner);
  // `count` empty strings (std::string objects).
  static std::shared_ptr<Buffer> Strings(std::size_t count);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() { return data_; }
  const void* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool read_only() const { return read_only_; }
  const Device& device() const { return device_; }
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  Buffer() = default;
  void* data_ = nullptr;
  std::size_t size_ = 0;
  Device device_;
  bool read_only_ = false;
  std::size_t string_count_ = 0;          // strings to destroy
  std::shared_ptr<Allocator> allocator_;  // null for views
  std::shared_ptr<const void> owner_;
};

}  // namespace sardonyx
