// providers/plugin/libraries.h - the libraries that an environment has registered, by name.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "providers/plugin/library.h"
#include "providers/plugin/shared_allocators.h"

namespace sardonyx::plugin {

// Thread-safe. Devices stay where they are until their library is unregistered.
class Libraries {
 public:
  // `own`: the devices of the providers of this library, which are listed first.
  explicit Libraries(std::vector<const OrtEpDevice*> own);

  // Fails with kInvalidArgument if the name is taken.
  void Register(const std::string& name, const std::string& path, const LibraryHost& host);
  // Fails with kInvalidArgument for an unknown name, with kFail while anything uses the library but idle ones of
  // `allocators`, which are released with it.
  void Unregister(std::string_view name, SharedAllocators& allocators);

  // The list stays valid; its devices are there as long as their library is registered.
  std::span<const OrtEpDevice* const> devices() const;
  // The same, with shares in the libraries, which are not unregistered meanwhile.
  struct Held {
    std::vector<std::shared_ptr<Library>> libraries;
    std::span<const OrtEpDevice* const> devices;
  };
  Held Hold() const;
  // The library and the factory of a device; nothing for one of a library that is not registered any more.
  struct Place {
    std::shared_ptr<Library> library;
    Factory* factory = nullptr;
  };
  Place Find(const OrtEpDevice* device) const;
  // Those that can copy from one device to the other.
  Place FindCopier(const Device& from, const Device& to) const;
  std::vector<Place> FindProvider(std::string_view ep_name) const;  // the factories of this name

 private:
  void ListDevices();

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Library>> libraries_;
  std::vector<const OrtEpDevice*> own_;
  // The last one is the present one. Callers have pointers to the others, too, and may read them on other threads.
  std::deque<std::vector<const OrtEpDevice*>> lists_;
};

}  // namespace sardonyx::plugin
