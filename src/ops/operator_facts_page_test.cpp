// ops/operator_facts_page_test.cpp - docs/operator_facts.md agrees with the rows of the registry.
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

constexpr const char* kHead = R"(# What is said of each operator

This page is generated from the rows of the operator registry (`OpDef`, `src/ops/op_def.h`);
`SDX_UPDATE=1 build/release/bin/unit_tests --gtest_filter='OperatorFactsPage*'` renews it. The versions and types of the
operators are in [operators.md](operators.md).

*Arithmetic* is the number of operations that profiles give for a node (`cost`); *no number* where the definition gives
none. *Channels last* is what becomes of a node whose images lie [N, spatial..., C] in memory (`layout`); empty where the
operator works channels first only. *Spelling* is the oldest version, *rewritten* where older nodes are changed into the
newest form when a model is loaded (`upgrade`), and the opset from which a saved file needs another form (`spell`).
*Traits* are what the planner and the optimizer rely on.

)";

struct NamedFormula {
  CostFn* formula;
  std::string_view text;
};
constexpr NamedFormula kFormulas[] = {
    {nullptr, "no number"},
    {CountNothing, "none"},
    {CountPicked, "none, reads what it takes"},
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

std::string SpellingText(const OpDef& op) {
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
           << "\n\n| operator | arithmetic | channels last | spelling | traits |\n|---|---|---|---|---|\n";
    }
    const LayoutDef* layout = LayoutOf(*op);
    page << "| " << op->name << " | " << ArithmeticText(*op) << " | " << (layout != nullptr ? layout->summary : "")
         << " | " << SpellingText(*op) << " | " << TraitsText(*op) << " |\n";
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
