// ops/math/large_results_test.cpp - operators on results so large that they are written past the caches.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/copy/stream.h"
#include "testing/evaluate_op.h"

namespace sardonyx {
namespace {

using testing::ErrorOfOp;
using testing::EvaluateOp;

// Of a length that is no multiple of a block or a vector.
constexpr std::int64_t kCount = static_cast<std::int64_t>(kernels::kStreamedBytes / 4) + 13;

template <typename T>
Tensor Numbers(int first) {
  Tensor x(kDTypeOf<T>, Shape{kCount});
  for (std::int64_t i = 0; i < kCount; ++i) x.data<T>()[i] = static_cast<T>((i * 7 + first) % 1009 - 500);
  return x;
}

// y[i] = want(i) for all elements; says the first that is not.
template <typename T, typename F>
void ExpectEach(const Value& value, F want) {
  const Tensor& y = value.tensor();
  ASSERT_EQ(y.count(), kCount);
  for (std::int64_t i = 0; i < kCount; ++i) ASSERT_EQ(y.data<T>()[i], want(i)) << i;
}

TEST(LargeResults, AreThoseOfSmallOnes) {
  const Tensor x = Numbers<float>(3), z = Numbers<float>(8), n = Numbers<std::int32_t>(5);
  const float *a = x.data<float>(), *b = z.data<float>();
  const std::int32_t* c = n.data<std::int32_t>();
  ExpectEach<float>(EvaluateOp({"Neg", 13, {x}})[0], [&](std::int64_t i) { return -a[i]; });
  ExpectEach<std::int32_t>(EvaluateOp({"Neg", 13, {n}})[0], [&](std::int64_t i) { return -c[i]; });
  ExpectEach<float>(EvaluateOp({"Sub", 14, {x, z}})[0], [&](std::int64_t i) { return a[i] - b[i]; });
  ExpectEach<float>(EvaluateOp({"Sub", 14, {Tensor::Scalar(2.0f), z}})[0], [&](std::int64_t i) { return 2 - b[i]; });
  ExpectEach<float>(EvaluateOp({"Mean", 13, {x, z}})[0], [&](std::int64_t i) { return (a[i] + b[i]) / 2; });
  ExpectEach<float>(EvaluateOp({"Sum", 13, {x, z, x}})[0], [&](std::int64_t i) { return a[i] + b[i] + a[i]; });
  ExpectEach<std::int64_t>(EvaluateOp({"Cast", 13, {x}, {{"to", std::int64_t{7}}}})[0],
                           [&](std::int64_t i) { return static_cast<std::int64_t>(a[i]); });
  ExpectEach<float>(EvaluateOp({"Cast", 13, {n}, {{"to", std::int64_t{1}}}})[0],
                    [&](std::int64_t i) { return static_cast<float>(c[i]); });
  ExpectEach<float>(EvaluateOp({"Identity", 13, {x}})[0], [&](std::int64_t i) { return a[i]; });
}

TEST(LargeResults, ADivisionByZeroNamesItsElement) {
  Tensor divisors(DType::kInt32, Shape{kCount});
  std::fill_n(divisors.data<std::int32_t>(), kCount, 3);
  divisors.data<std::int32_t>()[kCount - 5] = 0;
  EXPECT_NE(ErrorOfOp({"Div", 14, {Numbers<std::int32_t>(1), divisors}}).find(std::to_string(kCount - 5)),
            std::string::npos);
}

}  // namespace
}  // namespace sardonyx
