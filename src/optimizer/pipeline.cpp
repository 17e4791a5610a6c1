// optimizer/pipeline.cpp - runs the passes of pass_order.inc.
#include "optimizer/pipeline.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>

#include "base/limits.h"
#include "ir/verify.h"
#include "ops/attribute_check.h"
#include "optimizer/passes/exchange/exchange_passes.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/changes.h"
#include "optimizer/rules/graph_digest.h"
#include "optimizer/rules/unused_constants.h"
#include "optimizer/shapes/unknown_sizes.h"

namespace sardonyx::optimizer {
namespace {

#define SDX_BEFORE_UPGRADE(Name) &k##Name,
#define SDX_AFTER_UPGRADE(Name)
constexpr const Pass* kBeforeUpgrade[] = {
#include "optimizer/passes/pass_order.inc"
};
#undef SDX_BEFORE_UPGRADE
#undef SDX_AFTER_UPGRADE

#define SDX_BEFORE_UPGRADE(Name)
#define SDX_AFTER_UPGRADE(Name) &k##Name,
constexpr const Pass* kAfterUpgrade[] = {
#include "optimizer/passes/pass_order.inc"
};
#undef SDX_BEFORE_UPGRADE
#undef SDX_AFTER_UPGRADE

#define SDX_FOR_ONNX_RUNTIME(Name) &k##Name,
constexpr const Pass* kForOnnxRuntime[] = {
#include "optimizer/passes/exchange/exchange_order.inc"
};
#undef SDX_FOR_ONNX_RUNTIME

constexpr std::size_t kKeptTransposeBytes = std::size_t{32} << 20;

std::span<const Pass* const> PassesOf(Stage stage) {
  if (stage == Stage::kBeforeUpgrade) return kBeforeUpgrade;
  if (stage == Stage::kForOnnxRuntime) return kForOnnxRuntime;
  return kAfterUpgrade;
}

std::vector<PassInfo> PassesOf(std::initializer_list<Stage> stages) {
  std::vector<PassInfo> all;
  for (const Stage stage : stages) {
    for (const Pass* pass : PassesOf(stage)) {
      const bool known =
          std::any_of(all.begin(), all.end(), [&](const PassInfo& info) { return info.name == pass->name; });
      if (!known) all.push_back({pass->name, pass->level});
    }
  }
  return all;
}

void CheckName(const std::string& name) {
  if (name.empty()) return;
  std::vector<std::string> names;
  for (const PassInfo& info : PassesOf({Stage::kBeforeUpgrade, Stage::kAfterUpgrade, Stage::kForOnnxRuntime}))
    names.emplace_back(info.name);
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  const std::string closest = ClosestName(name, names);
  Fail(Code::kInvalidArgument, "there is no optimizer pass '", name, "'",
       closest.empty() ? "" : "; did you mean '" + closest + "'?");
}

std::string_view NameOf(Level level) {
  switch (level) {
    case Level::kDisable:
      return "disable";
    case Level::kBasic:
      return "basic";
    case Level::kExtended:
      return "extended";
    case Level::kLayout:
    case Level::kAll:
      return "layout";
  }
  return "";
}

// Why the pass does not run; empty if it does.
std::string WhyNotRun(const Pass& pass, const OptimizeOptions& options, const PassContext& context) {
  if (pass.level > options.level) return "its level is " + std::string(NameOf(pass.level));
  if (pass.consent.given != nullptr && !(context.*pass.consent.given))
    return "only where '" + std::string(pass.consent.config_key) + "' is 1";
  const auto& disabled = options.disabled_passes;
  return std::find(disabled.begin(), disabled.end(), pass.name) != disabled.end() ? "it is switched off" : "";
}

int RewriteLimit() {
  const char* text = std::getenv("SDX_STOP_AFTER");
  return text == nullptr ? -1 : std::atoi(text);
}

// How many nodes of each operator there are, those of bodies included.
using Census = std::map<std::string, std::ptrdiff_t>;
void Count(const Graph& graph, Census& census) {
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    ++census[node.domain.empty() ? node.op_type : node.domain + '.' + node.op_type];
    for (const Graph* body : node.Subgraphs()) Count(*body, census);
  }
}

// "MatMul 24 -> 0, Attention 0 -> 12"
std::string Difference(const Census& before, const Census& after) {
  Census all = before;
  all.insert(after.begin(), after.end());
  std::string text;
  for (const auto& [name, unused] : all) {
    const auto was = before.find(name), is = after.find(name);
    const std::ptrdiff_t from = was == before.end() ? 0 : was->second, to = is == after.end() ? 0 : is->second;
    if (from == to) continue;
    text += (text.empty() ? "" : ", ") + name + ' ' + std::to_string(from) + " -> " + std::to_string(to);
  }
  return text.empty() ? "the same operators, connected otherwise" : text;
}

bool Run(const Pass& pass, Graph& graph, PassContext& context) {
  bool changed = pass.run != nullptr && pass.run(graph, context);
  if (!pass.rules.empty())
    changed |= ApplyRules(pass.rules, graph, context.registry, RewriteLimit(), context.explanation) > 0;
  if (changed) DropUnusedConstants(graph);
  return changed;
}

// Says what it did to the log, and also why it left nodes alone to who asked for an explanation.
bool RunPass(const Pass& pass, Graph& graph, PassContext& context, const OptimizeOptions& options) {
  const bool explains = options.explanation != nullptr && options.explanation->Wants(pass.name);
  const bool tells = explains || (options.logger != nullptr && options.logger->Wants(Severity::kInfo));
  context.explanation = explains ? options.explanation : nullptr;
  if (!tells) return context.checks_reports ? RunVerified(pass, graph, context) : Run(pass, graph, context);
  Census before, after;
  Count(graph, before);
  std::optional<Changes> changes;
  if (explains) {
    changes.emplace(graph);
    options.explanation->Begin(pass.name);
  }
  const auto start = std::chrono::steady_clock::now();
  const bool changed = RunVerified(pass, graph, context);
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  if (changed) Count(graph, after);
  const std::string what = changed ? Difference(before, after) : std::string();
  if (options.logger != nullptr)
    options.logger->Info("pass ", pass.name, ": ", changed ? what : "no change", " (", time.count(), " ms)");
  if (explains) options.explanation->End(what, changes->Tell(graph, *options.explanation));
  return changed;
}

constexpr int kMaxRounds = 10;

int RoundsOf(Stage stage, const OptimizeOptions& options) {
  if (options.repeats == Repeats::kOnce) return 1;
  if (options.repeats == Repeats::kUntilStable) return kMaxRounds;
  // At the basic level nothing cleans up behind this stage: another round finds what the last one left.
  return stage == Stage::kBeforeUpgrade && options.level == Level::kBasic ? 4 : 1;
}

}  // namespace

bool RunVerified(const Pass& pass, Graph& graph, PassContext& context) {
  const std::uint64_t before = context.checks_reports ? Digest(graph) : 0;
  if (!Run(pass, graph, context)) {
    if (context.checks_reports && Digest(graph) != before)
      Fail(Code::kInvalidGraph, "pass ", pass.name, " changed the graph but says that it did not");
    return false;
  }
  try {
    Verify(graph);
    if (context.checks_reports) ops::CheckAllAttributes(graph);
  } catch (const Error& error) {
    Fail(error.code(), "pass ", pass.name, " left an invalid graph: ", error.what());
  }
  return true;
}

std::vector<PassInfo> AllPasses() { return PassesOf({Stage::kBeforeUpgrade, Stage::kAfterUpgrade}); }
std::vector<PassInfo> ExchangePasses() { return PassesOf({Stage::kForOnnxRuntime}); }

void Optimize(Graph& graph, Stage stage, const ops::Registry& registry, const OptimizeOptions& options) {
  for (const std::string& name : options.disabled_passes) CheckName(name);
  if (options.explanation != nullptr && options.explanation->pass() != "*") CheckName(options.explanation->pass());
  PassContext context{.registry = registry, .logger = options.logger, .max_fold_bytes = options.max_fold_bytes};
  context.parallel = options.parallel;
  context.fold_limit = options.fold_limit;
  context.keep_dequantization = options.keep_dequantization;
  context.fold_half_weights = options.fold_half_weights;
  context.checks_reports = options.checks_reports;
  context.approximate_gelu = options.approximate_gelu;
  context.clean_quantization = options.clean_quantization;
  context.block_product_accuracy = options.block_product_accuracy;
  context.exchange = &options.exchange;
  for (const Pass* pass : PassesOf(stage == Stage::kForOnnxRuntime ? stage : Stage::kAfterUpgrade))
    if (pass->takes_transposes && WhyNotRun(*pass, options, context).empty())
      context.min_kept_transpose_bytes = kKeptTransposeBytes;
  const bool names_sizes = stage != Stage::kBeforeUpgrade && options.level >= Level::kExtended;
  if (names_sizes) NameUnknownSizes(graph, registry);
  const int rounds = RoundsOf(stage, options);
  const std::span<const Pass* const> passes = PassesOf(stage);
  const auto run_all = [&] {
    bool any = false;
    for (std::size_t next = 0; next < passes.size();) {
      const Pass* pass = passes[next++];
      if (const std::string why = WhyNotRun(*pass, options, context); !why.empty()) {
        if (options.explanation != nullptr && options.explanation->Wants(pass->name))
          options.explanation->NotRun(pass->name, why);
        continue;
      }
      CheckTime();
      const bool changed = RunPass(*pass, graph, context, options);
      any |= changed;
      if (pass->takes_transposes) context.min_kept_transpose_bytes = SIZE_MAX;  // what it left is folded
      if (changed && pass->makes_candidates) next = 0;
    }
    return any;
  };
  bool changed = false;
  for (int round = 0; round < rounds && run_all(); ++round) changed = true;
  if (changed && !context.checks_reports) {
    try {
      Verify(graph);
    } catch (const Error& error) {
      Fail(error.code(),
           "the optimizer left an invalid graph (a log of severity INFO says after which pass): ", error.what());
    }
  }
  if (names_sizes) ForgetUnknownSizes(graph);
}

}  // namespace sardonyx::optimizer
