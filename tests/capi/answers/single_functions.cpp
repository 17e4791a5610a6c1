// tests/capi/answers/single_functions.cpp - functions that belong to no larger family: cancelling the load of a model,
// opaque values, callbacks of thread pools, captured graphs, experimental functions, and others.
#include "answers.h"

namespace {

OrtSessionOptions* NewOptions() {
  OrtSessionOptions* options = nullptr;
  Must(ort->CreateSessionOptions(&options));
  return options;
}

void TryToLoad(const char* what, const OrtSessionOptions* options) {
  OrtSession* session = nullptr;
  Answer(what, ort->CreateSession(env, ModelPath("chain.onnx").c_str(), options, &session));
  ort->ReleaseSession(session);
}

void Cancelling() {
  OrtSessionOptions* options = NewOptions();
  Answer("SessionOptionsSetLoadCancellationFlag", ort->SessionOptionsSetLoadCancellationFlag(options, true));
  TryToLoad("CreateSession, cancelled", options);
  OrtSessionOptions* clone = nullptr;
  Must(ort->CloneSessionOptions(options, &clone));
  TryToLoad("CreateSession, of a clone", clone);
  Answer("SessionOptionsSetLoadCancellationFlag", ort->SessionOptionsSetLoadCancellationFlag(clone, false));
  TryToLoad("CreateSession, of the clone", clone);
  TryToLoad("CreateSession, of the options", options);
  Answer("SessionOptionsSetLoadCancellationFlag", ort->SessionOptionsSetLoadCancellationFlag(options, false));
  TryToLoad("CreateSession", options);
  ort->ReleaseSessionOptions(clone);
  ort->ReleaseSessionOptions(options);
}

void Opaque() {
  const int64_t data = 1;
  OrtValue* value = nullptr;
  Answer("CreateOpaqueValue", ort->CreateOpaqueValue("a.domain", "AType", &data, sizeof data, &value));
  OrtAllocator* allocator = nullptr;
  Must(ort->GetAllocatorWithDefaultOptions(&allocator));
  const int64_t shape[] = {1};
  Must(ort->CreateTensorAsOrtValue(allocator, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  int64_t out = 0;
  Answer("GetOpaqueValue", ort->GetOpaqueValue("a.domain", "AType", value, &out, sizeof out));
  ort->ReleaseValue(value);
}

// ONNX Runtime's released library is built without them; what the callbacks get is tested by session_callbacks.cpp.
void Callbacks() {
  OrtThreadPoolCallbacksConfig config{};
  Answer("SetPerSessionThreadPoolCallbacks, version 0", ort->SetPerSessionThreadPoolCallbacks(env, &config));
  Answer("SetPerSessionThreadPoolCallbacks, NULL", ort->SetPerSessionThreadPoolCallbacks(env, nullptr));
}

OrtStatusPtr ORT_API_CALL ReadNothing(void*, const char*, OrtAllocator*, void**, size_t*) { return nullptr; }

void Others() {
  OrtSessionOptions* options = NewOptions();
  OrtSession* session = nullptr;
  Must(ort->CreateSession(env, ModelPath("chain.onnx").c_str(), options, &session));
  for (const int id : {0, 1, -1}) Answer("SessionReleaseCapturedGraph", ort->SessionReleaseCapturedGraph(session, id));
  ort->ReleaseSession(session);
  for (const uint32_t version : {1u, 15u, 31u, 32u})
    Say("GetTrainingApi(%u): %s", version, ort->GetTrainingApi(version) == nullptr ? "NULL" : "a table");
  const char bytes[] = "abc";
  Answer("SessionOptionsSetWeightlessSourceModelBuffer",
         ort->SessionOptionsSetWeightlessSourceModelBuffer(options, bytes, 3));
  Answer("SessionOptionsSetWeightlessSourceModelBuffer, no bytes",
         ort->SessionOptionsSetWeightlessSourceModelBuffer(options, bytes, 0));
  Answer("SessionOptionsSetWeightlessSourceModelBuffer, NULL",
         ort->SessionOptionsSetWeightlessSourceModelBuffer(options, nullptr, 3));
  Answer("SessionOptionsSetWeightlessSourceModelBuffer, NULL and 0",
         ort->SessionOptionsSetWeightlessSourceModelBuffer(options, nullptr, 0));
  int state = 0;
  Answer("SessionOptionsSetEpContextDataReadFunc",
         ort->SessionOptionsSetEpContextDataReadFunc(options, reinterpret_cast<OrtReadNamedBufferFunc>(&ReadNothing),
                                                     &state));
  Answer("SessionOptionsSetEpContextDataReadFunc, NULL",
         ort->SessionOptionsSetEpContextDataReadFunc(options, nullptr, nullptr));
  TryToLoad("CreateSession", options);
  ort->ReleaseSessionOptions(options);
}

void Experimental() {
  for (const char* name :
       {"OrtApi_ExperimentalApiTest_SinceV28", "OrtApi_ExperimentalApiTest",
        "OrtApi_SessionOptions_SetEpContextDataReadFunc_SinceV28", "OrtEpApi_ReleaseEpContextConfig_SinceV28",
        "OrtModelPackageApi_CreateSession_SinceV28", "", "CreateSession"}) {
    const OrtExperimentalFnPtr function = ort->GetExperimentalFunction(name);
    Say("GetExperimentalFunction(%s): %s", name, function == nullptr ? "NULL" : "a function");
    if (function == nullptr) continue;
    int64_t out = -1;
    const auto test = reinterpret_cast<OrtStatusPtr(ORT_API_CALL*)(int64_t*)>(function);
    Answer("  called", test(&out));
    Say("  %lld", static_cast<long long>(out));
    Answer("  called with NULL", test(nullptr));
  }
  Say("GetExperimentalFunction(NULL): %s", ort->GetExperimentalFunction(nullptr) == nullptr ? "NULL" : "a function");
}

}  // namespace

int main(int argc, char** argv) {
  Open(argc, argv);
  Cancelling();
  Opaque();
  Callbacks();
  Others();
  Experimental();
  ort->ReleaseEnv(env);
}
