// tests/fuzz/close_results.cpp - makes as many runs with noise as it takes to explain a result; see close_results.h.
#include "fuzz/close_results.h"

#include "fuzz/noisy_run.h"
#include "fuzz/oracle_exceptions.h"

namespace sardonyx::fuzz {

std::string CloseResults::Compare(std::size_t k, const Value& got) {
  if (!got.is_tensor()) return "no tensor";
  const Graph& graph = graph_.model->graph;
  const Tensor& want = graph_.results[k].tensor();
  const Latitude latitude = {.discontinuous = graph_.discontinuous,
                             .class_exception = ExceptionBefore(graph, graph.outputs[k], false),
                             .shape_exception = ExceptionBefore(graph, graph.outputs[k], true)};
  std::string found;
  std::vector<Tensor> noisy;
  // A result that hangs on three roundings meets them in one of eight runs; hardly any takes more than 96.
  for (const std::size_t samples : {0U, 4U, 24U, 96U, 400U}) {
    while (noisy_.size() < samples)
      noisy_.push_back(RunWithNoise(graph_, registry_, static_cast<unsigned>(noisy_.size() + 1)));
    while (noisy.size() < samples) noisy.push_back(noisy_[noisy.size()][k].tensor());
    found = DifferenceBeyondRounding(got.tensor(), want, noisy, latitude);
    if (found.empty()) return "";
  }
  return found;
}

}  // namespace sardonyx::fuzz
