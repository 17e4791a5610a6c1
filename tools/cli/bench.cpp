// tools/cli/bench.cpp - `sardonyx bench`: measures latency, throughput and memory of a model.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "commands.h"
#include "process_memory.h"
#include "progress.h"
#include "terminal.h"

namespace sardonyx::cli {
namespace {

using json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct BenchArguments {
  std::string model;
  InputArguments inputs;
  GraphOptimizationLevel level = ORT_ENABLE_ALL;
  SessionSettings session;  // only its providers are used
  std::vector<int> threads;
  int callers = 1;
  double seconds = 3;
  int runs = 0;  // 0: `seconds` limits them
  int warmup = 3;
};

// The results for one number of threads.
struct Measurement {
  int threads = 0;
  double create_ms = 0;
  double first_ms = 0;
  std::vector<double> run_ms;  // of all callers, in ascending order
  double wall_seconds = 0;
  ProcessMemory memory;
  json weights;

  double percentile(double percent) const {  // the nearest rank
    const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(run_ms.size())));
    return run_ms[std::clamp<std::size_t>(rank, 1, run_ms.size()) - 1];
  }
  double mean() const {
    return std::accumulate(run_ms.begin(), run_ms.end(), 0.0) / static_cast<double>(run_ms.size());
  }
  double per_second() const { return static_cast<double>(run_ms.size()) / wall_seconds; }
};

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// What each caller runs repeatedly.
struct Work {
  const Session& session;
  const std::vector<Handle<OrtValue>>& values;
  const std::vector<std::string>& names;
};

// Runs until the time or the number of runs is reached. Returns the milliseconds of each run.
std::vector<double> Call(const Work& work, const BenchArguments& arguments, Clock::time_point start,
                         std::atomic<int>& done, Progress& progress) {
  std::vector<double> took;
  while (true) {
    const double seconds = MillisecondsSince(start) / 1000;
    const int so_far = done.fetch_add(1);
    if (arguments.runs > 0 ? so_far >= arguments.runs : seconds >= arguments.seconds && !took.empty()) return took;
    progress.Done(arguments.runs > 0 ? static_cast<double>(so_far) / arguments.runs : seconds / arguments.seconds);
    const Clock::time_point before = Clock::now();
    work.session.Run(work.values, work.names);
    took.push_back(MillisecondsSince(before));
  }
}

// Rethrows the error of a caller, if there is one.
void MeasureRuns(const Work& work, const BenchArguments& arguments, Measurement& result) {
  Progress progress("measuring with " + std::to_string(result.threads) + " threads");
  std::atomic<int> done = 0;
  std::vector<std::vector<double>> took(static_cast<std::size_t>(arguments.callers));
  std::vector<std::exception_ptr> failures(took.size());
  const Clock::time_point start = Clock::now();
  const auto call = [&](std::size_t i) {
    try {
      took[i] = Call(work, arguments, start, done, progress);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < took.size(); ++i) others.emplace_back(call, i);
  call(0);
  for (std::thread& other : others) other.join();
  result.wall_seconds = MillisecondsSince(start) / 1000;
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  for (const auto& part : took) result.run_ms.insert(result.run_ms.end(), part.begin(), part.end());
  std::ranges::sort(result.run_ms);
}

Measurement Measure(const BenchArguments& arguments, int threads, std::vector<Input>& inputs,
                    std::vector<std::string>& assumed) {
  Measurement result{.threads = threads};
  const MemoryWatch watch;
  const Clock::time_point start = Clock::now();
  const Session session = Load(arguments.model, {.level = arguments.level,
                                                 .threads = threads,
                                                 .providers = arguments.session.providers,
                                                 .provider_options = arguments.session.provider_options,
                                                 .provider_libraries = arguments.session.provider_libraries});
  result.create_ms = MillisecondsSince(start);
  if (inputs.empty()) inputs = MakeInputs(session.inputs(), arguments.inputs, assumed);
  std::vector<Handle<OrtValue>> values;
  for (const Input& input : inputs) values.push_back(ToValue(input.tensor));
  std::vector<std::string> names;
  for (const ValueDescription& output : session.outputs()) names.push_back(output.name);

  const Clock::time_point first = Clock::now();
  session.Run(values, names);
  result.first_ms = MillisecondsSince(first);
  for (int i = 0; i < arguments.warmup; ++i) session.Run(values, names);
  MeasureRuns({session, values, names}, arguments, result);
  result.memory = watch.Read();
  result.weights = json::parse(Text([&](OrtAllocator* allocator, char** text) {
    return Sardonyx().SessionMemoryInfo(session.get(), allocator, text);
  }));
  return result;
}

constexpr double kPercentiles[] = {50, 90, 95, 99};

json ToJson(const Measurement& m) {
  json latency = {{"min", m.run_ms.front()}, {"mean", m.mean()}};
  for (const double percent : kPercentiles) latency["p" + NumberText(percent)] = m.percentile(percent);
  latency["max"] = m.run_ms.back();
  return {{"threads", m.threads},
          {"session_creation_ms", m.create_ms},
          {"first_run_ms", m.first_ms},
          {"runs", m.run_ms.size()},
          {"latency_ms", latency},
          {"runs_per_second", m.per_second()},
          {"memory",
           {{"peak_bytes", m.memory.peak_bytes ? json(*m.memory.peak_bytes) : json()},
            {"weight_bytes", m.weights.value("weight_bytes", json())},
            {"mapped_bytes", m.weights.value("mapped_bytes", json())}}}};
}

std::string Milliseconds(double value) {
  char text[32];
  if (value < 0.1) {
    std::snprintf(text, sizeof(text), "%.2f us", value * 1000);
  } else {
    std::snprintf(text, sizeof(text), value < 10 ? "%.3f ms" : value < 100 ? "%.2f ms" : "%.1f ms", value);
  }
  return text;
}

void PrintTable(const std::vector<Measurement>& all, const BenchArguments& arguments) {
  std::vector<std::vector<std::string>> rows = {
      {"threads", "create", "first run", "runs", "p50", "p90", "p95", "p99", "slowest", "runs/s", "peak memory"}};
  for (const Measurement& m : all) {
    std::vector<std::string> row = {std::to_string(m.threads), Milliseconds(m.create_ms), Milliseconds(m.first_ms),
                                    std::to_string(m.run_ms.size())};
    for (const double percent : kPercentiles) row.push_back(Milliseconds(m.percentile(percent)));
    row.push_back(Milliseconds(m.run_ms.back()));
    row.push_back(NumberText(std::round(m.per_second() * 10) / 10));
    row.push_back(m.memory.peak_bytes ? ByteText(static_cast<double>(*m.memory.peak_bytes)) : "not known");
    rows.push_back(std::move(row));
  }
  std::cout
      << Heading("Speed") << Columns(rows)
      << Styled(Style::kDim,
                arguments.callers > 1
                    ? "  " + std::to_string(arguments.callers) + " callers run the session at the same time"
                    : "  p90: 90 % of the runs took this time or less; peak memory: added by the session and its runs")
      << "\n";
}

void Bench(BenchArguments& arguments, const Common& common) {
  if (arguments.threads.empty())
    arguments.threads.push_back(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  std::vector<Input> inputs;
  std::vector<std::string> assumed;
  std::vector<Measurement> all;
  for (const int threads : arguments.threads) all.push_back(Measure(arguments, threads, inputs, assumed));
  if (common.json) {
    json answer = {{"model", arguments.model}, {"callers", arguments.callers}, {"inputs", json::array()}};
    for (const Input& input : inputs) {
      answer["inputs"].push_back({{"name", input.tensor.name},
                                  {"type", FindElementType(input.tensor.type).name},
                                  {"shape", input.tensor.shape},
                                  {"source", input.source}});
    }
    answer["results"] = json::array();
    for (const Measurement& m : all) answer["results"].push_back(ToJson(m));
    std::cout << answer.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
    return;
  }
  std::vector<std::vector<std::string>> rows;
  for (const Input& input : inputs) {
    rows.push_back({input.tensor.name, std::string(FindElementType(input.tensor.type).name),
                    ShapeText(input.tensor.shape), input.source});
  }
  std::cout << Heading("Inputs") << Columns(rows);
  for (const std::string& name : assumed) {
    std::cout << Styled(Style::kDim, "  the model leaves " + name + " open: 1 is assumed (see --dim and --shape)")
              << "\n";
  }
  std::cout << "\n";
  PrintTable(all, arguments);
}

}  // namespace

void AddBench(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand("bench", "Measure the speed of a model and the memory it takes");
  command->group("Commands");
  auto arguments = std::make_shared<BenchArguments>();
  AddModel(*command, arguments->model);
  command
      ->add_option("--threads", arguments->threads,
                   "Use this many threads; measure each number of a list such as 1,2,4 (default: one per core)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 4096))
      ->option_text("NUMBERS");
  command->add_option("--seconds", arguments->seconds, "Measure for this many seconds (default: 3)")
      ->check(CLI::Range(0.0, 86400.0))
      ->option_text("NUMBER");
  command->add_option("--runs", arguments->runs, "Measure this many runs instead")
      ->check(CLI::Range(1, 1000000000))
      ->option_text("NUMBER");
  command->add_option("--warmup", arguments->warmup, "First run this many times without measuring (default: 3)")
      ->check(CLI::Range(0, 1000000))
      ->option_text("NUMBER");
  command
      ->add_option("--callers", arguments->callers,
                   "Run the session from this many threads at the same time (default: 1)")
      ->check(CLI::Range(1, 1024))
      ->option_text("NUMBER");
  AddProviders(*command, arguments->session);
  AddLevel(*command, arguments->level);
  AddInputs(*command, arguments->inputs);
  AddImage(*command, arguments->inputs.image);
  AddJson(*command, common);
  command->footer(
      "Other programs slow the measurement down: close them, and compare medians (p50).\n\n"
      "Examples:\n"
      "  sardonyx bench model.onnx --seconds 0.2\n"
      "  sardonyx bench model.onnx --threads 1,2 --runs 50 --dim batch=8\n"
      "  sardonyx bench model.onnx --callers 2 --runs 50 --json");
  command->callback([arguments, &common] { Bench(*arguments, common); });
}

}  // namespace sardonyx::cli
