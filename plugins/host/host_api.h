// plugins/host/host_api.h - the runtime that loaded a plug-in: its tables, its errors, its handles.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "onnxruntime_c_api.h"

namespace plugin_host {

inline constexpr std::uint32_t kOldestHost = 23;  // of its API: the first with plug-ins that compile

// An error on its way to the host, with one of its codes.
class Failure : public std::runtime_error {
 public:
  Failure(OrtErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  OrtErrorCode code() const { return code_; }

 private:
  OrtErrorCode code_;
};

struct HostApi {
  const OrtApi* host = nullptr;
  const OrtEpApi* host_ep = nullptr;
  std::uint32_t host_version = 0;  // of `host`: newer fields of it must not be read

  // Throws what a status says, and releases it.
  void Host(OrtStatus* status) const { Check(*host, status); }

 protected:
  static void Check(const OrtApi& api, OrtStatus* status) {
    if (status == nullptr) return;
    const Failure failure(api.GetErrorCode(status), api.GetErrorMessage(status));
    api.ReleaseStatus(status);
    throw failure;
  }
};

// The tables of a host; fails if it is too old for plug-ins that compile. `name`: the provider's, for the message.
HostApi ConnectToHost(const OrtApiBase& host, const std::string& name);

// Runs the body of a function that the host calls: what it throws becomes a status of the host.
template <typename Body>
OrtStatus* Guard(const OrtApi& host, Body&& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const Failure& failure) {
    return host.CreateStatus(failure.code(), failure.what());
  } catch (const std::exception& error) {
    return host.CreateStatus(ORT_EP_FAIL, error.what());
  } catch (...) {
    return host.CreateStatus(ORT_EP_FAIL, "an exception of an unknown type");
  }
}

// A handle that is released with a function of its runtime's table.
template <typename T>
using Handle = std::unique_ptr<T, void(ORT_API_CALL*)(T*)>;

}  // namespace plugin_host
