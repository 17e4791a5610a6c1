// tests/clients/programs/cxx_api/options.cpp - every setter of options, and whether a session with them computes.
#include <cpu_provider_factory.h>  // of AppendExecutionProvider_CPU; it needs the types of the header before it

#include <thread>

#include "report.h"

namespace {

int threads_started = 0;

OrtCustomThreadHandle StartThread(void* options, OrtThreadWorkerFn work, void* argument) {
  ++threads_started;
  *static_cast<int*>(options) += 1;
  return reinterpret_cast<OrtCustomThreadHandle>(new std::thread(work, argument));
}

void JoinThread(OrtCustomThreadHandle handle) {
  auto* thread = reinterpret_cast<std::thread*>(const_cast<OrtCustomHandleType*>(handle));
  thread->join();
  delete thread;
}

void Compute(const std::string& name, const Places& places, const Ort::SessionOptions& options,
             OrtPrepackedWeightsContainer* container = nullptr) {
  const std::string path = places.models + "/linear.onnx";
  Ort::Session session = container == nullptr ? Ort::Session(TheEnv(), path.c_str(), options)
                                              : Ort::Session(TheEnv(), path.c_str(), options, container);
  std::vector<float> data{1, 2, 3, 4, 5, 6};
  const Ort::Value input = Tensor(data, {2, 3});
  const char *in = "x", *out = "y";
  const auto outputs = session.Run(Ort::RunOptions{nullptr}, &in, &input, 1, &out, 1);
  Say(name, Elements<float>(outputs[0]));
}

void Setters(const Places& places) {
  Ort::SessionOptions options;
  options.SetIntraOpNumThreads(2)
      .SetInterOpNumThreads(1)
      .SetGraphOptimizationLevel(ORT_ENABLE_BASIC)
      .EnableCpuMemArena()
      .DisableCpuMemArena()
      .EnableMemPattern()
      .DisableMemPattern()
      .SetExecutionMode(ORT_SEQUENTIAL)
      .SetLogId("options")
      .SetLogSeverityLevel(4)
      .SetOptimizedModelFilePath((places.written + "/optimized.onnx").c_str())
      .AddConfigEntry("session.intra_op.allow_spinning", "0")
      .AddConfigEntry("nobody.knows", "this")
      .SetDeterministicCompute(true);
#if ORT_API_VERSION >= 22
  options.SetLoadCancellationFlag(false);
#endif
  Say("entries", options.HasConfigEntry("nobody.knows"), options.HasConfigEntry("nor.this"),
      options.GetConfigEntry("nobody.knows"), options.GetConfigEntryOrDefault("nor.this", "else"));
  SayOutcome("an entry that is not there", [&] { options.GetConfigEntry("nor.this"); });
  SayOutcome("an empty key", [&] { options.AddConfigEntry("", "1"); });
  const Ort::SessionOptions copy = options.Clone();
  Say("entries of a copy", copy.GetConfigEntry("nobody.knows"), options.GetConst().HasConfigEntry("nobody.knows"),
      options.GetUnowned().HasConfigEntry("nobody.knows"));
  Compute("with options", places, options);
  Compute("with copied options", places, copy);
  SayOutcome("too many threads", [] { Ort::SessionOptions().SetIntraOpNumThreads(-1); });
  SayOutcome("of a model that is not there",
             [&] { Ort::Session(TheEnv(), (places.models + "/nowhere.onnx").c_str(), options); });
  SayOutcome("of bytes that are no model", [&] { Ort::Session(TheEnv(), "no model", 8, options); });
}

void Providers() {
  Ort::SessionOptions options;
  SayOutcome("provider by an unknown name", [&] { options.AppendExecutionProvider("Nobody", {}); });
  SayOutcome("provider XNNPACK", [&] { options.AppendExecutionProvider("XNNPACK", {{"intra_op_num_threads", "1"}}); });
  SayOutcome("CUDA", [&] { options.AppendExecutionProvider_CUDA(OrtCUDAProviderOptions{}); });
  SayOutcome("ROCm", [&] { options.AppendExecutionProvider_ROCM(OrtROCMProviderOptions{}); });
  SayOutcome("TensorRT", [&] { options.AppendExecutionProvider_TensorRT(OrtTensorRTProviderOptions{}); });
  SayOutcome("OpenVINO", [&] { options.AppendExecutionProvider_OpenVINO(OrtOpenVINOProviderOptions{}); });
  SayOutcome("OpenVINO by words", [&] { options.AppendExecutionProvider_OpenVINO_V2({{"device_type", "CPU"}}); });
  SayOutcome("MIGraphX", [&] { options.AppendExecutionProvider_MIGraphX(OrtMIGraphXProviderOptions{}); });
  SayOutcome("VitisAI", [&] { options.AppendExecutionProvider_VitisAI({}); });
#if ORT_API_VERSION >= 23
  options.AppendExecutionProvider_CPU(1);
  SayOutcome("options of CUDA", [] {
    Ort::CUDAProviderOptions cuda;
    cuda.Update({{"device_id", "0"}});
    Say("CUDA's options", cuda.GetCUDAProviderOptionsAsString().empty(), cuda.GetOptionByName("user_compute_stream"));
    cuda.UpdateWithValue("user_compute_stream", nullptr);
  });
  SayOutcome("options of TensorRT", [] {
    Ort::TensorRTProviderOptions tensorrt;
    tensorrt.Update({{"device_id", "0"}});
    Say("TensorRT's options", tensorrt.GetTensorRTProviderOptionsAsString().empty());
    tensorrt.UpdateWithValue("user_compute_stream", tensorrt.GetOptionByName("user_compute_stream"));
  });
  const Ort::CUDAProviderOptions no_cuda{nullptr};
  const Ort::TensorRTProviderOptions no_tensorrt{nullptr};
#endif
}

void Threads(const Places& places) {
  int seen = 0;
  Ort::SessionOptions options;
  options.SetIntraOpNumThreads(3)
      .SetCustomCreateThreadFn(StartThread)
      .SetCustomThreadCreationOptions(&seen)
      .SetCustomJoinThreadFn(JoinThread);
  Compute("with own threads", places, options);
  Say("own threads", threads_started, seen);
}

void Initializers(const Places& places) {
  std::vector<float> bias{100, 200};
  const Ort::Value value = Tensor(bias, {2});
  Ort::SessionOptions options;
  options.AddInitializer("bias", value);
  Compute("with another bias", places, options);
  SayOutcome("an initializer twice", [&] { options.AddInitializer("bias", value); });

  const std::string path = places.models + "/linear_external.onnx";
  std::vector<float> weights{1, 0, 0, 1, 1, 1};
  std::vector<Ort::Value> values;
  values.push_back(Tensor(weights, {3, 2}));
  Ort::SessionOptions external;
  external.AddExternalInitializers({"weights"}, values);
  Ort::Session session(TheEnv(), path.c_str(), external);
  std::vector<float> data{1, 2, 3};
  const Ort::Value input = Tensor(data, {1, 3});
  const char *in = "x", *out = "y";
  Say("with other weights", Elements<float>(session.Run({}, &in, &input, 1, &out, 1)[0]));

  std::vector<float> file{1, 2, 3, 4, 5, 6, 0, 0, 0, 0};
  std::vector<char*> buffers{reinterpret_cast<char*>(file.data())};
  Ort::SessionOptions memory;
  memory.AddExternalInitializersFromFilesInMemory({"linear_external.bin"}, buffers, {file.size() * sizeof(float)});
  SayOutcome("with a file in memory", [&] { Ort::Session(TheEnv(), path.c_str(), memory); });
}

#if ORT_API_VERSION >= 23
void Shared(const Places& places) {
  Ort::PrepackedWeightsContainer container;
  Ort::SessionOptions options;
  Compute("with packed weights", places, options, container);
  Compute("with the same packed weights", places, options, container);
}
#endif

void OfRuns() {
  Ort::RunOptions options;
  options.SetRunLogVerbosityLevel(2).SetRunLogSeverityLevel(3).SetRunTag("a run").AddConfigEntry("some.key", "value");
  Say("options of a run", options.GetRunLogVerbosityLevel(), options.GetRunLogSeverityLevel(), options.GetRunTag());
#if ORT_API_VERSION >= 23
  Say("an entry of a run", options.GetConfigEntry("some.key"), options.GetConfigEntry("no.key") == nullptr);
#endif
}

#if ORT_API_VERSION >= 23
void Pairs() {
  Ort::KeyValuePairs pairs;
  pairs.Add("b", "2");
  pairs.Add("a", "1");
  pairs.Add("b", "3");
  pairs.Add("gone", "0");
  pairs.Remove("gone");
  std::vector<const char*> keys, values;
  pairs.GetConst().GetKeyValuePairs(keys, values);
  Say("pairs", pairs.GetValue("b"), pairs.GetValue("gone") == nullptr, pairs.GetKeyValuePairs().size(),
      std::vector<std::string>(keys.begin(), keys.end()), std::vector<std::string>(values.begin(), values.end()));
  const Ort::KeyValuePairs given(std::unordered_map<std::string, std::string>{{"one", "1"}});
  Say("pairs given", given.GetValue("one"));
}

void Cancelled(const Places& places) {
  Ort::SessionOptions options;
  options.SetLoadCancellationFlag(true);
  SayOutcome("a cancelled session", [&] { Compute("never", places, options); });
}
#endif

}  // namespace

void Options(const Places& places) {
  Setters(places);
  Providers();
  Threads(places);
  Initializers(places);
  OfRuns();
#if ORT_API_VERSION >= 23
  Shared(places);
  Pairs();
  Cancelled(places);
#endif
}
