// tests/fuzz/fuzz_model.cpp - whole models changed field by field: each loads and runs, or causes an Error.
//
// At the end the target reports how many inputs reached a run.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "fuzz/fitting_inputs.h"
#include "fuzz/model_mutator.h"
#include "providers/cpu/cpu_provider.h"

namespace sardonyx::fuzz {
namespace {

struct Counts {
  std::size_t inputs = 0, loaded = 0, started = 0, ended = 0;
};
Counts counts;

void PrintCounts() {
  const auto share = [](std::size_t count) {
    return 100.0 * static_cast<double>(count) / static_cast<double>(std::max<std::size_t>(counts.inputs, 1));
  };
  std::fprintf(stderr, "reach: %zu inputs, %.1f %% loaded, %.1f %% began a run, %.1f %% ended it without an error\n",
               counts.inputs, share(counts.loaded), share(counts.started), share(counts.ended));
}

std::uint32_t Digest(std::string_view bytes) {  // FNV-1a
  std::uint32_t digest = 2166136261U;
  for (const char c : bytes) digest = (digest ^ static_cast<unsigned char>(c)) * 16777619U;
  return digest;
}

// What mutations begin with: models that ran. Others teach little, and their children rarely run.
struct Parents {
  std::unordered_set<std::uint32_t> known;
  std::vector<std::string> some;  // a sample, for inputs whose parent did not run
};
Parents& RanBefore() {
  static auto* const parents = new Parents();
  return *parents;
}

void Remember(std::string_view bytes, std::uint32_t digest) {
  constexpr std::size_t kMost = 4096;
  Parents& parents = RanBefore();
  if (!parents.known.insert(digest).second) return;
  if (parents.some.size() < kMost) {
    parents.some.emplace_back(bytes);
  } else if (digest % 64 == 0) {
    parents.some[digest / 64 % kMost] = bytes;
  }
}

std::shared_ptr<runtime::Environment> MakeEnvironment() {
  std::vector<providers::ProviderFactory> factories = {providers::CpuProvider()};
  return std::make_shared<runtime::Environment>(Logger(), std::move(factories));
}

void LoadAndRun(std::string_view bytes, std::uint32_t digest) {
  static const auto* const environment = new std::shared_ptr<runtime::Environment>(MakeEnvironment());
  runtime::SessionOptions options;
  options.intra_op_threads = 1;
  options.optimization_level =
      digest % 4 == 0 ? runtime::OptimizationLevel::kDisable : runtime::OptimizationLevel::kAll;
  options.log_severity = Severity::kFatal;
  options.config = {{"sardonyx.max_load_memory", "67108864"},
                    {"sardonyx.max_run_memory", "67108864"},
                    {"sardonyx.load_timeout_ms", "3000"},
                    {"sardonyx.run_timeout_ms", "1000"}};
  const auto session =
      runtime::Session::FromBytes(*environment, std::as_bytes(std::span(bytes)), nullptr, std::move(options));
  ++counts.loaded;
  std::vector<std::string> names;
  for (const runtime::Port& port : session->outputs()) names.push_back(port.name);
  const auto inputs = FittingInputs(*session, digest);
  ++counts.started;
  Remember(bytes, digest);
  session->Run(runtime::RunOptions(), inputs, names);
  ++counts.ended;
}

}  // namespace
}  // namespace sardonyx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sardonyx::fuzz;
  static const int registered = std::atexit(PrintCounts);
  static_cast<void>(registered);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ++counts.inputs;
  try {
    LoadAndRun(bytes, Digest(bytes));
  } catch (const sardonyx::Error&) {
    return 0;
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  using namespace sardonyx::fuzz;
  if (seed % 64 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Parents& parents = RanBefore();
  if (!parents.some.empty() && parents.known.count(Digest(bytes)) == 0 && seed % 8 != 1)
    bytes = parents.some[seed / 8 % parents.some.size()];
  const std::string mutated = ModelMutator(seed).Mutate(bytes);
  if (mutated.size() > max_size) return size;
  std::memcpy(data, mutated.data(), mutated.size());
  return mutated.size();
}
