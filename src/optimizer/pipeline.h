// optimizer/pipeline.h - runs the passes of a level in their order.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "optimizer/rules/exchange_options.h"
#include "optimizer/rules/pass.h"

namespace sardonyx::optimizer {

// Basic passes run before partitioning, in the author's opset; the others after the upgrade to the newest spelling:
// those of a session, or instead those that make a model for ONNX Runtime (passes/exchange).
enum class Stage { kBeforeUpgrade, kAfterUpgrade, kForOnnxRuntime };

// kOnce: the passes of a stage run once. kAsNeeded: again where passes are known to leave something to others.
// kUntilStable: all of them again as long as any of them changes something, up to ten times.
enum class Repeats { kOnce, kAsNeeded, kUntilStable };

struct OptimizeOptions {
  Level level = Level::kAll;
  std::vector<std::string> disabled_passes;
  const Logger* logger = nullptr;
  Parallel* parallel = nullptr;
  std::size_t max_fold_bytes = std::size_t{64} << 20;
  std::size_t fold_limit = SIZE_MAX;        // no result of a folded node may be larger (pass fold_constants)
  bool keep_dequantization = false;         // DequantizeLinear of a constant is not folded (pass fold_constants)
  bool fold_half_weights = false;           // nor is a Cast of weights of float16 to float, without this
  bool approximate_gelu = false;            // Gelu may become its tanh form (pass approximate_gelu)
  bool clean_quantization = false;          // pairs that only round may go (pass eliminate_quantization)
  std::int64_t block_product_accuracy = 4;  // accuracy_level of MatMulNBits (pass fuse_block_quantized_product)
  Repeats repeats = Repeats::kAsNeeded;     // how often the passes of a stage run
  bool checks_reports = kDebugBuild;        // a pass that changes the graph and does not say so is an error
  ExchangeOptions exchange = {};            // for Stage::kForOnnxRuntime
  Explanation* explanation = nullptr;       // learns what the passes that it wants did, and what they left alone
};

// One pass by itself, and the verifier behind it if it changed something: fails with kInvalidGraph naming the pass if
// what it left is no sound graph, or if it changed it and says that it did not (`context.checks_reports`). True if it
// changed something.
bool RunVerified(const Pass& pass, Graph& graph, PassContext& context);

// The graph is verified behind the last pass; behind each one in debug builds, and where the log or an explanation
// wants to know what each does. Environment variable SDX_STOP_AFTER=n stops after n rewrites of rules, so that a wrong
// one is found by bisection. Fails with kInvalidArgument if a disabled or explained pass does not exist (naming the
// closest).
void Optimize(Graph& graph, Stage stage, const ops::Registry& registry, const OptimizeOptions& options);

struct PassInfo {
  std::string_view name;
  Level level;
};
// Of sessions, and of models for ONNX Runtime; each once.
std::vector<PassInfo> AllPasses();
std::vector<PassInfo> ExchangePasses();
// Those of them that run only where a model is made for devices that have their operators.
inline constexpr std::string_view kOptionalExchangePasses[] = {
    "fuse_gemm_fast_gelu", "fuse_group_norm",      "spell_group_norm", "spell_group_norm_channels_first",
    "fuse_bias_add",       "fuse_bias_split_gelu", "spell_nhwc_conv",  "fuse_skip_group_norm",
    "pack_projections",    "pack_keys_and_values"};

}  // namespace sardonyx::optimizer
