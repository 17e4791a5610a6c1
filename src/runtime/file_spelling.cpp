// runtime/file_spelling.cpp - one row for each operator whose old form a session keeps.
#include "runtime/file_spelling.h"

#include <algorithm>
#include <string>
#include <vector>

#include "ops/schema/schema.h"
#include "ops/upgrade.h"

namespace sardonyx::runtime {
namespace {

struct Place {
  Graph& graph;
  NodeId id;
  std::int64_t opset;
  Node& node() const { return graph.node(id); }
};

[[noreturn]] void FailAt(const Graph& graph, const Node& node, std::int64_t opset, const std::string& why) {
  Fail(Code::kNotImplemented, Describe(graph, node), ": ", why, " in opset ", opset,
       ", which other nodes of the optimized model need; save it at the basic level");
}

int VersionAt(std::string_view op_type, std::int64_t opset) {
  const ops::OpSchema* schema = ops::FindSchema("", op_type, static_cast<int>(opset));
  return schema != nullptr ? schema->since_version : 0;
}

ValueId Add(const Place& p, std::string_view op_type, std::vector<ValueId> inputs, std::vector<Attribute> attributes,
            const Type& type) {
  const ValueId made = p.graph.AddNode("", op_type, std::move(inputs), std::move(attributes), type);
  p.graph.node(p.graph.value(made).producer).since_version = VersionAt(op_type, p.opset);
  return made;
}

ValueId Longs(const Place& p, std::vector<std::int64_t> numbers) {
  return p.graph.AddConstant("sizes", Tensor::Vector<std::int64_t>(numbers));
}

std::string TextOf(const Node& node, std::string_view attribute, std::string_view otherwise) {
  const AttributeValue* value = node.FindAttribute(attribute);
  const auto* text = value != nullptr ? std::get_if<std::string>(value) : nullptr;
  return text != nullptr ? *text : std::string(otherwise);
}

std::int64_t NumberOf(const Node& node, std::string_view attribute, std::int64_t otherwise) {
  const AttributeValue* value = node.FindAttribute(attribute);
  const auto* number = value != nullptr ? std::get_if<std::int64_t>(value) : nullptr;
  return number != nullptr ? *number : otherwise;
}

bool AllOf(const Tensor* scales, bool (*holds)(float)) {
  if (scales == nullptr || scales->dtype() != DType::kFloat) return false;
  const float* first = scales->data<float>();
  return std::all_of(first, first + scales->count(), holds);
}

// Resize (X, scales) and Upsample (X, scales) to Resize (X, roi, scales).
void SetResize(const Place& p, ValueId scales, const char* nearest_mode) {
  if (nearest_mode != nullptr) p.node().SetAttribute("nearest_mode", std::string(nearest_mode));
  p.node().SetAttribute("coordinate_transformation_mode", std::string("asymmetric"));
  // Required, though not read, before version 13.
  p.graph.SetInput(p.id, 1, p.opset < 13 ? p.graph.AddConstant("roi", Tensor(DType::kFloat, Shape{0})) : kNoValue);
  p.graph.SetInput(p.id, 2, scales);
}

// Before opset 11 the nearest pixel was the one below on axes that grow and the one above on those that shrink. One
// node for each where both may be.
void SpellResize(const Place& p) {
  const bool upsample = p.node().op_type == "Upsample";  // lets images grow only
  p.node().op_type = "Resize";
  if (p.opset < 11) return;
  const ValueId scales = p.node().inputs[1], y = p.node().outputs[0];
  const Tensor* known = p.graph.value(scales).constant();
  if (TextOf(p.node(), "mode", "nearest") != "nearest") return SetResize(p, scales, nullptr);
  if (upsample || AllOf(known, [](float scale) { return scale >= 1; })) return SetResize(p, scales, "floor");
  if (AllOf(known, [](float scale) { return scale <= 1; })) return SetResize(p, scales, "ceil");
  const Type type = p.graph.value(scales).type;
  const ValueId one = p.graph.AddConstant("one", Tensor::Scalar<float>(1));
  const ValueId more = Add(p, "Max", {scales, one}, {}, type), less = Add(p, "Min", {scales, one}, {}, type);
  SetResize(p, more, "floor");
  const Type image = p.graph.value(y).type;
  const ValueId grown = p.graph.AddValue("", Type::TensorOf(image.dtype));
  p.graph.MoveOutput(p.id, 0, grown);
  const ValueId shrunk = Add(p, "Resize", {grown}, p.node().attributes, image);
  const NodeId second = p.graph.value(shrunk).producer;
  SetResize({p.graph, second, p.opset}, less, "ceil");
  p.graph.MoveOutput(second, 0, y);
}

void SpellScatter(const Place& p) { p.node().op_type = "ScatterElements"; }

void SpellSplit(const Place& p) {
  const Node& node = p.node();
  const bool sized = node.inputs.size() > 1 && node.inputs[1] != kNoValue;
  if (sized || node.FindAttribute("num_outputs") != nullptr) return;
  p.node().SetAttribute("num_outputs", static_cast<std::int64_t>(node.outputs.size()));
}

void SpellGridSample(const Place& p) {
  const std::string mode = TextOf(p.node(), "mode", "");
  if (mode == "bilinear") p.node().SetAttribute("mode", std::string("linear"));
  if (mode == "bicubic") p.node().SetAttribute("mode", std::string("cubic"));
}

// One scale and bias for each group becomes one for each channel.
void SpellGroupNorm(const Place& p) {
  const Type& x = p.graph.value(p.node().inputs[0]).type;
  const std::int64_t groups = NumberOf(p.node(), "num_groups", 1);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    const ValueId given = p.node().inputs[i];
    const Type type = p.graph.value(given).type;
    if (!type.has_rank || type.rank() != 1 || !type.dims[0].known() || type.dims[0].number() != groups) continue;
    if (!x.has_rank || x.rank() < 2 || !x.dims[1].known())
      FailAt(p.graph, p.node(), p.opset, "a scale and a bias for each group of unknown channels have no form");
    const std::int64_t channels = x.dims[1].number();
    if (channels == groups) continue;
    const Type column = Type::TensorOf(type.dtype, Shape{groups, 1});
    const Type square = Type::TensorOf(type.dtype, Shape{groups, channels / groups});
    const ValueId rows = Add(p, "Reshape", {given, Longs(p, {groups, 1})}, {}, column);
    const ValueId repeated = Add(p, "Expand", {rows, Longs(p, {groups, channels / groups})}, {}, square);
    p.graph.SetInput(
        p.id, i, Add(p, "Reshape", {repeated, Longs(p, {channels})}, {}, Type::TensorOf(type.dtype, Shape{channels})));
  }
}

// Before opset 13 all from the axis on is one row.
void SpellSoftmax(const Place& p) {
  const ValueId x = p.node().inputs[0], y = p.node().outputs[0];
  Type flat = p.graph.value(x).type;
  flat.has_rank = false;
  flat.dims.clear();
  const ValueId shape = Add(p, "Shape", {x}, {}, {});
  const std::int64_t axis = NumberOf(p.node(), "axis", 1);
  p.graph.SetInput(p.id, 0, Add(p, "Flatten", {x}, {{"axis", axis}}, flat));
  p.node().SetAttribute("axis", std::int64_t{-1});
  const ValueId result = p.graph.AddValue("", flat);
  p.graph.MoveOutput(p.id, 0, result);
  const ValueId reshaped = Add(p, "Reshape", {result, shape}, {}, p.graph.value(y).type);
  p.graph.MoveOutput(p.graph.value(reshaped).producer, 0, y);
}

struct Row {
  std::string_view op_type;
  int below, opset;  // nodes of versions below `below` in files of at least `opset`
  void (*spell)(const Place&);
};
constexpr int kAny = 1 << 20;
constexpr Row kRows[] = {
    {"GridSample", kAny, 20, SpellGridSample}, {"GroupNormalization", kAny, 21, SpellGroupNorm},
    {"Hardmax", 13, 13, SpellSoftmax},         {"LogSoftmax", 13, 13, SpellSoftmax},
    {"Resize", 11, 11, SpellResize},           {"Scatter", kAny, 11, SpellScatter},
    {"Softmax", 13, 13, SpellSoftmax},         {"Split", kAny, 18, SpellSplit},
    {"Upsample", kAny, 10, SpellResize},
};

// What no row covers must not be written as something else.
void Check(const Graph& graph, Node& node, std::int64_t opset, const ops::Registry& registry) {
  const ops::OpSchema* schema = ops::FindSchema("", node.op_type, static_cast<int>(opset));
  if (schema == nullptr) return;
  const ops::OpDef* meant = registry.Find("", node.op_type, node.since_version);
  const bool same = meant == nullptr || meant == registry.Find("", node.op_type, schema->since_version) ||
                    ops::MeansTheSame(graph, node, schema->since_version, registry);
  if (schema->deprecated() || !same) FailAt(graph, node, opset, node.op_type + " as the model means it has no form");
}

}  // namespace

void SpellForOpset(Graph& graph, std::int64_t opset, const ops::Registry& registry) {
  for (const NodeId id : std::vector<NodeId>(graph.order)) {
    for (Graph* body : graph.node(id).Subgraphs()) SpellForOpset(*body, opset, registry);
    const Node& node = graph.node(id);
    if (!node.domain.empty()) continue;
    const auto* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) {
      return r.op_type == node.op_type && node.since_version < r.below && opset >= r.opset;
    });
    if (row != std::end(kRows)) {
      row->spell({graph, id, opset});
      graph.node(id).since_version = VersionAt(graph.node(id).op_type, opset);
    }
    Check(graph, graph.node(id), opset, registry);
  }
  graph.SortTopologically();
}

}  // namespace sardonyx::runtime
