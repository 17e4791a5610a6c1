// ops/image/non_max_suppression_test.cpp - NonMaxSuppression of many boxes against the definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "testing/evaluate_op.h"

namespace sardonyx::testing {
namespace {

using Longs = std::vector<std::int64_t>;

// Every box against every better one, as the specification says it.
Longs KeptBoxes(const std::vector<float>& boxes, const std::vector<float>& scores, float threshold) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return scores[i] > scores[j]; });
  Longs kept;
  for (const std::size_t i : order) {
    const float* a = &boxes[4 * i];
    const bool free = std::none_of(kept.begin(), kept.end(), [&](std::int64_t j) {
      const float* b = &boxes[4 * static_cast<std::size_t>(j)];
      const float height = std::min(a[2], b[2]) - std::max(a[0], b[0]),
                  width = std::min(a[3], b[3]) - std::max(a[1], b[1]);
      const float areas = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]);
      return height > 0 && width > 0 && height * width / (areas - height * width) > threshold;
    });
    if (free) kept.push_back(static_cast<std::int64_t>(i));
  }
  return kept;
}

Tensor Copy(const std::vector<float>& values, const Shape& shape) {
  Tensor tensor(DType::kFloat, shape);
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

TEST(NonMaxSuppression, KeepTheSameOfManyBoxesAsOneByOne) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> unit(0, 1);
  for (const float reach : {1.0f, 30.0f, 3000.0f}) {  // from boxes that all overlap to boxes far apart
    std::vector<float> boxes, scores;
    for (int i = 0; i < 700; ++i) {
      const float y = unit(random) * reach / 9, x = unit(random) * reach;
      boxes.insert(boxes.end(), {y, x, y + unit(random), x + (i % 50 == 0 ? reach : unit(random))});
      scores.push_back(i % 3 == 0 ? 0.5f : unit(random));
    }
    boxes[4] = boxes[6];  // one without area
    for (const std::int64_t most : {1000, 40}) {
      const OpCall call{"NonMaxSuppression",
                        11,
                        {Copy(boxes, Shape{1, 700, 4}), Copy(scores, Shape{1, 1, 700}), Ints({most}), Floats({0.3f})}};
      const auto found = EvaluateOp(call);
      Longs got, rows = Elements<std::int64_t>(found[0]), wanted = KeptBoxes(boxes, scores, 0.3f);
      for (std::size_t i = 2; i < rows.size(); i += 3) got.push_back(rows[i]);
      wanted.resize(std::min(wanted.size(), static_cast<std::size_t>(most)));
      EXPECT_EQ(got, wanted) << "reach " << reach << " most " << most;
    }
  }
}

}  // namespace
}  // namespace sardonyx::testing
