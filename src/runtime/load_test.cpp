// runtime/load_test.cpp - sessions under load: many threads, sessions and shapes, with cancelled runs, errors and
// trims, all at once.
//
// Written for the thread sanitizer, which runs it with the runtime instrumented; the bits are checked as well.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <random>
#include <stdexcept>
#include <thread>

#include "ir/text.h"
#include "model/save.h"
#include "runtime/program.h"
#include "runtime/session.h"
#include "testing/environment.h"
#include "testing/random_tensor.h"
#include "testing/tolerance.h"

namespace sardonyx::runtime {
namespace {

using ::sardonyx::testing::RandomTensors;
using ::sardonyx::testing::SameBits;

// Branches, a product with constant weights, a loop, and a look-up that fails for a wrong index.
std::string Model() {
  std::string weights;
  for (int i = 0; i < 32 * 32; ++i) weights += (i == 0 ? "" : ", ") + std::to_string(i % 7 - 3);
  return R"(<ir_version: 10, opset_import: ["" : 21]>
load (float[N,32] x, int64[K] rows, int64 trips) => (float[K,32] y, float[N,32] z)
<float[32,32] w = {)" +
         weights + R"(}, float[32,32] v = {)" + weights + R"(}> {
  a = MatMul(x, w)
  b = MatMul(x, v)
  c = Relu(a)
  d = Tanh(b)
  s = Add(c, d)
  z = Loop<body = step (int64 i, bool go, float[N,32] in) => (bool more, float[N,32] out) {
    more = Identity(go)
    out = Cos(in)
  }>(trips, , s)
  y = Gather<axis = 0>(z, rows)
})";
}

std::string Bytes() { return model::SaveBytes(ParseModel(Model())); }

std::unique_ptr<Session> Open(const std::string& bytes, SessionOptions options = {}) {
  return Session::FromBytes(testing::TestEnvironment(), std::as_bytes(std::span(bytes)), nullptr, std::move(options));
}

SessionOptions Threads(int intra, ExecutionMode mode = ExecutionMode::kSequential) {
  SessionOptions options;
  options.intra_op_threads = intra;
  options.inter_op_threads = 3;
  options.execution_mode = mode;
  return options;
}

struct Case {
  Tensor x, rows, y, z;
};

// For every number of rows of x its inputs and what one thread computes from them.
std::vector<Case> Cases(Session& session) {
  RandomTensors random(11);
  std::vector<Case> cases;
  for (const std::int64_t n : {1, 2, 7, 40, 129}) {
    Case c{random.Uniform(DType::kFloat, Shape{n, 32}), Tensor::Of<std::int64_t>({0, n - 1, n / 2}, Shape{3}), {}, {}};
    const auto found = session.Run(
        RunOptions(), {{"x", c.x}, {"rows", c.rows}, {"trips", Tensor::Scalar<std::int64_t>(3)}}, {"y", "z"});
    c.y = found[0].tensor(), c.z = found[1].tensor();
    cases.push_back(std::move(c));
  }
  return cases;
}

void ExpectRun(Session& session, const Case& c) {
  const auto found =
      session.Run(RunOptions(), {{"x", c.x}, {"rows", c.rows}, {"trips", Tensor::Scalar<std::int64_t>(3)}}, {"y", "z"});
  EXPECT_TRUE(SameBits(found[0].tensor(), c.y));
  EXPECT_TRUE(SameBits(found[1].tensor(), c.z));
}

void ExpectBadIndex(Session& session, const Case& c) {
  const Tensor bad = Tensor::Of<std::int64_t>({0, 1 << 20}, Shape{2});
  try {
    session.Run(RunOptions(), {{"x", c.x}, {"rows", bad}, {"trips", Tensor::Scalar<std::int64_t>(1)}}, {"y"});
    ADD_FAILURE() << "a row that is not there was found";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("[Gather]"), std::string::npos) << error.what();
  }
}

void AtOnce(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

TEST(Load, ManyThreadsRunDifferentShapesOnOneSession) {
  const std::string bytes = Bytes();
  const std::vector<Case> cases = Cases(*Open(bytes, Threads(1)));
  for (const ExecutionMode mode : {ExecutionMode::kSequential, ExecutionMode::kParallel}) {
    const auto session = Open(bytes, Threads(3, mode));
    AtOnce(6, [&](int thread) {
      for (int round = 0; round < 30; ++round) ExpectRun(*session, cases[static_cast<std::size_t>(thread + round) % 5]);
    });
  }
}

TEST(Load, ErrorsOfSomeRunsLeaveTheOthersAlone) {
  const std::string bytes = Bytes();
  const std::vector<Case> cases = Cases(*Open(bytes, Threads(1)));
  const auto session = Open(bytes, Threads(2, ExecutionMode::kParallel));
  AtOnce(4, [&](int thread) {
    for (int round = 0; round < 30; ++round) {
      const Case& c = cases[static_cast<std::size_t>(round) % 5];
      thread % 2 == 0 ? ExpectRun(*session, c) : ExpectBadIndex(*session, c);
    }
  });
}

// Takes the Tanh nodes. Its kernel fails for a first element above 1: with an error of ours below 100, else with some
// other exception, and from a loop on the threads of the run where `c` may use several.
class Fragile final : public providers::Provider {
 public:
  static constexpr const char* kName = "FragileExecutionProvider";
  std::string_view name() const override { return kName; }
  providers::Claims Claim(const providers::GraphView& view) override {
    providers::Claims claims;
    for (const NodeId id : view.nodes)
      if (view.graph.node(id).op_type == "Tanh") claims.groups.push_back({{id}, false});
    return claims;
  }
  ops::Prepared Prepare(ops::PrepareContext& /*context*/) override { return {Run, nullptr}; }

 private:
  static void Run(ops::KernelContext& c) {
    const ops::TensorRef& x = c.Input(0);
    const auto* from = x.As<const float>();
    float* to = c.Output(0, x.shape).As<float>();
    c.parallel().For(x.count, 8, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        if (from[i] > 100) throw std::runtime_error("a fault of the provider's own");
        if (from[i] > 1) Fail(Code::kEpFail, "expected at most 1, found ", from[i]);
        to[i] = -from[i];
      }
    });
  }
};

TEST(Load, ExceptionsOfAProvidersKernelsLeaveOtherRunsAlone) {
  const auto environment = testing::EnvironmentWith(
      {{Fragile::kName, [](const auto&, const Logger&) { return std::make_shared<Fragile>(); }}});
  const auto model = std::make_shared<sardonyx::Model>(ParseModel(R"(<ir_version: 10, opset_import: ["" : 21]>
      fragile (float[N] x) => (float[N] y) { a = Tanh(x) b = Cos(x) c = Tanh(b) y = Sub(a, c) })"));
  for (const ExecutionMode mode : {ExecutionMode::kSequential, ExecutionMode::kParallel}) {
    SessionOptions options = Threads(3, mode);
    options.providers = {{Fragile::kName, {}}};
    const auto session = Session::FromModel(environment, model, options);
    AtOnce(4, [&](int thread) {
      for (int round = 0; round < 25; ++round) {
        Tensor x(DType::kFloat, Shape{64 + thread});
        std::fill_n(x.data<float>(), x.count(), 0.0f);
        x.data<float>()[40] = thread == 0 ? 2.0f : thread == 1 ? 200.0f : 0.0f;
        const auto run = [&] { return session->Run(RunOptions(), {{"x", x}}, {"y"}); };
        if (thread == 0) {
          try {
            run();
            ADD_FAILURE() << "expected an error";
          } catch (const Error& error) {
            EXPECT_EQ(error.code(), Code::kEpFail);
            EXPECT_NE(std::string(error.what()).find("(Tanh, output 'a'): expected at most 1, found 2"),
                      std::string::npos)
                << error.what();
          }
        } else if (thread == 1) {
          EXPECT_THROW(run(), std::runtime_error);
        } else {
          EXPECT_EQ(run()[0].tensor().data<float>()[40], 1.0f);  // -0 + cos 0
        }
      }
    });
  }
}

TEST(Load, SessionsComeAndGoWhileOthersRun) {
  const std::string bytes = Bytes();
  const std::vector<Case> cases = Cases(*Open(bytes, Threads(1)));
  const auto session = Open(bytes, Threads(2));
  AtOnce(4, [&](int thread) {
    for (int round = 0; round < 10; ++round) {
      const Case& c = cases[static_cast<std::size_t>(thread + round) % 5];
      ExpectRun(*session, c);
      SessionOptions options =
          Threads(1 + round % 3, round % 2 == 0 ? ExecutionMode::kParallel : ExecutionMode::kSequential);
      if (round % 4 == 3) options.config["session.intra_op.allow_spinning"] = "0";  // a pool of its own
      ExpectRun(*Open(bytes, options), c);
    }
  });
}

TEST(Load, TrimsWhileOthersRun) {
  const std::string bytes = Bytes();
  const std::vector<Case> cases = Cases(*Open(bytes, Threads(1)));
  const auto session = Open(bytes, Threads(2, ExecutionMode::kParallel));
  AtOnce(4, [&](int thread) {
    for (int round = 0; round < 30; ++round) {
      if (thread == 0) session->Trim();
      ExpectRun(*session, cases[static_cast<std::size_t>(thread + round) % 5]);
    }
  });
}

TEST(Load, CancelledRunsEndAndTheNextOnesDoNot) {
  const std::string bytes = Bytes();
  const std::vector<Case> cases = Cases(*Open(bytes, Threads(1)));
  const auto session = Open(bytes, Threads(2));
  const Tensor endless = Tensor::Scalar(std::int64_t{1} << 60);
  AtOnce(3, [&](int thread) {
    for (int round = 0; round < 5; ++round) {
      const Case& c = cases[static_cast<std::size_t>(thread + round) % 5];
      RunOptions options;
      std::thread canceller([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        options.terminate = true;
      });
      EXPECT_THROW(session->Run(options, {{"x", c.x}, {"rows", c.rows}, {"trips", endless}}, {"y"}), Error);
      canceller.join();
      ExpectRun(*session, c);
    }
  });
}

TEST(Load, ManySessionsOfOneModelRunAtOnce) {
  const std::string bytes = Bytes();
  const std::vector<Case> cases = Cases(*Open(bytes, Threads(1)));
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < 5; ++i) sessions.push_back(Open(bytes, Threads(1 + i)));
  AtOnce(5, [&](int thread) {
    for (int round = 0; round < 20; ++round) ExpectRun(*sessions[static_cast<std::size_t>(thread)], cases[3]);
  });
}

TEST(Load, SessionsOpenedAtOnceShareTheirModelAndWhatTheyRun) {
  const std::string bytes = Bytes();
  const std::vector<Case> cases = Cases(*Open(bytes, Threads(1)));
  std::vector<std::unique_ptr<Session>> sessions(5);
  AtOnce(5, [&](int thread) {
    auto& session = sessions[static_cast<std::size_t>(thread)];
    session = Open(bytes, Threads(2));
    ExpectRun(*session, cases[static_cast<std::size_t>(thread)]);
  });
  const auto late = Open(bytes, Threads(1));
  for (const auto& session : sessions) {
    EXPECT_EQ(&session->model(), &late->model());
    EXPECT_EQ(&session->program().graph(), &late->program().graph());
  }
}

TEST(Load, ValuesInsideAreAskedForWhileOthersRun) {
  const std::string bytes = Bytes();
  const std::vector<Case> cases = Cases(*Open(bytes, Threads(1)));
  SessionOptions options = Threads(2);
  options.config["session.use_ort_model_bytes_directly"] = "1";  // values that passes took away need the model again
  const auto session = Open(bytes, options);
  AtOnce(4, [&](int thread) {
    for (int round = 0; round < 8; ++round) {
      const Case& c = cases[static_cast<std::size_t>(thread + round) % 5];
      if (thread < 2) {
        ExpectRun(*session, c);
        continue;
      }
      const auto found =
          session->WithValues({round % 2 == 0 ? "c" : "d"})
              ->Run(RunOptions(), {{"x", c.x}, {"rows", c.rows}, {"trips", Tensor::Scalar<std::int64_t>(3)}},
                    {round % 2 == 0 ? "c" : "d", "y"});
      EXPECT_TRUE(SameBits(found[1].tensor(), c.y));
    }
  });
}

TEST(Load, AProfileEndsWhileItsRunsGoOn) {
  const std::string bytes = Bytes();
  const std::vector<Case> cases = Cases(*Open(bytes, Threads(1)));
  SessionOptions options = Threads(2, ExecutionMode::kParallel);
  options.profile_prefix = "never written";
  const auto session = Open(bytes, options);
  AtOnce(4, [&](int thread) {
    for (int round = 0; round < 10; ++round) {
      if (thread == 0 && round == 5) {
        EXPECT_NE(session->EndTrace(), nullptr);
      }
      ExpectRun(*session, cases[static_cast<std::size_t>(thread + round) % 5]);
    }
  });
  EXPECT_EQ(session->EndTrace(), nullptr);
}

TEST(Load, DenormalsOfOneSessionAreNotThoseOfAnother) {
  const std::string bytes = Bytes();
  const std::vector<Case> cases = Cases(*Open(bytes, Threads(1)));
  SessionOptions options = Threads(3);
  options.config["session.set_denormal_as_zero"] = "1";
  const auto one = Open(bytes, Threads(3)), other = Open(bytes, options);
  AtOnce(4, [&](int thread) {
    for (int round = 0; round < 10; ++round) ExpectRun(thread % 2 == 0 ? *one : *other, cases[4]);
  });
}

}  // namespace
}  // namespace sardonyx::runtime
