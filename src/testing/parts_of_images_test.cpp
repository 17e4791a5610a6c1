// testing/parts_of_images_test.cpp - channels that are joined and split where they lie: the values that copies give.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "ir/text.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/upgrade.h"
#include "runtime/program.h"
#include "runtime/session.h"
#include "testing/environment.h"
#include "testing/random_tensor.h"
#include "testing/tolerance.h"

namespace sardonyx::testing {
namespace {

using runtime::ExecutionMode;
using runtime::OptimizationLevel;
using runtime::RunOptions;
using runtime::Session;
using runtime::SessionOptions;

constexpr const char* kOpsets =
    "<ir_version: 10, opset_import: [\"\": 21, \"com.ms.internal.nhwc\": 1, \"com.microsoft\": 1]>\n";

std::unique_ptr<Session> Make(const std::string& graph, ExecutionMode mode) {
  SessionOptions options;
  options.intra_op_threads = 2;
  options.inter_op_threads = 4;
  options.execution_mode = mode;
  options.optimization_level = OptimizationLevel::kDisable;
  return Session::FromModel(TestEnvironment(), std::make_shared<Model>(ParseModel(kOpsets + graph)),
                            std::move(options));
}

// Images [N, H, W, C] made of one another at random by convolutions, joins and splits of channels, sums and
// activations.
class RandomNetwork {
 public:
  explicit RandomNetwork(unsigned seed) : random_(seed) { values_.push_back({"x", 20}); }

  std::string Make(int nodes) {
    for (int i = 0; i < nodes; ++i) AddNode();
    std::string heads;
    for (const Image& image : values_) {
      if (image.name == "x" || (image.read && Below(8) != 0)) continue;
      outputs.push_back(image.name);
      heads += (heads.empty() ? "float[N,H,W,C] " : ", float[N,H,W,C] ") + image.name;
    }
    return "g (float[N,H,W,20] x) => (" + heads + ")\n<" + constants_ + "> {\n" + body_ + "}";
  }

  std::vector<std::string> outputs;

 private:
  struct Image {
    std::string name;
    int channels;
    bool read = false;
  };

  int Below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  Image& Pick() {
    // Mostly late ones, so that chains grow.
    const int count = static_cast<int>(values_.size());
    Image& image =
        values_[static_cast<std::size_t>(Below(3) == 0 ? Below(count) : count - 1 - Below(std::min(count, 4)))];
    image.read = true;
    return image;
  }
  std::string Fresh(int channels) {
    values_.push_back({"v" + std::to_string(values_.size()), channels});
    return values_.back().name;
  }
  std::string Constant(const std::string& shape, int count) {
    const std::string name = "k" + std::to_string(constant_count_++);
    constants_ += (constants_.empty() ? "float[" : ", float[") + shape + "] " + name + " = {";
    for (int i = 0; i < count; ++i) constants_ += (i == 0 ? "" : ", ") + std::to_string((Below(2001) - 1000) * 0.0004);
    constants_ += "}";
    return name;
  }

  std::string Ints(const std::vector<int>& numbers) {
    const std::string name = "i" + std::to_string(constant_count_++);
    constants_ += (constants_.empty() ? "int64[" : ", int64[") + std::to_string(numbers.size()) + "] " + name + " = {";
    for (std::size_t i = 0; i < numbers.size(); ++i) constants_ += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
    constants_ += "}";
    return name;
  }

  void AddConv() {
    const Image x = Pick();
    const int kernel = Below(2) == 0 ? 1 : 3;
    const bool depthwise = Below(3) == 0, sums = Below(3) == 0;
    const int out = depthwise ? x.channels : 1 + Below(30), in = depthwise ? 1 : x.channels;
    const std::string w = Constant(
        std::to_string(out) + "," + std::to_string(in) + "," + std::to_string(kernel) + "," + std::to_string(kernel),
        out * in * kernel * kernel);
    std::string z;
    for (Image& image : values_)
      if (sums && z.empty() && image.channels == out) image.read = true, z = image.name;
    const std::string pads = kernel == 3 ? "pads = [1, 1, 1, 1]" : "pads = [0, 0, 0, 0]";
    const std::string group = depthwise ? ", group = " + std::to_string(out) : "";
    body_ += "  " + Fresh(out) + " = com.ms.internal.nhwc.FusedConv<" + pads + group + ", activation = \"Tanh\">(" +
             x.name + ", " + w + (z.empty() ? "" : ", , " + z) + ")\n";
  }

  void AddNode() {
    switch (Below(9)) {
      case 0: {
        std::string parts;
        int channels = 0;
        for (int i = 0, count = 2 + Below(2); i < count; ++i) {
          const Image part = Pick();
          parts += (i == 0 ? "" : ", ") + part.name;
          channels += part.channels;
        }
        if (channels > 120) return AddConv();
        body_ += "  " + Fresh(channels) + " = Concat<axis = -1>(" + parts + ")\n";
        return;
      }
      case 1: {
        const Image x = Pick();
        if (x.channels < 2) return AddConv();
        const int first = Below(2) == 0 ? x.channels / 2 : 1 + Below(x.channels - 1);
        const std::string name = Ints({first, x.channels - first});
        const std::string a = Fresh(first), b = Fresh(x.channels - first);
        body_ += "  " + a + ", " + b + " = Split<axis = 3>(" + x.name + ", " + name + ")\n";
        return;
      }
      case 2: {
        const Image x = Pick();
        body_ += "  " + Fresh(x.channels) + " = " + (Below(2) == 0 ? "Relu" : "Sigmoid") + "(" + x.name + ")\n";
        return;
      }
      case 3: {
        const Image x = Pick();
        for (const Image& z : values_) {
          if (z.channels != x.channels) continue;
          const std::string sum = "(" + x.name + ", " + z.name + ")\n";
          body_ += "  " + Fresh(x.channels) + " = " + (Below(2) == 0 ? "Add" : "Mul") + sum;
          return;
        }
        return;
      }
      case 4: {
        const Image x = Pick();
        const char* kind = Below(2) == 0 ? "MaxPool" : "AveragePool";
        body_ += "  " + Fresh(x.channels) + " = com.ms.internal.nhwc." + kind +
                 "<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(" + x.name + ")\n";
        return;
      }
      case 5: {
        const Image x = Pick();
        if (x.channels < 2) return AddConv();
        const int begin = Below(x.channels - 1), end = begin + 1 + Below(x.channels - begin);
        const std::string start = Ints({Below(2) == 0 ? begin : begin - x.channels}), last = Ints({end});
        const std::string axis = Ints({-1});
        body_ += "  " + Fresh(end - begin) + " = Slice(" + x.name + ", " + start + ", " + last + ", " + axis + ")\n";
        return;
      }
      case 6: {
        const Image x = Pick();
        constants_ +=
            (constants_.empty() ? "" : ", ") + ("float[4] k" + std::to_string(constant_count_)) + " = {1, 1, 1, 1}";
        body_ += "  " + Fresh(x.channels) + " = Resize<mode = \"nearest\">(" + x.name + ", , k" +
                 std::to_string(constant_count_++) + ")\n";
        return;
      }
      default:
        return AddConv();
    }
  }

  std::mt19937 random_;
  std::vector<Image> values_;
  std::string constants_, body_;
  int constant_count_ = 0;
};

std::vector<Value> Evaluated(const std::string& graph, const Tensor& x) {
  const ops::Registry registry;
  Model model = ParseModel(kOpsets + graph);
  ops::ResolveVersions(model.graph, registry, model);
  ops::Infer(model.graph, registry);
  ops::Upgrade(model.graph, registry);
  const std::vector<Value> inputs = {x};
  return ops::EvaluateGraph(model.graph, registry, inputs);
}

TEST(PartsOfImages, RandomNetworksGiveTheValuesOfCopies) {
  RandomTensors tensors(9);
  for (unsigned round = 0; round < 60; ++round) {
    RandomNetwork network(round);
    const std::string graph = network.Make(6 + static_cast<int>(round % 20));
    const auto sequential = Make(graph, ExecutionMode::kSequential), parallel = Make(graph, ExecutionMode::kParallel);
    for (const auto& [n, h, w] : {std::array<std::int64_t, 3>{1, 5, 7}, {2, 9, 4}, {1, 1, 1}, {1, 33, 20}}) {
      const Tensor x = tensors.Uniform(DType::kFloat, Shape{n, h, w, 20}, -1, 1);
      const std::vector<Value> want = Evaluated(graph, x);
      for (Session* session : {sequential.get(), parallel.get()}) {
        const auto got = session->Run(RunOptions(), {{"x", x}}, network.outputs);
        for (std::size_t k = 0; k < network.outputs.size(); ++k)
          ASSERT_TRUE(AllClose(got[k].tensor(), want[k].tensor(), {.relative = 1e-4}))
              << network.outputs[k] << " of round " << round << "\n"
              << graph;
      }
    }
  }
}

}  // namespace
}  // namespace sardonyx::testing
