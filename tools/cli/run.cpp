// tools/cli/run.cpp - `sardonyx run`: runs a model, and shows its outputs and the time.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "check_values.h"
#include "commands.h"
#include "inputs.h"
#include "progress.h"
#include "tensor_file.h"
#include "terminal.h"

namespace sardonyx::cli {
namespace {

using json = nlohmann::ordered_json;

struct RunArguments {
  std::string model;
  InputArguments inputs;
  std::string output;
  std::vector<std::string> names;
  SessionSettings session;
  int repeat = 1;
  int warmup = 0;
  bool check_values = false;
};

constexpr std::size_t kShownElements = 5;

struct Statistics {
  double lowest = 0;
  double highest = 0;
  double mean = 0;
  double deviation = 0;
  std::size_t nan_count = 0;
  std::size_t infinity_count = 0;
};

// Statistics of the finite elements.
Statistics Describe(const HostTensor& tensor) {
  const ElementType& type = FindElementType(tensor.type);
  Statistics result;
  double sum = 0;
  double squares = 0;
  std::size_t finite = 0;
  const std::size_t count = ElementCount(tensor.shape);
  for (std::size_t i = 0; i < count; ++i) {
    const double value = ElementValue(type, tensor.data, i);
    if (std::isnan(value)) ++result.nan_count;
    if (std::isinf(value)) ++result.infinity_count;
    if (!std::isfinite(value)) continue;
    result.lowest = finite ? std::min(result.lowest, value) : value;
    result.highest = finite ? std::max(result.highest, value) : value;
    sum += value;
    squares += value * value;
    ++finite;
  }
  if (finite) {
    result.mean = sum / static_cast<double>(finite);
    result.deviation = std::sqrt(std::max(0.0, squares / static_cast<double>(finite) - result.mean * result.mean));
  }
  return result;
}

json FirstElements(const HostTensor& tensor) {
  const ElementType& type = FindElementType(tensor.type);
  json first = json::array();
  for (std::size_t i = 0; i < std::min(ElementCount(tensor.shape), kShownElements); ++i) {
    if (type.layout == Layout::kString) {
      first.push_back(tensor.strings[i]);
    } else {
      const double value = ElementValue(type, tensor.data, i);
      first.push_back(std::isfinite(value) ? json(value) : json(NumberText(value)));  // JSON has no infinity
    }
  }
  return first;
}

// "0.25, 1, 3e-07": the same elements with fewer digits, for people.
std::string FirstText(const HostTensor& tensor) {
  std::string text;
  for (const json& element : FirstElements(tensor)) {
    text += text.empty() ? "" : ", ";
    text += element.is_string() ? element.get<std::string>() : NumberText(element.get<double>());
  }
  return ElementCount(tensor.shape) > kShownElements ? text + ", ..." : text;
}

json DescribeJson(const HostTensor& tensor) {
  json answer = {{"name", tensor.name},
                 {"type", FindElementType(tensor.type).name},
                 {"shape", tensor.shape},
                 {"first", FirstElements(tensor)}};
  if (tensor.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    const Statistics s = Describe(tensor);
    answer.update({{"min", s.lowest},
                   {"max", s.highest},
                   {"mean", s.mean},
                   {"std", s.deviation},
                   {"nan_count", s.nan_count},
                   {"infinity_count", s.infinity_count}});
  }
  return answer;
}

std::vector<std::string> DescribeRow(const HostTensor& tensor) {
  std::vector<std::string> row = {tensor.name, std::string(FindElementType(tensor.type).name), ShapeText(tensor.shape)};
  if (tensor.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    const Statistics s = Describe(tensor);
    for (const double value : {s.lowest, s.highest, s.mean, s.deviation}) row.push_back(NumberText(value));
    std::string odd;
    if (s.nan_count) odd += std::to_string(s.nan_count) + " NaN ";
    if (s.infinity_count) odd += std::to_string(s.infinity_count) + " infinite ";
    row.push_back(odd + "first: " + FirstText(tensor));
  } else {
    row.insert(row.end(), {"", "", "", "",
                           "first: " + FirstElements(tensor).dump(-1, ' ', false, json::error_handler_t::replace)});
  }
  return row;
}

double MillisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

struct Times {
  double load_ms = 0;
  std::vector<double> run_ms;  // in the order of the runs

  double median_ms() const {
    std::vector<double> sorted = run_ms;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }
};

std::vector<std::string> WantedOutputs(const Session& session, const std::vector<std::string>& names) {
  if (!names.empty()) return names;
  std::vector<std::string> all;
  for (const ValueDescription& output : session.outputs()) all.push_back(output.name);
  return all;
}

std::vector<HostTensor> RunAll(const Session& session, const RunArguments& arguments, const std::vector<Input>& inputs,
                               Times& times) {
  std::vector<Handle<OrtValue>> values;
  for (const Input& input : inputs) values.push_back(ToValue(input.tensor));
  const std::vector<std::string> names = WantedOutputs(session, arguments.names);
  std::vector<Handle<OrtValue>> results;
  Progress progress("running");
  const int count = arguments.warmup + arguments.repeat;
  for (int i = 0; i < count; ++i) {
    if (count > 1) progress.Done(static_cast<double>(i) / count);
    const auto start = std::chrono::steady_clock::now();
    results = session.Run(values, names);
    if (i >= arguments.warmup) times.run_ms.push_back(MillisecondsSince(start));
  }
  std::vector<HostTensor> tensors;
  for (std::size_t i = 0; i < results.size(); ++i) AppendTensors(names[i], *results[i], tensors);
  return tensors;
}

void PrintResult(const std::vector<Input>& inputs, const std::vector<std::string>& assumed,
                 const std::vector<HostTensor>& outputs, const Times& times) {
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
  rows = {{"name", "type", "shape", "min", "max", "mean", "std", ""}};
  for (const HostTensor& tensor : outputs) rows.push_back(DescribeRow(tensor));
  std::cout << "\n" << Heading("Outputs") << Columns(rows) << "\n" << Heading("Time");
  const auto [fastest, slowest] = std::ranges::minmax(times.run_ms);
  rows = {{"load", NumberText(times.load_ms) + " ms"}, {"run", NumberText(times.median_ms()) + " ms"}};
  if (times.run_ms.size() > 1) {
    rows.back()[1] += " (median of " + std::to_string(times.run_ms.size()) + "; fastest " + NumberText(fastest) +
                      ", slowest " + NumberText(slowest) + ")";
  }
  std::cout << Columns(rows);
}

void PrintJson(const RunArguments& arguments, const std::vector<Input>& inputs, const std::vector<HostTensor>& outputs,
               const Times& times, const std::vector<std::filesystem::path>& written) {
  json answer = {{"model", arguments.model}, {"inputs", json::array()}, {"outputs", json::array()}};
  for (const Input& input : inputs) {
    answer["inputs"].push_back({{"name", input.tensor.name},
                                {"type", FindElementType(input.tensor.type).name},
                                {"shape", input.tensor.shape},
                                {"source", input.source}});
  }
  for (const HostTensor& tensor : outputs) answer["outputs"].push_back(DescribeJson(tensor));
  answer["time_ms"] = {{"load", times.load_ms}, {"runs", times.run_ms}, {"median", times.median_ms()}};
  answer["written"] = json::array();
  for (const auto& path : written) answer["written"].push_back(path.string());
  std::cout << answer.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
}

// Ends with exit code 0 even if there are NaN: the table is the result.
void CheckModel(RunArguments& arguments, const Common& common) {
  const Session session = Load(arguments.model, arguments.session);
  std::vector<std::string> assumed;
  const std::vector<Input> inputs = MakeInputs(session.inputs(), arguments.inputs, assumed);
  const json found = CheckValues(session, inputs);
  if (!common.json) return PrintValues(found);
  json answer = {{"model", arguments.model}};
  answer.update(found);
  std::cout << answer.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
}

void RunModel(RunArguments& arguments, const Common& common) {
  if (arguments.check_values) return CheckModel(arguments, common);
  const auto start = std::chrono::steady_clock::now();
  const Session session = Load(arguments.model, arguments.session);
  Times times{.load_ms = MillisecondsSince(start)};
  std::vector<std::string> assumed;
  const std::vector<Input> inputs = MakeInputs(session.inputs(), arguments.inputs, assumed);
  const std::vector<HostTensor> outputs = RunAll(session, arguments, inputs, times);
  std::vector<std::filesystem::path> written;
  if (!arguments.output.empty()) written = WriteTensors(arguments.output, outputs);
  if (common.json) return PrintJson(arguments, inputs, outputs, times, written);
  PrintResult(inputs, assumed, outputs, times);
  for (const auto& path : written) std::cout << "wrote " << Styled(Style::kBold, path.string()) << "\n";
}

}  // namespace

void AddRun(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand("run", "Run a model on your data or on random data");
  command->group("Commands");
  auto arguments = std::make_shared<RunArguments>();
  AddModel(*command, arguments->model);
  AddInputs(*command, arguments->inputs);
  AddImage(*command, arguments->inputs.image);
  command
      ->add_option("-o,--output", arguments->output,
                   "Save the outputs: all in a file .npz, one in a file .npy or .pb, or each as NAME.npy in a folder")
      ->option_text("PATH");
  command
      ->add_option("--only", arguments->names,
                   "Compute only this output or this value inside the model (may be repeated)")
      ->option_text("NAME")
      ->expected(1)
      ->take_all();
  command->add_option("--repeat", arguments->repeat, "Run this many times and show the median time (default: 1)")
      ->option_text("NUMBER")
      ->check(CLI::Range(1, 1000000));
  command->add_option("--warmup", arguments->warmup, "First run this many times without measuring (default: 0)")
      ->option_text("NUMBER")
      ->check(CLI::Range(0, 1000000));
  command->add_flag(
      "--check-values", arguments->check_values,
      "Instead of the outputs, show statistics of every value, and name the nodes that made the first NaN "
      "and the first infinity (--level is none by default)");
  AddSession(*command, arguments->session);
  AddJson(*command, common);
  command->footer(
      "Examples:\n"
      "  sardonyx run model.onnx\n"
      "  sardonyx run model.onnx --dim batch=2 --seed 7\n"
      "  sardonyx run model.onnx --input x=x.npy --output y.npz\n"
      "  sardonyx run model.onnx --input x=0.5 --repeat 20 --warmup 3 --json\n"
      "  sardonyx run model.onnx --only product --output inner.npy\n"
      "  sardonyx run model.onnx --check-values\n"
      "  sardonyx run image.onnx --input photo.png --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225");
  command->callback([arguments, &common, command] {
    if (arguments->check_values && command->get_option("--level")->count() == 0)
      arguments->session.level = ORT_DISABLE_ALL;
    RunModel(*arguments, common);
  });
}

}  // namespace sardonyx::cli
