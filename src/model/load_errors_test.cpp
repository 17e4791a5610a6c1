// model/load_errors_test.cpp - which models the loader refuses, and its error messages.
#include <gtest/gtest.h>

#include <functional>

#include "model/load.h"
#include "model/test_messages.h"

namespace sardonyx::model {
namespace {

using namespace messages;

Parts Simple() {
  Parts parts;
  parts.nodes = {NodeProto("Add", {"x", "w"}, {"sum"}, {}, "enc/add"), NodeProto("Relu", {"sum"}, {"y"})};
  parts.inputs = {Floats("x", {"2"})};
  parts.outputs = {Floats("y", {"2"})};
  parts.initializers = {TensorProto("w", DType::kFloat, {2}, Raw({1.0f, 2.0f}))};
  return parts;
}

void ExpectError(const std::string& bytes, const std::string& part) {
  const std::string found = LoadError(bytes);
  EXPECT_NE(found.find(part), std::string::npos) << "expected: " << part << "\nfound: " << found;
}

void ExpectGraphError(const std::function<void(Parts&)>& edit, const std::string& part) {
  Parts parts = Simple();
  edit(parts);
  ExpectError(ModelProto(GraphProto(parts)), part);
}

TEST(LoadErrors, NamesWhatIsNotAModel) {
  ExpectError("", "2: the model is not an ONNX model: it is empty");
  ExpectError("<!DOCTYPE html>\n<html>", "it starts with '<!DOCTYPE html>'");
  ExpectError("{\"config\": 1}", "it starts with '{\"config\": 1}'");
  ExpectError("version https://git-lfs.github.com/spec/v1\noid sha256:0", "is a Git LFS pointer");
  ExpectError(std::string("\x1c\0\0\0ORTM", 8), "expected 4 bytes at byte 28 of the FlatBuffer, found its end at 8");
  ExpectError(std::string("PK\x03\x04\x14\0", 6), "is a zip archive");
  ExpectError(std::string("\x08\x0a", 2), "2: the model: expected an ONNX model with one graph, found 0 graphs");
  ExpectError(std::string(100, '\x80'), "7: the model: expected a varint of at most 10 bytes");
  ExpectError(ModelProto(GraphProto(Simple())) + Fields([](Writer& w) { w.add_message(7, GraphProto(Simple())); }),
              "found 2 graphs");
}

// Found by fuzzing: a model whose fourth byte begins the name of another format is a model.
TEST(LoadErrors, AProducerMayBeCalledLikeAFormat) {
  const std::string model = ModelProto(GraphProto(Simple()));
  const std::string producer = Fields([](Writer& w) {
    w.add_int64(ModelField::kIrVersion, 10);
    w.add_string(ModelField::kProducerName, "TFL3 to ONNX");
  });
  ASSERT_EQ(producer.substr(4, 4), "TFL3");
  EXPECT_EQ(LoadError(producer + model), "");
}

// A byte of zero would end every message, and no caller of C could give it: names have it as text.
TEST(LoadErrors, NamesHaveAByteOfZeroAsText) {
  const std::string name("w\0z", 3);
  ExpectGraphError([&](Parts& p) { p.nodes[0] = NodeProto("Add", {"x", name}, {"sum"}, {}, "enc/add"); }, "w\\x00z");
  ExpectGraphError([&](Parts& p) { p.outputs = {Floats(name, {"2"})}; }, "w\\x00z");
  Parts parts = Simple();
  parts.nodes[0] = NodeProto("Add", {name, "w"}, {"sum"}, {}, name);
  parts.inputs = {Floats(name, {name})};
  const Graph graph = Load(ModelProto(GraphProto(parts))).graph;
  ASSERT_TRUE(graph.Find("w\\x00z").has_value());
  EXPECT_EQ(graph.node(graph.order[0]).name, "w\\x00z");
}

TEST(LoadErrors, NamesFileAndByteOfACutModel) {
  const TemporaryFolder folder;
  const std::string whole = ModelProto(GraphProto(Simple()));
  const std::string path = folder.Write("cut.onnx", whole.substr(0, whole.size() / 2));
  const std::string found = ErrorOf([&] { LoadFile(path); });
  EXPECT_EQ(found.rfind("7: " + path + ": ", 0), 0u) << found;
  EXPECT_NE(found.find("at byte"), std::string::npos) << found;
  EXPECT_EQ(ErrorOf([&] { LoadFile(path + ".none"); }).substr(0, 2), "3:");
  EXPECT_EQ(ErrorOf([&] { LoadFile(folder.path().string()); }).substr(0, 2), "7:");
}

TEST(LoadErrors, NamesVersionsThatAreMissingAndTakesTheLastOfSeveral) {
  const std::string graph = GraphProto(Simple());
  ExpectError(ModelProto(graph, -1), "10: the model: expected an ir_version of at least 0, found -1");
  const auto with_opsets = [&](const Strings& opsets) {
    return Fields([&](Writer& w) {
      w.add_int64(ModelField::kIrVersion, 8);
      w.add_message(ModelField::kGraph, graph);
      for (const std::string& opset : opsets) w.add_message(ModelField::kOpsetImport, opset);
    });
  };
  ExpectError(with_opsets({}), "expected an opset import in a model of IR version 8");
  ExpectError(with_opsets({OpsetProto("", 0)}), "expected an opset version of at least 1, found 0");
  EXPECT_EQ(Load(with_opsets({OpsetProto("ai.onnx", 12)})).graph.OpsetVersion(""), 12);
  EXPECT_EQ(Load(with_opsets({OpsetProto("", 12), OpsetProto("ai.onnx", 13)})).graph.OpsetVersion(""), 13);
}

TEST(LoadErrors, NamesValuesThatAreNotDefinedOnce) {
  ExpectGraphError(
      [](Parts& p) { p.nodes[1] = NodeProto("Relu", {"summ"}, {"y"}, {}, "act"); },
      "2: the model: graph.node[1] 'act' (Relu): expected 'summ' to be an input, an initializer or an output of "
      "a node, found nothing with this name; did you mean 'sum'?");
  ExpectGraphError([](Parts& p) { p.outputs = {Floats("nothing", {})}; },
                   "graph.output[0] 'nothing': expected 'nothing' to be");
  ExpectGraphError([](Parts& p) { p.nodes[1] = NodeProto("Relu", {"x"}, {"sum"}); },
                   "graph.node[1] (Relu): expected outputs that nothing else in the graph defines, found 'sum'");
  ExpectGraphError([](Parts& p) { p.nodes[1] = NodeProto("Relu", {"x"}, {"w"}); },
                   "found 'w', which is defined already");
  ExpectGraphError([](Parts& p) { p.inputs.push_back(p.inputs[0]); }, "graph.input[1] 'x': expected each input once");
  ExpectGraphError([](Parts& p) { p.inputs.push_back(Floats("", {})); }, "expected an input with a name");
  ExpectGraphError([](Parts& p) { p.outputs.push_back(Floats("", {})); }, "expected an output with a name");
  ExpectGraphError([](Parts& p) { p.initializers.push_back(TensorProto("", DType::kFloat, {0}, "")); },
                   "graph.initializer[1]: expected an initializer with a name");
  ExpectGraphError(
      [](Parts& p) { p.inputs.push_back(ValueProto("w", TensorType(7, {"2"}))); },
      "graph.initializer[0] 'w': expected elements of type int64, as the input of this name declares, found float");
  ExpectGraphError([](Parts& p) { p.nodes[0] = NodeProto("Add", {"x", "y"}, {"sum"}); }, "found a cycle of 2 nodes");
  ExpectGraphError([](Parts& p) { p.nodes[0] = NodeProto("", {"x"}, {"sum"}); }, "expected a node with an op_type");
  const std::string body = GraphProto({.nodes = {NodeProto("Neg", {"sun"}, {"o"})}, .outputs = {Floats("o", {})}});
  ExpectGraphError(
      [&](Parts& p) { p.nodes[0] = NodeProto("If", {"x"}, {"sum"}, {GraphAttribute("then_branch", body)}, "if"); },
      "graph.node[0] 'if' (If).attribute[0] 'then_branch'.g 'g'.node[0] (Neg): expected 'sun' to be");
}

TEST(LoadErrors, NamesAttributesThatDoNotFit) {
  const auto error = [](const Strings& attributes, const std::string& part) {
    ExpectGraphError([&](Parts& p) { p.nodes[1] = NodeProto("Relu", {"sum"}, {"y"}, attributes, "act"); },
                     "10: the model: graph.node[1] 'act' (Relu)" + part);
  };
  const auto with_int = [](const std::string& name, int type) {
    return AttributeWith(name, type, [](Writer& w) { w.add_int64(AttributeField::kI, 1); });
  };
  error({with_int("a", kAttrFloat)},
        ".attribute[0] 'a': expected a value of the attribute's type float, found one of type int");
  error({with_int("a", 15)}, ".attribute[0] 'a': expected an attribute type from 1 to 14, found 15");
  error({with_int("", kAttrInt)}, ".attribute[0]: expected an attribute with a name");
  error({with_int("a", kAttrInt), with_int("a", kAttrInt)}, ": expected each attribute once, found 'a' twice");
  error({AttributeWith("a", 0, [](Writer&) {})}, ".attribute[0] 'a': expected an attribute with a type and a value");
  error({AttributeWith("a", kAttrTensor, [](Writer&) {})},
        ".attribute[0] 'a': expected a value in field 't', found none");
  error({AttributeWith(
            "a", kAttrTensor,
            [](Writer& w) { w.add_message(AttributeField::kT, TensorProto("", DType::kFloat, {2}, "1234")); })},
        ".attribute[0] 'a'.t: expected 8 bytes for float[2], found 4 in raw_data");
}

TEST(LoadErrors, NamesFunctionsThatAreThereTwiceOrCallThemselves) {
  const std::string graph = GraphProto(Simple());
  const std::string f = FunctionProto("F", {"a"}, {"b"}, {NodeProto("G", {"a"}, {"b"}, {}, "", "my")});
  const std::string g = FunctionProto("G", {"a"}, {"b"}, {NodeProto("F", {"a"}, {"b"}, {}, "", "my")});
  const std::string plain = FunctionProto("G", {"a"}, {"b"}, {NodeProto("Neg", {"a"}, {"b"})});
  ExpectError(ModelProto(graph, 10, {f, g}), "expected functions that do not call themselves, found 'my.F'");
  ExpectError(ModelProto(graph, 10, {plain, plain}), "expected each function once, found 'my.G' twice");
  EXPECT_EQ(Load(ModelProto(graph, 10, {f, plain})).functions.size(), 2u);
  ExpectError(ModelProto(graph, 10, {FunctionProto("G", {"a"}, {"c"}, {NodeProto("Neg", {"a"}, {"b"})})}),
              "functions[0] 'G': expected 'c' to be an input");
  ExpectError(ModelProto(graph, 10, {FunctionProto("G", {"a"}, {"b"}, {NodeProto("Neg", {"x"}, {"b"})})}),
              "functions[0] 'G'.node[0] (Neg): expected 'x' to be");
}

TEST(LoadErrors, LimitsHowDeepFunctionsCallEachOther) {
  const auto chain = [](int length) {
    std::vector<std::string> functions = {FunctionProto("F0", {"a"}, {"b"}, {NodeProto("Neg", {"a"}, {"b"})})};
    for (int i = 1; i < length; ++i)
      functions.insert(functions.begin(),
                       FunctionProto("F" + std::to_string(i), {"a"}, {"b"},
                                     {NodeProto("F" + std::to_string(i - 1), {"a"}, {"b"}, {}, "", "my")}));
    return ModelProto(GraphProto(Simple()), 10, functions);
  };
  EXPECT_EQ(LoadError(chain(1000)), "");
  ExpectError(chain(1001), "expected function calls nested at most 1000 deep, found deeper ones at 'my.F0'");
}

TEST(LoadErrors, LimitsNestingAndSize) {
  std::string graph = GraphProto({.nodes = {NodeProto("Neg", {"x"}, {"o"})}, .outputs = {Floats("o", {})}});
  for (int i = 0; i < 20; ++i)
    graph = GraphProto({.nodes = {NodeProto("If", {"x"}, {"o"}, {GraphAttribute("then_branch", graph)})},
                        .outputs = {Floats("o", {})}});
  Parts parts = Simple();
  parts.nodes.push_back(NodeProto("If", {"x"}, {"z"}, {GraphAttribute("then_branch", graph)}));
  EXPECT_EQ(LoadError(ModelProto(GraphProto(parts))), "");
  for (int i = 0; i < 20; ++i)
    graph = GraphProto({.nodes = {NodeProto("If", {"x"}, {"o"}, {GraphAttribute("then_branch", graph)})},
                        .outputs = {Floats("o", {})}});
  parts.nodes.back() = NodeProto("If", {"x"}, {"z"}, {GraphAttribute("then_branch", graph)});
  ExpectError(ModelProto(GraphProto(parts)), "expected messages nested at most 100 deep");

  LoadOptions options;
  options.max_model_bytes = 10;
  const std::string found = ErrorOf([&] { Load(ModelProto(GraphProto(Simple())), options); });
  EXPECT_NE(found.find("expected a model of at most 10 bytes"), std::string::npos) << found;
}

}  // namespace
}  // namespace sardonyx::model
