// testing/step_times.cpp - step times by operator type and by node: the median of several runs.
#include "testing/step_times.h"

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <vector>

#include "runtime/program.h"
#include "runtime/session.h"
#include "testing/environment.h"
#include "testing/random_tensor.h"

namespace sardonyx::testing {
namespace {

struct Times {
  std::vector<double> ms;  // by run
  int calls = 0;
  double Median() const {
    std::vector<double> sorted = ms;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

class Collector : public runtime::StepObserver {
 public:
  void OnStep(const runtime::ObservedStep& step) override {
    if (!step.ran) return;
    const Graph& graph = step.program.graph();
    const Node& node = graph.node(step.program.steps()[step.step].node);
    const double ms = static_cast<double>(step.end_ns - step.start_ns) * 1e-6;
    const std::string type = node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
    Add(by_type_[type], ms);
    std::string label = type + " " + node.name + " ";
    for (const std::vector<ValueId>* list : {&node.inputs, &node.outputs}) {
      label += list == &node.inputs ? "" : " -> ";
      for (const ValueId id : *list) label += id == kNoValue ? "-, " : graph.value(id).type.ToText() + ", ";
    }
    Add(by_node_[label], ms);
  }
  void NextRun() { ++run_; }

  void Print(std::ostream& out, std::size_t nodes) const {
    double total = 0;
    for (const auto& entry : by_type_) total += entry.second.Median();
    out << std::fixed << std::setprecision(3) << "steps: " << total << " ms\n";
    PrintAll(out, by_type_, by_type_.size(), total);
    if (nodes > 0) PrintAll(out, by_node_, nodes, total);
  }

 private:
  using Table = std::map<std::string, Times>;
  void Add(Times& times, double ms) {
    times.ms.resize(run_, 0);
    times.ms.back() += ms;
    ++times.calls;
  }
  void PrintAll(std::ostream& out, const Table& table, std::size_t most, double total) const {
    std::vector<std::pair<double, const Table::value_type*>> rows;
    for (const auto& entry : table) rows.emplace_back(-entry.second.Median(), &entry);
    std::sort(rows.begin(), rows.end());
    if (rows.size() > most) rows.resize(most);
    for (const auto& [ms, entry] : rows)
      out << std::setw(9) << -ms << " ms " << std::setw(5) << std::setprecision(1) << -100 * ms / total << " % "
          << std::setprecision(3) << std::setw(5) << entry->second.calls / static_cast<int>(run_) << "  "
          << entry->first << '\n';
  }

  Table by_type_, by_node_;
  std::size_t run_ = 0;
};

Tensor RandomInput(RandomTensors& random, const runtime::Port& port, const StepTimesOptions& options) {
  const auto given = options.shapes.find(port.name);
  Shape shape;
  if (given != options.shapes.end()) {
    shape = given->second;
  } else {
    for (const Dim& dim : port.type.dims) shape.Append(dim.known() ? dim.number() : 1);
  }
  return random.Uniform(port.type.dtype, shape, 0, 1);
}

}  // namespace

void PrintStepTimes(const std::string& model, const StepTimesOptions& options, std::ostream& out) {
  runtime::SessionOptions session_options;
  session_options.intra_op_threads = options.threads;
  const auto environment = TestEnvironment();
  const auto session = runtime::Session::FromFile(environment, model, session_options);
  RandomTensors random;
  std::vector<std::pair<std::string, Value>> inputs;
  for (const runtime::Port& port : session->inputs())
    inputs.emplace_back(port.name, RandomInput(random, port, options));
  std::vector<std::string> outputs;
  for (const runtime::Port& port : session->outputs()) outputs.push_back(port.name);
  Collector collector;
  runtime::RunOptions run;
  for (int i = 0; i < 2; ++i) session->Run(run, inputs, outputs);
  for (int i = 0; i < options.runs; ++i) {
    collector.NextRun();
    session->Run(run, inputs, outputs, &collector);
  }
  collector.Print(out, options.nodes);
}

}  // namespace sardonyx::testing
