// tests/capi/answers/lora.cpp - LoRA adapters: reading their files, and runs whose inputs they give.
#include <fstream>
#include <iterator>

#include "answers.h"

namespace {

OrtSession* MakeSession(const char* name) {
  OrtSessionOptions* options = nullptr;
  Must(ort->CreateSessionOptions(&options));
  OrtSession* session = nullptr;
  Must(ort->CreateSession(env, ModelPath(name).c_str(), options, &session));
  ort->ReleaseSessionOptions(options);
  return session;
}

OrtValue* Input(std::vector<float> values) {
  OrtAllocator* allocator = nullptr;
  Must(ort->GetAllocatorWithDefaultOptions(&allocator));
  const int64_t shape[] = {2, 3};
  OrtValue* value = nullptr;
  Must(ort->CreateTensorAsOrtValue(allocator, shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  void* data = nullptr;
  Must(ort->GetTensorMutableData(value, &data));
  std::copy(values.begin(), values.end(), static_cast<float*>(data));
  return value;
}

// Runs a model x -> y with these adapters, and prints y.
void RunWith(const char* what, OrtSession* session, std::vector<const OrtLoraAdapter*> adapters,
             std::vector<const char*> names = {"x"}, bool bind = true) {
  OrtRunOptions* options = nullptr;
  Must(ort->CreateRunOptions(&options));
  for (const OrtLoraAdapter* adapter : adapters)
    Answer("RunOptionsAddActiveLoraAdapter", ort->RunOptionsAddActiveLoraAdapter(options, adapter));
  std::vector<OrtValue*> inputs;
  for (size_t i = 0; i < names.size(); ++i) inputs.push_back(Input({1, 2, 3, 4, 5, 6}));
  const char* out[] = {"y"};
  OrtValue* output = nullptr;
  if (Answer(what, ort->Run(session, options, names.data(), inputs.data(), inputs.size(), out, 1, &output)) == 0) {
    void* data = nullptr;
    Must(ort->GetTensorMutableData(output, &data));
    std::string text;
    for (int i = 0; i < 6; ++i) text += " " + std::to_string(static_cast<int>(static_cast<float*>(data)[i]));
    Say("  y%s", text.c_str());
  }
  if (!bind) {
    ort->ReleaseValue(output);
    for (OrtValue* input : inputs) ort->ReleaseValue(input);
    ort->ReleaseRunOptions(options);
    return;
  }
  OrtIoBinding* binding = nullptr;
  Must(ort->CreateIoBinding(session, &binding));
  for (size_t i = 0; i < names.size(); ++i)
    if (Answer("  BindInput", ort->BindInput(binding, names[i], inputs[i])) != 0) break;
  OrtMemoryInfo* cpu = nullptr;
  Must(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
  Must(ort->BindOutputToDevice(binding, "y", cpu));
  Answer("  RunWithBinding", ort->RunWithBinding(session, options, binding));
  ort->ReleaseMemoryInfo(cpu);
  ort->ReleaseIoBinding(binding);
  ort->ReleaseValue(output);
  for (OrtValue* input : inputs) ort->ReleaseValue(input);
  ort->ReleaseRunOptions(options);
}

OrtLoraAdapter* Adapter(const char* name) {
  OrtLoraAdapter* adapter = nullptr;
  Say("%s", name);
  Answer("CreateLoraAdapter", ort->CreateLoraAdapter(ModelPath(name).c_str(), nullptr, &adapter));
  return adapter;
}

}  // namespace

int main(int argc, char** argv) {
  Open(argc, argv);
  OrtLoraAdapter* first = Adapter("first.onnx_adapter");      // a
  OrtLoraAdapter* second = Adapter("second.onnx_adapter");    // b
  OrtLoraAdapter* other_a = Adapter("other_a.onnx_adapter");  // a once more
  OrtLoraAdapter* unknown = Adapter("unknown.onnx_adapter");  // a name that the model does not have
  OrtLoraAdapter* wrong = Adapter("wrong_shape.onnx_adapter");
  OrtLoraAdapter* missing = Adapter("not_there.onnx_adapter");
  OrtLoraAdapter* bad = Adapter("chain.onnx");
  Say("missing %s, bad %s", missing == nullptr ? "NULL" : "given", bad == nullptr ? "NULL" : "given");
  OrtSession* session = MakeSession("adapted.onnx");
  RunWith("Run without adapters", session, {});
  RunWith("Run with one", session, {first});
  RunWith("Run with two", session, {first, second});
  RunWith("Run with one input from two", session, {first, other_a});
  RunWith("Run with a name that the model does not have", session, {unknown});
  RunWith("Run with another shape", session, {wrong});
  RunWith("Run with an input that the caller gives, too", session, {first}, {"x", "a"});
  OrtSession* required = MakeSession("required.onnx");
  RunWith("Run with a required input", required, {first}, {"x"}, false);
  for (const char* name : {"first.onnx_adapter", "chain.onnx"}) {
    std::ifstream file(ModelPath(name), std::ios::binary);
    std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    OrtLoraAdapter* adapter = nullptr;
    Answer("CreateLoraAdapterFromArray",
           ort->CreateLoraAdapterFromArray(bytes.data(), bytes.size(), nullptr, &adapter));
    std::fill(bytes.begin(), bytes.end(), '\0');  // the caller's to reuse
    if (adapter != nullptr) RunWith("Run with an adapter from memory", session, {adapter});
    ort->ReleaseLoraAdapter(adapter);
    adapter = nullptr;
    Answer("CreateLoraAdapterFromArray, cut off", ort->CreateLoraAdapterFromArray(bytes.data(), 60, nullptr, &adapter));
    ort->ReleaseLoraAdapter(adapter);
  }
  ort->ReleaseSession(required);
  ort->ReleaseSession(session);
  for (OrtLoraAdapter* adapter : {first, second, other_a, unknown, wrong, missing, bad})
    ort->ReleaseLoraAdapter(adapter);
  ort->ReleaseEnv(env);
}
