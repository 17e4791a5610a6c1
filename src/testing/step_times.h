// testing/step_times.h - where the time of a model goes: runs it on random inputs and adds up the time of its steps.
#pragma once

#include <iosfwd>
#include <map>
#include <string>

#include "base/shape.h"

namespace sardonyx::testing {

struct StepTimesOptions {
  int threads = 1;
  int runs = 10;
  std::size_t nodes = 0;                // how many of the slowest nodes to list
  std::map<std::string, Shape> shapes;  // of inputs; unknown dimensions of others are 1
};

// Writes one line for each operator type (share, milliseconds a run, count), slowest first, then the slowest nodes.
// Fails as the session does.
void PrintStepTimes(const std::string& model, const StepTimesOptions& options, std::ostream& out);

}  // namespace sardonyx::testing
