// capi/ep/context_config.cpp - what plug-ins ask of a session's options when they read or write compiled models.
#include <memory>

#include "capi/functions.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"
#include "capi/options.h"

// The caller's functions for the data of compiled models. None can be set yet (OrtApi and OrtCompileApi say so).
struct OrtEpContextConfig {
  OrtReadNamedBufferFunc read = nullptr;
  void* read_state = nullptr;
  OrtWriteNamedBufferFunc write = nullptr;
  void* write_state = nullptr;
};

namespace sardonyx::capi::ep {

// There is a source model only where weights are left out of a compiled one, which no session asks for yet.
OrtStatusPtr ORT_API_CALL SessionOptionsGetWeightlessSourceModelBuffer(const OrtSessionOptions* session_options,
                                                                       const void** source_model_data,
                                                                       size_t* source_model_data_length) noexcept {
  return Guard([&] {
    Need(session_options, "session_options");
    Need(source_model_data_length, "source_model_data_length") = 0;
    Need(source_model_data, "source_model_data") = nullptr;
  });
}

OrtStatusPtr ORT_API_CALL SessionOptionsGetEpContextConfig(const OrtSessionOptions* session_options,
                                                           OrtEpContextConfig** config) noexcept {
  return Guard([&] {
    Need(session_options, "session_options");
    auto& result = Need(config, "config");
    result = std::make_unique<OrtEpContextConfig>().release();
  });
}

void ORT_API_CALL ReleaseEpContextConfig(OrtEpContextConfig* input) noexcept { ReleaseHandle(input); }

OrtStatusPtr ORT_API_CALL EpContextConfigGetEpContextDataReadFunc(const OrtEpContextConfig* config,
                                                                  OrtReadNamedBufferFunc* read_func,
                                                                  void** state) noexcept {
  return Guard([&] {
    const OrtEpContextConfig& from = Need(config, "config");
    Need(state, "state") = from.read_state;
    Need(read_func, "read_func") = from.read;
  });
}

OrtStatusPtr ORT_API_CALL EpContextConfigGetEpContextDataWriteFunc(const OrtEpContextConfig* config,
                                                                   OrtWriteNamedBufferFunc* write_func,
                                                                   void** state) noexcept {
  return Guard([&] {
    const OrtEpContextConfig& from = Need(config, "config");
    Need(state, "state") = from.write_state;
    Need(write_func, "write_func") = from.write;
  });
}

}  // namespace sardonyx::capi::ep
