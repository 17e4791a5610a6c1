// capi/exports.cpp - the functions that the library exports.
#include "capi/api_table.h"
#include "capi/functions.h"

using sardonyx::capi::ApiBase;
using sardonyx::capi::SessionOptionsAppendExecutionProvider;

extern "C" {

const OrtApiBase* ORT_API_CALL OrtGetApiBase(void) NO_EXCEPTION { return &ApiBase(); }

const SardonyxApi* ORT_API_CALL SardonyxGetApi(uint32_t version) NO_EXCEPTION {
  return version >= 1 && version <= SARDONYX_API_VERSION ? &sardonyx::capi::OwnApi() : nullptr;
}

OrtStatusPtr ORT_API_CALL OrtSessionOptionsAppendExecutionProvider_CPU(OrtSessionOptions* options,
                                                                       int /*use_arena*/) NO_EXCEPTION {
  return SessionOptionsAppendExecutionProvider(options, "CPU", nullptr, nullptr, 0);
}

OrtStatusPtr ORT_API_CALL OrtSessionOptionsAppendExecutionProvider_CUDA(OrtSessionOptions* options,
                                                                        int /*device_id*/) NO_EXCEPTION {
  return SessionOptionsAppendExecutionProvider(options, "CUDA", nullptr, nullptr, 0);
}

OrtStatusPtr ORT_API_CALL OrtSessionOptionsAppendExecutionProvider_Tensorrt(OrtSessionOptions* options,
                                                                            int /*device_id*/) NO_EXCEPTION {
  return SessionOptionsAppendExecutionProvider(options, "TensorRT", nullptr, nullptr, 0);
}

OrtStatusPtr ORT_API_CALL OrtSessionOptionsAppendExecutionProvider_ROCM(OrtSessionOptions* options,
                                                                        int /*device_id*/) NO_EXCEPTION {
  return SessionOptionsAppendExecutionProvider(options, "ROCM", nullptr, nullptr, 0);
}

OrtStatusPtr ORT_API_CALL OrtSessionOptionsAppendExecutionProvider_MIGraphX(OrtSessionOptions* options,
                                                                            int /*device_id*/) NO_EXCEPTION {
  return SessionOptionsAppendExecutionProvider(options, "MIGraphX", nullptr, nullptr, 0);
}

OrtStatusPtr ORT_API_CALL OrtSessionOptionsAppendExecutionProvider_Dnnl(OrtSessionOptions* options,
                                                                        int /*use_arena*/) NO_EXCEPTION {
  return SessionOptionsAppendExecutionProvider(options, "DNNL", nullptr, nullptr, 0);
}

}  // extern "C"
