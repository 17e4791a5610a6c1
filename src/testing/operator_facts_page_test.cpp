// testing/operator_facts_page_test.cpp - compares docs/operator_facts.md with the rows of the registry.
//
// SDX_UPDATE=1 in the environment updates the page.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "ops/cost_context.h"
#include "ops/layout.h"
#include "ops/registry.h"
#include "testing/generated_page.h"

namespace sardonyx::ops {
namespace {

constexpr const char* kHead = R"(# Facts about each operator

This page is generated from the rows of the operator registry (`OpDef`, `src/ops/op_def.h`);
`SDX_UPDATE=1 build/release/bin/unit_tests --gtest_filter='OperatorFactsPage*'` renews it. The versions and types of the
operators are in [operators.md](operators.md).

- **arithmetic** is how profiles count the operations of a node (`cost`); *not counted* means that profiles show none.
- **channels last** says how a node changes when its images are stored as [N, spatial..., C] (`layout`). Without an
  entry, the operator works only on images with channels first.
- **forms** begins with the oldest version of the operator. *Rewritten*: older nodes are changed into the newest form
  when a model is loaded (`upgrade`). *Another form in files from opset n*: a saved model with this opset or a newer one
  contains the operator in another form (`spell`).
- **traits** are properties that the planner and the optimizer rely on.

)";

struct NamedFormula {
  CostFn* formula;
  std::string_view text;
};
constexpr NamedFormula kFormulas[] = {
    {nullptr, "not counted"},
    {CountNothing, "none"},
    {CountPicked, "none; reads only what it selects"},
    {CountOncePerInput, "1 for each input element"},
    {CountOncePerOutput, "1 for each output element"},
    {CountTwicePerOutput, "2 for each output element"},
    {CountNormalization, "8 for each input element"},
    {CountProduct, "matrix product"},
    {CountConvolution, "convolution"},
    {CountQuantizedConvolution, "convolution"},
};

struct NamedTrait {
  Traits trait;
  std::string_view text;
};
constexpr NamedTrait kTraits[] = {
    {kElementwise, "elementwise"},
    {kCommutative, "commutative"},
    {kView, "view"},
    {kMayAlias, "in place"},
    {kMovesElements, "moves elements"},
    {kShapeOnly, "reads the shape only"},
    {kSizedByElements, "sized by elements"},
    {kPacksWeights, "packs weights"},
    {kRandom, "random"},
    {kNoFold, "not folded"},
};

std::string ArithmeticText(const OpDef& op) {
  CostFn* const formula = CostFnOf(op);
  for (const NamedFormula& named : kFormulas)
    if (named.formula == formula) return std::string(named.text);
  return "a formula of its own";
}

std::string FormsText(const OpDef& op) {
  std::string text = std::to_string(*op.since.begin());
  if (op.upgrade != nullptr) text += ", rewritten";
  if (op.spell.rewrite != nullptr) text += "; another form in files from opset " + std::to_string(op.spell.opset);
  return text;
}

std::string TraitsText(const OpDef& op) {
  std::string text;
  for (const NamedTrait& named : kTraits)
    if ((op.traits & named.trait) != 0) text.append(text.empty() ? "" : ", ").append(named.text);
  return text;
}

std::string Page(const Registry& registry) {
  std::ostringstream page;
  page << kHead;
  std::string_view domain = "none yet";
  for (const OpDef* op : registry.All()) {
    if (op->domain != domain) {
      domain = op->domain;
      page << "\n## " << (domain.empty() ? "ai.onnx" : domain)
           << "\n\n| operator | arithmetic | channels last | forms | traits |\n|---|---|---|---|---|\n";
    }
    const LayoutDef* layout = LayoutOf(*op);
    page << "| " << op->name << " | " << ArithmeticText(*op) << " | " << (layout != nullptr ? layout->summary : "")
         << " | " << FormsText(*op) << " | " << TraitsText(*op) << " |\n";
  }
  return page.str();
}

TEST(OperatorFactsPage, SaysWhatTheRowsSay) {
  testing::ExpectPage(SDX_SOURCE_DIR, "docs/operator_facts.md", Page(Registry()));
}

// A field that is left out must be meant: no table elsewhere fills it in.
TEST(OperatorFacts, ARowThatOnlyMovesElementsSaysThatItComputesNothing) {
  const Registry registry;
  for (const OpDef* op : registry.All()) {
    if ((op->traits & (kView | kMovesElements | kElementwise)) != 0) {
      EXPECT_NE(CostFnOf(*op), nullptr) << op->domain << " " << op->name;
    }
    if (const LayoutDef* layout = LayoutOf(*op)) {
      EXPECT_NE(layout->describe, nullptr) << op->name;
      EXPECT_FALSE(layout->summary.empty()) << op->name;
    }
    if (op->spell.rewrite != nullptr) {
      EXPECT_GT(op->spell.opset, 0) << op->name;
    }
  }
}

}  // namespace
}  // namespace sardonyx::ops
