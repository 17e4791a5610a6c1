// tensor/packing_test.cpp - what one scope collects another one gives back, in order.
#include "tensor/packing.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace sardonyx {
namespace {

Tensor PackedNumber(float number, std::int64_t count, int* calls) {
  return Packed(DType::kFloat, Shape{count}, [&](Tensor& tensor) {
    ++*calls;
    tensor.data<float>()[count - 1] = number;
  });
}

std::string ErrorOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Packing, WithoutAScopePacksEachTime) {
  int calls = 0;
  const Tensor tensor = PackedNumber(5, 3, &calls);
  EXPECT_EQ(tensor.data<float>()[0], 0);
  EXPECT_EQ(tensor.data<float>()[2], 5);
  PackedNumber(5, 3, &calls);
  EXPECT_EQ(calls, 2);
}

TEST(Packing, AScopeGivesBackWhatAnotherCollected) {
  int calls = 0;
  std::vector<Tensor> kept;
  {
    const PackingScope scope(nullptr);
    PackedNumber(5, 3, &calls);
    PackedNumber(6, 4, &calls);
    kept = scope.packed();
  }
  ASSERT_EQ(kept.size(), 2u);
  {
    const PackingScope scope(&kept);
    EXPECT_EQ(PackedNumber(5, 3, &calls).raw(), kept[0].raw());
    EXPECT_EQ(PackedNumber(6, 4, &calls).raw(), kept[1].raw());
  }
  EXPECT_EQ(calls, 2);
  PackedNumber(7, 3, &calls);  // no scope any more
  EXPECT_EQ(calls, 3);
}

TEST(Packing, RefusesWhatDoesNotFit) {
  int calls = 0;
  const std::vector<Tensor> kept = {Tensor(DType::kFloat, Shape{3})};
  const PackingScope scope(&kept);
  EXPECT_EQ(ErrorOf([&] { PackedNumber(5, 4, &calls); }),
            "the packed weights of the compiled model: expected float[4], found float[3]");
  PackedNumber(5, 3, &calls);
  EXPECT_EQ(ErrorOf([&] { PackedNumber(5, 3, &calls); }),
            "the packed weights of the compiled model: expected more than 1 tensors, found 1");
  EXPECT_EQ(calls, 0);
}

TEST(Packing, WeightsThatHaveSeveralFormsKeepTheirs) {
  const PackedForm forms[] = {{DType::kFloat, Shape{4}}, {DType::kFloat16, Shape{8}}};
  int looks = 0;
  const auto pack = [&](std::size_t form) {
    return Packed(
        forms,
        [&] {
          ++looks;
          return form;
        },
        [](Tensor&) {});
  };
  std::vector<Tensor> kept;
  {
    const PackingScope scope(nullptr);
    EXPECT_EQ(pack(1).dtype(), DType::kFloat16);
    EXPECT_EQ(pack(0).dtype(), DType::kFloat);
    kept = scope.packed();
  }
  kept.emplace_back(DType::kFloat16, Shape{4});
  const PackingScope scope(&kept);
  EXPECT_EQ(pack(0).raw(), kept[0].raw());
  EXPECT_EQ(pack(0).raw(), kept[1].raw());
  EXPECT_EQ(looks, 2);  // those that are known are not looked at
  EXPECT_EQ(ErrorOf([&] { pack(0); }), "the packed weights of the compiled model: expected float[4], found float16[4]");
}

}  // namespace
}  // namespace sardonyx
