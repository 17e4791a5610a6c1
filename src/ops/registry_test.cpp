// ops/registry_test.cpp - which operator a node means where custom operators are registered.
#include "ops/registry.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/text.h"
#include "ops/infer.h"
#include "ops/schema/schema.h"

namespace sardonyx::ops {
namespace {

constexpr OpDef kScale1 = {.domain = "mine", .name = "Scale", .since = {1}, .traits = kCustom};
constexpr OpDef kScale3 = {.domain = "mine", .name = "Scale", .since = {3}, .traits = kCustom};

// Without one, nothing refuses a node whose required inputs are missing.
TEST(Registry, EveryOperatorHasASchema) {
  const Registry registry;
  for (const OpDef* op : registry.All())
    for (const int since : op->since)
      EXPECT_NE(FindSchema(op->domain, op->name, since), nullptr) << op->domain << "." << op->name << "-" << since;
}

TEST(Registry, FindsTheNewestCustomOperatorUpToTheImport) {
  Registry registry;
  registry.AddCustom(kScale3, "mine");
  registry.AddCustom(kScale1, "mine");
  EXPECT_EQ(registry.FindCustom("mine", "Scale", 1), &kScale1);
  EXPECT_EQ(registry.FindCustom("mine", "Scale", 2), &kScale1);
  EXPECT_EQ(registry.FindCustom("mine", "Scale", 3), &kScale3);
  EXPECT_EQ(registry.FindCustom("mine", "Scale", 100), &kScale3);
  EXPECT_EQ(registry.FindCustom("mine", "Scale", 0), &kScale3);  // the model does not import the domain
  EXPECT_EQ(registry.FindCustom("mine", "Other", 3), nullptr);
  EXPECT_EQ(registry.FindCustom("", "Relu", 17), nullptr);
}

TEST(Registry, CopiesKnowTheCustomOperatorsAndTheOriginalDoesNotLearnTheirs) {
  const Registry built_in;
  Registry copy = built_in;
  copy.AddCustom(kScale1, "mine");
  EXPECT_EQ(built_in.FindCustom("mine", "Scale", 1), nullptr);
  EXPECT_EQ(Registry(copy).FindCustom("mine", "Scale", 1), &kScale1);
  EXPECT_EQ(copy.Find("", "Relu", 14), built_in.Find("", "Relu", 14));
}

TEST(Registry, KeepsTheOperatorsThatCustomOnesReplaceApart) {
  const std::string domain = ReplacingDomain("ai.onnx");
  EXPECT_EQ(domain, ReplacingDomain(""));
  EXPECT_EQ(AuthorsDomain(domain), "");
  EXPECT_EQ(AuthorsDomain(ReplacingDomain("com.microsoft")), "com.microsoft");
  EXPECT_EQ(AuthorsDomain("mine"), "mine");
  const OpDef relu = {.domain = domain, .name = "Relu", .since = {1}, .traits = kCustom};
  Registry registry;
  registry.AddCustom(relu, "");
  Graph graph = ParseGraph("g (float[n] x) => (float[n] y) { y = Relu (x) }");
  ResolveVersions(graph, registry, Model{});
  const Node& node = graph.node(graph.order[0]);
  EXPECT_EQ(registry.Find(node.domain, node.op_type, node.since_version), &relu);
  EXPECT_NE(registry.Find("", "Relu", 14), &relu);  // for what passes add
}

TEST(Registry, AVersionBeforeTheFirstIsAnError) {
  Registry registry;
  registry.AddCustom(kScale3, "mine");
  Model model = ParseModel(
      "<ir_version: 8, opset_import: [\"\": 17, \"mine\": 2]> g (float[n] x) => (float[n] y) { y = mine.Scale (x) }");
  try {
    ResolveVersions(model.graph, registry, model);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidGraph);
    EXPECT_NE(std::string(error.what()).find("exists since version 3"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace sardonyx::ops
