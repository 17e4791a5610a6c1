// tensor/device_copier.h - copies within devices, for kernels of the host that pass on what lies there.
#pragma once

#include <cstddef>

#include "tensor/device.h"

namespace sardonyx {

class DeviceCopier {
 public:
  virtual ~DeviceCopier() = default;
  // Returns when the bytes are there. `from` and `to` lie on `device`, and nothing that a stream still does writes
  // them.
  virtual void Copy(const Device& device, const void* from, void* to, std::size_t bytes) = 0;
};

// Of the kernel that runs on this thread; null: none of its values lies on a device.
DeviceCopier* CurrentDeviceCopier();

// Makes `copier` the current one of this thread.
class DeviceCopierScope {
 public:
  explicit DeviceCopierScope(DeviceCopier* copier);
  ~DeviceCopierScope();
  DeviceCopierScope(const DeviceCopierScope&) = delete;
  DeviceCopierScope& operator=(const DeviceCopierScope&) = delete;

 private:
  DeviceCopier* outer_;
};

}  // namespace sardonyx
