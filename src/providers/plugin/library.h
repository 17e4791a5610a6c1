// providers/plugin/library.h - a loaded library of execution providers: its factories and the devices they support.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/logging.h"
#include "capi/handles/ep_device.h"
#include "capi/handles/logger.h"
#include "onnxruntime_c_api.h"
#include "tensor/device.h"

namespace sardonyx::plugin {

// What a library gets from us when it is loaded. The devices live as long as the process.
struct LibraryHost {
  const OrtApiBase* api = nullptr;
  std::span<const OrtHardwareDevice* const> devices;
  Logger logger;
};

class Library;

struct FactoryReleaser {
  const Library* library;
  void operator()(OrtEpFactory* factory) const noexcept;
};
using FactoryHandle = std::unique_ptr<OrtEpFactory, FactoryReleaser>;

struct TransferReleaser {
  const Library* library;
  void operator()(OrtDataTransferImpl* transfer) const noexcept;
};

// One factory of a library, with what it made when the library was loaded.
class Factory {
 public:
  Factory(Library& library, FactoryHandle handle, const LibraryHost& host);

  Library& library() const { return library_; }
  OrtEpFactory* handle() const { return handle_.get(); }
  const std::string& name() const { return name_; }
  const std::vector<std::unique_ptr<OrtEpDevice>>& devices() const { return devices_; }
  const OrtEpDevice* FindDevice(const OrtEpDevice* device) const;  // `device` if it is one of devices(), or NULL
  bool CanCopy(const Device& from, const Device& to) const;
  // Copies `count` tensors, each between two devices that CanCopy accepts.
  void CopyTensors(const OrtValue** from, OrtValue** to, OrtSyncStream** streams, std::size_t count) const;

 private:
  void AddDevices(std::span<const OrtHardwareDevice* const> devices);
  void AddDataTransfer();

  Library& library_;
  FactoryHandle handle_;
  std::string name_, can_copy_, copy_tensors_;  // the provider's, and how errors name the functions that copy
  std::vector<std::unique_ptr<OrtEpDevice>> devices_;
  std::unique_ptr<OrtDataTransferImpl, TransferReleaser> transfer_{nullptr, {&library_}};  // NULL: it copies nothing
};

// Shared by whatever lives in it: its providers, their kernels, allocators and memory, streams. Closed when the last of
// these is gone.
class Library : public std::enable_shared_from_this<Library> {
 public:
  // Fails with kNoSuchFile or kEpFail naming the file and what is wrong.
  Library(std::string name, std::string path, const LibraryHost& host);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const std::string& name() const { return name_; }  // under which it was registered
  const std::string& path() const { return path_; }
  const std::vector<std::unique_ptr<Factory>>& factories() const { return factories_; }
  const Logger& logger() const { return logger_.logger; }
  std::shared_ptr<Library> Share() { return shared_from_this(); }

 private:
  friend struct FactoryReleaser;
  struct Closer {
    void operator()(void* handle) const noexcept;
  };
  std::string name_, path_;
  OrtLogger logger_;
  std::unique_ptr<void, Closer> handle_;
  OrtStatus* (*create_)(const char*, const OrtApiBase*, const OrtLogger*, OrtEpFactory**, std::size_t,
                        std::size_t*) = nullptr;
  OrtStatus* (*release_)(OrtEpFactory*) = nullptr;
  std::vector<std::unique_ptr<Factory>> factories_;
};

}  // namespace sardonyx::plugin
