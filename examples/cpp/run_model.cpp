// examples/cpp/run_model.cpp - runs any model whose inputs are tensors of float, and prints its outputs.
//
// usage: run_model MODEL [RUNS]    fills every input with 0, 0.1, 0.2 ...; dimensions that the model leaves open are 1
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "sardonyx.hpp"

namespace {

// The elements of an input, and its shape.
struct Tensor {
  std::vector<float> elements;
  sdx::Shape shape;
};

Tensor Fill(const sdx::Port& port) {
  Tensor tensor{.elements = {}, .shape = port.shape};
  for (std::int64_t& dim : tensor.shape) dim = dim < 0 ? 1 : dim;
  tensor.elements.resize(
      std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::size_t{1}, std::multiplies<>()));
  for (std::size_t i = 0; i < tensor.elements.size(); ++i) tensor.elements[i] = static_cast<float>(i % 10) / 10;
  return tensor;
}

void Print(const std::string& name, const sdx::Value& value) {
  std::printf("%s [", name.c_str());
  for (const std::int64_t dim : value.Shape()) std::printf(" %lld", static_cast<long long>(dim));
  std::printf(" ]");
  if (value.ElementType() == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
    const auto elements = value.Data<float>();
    for (std::size_t i = 0; i < elements.size() && i < 8; ++i) std::printf(" %g", elements[i]);
  }
  std::printf("\n");
}

void RunModel(const char* path, int runs) {
  const sdx::Session session(path, sdx::SessionOptions().Threads(2));

  // The values use these elements without copying them, so the elements must outlive the runs.
  std::vector<Tensor> tensors;
  for (const sdx::Port& port : session.Inputs()) tensors.push_back(Fill(port));
  std::vector<sdx::Value> values;
  for (Tensor& tensor : tensors) values.push_back(sdx::Value::View(tensor.elements, tensor.shape));

  // Values are bound once and used for all runs. For a single run, session.Run({{"x", value}}) is enough.
  sdx::Binding binding(session);
  for (std::size_t i = 0; i < values.size(); ++i) binding.Input(session.Inputs()[i].name, values[i]);
  for (const sdx::Port& port : session.Outputs()) binding.Output(port.name);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < runs; ++i) binding.Run();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;

  const auto outputs = binding.Outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) Print(session.Outputs()[i].name, outputs[i]);
  std::printf("%d runs, %.3f ms each\n", runs, took.count() / runs);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: run_model MODEL [RUNS]\n");
    return 2;
  }
  try {
    RunModel(argv[1], argc > 2 ? std::atoi(argv[2]) : 1);
    return 0;
  } catch (const sdx::Error& error) {  // the message names file, node and input; the code is an OrtErrorCode
    std::fprintf(stderr, "error %d: %s\n", error.code(), error.what());
    return 1;
  }
}
