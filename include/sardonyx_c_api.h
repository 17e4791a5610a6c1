// sardonyx_c_api.h - what ONNX Runtime's interface lacks: functions that check, print, explain and describe models.
//
// This is a second table of functions, beside OrtApi in onnxruntime_c_api.h. It uses the same handles (OrtEnv,
// OrtSession, OrtSessionOptions, OrtStatus, OrtAllocator). New functions are added at the end only.
//
//   const SardonyxApi* sardonyx = SardonyxGetApi(SARDONYX_API_VERSION);
//   char* text = NULL;
//   OrtStatusPtr status = sardonyx->PrintModelText("model.onnx", NULL, 0, 64, allocator, &text);
//
// Unless a comment says otherwise:
// - A function returns NULL if it succeeds. Otherwise the status holds a code and a message, and the caller releases it
//   with OrtApi::ReleaseStatus. A NULL for an argument that is needed is ORT_INVALID_ARGUMENT.
// - Texts are UTF-8 and end in NUL. A result (`text`, `json`, `model_data`) is allocated with `allocator`, and the
//   caller frees it with that allocator's Free.
// - A model is given either as a file (`model_path`) or as bytes (`model_data`, `model_data_length`). The other pointer
//   is NULL; both or neither is ORT_INVALID_ARGUMENT. The model is in ONNX's protobuf format, in ONNX
//   Runtime's format, or compiled (.sdx), which its first bytes tell; or in ONNX's text syntax if its first byte is
//   '<'.
// - Weights in external files are looked for beside the model's file. A model that is given as bytes has no folder: set
//   the config entry "session.model_external_initializers_file_folder_path" in the session options.
// - Any thread may call any function. Threads may share an OrtEnv and an OrtSession; every other object belongs to one
//   thread at a time.
#ifndef SARDONYX_C_API_H
#define SARDONYX_C_API_H

#include "onnxruntime_c_api.h"

#define SARDONYX_API_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

typedef struct SardonyxApi SardonyxApi;
typedef struct SardonyxModel SardonyxModel;  // a model in memory, for tools that change models

struct SardonyxApi {
  // Returns the version of the library, such as "0.1.0". The text is static.
  const char*(ORT_API_CALL* GetVersionString)(void)NO_EXCEPTION;

  // Prints the model in ONNX's text syntax, which ParseModelText and Python's onnx.parser read. A weight with more than
  // `max_elements` elements is printed as its type and a comment; such a text is for reading only and does not parse.
  // 0 prints all elements.
  // Errors: ORT_NO_SUCHFILE, ORT_INVALID_PROTOBUF or ORT_INVALID_GRAPH if the model does not load.
  OrtStatusPtr(ORT_API_CALL* PrintModelText)(const ORTCHAR_T* model_path, const void* model_data,
                                             size_t model_data_length, size_t max_elements, OrtAllocator* allocator,
                                             char** text) NO_EXCEPTION;

  // Converts a model from ONNX's text syntax to ONNX's protobuf format. `text` has `text_length` bytes and need not end
  // in NUL; `model_data` receives `model_data_length` bytes.
  // Errors: ORT_INVALID_PROTOBUF with the line and column of the mistake.
  OrtStatusPtr(ORT_API_CALL* ParseModelText)(const char* text, size_t text_length, OrtAllocator* allocator,
                                             void** model_data, size_t* model_data_length) NO_EXCEPTION;

  // Checks that the model is well formed, that its types and shapes agree, and that this build can run it. It creates a
  // session, as OrtApi::CreateSession does, but does not run it. `options` may be NULL.
  // Errors: the first defect, with file, node, operator and input as far as they are known.
  OrtStatusPtr(ORT_API_CALL* CheckModel)(const OrtEnv* env, const ORTCHAR_T* model_path, const void* model_data,
                                         size_t model_data_length, const OrtSessionOptions* options) NO_EXCEPTION;

  // Describes the model as a JSON object. No session is created, so the model may use operators that this build lacks.
  // clang-format off
  //   "ir_version", "model_version"          numbers
  //   "opsets"                               {domain: version}; "" is the domain of ONNX itself
  //   "producer_name", "producer_version", "domain", "description", "graph_name"    texts
  //   "inputs", "outputs"                    lists of {"name", "type", "shape"}
  //   "overridable_initializers"             the same for the inputs that have a default value
  //   "parameter_count"                      elements of all weights
  //   "parameter_bytes"                      bytes of all weights
  //   "external_data_bytes"                  how many of these bytes lie in other files
  //   "node_count"                           nodes of the graph and of all its subgraphs
  //   "operators"                            {"op_type" or "domain.op_type": number of nodes}
  //   "functions"                            names of the functions that the model defines
  //   "metadata"                             {key: value}
  //   "peak_activation_bytes"                an estimate: the most bytes that values other than weights take at once;
  //                                          null if not all shapes are known
  // clang-format on
  // "type" is the element type of a tensor ("float") or, for other values, the whole type in ONNX's text syntax.
  // "shape" lists a tensor's dimensions: a number, the name of a symbol, or null. It is missing if the rank is unknown.
  OrtStatusPtr(ORT_API_CALL* ModelInfoJson)(const ORTCHAR_T* model_path, const void* model_data,
                                            size_t model_data_length, OrtAllocator* allocator,
                                            char** json) NO_EXCEPTION;

  // Optimizes the model as a session with `options` does (NULL: the default options, with all optimizations), and
  // writes the result to the file `output_path`: as an ONNX model, in ONNX Runtime's format (.ort) or as a compiled
  // model (.sdx), as the end of the path or the config entry session.save_model_format (ONNX, ORT, SDX) says.
  OrtStatusPtr(ORT_API_CALL* OptimizeModelToFile)(const OrtEnv* env, const ORTCHAR_T* model_path,
                                                  const void* model_data, size_t model_data_length,
                                                  const OrtSessionOptions* options,
                                                  const ORTCHAR_T* output_path) NO_EXCEPTION;

  // Optimizes the model and reports what the optimizer's passes changed, and why they left nodes alone that nearly
  // matched. `rule_name` is the name of one pass, whose report has a line for every place; NULL reports on all passes,
  // and then a line sums up similar places. `options` may be NULL.
  // Errors: ORT_INVALID_ARGUMENT if no pass has this name; the message suggests the closest name.
  OrtStatusPtr(ORT_API_CALL* ExplainRules)(const OrtEnv* env, const ORTCHAR_T* model_path, const void* model_data,
                                           size_t model_data_length, const OrtSessionOptions* options,
                                           const char* rule_name, OrtAllocator* allocator, char** text) NO_EXCEPTION;

  // Prints the graph that the session runs, after all optimizations, in ONNX's text syntax. `max_elements` shortens
  // weights as in PrintModelText.
  OrtStatusPtr(ORT_API_CALL* SessionModelText)(const OrtSession* session, size_t max_elements, OrtAllocator* allocator,
                                               char** text) NO_EXCEPTION;

  // Reports which execution provider runs which node: a JSON array with one object for each node, in the order of
  // execution.
  // clang-format off
  //   "node", "domain", "op_type"    the node's name and its operator; "" is the domain of ONNX itself
  //   "value"                        the node's first output that has a name
  //   "provider"                     such as "CPUExecutionProvider"
  //   "reason"                       why providers with a higher priority do not run the node; "" if there are none
  //   "bytes_copied"                 for a copy between devices: its bytes in the last run; null before the first run
  //                                  if the size is not fixed; 0 for all other nodes
  // clang-format on
  OrtStatusPtr(ORT_API_CALL* SessionPlacement)(const OrtSession* session, OrtAllocator* allocator,
                                               char** json) NO_EXCEPTION;

  // Reports how many bytes the session's weights take, as a JSON object: "weight_bytes" for copies that the session
  // owns, "mapped_bytes" for views of the model's files or of other shared memory.
  OrtStatusPtr(ORT_API_CALL* SessionMemoryInfo)(const OrtSession* session, OrtAllocator* allocator,
                                                char** json) NO_EXCEPTION;

  // Gives access to the contents of a map without copying them: `count` keys in ascending order, and the value of each.
  // `value` is a map, and `index` is ignored; or it is a sequence of maps, and `index` selects one. The arrays must not
  // be written to and are valid while `value` lives. Maps that share their keys give the same pointer for `keys`.
  // If keys or values are strings, do not read their array: use OrtApi::GetValue, which copies.
  // Errors: ORT_INVALID_ARGUMENT if there is no map at this place.
  OrtStatusPtr(ORT_API_CALL* MapContents)(const OrtValue* value, size_t index, ONNXTensorElementDataType* key_type,
                                          const void** keys, ONNXTensorElementDataType* value_type, const void** values,
                                          size_t* count) NO_EXCEPTION;

  // Describes the plan of the session's last run: which steps run, and where their values lie. The result is a JSON
  // array, empty before the first run. Its first object is the plan of the model's graph; one more follows for each
  // body of an If, Loop or Scan that ran.
  // clang-format off
  //   "graph"       "" for the model's graph, else the name of the body
  //   "memories"    [{"device": "host" or "device", "arena_bytes"}]
  //   "steps"       in the order of execution: [{"node", "domain", "op_type", "provider", "inputs", "outputs",
  //                 "runs": false if the step has nothing to do,
  //                 "late": true if its shapes become known only during the run}]
  //   "buffers"     pieces of the arenas: [{"values": names of the values that use the piece one after the other,
  //                 "memory": index in "memories", "offset" and "bytes" in the arena,
  //                 "first_step", "last_step": when it is in use; the number of steps means "until the run returns"}]
  //   "values"      [{"name", "place": "arena", "output", "input", "constant", "late" or "none",
  //                 and if they are known "type", "shape", "bytes"}]
  // clang-format on
  OrtStatusPtr(ORT_API_CALL* SessionPlan)(const OrtSession* session, OrtAllocator* allocator, char** json) NO_EXCEPTION;

  // Runs the session once and examines every value that its nodes compute. The result is a JSON object.
  // clang-format off
  //   "values"            in the order in which they are first computed, a list of
  //     "value", "node", "op_type"       the value and the node that computes it
  //     "graph"                          the body of control flow that contains the node, or ""
  //     "type", "shape"                  of the value when it was last computed
  //     "turns"                          how often it was computed
  //     "count"                          elements, all turns together
  //     "nan_count", "infinity_count"    only for numbers in host memory, as the next line
  //     "min", "max", "mean", "std"      of the finite elements; null if there are none
  //   "first_nan", "first_infinity"       null, or the first node that computes a NaN (an infinity) although its inputs
  //                                       have none:
  //     "node", "op_type", "value", "graph"
  //     "turn"                           which turn of "graph" this was, counted from 0
  //     "turns"                          the same for every enclosing body: [{"graph", "turn"}], outermost first
  //     "inputs"                         the node's inputs in that turn, each like an element of the outer "values"
  // clang-format on
  // Values that the optimizer removes are not reported; to see them, create the session with ORT_DISABLE_ALL
  // (OrtApi::SetSessionGraphOptimizationLevel). `run_options` may be NULL.
  // Errors: those of OrtApi::Run. The message then also names the node that made the first NaN or infinity.
  OrtStatusPtr(ORT_API_CALL* RunCheckValues)(OrtSession* session, const OrtRunOptions* run_options,
                                             const char* const* input_names, const OrtValue* const* inputs,
                                             size_t input_len, OrtAllocator* allocator, char** json) NO_EXCEPTION;

  // Adds an execution provider, as OrtApi::SessionOptionsAppendExecutionProvider does, but reports a provider that this
  // library lacks only when a session is created. That fails with ORT_INVALID_ARGUMENT, unless CPUExecutionProvider is
  // also in the list and the config entry session.disable_cpu_ep_fallback is not "1"; then the CPU stands in and one
  // warning is logged. With `missing`, a caller who already knows why the provider is not available passes on the
  // reason, and no warning is logged; otherwise it is NULL.
  OrtStatusPtr(ORT_API_CALL* AppendProvider)(OrtSessionOptions* options, const char* provider_name,
                                             const char* const* provider_options_keys,
                                             const char* const* provider_options_values, size_t num_keys,
                                             const char* missing) NO_EXCEPTION;

  // Lists the session's execution providers in their order, as a JSON object: {"providers": [names],
  // "missing": [{"provider", "reason"}]}. Missing providers were asked for, but are not available.
  OrtStatusPtr(ORT_API_CALL* SessionProviders)(const OrtSession* session, OrtAllocator* allocator,
                                               char** json) NO_EXCEPTION;

  // Frees what the session keeps to make later runs fast: the plans of input shapes, and memory of finished runs. The
  // next run with each shape is slower. Runs in progress are not disturbed.
  OrtStatusPtr(ORT_API_CALL* SessionTrim)(OrtSession* session) NO_EXCEPTION;

  // Makes the input `name` a constant with the contents of the tensor `value` in every session that is created from
  // `options`. These sessions no longer have the input, and compute what depends only on it once. The contents are
  // copied.
  // Errors: ORT_INVALID_ARGUMENT if the input is fixed already. Creating a session fails with ORT_INVALID_ARGUMENT if
  // the model has no such input, or if it has another type or shape.
  OrtStatusPtr(ORT_API_CALL* FixInput)(OrtSessionOptions* options, const char* name,
                                       const OrtValue* value) NO_EXCEPTION;

  // Prints what SessionPlan describes as lines, for people and for comparisons. For the model's graph and for each body
  // that ran it prints: the key of the plan (the types of the inputs, and the contents of those on which shapes
  // depend), the steps, the type and place of each value, the buffers, the arenas, and how outputs are delivered.
  // Branches that run at the same time are grouped in stages. The text is empty before the first run.
  OrtStatusPtr(ORT_API_CALL* SessionPlanText)(const OrtSession* session, OrtAllocator* allocator,
                                              char** text) NO_EXCEPTION;

  // Describes a LoRA adapter (OrtApi::CreateLoraAdapter): the versions of its format, of itself and of the model it is
  // for, and how many parameters it has.
  OrtStatusPtr(ORT_API_CALL* LoraAdapterInfo)(const OrtLoraAdapter* adapter, int* format_version, int* adapter_version,
                                              int* model_version, size_t* parameter_count) NO_EXCEPTION;

  // Gives the name and the tensor of a parameter. The name lives as long as the adapter. The caller releases the value
  // with OrtApi::ReleaseValue; it shares the adapter's memory, keeps it alive, and must not be written to.
  OrtStatusPtr(ORT_API_CALL* LoraAdapterParameter)(const OrtLoraAdapter* adapter, size_t index, const char** name,
                                                   OrtValue** value) NO_EXCEPTION;

  // Writes an adapter of these parameters, in ONNX Runtime's format, to the file `path`.
  // Errors: ORT_INVALID_ARGUMENT for a value that is not a tensor; ORT_NOT_IMPLEMENTED for a tensor of strings;
  // ORT_FAIL if the file cannot be written.
  OrtStatusPtr(ORT_API_CALL* WriteLoraAdapter)(const char* path, int adapter_version, int model_version,
                                               const char* const* names, const OrtValue* const* values,
                                               size_t count) NO_EXCEPTION;

  // Describes every version of every operator of ONNX and ONNX Runtime, and of Sardonyx itself, as a JSON array. Each
  // has:
  //   "domain", "name", "since"      the domain is "" for ai.onnx
  //   "deprecated"                   whether the operator is gone since that version
  //   "min_inputs", "max_inputs", "min_outputs", "max_outputs"    2147483647: any number
  //   "inputs", "outputs"            arrays of {"name", "type", "types", "option" (0 single, 1 optional, 2 variadic),
  //                                  "homogeneous"}
  //   "attributes"                   an array of {"name", "type" (a number of AttributeProto.AttributeType),
  //   "required"} "constraints"                  {name of a type, such as "T": [the types that it may be]} "kernel"
  //   null if the CPU provider does not run it, else {"until", "types"}: the last version
  //                                  of the same kernel, and what constraints are narrower for it
  // Free `json` with `allocator`.
  OrtStatusPtr(ORT_API_CALL* OperatorsJson)(OrtAllocator* allocator, char** json) NO_EXCEPTION;

  // Loads a model to be read and changed: quantizers and converters are written with it. The weights of a file stay
  // mapped and are not copied. `options` may be NULL; only its config entries on external data matter. The caller
  // releases `model` with ReleaseModel.
  OrtStatusPtr(ORT_API_CALL* LoadModel)(const ORTCHAR_T* model_path, const void* model_data, size_t model_data_length,
                                        const OrtSessionOptions* options, SardonyxModel** model) NO_EXCEPTION;

  void(ORT_API_CALL* ReleaseModel)(SardonyxModel* input) NO_EXCEPTION;

  // Describes the model as it is now, as a JSON object.
  // clang-format off
  //   "ir_version", "model_version", "producer_name", "producer_version", "domain", "doc"
  //   "opsets"        {domain: version}; "" is the domain of ONNX itself
  //   "metadata"      {key: value}
  //   "functions"     [{"domain", "name"}]
  //   "graphs"        the model's graph, then the bodies of nodes; null where an edit removed one. A graph has
  //     "name", and a body: "parent", "node", "attribute" (the number of its graph, the node in it and the attribute)
  //     "inputs", "outputs"    names of values
  //     "nodes"       in topological order as of the last save: {"id", "name", "domain", "op_type", "overload" (if it
  //                   is not empty), "inputs", "outputs" (names; "" is an omitted one), "attributes"}
  //     "initializers"    [{"name", "type", "shape", "bytes", "constant" (false: the default of an input), "file" (of
  //                   external data)}]
  //     "values"      {name: {"type", "shape"}} of inputs and of what nodes make, as far as types are known
  // clang-format on
  // "type" and "shape" are those of ModelInfoJson. An attribute is {"type", "value"}, where "type" is "float", "int",
  // "string", "floats", "ints" or "strings", a float may be the text "nan", "inf" or "-inf"; of other types there is no
  // "value", and an attribute of a function that takes the place of one is {"type", "reference"}.
  OrtStatusPtr(ORT_API_CALL* ModelJson)(const SardonyxModel* model, OrtAllocator* allocator, char** json) NO_EXCEPTION;

  // Gives the tensor of an initializer, or with `node` >= 0 of that node's attribute. The caller releases `value`,
  // which shares the model's memory and must not be written to. Errors: ORT_INVALID_ARGUMENT if there is no tensor of
  // this name.
  OrtStatusPtr(ORT_API_CALL* ModelTensor)(const SardonyxModel* model, size_t graph, int64_t node, const char* name,
                                          OrtValue** value) NO_EXCEPTION;

  // Changes the model. `edits` is a JSON array of objects, applied in turn; "graph" is the number of a graph (0 if it
  // is missing), "node" the id of a node in it, and "tensor" an index of `tensors`, whose contents are copied.
  // clang-format off
  //   {"edit": "add_node", "op_type", "inputs", "outputs", "name", "domain", "attributes", "like"}    "like" is the id
  //                             of a node whose attributes, with bodies, are copied first. An attribute is as in
  //                             ModelJson, or {"type": "tensor", "value": index of `tensors`}
  //   {"edit": "remove_node", "node"}                               others may make its outputs then
  //   {"edit": "set_input" or "set_output", "node", "index", "value": name}
  //   {"edit": "set_attribute", "node", "name", "attribute"}        without "attribute" it is removed
  //   {"edit": "set_operator", "node", "op_type", "domain", "name"} each only if it is there
  //   {"edit": "replace_uses", "from", "to"}                        in nodes and their bodies; outputs stay
  //   {"edit": "rename_value", "value", "name"}
  //   {"edit": "set_initializer", "name", "tensor", "as_numbers"}   without "tensor" it is removed; true: not raw_data
  //   {"edit": "set_type", "value", "type", "shape"}                without "type" it becomes unknown
  //   {"edit": "add_output" or "remove_output", "value"}
  //   {"edit": "add_input", "value", "type", "shape"}, {"edit": "remove_input", "value"}
  //   {"edit": "set_opset", "domain", "version"}, {"edit": "set_metadata", "key", "value"}
  //   {"edit": "set_producer", "name", "version"}
  //   {"edit": "infer_types"}                                       fills in what types follow from those of the inputs
  //   {"edit": "optimize", "level", "for", "disabled", ...}         runs the optimizer's passes: docs/optimizer.md
  // clang-format on
  // Nodes may be added in any order and may read what is made later: the graph is sorted and checked when it is saved
  // or run. `results` is a JSON array with the new node's id for "add_node" and null for the others.
  // Errors: ORT_INVALID_ARGUMENT, ORT_INVALID_GRAPH with the number of the edit; those before it stay.
  OrtStatusPtr(ORT_API_CALL* EditModel)(SardonyxModel* model, const char* edits, const OrtValue* const* tensors,
                                        size_t tensor_count, OrtAllocator* allocator, char** results) NO_EXCEPTION;

  // Writes the model in ONNX's protobuf format. With `external_data_file` (NULL: none), the name of a file beside
  // `path`, weights of at least `external_data_min_bytes` go there. Nothing is left half written.
  // Errors: ORT_INVALID_GRAPH if the model contradicts itself; ORT_INVALID_ARGUMENT if it needs more than 2 GB without
  // external data; ORT_FAIL if a file cannot be written.
  OrtStatusPtr(ORT_API_CALL* SaveModel)(SardonyxModel* model, const ORTCHAR_T* path, const char* external_data_file,
                                        size_t external_data_min_bytes) NO_EXCEPTION;

  // The same to memory, all weights inside.
  OrtStatusPtr(ORT_API_CALL* SaveModelToArray)(SardonyxModel* model, OrtAllocator* allocator, void** model_data,
                                               size_t* model_data_length) NO_EXCEPTION;

  // Creates a session from the model as it is now. Later edits do not change the session.
  OrtStatusPtr(ORT_API_CALL* CreateSessionFromLoadedModel)(const OrtEnv* env, SardonyxModel* model,
                                                           const OrtSessionOptions* options,
                                                           OrtSession** out) NO_EXCEPTION;
};

// Returns the table of `version` (1 to SARDONYX_API_VERSION), or NULL if this library does not have that version. The
// table is static.
ORT_EXPORT const SardonyxApi* ORT_API_CALL SardonyxGetApi(uint32_t version) NO_EXCEPTION;

#ifdef __cplusplus
}
#endif

#endif  // SARDONYX_C_API_H
