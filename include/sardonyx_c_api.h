// sardonyx_c_api.h - what ONNX Runtime's tables lack: checking, printing, explaining and describing models.
//
// One versioned table beside the one of onnxruntime_c_api.h; its handles (OrtEnv, OrtSession, OrtSessionOptions,
// OrtStatus, OrtAllocator) are the same. New functions are added at the end only.
//
// Conventions. NULL is success, otherwise release the status with OrtApi::ReleaseStatus. Texts are UTF-8, end in NUL,
// are allocated with the allocator given and freed with its Free. A model is named by path or by bytes: exactly one of
// `model_path` and `model_data` is not NULL, else ORT_INVALID_ARGUMENT. It is ONNX protobuf or, if it begins with '<',
// ONNX text syntax. Bytes whose weights are in external files need the config entry
// "session.model_external_initializers_file_folder_path". All functions may be called from any thread.
#ifndef SARDONYX_C_API_H
#define SARDONYX_C_API_H

#include "onnxruntime_c_api.h"

#define SARDONYX_API_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

typedef struct SardonyxApi SardonyxApi;

struct SardonyxApi {
  // The version of the library, e.g. "0.1.0". Static.
  const char*(ORT_API_CALL* GetVersionString)(void)NO_EXCEPTION;

  // The model in ONNX's text syntax, as onnx.parser reads it. Weights of more than `max_elements` elements are
  // shortened to their type, with a comment (such a text is for reading, not for parsing); 0 writes all. Errors: what
  // loading the model gives (ORT_NO_SUCHFILE, ORT_INVALID_PROTOBUF, ORT_INVALID_GRAPH ...).
  OrtStatusPtr(ORT_API_CALL* PrintModelText)(const ORTCHAR_T* model_path, const void* model_data,
                                             size_t model_data_length, size_t max_elements, OrtAllocator* allocator,
                                             char** text) NO_EXCEPTION;

  // The ONNX protobuf bytes of a model in ONNX's text syntax. `text` need not end in NUL.
  // Errors: ORT_INVALID_PROTOBUF with line and column.
  OrtStatusPtr(ORT_API_CALL* ParseModelText)(const char* text, size_t text_length, OrtAllocator* allocator,
                                             void** model_data, size_t* model_data_length) NO_EXCEPTION;

  // Whether the model is well formed, its types and shapes agree and this build can run it: loads it and builds a
  // session of it without running. `options` may be NULL. The status names file, node, operator and input of the first
  // defect.
  OrtStatusPtr(ORT_API_CALL* CheckModel)(const OrtEnv* env, const ORTCHAR_T* model_path, const void* model_data,
                                         size_t model_data_length, const OrtSessionOptions* options) NO_EXCEPTION;

  // A model card as a JSON object, without building a session (unknown operators are no error):
  // "ir_version", "opsets" {domain: version}, "producer_name", "producer_version", "domain", "model_version",
  // "description", "graph_name", "inputs" and "outputs" [{"name", "type": element type of a tensor, else the whole type
  // in ONNX's text syntax, "shape": [number, "symbol" or null], absent when the rank is unknown and for other types}],
  // "overridable_initializers" likewise, "parameter_count", "parameter_bytes", "external_data_bytes", "node_count"
  // (subgraphs included), "operators" {"domain.op_type" or "op_type": count}, "functions" [names], "metadata"
  // {key: value}, "peak_activation_bytes" (of the values alive at once, an estimate; null unless all shapes are known).
  OrtStatusPtr(ORT_API_CALL* ModelInfoJson)(const ORTCHAR_T* model_path, const void* model_data,
                                            size_t model_data_length, OrtAllocator* allocator,
                                            char** json) NO_EXCEPTION;

  // Loads and optimizes the model with `options` (NULL: all optimizations) and writes it to `output_path`.
  OrtStatusPtr(ORT_API_CALL* OptimizeModelToFile)(const OrtEnv* env, const ORTCHAR_T* model_path,
                                                  const void* model_data, size_t model_data_length,
                                                  const OrtSessionOptions* options,
                                                  const ORTCHAR_T* output_path) NO_EXCEPTION;

  // Why optimizer rules fired or did not: one line per rule and place, for the rules of the pass `rule_name` (NULL: of
  // all passes). Errors: ORT_INVALID_ARGUMENT for a name that is no pass, with the closest.
  OrtStatusPtr(ORT_API_CALL* ExplainRules)(const OrtEnv* env, const ORTCHAR_T* model_path, const void* model_data,
                                           size_t model_data_length, const OrtSessionOptions* options,
                                           const char* rule_name, OrtAllocator* allocator, char** text) NO_EXCEPTION;

  // The session's graph after optimization in ONNX's text syntax (weights shortened as PrintModelText does).
  OrtStatusPtr(ORT_API_CALL* SessionModelText)(const OrtSession* session, size_t max_elements, OrtAllocator* allocator,
                                               char** text) NO_EXCEPTION;

  // Which provider runs which node, as a JSON array in the order of execution: [{"node", "domain", "op_type",
  // "provider", "reason": why a provider before it in the list refused, absent when none did}].
  OrtStatusPtr(ORT_API_CALL* SessionPlacement)(const OrtSession* session, OrtAllocator* allocator,
                                               char** json) NO_EXCEPTION;

  // What the session's weights hold in memory as a JSON object of numbers of bytes: "weight_bytes" (copies),
  // "mapped_bytes" (views of the model's files or of other memory that is shared).
  OrtStatusPtr(ORT_API_CALL* SessionMemoryInfo)(const OrtSession* session, OrtAllocator* allocator,
                                                char** json) NO_EXCEPTION;

  // The contents of a map, or of element `index` of a sequence of maps, without a copy: `count` keys, ascending, and
  // the value of each. The pointers are valid, and what they point to is constant, while `value` lives; maps that share
  // their keys give the same `keys`. Keys or values that are strings have no address of their own: their pointer is not
  // for reading (OrtApi::GetValue copies them). Errors: ORT_INVALID_ARGUMENT for other values and places.
  OrtStatusPtr(ORT_API_CALL* MapContents)(const OrtValue* value, size_t index, ONNXTensorElementDataType* key_type,
                                          const void** keys, ONNXTensorElementDataType* value_type, const void** values,
                                          size_t* count) NO_EXCEPTION;
};

// The table of `version` (1 ... SARDONYX_API_VERSION), or NULL for a version that this library does not have. Static.
ORT_EXPORT const SardonyxApi* ORT_API_CALL SardonyxGetApi(uint32_t version) NO_EXCEPTION;

#ifdef __cplusplus
}
#endif

#endif  // SARDONYX_C_API_H
