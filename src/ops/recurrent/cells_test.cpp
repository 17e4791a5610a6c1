// ops/recurrent/cells_test.cpp - RNN, LSTM and GRU: against their double form, lengths, refusals.
#include <gtest/gtest.h>

#include <algorithm>
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

struct Lengths {
  std::int64_t steps;
  std::vector<std::int32_t> of_sequences;  // none: all have all steps
  std::int64_t batch = 2;
};

// Input 3; hidden sizes of less than a block, of some, and of some with a rest. The double form has no packed weights,
// no blocks, its own products, and multiplies the inputs of all steps at once.
void CompareWithDoubles(const Case& test, std::int64_t hidden, const Lengths& lengths) {
  const bool batch_first = std::ranges::any_of(test.attributes, [](const auto& a) { return a.name == "layout"; });
  std::vector<Attribute> attributes = test.attributes;
  attributes.push_back({"hidden_size", hidden});
  attributes.push_back({"direction", std::string("bidirectional")});
  const Shape x = batch_first ? Shape{lengths.batch, lengths.steps, 3} : Shape{lengths.steps, lengths.batch, 3};
  std::vector<Tensor> tensors = {Wave(x, 0.7f), Wave({2, test.gates * hidden, 3}, 0.3f),
                                 Wave({2, test.gates * hidden, hidden}, 0.9f),
                                 Wave({2, test.gates * 2 * hidden}, 1.1f)};
  for (std::int64_t i = 0; i < tensors[2].count(); ++i) tensors[2].data<float>()[i] *= 4 / static_cast<float>(hidden);
  std::vector<Value> floats, doubles;
  for (const Tensor& t : tensors) floats.push_back(t), doubles.push_back(AsDouble(t));
  if (!lengths.of_sequences.empty()) {
    Tensor given(DType::kInt32, Shape{lengths.batch});
    std::ranges::copy(lengths.of_sequences, given.data<std::int32_t>());
    floats.push_back(given), doubles.push_back(given);
  }
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
    for (const std::int64_t hidden : {4, 64, 75}) CompareWithDoubles(test, hidden, {5, {5, 3}});
}

// More steps than are multiplied with W at once, in all ways that their inputs may lie in memory.
TEST(Recurrent, ManyStepsAgreeWithTheirDoubleForm) {
  const std::vector<Case> cases = {
      {"LSTM", 4, 3, {}}, {"LSTM", 4, 3, {{"layout", std::int64_t{1}}}}, {"GRU", 3, 2, {}}, {"RNN", 1, 2, {}}};
  for (const Case& test : cases) {
    CompareWithDoubles(test, 16, {150, {}});
    CompareWithDoubles(test, 16, {150, {150, 0, 91, 128, 127, 1, 150, 64, 33}, 9});
    CompareWithDoubles(test, 64, {301, {}, 1});
  }
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
