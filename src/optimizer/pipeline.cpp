// optimizer/pipeline.cpp - the order of the passes, and the loop that runs them.
#include "optimizer/pipeline.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>

#include "base/limits.h"
#include "ir/verify.h"
#include "optimizer/passes.h"
#include "optimizer/quantization_passes.h"
#include "optimizer/unused_constants.h"

namespace sardonyx::optimizer {
namespace {

// Constants first: what is constant decides what the other passes see. Dead nodes last: every pass leaves some.
constexpr const Pass* kBeforeUpgrade[] = {
    &kFoldConstants, &kEliminateIdentity, &kFuseConvBatchNorm, &kFuseConvScale, &kEliminateDeadNodes,
};

// Upgrading turns attributes into constants and may leave foldable nodes behind.
constexpr const Pass* kAfterUpgrade[] = {
    &kWidenHalf,  // first: what follows is written for float
    // Integers where the model says so; what stays of quantized constants becomes float then.
    &kEliminateCommonSubexpressions,
    &kQuantizeActivations,
    &kMoveQuantization,
    &kFuseQuantizedProduct,
    &kFuseLookup,  // before the operators of two tensors: what depends on one is a table
    &kFuseQuantizedOperator,
    &kFuseDynamicQuantization,
    &kFoldQuantizedConstants,
    // Clean-ups that the fusions rely on: one node for one value, shapes known, views short.
    &kFoldShapes,
    &kSimplifyNodes,
    &kMergeViews,
    &kMoveViews,
    &kMergeViews,
    &kEliminateCommonSubexpressions,
    &kEliminateDeadNodes,
    &kFuseDistance,  // a whole loop
    &kFuseGelu,
    &kFuseLayerNorm,
    &kFuseGroupNorm,
    &kFuseProductBatchNorm,
    &kSplitBatchNorm,
    &kFuseRotaryEmbedding,
    &kFuseAttention,
    &kFuseMatMulTranspose,  // what is left of constant transpositions is folded
    // What the fusions leave: views around new nodes, masks that are constant or equal.
    &kMergeViews,
    &kFoldConstants,
    &kEliminateCommonSubexpressions,
    &kFusePad,
    &kFuseActivations,
    &kFuseConvActivation,
    &kFuseMatMulTranspose,
    &kFuseMatMulAdd,
    &kFuseProductEpilogue,   // behind what wants a sum or an activation for itself
    &kFuseSkipLayerNorm,     // the sums that no product took
    &kChangeLayout,          // before elementwise operators are joined: it looks at each of them
    &kEliminateIdentity,     // transpositions that the layout made superfluous
    &kFuseConvQuantizedSum,  // of convolutions that the layout moved
    &kFuseElementwise,       // and whatever else is left between larger nodes
    &kEliminateDeadNodes,
};

constexpr std::size_t kKeptTransposeBytes = std::size_t{32} << 20;

std::span<const Pass* const> PassesOf(Stage stage) {
  if (stage == Stage::kBeforeUpgrade) return kBeforeUpgrade;
  return kAfterUpgrade;
}

void CheckName(const std::string& name) {
  if (name.empty()) return;
  std::vector<std::string> names;
  for (const PassInfo& info : AllPasses()) names.emplace_back(info.name);
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  const std::string closest = ClosestName(name, names);
  Fail(Code::kInvalidArgument, "there is no optimizer pass '", name, "'",
       closest.empty() ? "" : "; did you mean '" + closest + "'?");
}

int RewriteLimit() {
  const char* text = std::getenv("SDX_STOP_AFTER");
  return text == nullptr ? -1 : std::atoi(text);
}

bool RunPass(const Pass& pass, Graph& graph, PassContext& context, const OptimizeOptions& options) {
  bool changed = pass.run != nullptr && pass.run(graph, context);
  if (!pass.rules.empty()) {
    std::vector<std::string>* explain = options.explain == pass.name ? options.explanation : nullptr;
    changed |= ApplyRules(pass.rules, graph, context.registry, RewriteLimit(), explain) > 0;
  }
  return changed;
}

}  // namespace

std::vector<PassInfo> AllPasses() {
  std::vector<PassInfo> all;
  for (const Stage stage : {Stage::kBeforeUpgrade, Stage::kAfterUpgrade}) {
    for (const Pass* pass : PassesOf(stage)) {
      const bool known =
          std::any_of(all.begin(), all.end(), [&](const PassInfo& info) { return info.name == pass->name; });
      if (!known) all.push_back({pass->name, pass->level});
    }
  }
  return all;
}

void Optimize(Graph& graph, Stage stage, const ops::Registry& registry, const OptimizeOptions& options) {
  for (const std::string& name : options.disabled_passes) CheckName(name);
  CheckName(options.explain);
  PassContext context{registry, options.logger, options.max_fold_bytes, options.parallel};
  const auto runs = [&](const Pass& pass) {
    const auto& disabled = options.disabled_passes;
    return pass.level <= options.level && std::find(disabled.begin(), disabled.end(), pass.name) == disabled.end();
  };
  if (runs(kFuseMatMulTranspose)) context.min_kept_transpose_bytes = kKeptTransposeBytes;
  const bool makes_integers = stage == Stage::kBeforeUpgrade && options.level >= Level::kExtended;
  for (const Pass* pass : PassesOf(stage)) {
    if (!runs(*pass)) continue;
    if (pass == &kFoldConstants && makes_integers) pass = &kFoldUnquantizedConstants;
    CheckTime();
    const auto start = std::chrono::steady_clock::now();
    const bool changed = RunPass(*pass, graph, context, options);
    if (pass == &kFuseMatMulTranspose) context.min_kept_transpose_bytes = SIZE_MAX;  // what it left is folded
    if (changed) {
      DropUnusedConstants(graph);
      Verify(graph);
    }
    if (options.logger != nullptr) {
      const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
      options.logger->Info("pass ", pass->name, changed ? ": changed the graph, " : ": no change, ", graph.order.size(),
                           " nodes, ", time.count(), " ms");
    }
  }
}

}  // namespace sardonyx::optimizer
