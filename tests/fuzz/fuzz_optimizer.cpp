// tests/fuzz/fuzz_optimizer.cpp - random valid graphs: all optimizations, none, and node by node give the same results,
// and one thread the same bits as three.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "fuzz/random_graph.h"
#include "ir/text.h"
#include "ops/evaluate.h"
#include "providers/cpu/cpu_provider.h"
#include "runtime/session.h"

namespace sardonyx::fuzz {
namespace {

const std::shared_ptr<runtime::Environment>& TheEnvironment() {
  static const auto* const environment = [] {
    std::vector<providers::ProviderFactory> factories = {providers::CpuProvider()};
    return new auto(std::make_shared<runtime::Environment>(Logger(), std::move(factories)));
  }();
  return *environment;
}

std::vector<Value> Run(const RandomGraph& graph, runtime::OptimizationLevel level, int threads) {
  runtime::SessionOptions options;
  options.optimization_level = level;
  options.intra_op_threads = threads;
  options.log_severity = Severity::kFatal;
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

[[noreturn]] void Report(const RandomGraph& graph, const char* what, std::size_t output, const std::string& detail) {
  std::fprintf(stderr, "%s: output %zu '%s': %s\n%s\n", what, output, graph.outputs[output].c_str(), detail.c_str(),
               ToText(*graph.model).c_str());
  std::abort();
}

void ExpectSameBits(const RandomGraph& graph, const char* what, const std::vector<Value>& got,
                    const std::vector<Value>& want) {
  for (std::size_t k = 0; k < want.size(); ++k) {
    const Tensor &a = got[k].tensor(), &b = want[k].tensor();
    if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) Report(graph, what, k, "another type or shape");
    if (a.byte_size() != 0 && std::memcmp(a.raw(), b.raw(), a.byte_size()) != 0) Report(graph, what, k, "other bits");
  }
}

// The elements that differ by more than rounding; `noisy`: results with noise, to know what rounding may do.
std::string Difference(const Tensor& got, const Tensor& want, const std::vector<const Tensor*>& noisy,
                       bool discontinuous) {
  const auto *a = got.data<float>(), *b = want.data<float>();
  double largest = 0, worst_noise = 0;
  const auto noise_at = [&](std::int64_t i) {
    double noise = 0;
    for (const Tensor* other : noisy) {
      const double d = std::abs(double{other->data<float>()[i]} - double{b[i]});
      noise = std::max(noise, std::isnan(d) ? HUGE_VAL : d);
    }
    return noise;
  };
  for (std::int64_t i = 0; i < want.count(); ++i) {
    if (std::isfinite(b[i])) largest = std::max(largest, std::abs(double{b[i]}));
    worst_noise = std::max(worst_noise, noise_at(i));
  }
  for (std::int64_t i = 0; i < want.count(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    const double noise = discontinuous ? worst_noise : std::max(noise_at(i), worst_noise / 8);
    const double bound = 2e-5 * std::abs(double{b[i]}) + 1e-5 * largest + 50 * noise + 1e-30;
    const double error = std::abs(double{a[i]} - double{b[i]});
    if (error <= bound || std::isinf(bound)) continue;
    return "element " + std::to_string(i) + ": expected " + std::to_string(b[i]) + ", found " + std::to_string(a[i]) +
           ", bound " + std::to_string(bound);
  }
  return "";
}

void ExpectClose(const RandomGraph& graph, const ops::Registry& registry, const char* what,
                 const std::vector<Value>& got, const std::vector<Value>& want) {
  std::vector<std::vector<Value>> noisy;
  for (std::size_t k = 0; k < want.size(); ++k) {
    const Tensor &a = got[k].tensor(), &b = want[k].tensor();
    if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) Report(graph, what, k, "another type or shape");
    if (b.dtype() != DType::kFloat) {
      const bool same = b.byte_size() == 0 || std::memcmp(a.raw(), b.raw(), b.byte_size()) == 0;
      if (!same && !graph.discontinuous) Report(graph, what, k, "other elements");
      continue;
    }
    if (Difference(a, b, {}, false).empty()) continue;
    for (unsigned seed = 1; noisy.size() < 4; ++seed) noisy.push_back(RunWithNoise(graph, registry, seed));
    std::vector<const Tensor*> others;
    for (const auto& results : noisy) {
      if (!(results[k].tensor().shape() == b.shape())) return;  // shapes that hang on a rounding
      others.push_back(&results[k].tensor());
    }
    if (const std::string found = Difference(a, b, others, graph.discontinuous); !found.empty())
      Report(graph, what, k, found);
  }
}

}  // namespace
}  // namespace sardonyx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sardonyx;
  using namespace sardonyx::fuzz;
  static const auto* const registry = new ops::Registry();
  const RandomGraph graph = MakeRandomGraph(ByteSource({data, size}), *registry);
  if (graph.outputs.empty()) return 0;
  try {
    std::vector<Value> inputs;
    for (const auto& input : graph.inputs) inputs.push_back(input.second);
    Backwards backwards;
    ExpectSameBits(graph, "loops backwards",
                   ops::EvaluateGraph(graph.model->graph, *registry, inputs, {.parallel = &backwards, .captured = {}}),
                   graph.results);
    ExpectClose(graph, *registry, "not optimized", Run(graph, runtime::OptimizationLevel::kDisable, 1), graph.results);
    const std::vector<Value> optimized = Run(graph, runtime::OptimizationLevel::kAll, 1);
    ExpectClose(graph, *registry, "optimized", optimized, graph.results);
    if (size % 4 == 0)
      ExpectSameBits(graph, "three threads", Run(graph, runtime::OptimizationLevel::kAll, 3), optimized);
  } catch (const Error& error) {  // every node worked alone
    std::fprintf(stderr, "%s\n", error.what());
    Report(graph, "an error", 0, error.what());
  }
  return 0;
}
