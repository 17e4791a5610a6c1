// providers/plugin/libraries.cpp - registers and unregisters libraries of execution providers.
#include "providers/plugin/libraries.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace sardonyx::plugin {

Libraries::Libraries(std::vector<const OrtEpDevice*> own) : own_(std::move(own)) { ListDevices(); }

void Libraries::Register(const std::string& name, const std::string& path, const LibraryHost& host) {
  const std::lock_guard lock(mutex_);
  if (name.empty()) Fail(Code::kInvalidArgument, "provider library: expected a name to register it under, found ''");
  for (const auto& library : libraries_) {
    if (library->name() == name)
      Fail(Code::kInvalidArgument, "provider library '", name, "' is registered already, from '", library->path(), "'");
  }
  libraries_.push_back(std::make_shared<Library>(name, path, host));
  ListDevices();
}

void Libraries::Unregister(std::string_view name, SharedAllocators& allocators) {
  std::shared_ptr<Library> closed;  // after the lock is gone
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(libraries_.begin(), libraries_.end(),
                               [&](const std::shared_ptr<Library>& library) { return library->name() == name; });
  if (at == libraries_.end()) Fail(Code::kInvalidArgument, "no provider library is registered as '", name, "'");
  // Whoever takes a share takes it from here, under the lock: a count of one stays one.
  if (const long users = at->use_count() - 1 - allocators.CountIdle(**at); users > 0) {
    Fail(Code::kFail, "provider library '", name,
         "' is still in use: expected its sessions, values, allocators and streams to be released first, found ", users,
         " of its objects alive");
  }
  allocators.ReleaseAll(**at);
  closed = std::move(*at);
  libraries_.erase(at);
  ListDevices();
}

void Libraries::ListDevices() {
  std::vector<const OrtEpDevice*> devices = own_;
  for (const auto& library : libraries_)
    for (const auto& factory : library->factories())
      for (const auto& device : factory->devices()) devices.push_back(device.get());
  lists_.push_back(std::move(devices));
}

std::span<const OrtEpDevice* const> Libraries::devices() const {
  const std::lock_guard lock(mutex_);
  return lists_.back();
}

Libraries::Held Libraries::Hold() const {
  const std::lock_guard lock(mutex_);
  return {libraries_, lists_.back()};
}

Libraries::Place Libraries::Find(const OrtEpDevice* device) const {
  const std::lock_guard lock(mutex_);
  for (const auto& library : libraries_)
    for (const auto& factory : library->factories())
      if (factory->FindDevice(device) != nullptr) return {library, factory.get()};
  return {};
}

Libraries::Place Libraries::FindCopier(const Device& from, const Device& to) const {
  const std::lock_guard lock(mutex_);
  for (const auto& library : libraries_)
    for (const auto& factory : library->factories())
      if (factory->CanCopy(from, to)) return {library, factory.get()};
  return {};
}

std::vector<Libraries::Place> Libraries::FindProvider(std::string_view ep_name) const {
  std::vector<Place> found;
  const std::lock_guard lock(mutex_);
  for (const auto& library : libraries_)
    for (const auto& factory : library->factories())
      if (factory->name() == ep_name) found.push_back({library, factory.get()});
  return found;
}

}  // namespace sardonyx::plugin
