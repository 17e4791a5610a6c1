// bindings/python/src/options.h - handles of the options of sessions and runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "session.h"

namespace sardonyx::python {

class PySessionOptions {
 public:
  PySessionOptions();
  OrtSessionOptions* get() const { return options_.get(); }
  // Keeps a value that must live as long as the sessions that are created from the options.
  void Keep(nb::object value) { kept_.push_back(std::move(value)); }

 private:
  SessionOptionsPtr options_;
  std::vector<nb::object> kept_;
};

// Sets the Python function that reads the data of compiled models; None for none. The options keep it.
void SetDataReader(PySessionOptions& options, const nb::object& function);

// Keys and values as a dict; empty for NULL.
nb::dict Pairs(const OrtKeyValuePairs* pairs);

// The device is owned by the environment, which is never released.
struct PyEpDevice {
  const OrtEpDevice* device;
};

// A stream of a device's provider.
class PySyncStream {
 public:
  explicit PySyncStream(const PyEpDevice& device) {
    OrtSyncStream* made = nullptr;
    Check(Ort().CreateSyncStreamForEpDevice(device.device, nullptr, &made));
    stream_.reset(made);
  }
  OrtSyncStream* get() const { return stream_.get(); }

 private:
  struct Deleter {
    void operator()(OrtSyncStream* stream) const noexcept { Ort().ReleaseSyncStream(stream); }
  };
  std::unique_ptr<OrtSyncStream, Deleter> stream_;
};

// Owned by the environment too.
struct PyHardwareDevice {
  const OrtHardwareDevice* device;
};

class PyRunOptions {
 public:
  PyRunOptions();
  OrtRunOptions* get() const { return options_.get(); }

 private:
  RunOptionsPtr options_;
};

class PyLoraAdapter {
 public:
  explicit PyLoraAdapter(const std::string& path);
  const OrtLoraAdapter* get() const { return adapter_.get(); }

 private:
  LoraAdapterPtr adapter_;
};

}  // namespace sardonyx::python
