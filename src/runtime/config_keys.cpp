// runtime/config_keys.cpp - the table of configuration entries.
#include "runtime/config_keys.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "ir/graph.h"

namespace sardonyx::runtime {
namespace {

constexpr KeyFate kRead = KeyFate::kRead, kAlways = KeyFate::kAlways, kIgnored = KeyFate::kIgnored;

// clang-format off
constexpr ConfigKey kSessionKeys[] = {
    {"sardonyx.load_timeout_ms", kRead, "limit for creating the session, in milliseconds", ""},
    {"sardonyx.max_load_memory", kRead, "limit for the memory that creating the session takes, in bytes", ""},
    {"sardonyx.max_run_memory", kRead, "limit for the memory that a run holds, in bytes", ""},
    {"sardonyx.nchwc_block_size", kRead, "8 or 16: how many channels a block of com.microsoft.nchwc has in the model; by default what fits its sizes, or else what ONNX Runtime takes on this machine", ""},
    {"sardonyx.precision", kRead, "float32, or bf16: products of floats and constant floats round both to bf16 and sum floats, where the CPU is faster at that (AMX, or VDPBF16PS of AMD)", ""},
    {"sardonyx.run_timeout_ms", kRead, "limit for a run, in milliseconds", ""},
    {"sardonyx.strict_providers", kRead, "in Python, whether an unknown or unavailable provider is an error (1, the default of the package sardonyx) or a warning (0, that of the package onnxruntime)", ""},
    {"optimization.constant_folding_max_output_size_in_bytes", kRead, "constants with more bytes are not folded; 0: no limit", ""},
    {"optimization.disable_specified_optimizers", kRead, "names of optimizer passes that are switched off, separated by semicolons", ""},
    {"optimization.enable_cast_chain_elimination", kIgnored, "casts are merged exactly where that loses nothing", "0"},
    {"optimization.enable_gelu_approximation", kRead, "1: Gelu is approximated with tanh", ""},
    {"optimization.enable_memory_optimizer", kIgnored, "activations are not recomputed in training", ""},
    {"optimization.enable_memory_probe_recompute_config", kIgnored, "activations are not recomputed in training", ""},
    {"optimization.enable_memory_probe_recompute_level", kIgnored, "activations are not recomputed in training", ""},
    {"optimization.memory_optimizer_config", kIgnored, "activations are not recomputed in training", ""},
    {"optimization.minimal_build_optimizations", kIgnored, "there are no minimal builds", ""},
    {"optimization.save_runtime_optimizations", kIgnored, "there are no minimal builds", "0"},
    {"session.allow_released_opsets_only", kRead, "1: it is an error if the model is of an opset that is newer than those known here", ""},
    {"session.collect_node_memory_stats_to_file", kIgnored, "memory_plan() in Python shows the memory of each value", ""},
    {"session.compile_only", kIgnored, "the session is complete and can run", "0"},
    {"session.debug_layout_transformation", kIgnored, "the saved optimized model shows its layouts", "0"},
    {"session.disable_aot_function_inlining", kIgnored, "functions that no provider claims are inlined when the model loads", "0"},
    {"session.disable_cpu_ep_fallback", kRead, "1: it is an error if a node would run on the CPU because no other provider supports it", ""},
    {"session.disable_double_qdq_remover", kAlways, "of two pairs of QuantizeLinear and DequantizeLinear in a row, each keeps its rounding", ""},
    {"session.disable_model_compile", kRead, "1: it is an error if a provider would have to compile nodes", ""},
    {"session.disable_prepacking", kIgnored, "the CPU packs weights when the session is created, and frees the originals; kernels of plug-ins honour it", "0"},
    {"session.disable_qdq_constant_folding", kRead, "1: a DequantizeLinear of a constant is not folded", ""},
    {"session.disable_quant_qdq", kRead, "1: operators between DequantizeLinear and QuantizeLinear stay in float", ""},
    {"session.dynamic_block_base", kAlways, "the blocks of a parallel loop shrink towards its end; the value must be a number", ""},
    {"session.enable_cpu_mem_arena", kRead, "0: as DisableCpuMemArena", ""},
    {"session.enable_dq_matmulnbits_fusion", kIgnored, "matrix products with block-quantized weights are always fused", "1"},
    {"session.enable_mem_pattern", kIgnored, "memory is always planned, once for each shape of the inputs", "1"},
    {"session.enable_moe_expert_counting", kIgnored, "experts are not counted", "0"},
    {"session.enable_moe_expert_statistics", kIgnored, "experts are not counted", "0"},
    {"session.enable_profiling", kRead, "as EnableProfiling with this prefix; if it is empty, as DisableProfiling", ""},
    {"session.enable_quant_qdq", kIgnored, "use session.disable_quant_qdq", "1"},
    {"session.enable_quant_qdq_cleanup", kRead, "1: the remaining pairs of QuantizeLinear and DequantizeLinear are removed", ""},
    {"session.enable_saved_runtime_optimizations", kIgnored, "there are no minimal builds", "0"},
    {"session.execution_mode", kRead, "sequential or parallel: as SetSessionExecutionMode", ""},
    {"session.fail_on_suboptimal_compiled_model", kRead, "1: it is an error if a provider says that a model should be compiled again for it", ""},
    {"session.force_spinning_stop", kRead, "1: workers sleep as soon as no run is in progress", ""},
    {"session.function_expansion_byte_limit", kRead, "it is an error if functions expand to more bytes of names and constants", ""},
    {"session.function_expansion_node_limit", kRead, "it is an error if functions expand to more nodes", ""},
    {"session.gqa_value_layout", kIgnored, "caches of values have the layout BNSH", "BNSH"},
    {"session.graph_optimization_level", kRead, "disable_all, enable_basic, enable_extended, enable_layout or enable_all: as SetSessionGraphOptimizationLevel", ""},
    {"session.graph_optimizations_loop_level", kRead, "0: passes run once; 1: again where other passes left work; 2: until nothing changes", ""},
    {"session.inter_op.allow_spinning", kRead, "0: in parallel mode, workers do not spin while they wait for work", ""},
    {"session.inter_op.spin_backoff_max", kRead, "in parallel mode, as session.intra_op.spin_backoff_max; the larger one counts", ""},
    {"session.inter_op.spin_duration_us", kRead, "in parallel mode, as session.intra_op.spin_duration_us; the longer one counts", ""},
    {"session.inter_op_num_threads", kRead, "as SetInterOpNumThreads", ""},
    {"session.intra_op.allow_spinning", kRead, "0: workers do not spin while they wait for work", ""},
    {"session.intra_op.spin_backoff_max", kRead, "between two looks for work, a worker waits up to this many pauses of the processor (1 to 64)", ""},
    {"session.intra_op.spin_duration_us", kRead, "how long a worker looks for work during a run before it sleeps, in microseconds; 0: not at all", ""},
    {"session.intra_op_num_threads", kRead, "as SetIntraOpNumThreads", ""},
    {"session.intra_op_thread_affinities", kRead, "the processors of each worker, such as 1,2;3-5", ""},
    {"session.layer_assignment_settings", kIgnored, "nodes are assigned to providers in the order in which these were added", ""},
    {"session.load_model_format", kRead, "ONNX or ORT: a model in another format is an error; if empty, the first bytes tell the format", ""},
    {"session.log_id", kRead, "as SetSessionLogId", ""},
    {"session.log_severity_level", kRead, "0 to 4: as SetSessionLogSeverityLevel", ""},
    {"session.log_verbosity_level", kRead, "as SetSessionLogVerbosityLevel", ""},
    {"session.max_shape_override", kIgnored, "memory is planned for the shapes of each run", ""},
    {"session.model_external_initializers_file_folder_path", kRead, "the folder of external data files", ""},
    {"session.moe_expert_counter_alpha", kIgnored, "experts are not counted", ""},
    {"session.moe_expert_counter_beta", kIgnored, "experts are not counted", ""},
    {"session.moe_expert_counter_state_file", kIgnored, "experts are not counted", ""},
    {"session.name_based_layer_assignment", kIgnored, "nodes are assigned to providers in the order in which these were added", ""},
    {"session.node_partition_config_file", kIgnored, "parallel mode finds independent nodes by itself", ""},
    {"session.optimized_model_external_initializers_file_name", kRead, "the file for the weights of a saved model, beside the model", ""},
    {"session.optimized_model_external_initializers_min_size_in_bytes", kRead, "weights with fewer bytes stay in the saved model", ""},
    {"session.optimized_model_filepath", kRead, "as SetOptimizedModelFilePath", ""},
    {"session.prepack.enable_parallel", kIgnored, "weights are always packed on all threads of the session", "1"},
    {"session.qdq_matmulnbits_accuracy_level", kRead, "the accuracy level, 0 to 4, of matrix products fused from DequantizeLinear and MatMul", ""},
    {"session.qdq_matmulnbits_block_size", kIgnored, "weights keep the block size of the model", ""},
    {"session.qdqisint8allowed", kIgnored, "8-bit types stay as in the model", ""},
    {"session.record_ep_graph_assignment_info", kRead, "1: records which provider runs which node of the model, for Session_GetEpGraphAssignmentInfo", ""},
    {"session.resource_cuda_partitioning_settings", kIgnored, "there is no CUDA provider", ""},
    {"session.save_external_prepacked_constant_initializers", kIgnored, "saved models contain the weights in ONNX's form", "0"},
    {"session.save_model_format", kRead, "ONNX, ORT or SDX: the format of a saved model, whatever the end of its path says (.ort, .sdx)", ""},
    {"session.set_denormal_as_zero", kRead, "1: all threads of a run treat denormal numbers as zero", ""},
    {"session.strict_shape_type_inference", kRead, "1: a declared shape that contradicts the inferred one is an error", ""},
    {"session.strict_workspace_verification", kIgnored, "working memory is planned for each set of shapes", "0"},
    {"session.use_deterministic_compute", kRead, "1: a token has the same bits whatever tokens are computed with it, so that the steps of a decoder give what one run over all tokens gives: products with constant weights and attention take the ways of many rows for few, too, which are slower for them. The bits are always the same in every run and for every number of threads", ""},
    {"session.use_device_allocator_for_initializers", kIgnored, "weights are never allocated from an arena", "1"},
    {"session.use_env_allocators", kRead, "1: values of runs lie in memory of the allocator that is registered with the environment", ""},
    {"session.use_external_initializer_file_buffers_directly", kRead, "1: external data files in memory are not copied; the caller keeps them as long as the session lives", ""},
    {"session.use_memory_mapped_ort_model", kIgnored, "files of all formats are always mapped", "0"},
    {"session.use_ort_model_bytes_directly", kRead, "1: the bytes of the model are not copied; the caller keeps them as long as the session lives", ""},
    {"session.use_ort_model_bytes_for_initializers", kIgnored, "session.use_ort_model_bytes_directly also applies to weights", "0"},
    {"session.use_per_session_threads", kRead, "0: as DisablePerSessionThreads", ""},
    {"session.x64quantprecision", kAlways, "products of 8-bit integers are exact on every CPU", ""},
    {"mlas.", kIgnored, "kernels are chosen by CPU and sizes", ""},
    {"ep.context_embed_mode", kRead, "1: a model of compiled nodes holds their data; 0: they are in files beside it", ""},
    {"ep.context_enable", kRead, "1: a model with what providers have compiled is written", ""},
    {"ep.context_file_path", kRead, "where that model is written; if empty, beside the session's model, named ..._ctx.onnx", ""},
    {"ep.context_model_external_initializers_file_name", kRead, "the file for the weights of that model, beside it", ""},
    {"ep.context_node_name_prefix", kRead, "for providers: how the names of the nodes that they make begin", ""},
    {"ep.context_source_model_path", kRead, "for providers: the model that compiled nodes without weights come from", ""},
    {"ep.enable_weightless", kRead, "1: providers leave the weights out of what they compile; it is an error if they cannot", ""},
    {"ep.enable_weightless_ep_context_nodes", kRead, "for providers: 1: nodes without weights", ""},
    {"ep.share_ep_contexts", kRead, "for providers: 1: sessions share what they compile", ""},
    {"ep.stop_share_ep_contexts", kRead, "for providers: 1: this is the last session that shares", ""},
    {"ep.", kIgnored, "providers get their options when they are added", ""},
};
constexpr ConfigKey kRunKeys[] = {
    {"memory.enable_memory_arena_shrinkage", kRead, "cpu:0: the memory of this run is freed when it ends; gpu:0: the allocator of the provider for this device is asked to free what it keeps", ""},
    {"sardonyx.max_run_memory", kRead, "limit for the memory that the run holds, in bytes", ""},
    {"sardonyx.nchwc_block_size", kRead, "8 or 16: how many channels a block of com.microsoft.nchwc has in the model; by default what fits its sizes, or else what ONNX Runtime takes on this machine", ""},
    {"sardonyx.run_timeout_ms", kRead, "limit for the run, in milliseconds", ""},
    {"disable_synchronize_execution_providers", kRead, "1: a run may end before providers have done the work that they gave to streams", ""},
    {"gpu_graph_id", kRead, "the graph that a plug-in captures the run as, and replays; -1: none", ""},
    {"qnn.", kIgnored, "there is no QNN provider", ""},
};
constexpr ConfigKey kEnvironmentKeys[] = {
    {"allow_virtual_devices", kIgnored, "only the devices of the machine exist", "0"},
    {"ep_factory.", kIgnored, "provider libraries do not get entries of the environment", ""},
};
// clang-format on

const ConfigKey* Find(std::span<const ConfigKey> keys, std::string_view name) {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const ConfigKey& key) {
    return key.name.ends_with('.') ? name.starts_with(key.name) : name == key.name;
  });
  return found == keys.end() ? nullptr : &*found;
}

using Entries = std::map<std::string, std::string>;

[[noreturn]] void Refuse(Code code, std::string_view key, std::string_view expected, std::string_view found) {
  Fail(code, "config entry '", key, "': expected ", expected, ", found '", found, "'");
}

template <typename T>
bool ReadNumber(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

void CheckWords(const Entries& config, Code code, std::string_view key, std::string_view expected,
                std::initializer_list<std::string_view> words) {
  const auto found = config.find(std::string(key));
  if (found != config.end() && std::find(words.begin(), words.end(), found->second) == words.end())
    Refuse(code, key, expected, found->second);
}

template <typename T>
void CheckNumber(const Entries& config, Code code, std::string_view key, std::string_view expected, T least) {
  const auto found = config.find(std::string(key));
  T number{};
  if (found != config.end() && (!ReadNumber(found->second, number) || number < least))
    Refuse(code, key, expected, found->second);
}

// device(name,...);...
void CheckAssignment(const Entries& config, std::string_view key, bool exact_names) {
  const auto found = config.find(std::string(key));
  if (found == config.end()) return;
  for (const std::string_view part : Split(found->second, ';')) {
    if (part.find_first_not_of(" \t") == std::string_view::npos) continue;
    const std::size_t begin = part.find('('), end = part.find(')');
    const bool named = part.find_first_not_of(" \t") < begin;
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin || !named)
      Refuse(Code::kInvalidArgument, key, "device(name,...) separated by semicolons", part);
    if (exact_names) continue;
    for (const std::string_view name : Split(part.substr(begin + 1, end - begin - 1), ','))
      if (const std::size_t first = name.find_first_not_of(" \t");
          first != std::string_view::npos && name[first] == '=')
        Refuse(Code::kInvalidArgument, key, "parts of names without '='", name);
  }
}

void CheckShape(const Graph& graph, std::string_view name, std::span<const std::int64_t> shape) {
  constexpr std::string_view kKey = "session.max_shape_override";
  const auto id = graph.Find(name);
  if (!id || !graph.value(*id).is_input) Refuse(Code::kFail, kKey, "names of the model's inputs", name);
  const Type& type = graph.value(*id).type;
  bool fits = !type.has_rank || type.rank() == shape.size();
  for (std::size_t i = 0; fits && type.has_rank && i < shape.size(); ++i)
    fits = !type.dims[i].known() || type.dims[i].number() == shape[i];
  if (!fits)
    Fail(Code::kFail, "config entry '", kKey, "': expected ", type.ToText(), " for '", name, "', found ",
         ToText(Dims(shape)));
}

// input:[d0,d1];...
void CheckShapes(const Entries& config, const Graph& graph) {
  constexpr std::string_view kKey = "session.max_shape_override";
  const auto found = config.find(std::string(kKey));
  if (found == config.end() || found->second.empty()) return;
  std::set<std::string_view> names;
  for (const std::string_view part : Split(found->second, ';')) {
    const std::size_t colon = part.rfind(':');
    const std::string_view shape = colon == std::string_view::npos ? std::string_view() : part.substr(colon + 1);
    if (colon == 0 || shape.size() < 2 || shape.front() != '[' || shape.back() != ']')
      Refuse(Code::kFail, kKey, "input:[dimension,...] separated by semicolons", part);
    std::vector<std::int64_t> sizes;
    if (shape.size() > 2) {
      for (const std::string_view dimension : Split(shape.substr(1, shape.size() - 2), ','))
        if (!ReadNumber(dimension, sizes.emplace_back()) || sizes.back() <= 0)
          Refuse(Code::kFail, kKey, "dimensions of 1 or more", part);
    }
    if (!names.insert(part.substr(0, colon)).second) Refuse(Code::kFail, kKey, "each input once", part);
    CheckShape(graph, part.substr(0, colon), sizes);
  }
}

void CheckExpertState(std::string_view key, const std::string& path) {
  std::ifstream file(path);
  if (!file) Refuse(Code::kFail, key, "a file that can be read", path);
  std::string first, version;
  file >> first >> version;
  if (first != "moe_expert_state" || version != "1")
    Fail(Code::kFail, "config entry '", key, "': expected a file that begins with 'moe_expert_state 1', found '", first,
         " ", version, "' in '", path, "'");
}

void CheckExpertCounters(const Entries& config) {
  constexpr std::string_view kCounting = "session.enable_moe_expert_counting",
                             kStatistics = "session.enable_moe_expert_statistics";
  CheckWords(config, Code::kFail, kCounting, "0 or 1", {"0", "1"});
  CheckWords(config, Code::kInvalidArgument, kStatistics, "0 or 1", {"0", "1"});
  const auto is_on = [&](std::string_view key) {
    const auto found = config.find(std::string(key));
    return found != config.end() && found->second == "1";
  };
  const bool counted = is_on(kCounting) || is_on(kStatistics);
  double alpha = 0.9, beta = 0.1;  // ONNX Runtime's defaults
  for (const std::string_view name : {"alpha", "beta", "state_file"}) {
    const std::string key = "session.moe_expert_counter_" + std::string(name);
    const auto found = config.find(key);
    if (found == config.end()) continue;
    if (!counted) Refuse(Code::kFail, key, "this entry only beside " + std::string(kCounting) + " = 1", found->second);
    if (name == "state_file") {
      CheckExpertState(key, found->second);
      continue;
    }
    double& number = name == "alpha" ? alpha : beta;
    if (!ReadNumber(found->second, number) || !std::isfinite(number) || number < 0)
      Refuse(Code::kFail, key, "a number of 0 or more", found->second);
  }
  constexpr double kRounding = 1e-9;
  if (alpha + beta > 1 + kRounding)
    Fail(Code::kFail, "config entries 'session.moe_expert_counter_alpha' and '..._beta': expected a sum of at most 1, ",
         "found ", alpha, " and ", beta);
}

}  // namespace

void CheckIgnoredValues(const Entries& config, const Graph& graph) {
  constexpr Code kInvalid = Code::kInvalidArgument;
  CheckWords(config, kInvalid, "optimization.minimal_build_optimizations", "save, apply or nothing",
             {"", "save", "apply"});
  CheckWords(config, kInvalid, "session.gqa_value_layout", "BNSH or BNHS", {"BNSH", "BNHS"});
  CheckNumber<std::uint64_t>(config, kInvalid, "session.function_expansion_byte_limit", "a whole number of 1 or more",
                             1);
  CheckNumber<std::int64_t>(config, kInvalid, "ep.cuda.gqa_workspace_max_total_sequence_length",
                            "a whole number of 0 or more", 0);
  CheckNumber<std::int64_t>(config, Code::kFail, "session.qdq_matmulnbits_block_size", "a whole number", INT64_MIN);
  CheckAssignment(config, "session.layer_assignment_settings", true);
  CheckAssignment(config, "session.name_based_layer_assignment", false);
  if (config.contains("session.layer_assignment_settings") && config.contains("session.name_based_layer_assignment"))
    Fail(kInvalid, "expected only one of the config entries 'session.layer_assignment_settings' and ",
         "'session.name_based_layer_assignment', found both");
  constexpr const char* kLimits = "session.resource_cuda_partitioning_settings";
  if (const auto found = config.find(kLimits); found != config.end() && !found->second.empty())
    if (Split(found->second, ',').size() != 2)
      Refuse(kInvalid, kLimits, "a limit and a file, separated by a comma", found->second);
  CheckShapes(config, graph);
  CheckExpertCounters(config);
}

void CheckRunValues(const Entries& config) {
  constexpr const char* kGraph = "gpu_graph_id";
  if (const auto found = config.find(kGraph); found != config.end() && !found->second.empty())
    CheckNumber<int>(config, Code::kInvalidArgument, kGraph, "a whole number", INT_MIN);
}

std::span<const ConfigKey> SessionKeys() { return kSessionKeys; }
std::span<const ConfigKey> RunKeys() { return kRunKeys; }
std::span<const ConfigKey> EnvironmentKeys() { return kEnvironmentKeys; }

bool ChangesNothing(std::string_view key, std::string_view value, std::span<const ConfigKey> keys) {
  const ConfigKey* known = Find(keys, key);
  return known == nullptr || (known->fate == kIgnored && (known->as_is.empty() || value != known->as_is));
}

void WarnOfKey(const Logger& logger, std::string_view what, const std::string& key, const std::string& value,
               std::span<const ConfigKey> keys) {
  if (!ChangesNothing(key, value, keys)) return;
  if (const ConfigKey* known = Find(keys, key)) {
    return logger.Warn("the ", what, " configuration '", key, "' is not honoured by Sardonyx: ", known->text);
  }
  std::vector<std::string> names;
  for (const ConfigKey& known : keys) names.emplace_back(known.name);
  const std::string closest = ClosestName(key, names);
  logger.Warn("the ", what, " configuration '", key,
              "' is not honoured by Sardonyx: it is accepted and changes nothing",
              closest.empty() ? "" : "; did you mean '" + closest + "'?");
}

}  // namespace sardonyx::runtime
