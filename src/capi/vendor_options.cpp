// capi/vendor_options.cpp - the functions for providers that ONNX Runtime can be built with, and that are no part of
// this library: each says so, and how such a provider is used instead.
#include <string_view>

#include "capi/functions.h"
#include "capi/handles/status.h"

namespace sardonyx::capi {
namespace {

struct PlugIn {
  std::string_view provider, library;
};
constexpr PlugIn kPlugIns[] = {
    {"CUDAExecutionProvider", "for NVIDIA's devices, the one in the Python package onnxruntime-ep-nv-tensorrt-rtx"},
    {"TensorrtExecutionProvider", "for NVIDIA's devices, the one in the Python package onnxruntime-ep-nv-tensorrt-rtx"},
    {"OpenVINOExecutionProvider", "for example the one in the Python package onnxruntime-ep-openvino"},
};

OrtStatusPtr NotBuiltIn(std::string_view provider) noexcept {
  return Guard([&] {
    std::string_view library = "the vendor's, if there is one";
    for (const PlugIn& known : kPlugIns)
      if (known.provider == provider) library = known.library;
    Fail(Code::kFail, "execution provider '", provider, "' is not part of this library: register a plug-in library ",
         "that has it with RegisterExecutionProviderLibrary (", library,
         "), and add its devices with SessionOptionsAppendExecutionProvider_V2");
  });
}

}  // namespace

OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_CUDA(
    OrtSessionOptions* /*options*/, const OrtCUDAProviderOptions* /*cuda_options*/) noexcept {
  return NotBuiltIn("CUDAExecutionProvider");
}
OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_ROCM(
    OrtSessionOptions* /*options*/, const OrtROCMProviderOptions* /*rocm_options*/) noexcept {
  return NotBuiltIn("ROCMExecutionProvider");
}
OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_OpenVINO(
    OrtSessionOptions* /*options*/, const OrtOpenVINOProviderOptions* /*provider_options*/) noexcept {
  return NotBuiltIn("OpenVINOExecutionProvider");
}
OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_TensorRT(
    OrtSessionOptions* /*options*/, const OrtTensorRTProviderOptions* /*tensorrt_options*/) noexcept {
  return NotBuiltIn("TensorrtExecutionProvider");
}
OrtStatusPtr ORT_API_CALL SetCurrentGpuDeviceId(int /*device_id*/) noexcept {
  return NotBuiltIn("CUDAExecutionProvider");
}
OrtStatusPtr ORT_API_CALL GetCurrentGpuDeviceId(int* /*device_id*/) noexcept {
  return NotBuiltIn("CUDAExecutionProvider");
}
OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_TensorRT_V2(
    OrtSessionOptions* /*options*/, const OrtTensorRTProviderOptionsV2* /*tensorrt_options*/) noexcept {
  return NotBuiltIn("TensorrtExecutionProvider");
}
OrtStatusPtr ORT_API_CALL CreateTensorRTProviderOptions(OrtTensorRTProviderOptionsV2** /*out*/) noexcept {
  return NotBuiltIn("TensorrtExecutionProvider");
}
OrtStatusPtr ORT_API_CALL UpdateTensorRTProviderOptions(OrtTensorRTProviderOptionsV2* /*tensorrt_options*/,
                                                        const char* const* /*provider_options_keys*/,
                                                        const char* const* /*provider_options_values*/,
                                                        size_t /*num_keys*/) noexcept {
  return NotBuiltIn("TensorrtExecutionProvider");
}
OrtStatusPtr ORT_API_CALL GetTensorRTProviderOptionsAsString(const OrtTensorRTProviderOptionsV2* /*tensorrt_options*/,
                                                             OrtAllocator* /*allocator*/, char** /*ptr*/) noexcept {
  return NotBuiltIn("TensorrtExecutionProvider");
}
OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_CUDA_V2(
    OrtSessionOptions* /*options*/, const OrtCUDAProviderOptionsV2* /*cuda_options*/) noexcept {
  return NotBuiltIn("CUDAExecutionProvider");
}
OrtStatusPtr ORT_API_CALL CreateCUDAProviderOptions(OrtCUDAProviderOptionsV2** /*out*/) noexcept {
  return NotBuiltIn("CUDAExecutionProvider");
}
OrtStatusPtr ORT_API_CALL UpdateCUDAProviderOptions(OrtCUDAProviderOptionsV2* /*cuda_options*/,
                                                    const char* const* /*provider_options_keys*/,
                                                    const char* const* /*provider_options_values*/,
                                                    size_t /*num_keys*/) noexcept {
  return NotBuiltIn("CUDAExecutionProvider");
}
OrtStatusPtr ORT_API_CALL GetCUDAProviderOptionsAsString(const OrtCUDAProviderOptionsV2* /*cuda_options*/,
                                                         OrtAllocator* /*allocator*/, char** /*ptr*/) noexcept {
  return NotBuiltIn("CUDAExecutionProvider");
}
OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_MIGraphX(
    OrtSessionOptions* /*options*/, const OrtMIGraphXProviderOptions* /*migraphx_options*/) noexcept {
  return NotBuiltIn("MIGraphXExecutionProvider");
}
OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_CANN(
    OrtSessionOptions* /*options*/, const OrtCANNProviderOptions* /*cann_options*/) noexcept {
  return NotBuiltIn("CANNExecutionProvider");
}
OrtStatusPtr ORT_API_CALL CreateCANNProviderOptions(OrtCANNProviderOptions** /*out*/) noexcept {
  return NotBuiltIn("CANNExecutionProvider");
}
OrtStatusPtr ORT_API_CALL UpdateCANNProviderOptions(OrtCANNProviderOptions* /*cann_options*/,
                                                    const char* const* /*provider_options_keys*/,
                                                    const char* const* /*provider_options_values*/,
                                                    size_t /*num_keys*/) noexcept {
  return NotBuiltIn("CANNExecutionProvider");
}
OrtStatusPtr ORT_API_CALL GetCANNProviderOptionsAsString(const OrtCANNProviderOptions* /*cann_options*/,
                                                         OrtAllocator* /*allocator*/, char** /*ptr*/) noexcept {
  return NotBuiltIn("CANNExecutionProvider");
}
OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_Dnnl(
    OrtSessionOptions* /*options*/, const OrtDnnlProviderOptions* /*dnnl_options*/) noexcept {
  return NotBuiltIn("DnnlExecutionProvider");
}
OrtStatusPtr ORT_API_CALL CreateDnnlProviderOptions(OrtDnnlProviderOptions** /*out*/) noexcept {
  return NotBuiltIn("DnnlExecutionProvider");
}
OrtStatusPtr ORT_API_CALL UpdateDnnlProviderOptions(OrtDnnlProviderOptions* /*dnnl_options*/,
                                                    const char* const* /*provider_options_keys*/,
                                                    const char* const* /*provider_options_values*/,
                                                    size_t /*num_keys*/) noexcept {
  return NotBuiltIn("DnnlExecutionProvider");
}
OrtStatusPtr ORT_API_CALL GetDnnlProviderOptionsAsString(const OrtDnnlProviderOptions* /*dnnl_options*/,
                                                         OrtAllocator* /*allocator*/, char** /*ptr*/) noexcept {
  return NotBuiltIn("DnnlExecutionProvider");
}
OrtStatusPtr ORT_API_CALL CreateROCMProviderOptions(OrtROCMProviderOptions** /*out*/) noexcept {
  return NotBuiltIn("ROCMExecutionProvider");
}
OrtStatusPtr ORT_API_CALL UpdateROCMProviderOptions(OrtROCMProviderOptions* /*rocm_options*/,
                                                    const char* const* /*provider_options_keys*/,
                                                    const char* const* /*provider_options_values*/,
                                                    size_t /*num_keys*/) noexcept {
  return NotBuiltIn("ROCMExecutionProvider");
}
OrtStatusPtr ORT_API_CALL GetROCMProviderOptionsAsString(const OrtROCMProviderOptions* /*rocm_options*/,
                                                         OrtAllocator* /*allocator*/, char** /*ptr*/) noexcept {
  return NotBuiltIn("ROCMExecutionProvider");
}
OrtStatusPtr ORT_API_CALL UpdateTensorRTProviderOptionsWithValue(OrtTensorRTProviderOptionsV2* /*tensorrt_options*/,
                                                                 const char* /*key*/, void* /*value*/) noexcept {
  return NotBuiltIn("TensorrtExecutionProvider");
}
OrtStatusPtr ORT_API_CALL GetTensorRTProviderOptionsByName(const OrtTensorRTProviderOptionsV2* /*tensorrt_options*/,
                                                           const char* /*key*/, void** /*ptr*/) noexcept {
  return NotBuiltIn("TensorrtExecutionProvider");
}
OrtStatusPtr ORT_API_CALL UpdateCUDAProviderOptionsWithValue(OrtCUDAProviderOptionsV2* /*cuda_options*/,
                                                             const char* /*key*/, void* /*value*/) noexcept {
  return NotBuiltIn("CUDAExecutionProvider");
}
OrtStatusPtr ORT_API_CALL GetCUDAProviderOptionsByName(const OrtCUDAProviderOptionsV2* /*cuda_options*/,
                                                       const char* /*key*/, void** /*ptr*/) noexcept {
  return NotBuiltIn("CUDAExecutionProvider");
}
OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_OpenVINO_V2(
    OrtSessionOptions* /*options*/, const char* const* /*provider_options_keys*/,
    const char* const* /*provider_options_values*/, size_t /*num_keys*/) noexcept {
  return NotBuiltIn("OpenVINOExecutionProvider");
}
OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_VitisAI(OrtSessionOptions* /*options*/,
                                                                        const char* const* /*provider_options_keys*/,
                                                                        const char* const* /*provider_options_values*/,
                                                                        size_t /*num_keys*/) noexcept {
  return NotBuiltIn("VitisAIExecutionProvider");
}

// Nobody has options to release: the functions that would create them fail.
void ORT_API_CALL ReleaseTensorRTProviderOptions(OrtTensorRTProviderOptionsV2* /*input*/) noexcept {}
void ORT_API_CALL ReleaseCUDAProviderOptions(OrtCUDAProviderOptionsV2* /*input*/) noexcept {}
void ORT_API_CALL ReleaseCANNProviderOptions(OrtCANNProviderOptions* /*input*/) noexcept {}
void ORT_API_CALL ReleaseDnnlProviderOptions(OrtDnnlProviderOptions* /*input*/) noexcept {}
void ORT_API_CALL ReleaseROCMProviderOptions(OrtROCMProviderOptions* /*input*/) noexcept {}

OrtStatusPtr ORT_API_CALL GetExecutionProviderApi(const char* provider_name, uint32_t /*version*/,
                                                  const void** /*provider_api*/) noexcept {
  return Guard([&] {
    Fail(Code::kInvalidArgument, "execution provider '", &Need(provider_name, "provider_name"),
         "' has no functions of its own in this library");
  });
}

}  // namespace sardonyx::capi
