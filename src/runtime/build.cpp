// runtime/build.cpp - the steps from a loaded model to a program, each a call to the interface of one folder.
#include "runtime/build.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <string_view>
#include <system_error>

#include "ops/infer.h"
#include "ops/upgrade.h"
#include "optimizer/pipeline.h"
#include "optimizer/rules/half_weights.h"
#include "planner/assignment.h"
#include "planner/constant_nodes.h"
#include "planner/inline_functions.h"
#include "planner/layout/channel_blocks.h"
#include "planner/layout/moved_images.h"
#include "planner/partition.h"
#include "planner/place_copies.h"
#include "planner/quantized_views.h"
#include "planner/scalar_inputs.h"
#include "planner/sparse_outputs.h"
#include "planner/unique_dequantization.h"
#include "runtime/config_keys.h"
#include "runtime/disabled_passes.h"
#include "runtime/option_keys.h"
#include "runtime/save_graph.h"

namespace sardonyx::runtime {
namespace {

// AddInitializer: the caller's tensor takes the place of the model's, and is a constant whether it had a default or
// not. Programs give the same tensors to several models, so that a name the model lacks is no error; one that is given
// for external data has to be there.
void ReplaceInitializers(Graph& graph, const std::map<std::string, Value>& replacements, bool must_be_external,
                         const Logger& logger) {
  for (const auto& [name, value] : replacements) {
    const auto id = graph.Find(name);
    if (!id || !graph.value(*id).initializer) {
      std::vector<std::string> names;
      for (const ValueInfo& info : graph.values)
        if (info.initializer && !info.is_captured) names.push_back(info.name);
      std::string closest = ClosestName(name, names);
      if (!closest.empty()) closest = "; did you mean '" + closest + "'?";
      if (must_be_external) Fail(Code::kFail, "the model has no initializer '", name, "' to replace", closest);
      logger.Warn("AddInitializer: the model has no initializer '", name, "' to replace", closest);
      continue;
    }
    const Initializer& old = *graph.value(*id).initializer;
    if (!value.is_tensor())
      Fail(Code::kInvalidArgument, "initializer '", name, "': expected a tensor, found a ", value.KindName());
    const Tensor& tensor = value.tensor();
    if (tensor.dtype() != old.tensor.dtype() || !(tensor.shape() == old.tensor.shape())) {
      Fail(Code::kInvalidArgument, "initializer '", name, "': expected ", Name(old.tensor.dtype()),
           ToText(old.tensor.shape()), " as in the model, found ", Name(tensor.dtype()), ToText(tensor.shape()));
    }
    auto replaced = std::make_shared<Initializer>();
    replaced->tensor = tensor;
    if (must_be_external) replaced->file = old.file;
    graph.SetInitializer(*id, std::move(replaced));
  }
}

// A dimension by its name (all of this name) or by its denotation ("DATA_BATCH"), as ONNX Runtime overrides them: only
// what is free, and only of inputs.
void OverrideDimensions(Graph& graph, const SessionOptions& options, const Logger& logger) {
  const auto check = [](const char* what, const std::string& name, std::int64_t number) {
    if (number < 0)
      Fail(Code::kInvalidArgument, "free dimension ", what, name, "': expected 0 or more, found ", number);
  };
  for (const auto& [name, number] : options.free_dimensions_by_name) check("'", name, number);
  std::map<std::string, std::int64_t> by_name(options.free_dimensions_by_name.begin(),
                                              options.free_dimensions_by_name.end());
  for (const auto& [denotation, number] : options.free_dimensions_by_denotation) {
    check("of denotation '", denotation, number);
    bool found = false;
    for (const ValueId id : graph.inputs) {
      ValueInfo& value = graph.value(id);
      for (std::size_t i = 0; i < std::min(value.type.dims.size(), value.dim_denotations.size()); ++i) {
        if (value.dim_denotations[i] != denotation) continue;
        found = true;
        Dim& dim = value.type.dims[i];
        if (dim.known() && dim.number() != number) {
          Fail(Code::kInvalidArgument, "input '", value.name, "': dimension ", i, " ('", denotation, "'): expected ",
               dim.number(), " as in the model, found ", number, " in the override");
        }
        if (dim.symbolic()) by_name.emplace(dim.ToText(), number);  // every dimension of this name is the same number
        dim = Dim(number);
      }
    }
    if (!found) logger.Warn("free dimension override: no input has a dimension of denotation '", denotation, "'");
  }
  for (const ValueId id : graph.inputs) {
    for (Dim& dim : graph.value(id).type.dims) {
      dim = dim.Substitute([&](const std::string& symbol) -> std::optional<std::int64_t> {
        const auto found = by_name.find(symbol);
        return found == by_name.end() ? std::nullopt : std::optional(found->second);
      });
    }
  }
}

// Inputs that the caller has decided become constants, so that what depends on them is folded.
void FixInputs(Graph& graph, const std::map<std::string, Value>& fixed) {
  for (const auto& [name, value] : fixed) {
    const auto id = graph.Find(name);
    if (!id || !graph.value(*id).is_input) {
      std::vector<std::string> names;
      for (const ValueId input : graph.inputs) names.push_back(graph.value(input).name);
      const std::string closest = ClosestName(name, names);
      Fail(Code::kInvalidArgument, "the model has no input '", name, "' to fix",
           closest.empty() ? "" : "; did you mean '" + closest + "'?");
    }
    if (!value.is_tensor())
      Fail(Code::kInvalidArgument, "input '", name, "': expected a tensor, found a ", value.KindName());
    const Tensor& tensor = value.tensor();
    ValueInfo& info = graph.value(*id);
    const Type& type = info.type;
    bool fits =
        type.is_tensor() && type.dtype == tensor.dtype() && (!type.has_rank || type.rank() == tensor.shape().rank());
    for (std::size_t i = 0; fits && type.has_rank && i < type.rank(); ++i)
      fits = !type.dims[i].known() || type.dims[i].number() == tensor.shape()[i];
    if (!fits) {
      Fail(Code::kInvalidArgument, "input '", name, "': expected ", type.ToText(), " as in the model, found ",
           Name(tensor.dtype()), ToText(tensor.shape()));
    }
    info.type = Type::TensorOf(tensor.dtype(), Dims(tensor.shape()));
    info.is_input = false;
    std::erase(graph.inputs, *id);
    auto constant = std::make_shared<Initializer>();
    constant->tensor = tensor;
    graph.SetInitializer(*id, std::move(constant));
  }
}

// Bytes; 0 (and no entry) stands for no limit.
std::size_t FoldLimit(const SessionOptions& options) {
  constexpr const char* kKey = "optimization.constant_folding_max_output_size_in_bytes";
  const std::string text = options.Config(kKey, "");
  std::size_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (!text.empty() && (error != std::errc() || end != text.data() + text.size()))
    Fail(Code::kInvalidArgument, kKey, ": expected a number of bytes, found '", text, "'");
  return bytes == 0 ? SIZE_MAX : bytes;
}

optimizer::Repeats RepeatsOf(const SessionOptions& options) {
  constexpr const char* kKey = "session.graph_optimizations_loop_level";
  const std::string level = options.Config(kKey, "1");
  if (level == "0") return optimizer::Repeats::kOnce;
  if (level == "1") return optimizer::Repeats::kAsNeeded;
  if (level == "2") return optimizer::Repeats::kUntilStable;
  Fail(CodeOfNoNumber(level), kKey, ": expected 0, 1 or 2, found '", level, "'");
}

optimizer::OptimizeOptions OptimizerOptions(const SessionOptions& options, const Logger& logger) {
  optimizer::OptimizeOptions optimize;
  optimize.level = static_cast<optimizer::Level>(options.optimization_level);
  optimize.disabled_passes = options.disabled_passes;
  optimize.logger = &logger;
  optimize.clean_quantization = options.Config("session.enable_quant_qdq_cleanup", "0") == "1";
  optimize.approximate_gelu = options.Config("optimization.enable_gelu_approximation", "0") == "1";
  const std::string accuracy = options.Config("session.qdq_matmulnbits_accuracy_level", "4");
  if (accuracy.size() != 1 || accuracy[0] < '0' || accuracy[0] > '4')
    Fail(Code::kFail, "session.qdq_matmulnbits_accuracy_level: expected 0 to 4, found '", accuracy, "'");
  optimize.block_product_accuracy = accuracy[0] - '0';
  optimize.keep_dequantization = options.Config("session.disable_qdq_constant_folding", "0") == "1";
  optimize.fold_limit = FoldLimit(options);
  optimize.repeats = RepeatsOf(options);
  optimize.explanation = options.explanation;
  return optimize;
}

planner::InlineLimits InlineLimitsOf(const SessionOptions& options, const Graph& graph) {
  planner::InlineLimits limits;
  const int made = NumberOf(options, "session.function_expansion_node_limit", 0, 1);
  if (made != 0) limits.nodes = graph.order.size() + static_cast<std::size_t>(made);
  const std::string bytes = options.Config("session.function_expansion_byte_limit", "");  // CheckIgnoredValues has
  if (!bytes.empty()) limits.bytes = std::stoull(bytes);                                  // seen that it is a number
  return limits;
}

// Makes values outputs of the graph, which no pass may take away; those that are not there yet stay in `names`.
void KeepValues(Graph& graph, std::vector<std::string>& names) {
  std::erase_if(names, [&](const std::string& name) {
    const auto id = graph.Find(name);
    if (!id) return false;
    if (!graph.value(*id).is_output) graph.AddOutput(*id);
    return true;
  });
}

// Whether a provider of the session reads this entry: its options are entries "ep.NAME.OPTION", the name in lower case.
bool IsProviderOption(std::string_view key, const SessionOptions& options) {
  return std::any_of(options.providers.begin(), options.providers.end(), [&](const ProviderChoice& choice) {
    std::string prefix = "ep." + choice.name + ".";
    std::transform(prefix.begin(), prefix.end(), prefix.begin(), [](unsigned char c) { return std::tolower(c); });
    return choice.make && key.starts_with(prefix);
  });
}

// Options that say more than this build does are never dropped in silence.
void WarnOfOptions(const SessionOptions& options, const Graph& graph, const Logger& logger) {
  CheckIgnoredValues(options.config, graph);
  constexpr const char* kSaving = "optimization.minimal_build_optimizations";
  if (options.Config(kSaving, "") == "save" &&
      (options.optimized_model_path.empty() || FormatOf(options) != ModelFormat::kOrt))
    Fail(Code::kInvalidArgument, kSaving, " = save: expected a session that saves its model in ORT format");
  for (const auto& [key, value] : options.config)
    if (!IsProviderOption(key, options)) WarnOfKey(logger, "session", key, value, SessionKeys());
  if (!options.memory_pattern)
    logger.Warn("the session option 'memory pattern off' is not honoured by Sardonyx: ",
                "memory is always planned, once for each shape of the inputs");
  WarnOfDisabledNames(options, logger);
}

// Calls of functions are offered level by level: what a provider does not take is replaced by the function's body, and
// the calls in that body are offered next.
void OfferCalls(Graph& graph, const Model& model, const ops::Registry& registry, const providers::ProviderSet& set,
                planner::InlineLimits limits, ops::InferOptions inference) {
  limits.nested = false;
  inference.logger = nullptr;  // what it has to warn of, it says when all calls are replaced
  planner::MakeConstantsInitializers(graph, registry);
  for (int depth = 0; depth < limits.depth && planner::HasOpenCalls(graph, registry); ++depth) {
    planner::InferThroughCalls(graph, model, registry, inference);
    planner::ClaimFunctionCalls(graph, registry, set);
    if (!planner::InlineFunctions(graph, model, registry, limits)) return;
    planner::MakeConstantsInitializers(graph, registry);
  }
}

bool CpuFallbackDisabled(const SessionOptions& options) {
  return options.Config("session.disable_cpu_ep_fallback", "0") == "1";
}

}  // namespace

providers::ProviderSet MakeProviders(const Environment& environment, const SessionOptions& options,
                                     const Logger& logger) {
  providers::ProviderSet set;
  set.logger = logger;
  const bool names_cpu = std::any_of(options.providers.begin(), options.providers.end(),
                                     [](const ProviderChoice& choice) { return choice.name == providers::kCpuName; });
  const bool may_fall_back = names_cpu && !CpuFallbackDisabled(options);
  for (const ProviderChoice& choice : options.providers) {
    if (set.Find(choice.name) != nullptr) continue;
    if (!choice.missing.empty() && may_fall_back) {
      set.missing.push_back({choice.name, choice.missing, set.providers.size()});
      continue;
    }
    try {
      if (choice.make) {
        set.providers.push_back(choice.make(options, logger));
        continue;
      }
      const providers::ProviderFactory* factory = environment.FindFactory(choice.name);
      if (factory == nullptr) {
        std::vector<std::string> names;
        std::string listed;
        for (const providers::ProviderFactory& known : environment.factories()) {
          names.push_back(known.name);
          listed += (listed.empty() ? "'" : ", '") + known.name + "'";
        }
        const std::string closest = ClosestName(choice.name, names);
        Fail(Code::kInvalidArgument, "there is no execution provider '", choice.name, "'; available: ", listed,
             closest.empty() ? "" : "; did you mean '" + closest + "'?");
      }
      set.providers.push_back(factory->create(choice.options, logger));
    } catch (const Error& error) {
      if (!may_fall_back) throw;
      set.missing.push_back({choice.name, error.what(), set.providers.size()});
      logger.Warn("provider '", choice.name, "' is not used; the providers after it run its nodes: ", error.what());
    }
  }
  if (names_cpu && !may_fall_back) {
    Fail(Code::kInvalidArgument, "the list of providers names '", providers::kCpuName,
         "', which session.disable_cpu_ep_fallback = 1 forbids: leave out one of the two");
  }
  const providers::ProviderFactory* cpu = environment.FindFactory(providers::kCpuName);
  if (set.Find("") == nullptr && cpu != nullptr) set.providers.push_back(cpu->create({}, logger));
  return set;
}

// 0: not given.
static std::int64_t BlockSize(const SessionOptions& options) {
  constexpr const char* kKey = "sardonyx.nchwc_block_size";
  const std::string value = options.Config(kKey, "");
  if (value.empty()) return 0;
  if (value != "8" && value != "16") Fail(Code::kInvalidArgument, kKey, ": expected 8 or 16, found '", value, "'");
  return value == "8" ? 8 : 16;
}

Graph BuildGraph(Environment& environment, const Model& model, const SessionOptions& options,
                 providers::ProviderSet& set, const Logger& logger, Model* compiled) {
  const ops::Registry& registry = RegistryOf(environment, options);
  WarnOfOptions(options, model.graph, logger);
  set.model = &model;
  set.wants_contexts = WritesContexts(options) || compiled != nullptr;
  set.may_compile = options.Config("session.disable_model_compile", "0") != "1";
  const std::string context_path = WritesContexts(options) && compiled == nullptr ? ContextPath(model, options) : "";
  CheckCompatibility(model, set, options, logger);
  Graph graph = model.graph;
  planner::DeclareDense(graph, planner::FindSparseOutputs(graph));
  ReplaceInitializers(graph, options.initializers, false, logger);
  ReplaceInitializers(graph, options.external_initializers, true, logger);
  OverrideDimensions(graph, options, logger);
  FixInputs(graph, options.fixed_inputs);
  if (options.any_scalar_shape) planner::ForgetScalarShapes(graph);
  std::vector<std::string> kept = options.kept_values;
  KeepValues(graph, kept);
  planner::OpenMovedImages(graph, registry);
  ops::ResolveVersions(graph, registry, model);
  const planner::InlineLimits limits = InlineLimitsOf(options, graph);
  const ops::InferOptions inference{.logger = &logger,
                                    .strict = options.Config("session.strict_shape_type_inference", "0") == "1"};
  const bool shows_graphs = set.providers.size() > 1;  // to providers that choose what they take
  if (shows_graphs) OfferCalls(graph, model, registry, set, limits, inference);
  planner::InlineFunctions(graph, model, registry, limits);
  if (shows_graphs) planner::MakeConstantsInitializers(graph, registry);
  KeepValues(graph, kept);  // of functions' bodies
  if (!kept.empty()) Fail(Code::kInvalidArgument, "the model's graph has no value '", kept.front(), "'");
  ops::Infer(graph, registry, inference);
  if (planner::OpenChannelBlocks(graph, registry, BlockSize(options))) ops::Infer(graph, registry, inference);
  const auto optimize = OptimizerOptions(options, logger);
  auto before_claims = optimize;  // providers may take quantized weights as they are
  if (shows_graphs) {
    before_claims.keep_dequantization = true;
    before_claims.fold_half_weights = true;  // they may want weights to be constants of the product's type
    // As in ONNX Runtime, they see how shapes are computed. What they do not take is folded later.
    before_claims.disabled_passes.insert(before_claims.disabled_passes.end(), {"fold_shapes", "merge_views"});
  }
  const bool optimizes = options.compiled == nullptr;  // a compiled model has gone through all passes
  if (optimizes) optimizer::Optimize(graph, optimizer::Stage::kBeforeUpgrade, registry, before_claims);
  const bool save = !options.optimized_model_path.empty() && FormatOf(options) != ModelFormat::kCompiled;
  const bool newest = options.optimization_level > OptimizationLevel::kBasic;
  if (save && !newest) SaveGraph(graph, model, false, registry, options);
  if (shows_graphs) planner::SeparateDequantization(graph);
  if (shows_graphs && optimizes && options.optimization_level >= OptimizationLevel::kBasic &&
      options.Config("session.disable_quant_qdq", "0") != "1")
    planner::QuantizeAroundViews(graph);
  while (planner::Partition(graph, registry, set)) {
    planner::InlineFunctions(graph, model, registry, limits);
    planner::MakeConstantsInitializers(graph, registry);
    ops::Infer(graph, registry, inference);
  }
  if (options.Config("session.record_ep_graph_assignment_info", "0") == "1" && !set.records_assignment) {
    set.records_assignment = true;
    set.assigned = planner::AssignmentOf(graph, set);
  }
  if (compiled != nullptr) {
    *compiled = ContextModel(graph, model, set, registry);
  } else if (!set.contexts.empty()) {
    SaveContexts(ContextModel(graph, model, set, registry), context_path, options);
  } else if (set.wants_contexts) {
    logger.Warn("ep.context_enable: Unable to compile any nodes: no provider of the session compiles a node of this ",
                "model, so no model is written to '", context_path, "'");
  }
  ops::Upgrade(graph, registry);
  if (optimizes) optimizer::Optimize(graph, optimizer::Stage::kAfterUpgrade, registry, optimize);
  if (save && newest) SaveGraph(graph, model, true, registry, options);
  // What is compiled reads them when it is built again.
  if (!Compiles(options)) optimizer::ReadHalfWeights(graph, registry, providers::kCpuName);
  planner::AssignRest(graph, registry, set, !CpuFallbackDisabled(options));
  planner::PlaceCopies(graph, set);
  set.model = nullptr;
  return graph;
}

}  // namespace sardonyx::runtime
