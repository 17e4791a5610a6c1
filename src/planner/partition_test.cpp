// planner/partition_test.cpp - claims, groups, fallback and copies, with the two test providers through real sessions.
#include "planner/partition.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"
#include "ops/kernel_context.h"
#include "providers/connected_groups.h"
#include "testing/device_provider.h"
#include "testing/environment.h"
#include "testing/random_tensor.h"
#include "testing/selective_provider.h"
#include "testing/tolerance.h"

namespace sardonyx {
namespace {

using runtime::Placement;
using runtime::ProviderChoice;
using runtime::Session;
using runtime::SessionOptions;
using testing::kDeviceName;
using testing::kSelectiveName;

constexpr const char* kCpu = "CPUExecutionProvider";

std::unique_ptr<Session> MakeSession(const char* text, std::vector<ProviderChoice> choices,
                                     SessionOptions options = {}) {
  auto model = std::make_shared<Model>(ParseModel(text));
  options.providers = std::move(choices);
  return Session::FromModel(testing::TestEnvironment(), std::move(model), std::move(options));
}

std::vector<Value> RunWith(Session& session, const Shape& shape) {
  const runtime::RunOptions options;
  testing::RandomTensors random(7);
  std::vector<std::pair<std::string, Value>> inputs;
  for (const runtime::Port& port : session.inputs())
    inputs.emplace_back(port.name, random.Uniform(DType::kFloat, shape));
  std::vector<std::string> names;
  for (const runtime::Port& port : session.outputs()) names.push_back(port.name);
  return session.Run(options, inputs, names);
}

// The same results with and without the providers, at two sizes and back.
void ExpectSameResults(const char* text, const std::vector<ProviderChoice>& choices) {
  const auto cpu = MakeSession(text, {});
  const auto other = MakeSession(text, choices);
  for (const std::int64_t rows : {3, 5, 3}) {
    const std::vector<Value> want = RunWith(*cpu, Shape{rows, 4}), got = RunWith(*other, Shape{rows, 4});
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(testing::AllClose(got[i], want[i])) << "output " << i;
  }
}

std::string ProviderOf(const Session& session, std::string_view op_type) {
  for (const Placement& row : session.placement())
    if (row.op_type == op_type) return row.provider;
  return "nobody";
}

long CountOf(const Session& session, std::string_view op_type) {
  const std::vector<Placement> rows = session.placement();
  return std::count_if(rows.begin(), rows.end(), [&](const Placement& row) { return row.op_type == op_type; });
}

constexpr const char* kChain = R"(
<ir_version: 8, opset_import: ["" : 13]>
chain (float[N, 4] x) => (float[N, 4] y) <float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}> {
  a = MatMul(x, w)
  b = Relu(a)
  c = Tanh(b)
  y = Add(c, b)
})";

TEST(Partition, AProviderGetsWhatItTakesAndTheCpuTheRestWithTheReason) {
  const auto session = MakeSession(kChain, {{kSelectiveName, {}}});
  EXPECT_EQ(ProviderOf(*session, "MatMul"), kSelectiveName);
  EXPECT_EQ(ProviderOf(*session, "Tanh"), kCpu);
  for (const Placement& row : session->placement()) {
    if (row.op_type != "Tanh") continue;
    EXPECT_EQ(row.reason, std::string(kSelectiveName) + ": operator Tanh is not on its list");
  }
  const long before = testing::SelectiveRuns();
  ExpectSameResults(kChain, {{kSelectiveName, {}}});
  EXPECT_EQ(testing::SelectiveRuns() - before, 9);  // MatMul, Relu, Add, three times
}

TEST(Partition, FusedGroupsBecomeOneNodeAndCreateNoCycle) {
  const std::vector<ProviderChoice> fused = {{kSelectiveName, {{"fuse", "1"}}}};
  const auto session = MakeSession(kChain, fused);
  // Add reads b and, through Tanh, b again: with MatMul and Relu it would wait for itself.
  ASSERT_EQ(session->placement().size(), 3U);
  EXPECT_EQ(CountOf(*session, "Tanh"), 1);
  ExpectSameResults(kChain, fused);
}

TEST(Partition, TheUsersOrderDecides) {
  const auto cpu_first = MakeSession(kChain, {{kCpu, {}}, {kSelectiveName, {}}});
  for (const Placement& row : cpu_first->placement()) EXPECT_EQ(row.provider, kCpu) << row.op_type;
  const auto device_first = MakeSession(kChain, {{kDeviceName, {{"operators", "Relu"}}}, {kSelectiveName, {}}});
  EXPECT_EQ(ProviderOf(*device_first, "Relu"), kDeviceName);
  EXPECT_EQ(ProviderOf(*device_first, "MatMul"), kSelectiveName);
}

TEST(Partition, CopiesStandWhereAValueChangesSidesOnceForEachValue) {
  const auto session = MakeSession(kChain, {{kDeviceName, {}}});
  for (const char* op : {"MatMul", "Relu", "Tanh", "Add"}) EXPECT_EQ(ProviderOf(*session, op), kDeviceName) << op;
  EXPECT_EQ(CountOf(*session, "MemcpyFromHost"), 1);  // x; the weights were copied when the session was made
  EXPECT_EQ(CountOf(*session, "MemcpyToHost"), 1);
  ExpectSameResults(kChain, {{kDeviceName, {}}});

  // b is read on both sides: one copy there (x), b back once, c to the device once.
  const std::vector<ProviderChoice> without_tanh = {{kDeviceName, {{"operators", "MatMul,Relu,Add"}}}};
  const auto split = MakeSession(kChain, without_tanh);
  EXPECT_EQ(CountOf(*split, "MemcpyFromHost"), 2);
  EXPECT_EQ(CountOf(*split, "MemcpyToHost"), 2);
  ExpectSameResults(kChain, without_tanh);
}

TEST(Partition, CopiesOfKnownSizeAreCountedInBytes) {
  const auto session = MakeSession(R"(
<ir_version: 8, opset_import: ["" : 13]>
g (float[2, 3] x) => (float[2, 3] y) { y = Relu(x) })",
                                   {{kDeviceName, {}}});
  for (const Placement& row : session->placement())
    EXPECT_EQ(row.bytes_copied, row.op_type == "Relu" ? 0 : 24) << row.op_type;
}

constexpr const char* kLoop = R"(
<ir_version: 8, opset_import: ["" : 13]>
loop (float[N, 4] x) => (float[N, 4] y) <int64 count = {3}, bool go = {1}> {
  s = Sigmoid(x)
  y = Loop(count, go, x) <body = body (int64 i, bool in, float[N, 4] v) => (bool out, float[N, 4] r) {
    out = Identity(in)
    t = Mul(v, s)
    u = Tanh(t)
    r = Add(u, s)
  }>
})";

TEST(Partition, NodesInBodiesRunOnTheDeviceAndCapturedValuesAreCopiedBeforeTheLoop) {
  const std::vector<ProviderChoice> device = {{kDeviceName, {{"operators", "Mul,Tanh,Add"}}}};
  const auto session = MakeSession(kLoop, device);
  EXPECT_EQ(ProviderOf(*session, "Mul"), kDeviceName);
  EXPECT_EQ(ProviderOf(*session, "Loop"), kCpu);
  const testing::DeviceCounts before = testing::CountsOfDevice();
  RunWith(*session, Shape{2, 4});
  const testing::DeviceCounts after = testing::CountsOfDevice();
  EXPECT_EQ(after.kernels - before.kernels, 9);
  EXPECT_EQ(after.copies_to_device - before.copies_to_device, 2);  // s and x: v stays there for the next turn
  EXPECT_EQ(after.copies_to_host - before.copies_to_host, 1);
  ExpectSameResults(kLoop, device);
}

TEST(Partition, ACapturedValueOfTheDeviceStaysThereInTheBody) {
  const std::vector<ProviderChoice> device = {{kDeviceName, {{"operators", "Sigmoid,Mul,Tanh,Add"}}}};
  const auto session = MakeSession(kLoop, device);
  const testing::DeviceCounts before = testing::CountsOfDevice();
  RunWith(*session, Shape{2, 4});
  const testing::DeviceCounts after = testing::CountsOfDevice();
  EXPECT_EQ(after.copies_to_device - before.copies_to_device, 1);  // x
  ExpectSameResults(kLoop, device);
}

TEST(Partition, ShapesStayOnTheHostAndDynamicShapesFindTheirMemory) {
  constexpr const char* text = R"(
<ir_version: 8, opset_import: ["" : 13]>
g (float[N, 4] x) => (float[M] y) {
  zero = Constant<value = float {0}>()
  above = Greater(x, zero)
  kept = Compress(x, flat)
  flat4 = Cast<to = 9>(x)
  minus = Constant<value_ints = [-1]>()
  flat = Reshape(flat4, minus)
  all = Reshape(kept, minus)
  y = Relu(all)
})";
  ExpectSameResults(text, {{kDeviceName, {}}});
}

TEST(Partition, AFunctionThatAProviderClaimsIsNotInlined) {
  constexpr const char* text = R"(
<ir_version: 8, opset_import: ["" : 13, "my" : 1]>
g (float[N, 4] x) => (float[N, 4] y) { y = my.Twice(x) }
<domain: "my", opset_import: ["" : 13]>
Twice (a) => (b) { b = Add(a, a) })";
  class Whole final : public providers::Provider {
   public:
    std::string_view name() const override { return "WholeExecutionProvider"; }
    providers::Claims Claim(const providers::GraphView& view) override {
      providers::Claims claims;
      for (const NodeId id : view.nodes)
        if (view.graph.node(id).op_type == "Twice") claims.groups.push_back({{id}, false});
      return claims;
    }
    ops::Prepared Prepare(ops::PrepareContext&) override {
      return {[](ops::KernelContext& c) {
        const ops::TensorRef& x = c.Input(0);
        const ops::OutputRef y = c.Output(0, x.shape, x.dtype);
        for (std::int64_t i = 0; i < x.count; ++i) y.As<float>()[i] = 2 * x.As<float>()[i];
      }};
    }
  };
  const auto environment = testing::EnvironmentWith({providers::ProviderFactory{
      "WholeExecutionProvider", [](const auto&, const auto&) { return std::make_shared<Whole>(); }}});
  SessionOptions options;
  options.providers = {{"WholeExecutionProvider", {}}};
  const auto session = Session::FromModel(environment, std::make_shared<Model>(ParseModel(text)), options);
  ASSERT_EQ(session->placement().size(), 1U);
  EXPECT_EQ(session->placement()[0].op_type, "Twice");
  const auto inlined = MakeSession(text, {});
  EXPECT_EQ(ProviderOf(*inlined, "Add"), kCpu);
  EXPECT_TRUE(testing::AllClose(RunWith(*session, Shape{3, 4})[0], RunWith(*inlined, Shape{3, 4})[0]));
}

// Claims calls of Twice when it is asked for the first `times` times, and refuses them from then on.
class Fickle final : public providers::Provider {
 public:
  explicit Fickle(int times) : times_(times) {}
  std::string_view name() const override { return "FickleExecutionProvider"; }
  providers::Claims Claim(const providers::GraphView& view) override {
    providers::Claims claims;
    bool asked = false;
    for (const NodeId id : view.nodes) {
      if (view.graph.node(id).op_type != "Twice") continue;
      asked = true;
      if (times_ > 0) {
        claims.groups.push_back({{id}, false});
      } else {
        claims.refusals.push_back({id, "float[N, 4] is too wide"});
      }
    }
    if (asked) --times_;
    return claims;
  }
  ops::Prepared Prepare(ops::PrepareContext&) override { Fail(Code::kFail, "it refused the call"); }

 private:
  int times_;
};

std::unique_ptr<Session> FickleSession(const char* text, int times) {
  const auto environment = testing::EnvironmentWith({providers::ProviderFactory{
      "FickleExecutionProvider", [times](const auto&, const auto&) { return std::make_shared<Fickle>(times); }}});
  SessionOptions options;
  options.providers = {{"FickleExecutionProvider", {}}};
  return Session::FromModel(environment, std::make_shared<Model>(ParseModel(text)), options);
}

constexpr const char* kCallInBody = R"(
<ir_version: 8, opset_import: ["" : 13, "my" : 1]>
g (float[N, 4] x) => (float[N, 4] y) <int64 count = {2}, bool go = {1}> {
  h = my.Twice(x)
  y = Loop(count, go, h) <body = body (int64 i, bool in, float[N, 4] v) => (bool out, float[N, 4] r) {
    out = Identity(in)
    r = my.Twice(v)
  }>
}
<domain: "my", opset_import: ["" : 13]>
Twice (a) => (b) { b = Add(a, a) })";

TEST(Partition, ACallThatItsProviderRefusesWhenAskedAgainIsInlined) {
  // Two graphs with a call each: claimed twice, once in each; then both are refused.
  const auto session = FickleSession(kCallInBody, 2);
  EXPECT_EQ(CountOf(*session, "Twice"), 0);
  EXPECT_EQ(CountOf(*session, "Add"), 2);
  for (const Placement& row : session->placement()) EXPECT_EQ(row.provider, kCpu) << row.op_type;
  const auto inlined = MakeSession(kCallInBody, {});
  EXPECT_TRUE(testing::AllClose(RunWith(*session, Shape{3, 4})[0], RunWith(*inlined, Shape{3, 4})[0]));
}

// Runs `make` and returns the error's text; empty if there is none.
template <typename Make>
std::string ErrorOf(const Make& make) {
  try {
    make();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Partition, AMissingProviderIsAnErrorThatNamesItAndTheClosest) {
  const std::string error = ErrorOf([] { MakeSession(kChain, {{"DeviceTestExecutionProvide", {}}}); });
  EXPECT_NE(error.find("there is no execution provider 'DeviceTestExecutionProvide'"), std::string::npos) << error;
  EXPECT_NE(error.find("did you mean 'DeviceTestExecutionProvider'?"), std::string::npos) << error;
  const std::string unusable = ErrorOf([] { MakeSession(kChain, {{kDeviceName, {{"missing_driver", "libx.so"}}}}); });
  EXPECT_NE(unusable.find("driver 'libx.so' is not installed"), std::string::npos) << unusable;
}

TEST(Partition, NamingTheCpuChoosesItAsTheFallbackWithOneWarning) {
  std::vector<std::string> warnings;
  SessionOptions options;
  options.log_sink = [&](Severity, const char*, const char*, const char*, const char* message) {
    warnings.emplace_back(message);
  };
  const auto session = MakeSession(kChain, {{kDeviceName, {{"missing_driver", "libx.so"}}}, {kCpu, {}}}, options);
  for (const Placement& row : session->placement()) EXPECT_EQ(row.provider, kCpu) << row.op_type;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("libx.so"), std::string::npos) << warnings[0];
  options.config["session.disable_cpu_ep_fallback"] = "1";
  const std::string error = ErrorOf([&] {
    MakeSession(kChain, {{kDeviceName, {{"missing_driver", "libx.so"}}}, {kCpu, {}}}, options);
  });
  EXPECT_NE(error.find("libx.so"), std::string::npos) << error;
}

TEST(Partition, TheCpuCannotBeNamedAndForbidden) {
  SessionOptions options;
  options.config["session.disable_cpu_ep_fallback"] = "1";
  const std::vector<std::vector<ProviderChoice>> lists = {{{kCpu, {}}}, {{kSelectiveName, {}}, {kCpu, {}}}};
  for (const std::vector<ProviderChoice>& list : lists) {
    try {
      MakeSession(kChain, list, options);
      FAIL() << "expected an error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find("names 'CPUExecutionProvider', which session.disable_cpu_ep_fallback"),
                std::string::npos)
          << error.what();
    }
  }
}

TEST(Partition, WithoutFallbackTheFirstNodeOnTheCpuIsTheError) {
  SessionOptions options;
  options.config["session.disable_cpu_ep_fallback"] = "1";
  const std::string error = ErrorOf([&] { MakeSession(kChain, {{kSelectiveName, {}}}, options); });
  EXPECT_NE(error.find("[Tanh]"), std::string::npos) << error;
  EXPECT_NE(error.find("operator Tanh is not on its list"), std::string::npos) << error;
}

TEST(Partition, ACallThatIsClaimedWhenAskedAgainIsItsProviders) {
  constexpr const char* text = R"(
<ir_version: 8, opset_import: ["" : 13, "my" : 1]>
g (float[N, 4] x) => (float[N, 4] y) { y = my.Twice(x) }
<domain: "my", opset_import: ["" : 13]>
Twice (a) => (b) { b = Add(a, a) })";
  const std::string error = ErrorOf([&] { FickleSession(text, 2); });
  EXPECT_NE(error.find("it refused the call"), std::string::npos) << "of Prepare: " << error;
  EXPECT_NE(error.find("Twice"), std::string::npos) << error;
}

// A provider whose claims contradict themselves.
class Confused final : public providers::Provider {
 public:
  explicit Confused(std::vector<providers::Group> groups) : groups_(std::move(groups)) {}
  std::string_view name() const override { return "ConfusedExecutionProvider"; }
  providers::Claims Claim(const providers::GraphView&) override { return {groups_, {}}; }
  ops::Prepared Prepare(ops::PrepareContext&) override { return {}; }
  std::vector<providers::CompiledGroup> Compile(std::span<const providers::FusedNode> groups, const Model*) override {
    return std::vector<providers::CompiledGroup>(groups.size());
  }

 private:
  std::vector<providers::Group> groups_;
};

std::string ErrorOfClaims(const std::vector<providers::Group>& groups) {
  const auto environment = testing::EnvironmentWith({providers::ProviderFactory{
      "ConfusedExecutionProvider", [&](const auto&, const auto&) { return std::make_shared<Confused>(groups); }}});
  SessionOptions options;
  options.providers = {{"ConfusedExecutionProvider", {}}};
  options.optimization_level = runtime::OptimizationLevel::kDisable;
  return ErrorOf([&] { Session::FromModel(environment, std::make_shared<Model>(ParseModel(kChain)), options); });
}

TEST(Partition, ClaimsThatContradictThemselvesNameTheProviderAndTheNode) {
  EXPECT_NE(ErrorOfClaims({{{0, 1}, false}, {{1}, false}}).find("claimed twice"), std::string::npos);
  EXPECT_NE(ErrorOfClaims({{{77}, false}}).find("claimed node 77"), std::string::npos);
  // MatMul, Relu and Add, but not the Tanh between Relu and Add.
  const std::string cycle = ErrorOfClaims({{{0, 1, 3}, true}});
  EXPECT_NE(cycle.find("is left at"), std::string::npos) << cycle;
  EXPECT_NE(cycle.find("Tanh"), std::string::npos) << cycle;
}

TEST(ConnectedGroups, AreAsLargeAsAcyclicityAllows) {
  const Graph graph = ParseGraph(R"(
g (float[4] x) => (float[4] y, float[4] z) {
  a = Relu(x)
  b = Tanh(a)
  c = Add(a, b)
  d = Relu(c)
  e = Mul(a, d)
  y = Add(e, b)
  z = Relu(x)
})");
  // Without Tanh: Relu alone, then all that follows Tanh, then the Relu that nothing joins.
  const auto groups = providers::ConnectedGroups(graph, {0, 2, 3, 4, 5, 6});
  const std::vector<std::vector<NodeId>> want = {{0}, {2, 3, 4, 5}, {6}};
  EXPECT_EQ(groups, want);
}

}  // namespace
}  // namespace sardonyx
