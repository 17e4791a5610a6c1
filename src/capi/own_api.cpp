// capi/own_api.cpp - the table of sardonyx_c_api.h: checking, printing, explaining and describing models;
// the operators.
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "capi/api_table.h"
#include "capi/env.h"
#include "capi/handles/allocator.h"
#include "capi/handles/element_type.h"
#include "capi/handles/status.h"
#include "capi/handles/value.h"
#include "capi/model_info.h"
#include "capi/model_source.h"
#include "capi/options.h"
#include "capi/own_functions.h"
#include "capi/session.h"
#include "capi/session_reports.h"
#include "ir/text.h"
#include "model/save.h"
#include "ops/registry.h"
#include "ops/schema/schema.h"
#include "optimizer/pipeline.h"
#include "runtime/build.h"

namespace sardonyx::capi {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

TextOptions ToTextOptions(std::size_t max_elements) {
  constexpr auto kAll = std::numeric_limits<std::int64_t>::max();
  return {max_elements == 0 || max_elements > static_cast<std::size_t>(kAll) ? kAll
                                                                             : static_cast<std::int64_t>(max_elements)};
}

const char* ORT_API_CALL GetVersionString() noexcept { return SDX_VERSION; }

OrtStatusPtr ORT_API_CALL PrintModelText(const ORTCHAR_T* model_path, const void* model_data, size_t model_data_length,
                                         size_t max_elements, OrtAllocator* allocator, char** text) noexcept {
  return Guard([&] {
    Need(text, "text");
    const auto model = LoadModel({model_path, model_data, model_data_length}, {});
    *text = CopyText(allocator, ToText(*model, ToTextOptions(max_elements)));
  });
}

OrtStatusPtr ORT_API_CALL ParseModelText(const char* text, size_t text_length, OrtAllocator* allocator,
                                         void** model_data, size_t* model_data_length) noexcept {
  return Guard([&] {
    Need(model_data, "model_data");
    const Model model = ParseModel({NeedArray(text, text_length, "text"), text_length});
    const std::string bytes = model::SaveBytes(model);
    Need(model_data_length, "model_data_length") = bytes.size();
    *model_data = AllocateResult(allocator, bytes.size());
    std::memcpy(*model_data, bytes.data(), bytes.size());
  });
}

OrtStatusPtr ORT_API_CALL CheckModel(const OrtEnv* env, const ORTCHAR_T* model_path, const void* model_data,
                                     size_t model_data_length, const OrtSessionOptions* options) noexcept {
  return Guard([&] { BuildSession(env, {model_path, model_data, model_data_length}, CopyOptions(env, options)); });
}

OrtStatusPtr ORT_API_CALL ModelInfoJson(const ORTCHAR_T* model_path, const void* model_data, size_t model_data_length,
                                        OrtAllocator* allocator, char** json) noexcept {
  return Guard([&] {
    auto& result = Need(json, "json");
    result = CopyText(allocator, ModelCard(*LoadModel({model_path, model_data, model_data_length}, {})));
  });
}

OrtStatusPtr ORT_API_CALL OptimizeModelToFile(const OrtEnv* env, const ORTCHAR_T* model_path, const void* model_data,
                                              size_t model_data_length, const OrtSessionOptions* options,
                                              const ORTCHAR_T* output_path) noexcept {
  return Guard([&] {
    runtime::SessionOptions with_output = CopyOptions(env, options);
    with_output.optimized_model_path = &Need(output_path, "output_path");
    BuildSession(env, {model_path, model_data, model_data_length}, std::move(with_output));
  });
}

// What a pass (all of them without a name) did, and why it left nodes alone, as optimizer::Explanation writes it.
std::string Explain(const OrtEnv* env, const ModelSource& source, const OrtSessionOptions* options,
                    const char* pass_name) {
  runtime::SessionOptions explained = CopyOptions(env, options);
  const std::shared_ptr<const Model> model = LoadModel(source, explained);
  optimizer::Explanation explanation(pass_name != nullptr ? pass_name : "*");
  explained.explanation = &explanation;
  const Logger& logger = env->environment->logger();
  providers::ProviderSet set = runtime::MakeProviders(*env->environment, explained, logger);
  runtime::BuildGraph(*env->environment, *model, explained, set, logger);
  return explanation.ToText();
}

OrtStatusPtr ORT_API_CALL ExplainRules(const OrtEnv* env, const ORTCHAR_T* model_path, const void* model_data,
                                       size_t model_data_length, const OrtSessionOptions* options,
                                       const char* rule_name, OrtAllocator* allocator, char** text) noexcept {
  return Guard([&] {
    Need(text, "text");
    *text = CopyText(allocator, Explain(env, {model_path, model_data, model_data_length}, options, rule_name));
  });
}

OrtStatusPtr ORT_API_CALL SessionModelText(const OrtSession* session, size_t max_elements, OrtAllocator* allocator,
                                           char** text) noexcept {
  return Guard([&] {
    auto& result = Need(text, "text");
    result = CopyText(allocator, BuiltSession(session).ProgramText(ToTextOptions(max_elements).max_elements));
  });
}

OrtStatusPtr ORT_API_CALL SessionPlacement(const OrtSession* session, OrtAllocator* allocator, char** json) noexcept {
  return Guard([&] {
    auto& result = Need(json, "json");
    result = CopyText(allocator, PlacementJson(BuiltSession(session)));
  });
}

OrtStatusPtr ORT_API_CALL SessionProviders(const OrtSession* session, OrtAllocator* allocator, char** json) noexcept {
  return Guard([&] {
    auto& result = Need(json, "json");
    result = CopyText(allocator, ProvidersJson(BuiltSession(session)));
  });
}

OrtStatusPtr ORT_API_CALL SessionPlan(const OrtSession* session, OrtAllocator* allocator, char** json) noexcept {
  return Guard([&] {
    auto& result = Need(json, "json");
    result = CopyText(allocator, PlanJson(BuiltSession(session)));
  });
}

OrtStatusPtr ORT_API_CALL SessionPlanText(const OrtSession* session, OrtAllocator* allocator, char** text) noexcept {
  return Guard([&] {
    auto& result = Need(text, "text");
    result = CopyText(allocator, PlanLines(BuiltSession(session)));
  });
}

std::string MadeBefore(const char* what, const runtime::FirstMaker& maker) {
  if (!maker.found) return "";
  return std::string("; before that, node '") + maker.node + "' (" + maker.op_type + ") made the first " + what +
         " in '" + maker.value + "'";
}

// Names that the model does not know are left to the run.
runtime::Session& ForInputs(runtime::Session& session, const std::vector<std::pair<std::string, Value>>& inputs) {
  std::vector<std::size_t> indices;
  std::vector<const Value*> values;
  for (const auto& [name, value] : inputs) {
    const auto index = session.FindInput(name);
    if (!index) continue;
    indices.push_back(*index);
    values.push_back(&value);
  }
  return session.ForInputs(indices, values);
}

OrtStatusPtr ORT_API_CALL RunCheckValues(OrtSession* session, const OrtRunOptions* run_options,
                                         const char* const* input_names, const OrtValue* const* inputs,
                                         size_t input_len, OrtAllocator* allocator, char** json) noexcept {
  return Guard([&] {
    auto& result = Need(json, "json");
    NeedArray(input_names, input_len, "input_names");
    NeedArray(inputs, input_len, "inputs");
    std::vector<std::pair<std::string, Value>> values;
    for (std::size_t i = 0; i < input_len; ++i)
      values.emplace_back(&Need(input_names[i], "input_names[i]"),
                          inputs[i] != nullptr ? *AsValue(inputs[i]) : Value());
    runtime::Session& target = ForInputs(BuiltSession(session), values);
    std::vector<std::string> outputs;
    for (const runtime::Port& port : target.outputs()) outputs.push_back(port.name);
    runtime::ValueCheck check(target.program());
    try {
      target.Run(run_options != nullptr ? run_options->options : DefaultRunOptions(), values, outputs, &check);
    } catch (const Error& error) {  // what came before may be why
      throw Error(error.code(),
                  error.what() + MadeBefore("NaN", check.first_nan()) + MadeBefore("infinity", check.first_infinity()));
    }
    result = CopyText(allocator, ValuesJson(check));
  });
}

struct WeightBytes {
  std::uint64_t copied = 0, mapped = 0;
};

void AddWeights(const Graph& graph, WeightBytes& bytes) {
  for (const ValueInfo& value : graph.values) {
    if (value.initializer == nullptr || value.is_captured) continue;
    const Tensor& tensor = value.initializer->tensor;
    const bool shared = tensor.buffer() != nullptr && tensor.buffer()->read_only();
    (shared ? bytes.mapped : bytes.copied) += tensor.byte_size();
  }
  for (const NodeId id : graph.order) {
    for (const Graph* body : graph.node(id).Subgraphs()) AddWeights(*body, bytes);
  }
}

OrtStatusPtr ORT_API_CALL SessionMemoryInfo(const OrtSession* session, OrtAllocator* allocator, char** json) noexcept {
  return Guard([&] {
    auto& result = Need(json, "json");
    WeightBytes bytes;
    AddWeights(BuiltSession(session).model().graph, bytes);
    result = CopyText(allocator, Dump({{"weight_bytes", bytes.copied}, {"mapped_bytes", bytes.mapped}}));
  });
}

OrtStatusPtr ORT_API_CALL MapContents(const OrtValue* value, size_t index, ONNXTensorElementDataType* key_type,
                                      const void** keys, ONNXTensorElementDataType* value_type, const void** values,
                                      size_t* count) noexcept {
  return Guard([&] {
    const Value* v = AsValue(&Need(value, "value"));
    if (v->is_sequence()) {
      const std::vector<Value>& items = v->sequence().items;
      if (index >= items.size())
        Fail(Code::kInvalidArgument, "sequence: expected an index in [0, ", items.size(), "), found ", index);
      v = &items[index];
    }
    if (!v->is_map())
      Fail(Code::kInvalidArgument, "argument 'value': expected a map or a sequence of maps, found ", v->KindName());
    Need(key_type, "key_type") = ToElementType(v->map().keys.dtype());
    Need(keys, "keys") = v->map().keys.raw();
    Need(value_type, "value_type") = ToElementType(v->map().values.dtype());
    Need(values, "values") = v->map().values.raw();
    Need(count, "count") = static_cast<std::size_t>(v->map().keys.count());
  });
}

OrtStatusPtr ORT_API_CALL SessionTrim(OrtSession* session) noexcept {
  return Guard([&] { BuiltSession(session).Trim(); });
}

Json DescribeParams(std::span<const ops::FormalParam> params) {
  Json result = Json::array();
  for (const ops::FormalParam& param : params)
    result.push_back({{"name", param.name()},
                      {"type", param.type()},
                      {"types", param.types().Names()},
                      {"option", static_cast<int>(param.option)},
                      {"homogeneous", param.homogeneous}});
  return result;
}

// What the registry has for one version: null, or {"until", "types"}.
Json DescribeKernel(const ops::Registry& registry, const ops::OpSchema& schema) {
  const ops::OpDef* op =
      schema.deprecated() ? nullptr : registry.Find(schema.domain(), schema.name(), schema.since_version);
  if (op == nullptr) return nullptr;
  int until = ops::kNewestVersion;
  for (const ops::OpSchema& other : ops::SchemaVersions(schema.domain(), schema.name()))
    if (other.since_version > schema.since_version) until = std::min(until, other.since_version - 1);
  Json types = Json::object();
  const ops::FormalParam* param =
      schema.inputs().empty() ? schema.Output(0) : schema.Input(static_cast<std::size_t>(op->typed_input));
  if (!op->types.empty() && param != nullptr && param->constraint >= 0 && param->types().HasOnlyTensors()) {
    Json& narrower = types[std::string(param->type())] = Json::array();
    for (int i = 1; i < kDTypeCount; ++i) {
      const auto element = static_cast<DType>(i);
      if (op->types.Has(element) && param->types().Contains(element))
        narrower.push_back("tensor(" + std::string(Name(element)) + ")");
    }
  }
  return {{"until", until}, {"types", std::move(types)}};
}

OrtStatusPtr ORT_API_CALL OperatorsJson(OrtAllocator* allocator, char** json) noexcept {
  return Guard([&] {
    Need(json, "json");
    const ops::Registry registry;
    Json all = Json::array();
    for (const ops::OpSchema& schema : ops::AllSchemas()) {
      Json attributes = Json::array(), constraints = Json::object();
      for (const ops::AttributeSpec& attribute : schema.attributes())
        attributes.push_back({{"name", attribute.name()}, {"type", attribute.type}, {"required", attribute.required}});
      for (const ops::TypeConstraint& constraint : schema.type_constraints())
        constraints[std::string(constraint.name())] = constraint.types().Names();
      all.push_back({{"domain", schema.domain()},
                     {"name", schema.name()},
                     {"since", schema.since_version},
                     {"deprecated", schema.deprecated()},
                     {"min_inputs", schema.min_inputs},
                     {"max_inputs", schema.max_inputs},
                     {"min_outputs", schema.min_outputs},
                     {"max_outputs", schema.max_outputs},
                     {"inputs", DescribeParams(schema.inputs())},
                     {"outputs", DescribeParams(schema.outputs())},
                     {"attributes", std::move(attributes)},
                     {"constraints", std::move(constraints)},
                     {"kernel", DescribeKernel(registry, schema)}});
    }
    *json = CopyText(allocator, Dump(all));
  });
}

constexpr SardonyxApi kOwnApi = {
    .GetVersionString = GetVersionString,
    .PrintModelText = PrintModelText,
    .ParseModelText = ParseModelText,
    .CheckModel = CheckModel,
    .ModelInfoJson = ModelInfoJson,
    .OptimizeModelToFile = OptimizeModelToFile,
    .ExplainRules = ExplainRules,
    .SessionModelText = SessionModelText,
    .SessionPlacement = SessionPlacement,
    .SessionMemoryInfo = SessionMemoryInfo,
    .MapContents = MapContents,
    .SessionPlan = SessionPlan,
    .RunCheckValues = RunCheckValues,
    .AppendProvider = AppendProvider,
    .SessionProviders = SessionProviders,
    .SessionTrim = SessionTrim,
    .FixInput = FixInput,
    .SessionPlanText = SessionPlanText,
    .LoraAdapterInfo = LoraAdapterInfo,
    .LoraAdapterParameter = LoraAdapterParameter,
    .WriteLoraAdapter = WriteLoraAdapter,
    .OperatorsJson = OperatorsJson,
    .LoadModel = LoadModelToEdit,
    .ReleaseModel = ReleaseModelToEdit,
    .ModelJson = ModelJson,
    .ModelTensor = ModelTensor,
    .EditModel = EditModel,
    .SaveModel = SaveEditedModel,
    .SaveModelToArray = SaveEditedModelToArray,
    .CreateSessionFromLoadedModel = CreateSessionFromEditedModel,
};

}  // namespace

const SardonyxApi& OwnApi() { return kOwnApi; }

}  // namespace sardonyx::capi
