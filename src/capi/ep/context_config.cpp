// capi/ep/context_config.cpp - what plug-ins ask of a session's options when they read or write compiled models.
#include <memory>

#include "capi/functions.h"
#include "capi/handles/kind.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"
#include "capi/options.h"

// The caller's functions for the data of compiled models.
struct OrtEpContextConfig {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kEpContextConfig> mark;
  sardonyx::runtime::PluginData data;
};

namespace sardonyx::capi::ep {

// NULL if the caller has not given the model that compiled nodes without weights come from.
OrtStatusPtr ORT_API_CALL SessionOptionsGetWeightlessSourceModelBuffer(const OrtSessionOptions* session_options,
                                                                       const void** source_model_data,
                                                                       size_t* source_model_data_length) noexcept {
  return Guard([&] {
    const std::span<const std::byte> source = Need(session_options, "session_options").context_data.weightless_source;
    Need(source_model_data_length, "source_model_data_length") = source.size();
    Need(source_model_data, "source_model_data") = source.data();
  });
}

OrtStatusPtr ORT_API_CALL SessionOptionsGetEpContextConfig(const OrtSessionOptions* session_options,
                                                           OrtEpContextConfig** config) noexcept {
  return Guard([&] {
    const OrtSessionOptions& options = Need(session_options, "session_options");
    auto& result = Need(config, "config");
    result = std::make_unique<OrtEpContextConfig>(OrtEpContextConfig{{}, options.context_data}).release();
  });
}

void ORT_API_CALL ReleaseEpContextConfig(OrtEpContextConfig* input) noexcept { ReleaseHandle(input); }

OrtStatusPtr ORT_API_CALL EpContextConfigGetEpContextDataReadFunc(const OrtEpContextConfig* config,
                                                                  OrtReadNamedBufferFunc* read_func,
                                                                  void** state) noexcept {
  return Guard([&] {
    const OrtEpContextConfig& from = Need(config, "config");
    Need(state, "state") = from.data.read_state;
    Need(read_func, "read_func") = from.data.read;
  });
}

OrtStatusPtr ORT_API_CALL EpContextConfigGetEpContextDataWriteFunc(const OrtEpContextConfig* config,
                                                                   OrtWriteNamedBufferFunc* write_func,
                                                                   void** state) noexcept {
  return Guard([&] {
    const OrtEpContextConfig& from = Need(config, "config");
    Need(state, "state") = from.data.write_state;
    Need(write_func, "write_func") = from.data.write;
  });
}

}  // namespace sardonyx::capi::ep
