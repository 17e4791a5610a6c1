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
  // "provider", "reason": why providers before it in the list did not take it or are missing, "" when none was asked
  // before; "bytes_copied": of a copy between devices, else 0; null where the size comes with the run}].
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

  // The plan of the session's last run as a JSON array: the model's graph, then each body of control flow that ran,
  // {"graph": "" or the body's name, "memories": [{"device", "arena_bytes"}], "steps" in their order [{"node",
  // "domain", "op_type", "provider", "inputs" and "outputs": names, "runs": false if there was nothing to do, "late":
  // shapes come with the run}], "buffers": pieces of the arenas [{"values": that lie there in turn, "memory", "offset",
  // "bytes", "first_step", "last_step": the number of steps if a run delivers it}], "values" [{"name", "place": arena,
  // output, input, constant, late or none, "type", "shape", "bytes"}]}. Empty before the first run.
  OrtStatusPtr(ORT_API_CALL* SessionPlan)(const OrtSession* session, OrtAllocator* allocator, char** json) NO_EXCEPTION;

  // Runs the session and looks at every value that its nodes make: a JSON object {"values" in their order [{"value",
  // "node", "op_type", "graph": the body that it is in, or "", "type", "shape", "turns": how often it was made,
  // "count": elements in all, and for numbers on the host "nan_count", "infinity_count" and "min", "max", "mean", "std"
  // of the finite elements, null without any}], "first_nan", "first_infinity": the node that made the first one from
  // inputs without {"node", "op_type", "value", "graph", "turn"}, or null}. Values that optimization took away are
  // there at level 0 (SetSessionGraphOptimizationLevel) only. `run_options` may be NULL.
  OrtStatusPtr(ORT_API_CALL* RunCheckValues)(OrtSession* session, const OrtRunOptions* run_options,
                                             const char* const* input_names, const OrtValue* const* inputs,
                                             size_t input_len, OrtAllocator* allocator, char** json) NO_EXCEPTION;

  // OrtApi::SessionOptionsAppendExecutionProvider, but whether there is such a provider is asked when a session is
  // created: it is the error then (ORT_INVALID_ARGUMENT), or one warning if CPUExecutionProvider is in the list, too,
  // and session.disable_cpu_ep_fallback is not set. `missing` not NULL: the caller knows that the provider cannot be
  // had and why, and has told the user; where the CPU may stand in for it there is no warning any more.
  OrtStatusPtr(ORT_API_CALL* AppendProvider)(OrtSessionOptions* options, const char* provider_name,
                                             const char* const* provider_options_keys,
                                             const char* const* provider_options_values, size_t num_keys,
                                             const char* missing) NO_EXCEPTION;

  // The session's providers in their order as a JSON object: {"providers": names, "missing" [{"provider", "reason"}]:
  // those that were asked for and are not there}.
  OrtStatusPtr(ORT_API_CALL* SessionProviders)(const OrtSession* session, OrtAllocator* allocator,
                                               char** json) NO_EXCEPTION;

  // Gives back what the session keeps for later runs: plans of shapes, and memory of runs that are over. The next run
  // of each shape is slower. Runs that are under way go on.
  OrtStatusPtr(ORT_API_CALL* SessionTrim)(OrtSession* session) NO_EXCEPTION;

  // The input `name` is this tensor in every session made of the options, and no input of theirs any more: what depends
  // on it alone is computed once. The contents are copied. Creating a session fails with ORT_INVALID_ARGUMENT if the
  // model has no such input or one of another type or shape.
  OrtStatusPtr(ORT_API_CALL* FixInput)(OrtSessionOptions* options, const char* name,
                                       const OrtValue* value) NO_EXCEPTION;

  // What SessionPlan gives, as lines for people and for comparisons: of the model's graph, then of each body that ran,
  // the key (input types, and the contents on which shapes depend), the steps in their order (stages, where branches
  // run at once), each value's type and place, buffers, and how outputs are delivered. Empty before the first run.
  OrtStatusPtr(ORT_API_CALL* SessionPlanText)(const OrtSession* session, OrtAllocator* allocator,
                                              char** text) NO_EXCEPTION;
};

// The table of `version` (1 ... SARDONYX_API_VERSION), or NULL for a version that this library does not have. Static.
ORT_EXPORT const SardonyxApi* ORT_API_CALL SardonyxGetApi(uint32_t version) NO_EXCEPTION;

#ifdef __cplusplus
}
#endif

#endif  // SARDONYX_C_API_H
