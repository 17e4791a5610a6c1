// capi/threads_test.cpp - several threads at once run, cancel and close sessions, and register and unregister libraries
// of providers. The thread sanitizer watches (tools/run_tests.py).
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "capi/functions.h"
#include "capi/handles/release.h"
#include "capi/options.h"
#include "ir/text.h"
#include "model/save.h"

namespace sardonyx::capi {
namespace {

constexpr const char* kModel =
    "<ir_version: 10, opset_import: [\"\" : 21]>\n"
    "g (float[N] x) => (float[N] y) { a = Add(x, x) b = Mul(a, x) c = Add(b, a) y = Neg(c) }";

// The code of a status, which is released.
int CodeOf(OrtStatusPtr status) {
  const int code = status != nullptr ? static_cast<int>(GetErrorCode(status)) : 0;
  ReleaseStatus(status);
  return code;
}

void Must(OrtStatusPtr status) {
  const std::string message = status != nullptr ? GetErrorMessage(status) : "";
  EXPECT_EQ(CodeOf(status), 0) << message;
}

std::string PluginPath() {
  const std::filesystem::path build = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  return (build / "lib/libtest_provider_plugin.so").string();
}

class Threads : public ::testing::Test {
 protected:
  void SetUp() override {
    Must(CreateEnv(ORT_LOGGING_LEVEL_FATAL, "threads", &env_));
    Must(CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &host_));
  }
  void TearDown() override {
    ReleaseMemoryInfo(host_);
    ReleaseEnv(env_);
  }

  OrtSession* Session(OrtSessionOptions* options) {
    OrtSession* session = nullptr;
    Must(CreateSessionFromArray(env_, bytes_.data(), bytes_.size(), options, &session));
    return session;
  }

  // Runs with `n` numbers; the code of the run. Checks what came out of it.
  int RunOnce(OrtSession* session, OrtRunOptions* options, std::int64_t n) {
    std::vector<float> x(static_cast<std::size_t>(n), 2.0F);
    OrtValue *input = nullptr, *output = nullptr;
    Must(CreateTensorWithDataAsOrtValue(host_, x.data(), x.size() * sizeof(float), &n, 1,
                                        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &input));
    const char *in = "x", *out = "y";
    const int code = CodeOf(capi::Run(session, options, &in, &input, 1, &out, 1, &output));
    if (code == 0) {
      void* data = nullptr;
      Must(GetTensorMutableData(output, &data));
      EXPECT_EQ(static_cast<float*>(data)[n - 1], -12.0F);
    }
    ReleaseValue(output);
    ReleaseValue(input);
    return code;
  }

  // Runs `work(i)` on `count` threads and waits for them.
  template <typename Work>
  static void AtOnce(int count, Work work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back([&work, i] { work(i); });
    for (std::thread& thread : threads) thread.join();
  }

  OrtEnv* env_ = nullptr;
  OrtMemoryInfo* host_ = nullptr;
  const std::string bytes_ = model::SaveBytes(ParseModel(kModel));
};

TEST_F(Threads, MakeRunAndCloseSessions) {
  OrtSession* shared = Session(nullptr);
  AtOnce(4, [&](int thread) {
    for (int i = 0; i < 20; ++i) {
      OrtSession* own = Session(nullptr);
      EXPECT_EQ(RunOnce(own, nullptr, 1 + i), 0);
      EXPECT_EQ(RunOnce(shared, nullptr, 1 + (i + thread) % 5), 0);
      ReleaseSession(own);
    }
  });
  ReleaseSession(shared);
}

TEST_F(Threads, CancelRunsOfOthers) {
  OrtSession* session = Session(nullptr);
  std::array<OrtRunOptions*, 3> options{};
  for (OrtRunOptions*& each : options) Must(CreateRunOptions(&each));
  std::atomic<int> running = 3;
  AtOnce(4, [&](int thread) {
    if (thread == 3) {
      for (int i = 0; running > 0; ++i) {
        OrtRunOptions* other = options[static_cast<std::size_t>(i) % 3];
        Must(i % 2 == 0 ? RunOptionsSetTerminate(other) : RunOptionsUnsetTerminate(other));
      }
      return;
    }
    for (int i = 0; i < 100; ++i) {
      const int code = RunOnce(session, options[static_cast<std::size_t>(thread)], 100);
      EXPECT_TRUE(code == 0 || code == ORT_FAIL) << code;
    }
    --running;
  });
  for (OrtRunOptions* each : options) ReleaseRunOptions(each);
  ReleaseSession(session);
}

TEST_F(Threads, RunABindingEach) {
  OrtSession* session = Session(nullptr);
  AtOnce(4, [&](int) {
    float x = 2, y = 0;
    const std::int64_t one = 1;
    OrtValue *input = nullptr, *output = nullptr;
    Must(CreateTensorWithDataAsOrtValue(host_, &x, sizeof(x), &one, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &input));
    Must(CreateTensorWithDataAsOrtValue(host_, &y, sizeof(y), &one, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &output));
    OrtIoBinding* binding = nullptr;
    Must(CreateIoBinding(session, &binding));
    Must(BindInput(binding, "x", input));
    Must(BindOutput(binding, "y", output));
    for (int i = 0; i < 100; ++i) Must(RunWithBinding(session, nullptr, binding));
    EXPECT_EQ(y, -12.0F);
    ReleaseIoBinding(binding);
    ReleaseValue(output);
    ReleaseValue(input);
  });
  ReleaseSession(session);
}

TEST_F(Threads, RegisterAndUnregisterLibraries) {
  const std::string path = PluginPath();
  std::atomic<int> registering = 2;
  AtOnce(4, [&](int thread) {
    if (thread < 2) {  // one library, under a name for each thread
      const std::string name = "library " + std::to_string(thread);
      for (int i = 0; i < 15; ++i) {
        Must(RegisterExecutionProviderLibrary(env_, name.c_str(), path.c_str()));
        while (CodeOf(UnregisterExecutionProviderLibrary(env_, name.c_str())) != 0) std::this_thread::yield();
      }
      --registering;
      return;
    }
    do {
      if (thread == 2) {
        const OrtEpDevice* const* devices = nullptr;
        size_t count = 0;
        Must(GetEpDevices(env_, &devices, &count));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // others change the list meanwhile
        for (std::size_t i = 0; i < count; ++i) EXPECT_NE(devices[i], nullptr);
        continue;
      }
      OrtSessionOptions* options = nullptr;
      Must(CreateSessionOptions(&options));
      Must(SessionOptionsSetEpSelectionPolicy(options, OrtExecutionProviderDevicePolicy_PREFER_CPU));
      OrtSession* session = nullptr;
      // The library that was chosen may be gone when the session asks for its provider.
      if (CodeOf(CreateSessionFromArray(env_, bytes_.data(), bytes_.size(), options, &session)) == 0) {
        EXPECT_EQ(RunOnce(session, nullptr, 3), 0);
        ReleaseSession(session);
      }
      ReleaseSessionOptions(options);
    } while (registering > 0);
  });
}

// An operator y = x.
OrtCustomOp Copy() {
  OrtCustomOp op{};
  op.version = 10;
  op.GetName = [](const OrtCustomOp*) { return "Copy"; };
  op.GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
  op.GetInputType = [](const OrtCustomOp*, size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; };
  op.GetOutputType = op.GetInputType;
  op.GetInputTypeCount = [](const OrtCustomOp*) -> size_t { return 1; };
  op.GetOutputTypeCount = op.GetInputTypeCount;
  op.GetInputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
  op.GetOutputCharacteristic = op.GetInputCharacteristic;
  op.CreateKernel = [](const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*) -> void* { return nullptr; };
  op.KernelDestroy = [](void*) {};
  op.KernelCompute = [](void*, OrtKernelContext* context) {
    const OrtValue* x = nullptr;
    OrtValue* y = nullptr;
    void *from = nullptr, *to = nullptr;
    size_t size = 0;
    Must(KernelContext_GetInput(context, 0, &x));
    Must(GetTensorSizeInBytes(x, &size));
    const auto count = static_cast<std::int64_t>(size / sizeof(float));
    Must(KernelContext_GetOutput(context, 0, &count, 1, &y));
    Must(GetTensorMutableData(const_cast<OrtValue*>(x), &from));
    Must(GetTensorMutableData(y, &to));
    std::memcpy(to, from, size);
  };
  return op;
}

// Each thread has a domain of its own and one that all share; a domain is released as soon as its session is.
TEST_F(Threads, RegisterCustomOperators) {
  const OrtCustomOp op = Copy();
  OrtCustomOpDomain* shared = nullptr;
  Must(CreateCustomOpDomain("shared", &shared));
  Must(CustomOpDomain_Add(shared, &op));
  const std::string bytes = model::SaveBytes(
      ParseModel("<ir_version: 10, opset_import: [\"\" : 21, \"own\" : 1, \"shared\" : 1]>\n"
                 "g (float[N] x) => (float[N] y) { a = own.Copy(x) b = shared.Copy(a) c = Add(b, b) d = Add(c, b) "
                 "e = Add(d, d) y = Neg(e) }"));
  AtOnce(4, [&](int) {
    for (int i = 0; i < 10; ++i) {
      OrtCustomOpDomain* own = nullptr;
      OrtSessionOptions* options = nullptr;
      OrtSession* session = nullptr;
      Must(CreateCustomOpDomain("own", &own));
      Must(CustomOpDomain_Add(own, &op));
      Must(CreateSessionOptions(&options));
      Must(AddCustomOpDomain(options, own));
      Must(AddCustomOpDomain(options, shared));
      Must(CreateSessionFromArray(env_, bytes.data(), bytes.size(), options, &session));
      ReleaseSessionOptions(options);
      EXPECT_EQ(RunOnce(session, nullptr, 1 + i), 0);
      ReleaseSession(session);
      ReleaseCustomOpDomain(own);
    }
  });
  ReleaseCustomOpDomain(shared);
}

TEST_F(Threads, RunNodesOfAPlugin) {
  Must(RegisterExecutionProviderLibrary(env_, "plugin", PluginPath().c_str()));
  const OrtEpDevice* const* devices = nullptr;
  size_t count = 0;
  Must(GetEpDevices(env_, &devices, &count));
  ASSERT_GE(count, 4U);
  for (const std::size_t device : {std::size_t{1}, std::size_t{3}}) {  // compiled nodes; kernels
    OrtSessionOptions* options = nullptr;
    Must(CreateSessionOptions(&options));
    Must(SessionOptionsAppendExecutionProvider_V2(options, env_, &devices[device], 1, nullptr, nullptr, 0));
    OrtSession* session = Session(options);
    AtOnce(4, [&](int thread) {
      for (int i = 0; i < 50; ++i) EXPECT_EQ(RunOnce(session, nullptr, 1 + (i + thread) % 3), 0);
    });
    EXPECT_NE(CodeOf(UnregisterExecutionProviderLibrary(env_, "plugin")), 0) << "it is in use";
    ReleaseSession(session);
    ReleaseSessionOptions(options);
  }
  Must(UnregisterExecutionProviderLibrary(env_, "plugin"));
}

// What a release must not pay for.
TEST_F(Threads, UseAfterReleaseIsAnErrorInDebugBuilds) {
  if constexpr (kDebugBuild) {
    OrtSession* session = Session(nullptr);
    OrtRunOptions* options = nullptr;
    OrtValue* value = nullptr;
    float x = 1;
    const std::int64_t one = 1;
    size_t found = 0;
    Must(CreateRunOptions(&options));
    Must(CreateTensorWithDataAsOrtValue(host_, &x, sizeof(x), &one, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
    ReleaseSession(session);
    ReleaseRunOptions(options);
    ReleaseValue(value);
    ReleaseValue(value);  // is told on standard error
    EXPECT_EQ(CodeOf(SessionGetInputCount(session, &found)), ORT_INVALID_ARGUMENT);
    EXPECT_EQ(CodeOf(RunOptionsSetTerminate(options)), ORT_INVALID_ARGUMENT);
    EXPECT_EQ(CodeOf(GetTensorSizeInBytes(value, &found)), ORT_INVALID_ARGUMENT);
    const OrtStatusPtr status = GetTensorSizeInBytes(value, &found);
    ASSERT_NE(status, nullptr);
    EXPECT_STREQ(GetErrorMessage(status), "argument 'ort_value': the handle was released before");
    ReleaseStatus(status);
  }
  EXPECT_FALSE(WasReleased(env_));
}

}  // namespace
}  // namespace sardonyx::capi
