// ops/schema/schema_test.cpp - the generated schema table: lookups by version, parameters, types, defaults, function
// bodies.
#include "ops/schema/schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace sardonyx::ops {
namespace {

TEST(Schema, FindsTheNewestVersionThatIsNotNewerThanTheOpset) {
  EXPECT_EQ(FindSchema("", "Softmax", 1)->since_version, 1);
  EXPECT_EQ(FindSchema("", "Softmax", 10)->since_version, 1);
  EXPECT_EQ(FindSchema("", "Softmax", 11)->since_version, 11);
  EXPECT_EQ(FindSchema("ai.onnx", "Softmax", 12)->since_version, 11);
  EXPECT_EQ(FindSchema("", "Softmax", 99)->since_version, 13);
  EXPECT_EQ(FindSchema("", "Erf", 8), nullptr);
  EXPECT_EQ(FindSchema("", "Sotfmax", 20), nullptr);
  EXPECT_EQ(FindSchema("no.such.domain", "Softmax", 20), nullptr);
}

TEST(Schema, KnowsDeprecatedAndRuntimeOnlyOperators) {
  EXPECT_TRUE(FindSchema("", "Upsample", 10)->deprecated());
  EXPECT_FALSE(FindSchema("", "Upsample", 9)->deprecated());
  EXPECT_TRUE(FindSchema("", "SimplifiedLayerNormalization", 17)->runtime_only());
  EXPECT_FALSE(FindSchema("", "LayerNormalization", 17)->runtime_only());
  EXPECT_NE(FindSchema("com.microsoft", "MatMulNBits", 1), nullptr);
}

TEST(Schema, DescribesParameters) {
  const OpSchema& conv = *FindSchema("", "Conv", 22);
  ASSERT_EQ(conv.inputs().size(), 3u);
  EXPECT_EQ(conv.inputs()[2].name(), "B");
  EXPECT_EQ(conv.inputs()[2].option, ParamOption::kOptional);
  EXPECT_EQ(conv.inputs()[2].type(), "T");
  EXPECT_EQ(conv.inputs()[2].constraint, 0);
  EXPECT_EQ(conv.min_inputs, 2);
  EXPECT_EQ(conv.max_inputs, 3);
  EXPECT_EQ(conv.Input(3), nullptr);
  EXPECT_TRUE(conv.inputs()[0].types().Contains(DType::kBFloat16));
  EXPECT_FALSE(conv.inputs()[0].types().Contains(DType::kInt32));
  EXPECT_TRUE(conv.inputs()[0].types().HasOnlyTensors());

  const OpSchema& concat = *FindSchema("", "Concat", 13);
  EXPECT_EQ(concat.max_inputs, kUnlimited);
  EXPECT_EQ(concat.Input(7)->option, ParamOption::kVariadic);
  EXPECT_TRUE(concat.Input(7)->homogeneous);
  EXPECT_FALSE(FindSchema("", "Loop", 21)->inputs().back().homogeneous);

  const FormalParam& shape = FindSchema("", "Reshape", 21)->inputs()[1];
  EXPECT_EQ(shape.type(), "tensor(int64)");
  EXPECT_EQ(shape.constraint, -1);
  EXPECT_EQ(shape.types().ToText(), "tensor(int64)");
}

TEST(Schema, TypeSetsKnowEveryKindOfType) {
  const TypeSet& identity = FindSchema("", "Identity", 25)->inputs()[0].types();
  const Type floats = Type::TensorOf(DType::kFloat);
  EXPECT_TRUE(identity.Contains(floats));
  EXPECT_TRUE(identity.Contains(Type::SequenceOf(floats)));
  EXPECT_TRUE(identity.Contains(Type::OptionalOf(floats)));
  EXPECT_TRUE(identity.Contains(Type::OptionalOf(Type::SequenceOf(floats))));
  EXPECT_FALSE(identity.Contains(Type::SequenceOf(Type::SequenceOf(floats))));
  EXPECT_FALSE(identity.Contains(Type::MapOf(DType::kInt64, floats)));
  EXPECT_FALSE(identity.Contains(Type{}));
  EXPECT_FALSE(identity.HasOnlyTensors());

  const TypeSet& zip_map = FindSchema("ai.onnx.ml", "ZipMap", 1)->outputs()[0].types();
  EXPECT_TRUE(zip_map.Contains(Type::SequenceOf(Type::MapOf(DType::kString, floats))));
  EXPECT_EQ(zip_map.ToText(), "seq(map(int64, float)), seq(map(string, float))");
  EXPECT_TRUE(FindSchema("ai.onnx.ml", "CastMap", 1)
                  ->inputs()[0]
                  .types()
                  .Contains(Type::MapOf(DType::kInt64, Type::TensorOf(DType::kString))));
}

TEST(Schema, GivesDefaultsOfEveryKind) {
  const auto value = [](std::string_view op, std::string_view attribute) {
    return FindSchema("", op)->FindAttribute(attribute)->DefaultValue();
  };
  EXPECT_EQ(std::get<float>(value("LeakyRelu", "alpha")), 0.01f);
  EXPECT_EQ(std::get<std::int64_t>(value("Softmax", "axis")), -1);
  EXPECT_EQ(std::get<std::string>(value("Conv", "auto_pad")), "NOTSET");
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(value("MeanVarianceNormalization", "axes")),
            (std::vector<std::int64_t>{0, 2, 3}));
  EXPECT_EQ(std::get<std::vector<std::string>>(value("RNN", "activations")),
            (std::vector<std::string>{"Tanh", "Tanh"}));
  EXPECT_EQ(AttributeTypeOf(value("Conv", "kernel_shape")), 0);
  EXPECT_TRUE(FindSchema("", "Cast")->FindAttribute("to")->required);
  EXPECT_EQ(FindSchema("", "Cast")->FindAttribute("two"), nullptr);
  EXPECT_EQ(FindSchema("", "If")->FindAttribute("then_branch")->type, 5);
}

TEST(Schema, TheTableIsSortedAndComplete) {
  std::set<std::string> seen;
  for (const OpSchema& s : AllSchemas()) {
    EXPECT_TRUE(
        seen.insert(std::string(s.domain()) + " " + std::string(s.name()) + std::to_string(s.since_version)).second);
    EXPECT_EQ(FindSchema(s.domain(), s.name(), s.since_version), &s) << s.name();
    EXPECT_LE(s.min_inputs, s.max_inputs) << s.name();
    for (const FormalParam& p : s.inputs()) EXPECT_FALSE(p.types() == TypeSet{}) << s.name() << " " << p.name();
  }
  EXPECT_EQ(NewestOpset(""), 28);
  EXPECT_EQ(NewestOpset("ai.onnx"), 28);
  EXPECT_EQ(NewestOpset("com.microsoft"), 1);
  EXPECT_EQ(NewestOpset("my.domain"), 0);
  const std::vector<std::string> names = AllOpTypes("ai.onnx");
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::count(names.begin(), names.end(), "Softmax"), 1);
}

TEST(Schema, EveryFunctionBodyParsesAndDefinesItsOutputs) {
  int bodies = 0;
  for (const OpSchema& s : AllSchemas()) {
    if (!s.has_function_body()) {
      EXPECT_FALSE(FunctionBody(s));
      continue;
    }
    const std::optional<Function> body = FunctionBody(s);
    ASSERT_TRUE(body) << s.name();
    ++bodies;
    EXPECT_EQ(body->name, s.name());
    EXPECT_EQ(body->body.inputs.size(), s.inputs().size()) << s.name();
    EXPECT_EQ(body->body.outputs.size(), s.outputs().size()) << s.name();
    for (const ValueId out : body->body.outputs) EXPECT_NE(body->body.value(out).producer, kNoNode) << s.name();
    for (const Attribute& a : body->attribute_defaults) EXPECT_NE(AttributeTypeOf(a.value), 0) << s.name();
  }
  EXPECT_GT(bodies, 40);
}

TEST(Schema, FunctionBodiesComeInTheOpsetAskedFor) {
  const OpSchema& mvn = *FindSchema("", "MeanVarianceNormalization", 13);
  EXPECT_EQ(FunctionBody(mvn, 13)->body.OpsetVersion(""), 13);
  EXPECT_EQ(FunctionBody(mvn, 17)->body.OpsetVersion(""), 13);
  EXPECT_EQ(FunctionBody(mvn)->body.OpsetVersion(""), 18);
  ASSERT_EQ(FunctionBody(mvn)->attribute_defaults.size(), 1u);
}

}  // namespace
}  // namespace sardonyx::ops
