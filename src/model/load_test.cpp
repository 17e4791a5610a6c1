// model/load_test.cpp - loads ModelProto messages: values, nodes, subgraphs, functions, versions, and warnings.
#include "model/load.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/test_messages.h"

namespace sardonyx::model {
namespace {

using namespace messages;

// y = Relu(x + w)
Parts Simple() {
  Parts parts;
  parts.nodes = {NodeProto("Add", {"x", "w"}, {"sum"}, {}, "enc/add"), NodeProto("Relu", {"sum"}, {"y"})};
  parts.inputs = {Floats("x", {"batch", "2"})};
  parts.outputs = {Floats("y", {"batch", "2"})};
  parts.initializers = {TensorProto("w", DType::kFloat, {2}, Raw({1.0f, 2.0f}))};
  return parts;
}

std::string IntAttribute(const std::string& name, std::int64_t value, int type = kAttrInt) {
  return AttributeWith(name, type, [&](Writer& w) { w.add_int64(AttributeField::kI, value); });
}

void ExpectError(const std::string& bytes, const std::string& part) {
  const std::string found = LoadError(bytes);
  EXPECT_NE(found.find(part), std::string::npos) << "expected: " << part << "\nfound: " << found;
}

TEST(Load, ReadsValuesNodesAndTypes) {
  Parts parts = Simple();
  parts.value_infos = {ValueProto("sum", TensorType(1, {"batch", "-1", "?", "", "0"})), Floats("gone", {})};
  const Model model = Load(ModelProto(GraphProto(parts)));
  const Graph& g = model.graph;
  EXPECT_EQ(model.ir_version, 10);
  EXPECT_EQ(g.name, "g");
  ASSERT_EQ(g.inputs.size(), 1u);
  EXPECT_EQ(g.value(g.inputs[0]).type, Type::TensorOf(DType::kFloat, {Dim::Symbol("batch"), 2}));
  ASSERT_EQ(g.order.size(), 2u);
  const Node& add = g.node(g.order[0]);
  EXPECT_EQ(add.name, "enc/add");
  EXPECT_EQ(add.op_type, "Add");
  EXPECT_EQ(add.since_version, 0);
  const ValueInfo& w = g.value(add.inputs[1]);
  ASSERT_NE(w.constant(), nullptr);
  EXPECT_EQ(w.constant()->data<float>()[1], 2.0f);
  EXPECT_EQ(w.type, Type::TensorOf(DType::kFloat, {2}));
  EXPECT_FALSE(w.is_input);
  EXPECT_EQ(g.value(add.outputs[0]).type, Type::TensorOf(DType::kFloat, {Dim::Symbol("batch"), {}, {}, {}, 0}));
  EXPECT_FALSE(g.Find("gone"));
  EXPECT_EQ(g.OpsetVersion(""), 21);
  EXPECT_EQ(g.outputs[0], g.node(g.order[1]).outputs[0]);
}

TEST(Load, InitializersOfInputsAreDefaultsOrConstantsByIrVersion) {
  Parts parts = Simple();
  parts.inputs.push_back(Floats("w", {"2"}));
  const Model now = Load(ModelProto(GraphProto(parts), 4));
  EXPECT_EQ(now.graph.inputs.size(), 2u);
  EXPECT_EQ(now.graph.value(*now.graph.Find("w")).initializer->kind, Initializer::Kind::kInputDefault);
  EXPECT_EQ(now.graph.value(*now.graph.Find("w")).constant(), nullptr);

  const Model old = Load(ModelProto(GraphProto(parts), 3));
  EXPECT_EQ(old.graph.inputs.size(), 1u);
  EXPECT_NE(old.graph.value(*old.graph.Find("w")).constant(), nullptr);
  EXPECT_FALSE(old.graph.value(*old.graph.Find("w")).is_input);
}

TEST(Load, SortsNodesThatComeInAnyOrder) {
  Parts parts = Simple();
  std::swap(parts.nodes[0], parts.nodes[1]);
  const Model model = Load(ModelProto(GraphProto(parts)));
  EXPECT_EQ(model.graph.node(model.graph.order[0]).op_type, "Add");
  EXPECT_EQ(model.graph.node(model.graph.order[1]).op_type, "Relu");
}

TEST(Load, KeepsMissingOptionalInputsAndOutputs) {
  Parts parts = Simple();
  parts.nodes = {NodeProto("Clip", {"x", "", "w"}, {"y", "", "z"})};
  const Model model = Load(ModelProto(GraphProto(parts)));
  const Node& clip = model.graph.node(0);
  EXPECT_EQ(clip.inputs[1], kNoValue);
  EXPECT_EQ(clip.outputs[1], kNoValue);
  EXPECT_EQ(clip.outputs.size(), 3u);
}

TEST(Load, SubgraphsCaptureOuterValuesThroughEveryLevel) {
  Parts inner;  // reads x of the main graph two levels up, and its own shadow of "t"
  inner.nodes = {NodeProto("Neg", {"x"}, {"t"}), NodeProto("Add", {"t", "mid"}, {"inner_out"})};
  inner.outputs = {Floats("inner_out", {"2"})};
  Parts middle;
  middle.nodes = {NodeProto("Abs", {"w"}, {"mid"}), NodeProto("If", {"c"}, {"middle_out"},
                                                              {GraphAttribute("then_branch", GraphProto(inner)),
                                                               GraphAttribute("else_branch", GraphProto(inner))})};
  middle.outputs = {Floats("middle_out", {"2"})};
  Parts main = Simple();
  main.inputs.push_back(ValueProto("c", TensorType(9, {})));
  main.nodes.push_back(NodeProto("Relu", {"x"}, {"t"}));
  main.nodes.push_back(NodeProto(
      "If", {"c"}, {"z"},
      {GraphAttribute("then_branch", GraphProto(middle)), GraphAttribute("else_branch", GraphProto(middle))}));
  main.outputs.push_back(Floats("z", {"2"}));
  const Model model = Load(ModelProto(GraphProto(main)));
  const Graph& g = model.graph;
  const Node& branch = g.node(g.order.back());
  std::vector<std::string> implicit;
  for (const ValueId id : branch.implicit_inputs) implicit.push_back(g.value(id).name);
  std::sort(implicit.begin(), implicit.end());
  EXPECT_EQ(implicit, (std::vector<std::string>{"c", "w", "x"}));
  const Graph& middle_graph = *branch.Subgraphs()[0];
  EXPECT_EQ(middle_graph.captures.size(), 3u);
  for (const Capture& capture : middle_graph.captures) {
    EXPECT_TRUE(middle_graph.value(capture.inner).is_captured);
    EXPECT_EQ(middle_graph.value(capture.inner).name, g.value(capture.outer).name);
  }
  const Graph& inner_graph = *middle_graph.node(middle_graph.order.back()).Subgraphs()[1];
  EXPECT_EQ(inner_graph.captures.size(), 2u);
  EXPECT_FALSE(inner_graph.value(*inner_graph.Find("t")).is_captured);
  EXPECT_EQ(inner_graph.value(*inner_graph.Find("x")).type, g.value(g.inputs[0]).type);
  EXPECT_EQ(inner_graph.OpsetVersion("my"), 1);
}

TEST(Load, ReadsFunctionsWithReferencesToAttributes) {
  const std::string leaky = NodeProto(
      "LeakyRelu", {"a"}, {"b"},
      {AttributeWith("alpha", kAttrFloat, [](Writer& w) { w.add_string(AttributeField::kRefAttrName, "slope"); })});
  const std::string function = FunctionProto("Leak", {"a"}, {"b"}, {leaky}, {"slope"}) + Fields([](Writer& w) {
                                 w.add_string(FunctionField::kOverload, "v2");
                                 w.add_message(FunctionField::kAttributeProto, IntAttribute("extra", 4));
                               });
  Parts parts = Simple();
  parts.nodes[1] = NodeProto("Leak", {"sum"}, {"y"}, {}, "call", "my");
  const Model model = Load(ModelProto(GraphProto(parts), 10, {function}));
  const Function* f = model.FindFunction("my", "Leak", "v2");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->attributes, Strings{"slope"});
  ASSERT_EQ(f->attribute_defaults.size(), 1u);
  EXPECT_EQ(std::get<std::int64_t>(f->attribute_defaults[0].value), 4);
  EXPECT_EQ(f->body.OpsetVersion(""), 18);
  EXPECT_EQ(model.graph.OpsetVersion(""), 21);
  const auto* reference = std::get_if<AttributeReference>(f->body.node(0).FindAttribute("alpha"));
  ASSERT_NE(reference, nullptr);
  EXPECT_EQ(reference->name, "slope");
  EXPECT_EQ(reference->type, kAttrFloat);
}

TEST(Load, ReadsAttributesOfEveryType) {
  const std::string tensor = TensorProto("", DType::kInt64, {1}, Raw<std::int64_t>({7}));
  const std::string body = GraphProto({.nodes = {NodeProto("Neg", {"x"}, {"o"})}, .outputs = {Floats("o", {})}});
  const std::string sparse = SparseProto(TensorProto("", DType::kFloat, {1}, Raw({1.0f})), tensor, {9});
  const auto attribute = [](int type, auto&& fill) { return AttributeWith("a" + std::to_string(type), type, fill); };
  const Strings attributes = {
      attribute(1, [](Writer& w) { w.add_float(AttributeField::kF, 0.5f); }),
      attribute(2, [](Writer& w) { w.add_int64(AttributeField::kI, -3); }),
      attribute(3, [](Writer& w) { w.add_bytes(AttributeField::kS, "text"); }),
      attribute(4, [&](Writer& w) { w.add_message(AttributeField::kT, tensor); }),
      attribute(5, [&](Writer& w) { w.add_message(AttributeField::kG, body); }),
      attribute(6,
                [](Writer& w) {
                  w.add_float(AttributeField::kFloats, 1.0f);
                  w.add_float(AttributeField::kFloats, 2.0f);
                }),
      attribute(7, [](Writer& w) { w.add_bytes(AttributeField::kInts, "\x01\x02"); }),  // packed
      attribute(8, [](Writer& w) { w.add_bytes(AttributeField::kStrings, "s"); }),
      attribute(9, [&](Writer& w) { w.add_message(AttributeField::kTensors, tensor); }),
      attribute(10, [&](Writer& w) { w.add_message(AttributeField::kGraphs, body); }),
      attribute(11, [&](Writer& w) { w.add_message(AttributeField::kSparseTensor, sparse); }),
      attribute(12, [&](Writer& w) { w.add_message(AttributeField::kSparseTensors, sparse); }),
      attribute(13, [](Writer& w) { w.add_message(AttributeField::kTp, TensorType(1, {"n"})); }),
      attribute(14, [](Writer& w) { w.add_message(AttributeField::kTypeProtos, TensorType(1, {})); }),
  };
  Parts parts = Simple();
  parts.nodes.push_back(NodeProto("Op", {"x"}, {"other"}, attributes, "", "my"));
  const Model model = Load(ModelProto(GraphProto(parts)));
  const Node& node = model.graph.node(2);
  ASSERT_EQ(node.attributes.size(), 14u);
  for (int type = 1; type <= 14; ++type)
    EXPECT_EQ(AttributeTypeOf(*node.FindAttribute("a" + std::to_string(type))), type);
  EXPECT_EQ(std::get<float>(*node.FindAttribute("a1")), 0.5f);
  EXPECT_EQ(std::get<std::int64_t>(*node.FindAttribute("a2")), -3);
  EXPECT_EQ(std::get<std::vector<float>>(*node.FindAttribute("a6")), (std::vector<float>{1, 2}));
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(*node.FindAttribute("a7")), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(std::get<Tensor>(*node.FindAttribute("a4")).data<std::int64_t>()[0], 7);
  EXPECT_EQ(std::get<SparseTensor>(*node.FindAttribute("a11")).dense_shape, Shape({9}));
  EXPECT_EQ(std::get<Type>(*node.FindAttribute("a13")), Type::TensorOf(DType::kFloat, {Dim::Symbol("n")}));
  EXPECT_EQ(node.implicit_inputs.size(), 1u);
}

TEST(Load, InfersTheTypeOfAttributesFromOldWriters) {
  Parts parts = Simple();
  parts.nodes[1] = NodeProto("Softmax", {"sum"}, {"y"}, {IntAttribute("axis", 1, 0)});
  const Model model = Load(ModelProto(GraphProto(parts), 2));
  EXPECT_EQ(std::get<std::int64_t>(*model.graph.node(1).FindAttribute("axis")), 1);
}

TEST(Load, ReadsTypesOfEveryKind) {
  const std::string floats = TensorType(1, {"n"});
  const auto wrap = [](std::uint32_t tag, const std::string& type) {
    return Fields([&](Writer& w) {
      w.add_message(tag, Fields([&](Writer& inner) { inner.add_message(TypeField::kElemType, type); }));
    });
  };
  const std::string map = Fields([&](Writer& w) {
    w.add_message(TypeField::kMap, Fields([&](Writer& inner) {
                    inner.add_int32(TypeField::kKeyType, 7);
                    inner.add_message(TypeField::kValueType, floats);
                  }));
  });
  Parts parts = Simple();
  parts.inputs.push_back(ValueProto("s", wrap(TypeField::kSequence, floats)));
  parts.inputs.push_back(ValueProto("o", wrap(TypeField::kOptional, wrap(TypeField::kSequence, floats))));
  parts.inputs.push_back(ValueProto("m", map));
  parts.inputs.push_back(
      ValueProto("d", floats + Fields([](Writer& w) { w.add_string(TypeField::kDenotation, "IMAGE"); })));
  parts.inputs.push_back(ValueProto("none", ""));
  const Graph graph = Load(ModelProto(GraphProto(parts))).graph;
  const Type t = Type::TensorOf(DType::kFloat, {Dim::Symbol("n")});
  EXPECT_EQ(graph.value(*graph.Find("s")).type, Type::SequenceOf(t));
  EXPECT_EQ(graph.value(*graph.Find("o")).type, Type::OptionalOf(Type::SequenceOf(t)));
  EXPECT_EQ(graph.value(*graph.Find("m")).type, Type::MapOf(DType::kInt64, t));
  EXPECT_EQ(graph.value(*graph.Find("d")).type.denotation, "IMAGE");
  EXPECT_TRUE(graph.value(*graph.Find("none")).type.is_none());

  parts.inputs.push_back(
      ValueProto("q", Fields([](Writer& w) { w.add_message(TypeField::kOpaque, std::string("x")); })));
  ExpectError(ModelProto(GraphProto(parts)), "9: the model: graph.input[6] 'q'.type: opaque types are not implemented");
  parts.inputs.back() = ValueProto("q", TensorType(28, {}));
  ExpectError(ModelProto(GraphProto(parts)), "element type float6e3m2 is not implemented");
}

TEST(Load, KeepsMetadataAndDocumentation) {
  Parts parts = Simple();
  const std::string metadata = EntryProto("k", "v");
  parts.nodes[0] += Fields([&](Writer& w) {
    w.add_message(NodeField::kMetadata, metadata);
    w.add_string(NodeField::kDoc, "nd");
  });
  parts.inputs[0] += Fields([&](Writer& w) { w.add_message(ValueInfoField::kMetadata, metadata); });
  parts.initializers[0] += Fields([&](Writer& w) { w.add_string(TensorField::kDoc, "td"); });
  const std::string graph =
      GraphProto(parts) + Fields([&](Writer& w) { w.add_message(GraphField::kMetadata, metadata); });
  const std::string bytes = ModelProto(graph) + Fields([&](Writer& w) {
                              w.add_message(ModelField::kMetadata, metadata);
                              w.add_string(ModelField::kProducerName, "test");
                              w.add_message(ModelField::kConfiguration, std::string("\x0a\x01x"));
                              w.add_string(999, "unknown fields are skipped");
                            });
  const Model model = Load(bytes);
  const std::vector<std::pair<std::string, std::string>> want = {{"k", "v"}};
  EXPECT_EQ(model.metadata, want);
  EXPECT_EQ(model.graph.metadata, want);
  EXPECT_EQ(model.graph.node(0).metadata, want);
  EXPECT_EQ(model.graph.node(0).doc, "nd");
  EXPECT_EQ(model.graph.value(0).metadata, want);
  EXPECT_EQ(model.graph.value(*model.graph.Find("w")).doc, "td");
  EXPECT_EQ(model.producer_name, "test");
}

TEST(Load, WarnsOfWhatIsNewerAndLeftOut) {
  std::string log;
  const Logger logger(
      [&](Severity, const char*, const char*, const char*, const char* text) { log += std::string(text) + "\n"; }, "",
      Severity::kWarning);
  LoadOptions options;
  options.logger = &logger;
  options.newest_opset = 20;
  Parts parts = Simple();
  parts.initializers.push_back(parts.initializers[0]);
  Load(ModelProto(GraphProto(parts), 99) +
           Fields([](Writer& w) { w.add_message(ModelField::kTrainingInfo, std::string("\x0a\x00", 2)); }),
       options);
  EXPECT_NE(log.find("its IR version 99 is newer than 14"), std::string::npos) << log;
  EXPECT_NE(log.find("its opset 21 is newer than 20"), std::string::npos) << log;
  EXPECT_NE(log.find("training information is ignored"), std::string::npos) << log;
  EXPECT_NE(log.find("initializer 'w' appears twice"), std::string::npos) << log;
}

}  // namespace
}  // namespace sardonyx::model
