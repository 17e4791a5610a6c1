// runtime/run_on_streams_test.cpp - sessions whose provider gives its work to streams, on several threads.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <thread>

#include "ir/text.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"
#include "runtime/session.h"
#include "testing/environment.h"

namespace sardonyx::runtime {
namespace {

constexpr Device kDevice = {DeviceType::kNpu, 0x5d8, 0, MemoryKind::kDefault, 64};
constexpr Device kOtherDevice = {DeviceType::kNpu, 0x5d8, 1, MemoryKind::kDefault, 64};
std::atomic<long> waits = 0, device_waits = 0, flushes = 0;
std::atomic<bool> device_wait_fails = false;

// Does its work when somebody waits for it.
class LazyStream final : public Stream {
 public:
  explicit LazyStream(const Device& device) : device_(device) {}
  ~LazyStream() override { EXPECT_EQ(done_, given_); }
  void Give(std::function<void()> work) {
    work_.push_back(std::move(work));
    ++given_;
  }
  void DoUntil(std::size_t target) {
    for (; done_ < target; ++done_) {
      work_.front()();
      work_.pop_front();
    }
  }
  Device device() const override { return device_; }
  std::unique_ptr<Notification> MakeNotification() override;
  void Flush() override {
    ++flushes;
    DoUntil(given_);
  }
  void EndRun() override {}
  bool CanWaitFor(const Stream& /*other*/) const override { return true; }
  std::size_t given() const { return given_; }

 private:
  Device device_;
  std::deque<std::function<void()>> work_;
  std::size_t given_ = 0, done_ = 0;
};

class LazyNotification final : public Notification {
 public:
  explicit LazyNotification(LazyStream& stream) : stream_(stream) {}
  void Activate() override { until_ = stream_.given(); }
  void WaitOnDevice(Stream& other) override {
    if (device_wait_fails) Fail(Code::kEpFail, "planted fault in WaitOnDevice");
    ++device_waits;
    static_cast<LazyStream&>(other).Give([&stream = stream_, until = until_] { stream.DoUntil(until); });
  }
  void WaitOnHost() override {
    ++waits;
    stream_.DoUntil(until_);
  }

 private:
  LazyStream& stream_;
  std::size_t until_ = 0;
};

std::unique_ptr<Notification> LazyStream::MakeNotification() { return std::make_unique<LazyNotification>(*this); }

void Give(std::function<void()> work) {
  auto* stream = static_cast<LazyStream*>(CurrentStream());
  return stream != nullptr ? stream->Give(std::move(work)) : work();
}

class DeviceMemory final : public Allocator {
 public:
  explicit DeviceMemory(const Device& device = kDevice) : device_(device) {}
  void* Allocate(std::size_t size) override { return HostAllocator()->Allocate(size); }
  void Free(void* data) override { HostAllocator()->Free(data); }
  Device device() const override { return device_; }

 private:
  Device device_;
};

void RunNeg(ops::KernelContext& c) {
  const float* from = c.Input(0).As<float>();
  float* to = c.Output(0).As<float>();
  const std::int64_t count = c.Input(0).count;
  Give([=] {
    for (std::int64_t i = 0; i < count; ++i) to[i] = -from[i];
  });
}

// Runs one operator as if it were Neg.
class StreamProvider final : public providers::Provider {
 public:
  StreamProvider(std::string op_type, const Device& device)
      : op_type_(std::move(op_type)),
        name_(op_type_ + "TestExecutionProvider"),
        memory_(std::make_shared<DeviceMemory>(device)) {}
  std::string_view name() const override { return name_; }
  providers::Claims Claim(const providers::GraphView& view) override {
    providers::Claims claims;
    for (const NodeId id : view.nodes)
      if (view.graph.node(id).op_type == op_type_) claims.groups.push_back({{id}, false});
    return claims;
  }
  ops::Prepared Prepare(ops::PrepareContext& /*context*/) override { return {RunNeg, nullptr}; }
  const std::shared_ptr<Allocator>& allocator() const override { return memory_; }
  void CopyBytes(const void* from, Device /*from_device*/, void* to, Device /*to_device*/, std::size_t bytes) override {
    Give([=] { std::memcpy(to, from, bytes); });
  }
  bool HasStreams() const override { return true; }
  std::shared_ptr<Stream> MakeStream() override { return std::make_shared<LazyStream>(memory_->device()); }

 private:
  std::string op_type_, name_;
  std::shared_ptr<Allocator> memory_;
};

ProviderChoice ChoiceOf(const char* op_type, const Device& device) {
  return {.name = std::string(op_type) + "TestExecutionProvider", .make = [=](const SessionOptions&, const Logger&) {
            return std::make_shared<StreamProvider>(op_type, device);
          }};
}

std::unique_ptr<Session> MakeSession(const char* text) {
  SessionOptions options;
  options.providers = {ChoiceOf("Neg", kDevice), ChoiceOf("Ceil", kOtherDevice)};
  return Session::FromModel(testing::TestEnvironment(), std::make_shared<Model>(ParseModel(text)), std::move(options));
}

constexpr const char* kCrossing = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[N] x) => (float[N] y) { a = Neg (x)  b = Neg (a)  c = Abs (b)  d = Neg (c)  y = Neg (d) })";

Value Numbers(std::size_t count, const std::shared_ptr<Allocator>& allocator = HostAllocator()) {
  Tensor tensor(DType::kFloat, Shape{static_cast<std::int64_t>(count)}, allocator);
  for (std::size_t i = 0; i < count; ++i) tensor.data<float>()[i] = static_cast<float>(i) - 3;
  return tensor;
}

void ExpectAbsolutes(const Value& value, std::size_t count) {
  ASSERT_EQ(value.tensor().count(), static_cast<std::int64_t>(count));
  for (std::size_t i = 0; i < count; ++i)
    EXPECT_EQ(value.tensor().data<float>()[i], std::abs(static_cast<float>(i) - 3)) << i;
}

TEST(RunOnStreams, WaitsOnceForTheHostAndOnceAtTheEnd) {
  const auto session = MakeSession(kCrossing);
  const RunOptions options;
  for (const std::size_t count : {8U, 8U, 5U}) {
    waits = flushes = 0;
    ExpectAbsolutes(session->Run(options, {{"x", Numbers(count)}}, {"y"})[0], count);
    EXPECT_EQ(waits, 1);
    EXPECT_EQ(flushes, 1);
  }
}

TEST(RunOnStreams, StreamsWaitForEachOtherWithoutTheHost) {
  const auto session = MakeSession(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[N] x) => (float[N] y) { a = Neg (x)  b = Ceil (a)  c = Neg (b)  y = Ceil (c) })");
  for (int turn = 0; turn < 2; ++turn) {
    waits = device_waits = flushes = 0;
    const Value y = session->Run(RunOptions(), {{"x", Numbers(5)}}, {"y"})[0];
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(y.tensor().data<float>()[i], static_cast<float>(i) - 3);
    EXPECT_EQ(waits, 0);
    EXPECT_EQ(device_waits, 3);
    EXPECT_EQ(flushes, 2);
  }
}

TEST(RunOnStreams, AFailedWaitIsTheErrorOfItsNodeAndLeavesNoWorkBehind) {
  const auto session = MakeSession(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[N] x) => (float[N] y) { a = Neg (x)  b = Ceil (a)  c = Neg (b)  y = Ceil (c) })");
  for (int turn = 0; turn < 2; ++turn) {
    device_wait_fails = true;
    try {
      session->Run(RunOptions(), {{"x", Numbers(5)}}, {"y"});
      ADD_FAILURE() << "expected an error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kEpFail);
      EXPECT_NE(std::string(error.what()).find("Memcpy"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("planted fault in WaitOnDevice"), std::string::npos) << error.what();
    }
    device_wait_fails = false;
    const Value y = session->Run(RunOptions(), {{"x", Numbers(5)}}, {"y"})[0];
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(y.tensor().data<float>()[i], static_cast<float>(i) - 3);
  }
}

TEST(RunOnStreams, TakesAndMakesValuesOnTheDeviceWithoutACopy) {
  const auto session = MakeSession(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[N] x) => (float[N] y) { a = Neg (x)  y = Neg (a) })");
  EXPECT_TRUE(session->InputPlace(0) == kDevice);
  EXPECT_TRUE(session->OutputPlace(0) == kDevice);
  const Value x = Numbers(6, std::make_shared<DeviceMemory>());
  const Value* inputs[] = {&x};
  const std::size_t index[] = {0};
  const Device places[] = {kDevice};
  Value made[1];
  session->Run(RunOptions(), index, inputs, index, made, {.places = places});
  EXPECT_TRUE(made[0].tensor().device() == kDevice);
  EXPECT_EQ(made[0].tensor().data<float>()[0], -3);
  EXPECT_EQ(session->LastCopied(0), 0);
}

TEST(RunOnStreams, ThreadsShareOneSession) {
  const auto session = MakeSession(kCrossing);
  const auto memory = std::make_shared<DeviceMemory>();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::size_t index[] = {0};
      const Device places[] = {t % 2 == 0 ? kDevice : Device{}};
      for (int turn = 0; turn < 50; ++turn) {
        const auto count = static_cast<std::size_t>(4 + (turn + t) % 3);
        const Value x = Numbers(count, t < 2 ? std::static_pointer_cast<Allocator>(memory) : HostAllocator());
        const Value* inputs[] = {&x};
        Value made[1];
        session->Run(RunOptions(), index, inputs, index, made, {.places = places});
        ExpectAbsolutes(made[0], count);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace sardonyx::runtime
