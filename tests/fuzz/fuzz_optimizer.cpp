// tests/fuzz/fuzz_optimizer.cpp - random valid graphs give the same results with all optimizations, with none and node
// by node, and the same bits with one thread and with three.
//
// A graph that fails is reduced to the nodes that show the fault, and to the passes that have a part in it. At the end
// the target reports how often each pass changed a graph.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/close_results.h"
#include "fuzz/reduced_graph.h"
#include "fuzz/wrapped_graph.h"
#include "ir/text.h"
#include "ops/evaluate.h"
#include "optimizer/pipeline.h"
#include "providers/cpu/cpu_provider.h"
#include "runtime/session.h"

namespace sardonyx::fuzz {
namespace {

const ops::Registry& TheRegistry() {
  static const auto* const registry = new ops::Registry();
  return *registry;
}

const std::shared_ptr<runtime::Environment>& TheEnvironment() {
  static const auto* const environment = [] {
    std::vector<providers::ProviderFactory> factories = {providers::CpuProvider()};
    return new auto(std::make_shared<runtime::Environment>(Logger(), std::move(factories)));
  }();
  return *environment;
}

// How often each pass changed a graph.
std::map<std::string, std::size_t>& Fired() {
  static auto* const fired = [] {
    auto* counts = new std::map<std::string, std::size_t>();
    for (const optimizer::PassInfo& pass : optimizer::AllPasses()) (*counts)[std::string(pass.name)] = 0;
    return counts;
  }();
  return *fired;
}

// What a session logs of a pass: "pass NAME: WHAT (n ms)".
void CountPass(Severity, const char*, const char*, const char*, const char* text) {
  const std::string_view line = text;
  if (!line.starts_with("pass ") || line.find(": no change (") != std::string_view::npos) return;
  const auto found = Fired().find(std::string(line.substr(5, line.find(':') - 5)));
  if (found != Fired().end()) ++found->second;
}

void PrintCounts() {
  for (const auto& [name, count] : Fired()) std::fprintf(stderr, "fired: %s %zu\n", name.c_str(), count);
}

struct Way {
  runtime::OptimizationLevel level = runtime::OptimizationLevel::kAll;
  int threads = 1;
  std::vector<std::string> disabled_passes = {};
  bool counts_passes = false;
};

std::vector<Value> Run(const RandomGraph& graph, const Way& way) {
  runtime::SessionOptions options;
  options.optimization_level = way.level;
  options.intra_op_threads = way.threads;
  options.disabled_passes = way.disabled_passes;
  options.log_severity = way.counts_passes ? Severity::kInfo : Severity::kFatal;
  options.log_sink = CountPass;
  const auto session = runtime::Session::FromModel(TheEnvironment(), graph.model, std::move(options));
  return session->Run(runtime::RunOptions(), graph.inputs, graph.outputs);
}

// Loops in pieces and backwards, as threads might: what a kernel computes must not depend on it.
class Backwards final : public Parallel {
 public:
  void For(std::int64_t count, std::int64_t grain, Body body) override {
    const std::int64_t step = std::max<std::int64_t>(grain, 1);
    for (std::int64_t begin = (count - 1) / step * step; begin >= 0 && count > 0; begin -= step)
      body(begin, std::min(begin + step, count));
  }
  int ThreadCount() const override { return 3; }
};

std::string TextOf(const RandomGraph& graph) {
  return ToText(*graph.model, {.max_elements = 16, .node_names = false, .value_types = false});
}

std::string OtherBits(const RandomGraph& graph, const std::vector<Value>& got, const std::vector<Value>& want) {
  for (std::size_t k = 0; k < want.size(); ++k) {
    if (!SameBits(got[k].tensor(), want[k].tensor())) return "output '" + graph.outputs[k] + "' has other bits";
  }
  return "";
}

std::string OtherResults(const RandomGraph& graph, const std::vector<Value>& got) {
  CloseResults close(graph, TheRegistry());
  for (std::size_t k = 0; k < graph.results.size(); ++k)
    if (const std::string found = close.Compare(k, got[k]); !found.empty())
      return "output '" + graph.outputs[k] + "': " + found;
  return "";
}

// A check of a graph: what is wrong, "" if nothing is.
struct Check {
  const char* name;
  std::string (*run)(const RandomGraph&, const std::vector<std::string>& disabled_passes);
};

std::string Reversed(const RandomGraph& graph, const std::vector<std::string>&) {
  std::vector<Value> inputs;
  for (const auto& input : graph.inputs) inputs.push_back(input.second);
  Backwards backwards;
  return OtherBits(
      graph, ops::EvaluateGraph(graph.model->graph, TheRegistry(), inputs, {.parallel = &backwards, .captured = {}}),
      graph.results);
}
std::string NotOptimized(const RandomGraph& graph, const std::vector<std::string>&) {
  return OtherResults(graph, Run(graph, {.level = runtime::OptimizationLevel::kDisable}));
}
std::string Optimized(const RandomGraph& graph, const std::vector<std::string>& disabled) {
  return OtherResults(graph, Run(graph, {.disabled_passes = disabled, .counts_passes = true}));
}
std::string ThreeThreads(const RandomGraph& graph, const std::vector<std::string>& disabled) {
  return OtherBits(graph, Run(graph, {.threads = 3, .disabled_passes = disabled}),
                   Run(graph, {.disabled_passes = disabled}));
}

std::string InBodies(const RandomGraph& graph, const std::vector<std::string>& disabled) {
  const RandomGraph wrapped = Wrapped(graph, graph.seed);
  const std::string found = OtherResults(graph, Run(wrapped, {.disabled_passes = disabled}));
  return found.empty() ? "" : found + "\nin " + TextOf(wrapped);
}

constexpr Check kReversed = {"loops backwards", Reversed}, kNotOptimized = {"not optimized", NotOptimized},
                kOptimized = {"optimized", Optimized}, kThreeThreads = {"three threads", ThreeThreads},
                kInBodies = {"in bodies", InBodies};

std::string Fault(const Check& check, const RandomGraph& graph, const std::vector<std::string>& disabled = {}) {
  try {
    return check.run(graph, disabled);
  } catch (const Error& error) {  // every node worked alone
    return error.what();
  }
}

void Expect(const Check& check, const RandomGraph& graph) {
  std::string fault = Fault(check, graph);
  if (fault.empty()) return;
  std::fprintf(stderr, "%s: %s\n", check.name, fault.c_str());
  const RandomGraph small =
      Reduced(graph, TheRegistry(), [&](const RandomGraph& part) { return !Fault(check, part).empty(); });
  fault = Fault(check, small);
  std::fprintf(stderr, "reduced: %s\n%s\n", fault.c_str(), TextOf(small).c_str());
  for (const optimizer::PassInfo& pass : optimizer::AllPasses())
    if (Fault(check, small, {std::string(pass.name)}).empty())
      std::fprintf(stderr, "no fault without pass %s\n", std::string(pass.name).c_str());
  std::abort();
}

}  // namespace
}  // namespace sardonyx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sardonyx::fuzz;
  static const int registered = std::atexit(PrintCounts);
  static_cast<void>(registered);
  const RandomGraph graph = MakeRandomGraph(ByteSource({data, size}), TheRegistry());
  if (graph.outputs.empty()) return 0;
  Expect(kReversed, graph);
  Expect(kNotOptimized, graph);
  Expect(kOptimized, graph);
  Expect(graph.seed % 4 == 0 ? kThreeThreads : kInBodies, graph);
  return 0;
}
