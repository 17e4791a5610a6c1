// tests/capi/odd_calls/callbacks.cpp - functions of the caller that throw where C has no exceptions: allocators,
// loggers, custom operators, thread makers, delegates and the functions of the Compile API. A thrown exception ends in
// an error, or, where there is no one to tell, nowhere.
#include <cstring>
#include <functional>
#include <stdexcept>

#include "odd_calls.h"

namespace {

// A function of the type F that throws.
template <typename F>
struct Thrower;
template <typename Result, typename... Args>
struct Thrower<Result (*)(Args...)> {
  static Result Call(Args...) { throw std::runtime_error("thrown by the caller's function"); }
};
template <typename F>
void Break(F& function) {
  function = Thrower<F>::Call;
}

void* Allocate(OrtAllocator*, size_t size) { return std::malloc(size); }
void* AllocateNothing(OrtAllocator*, size_t) { return nullptr; }
void Free(OrtAllocator*, void* block) { std::free(block); }
OrtMemoryInfo* cpu_info = nullptr;
const OrtMemoryInfo* Info(const OrtAllocator*) { return cpu_info; }

OrtAllocator NewAllocator() {
  if (cpu_info == nullptr) Must(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu_info));
  OrtAllocator allocator{};
  allocator.version = 17;
  allocator.Alloc = Allocate;
  allocator.Free = Free;
  allocator.Info = Info;
  return allocator;
}

// What an allocator of the caller is used for.
void UseAllocator(OrtAllocator& allocator) {
  Objects o;
  o.Open();
  const std::int64_t shape[] = {3};
  OrtValue* value = nullptr;
  Answer("tensor", ort->CreateTensorAsOrtValue(&allocator, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  ort->ReleaseValue(value);
  char* name = nullptr;
  if (Answer("name", ort->SessionGetInputName(o.session, 0, &allocator, &name)) == 0)
    Answer("free", ort->AllocatorFree(&allocator, name));
  void* block = nullptr;
  if (Answer("alloc", ort->AllocatorAlloc(&allocator, 64, &block)) == 0)
    Answer("free", ort->AllocatorFree(&allocator, block));
  const OrtMemoryInfo* info = nullptr;
  Answer("info", ort->AllocatorGetInfo(&allocator, &info));
  o.Check();
}

void AllocThrows() {
  OrtAllocator allocator = NewAllocator();
  Break(allocator.Alloc);
  UseAllocator(allocator);
}
void FreeThrows() {
  OrtAllocator allocator = NewAllocator();
  Break(allocator.Free);
  UseAllocator(allocator);
}
void InfoThrows() {
  OrtAllocator allocator = NewAllocator();
  Break(allocator.Info);
  UseAllocator(allocator);
}
void AllocGivesNothing() {
  OrtAllocator allocator = NewAllocator();
  allocator.Alloc = AllocateNothing;
  UseAllocator(allocator);
}
void NoFunctions() {
  OrtAllocator allocator{};
  allocator.version = 17;
  UseAllocator(allocator);
}
void SharedAllocatorThrows() {
  OrtAllocator allocator = NewAllocator();
  Break(allocator.Alloc);
  Answer("register", ort->RegisterAllocator(env, &allocator));
  Objects o;
  Must(ort->AddSessionConfigEntry(o.options, "session.use_env_allocators", "1"));
  Answer("create", ort->CreateSession(env, ModelPath("twice.onnx").c_str(), o.options, &o.session));
  if (o.session != nullptr) o.Check();
}
void DeleterThrows() {
  OrtAllocator allocator = NewAllocator();
  Break(allocator.Free);
  float* data = static_cast<float*>(std::malloc(8));
  const std::int64_t shape[] = {2};
  OrtValue* value = nullptr;
  Answer("make", ort->CreateTensorWithDataAndDeleterAsOrtValue(&allocator, data, 8, shape, 1,
                                                               ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  ort->ReleaseValue(value);
  Say("released", 1);
}

// A logger that begins to throw when it is told to.
bool throwing = false;
void ThrowLater(void*, OrtLoggingLevel, const char*, const char*, const char*, const char*) {
  if (throwing) throw std::runtime_error("thrown by the logger");
}
void LoggerThrowsLater() {
  ort->ReleaseEnv(env);
  Answer("make", ort->CreateEnvWithCustomLogger(ThrowLater, nullptr, ORT_LOGGING_LEVEL_VERBOSE, "odd", &env));
  Objects o;
  Must(ort->SetIntraOpNumThreads(o.options, 2));
  o.Open();
  throwing = true;
  OrtValue* y = nullptr;
  const OrtStatusPtr status = o.Run(o.session, nullptr, o.Value(), &y);
  ort->ReleaseStatus(status);
  ort->ReleaseSession(o.session);
  ort->ReleaseEnv(env);
  Say("released", 1);
}

void NewEnvironment(OrtLoggingFunction function, OrtLoggingLevel level) {
  ort->ReleaseEnv(env);
  Answer("make", ort->CreateEnvWithCustomLogger(function, nullptr, level, "odd", &env));
  Objects o;
  if (Answer("session", ort->CreateSession(env, ModelPath("neg.onnx").c_str(), o.options, &o.session)) == 0) o.Check();
}
void LoggerThrows() { NewEnvironment(Thrower<OrtLoggingFunction>::Call, ORT_LOGGING_LEVEL_VERBOSE); }
void SessionLoggerThrows() {
  Objects o;
  Answer("set", ort->SetUserLoggingFunction(o.options, Thrower<OrtLoggingFunction>::Call, nullptr));
  Must(ort->SetSessionLogSeverityLevel(o.options, ORT_LOGGING_LEVEL_VERBOSE));
  if (Answer("session", ort->CreateSession(env, ModelPath("neg.onnx").c_str(), o.options, &o.session)) == 0) o.Check();
}
void NoLogger() { NewEnvironment(nullptr, ORT_LOGGING_LEVEL_FATAL); }

OrtCustomThreadHandle MakeNoThread(void*, OrtThreadWorkerFn, void*) { return nullptr; }
void JoinNothing(OrtCustomThreadHandle) {}
void WithThreads(OrtCustomCreateThreadFn create, OrtCustomJoinThreadFn join) {
  Objects o;
  Must(ort->SetIntraOpNumThreads(o.options, 2));
  Answer("create", ort->SessionOptionsSetCustomCreateThreadFn(o.options, create));
  Answer("join", ort->SessionOptionsSetCustomJoinThreadFn(o.options, join));
  Answer("session", ort->CreateSession(env, ModelPath("neg.onnx").c_str(), o.options, &o.session));
  if (o.session != nullptr) o.Check();
}
void ThreadMakerThrows() { WithThreads(Thrower<OrtCustomCreateThreadFn>::Call, JoinNothing); }
void ThreadMakerMakesNone() { WithThreads(MakeNoThread, JoinNothing); }
void ThreadMakerWithoutJoin() { WithThreads(MakeNoThread, nullptr); }

OrtStatus* ChooseTooMany(const OrtEpDevice**, size_t, const OrtKeyValuePairs*, const OrtKeyValuePairs*,
                         const OrtEpDevice**, size_t, size_t* count, void*) {
  *count = 1'000'000;
  return nullptr;
}
OrtStatus* ChooseNone(const OrtEpDevice**, size_t, const OrtKeyValuePairs*, const OrtKeyValuePairs*,
                      const OrtEpDevice**, size_t, size_t* count, void*) {
  *count = 0;
  return nullptr;
}
void WithDelegate(EpSelectionDelegate delegate) {
  Objects o;
  Answer("set", ort->SessionOptionsSetEpSelectionPolicyDelegate(o.options, delegate, nullptr));
  Answer("session", ort->CreateSession(env, ModelPath("neg.onnx").c_str(), o.options, &o.session));
}
void DelegateThrows() { WithDelegate(Thrower<EpSelectionDelegate>::Call); }
void DelegateChoosesTooMany() { WithDelegate(ChooseTooMany); }
void DelegateChoosesNone() { WithDelegate(ChooseNone); }

using Set = std::function<OrtStatusPtr(const OrtCompileApi&, OrtModelCompilationOptions*)>;
void Compile(const Set& set) {
  Objects o;
  const OrtCompileApi& compile = *ort->GetCompileApi();
  OrtModelCompilationOptions* options = nullptr;
  Must(compile.CreateModelCompilationOptionsFromSessionOptions(env, o.options, &options));
  Must(compile.ModelCompilationOptions_SetInputModelPath(options, ModelPath("twice.onnx").c_str()));
  Must(compile.ModelCompilationOptions_SetFlags(options, 0));
  Answer("set", set(compile, options));
  Answer("compile", compile.CompileModel(env, options));
  compile.ReleaseModelCompilationOptions(options);
}
void WriterThrows() {
  Compile([](const OrtCompileApi& api, OrtModelCompilationOptions* options) {
    return api.ModelCompilationOptions_SetOutputModelWriteFunc(options, Thrower<OrtWriteBufferFunc>::Call, nullptr);
  });
}
void LocatorThrows() {
  Compile([](const OrtCompileApi& api, OrtModelCompilationOptions* options) {
    Must(api.ModelCompilationOptions_SetOutputModelPath(options, ModelPath("out.onnx").c_str()));
    return api.ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc(
        options, Thrower<OrtGetInitializerLocationFunc>::Call, nullptr);
  });
}

void RunAsyncThrows() {
  Objects o;
  o.Open();
  const char *in = "x", *out = "y";
  const OrtValue* x = o.Value();
  OrtValue* y = nullptr;
  Answer("start",
         ort->RunAsync(o.session, nullptr, &in, &x, 1, &out, 1, &y, Thrower<RunAsyncCallbackFn>::Call, nullptr));
  ort->ReleaseSession(o.session);  // waits
  Say("released", 1);
}

// ---- A custom operator, of which each function throws in turn. ----
OrtCustomOp GoodOp() {
  OrtCustomOp op{};
  op.version = ORT_API_VERSION;
  op.GetName = [](const OrtCustomOp*) { return "Odd"; };
  op.GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
  op.GetInputType = [](const OrtCustomOp*, size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; };
  op.GetOutputType = op.GetInputType;
  op.GetInputTypeCount = [](const OrtCustomOp*) -> size_t { return 1; };
  op.GetOutputTypeCount = op.GetInputTypeCount;
  op.GetInputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
  op.GetOutputCharacteristic = op.GetInputCharacteristic;
  op.GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
  op.GetVariadicInputMinArity = [](const OrtCustomOp*) { return 1; };
  op.GetVariadicInputHomogeneity = op.GetVariadicInputMinArity;
  op.GetVariadicOutputMinArity = op.GetVariadicInputMinArity;
  op.GetVariadicOutputHomogeneity = op.GetVariadicInputMinArity;
  op.CreateKernelV2 = [](const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*, void** kernel) -> OrtStatusPtr {
    *kernel = nullptr;
    return nullptr;
  };
  op.KernelComputeV2 = [](void*, OrtKernelContext* context) -> OrtStatusPtr {
    const std::int64_t shape[] = {2};
    OrtValue* y = nullptr;
    void* data = nullptr;
    if (OrtStatusPtr status = ort->KernelContext_GetOutput(context, 0, shape, 1, &y)) return status;
    if (OrtStatusPtr status = ort->GetTensorMutableData(y, &data)) return status;
    std::memset(data, 0, 8);
    return nullptr;
  };
  op.KernelDestroy = [](void*) {};
  op.GetStartVersion = op.GetVariadicInputMinArity;
  op.GetEndVersion = [](const OrtCustomOp*) { return 100; };
  return op;
}

void RunOp(const std::function<void(OrtCustomOp&)>& change) {
  OrtCustomOp op = GoodOp();
  change(op);
  Objects o;
  OrtCustomOpDomain* domain = nullptr;
  Must(ort->CreateCustomOpDomain("odd", &domain));
  if (Answer("add", ort->CustomOpDomain_Add(domain, &op)) != 0) return;
  if (Answer("domain", ort->AddCustomOpDomain(o.options, domain)) != 0) return;
  if (Answer("session", ort->CreateSession(env, ModelPath("custom.onnx").c_str(), o.options, &o.session)) != 0) return;
  o.Check();
  ort->ReleaseSession(o.session);
  ort->ReleaseCustomOpDomain(domain);
}

template <typename Member>
void AddOpCases(std::vector<Case>& cases, const std::string& name, Member OrtCustomOp::*member) {
  const auto with = [=](Member function, bool old) {
    return [=] {
      RunOp([=](OrtCustomOp& op) {
        if (old) {
          op.version = 15;
          op.CreateKernel = [](const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*) -> void* { return nullptr; };
          op.KernelCompute = [](void*, OrtKernelContext*) {};
        }
        op.*member = function;
      });
    };
  };
  const bool old = name == "CreateKernel" || name == "KernelCompute";
  cases.push_back({name + " of an operator throws", with(Thrower<Member>::Call, old)});
  cases.push_back({name + " of an operator is NULL", with(nullptr, old)});
}

std::vector<Case> OpCases() {
  std::vector<Case> cases{{"an operator", [] { RunOp([](OrtCustomOp&) {}); }}};
#define OF(function) AddOpCases(cases, #function, &OrtCustomOp::function)
  OF(CreateKernel);
  OF(GetName);
  OF(GetExecutionProviderType);
  OF(GetInputType);
  OF(GetInputTypeCount);
  OF(GetOutputType);
  OF(GetOutputTypeCount);
  OF(KernelCompute);
  OF(KernelDestroy);
  OF(GetInputCharacteristic);
  OF(GetOutputCharacteristic);
  OF(GetInputMemoryType);
  OF(GetVariadicInputMinArity);
  OF(GetVariadicInputHomogeneity);
  OF(GetVariadicOutputMinArity);
  OF(GetVariadicOutputHomogeneity);
  OF(CreateKernelV2);
  OF(KernelComputeV2);
  OF(InferOutputShapeFn);
  OF(GetStartVersion);
  OF(GetEndVersion);
  OF(GetMayInplace);
  OF(GetAliasMap);
#undef OF
  return cases;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Case> cases{{"an allocator's Alloc throws", AllocThrows},
                          {"an allocator's Free throws", FreeThrows},
                          {"an allocator's Info throws", InfoThrows},
                          {"an allocator's Alloc returns NULL", AllocGivesNothing},
                          {"an allocator without functions", NoFunctions},
                          {"an allocator of the environment throws", SharedAllocatorThrows},
                          {"a deleter throws", DeleterThrows},
                          {"the logger throws", LoggerThrows},
                          {"a session's logger throws", SessionLoggerThrows},
                          {"the logger throws later", LoggerThrowsLater},
                          {"no logger", NoLogger},
                          {"the thread maker throws", ThreadMakerThrows},
                          {"the thread maker makes none", ThreadMakerMakesNone},
                          {"the thread maker without a joiner", ThreadMakerWithoutJoin},
                          {"the delegate throws", DelegateThrows},
                          {"the delegate chooses too many", DelegateChoosesTooMany},
                          {"the delegate chooses none", DelegateChoosesNone},
                          {"the writer throws", WriterThrows},
                          {"the locator throws", LocatorThrows},
                          {"the callback of a run throws", RunAsyncThrows}};
  for (Case& each : OpCases()) cases.push_back(std::move(each));
  return RunCases(argc, argv, cases);
}
