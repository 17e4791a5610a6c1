// capi/model_edit/edit.cpp - the changes that SardonyxApi::EditModel makes, one after the other.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/dtype.h"
#include "base/error.h"
#include "capi/model_edit/edited_model.h"
#include "ir/domain.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "planner/inline_functions.h"
#include "runtime/disabled_passes.h"

namespace sardonyx::capi {
namespace {

using Json = nlohmann::ordered_json;

// One change: an object with "edit" and what that edit needs.
class Edit {
 public:
  Edit(SardonyxModel& model, const Json& json, std::span<const Tensor> tensors)
      : model_(model), json_(json), tensors_(tensors) {}

  SardonyxModel& model() const { return model_; }
  bool Has(const char* key) const { return json_.contains(key) && !json_[key].is_null(); }

  template <typename T>
  T Get(const char* key) const {
    if (!Has(key)) Fail(Code::kInvalidArgument, "expected the key '", key, "', found none");
    return As<T>(json_[key], key);
  }
  template <typename T>
  T Get(const char* key, T otherwise) const {
    return Has(key) ? As<T>(json_[key], key) : std::move(otherwise);
  }
  const Json& json() const { return json_; }

  std::size_t graph_number() const {
    const auto number = Get<std::size_t>("graph", 0);
    if (number >= model_.graphs.size() || model_.graphs[number].graph == nullptr)
      Fail(Code::kInvalidArgument, "key 'graph': expected a number of a graph, found ", number);
    return number;
  }
  Graph& graph() const { return *model_.graphs[graph_number()].graph; }
  Node& node() const {
    const auto id = Get<std::size_t>("node");
    if (id >= graph().nodes.size() || graph().nodes[id].erased)
      Fail(Code::kInvalidArgument, "key 'node': expected the id of a node of the graph, found ", id);
    return graph().nodes[id];
  }
  // A value of the graph.
  ValueId Value(const char* key) const {
    const auto name = Get<std::string>(key);
    const std::optional<ValueId> found = graph().Find(name);
    if (!found) Fail(Code::kInvalidArgument, "key '", key, "': expected the name of a value, found '", name, "'");
    return *found;
  }
  // What a node reads: a value of the graph, of a graph around it, or of a node that is added later. "" is none.
  ValueId Read(const std::string& name) const {
    if (name.empty()) return kNoValue;
    Graph& here = graph();
    if (const std::optional<ValueId> found = here.Find(name)) return *found;
    for (std::size_t number = graph_number(); number != 0;) {
      number = model_.graphs[number].parent;
      if (model_.graphs[number].graph->Find(name)) return here.AddCaptured(name);
    }
    return here.AddValue(name);
  }
  // What a node makes.
  ValueId Made(const std::string& name) const {
    if (name.empty()) return kNoValue;
    Graph& here = graph();
    const std::optional<ValueId> found = here.Find(name);
    if (!found) return here.AddValue(name);
    const ValueInfo& value = here.value(*found);
    if (value.producer != kNoNode || value.is_input || value.initializer != nullptr || value.is_captured) {
      Fail(Code::kInvalidArgument, "expected an output that nothing makes yet, found '", name, "', ",
           value.producer != kNoNode ? "an output of " + Describe(here, here.node(value.producer))
                                     : std::string("an input, an initializer or a value of an enclosing graph"));
    }
    return *found;
  }
  const Tensor& TensorAt(const Json& index) const {
    const auto number = As<std::size_t>(index, "tensor");
    if (number >= tensors_.size())
      Fail(Code::kInvalidArgument, "key 'tensor': expected an index below ", tensors_.size(), ", found ", number);
    return tensors_[number];
  }

  template <typename T>
  static T As(const Json& json, const char* key) {
    try {
      return json.get<T>();
    } catch (const Json::exception& error) {
      Fail(Code::kInvalidArgument, "key '", key, "': ", error.what());
    }
  }

 private:
  SardonyxModel& model_;
  const Json& json_;
  std::span<const Tensor> tensors_;
};

float NumberOf(const Json& json) {
  if (!json.is_string()) return Edit::As<float>(json, "value");
  const std::string& word = json.get_ref<const std::string&>();
  if (word == "nan") return std::numeric_limits<float>::quiet_NaN();
  if (word == "inf") return std::numeric_limits<float>::infinity();
  if (word == "-inf") return -std::numeric_limits<float>::infinity();
  Fail(Code::kInvalidArgument, "key 'value': expected a number, 'nan', 'inf' or '-inf', found '", word, "'");
}

AttributeValue AttributeOf(const Edit& edit, const Json& json) {
  const auto type = Edit::As<std::string>(json.value("type", Json()), "type");
  const Json value = json.value("value", Json());
  if (type == "float") return NumberOf(value);
  if (type == "int") return Edit::As<std::int64_t>(value, "value");
  if (type == "string") return Edit::As<std::string>(value, "value");
  if (type == "tensor") return edit.TensorAt(value);
  if (type == "ints") return Edit::As<std::vector<std::int64_t>>(value, "value");
  if (type == "strings") return Edit::As<std::vector<std::string>>(value, "value");
  if (type == "floats") {
    std::vector<float> numbers;
    for (const Json& number : value) numbers.push_back(NumberOf(number));
    return numbers;
  }
  Fail(Code::kInvalidArgument, "key 'type': expected float, int, string, tensor, floats, ints or strings, found '",
       type, "'");
}

Json AddNode(const Edit& edit) {
  Node node;
  node.op_type = edit.Get<std::string>("op_type");
  node.domain = edit.Get<std::string>("domain", "");
  node.name = edit.Get<std::string>("name", "");
  // A copy's bodies, and attributes that JSON does not hold, come from the node it is like.
  if (edit.Has("like")) {
    const Json like = {{"graph", edit.Get<std::size_t>("graph", 0)}, {"node", edit.Get<std::size_t>("like")}};
    const Node& model = Edit(edit.model(), like, {}).node();
    node.attributes = model.attributes;
    node.metadata = model.metadata;
    node.doc = model.doc;
  }
  if (edit.Has("attributes"))
    for (const auto& [name, value] : edit.json()["attributes"].items())
      node.SetAttribute(name, AttributeOf(edit, value));
  for (const auto& name : edit.Get<std::vector<std::string>>("inputs")) node.inputs.push_back(edit.Read(name));
  for (const auto& name : edit.Get<std::vector<std::string>>("outputs")) node.outputs.push_back(edit.Made(name));
  const NodeId id = edit.graph().AddNode(std::move(node));
  edit.model().NumberBodies(edit.graph_number(), id);
  edit.model().RefreshCaptures(edit.graph_number());
  return id;
}

Json RemoveNode(const Edit& edit) {
  const NodeId id = edit.node().id;
  edit.model().DropBodies(edit.graph_number(), id);
  edit.graph().EraseNode(id);
  edit.model().RefreshCaptures(edit.graph_number());
  return nullptr;
}

Json SetInput(const Edit& edit) {
  const auto index = edit.Get<std::size_t>("index");
  const Node& node = edit.node();
  if (index > node.inputs.size())
    Fail(Code::kInvalidArgument, "key 'index': expected at most ", node.inputs.size(), ", found ", index);
  edit.graph().SetInput(node.id, index, edit.Read(edit.Get<std::string>("value")));
  edit.model().RefreshCaptures(edit.graph_number());
  return nullptr;
}

Json SetOutput(const Edit& edit) {
  const auto index = edit.Get<std::size_t>("index");
  const Node& node = edit.node();
  if (index >= node.outputs.size())
    Fail(Code::kInvalidArgument, "key 'index': expected less than ", node.outputs.size(), ", found ", index);
  const ValueId made = edit.Made(edit.Get<std::string>("value"));
  if (made == kNoValue) Fail(Code::kInvalidArgument, "key 'value': expected the name of a value, found ''");
  edit.graph().MoveOutput(node.id, index, made);
  return nullptr;
}

Json SetAttribute(const Edit& edit) {
  const auto name = edit.Get<std::string>("name");
  if (edit.Has("attribute")) {
    edit.node().SetAttribute(name, AttributeOf(edit, edit.json()["attribute"]));
  } else {
    edit.node().RemoveAttribute(name);
  }
  return nullptr;
}

Json SetOperator(const Edit& edit) {
  Node& node = edit.node();
  node.op_type = edit.Get<std::string>("op_type", node.op_type);
  node.domain = edit.Get<std::string>("domain", node.domain);
  node.name = edit.Get<std::string>("name", node.name);
  return nullptr;
}

Json ReplaceUses(const Edit& edit) {
  edit.graph().ReplaceUses(edit.Value("from"), edit.Read(edit.Get<std::string>("to")));
  return nullptr;
}

Json RenameValue(const Edit& edit) {
  edit.graph().Rename(edit.Value("value"), edit.Get<std::string>("name"));
  return nullptr;
}

Json SetInitializer(const Edit& edit) {
  Graph& graph = edit.graph();
  const auto name = edit.Get<std::string>("name");
  const std::optional<ValueId> known = graph.Find(name);
  if (!edit.Has("tensor")) {
    if (known) graph.SetInitializer(*known, nullptr);
    return nullptr;
  }
  if (edit.Get<bool>("as_numbers", false))
    edit.model().as_numbers.insert(name);
  else
    edit.model().as_numbers.erase(name);
  const ValueId id = known ? *known : graph.AddValue(name);
  auto initializer = std::make_shared<Initializer>();
  initializer->tensor = edit.TensorAt(edit.json()["tensor"]);
  if (graph.value(id).is_input) initializer->kind = Initializer::Kind::kInputDefault;
  graph.value(id).type = Type::TensorOf(initializer->tensor.dtype(), Dims(initializer->tensor.shape()));
  graph.SetInitializer(id, std::move(initializer));
  return nullptr;
}

Type TypeOf(const Edit& edit) {
  const auto name = edit.Get<std::string>("type");
  const DType dtype = DTypeFromName(name);
  if (dtype == DType::kUndefined)
    Fail(Code::kInvalidArgument, "key 'type': expected an element type such as 'float', found '", name, "'");
  if (!edit.Has("shape")) return Type::TensorOf(dtype);
  std::vector<Dim> dims;
  for (const Json& dim : edit.json()["shape"]) {
    dims.push_back(dim.is_null()     ? Dim()
                   : dim.is_string() ? Dim::Symbol(dim.get<std::string>())
                                     : Dim(Edit::As<std::int64_t>(dim, "shape")));
  }
  return Type::TensorOf(dtype, std::move(dims));
}

Json SetType(const Edit& edit) {
  edit.graph().value(edit.Value("value")).type = edit.Has("type") ? TypeOf(edit) : Type{};
  return nullptr;
}

Json AddOutput(const Edit& edit) {
  const ValueId id = edit.Value("value");
  if (edit.graph().value(id).is_output) Fail(Code::kInvalidArgument, "expected a value that is no output yet");
  edit.graph().AddOutput(id);
  return nullptr;
}

Json RemoveOutput(const Edit& edit) {
  const ValueId id = edit.Value("value");
  std::erase(edit.graph().outputs, id);
  edit.graph().value(id).is_output = false;
  return nullptr;
}

Json AddInput(const Edit& edit) {
  const ValueId id = edit.Made(edit.Get<std::string>("value"));
  if (id == kNoValue) Fail(Code::kInvalidArgument, "key 'value': expected the name of a value, found ''");
  edit.graph().value(id).type = TypeOf(edit);
  edit.graph().value(id).is_input = true;
  edit.graph().inputs.push_back(id);
  return nullptr;
}

// What has a default becomes a constant.
Json RemoveInput(const Edit& edit) {
  Graph& graph = edit.graph();
  const ValueId id = edit.Value("value");
  std::erase(graph.inputs, id);
  graph.value(id).is_input = false;
  if (const auto& initializer = graph.value(id).initializer) {
    auto constant = std::make_shared<Initializer>(*initializer);
    constant->kind = Initializer::Kind::kConstant;
    graph.SetInitializer(id, std::move(constant));
  }
  return nullptr;
}

void SetOpset(std::vector<OpsetImport>& opsets, std::string_view domain, std::int64_t version) {
  for (OpsetImport& opset : opsets) {
    if (StandardDomain(opset.domain) != StandardDomain(domain)) continue;
    opset.version = version;
    return;
  }
  opsets.push_back({std::string(domain), version});
}

Json SetOpset(const Edit& edit) {
  const auto domain = edit.Get<std::string>("domain", "");
  const auto version = edit.Get<std::int64_t>("version");
  if (version <= 0) Fail(Code::kInvalidArgument, "key 'version': expected a positive number, found ", version);
  SetOpset(edit.model().model.opset_imports, domain, version);
  for (const SardonyxModel::Place& place : edit.model().graphs)
    if (place.graph != nullptr) SetOpset(place.graph->opset_imports, domain, version);
  return nullptr;
}

Json SetMetadata(const Edit& edit) {
  const auto key = edit.Get<std::string>("key");
  auto& metadata = edit.model().model.metadata;
  std::erase_if(metadata, [&](const auto& entry) { return entry.first == key; });
  if (edit.Has("value")) metadata.emplace_back(key, edit.Get<std::string>("value"));
  return nullptr;
}

Json SetProducer(const Edit& edit) {
  edit.model().model.producer_name = edit.Get<std::string>("name");
  edit.model().model.producer_version = edit.Get<std::string>("version", "");
  return nullptr;
}

Json InferTypes(const Edit& edit) {
  edit.model().Finish();
  const ops::Registry registry;
  const auto known = edit.Get<bool>("standard_only", false) ? ops::UnknownOperators::kAllButStandard
                                                            : ops::UnknownOperators::kLeftAlone;
  ops::ResolveVersions(edit.model().model.graph, registry, edit.model().model, known);
  // Only calls need the copy of the graph that they are replaced in.
  Model& model = edit.model().model;
  if (model.functions.empty())
    ops::Infer(model.graph, registry, {.postpones = false});
  else
    planner::InferThroughCalls(model.graph, model, registry, {.postpones = false});
  return nullptr;
}

// What names an option, and the options' values by their names.
template <typename T>
T Chosen(const Edit& edit, const char* key, std::string_view otherwise,
         std::initializer_list<std::pair<std::string_view, T>> choices) {
  const auto name = edit.Get<std::string>(key, std::string(otherwise));
  std::string known;
  for (const auto& [each, value] : choices) {
    if (each == name) return value;
    known += (known.empty() ? "'" : ", '") + std::string(each) + "'";
  }
  Fail(Code::kInvalidArgument, "key '", key, "': expected one of ", known, ", found '", name, "'");
}

Json Optimize(const Edit& edit) {
  using optimizer::PaddingForm;
  optimizer::OptimizeOptions options;
  options.level = Chosen<optimizer::Level>(
      edit, "level", "basic", {{"disable", optimizer::Level::kDisable}, {"basic", optimizer::Level::kBasic}});
  const auto target = edit.Get<std::string>("for", "");
  if (!target.empty() && target != "onnxruntime")
    Fail(Code::kInvalidArgument, "key 'for': expected 'onnxruntime', found '", target, "'");
  if (edit.Has("disabled"))
    for (const Json& name : edit.json()["disabled"]) options.disabled_passes.push_back(name.get<std::string>());
  if (edit.Has("disabled_optimizers")) {  // ONNX Runtime's names
    runtime::SessionOptions named;
    named.config["optimization.disable_specified_optimizers"] = edit.Get<std::string>("disabled_optimizers");
    runtime::DisablePasses(named);
    options.disabled_passes.insert(options.disabled_passes.end(), named.disabled_passes.begin(),
                                   named.disabled_passes.end());
  }
  if (edit.Has("passes")) {
    const auto& wanted = edit.json()["passes"];
    for (const optimizer::PassInfo& pass : optimizer::ExchangePasses())
      if (std::find(wanted.begin(), wanted.end(), pass.name) == wanted.end())
        options.disabled_passes.emplace_back(pass.name);
  }
  for (const std::string_view name : optimizer::kOptionalExchangePasses)
    if (!edit.Has("optional") || std::find(edit.json()["optional"].begin(), edit.json()["optional"].end(), name) ==
                                     edit.json()["optional"].end())
      options.disabled_passes.emplace_back(name);
  options.approximate_gelu = edit.Get<bool>("approximate_gelu", false);
  options.exchange.joins_projections = edit.Get<bool>("join_projections", true);
  options.exchange.multi_head_bias = edit.Get<bool>("multi_head_bias", true);
  options.exchange.padding = Chosen<PaddingForm>(edit, "padding", "mask",
                                                 {{"length", PaddingForm::kLength},
                                                  {"length_and_start", PaddingForm::kLengthAndStart},
                                                  {"mask", PaddingForm::kMask},
                                                  {"none", PaddingForm::kNone}});
  OptimizeModel(edit.model(), options, !target.empty());
  return nullptr;
}

struct Row {
  std::string_view name;
  Json (*apply)(const Edit&);
};
constexpr std::array kEdits = {
    Row{"add_node", AddNode},         Row{"remove_node", RemoveNode},     Row{"set_input", SetInput},
    Row{"set_output", SetOutput},     Row{"set_attribute", SetAttribute}, Row{"set_operator", SetOperator},
    Row{"replace_uses", ReplaceUses}, Row{"rename_value", RenameValue},   Row{"set_initializer", SetInitializer},
    Row{"set_type", SetType},         Row{"add_output", AddOutput},       Row{"remove_output", RemoveOutput},
    Row{"add_input", AddInput},       Row{"remove_input", RemoveInput},   Row{"set_opset", SetOpset},
    Row{"set_metadata", SetMetadata}, Row{"set_producer", SetProducer},   Row{"infer_types", InferTypes},
    Row{"optimize", Optimize},
};

Json Apply(const Edit& edit) {
  const auto name = edit.Get<std::string>("edit");
  const auto* row = std::find_if(kEdits.begin(), kEdits.end(), [&](const Row& known) { return known.name == name; });
  if (row == kEdits.end()) {
    std::vector<std::string> names;
    for (const Row& known : kEdits) names.emplace_back(known.name);
    Fail(Code::kInvalidArgument, "expected an edit such as '", ClosestName(name, names), "', found '", name, "'");
  }
  return row->apply(edit);
}

}  // namespace

std::string ApplyEdits(SardonyxModel& model, std::string_view text, std::span<const Tensor> tensors) {
  const Json edits = Json::parse(text, nullptr, false);
  if (!edits.is_array()) Fail(Code::kInvalidArgument, "argument 'edits': expected a JSON array");
  Json results = Json::array();
  for (const Json& json : edits) {
    try {
      if (!json.is_object()) Fail(Code::kInvalidArgument, "expected an object, found ", json.type_name());
      results.push_back(Apply(Edit(model, json, tensors)));
    } catch (const Error& error) {
      const std::string name = json.is_object() ? json.value("edit", Json("")).dump() : "";
      throw Error(error.code(), "edit " + std::to_string(results.size()) + " " + name + ": " + error.what());
    }
  }
  return results.dump();
}

}  // namespace sardonyx::capi
