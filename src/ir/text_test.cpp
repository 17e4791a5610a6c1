// ir/text_test.cpp - what is printed is read back as the same model, and what is not a model is refused with line and
// column.
#include "ir/text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "ir/verify.h"

namespace sardonyx {
namespace {

std::string FailureOf(std::string_view text, bool model = false) {
  try {
    model ? static_cast<void>(ParseModel(text)) : static_cast<void>(ParseGraph(text));
  } catch (const Error& error) {
    const Code code = error.code();
    EXPECT_TRUE(code == Code::kInvalidGraph || code == Code::kFail || code == Code::kNotImplemented);
    return error.what();
  }
  return "no failure";
}

// The attribute `a` of the only node of a graph with the attribute list `attributes`.
AttributeValue AttributeOf(const std::string& attributes) {
  const Graph graph = ParseGraph("g (float x) => (y) { y = Op <" + attributes + "> (x) }");
  return *graph.node(0).FindAttribute("a");
}

Tensor DataOf(const std::string& initializer) {
  const Graph graph = ParseGraph("g () => (w) <" + initializer + "> {}");
  return *graph.value(*graph.Find("w")).constant();
}

constexpr std::string_view kModel = R"(<
  ir_version: 8,
  opset_import: ["" : 18, "local" : 1, "my-domain" : 2],
  producer_name: "a \"quoted\" \\ name",
  producer_version: "1",
  domain: "d",
  model_version: 3,
  doc_string: "two
lines # no comment",
  metadata_props: ["k": "v", "": ""]
>
"main/graph" (float[batch,"seq + 1",?,3] x, float[] any, float scalar, int64[2] with_default = {1, -2}, float[N] symbolic, seq(float[2]) s, map(string, float[]) m, optional(seq(float[])) o, sparse_tensor(float[2,2]) sp, untyped, "seq") => (float[N] y, "z/1") <
  float[3] symbolic = {1, 2, 3},
  float[2] w = {0.1, -nan},
  float c = {0.5},
  int4[3] packed = {33, 3},
  float[0] empty = {},
  string[2] strings = {"a\"b\\c", ""},
  complex64[2] complex = {1, 2, 3, 4},
  double[4] doubles = {inf, -inf, 0.1, 1e-300},
  float16[2] half = {15360, 31744},
  bool[2] flags = {1, 0},
  uint64[1] big = {18446744073709551615},
  float[N] t,
  float "a b"
> {
  [first] t = Mul(x, w)
  ["n/2"] "a b", "", inner = local.f:over <alpha = 2.0, beta: ints = [], g: string = ""> (t, "", c)
  y, "z/1" = If(flags) <then_branch = then () => (float[N] t1, t) <float k = {1}> {
    t1 = Add(x, k)
  }, else_branch = else () => (t2, t3) {
    t2, t3 = Loop(x) <body = b () => (r) {
      r = Neg("a b")
    }>
  }>
  = "my-domain"."odd op"() <i = -9223372036854775808, f = 1e-05, s = "text", t = float[2] {1, 2.5}, tp = seq(float[N]), fs = [1.0, inf], is = [1, 2], ss = ["a", ""], gs = [g1 () => (x) {
  }, "g 2" () => (x) {
  }], ts = [float {1}, int64[1] {2}], tps = [float[2], optional(int64)], sparse = sparse_tensor(float[3,4]) {1, 2} int64[2] {3, 11}, "odd name" = 1>
}
<
  domain: "local",
  opset_import: ["" : 17],
  overload: "over",
  doc_string: "doc"
>
f <alpha, gamma, beta = [1, 2], delta = 0.5> (a, b, c) => (x, y, z) {
  x = Elu <alpha: float = @alpha> (a)
  y = Identity <any = @gamma> (b)
  z = If(c) <then_branch = g () => (a) {
  }, else_branch = h () => (x) {
  }>
}
)";

TEST(Text, AModelWithEverythingIsPrintedAsItWasWritten) {
  const Model model = ParseModel(kModel);
  Verify(model.graph);
  EXPECT_EQ(ToText(model), kModel);
  EXPECT_EQ(ToText(ParseModel(ToText(model))), kModel);
}

TEST(Text, TheModelHasWhatTheTextSays) {
  const Model model = ParseModel(kModel);
  EXPECT_EQ(model.ir_version, 8);
  EXPECT_EQ(model.opset_imports.size(), 3u);
  EXPECT_EQ(model.producer_name, "a \"quoted\" \\ name");
  EXPECT_EQ(model.metadata.front(), (std::pair<std::string, std::string>("k", "v")));
  const Graph& graph = model.graph;
  EXPECT_EQ(graph.name, "main/graph");
  EXPECT_EQ(graph.OpsetVersion(""), 18);
  EXPECT_EQ(graph.OpsetVersion("ai.onnx"), 18);
  const auto value = [&](const char* name) -> const ValueInfo& { return graph.value(*graph.Find(name)); };
  EXPECT_EQ(value("x").type.ToText(), "float[batch,\"seq + 1\",?,3]");
  EXPECT_TRUE(SameDim(value("x").type.dims[1], Dim::Symbol("seq") + 1));
  EXPECT_TRUE(value("untyped").type.is_none());
  EXPECT_EQ(value("with_default").initializer->kind, Initializer::Kind::kInputDefault);
  EXPECT_EQ(value("symbolic").initializer->kind, Initializer::Kind::kInputDefault);
  EXPECT_EQ(value("c").constant()->count(), 1);
  EXPECT_TRUE(std::isnan(value("w").constant()->data<float>()[1]));
  EXPECT_EQ(value("t").type.ToText(), "float[N]");
  const Node& call = graph.node(1);
  EXPECT_EQ(call.name, "n/2");
  EXPECT_EQ(call.domain, "local");
  EXPECT_EQ(call.overload, "over");
  EXPECT_EQ(call.outputs[1], kNoValue);
  EXPECT_EQ(call.inputs[1], kNoValue);
  const Node& branch = graph.node(2);
  ASSERT_EQ(branch.Subgraphs().size(), 2u);
  EXPECT_EQ(branch.Subgraphs()[1]->OpsetVersion("local"), 1);
  EXPECT_EQ(branch.implicit_inputs.size(), 3u);  // t, x, "a b"
  ASSERT_EQ(model.functions.size(), 1u);
  const Function& f = *model.FindFunction("local", "f", "over");
  EXPECT_EQ(f.attributes, (std::vector<std::string>{"alpha", "gamma"}));
  EXPECT_EQ(f.attribute_defaults.size(), 2u);
  EXPECT_EQ(f.body.OpsetVersion(""), 17);
  EXPECT_EQ(f.body.node(2).Subgraphs()[0]->OpsetVersion(""), 17);
  EXPECT_EQ(std::get<AttributeReference>(*f.body.node(0).FindAttribute("alpha")).type, 1);
}

TEST(Text, AGraphIsPrintedByItsStructure) {
  const Graph graph = ParseGraph("g (float[4] x) => (float[4] y) <float c = {0.5}> { [n] t = Mul(x, c) y = Relu(t) }");
  EXPECT_EQ(ToText(graph), "g (float[4] x) => (float[4] y) <float c = {0.5}> {\n  t = Mul(x, c)\n  y = Relu(t)\n}\n");
  EXPECT_EQ(ToText(graph, {}),
            "g (float[4] x) => (float[4] y) <float c = {0.5}> {\n  [n] t = Mul(x, c)\n  y = Relu(t)\n}\n");
  EXPECT_GT(graph.OpsetVersion(""), 20);
  EXPECT_EQ(ToText(ParseGraph("empty () => () {}")), "empty () => () {\n}\n");
}

TEST(Text, GraphsImportTheDomainsTheyUse) {
  const Graph graph = ParseGraph("g (x) => (y) { t = com.microsoft.Gelu(x) y = ai.onnx.ml.Scaler(t) }");
  EXPECT_EQ(graph.OpsetVersion("com.microsoft"), 1);
  EXPECT_EQ(graph.OpsetVersion("ai.onnx.ml"), 5);
}

TEST(Text, NodesMayComeInAnyOrder) {
  const Graph graph =
      ParseGraph("g (x) => (y) { y = Relu(t) t = If(x) <b = i () => (z) { z = Neg(w) w = Abs(u) }> u = Exp(x) }");
  EXPECT_EQ(ToText(graph),
            "g (x) => (y) {\n  u = Exp(x)\n  t = If(x) <b = i () => (z) {\n    w = Abs(u)\n    z = Neg(w)\n  }>\n"
            "  y = Relu(t)\n}\n");
}

TEST(Text, LargeTensorsAreOnlyNamed) {
  const Graph graph =
      ParseGraph("g () => (w, y) <int32[3] w = {1, 2, 3}> { y = Constant <value = int32[3] {4, 5, 6}> () }");
  TextOptions options;
  options.max_elements = 2;
  EXPECT_EQ(ToText(graph, options),
            "g () => (int32[3] w, y) <\n  int32[3] w  # 3 elements are not shown\n> {\n"
            "  y = Constant <value = int32[3] {}  # 3 elements are not shown\n  > ()\n}\n");
  EXPECT_EQ(FailureOf(ToText(graph, options)), "line 4, column 25: expected 3 elements for int32[3], found 0");
}

TEST(Text, MissingInputsMayBeWrittenInTwoWays) {
  const Graph graph = ParseGraph("g (x, y) => (z) { , z, = Op(, x, \"\", y,) a = Op(,) b = Op() }");
  EXPECT_EQ(ToText(graph), "g (x, y) => (z) {\n  \"\", z = Op(\"\", x, \"\", y)\n  a = Op(\"\")\n  b = Op()\n}\n");
}

TEST(Text, AttributesTakeTheTypeOfTheirValueOrTheStatedOne) {
  EXPECT_EQ(std::get<std::int64_t>(AttributeOf("a = 1")), 1);
  EXPECT_EQ(std::get<float>(AttributeOf("a = 1.0")), 1.0f);
  EXPECT_EQ(std::get<float>(AttributeOf("a: float = 1")), 1.0f);
  EXPECT_TRUE(std::signbit(std::get<float>(AttributeOf("a: float = -0"))));
  EXPECT_TRUE(std::isnan(std::get<float>(AttributeOf("a = NaN"))));
  EXPECT_EQ(std::get<float>(AttributeOf("a = -Infinity")), -INFINITY);
  EXPECT_EQ(std::get<float>(AttributeOf("a = 1e-50")), 0.0f);
  EXPECT_EQ(std::get<float>(AttributeOf("a = 1e-45")), 0x1p-149f);
  EXPECT_EQ(std::get<float>(AttributeOf("a = 1e-99999")), 0.0f);
  EXPECT_EQ(std::get<std::vector<float>>(AttributeOf("a = [1, 2.5]")), (std::vector<float>{1, 2.5f}));
  EXPECT_EQ(std::get<std::vector<float>>(AttributeOf("a: floats = [1, 2]")), (std::vector<float>{1, 2}));
  EXPECT_TRUE(std::get<std::vector<Tensor>>(AttributeOf("a: tensors = []")).empty());
  EXPECT_EQ(std::get<Type>(AttributeOf("a = float[N]")).ToText(), "float[N]");
  EXPECT_EQ(std::get<Tensor>(AttributeOf("a = float named = {3}")).data<float>()[0], 3.0f);
  EXPECT_EQ(std::get<Tensor>(AttributeOf("a: tensor = float \"na med\" {3}")).count(), 1);
  const auto sparse = std::get<SparseTensor>(AttributeOf("a = sparse_tensor(float[2,2]) {7} int64[1,2] {0, 1}"));
  EXPECT_EQ(sparse.indices.shape(), (Shape{1, 2}));
}

TEST(Text, TensorsOfEveryTypeKeepTheirBits) {
  const std::pair<const char*, std::vector<int>> cases[] = {
      {"float16[2] w = {1, 2.0}", {1, 0, 0, 0x40}},
      {"bfloat16[1] w = {1.0}", {0x80, 0x3f}},
      {"float8e4m3fn[3] w = {255, 1.0, -inf}", {0xff, 0x38, 0xfe}},
      {"float8e4m3fnuz[1] w = {1.0}", {0x40}},
      {"float8e5m2[1] w = {1.0}", {0x3c}},
      {"float8e5m2fnuz[1] w = {1.0}", {0x40}},
      {"float8e8m0[2] w = {4.0, 1}", {129, 1}},
      {"float4e2m1[3] w = {1.0, 6.0, -0.5}", {0x72, 0x09}},
      {"int4[3] w = {33, 3}", {33, 3}},
      {"int4[3] w = {1, -2, 3}", {0xe1, 3}},
      {"int4[1] w = {-1}", {0x0f}},
      {"int4[1] w = {15}", {0x0f}},
      {"uint4[2] w = {15, 1}", {0x1f}},
      {"uint2[5] w = {3, 0, 1, 2, 3}", {0x93, 3}},
      {"int2[4] w = {-1, -2, 1, 0}", {0x1b}},
      {"int2[4] w = {27}", {27}},
      {"int8[2] w = {-128, 127}", {0x80, 0x7f}},
      {"uint8[2] w = {0, 255}", {0, 255}},
      {"int16[1] w = {-2}", {0xfe, 0xff}},
      {"uint16[1] w = {65535}", {0xff, 0xff}},
      {"int32[1] w = {-2147483648}", {0, 0, 0, 0x80}},
      {"uint32[1] w = {4294967295}", {255, 255, 255, 255}},
      {"int64[1] w = {-1}", {255, 255, 255, 255, 255, 255, 255, 255}},
      {"uint64[1] w = {18446744073709551615}", {255, 255, 255, 255, 255, 255, 255, 255}},
      {"bool[2] w = {1, 0}", {1, 0}},
      {"float w = {-0}", {0, 0, 0, 0x80}},
      {"double[1] w = {1}", {0, 0, 0, 0, 0, 0, 0xf0, 0x3f}},
      {"complex64[1] w = {0, 1}", {0, 0, 0, 0, 0, 0, 0x80, 0x3f}},
      {"complex128[1] w = {0, 1}", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f}},
  };
  for (const auto& [text, bytes] : cases) {
    const Tensor tensor = DataOf(text);
    const auto* raw = static_cast<const std::uint8_t*>(tensor.raw());
    EXPECT_EQ(std::vector<int>(raw, raw + tensor.byte_size()), bytes) << text;
    const std::string printed = ToText(ParseGraph(std::string("g () => () <") + text + "> {}"));
    EXPECT_EQ(ToText(ParseGraph(printed)), printed) << text;
  }
}

TEST(Text, FailuresNamePlaceAndWhatWasExpected) {
  EXPECT_EQ(FailureOf(""), "line 1, column 1: expected the name of the graph, found the end of the text");
  EXPECT_EQ(FailureOf("g (x) => (y)\n{\n  y = Relu(x # )\n"),
            "line 4, column 1: expected ')' or ',' after an input of a node, found the end of the text");
  EXPECT_EQ(FailureOf("g (float[2 x) => () {}"), "line 1, column 12: expected ']' or ',' after a dimension, found 'x'");
  EXPECT_EQ(FailureOf("g (float[-1] x) => () {}"), "line 1, column 10: expected a dimension of at least 0, found '-1'");
  EXPECT_EQ(FailureOf("g (hidden) => (y) {\n  y = Relu(hiden)\n}"),
            "line 2, column 12: expected the name of a value of graph 'g', found 'hiden'; did you mean 'hidden'?");
  EXPECT_EQ(FailureOf("g (x) => (y) {\n  y = If(x) <b = i () => (z) { z = Neg(q) }>\n}"),
            "line 2, column 3: expected the subgraphs of this node to use values of graph 'g' or their own, found 'q'");
  EXPECT_EQ(FailureOf("g (x) => (y) { y = Relu(x) y = Relu(x) }"),
            "line 1, column 28: expected each value of graph 'g' to be defined once, found 'y' again");
  EXPECT_EQ(FailureOf("g (x) => (z) { y = Relu(x) }"),
            "line 1, column 11: expected the name of a value of graph 'g', found 'z'; did you mean 'x'?");
  EXPECT_EQ(FailureOf("g (x) => (y) { y = Relu(z) z = Relu(y) }"),
            "expected a graph without cycles, found a cycle of 2 nodes: node #1 (Relu, output 'z') <- node #0 (Relu, "
            "output 'y')");
  EXPECT_EQ(FailureOf("g () => (w) <int8[2] w = {1, 128}> {}"),
            "line 1, column 30: expected an element of type int8, found '128'");
  EXPECT_EQ(FailureOf("g () => (w) <int8[2] w = {1}> {}"),
            "line 1, column 14: expected 2 elements for int8[2], found 1");
  EXPECT_EQ(FailureOf("g () => (w) <int8[4611686018427387904,4] w = {1}> {}"),
            "line 1, column 14: expected more elements for int8[4611686018427387904,4], found 1");
  EXPECT_EQ(FailureOf("g () => (w) <int4[3] w = {1}> {}"),
            "line 1, column 14: expected 3 elements for int4[3], found 1");
  EXPECT_EQ(FailureOf("g () => (w) <int4[3] w = {1, 2, 8}> {}"),
            "line 1, column 33: expected an element of type int4, found '8'");
  EXPECT_EQ(FailureOf("g () => (w) <float w = {1e39}> {}"),
            "line 1, column 25: expected an element of type float, found '1e39'");
  EXPECT_EQ(FailureOf("g () => (w) <float[N] w = {1}> {}"),
            "line 1, column 14: expected a tensor type whose dimensions are numbers before its data, found float[N]");
  EXPECT_EQ(FailureOf("g () => (w) <string w = {\"a}> {}"),
            "line 1, column 26: expected a string that ends in '\"', found the end of the text");
  EXPECT_EQ(FailureOf("g () => (w) <float[1] w = [\"location\": \"f\"]> {}"),
            "line 1, column 27: expected elements in braces, found external data, which text cannot load");
  EXPECT_EQ(FailureOf("g (x) => (y) { y = Op <a = 1, a = 2> (x) }"),
            "line 1, column 31: expected each attribute once, found 'a' again");
  EXPECT_EQ(FailureOf("g (x) => (y) { y = Op <a = []> (x) }"),
            "line 1, column 28: expected the type of an empty list (name: ints = []), found none");
  EXPECT_EQ(FailureOf("g (x) => (y) { y = Op <a: ints = [1.5]> (x) }"),
            "line 1, column 35: expected an element of type int, found '1.5'");
  EXPECT_EQ(FailureOf("g (x) => (y) { y = Op <a: ints = 1> (x) }"),
            "line 1, column 34: expected a value of type ints for attribute 'a', found one of type int");
  EXPECT_EQ(FailureOf("g (x) => (y) { y = Op <a = 9223372036854775808> (x) }"),
            "line 1, column 28: expected an integer of 64 bits, found '9223372036854775808'");
  EXPECT_EQ(FailureOf("g () => () {} more"),
            "line 1, column 15: expected the end of the text after the graph, found 'more'");
  EXPECT_EQ(
      FailureOf("<ir_versio: 8> g () => () {}", true),
      "line 1, column 2: expected ir_version, opset_import, producer_name, producer_version, domain, model_version, "
      "doc_string or metadata_props, found 'ir_versio'");
  EXPECT_EQ(FailureOf("g (opaque(a) x) => () {}"),
            "line 1, column 4: expected a type, found an opaque one, which is not supported");
}

TEST(Text, DeepNestingIsRefused) {
  std::string type, graph = "g (x) => (y) { y = ", close = "}";
  for (int i = 0; i < 100000; ++i) type += "seq(";
  EXPECT_NE(FailureOf("g (" + type).find("expected at most 100 levels of nesting"), std::string::npos);
  for (int i = 0; i < 100000; ++i) graph += "If(x) <a = g () => (y) { y = ";
  EXPECT_NE(FailureOf(graph).find("expected at most 100 levels of nesting"), std::string::npos);
  std::string fine = "g (x) => (y) { y = ";
  for (int i = 0; i < 98; ++i) {
    fine += "If(x) <a = g () => (y) { y = ";
    close += "> }";
  }
  EXPECT_EQ(ParseGraph(fine + "Neg(x) " + close).nodes.size(), 1u);
}

}  // namespace
}  // namespace sardonyx
