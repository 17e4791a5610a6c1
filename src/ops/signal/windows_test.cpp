// ops/signal/windows_test.cpp - DFT, STFT and the window functions: values, shapes, refusals.
#include <gtest/gtest.h>

#include <cmath>

#include "testing/evaluate_op.h"

namespace sardonyx::testing {
namespace {

using Reals = std::vector<float>;
using Longs = std::vector<std::int64_t>;
using Text = std::string;

TEST(SignalOps, TransformsAndWindows) {
  const Tensor x = Tensor::Of<float>({1, 2, 3}, Shape{1, 3, 1});
  const auto y = Elements<float>(EvaluateOp({"DFT", 20, {x, Value(), Tensor::Scalar<std::int64_t>(1)}})[0]);
  const Reals want = {6, 0, -1.5f, std::sqrt(3.0f) / 2, -1.5f, -std::sqrt(3.0f) / 2};
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(y[i], want[i], 1e-6f);
  const auto half = EvaluateOp({"DFT", 17, {x}, {{"onesided", std::int64_t{1}}}});
  EXPECT_EQ(half[0].tensor().shape(), (Shape{1, 2, 2}));
  EXPECT_NE(ErrorOfOp({"DFT", 20, {x, Value(), Tensor::Scalar<std::int64_t>(2)}}).find("an axis before the last"),
            Text::npos);
  EXPECT_EQ(EvaluateOp({"STFT", 17, {x, Tensor::Scalar<std::int64_t>(1), Value(), Tensor::Scalar<std::int64_t>(2)}})[0]
                .tensor()
                .shape(),
            (Shape{1, 2, 2, 2}));
  EXPECT_NE(ErrorOfOp({"STFT", 17, {x, Tensor::Scalar<std::int64_t>(1), Value(), Tensor::Scalar<std::int64_t>(9)}})
                .find("frame of 1 to 3"),
            Text::npos);
  const auto hann = Elements<float>(EvaluateOp({"HannWindow", 17, {Tensor::Scalar<std::int64_t>(4)}})[0]);
  EXPECT_NEAR(hann[1], 0.5f, 1e-7f);
  EXPECT_EQ(
      Elements<double>(EvaluateOp({"HammingWindow",
                                   17,
                                   {Tensor::Scalar<std::int64_t>(1)},
                                   {{"periodic", std::int64_t{0}}, {"output_datatype", std::int64_t{11}}}})[0])[0],
      1);
  EXPECT_EQ(
      Elements<std::int32_t>(EvaluateOp({"BlackmanWindow",
                                         17,
                                         {Tensor::Scalar<std::int64_t>(3)},
                                         {{"periodic", std::int64_t{0}}, {"output_datatype", std::int64_t{6}}}})[0]),
      (std::vector<std::int32_t>{0, 1, 0}));
  EXPECT_NE(ErrorOfOp({"BlackmanWindow", 17, {Tensor::Scalar<std::int64_t>(-1)}}).size(), 0u);
}

}  // namespace
}  // namespace sardonyx::testing
