// ops/recurrent/cells_test.cpp - RNN, LSTM and GRU: against their double form, lengths, refusals.
#include <gtest/gtest.h>

#include <cmath>

#include "testing/elements.h"
#include "testing/evaluate_op.h"

namespace sardonyx {
namespace {

using testing::AsDouble;
using testing::Elements;
using testing::ErrorOfOp;
using testing::EvaluateOp;
using testing::Wave;

struct Case {
  const char* op;
  std::int64_t gates;
  std::size_t outputs;
  std::vector<Attribute> attributes;
};

// Seq 5, batch 2, input 3; hidden sizes of less than a block, of some, and of some with a rest. The double form has no
// packed weights, no blocks and its own products.
void CompareWithDoubles(const Case& test, std::int64_t hidden) {
  std::vector<Attribute> attributes = test.attributes;
  attributes.push_back({"hidden_size", hidden});
  attributes.push_back({"direction", std::string("bidirectional")});
  std::vector<Tensor> tensors = {Wave({5, 2, 3}, 0.7f), Wave({2, test.gates * hidden, 3}, 0.3f),
                                 Wave({2, test.gates * hidden, hidden}, 0.9f),
                                 Wave({2, test.gates * 2 * hidden}, 1.1f)};
  for (std::int64_t i = 0; i < tensors[2].count(); ++i) tensors[2].data<float>()[i] *= 4 / static_cast<float>(hidden);
  std::vector<Value> floats, doubles;
  for (const Tensor& t : tensors) floats.push_back(t), doubles.push_back(AsDouble(t));
  const Tensor lengths = Tensor::Of<std::int32_t>({5, 3}, Shape{2});
  floats.push_back(lengths), doubles.push_back(lengths);
  const auto f = EvaluateOp({test.op, 14, floats, attributes, test.outputs});
  const auto d = EvaluateOp({test.op, 14, doubles, attributes, test.outputs});
  for (std::size_t i = 0; i < test.outputs; ++i) {
    ASSERT_EQ(f[i].tensor().shape(), d[i].tensor().shape());
    for (std::int64_t k = 0; k < f[i].tensor().count(); ++k) {
      EXPECT_NEAR(static_cast<double>(f[i].tensor().data<float>()[k]), d[i].tensor().data<double>()[k], 2e-6)
          << test.op << ' ' << hidden << " output " << i << " element " << k;
    }
  }
}

TEST(Recurrent, AgreesWithItsDoubleForm) {
  const std::vector<Case> cases = {
      {"LSTM", 4, 3, {}},
      {"LSTM", 4, 3, {{"input_forget", std::int64_t{1}}, {"clip", 0.3f}}},
      {"GRU", 3, 2, {}},
      {"GRU", 3, 2, {{"linear_before_reset", std::int64_t{1}}}},
      {"RNN",
       1,
       2,
       {{"activations", std::vector<std::string>{"LeakyRelu", "Tanh"}},
        {"activation_alpha", std::vector<float>{0.1f}}}},
  };
  for (const Case& test : cases)
    for (const std::int64_t hidden : {4, 64, 75}) CompareWithDoubles(test, hidden);
}

TEST(Recurrent, LeavesPaddingZeroAndKeepsTheLastState) {
  const Tensor lengths = Tensor::Of<std::int32_t>({1}, Shape{1});
  const Tensor one = Tensor::Of<float>({1}, Shape{1, 1, 1});
  const auto y = EvaluateOp({"RNN",
                             14,
                             {Tensor::Of<float>({0.5f, 9}, Shape{2, 1, 1}), one, one, Value(), lengths},
                             {{"hidden_size", std::int64_t{1}}},
                             2});
  EXPECT_FLOAT_EQ(Elements<float>(y[0])[0], std::tanh(0.5f));
  EXPECT_EQ(Elements<float>(y[0])[1], 0);
  EXPECT_FLOAT_EQ(Elements<float>(y[1])[0], std::tanh(0.5f));
}

TEST(Recurrent, RefusesWeightsOfAnotherSize) {
  const std::string error = ErrorOfOp({"LSTM",
                                       14,
                                       {Wave({1, 1, 3}, 1), Wave({1, 16, 3}, 1), Wave({1, 12, 4}, 1)},
                                       {{"hidden_size", std::int64_t{4}}},
                                       3});
  EXPECT_NE(error.find("16"), std::string::npos) << error;
}

}  // namespace
}  // namespace sardonyx
