// capi/opaque_value.cpp - values of opaque types, and the functions that are found by name.
//
// An opaque type is one that a library registered under a domain and a name, with the means to fill its container. As
// in ONNX Runtime, no function of the C interface registers one.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "capi/functions.h"
#include "capi/handles/status.h"
#include "capi/handles/value.h"

namespace sardonyx::capi {
namespace {

[[noreturn]] void FailUnregistered(const char* domain, const char* name) {
  Fail(Code::kFail, "opaque type '", domain, ".", name,
       "': expected a type that is registered, found none of this domain and name; nothing registers opaque types");
}

// The one experimental function of ONNX Runtime 1.31: lets a caller try how such functions are found and called.
OrtStatusPtr ORT_API_CALL ExperimentalApiTest(std::int64_t* out) noexcept {
  return Guard([&] { Need(out, "out") = 12345; });
}

}  // namespace

OrtStatusPtr ORT_API_CALL CreateOpaqueValue(const char* domain_name, const char* type_name, const void* data_container,
                                            size_t data_container_size, OrtValue** out) noexcept {
  return Guard([&] {
    const char* domain = &Need(domain_name, "domain_name");
    const char* name = &Need(type_name, "type_name");
    NeedArray(static_cast<const std::byte*>(data_container), data_container_size, "data_container");
    Need(out, "out");
    FailUnregistered(domain, name);
  });
}

OrtStatusPtr ORT_API_CALL GetOpaqueValue(const char* domain_name, const char* type_name, const OrtValue* in,
                                         void* data_container, size_t data_container_size) noexcept {
  return Guard([&] {
    const char* domain = &Need(domain_name, "domain_name");
    const char* name = &Need(type_name, "type_name");
    Need(in, "in");
    NeedArray(static_cast<std::byte*>(data_container), data_container_size, "data_container");
    FailUnregistered(domain, name);
  });
}

// Those that were experimental in 1.28 to 1.30 are part of the tables now, and not found by their old names.
OrtExperimentalFnPtr ORT_API_CALL GetExperimentalFunction(const char* name) noexcept {
  if (name == nullptr || std::string_view(name) != "OrtApi_ExperimentalApiTest_SinceV28") return nullptr;
  return reinterpret_cast<OrtExperimentalFnPtr>(&ExperimentalApiTest);
}

// NULL, as in every build of ONNX Runtime without training.
const OrtTrainingApi* ORT_API_CALL GetTrainingApi(uint32_t /*version*/) noexcept { return nullptr; }

}  // namespace sardonyx::capi
