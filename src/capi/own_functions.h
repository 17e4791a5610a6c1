// capi/own_functions.h - functions of sardonyx_c_api.h that are defined in the file of their area, not in own_api.cpp.
#pragma once

#include "sardonyx_c_api.h"

namespace sardonyx::capi {

OrtStatusPtr ORT_API_CALL AppendProvider(OrtSessionOptions* options, const char* provider_name,
                                         const char* const* provider_options_keys,
                                         const char* const* provider_options_values, size_t num_keys,
                                         const char* missing) noexcept;

OrtStatusPtr ORT_API_CALL FixInput(OrtSessionOptions* options, const char* name, const OrtValue* value) noexcept;

OrtStatusPtr ORT_API_CALL LoraAdapterInfo(const OrtLoraAdapter* adapter, int* format_version, int* adapter_version,
                                          int* model_version, size_t* parameter_count) noexcept;

OrtStatusPtr ORT_API_CALL LoraAdapterParameter(const OrtLoraAdapter* adapter, size_t index, const char** name,
                                               OrtValue** value) noexcept;

OrtStatusPtr ORT_API_CALL WriteLoraAdapter(const char* path, int adapter_version, int model_version,
                                           const char* const* names, const OrtValue* const* values,
                                           size_t count) noexcept;

}  // namespace sardonyx::capi
