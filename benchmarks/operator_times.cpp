// benchmarks/operator_times.cpp - shows how much time each operator of a model takes.
//
//   operator_times MODEL.onnx [--threads N] [--runs N] [--nodes N] [INPUT=1x3x224x224 ...]
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string_view>

#include "testing/step_times.h"

static sardonyx::Shape ParseShape(std::string_view text) {
  sardonyx::Shape shape;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('x'), text.size());
    shape.Append(std::atoll(std::string(text.substr(0, end)).c_str()));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return shape;
}

int main(int argc, char** argv) {
  sardonyx::testing::StepTimesOptions options;
  std::string model;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool has_next = i + 1 < argc;
    if (word == "--threads" && has_next) {
      options.threads = std::atoi(argv[++i]);
    } else if (word == "--runs" && has_next) {
      options.runs = std::atoi(argv[++i]);
    } else if (word == "--nodes" && has_next) {
      options.nodes = static_cast<std::size_t>(std::atoi(argv[++i]));
    } else if (const auto equal = word.find('='); equal != std::string_view::npos) {
      options.shapes[std::string(word.substr(0, equal))] = ParseShape(word.substr(equal + 1));
    } else {
      model = word;
    }
  }
  if (model.empty() || options.runs < 1) {
    std::cerr << "usage: operator_times MODEL.onnx [--threads N] [--runs N] [--nodes N] [INPUT=1x3x224x224 ...]\n";
    return 2;
  }
  try {
    sardonyx::testing::PrintStepTimes(model, options, std::cout);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
