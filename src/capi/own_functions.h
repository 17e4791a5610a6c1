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

OrtStatusPtr ORT_API_CALL LoadModelToEdit(const ORTCHAR_T* model_path, const void* model_data, size_t model_data_length,
                                          const OrtSessionOptions* options, SardonyxModel** model) noexcept;

void ORT_API_CALL ReleaseModelToEdit(SardonyxModel* input) noexcept;

OrtStatusPtr ORT_API_CALL ModelJson(const SardonyxModel* model, OrtAllocator* allocator, char** json) noexcept;

OrtStatusPtr ORT_API_CALL ModelTensor(const SardonyxModel* model, size_t graph, int64_t node, const char* name,
                                      OrtValue** value) noexcept;

OrtStatusPtr ORT_API_CALL EditModel(SardonyxModel* model, const char* edits, const OrtValue* const* tensors,
                                    size_t tensor_count, OrtAllocator* allocator, char** results) noexcept;

OrtStatusPtr ORT_API_CALL SaveEditedModel(SardonyxModel* model, const ORTCHAR_T* path, const char* external_data_file,
                                          size_t external_data_min_bytes) noexcept;

OrtStatusPtr ORT_API_CALL SaveEditedModelToArray(SardonyxModel* model, OrtAllocator* allocator, void** model_data,
                                                 size_t* model_data_length) noexcept;

OrtStatusPtr ORT_API_CALL CreateSessionFromEditedModel(const OrtEnv* env, SardonyxModel* model,
                                                       const OrtSessionOptions* options, OrtSession** out) noexcept;

}  // namespace sardonyx::capi
