// ops/signal/signal_test.cpp - short-time spectra equal the sum that defines them; frames do not affect each other.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "testing/evaluate_op.h"

namespace sardonyx::ops {
namespace {

using ::sardonyx::testing::EvaluateOp;

constexpr std::int64_t kFrame = 8, kStep = 3;

// The spectra of frames of `x` under a window of 1, 2, 3, ...: expected and found are [frames, kFrame / 2 + 1, 2].
template <typename T>
void ExpectSpectra(const std::vector<T>& x) {
  const auto size = static_cast<std::int64_t>(x.size()), frames = (size - kFrame) / kStep + 1;
  Tensor signal(kDTypeOf<T>, Shape{1, size, 1}), window(kDTypeOf<T>, Shape{kFrame});
  std::copy(x.begin(), x.end(), signal.data<T>());
  for (std::int64_t t = 0; t < kFrame; ++t) window.data<T>()[t] = static_cast<T>(t + 1);
  const auto out = EvaluateOp({"STFT", 17, {signal, Tensor::Scalar<std::int64_t>(kStep), window}});
  const Tensor& y = out[0].tensor();
  ASSERT_EQ(y.shape(), (Shape{1, frames, kFrame / 2 + 1, 2}));
  for (std::int64_t f = 0; f < frames; ++f) {
    double largest = 0;
    for (std::int64_t t = 0; t < kFrame; ++t) largest += std::abs(double{x[static_cast<std::size_t>(f * kStep + t)]});
    for (std::int64_t k = 0; k <= kFrame / 2; ++k) {
      double want[2] = {0, 0};
      for (std::int64_t t = 0; t < kFrame; ++t) {
        const double angle = -2 * std::numbers::pi * static_cast<double>(k * t) / kFrame;
        const double value = double{x[static_cast<std::size_t>(f * kStep + t)]} * static_cast<double>(t + 1);
        want[0] += value * std::cos(angle);
        want[1] += value * std::sin(angle);
      }
      const T* found = y.data<T>() + (f * (kFrame / 2 + 1) + k) * 2;
      if (!std::isfinite(largest)) {
        EXPECT_FALSE(std::isfinite(found[0]) && std::isfinite(found[1])) << "frame " << f;
        continue;
      }
      for (int part = 0; part < 2; ++part)
        EXPECT_LE(std::abs(found[part] - want[part]), 1e-5 * largest) << "frame " << f << " at " << k << ", " << part;
    }
  }
}

template <typename T>
void ExpectAllKinds() {
  std::vector<T> x;
  for (int i = 0; i < 60; ++i) x.push_back(static_cast<T>(std::sin(i * i + 1)));
  for (const std::size_t size : {8u, 11u, 14u, 40u}) ExpectSpectra(std::vector<T>(x.begin(), x.begin() + size));
  auto quiet = x;  // silence and hardly anything beside loud frames
  for (std::size_t i = 0; i < 22; ++i) quiet[i] = i < 11 ? T{0} : x[i] * static_cast<T>(1e-12);
  for (std::size_t i = 22; i < quiet.size(); ++i) quiet[i] *= static_cast<T>(1e12);
  ExpectSpectra(quiet);
  for (const T bad : {std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()}) {
    auto broken = x;
    broken[20] = bad;
    ExpectSpectra(broken);
  }
}

TEST(Stft, EqualsTheSumInEveryFrame) {
  ExpectAllKinds<float>();
  ExpectAllKinds<double>();
}

// As in ONNX Runtime; a graph that asks whether it is above 0 takes the angle of a negative mean for pi.
TEST(Stft, TheMeanHasAnImaginaryPartOfTheOtherSignUnlessTheLengthIsAPowerOfTwo) {
  for (const std::int64_t length : {20, 16}) {
    for (const float level : {-0.5f, 3.0f}) {
      Tensor signal(DType::kFloat, Shape{1, 100, 1});
      std::fill_n(signal.data<float>(), 100, level);
      const auto out = EvaluateOp(
          {"STFT", 17, {signal, Tensor::Scalar<std::int64_t>(5), Value(), Tensor::Scalar<std::int64_t>(length)}});
      const float* mean = out[0].tensor().data<float>() + 3 * (length / 2 + 1) * 2;
      EXPECT_FLOAT_EQ(mean[0], level * static_cast<float>(length));
      if (length == 16) {
        EXPECT_EQ(mean[1], 0);
      } else {
        EXPECT_LT(mean[1] * mean[0], 0);
        EXPECT_LE(std::abs(mean[1]), 1e-6f * std::abs(mean[0]));
      }
    }
  }
}

}  // namespace
}  // namespace sardonyx::ops
