// tensor/device_copier.cpp - the copier of the kernel that runs on a thread.
#include "tensor/device_copier.h"

#include <utility>

namespace sardonyx {
namespace {

thread_local DeviceCopier* current = nullptr;

}  // namespace

DeviceCopier* CurrentDeviceCopier() { return current; }

DeviceCopierScope::DeviceCopierScope(DeviceCopier* copier) : outer_(std::exchange(current, copier)) {}
DeviceCopierScope::~DeviceCopierScope() { current = outer_; }

}  // namespace sardonyx
