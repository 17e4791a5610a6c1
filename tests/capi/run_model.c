/* tests/capi/run_model.c - runs a model through the C interface of a library given by path, and prints the results.
 *
 * usage: capi_run_model LIBRARY MODEL SIZE   (unknown dimensions are SIZE)
 * Inputs are filled with a fixed sequence of numbers, so that two libraries print the same lines; float results are
 * printed with five digits. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "onnxruntime_c_api.h"

enum { kMaxPorts = 64, kMaxRank = 16 };

static const OrtApi* ort;

static void Must(OrtStatusPtr status) {
  if (status == NULL) return;
  printf("error %d\n", (int)ort->GetErrorCode(status));
  fprintf(stderr, "%s\n", ort->GetErrorMessage(status));
  ort->ReleaseStatus(status);
  exit(2);
}

static const char* TypeName(ONNXTensorElementDataType type) {
  static const char* const kNames[] = {"undefined", "float",  "uint8",     "int8",      "uint16",  "int16",
                                       "int32",     "int64",  "string",    "bool",      "float16", "double",
                                       "uint32",    "uint64", "complex64", "complex128"};
  return (size_t)type < sizeof(kNames) / sizeof(kNames[0]) ? kNames[type] : "other";
}

static void Fill(OrtValue* value, ONNXTensorElementDataType type, size_t count) {
  void* data = NULL;
  Must(ort->GetTensorMutableData(value, &data));
  unsigned state = 12345;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1103515245u + 12345u;
    const int number = (int)(state >> 16) % 200;
    switch (type) {
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
        ((float*)data)[i] = (float)(number - 100) / 64.0f;
        break;
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
        ((double*)data)[i] = (number - 100) / 64.0;
        break;
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
        ((int64_t*)data)[i] = number % 8;
        break;
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
        ((int32_t*)data)[i] = number % 8;
        break;
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
        ((unsigned char*)data)[i] = (unsigned char)(number & 1);
        break;
      default:
        fprintf(stderr, "no way to fill inputs of type %d\n", (int)type);
        exit(3);
    }
  }
}

static void PrintElement(const void* data, ONNXTensorElementDataType type, size_t i) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
      printf(" %.5g", (double)((const float*)data)[i]);
      break;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
      printf(" %.5g", ((const double*)data)[i]);
      break;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
      printf(" %lld", (long long)((const int64_t*)data)[i]);
      break;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
      printf(" %d", ((const int32_t*)data)[i]);
      break;
    default:
      printf(" %d", ((const unsigned char*)data)[i]);
      break;
  }
}

static void Print(const char* name, const OrtValue* value) {
  OrtTensorTypeAndShapeInfo* info = NULL;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  size_t rank = 0, count = 0;
  int64_t dims[kMaxRank];
  const void* data = NULL;
  Must(ort->GetTensorTypeAndShape(value, &info));
  Must(ort->GetTensorElementType(info, &type));
  Must(ort->GetDimensionsCount(info, &rank));
  Must(ort->GetDimensions(info, dims, kMaxRank));
  Must(ort->GetTensorShapeElementCount(info, &count));
  Must(ort->GetTensorData(value, &data));
  printf("%s %s [", name, TypeName(type));
  for (size_t i = 0; i < rank; ++i) printf("%s%lld", i ? ", " : "", (long long)dims[i]);
  printf("]");
  for (size_t i = 0; i < count && i < 64; ++i) PrintElement(data, type, i);
  printf("\n");
  ort->ReleaseTensorTypeAndShapeInfo(info);
}

static OrtValue* MakeInput(OrtSession* session, OrtAllocator* allocator, size_t index, int64_t size) {
  OrtTypeInfo* type_info = NULL;
  const OrtTensorTypeAndShapeInfo* info = NULL;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  size_t rank = 0, count = 1;
  int64_t dims[kMaxRank];
  OrtValue* value = NULL;
  Must(ort->SessionGetInputTypeInfo(session, index, &type_info));
  Must(ort->CastTypeInfoToTensorInfo(type_info, &info));
  Must(ort->GetTensorElementType(info, &type));
  Must(ort->GetDimensionsCount(info, &rank));
  Must(ort->GetDimensions(info, dims, kMaxRank));
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] < 0) dims[i] = size;
    count *= (size_t)dims[i];
  }
  ort->ReleaseTypeInfo(type_info);
  Must(ort->CreateTensorAsOrtValue(allocator, dims, rank, type, &value));
  Fill(value, type, count);
  return value;
}

int main(int argc, char** argv) {
  if (argc != 4) return 1;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const OrtApiBase* (*get_base)(void) = NULL;
  *(void**)&get_base = dlsym(library, "OrtGetApiBase");
  ort = get_base()->GetApi(ORT_API_VERSION);
  OrtEnv* env = NULL;
  OrtSession* session = NULL;
  OrtAllocator* allocator = NULL;
  Must(ort->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "run_model", &env));
  Must(ort->GetAllocatorWithDefaultOptions(&allocator));
  Must(ort->CreateSession(env, argv[2], NULL, &session));
  size_t inputs = 0, outputs = 0;
  char *in[kMaxPorts], *out[kMaxPorts];
  OrtValue *values[kMaxPorts], *results[kMaxPorts] = {NULL};
  Must(ort->SessionGetInputCount(session, &inputs));
  Must(ort->SessionGetOutputCount(session, &outputs));
  if (inputs > kMaxPorts || outputs > kMaxPorts) return 1;
  for (size_t i = 0; i < inputs; ++i) {
    Must(ort->SessionGetInputName(session, i, allocator, &in[i]));
    values[i] = MakeInput(session, allocator, i, atoll(argv[3]));
  }
  for (size_t i = 0; i < outputs; ++i) Must(ort->SessionGetOutputName(session, i, allocator, &out[i]));
  Must(ort->Run(session, NULL, (const char* const*)in, (const OrtValue* const*)values, inputs, (const char* const*)out,
                outputs, results));
  for (size_t i = 0; i < outputs; ++i) {
    Print(out[i], results[i]);
    ort->ReleaseValue(results[i]);
    allocator->Free(allocator, out[i]);
  }
  for (size_t i = 0; i < inputs; ++i) {
    ort->ReleaseValue(values[i]);
    allocator->Free(allocator, in[i]);
  }
  ort->ReleaseSession(session);
  ort->ReleaseEnv(env);
  return 0;
}
