// tests/clients/programs/cxx_api/bindings.cpp - IoBinding.
#include "report.h"

void Bindings(const Places& places) {
  Ort::Session session(TheEnv(), (places.models + "/two_of_two.onnx").c_str(), Ort::SessionOptions{});
  Ort::AllocatorWithDefaultOptions allocator;
  const auto cpu = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  std::vector<float> a{1, 2, 3}, b{10, 20, 30}, sum(3);
  const Ort::Value first = Tensor(a, {3}), second = Tensor(b, {3}), place = Tensor(sum, {3});
  Ort::IoBinding binding(session);
  binding.BindInput("a", first);
  binding.BindInput("b", second);
  binding.BindOutput("sum", place);
  binding.BindOutput("product", cpu);
  binding.SynchronizeInputs();
  session.Run(Ort::RunOptions{}, binding);
  binding.SynchronizeOutputs();
  Say("bound", sum, binding.GetOutputNames(), binding.GetOutputNames(allocator));
  const std::vector<Ort::Value> outputs = binding.GetOutputValues();
  Say("bound outputs", outputs.size(), Elements<float>(outputs[1]),
      outputs[0].GetTensorRawData() == static_cast<const void*>(sum.data()), binding.GetOutputValues(allocator).size());
  Say("bound, by other handles", binding.GetConst().GetOutputNames());

  a = {2, 2, 2};
  session.Run(Ort::RunOptions{}, binding);
  Say("bound again", sum);
  SayOutcome("bind an unknown input", [&] { binding.BindInput("nobody", first); });
  binding.ClearBoundInputs();
  SayOutcome("run without inputs", [&] { session.Run(Ort::RunOptions{}, binding); });
  binding.ClearBoundOutputs();
  Say("bound nothing", binding.GetOutputValues().size(), binding.GetOutputNames().size());
  auto unowned = binding.GetUnowned();
  unowned.BindInput("a", first);
  unowned.BindInput("b", first);
  unowned.BindOutput("sum", cpu);
  session.Run(Ort::RunOptions{}, binding);
  Say("bound after that", Elements<float>(binding.GetOutputValues()[0]));
}
