// tests/clients/programs/cxx_api/runs.cpp - the ways to run a session, adapters, profiles and compiled models.
#include <condition_variable>
#include <fstream>
#include <iterator>
#include <mutex>

#include "report.h"

namespace {

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Finished {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::vector<float> found;
  bool fine = false;
};

void OnFinished(void* user, OrtValue** outputs, size_t count, OrtStatusPtr status) {
  auto& finished = *static_cast<Finished*>(user);
  const Ort::Status owned(status);
  const std::lock_guard lock(finished.mutex);
  finished.fine = owned.IsOK() && count == 1;
  if (finished.fine) finished.found = Elements<float>(Ort::UnownedValue(outputs[0]));
  finished.done = true;
  finished.changed.notify_one();
}

void Ways(const Places& places) {
  const std::string bytes = Contents(places.models + "/linear.onnx");
  Ort::SessionOptions options;
  options.SetIntraOpNumThreads(2);
  Ort::Session session(TheEnv(), bytes.data(), bytes.size(), options);
  std::vector<float> data{1, 2, 3, -1, 0, 1};
  const Ort::Value input = Tensor(data, {2, 3});
  const char *in = "x", *out = "y", *wrong = "z";
  Ort::RunOptions run;
  Say("run", Elements<float>(session.Run(run, &in, &input, 1, &out, 1)[0]));

  std::vector<float> place(4);
  Ort::Value output = Tensor(place, {2, 2});
  session.Run(run, &in, &input, 1, &out, &output, 1);
  Say("run into memory", place);
  Ort::Value none{nullptr};
  session.Run(run, &in, &input, 1, &out, &none, 1);
  Say("run into nothing", Elements<float>(none));
  Say("an unowned session", Elements<float>(session.GetUnowned().Run(run, &in, &input, 1, &out, 1)[0]),
      session.GetConst().GetInputCount());

  Finished finished;
  Ort::Value later{nullptr};
  session.RunAsync(run, &in, &input, 1, &out, &later, 1, OnFinished, &finished);
  std::unique_lock lock(finished.mutex);
  finished.changed.wait(lock, [&] { return finished.done; });
  Say("run later", finished.fine, finished.found);

  SayOutcome("an unknown input", [&] { session.Run(run, &wrong, &input, 1, &out, 1); });
  SayOutcome("an unknown output", [&] { session.Run(run, &in, &input, 1, &wrong, 1); });
  SayOutcome("no input", [&] { session.Run(run, &in, &input, 0, &out, 1); });
  std::vector<int64_t> integers{1, 2, 3};
  const Ort::Value of_integers = Tensor(integers, {1, 3});
  SayOutcome("an input of another type", [&] { session.Run(run, &in, &of_integers, 1, &out, 1); });
  const Ort::Value long_input = Tensor(data, {1, 6});
  SayOutcome("an input of another shape", [&] { session.Run(run, &in, &long_input, 1, &out, 1); });
  Ort::Value small = Tensor(place, {1, 2});
  SayOutcome("memory of another shape", [&] { session.Run(run, &in, &input, 1, &out, &small, 1); });
  run.SetTerminate();
  SayOutcome("a terminated run", [&] { session.Run(run, &in, &input, 1, &out, 1); });
  run.UnsetTerminate();
  SayOutcome("a run after it", [&] { session.Run(run, &in, &input, 1, &out, 1); });
  const char *key = "nobody", *value = "knows";
  SayOutcome("dynamic options of the CPU", [&] { session.SetEpDynamicOptions(&key, &value, 1); });
}

// Every element type in and out again.
template <typename T>
void Passes(const Places& places, const std::string& type, std::vector<T> data) {
  Ort::Session session(TheEnv(), (places.models + "/identity_" + type + ".onnx").c_str(), Ort::SessionOptions{});
  const Ort::Value input = Tensor(data, {static_cast<int64_t>(data.size()) / 2, 2});
  const char *in = "x", *out = "y";
  const auto outputs = session.Run({}, &in, &input, 1, &out, 1);
  const auto* raw = static_cast<const unsigned char*>(outputs[0].GetTensorRawData());
  Say("identity of " + type, outputs[0].GetTensorTypeAndShapeInfo().GetShape(),
      std::vector<unsigned char>(raw, raw + data.size() * sizeof(T)));
}

void Containers(const Places& places) {
  Ort::AllocatorWithDefaultOptions allocator;
  for (const std::string kind : {"int64", "string"}) {
    Ort::Session session(TheEnv(), (places.models + "/zip_map_" + kind + ".onnx").c_str(), Ort::SessionOptions{});
    std::vector<float> data{1, 2, 3, 4, 5, 6};
    const Ort::Value input = Tensor(data, {2, 3});
    const char *in = "x", *out = "z";
    const auto outputs = session.Run({}, &in, &input, 1, &out, 1);
    Say("maps of " + kind, outputs[0].GetCount());
    const Ort::Value map = outputs[0].GetValue(1, allocator);
    const Ort::Value keys = map.GetValue(0, allocator);
    Say("a map of " + kind, map.GetCount(), Elements<float>(map.GetValue(1, allocator)));
    if (kind == "int64") Say("its keys", Elements<int64_t>(keys));
    if (kind == "string") Say("its keys, strings", keys.GetStringTensorElement(0), keys.GetStringTensorElement(2));
  }
  Ort::Session session(TheEnv(), (places.models + "/sequence_at.onnx").c_str(), Ort::SessionOptions{});
  std::vector<float> one{1, 2}, other{3};
  std::vector<int64_t> index{-1};
  std::vector<Ort::Value> parts, inputs;
  parts.push_back(Tensor(one, {2}));
  parts.push_back(Tensor(other, {1}));
  inputs.push_back(Ort::Value::CreateSequence(parts));
  inputs.push_back(Tensor(index, {}));
  const char *in[] = {"s", "i"}, *out = "y";
  Say("the last of a sequence", Elements<float>(session.Run({}, in, inputs.data(), 2, &out, 1)[0]));
}

void Profile(const Places& places) {
  Ort::SessionOptions options;
  options.EnableProfiling((places.written + "/profile").c_str());
  Ort::Session session(TheEnv(), (places.models + "/linear.onnx").c_str(), options);
  Ort::AllocatorWithDefaultOptions allocator;
  const std::string file = session.EndProfilingAllocated(allocator).get();
  Say("profile", file.find("profile_") != std::string::npos, Contents(file).front(),
      session.GetProfilingStartTimeNs() > 0);
  options.DisableProfiling();
}

void Adapters(const Places& places) {
  const std::string path = places.models + "/adapter.ort_lora", bytes = Contents(path);
  Ort::Session session(TheEnv(), (places.models + "/adapted.onnx").c_str(), Ort::SessionOptions{});
  std::vector<float> data{1, 2};
  const Ort::Value input = Tensor(data, {1, 2});
  const char *in = "x", *out = "y";
  const auto run = [&](const Ort::RunOptions& options) {
    return Elements<float>(session.Run(options, &in, &input, 1, &out, 1)[0]);
  };
  const auto file = Ort::LoraAdapter::CreateLoraAdapter(path, nullptr);
  const auto memory = Ort::LoraAdapter::CreateLoraAdapterFromArray(bytes.data(), bytes.size(), nullptr);
  Ort::RunOptions none, first, second;
  first.AddActiveLoraAdapter(file);
  second.AddActiveLoraAdapter(memory);
  Say("adapters", run(none), run(first), run(second));
  SayOutcome("an adapter that is not there", [&] { Ort::LoraAdapter::CreateLoraAdapter("nowhere", nullptr); });
}

#if ORT_API_VERSION >= 23
OrtStatus* Append(void* text, const void* bytes, size_t size) {
  static_cast<std::string*>(text)->append(static_cast<const char*>(bytes), size);
  return nullptr;
}

void Compiled(const Places& places) {
  const std::string model = places.models + "/linear.onnx", file = places.written + "/compiled.onnx";
  const Ort::SessionOptions session_options;
  Ort::ModelCompilationOptions to_file(TheEnv(), session_options);
  to_file.SetInputModelPath(model.c_str())
      .SetOutputModelPath(file.c_str())
      .SetEpContextEmbedMode(true)
      .SetFlags(OrtCompileApiFlags_NONE)
      .SetGraphOptimizationLevel(ORT_ENABLE_BASIC);
  const Ort::Status status = Ort::CompileModel(TheEnv(), to_file);
  Say("compiled into a file", status.IsOK());
  Ort::Session session(TheEnv(), file.c_str(), session_options);
  std::vector<float> data{1, 2, 3};
  const Ort::Value input = Tensor(data, {1, 3});
  const char *in = "x", *out = "y";
  Say("run compiled", Elements<float>(session.Run({}, &in, &input, 1, &out, 1)[0]));

  const std::string bytes = Contents(model);
  Ort::AllocatorWithDefaultOptions allocator;
  void* buffer = nullptr;
  size_t size = 0;
  Ort::ModelCompilationOptions to_memory(TheEnv(), session_options.GetConst());
  to_memory.SetInputModelFromBuffer(bytes.data(), bytes.size()).SetOutputModelBuffer(allocator, &buffer, &size);
  Say("compiled into memory", Ort::CompileModel(TheEnv(), to_memory).IsOK(), size > 0);
  Ort::Session of_memory(TheEnv(), buffer, size, session_options);
  Say("run from memory", Elements<float>(of_memory.Run({}, &in, &input, 1, &out, 1)[0]));
  allocator.Free(buffer);

  std::string written;
  Ort::ModelCompilationOptions to_function(TheEnv(), session_options);
  to_function.SetInputModelPath(model.c_str()).SetOutputModelWriteFunc(Append, &written);
  Say("compiled into a function", Ort::CompileModel(TheEnv(), to_function).IsOK(), !written.empty());

  Ort::ModelCompilationOptions nothing(TheEnv(), session_options);
  Say("compiled without a model", Ort::CompileModel(TheEnv(), nothing).IsOK());
}
#endif

}  // namespace

void Runs(const Places& places) {
  Ways(places);
  Passes<float>(places, "float32", {1, -2});
  Passes<double>(places, "float64", {1, -2});
  Passes<int8_t>(places, "int8", {1, -2});
  Passes<uint8_t>(places, "uint8", {1, 2});
  Passes<int16_t>(places, "int16", {1, -2});
  Passes<uint16_t>(places, "uint16", {1, 2});
  Passes<int32_t>(places, "int32", {1, -2});
  Passes<uint32_t>(places, "uint32", {1, 2});
  Passes<int64_t>(places, "int64", {1, -2});
  Passes<uint64_t>(places, "uint64", {1, 2});
  Passes<Ort::Float16_t>(places, "float16", {Ort::Float16_t(1.5F), Ort::Float16_t(-2.0F)});
  Passes<Ort::BFloat16_t>(places, "bfloat16", {Ort::BFloat16_t(1.5F), Ort::BFloat16_t(-2.0F)});
  Containers(places);
  Profile(places);
  Adapters(places);
#if ORT_API_VERSION >= 23
  Compiled(places);
#endif
}
