// tests/capi/odd_calls/orders.cpp - calls in unusual orders: objects used after those they were made from, options
// changed or shared, the same thing done twice.
#include <atomic>
#include <thread>

#include "odd_calls.h"

namespace {

OrtIoBinding* Bind(const Objects& o) {
  OrtIoBinding* binding = nullptr;
  Must(ort->CreateIoBinding(o.session, &binding));
  Must(ort->BindInput(binding, "x", o.Value()));
  Must(ort->BindOutputToDevice(binding, "y", o.host));
  return binding;
}

void BindingOfAnotherSession() {
  Objects o;
  OrtSession* first = o.Open();
  OrtIoBinding* binding = Bind(o);
  Answer("run", ort->RunWithBinding(first, nullptr, binding));
  Answer("run another", ort->RunWithBinding(o.Open("twice.onnx"), nullptr, binding));
}

void BindingAfterItsSession() {
  Objects o;
  OrtSession* first = o.Open();
  OrtIoBinding* binding = Bind(o);
  Answer("run", ort->RunWithBinding(first, nullptr, binding));
  ort->ReleaseSession(first);
  OrtValue** values = nullptr;
  size_t count = 0;
  Answer("values", ort->GetBoundOutputValues(binding, o.allocator, &values, &count));
  Say("count", static_cast<long long>(count));
  Answer("bind", ort->BindInput(binding, "x", o.Value()));
  Answer("sync", ort->SynchronizeBoundInputs(binding));
  ort->ReleaseIoBinding(binding);
}

void BindingTwice() {
  Objects o;
  o.Open();
  OrtIoBinding* binding = Bind(o);
  Answer("unknown input", ort->BindInput(binding, "nothing", o.Value()));
  Answer("again", ort->BindInput(binding, "x", o.Value({3})));
  Answer("run", ort->RunWithBinding(o.session, nullptr, binding));
  ort->ClearBoundInputs(binding);
  ort->ClearBoundInputs(binding);
  Answer("run with nothing", ort->RunWithBinding(o.session, nullptr, binding));
}

void RunOptionsShared() {
  Objects o;
  OrtSession* first = o.Open();
  OrtSession* second = o.Open("twice.onnx");
  OrtValue* y = nullptr;
  Answer("first", o.Run(first, o.run_options, o.Value(), &y));
  y = nullptr;
  Answer("second", o.Run(second, o.run_options, o.Value(), &y));
  ort->ReleaseSession(first);
  y = nullptr;
  Answer("again", o.Run(second, o.run_options, o.Value(), &y));
}

void OptionsChangedLater() {
  Objects o;
  o.Open();
  Answer("level", ort->SetSessionGraphOptimizationLevel(o.options, ORT_DISABLE_ALL));
  Answer("threads", ort->SetIntraOpNumThreads(o.options, 7));
  Answer("entry", ort->AddSessionConfigEntry(o.options, "session.use_env_allocators", "1"));
  o.Check();
  ort->ReleaseSessionOptions(o.options);
  o.Check("run without options");
}

void TerminateBeforeARun() {
  Objects o;
  o.Open();
  OrtValue* y = nullptr;
  Answer("set", ort->RunOptionsSetTerminate(o.run_options));
  Answer("set again", ort->RunOptionsSetTerminate(o.run_options));
  Answer("run", o.Run(o.session, o.run_options, o.Value(), &y));
  Answer("unset", ort->RunOptionsUnsetTerminate(o.run_options));
  Answer("run", o.Run(o.session, o.run_options, o.Value(), &y));
}

void InfosAfterTheirSession() {
  Objects o;
  o.Open();
  OrtTypeInfo* type = nullptr;
  OrtModelMetadata* metadata = nullptr;
  char* name = nullptr;
  Must(ort->SessionGetInputTypeInfo(o.session, 0, &type));
  Must(ort->SessionGetModelMetadata(o.session, &metadata));
  Must(ort->SessionGetInputName(o.session, 0, o.allocator, &name));
  ort->ReleaseSession(o.session);
  ort->ReleaseEnv(env);
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  size_t rank = 0;
  char* producer = nullptr;
  Answer("cast", ort->CastTypeInfoToTensorInfo(type, &tensor));
  Answer("rank", ort->GetDimensionsCount(tensor, &rank));
  Answer("producer", ort->ModelMetadataGetProducerName(metadata, o.allocator, &producer));
  Answer("free", ort->AllocatorFree(o.allocator, name));
}

void ValuesAfterEverything() {
  Objects o;
  o.Open();
  OrtValue* y = nullptr;
  float* data = nullptr;
  Must(o.Run(o.session, nullptr, o.Value(), &y));
  ort->ReleaseSession(o.session);
  ort->ReleaseSessionOptions(o.options);
  ort->ReleaseMemoryInfo(o.host);
  ort->ReleaseEnv(env);
  Answer("data", ort->GetTensorMutableData(y, reinterpret_cast<void**>(&data)));
  data[0] = 1;
  ort->ReleaseValue(y);
}

void TypeInfoOfASequence() {
  Objects o;
  const OrtValue* parts[] = {o.Value(), o.Value({3})};
  OrtValue *sequence = nullptr, *part = nullptr;
  Must(ort->CreateValue(parts, 2, ONNX_TYPE_SEQUENCE, &sequence));
  Must(ort->GetValue(sequence, 1, o.allocator, &part));
  ort->ReleaseValue(sequence);
  OrtTensorTypeAndShapeInfo* info = nullptr;
  size_t count = 0;
  Answer("info", ort->GetTensorTypeAndShape(part, &info));
  Answer("count", ort->GetTensorShapeElementCount(info, &count));
  Say("elements", static_cast<long long>(count));
}

void TwoEnvironments() {
  OrtEnv* second = nullptr;
  Answer("second", ort->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "another", &second));
  Say("same", second == env);
  OrtThreadingOptions* threads = nullptr;
  Must(ort->CreateThreadingOptions(&threads));
  OrtEnv* third = nullptr;
  Answer("third", ort->CreateEnvWithGlobalThreadPools(ORT_LOGGING_LEVEL_FATAL, "global", threads, &third));
  Say("same", third == env);
  ort->ReleaseThreadingOptions(threads);
  ort->ReleaseEnv(second);
  ort->ReleaseEnv(third);
  Objects o;
  o.Open();
  o.Check();
}

void EnvironmentReleasedAndMadeAgain() {
  for (int i = 0; i < 5; ++i) {
    Objects o;
    o.Open();
    o.Check();
    ort->ReleaseSession(o.session);
    ort->ReleaseEnv(env);
    Must(ort->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "again", &env));
  }
}

void GlobalThreadsWithoutThem() {
  Objects o;
  Answer("disable", ort->DisablePerSessionThreads(o.options));
  Answer("create", ort->CreateSession(env, ModelPath("neg.onnx").c_str(), o.options, &o.session));
}

void ProfilingTwice() {
  Objects o;
  o.Open();
  char* file = nullptr;
  Answer("end", ort->SessionEndProfiling(o.session, o.allocator, &file));
  Answer("end again", ort->SessionEndProfiling(o.session, o.allocator, &file));
  o.Check();
}

void OddRuns() {
  Objects o;
  o.Open();
  const OrtValue* x = o.Value();
  const char *in[] = {"x", "x"}, *out[] = {"y", "y"}, *unknown[] = {"nothing"};
  const OrtValue* twice[] = {x, x};
  OrtValue* y[2] = {};
  Answer("unknown input", ort->Run(o.session, nullptr, unknown, &x, 1, out, 1, y));
  Answer("unknown output", ort->Run(o.session, nullptr, in, &x, 1, unknown, 1, y));
  Answer("no input", ort->Run(o.session, nullptr, in, &x, 0, out, 1, y));
  Answer("input twice", ort->Run(o.session, nullptr, in, twice, 2, out, 1, y));
  y[0] = nullptr;
  const OrtValue* of_two_sizes[] = {o.Value({5}), x};
  size_t bytes = 0;
  Answer("input twice", ort->Run(o.session, nullptr, in, of_two_sizes, 2, out, 1, y));
  if (y[0] != nullptr) Answer("size", ort->GetTensorSizeInBytes(y[0], &bytes));
  Say("bytes", static_cast<long long>(bytes));
  y[0] = nullptr;
  Answer("output twice", ort->Run(o.session, nullptr, in, &x, 1, out, 2, y));
  const OrtValue* words = o.Value({2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING);
  Answer("wrong type", ort->Run(o.session, nullptr, in, &words, 1, out, 1, y));
  const OrtValue* matrix = o.Value({2, 2});
  Answer("wrong rank", ort->Run(o.session, nullptr, in, &matrix, 1, out, 1, y));
  OrtValue* sequence = nullptr;
  Must(ort->CreateValue(twice, 2, ONNX_TYPE_SEQUENCE, &sequence));
  const OrtValue* given = sequence;
  Answer("a sequence", ort->Run(o.session, nullptr, in, &given, 1, out, 1, y));
  OrtValue* small = o.Value({1});
  Answer("small output", ort->Run(o.session, nullptr, in, &x, 1, out, 1, &small));
  OrtValue* number = o.Value({2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64);
  Answer("output of another type", ort->Run(o.session, nullptr, in, &x, 1, out, 1, &number));
  OrtValue* same = const_cast<OrtValue*>(x);
  Answer("in place", ort->Run(o.session, nullptr, in, &x, 1, out, 1, &same));
}

void OddContainers() {
  Objects o;
  OrtValue *made = nullptr, *part = nullptr;
  const OrtValue* mixed[] = {o.Value(), o.Value({2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64)};
  Answer("mixed sequence", ort->CreateValue(mixed, 2, ONNX_TYPE_SEQUENCE, &made));
  const OrtValue* keys_and_values[] = {o.Value({2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64), o.Value({3})};
  Answer("map of 2 and 3", ort->CreateValue(keys_and_values, 2, ONNX_TYPE_MAP, &made));
  const OrtValue* wrong_keys[] = {o.Value(), o.Value()};
  Answer("map of floats", ort->CreateValue(wrong_keys, 2, ONNX_TYPE_MAP, &made));
  Answer("map of one", ort->CreateValue(wrong_keys, 1, ONNX_TYPE_MAP, &made));
  Answer("of tensors", ort->CreateValue(wrong_keys, 2, ONNX_TYPE_TENSOR, &made));
  const OrtValue* parts[] = {o.Value()};
  Must(ort->CreateValue(parts, 1, ONNX_TYPE_SEQUENCE, &made));
  for (const int index : {-1, 1, 1000}) Answer("part", ort->GetValue(made, index, o.allocator, &part));
  Answer("part of a tensor", ort->GetValue(parts[0], 0, o.allocator, &part));
  size_t count = 0;
  Answer("count of a tensor", ort->GetValueCount(parts[0], &count));
  void* data = nullptr;
  Answer("data of a sequence", ort->GetTensorMutableData(made, &data));
  OrtTensorTypeAndShapeInfo* info = nullptr;
  Answer("shape of a sequence", ort->GetTensorTypeAndShape(made, &info));
  Answer("strings of floats", ort->GetStringTensorDataLength(parts[0], &count));
  int is_sparse = 0;
  Answer("sparse", ort->IsSparseTensor(made, &is_sparse));
}

void CloseWhileOthersRun() {
  Objects o;
  o.Open();
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      for (int turn = 0; turn < 20; ++turn) {
        OrtSession* own = nullptr;
        OrtValue *y = nullptr, *x = o.Value();
        OrtStatusPtr status = ort->CreateSession(env, ModelPath("neg.onnx").c_str(), o.options, &own);
        if (status == nullptr) status = o.Run(o.session, nullptr, x, &y);
        failed += status != nullptr;
        ort->ReleaseStatus(status);
        ort->ReleaseValue(y);
        ort->ReleaseValue(x);
        ort->ReleaseSession(own);
      }
    });
  for (std::thread& thread : threads) thread.join();
  Say("failed", failed);
}

}  // namespace

int main(int argc, char** argv) {
  return RunCases(argc, argv,
                  {{"a binding with another session", BindingOfAnotherSession},
                   {"a binding after its session", BindingAfterItsSession},
                   {"bindings made twice", BindingTwice},
                   {"run options of two sessions", RunOptionsShared},
                   {"options changed after the session", OptionsChangedLater},
                   {"terminated before the run", TerminateBeforeARun},
                   {"infos after their session", InfosAfterTheirSession},
                   {"values after everything", ValuesAfterEverything},
                   {"a part after its sequence", TypeInfoOfASequence},
                   {"environments made twice", TwoEnvironments},
                   {"the environment made again", EnvironmentReleasedAndMadeAgain},
                   {"global threads that are not there", GlobalThreadsWithoutThem},
                   {"profiling ended twice", ProfilingTwice},
                   {"odd runs", OddRuns},
                   {"odd containers", OddContainers},
                   {"closing while others run", CloseWhileOthersRun}});
}
