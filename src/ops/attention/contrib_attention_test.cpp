// ops/attention/contrib_attention_test.cpp - com.microsoft's attention operators, MatMulNBits and GatherBlockQuantized:
// equal forms, caches, empty tensors, refusals.
//
// Their values are compared with ONNX Runtime's in tests/contrib.
#include <gtest/gtest.h>

#include <cmath>

#include "testing/evaluate_op.h"

namespace sardonyx {
namespace {

using testing::Elements;
using testing::ErrorOfOp;
using testing::EvaluateOp;
using testing::Floats;

Tensor Wave(Shape shape, float step) {
  Tensor t(DType::kFloat, std::move(shape));
  for (std::int64_t i = 0; i < t.count(); ++i) t.data<float>()[i] = std::sin(step * static_cast<float>(i + 1));
  return t;
}
Tensor Int32s(std::initializer_list<std::int32_t> values) {
  return Tensor::Of<std::int32_t>(values, Shape{static_cast<std::int64_t>(values.size())});
}

testing::OpCall Call(std::string_view op, std::vector<Value> inputs, std::vector<Attribute> attributes,
                     std::size_t outputs = 1) {
  return {op, 1, std::move(inputs), std::move(attributes), outputs, "com.microsoft"};
}
const std::vector<Attribute> kTwoHeads = {{"num_heads", std::int64_t{2}}};
const std::vector<Attribute> kTwoAndOne = {{"num_heads", std::int64_t{2}}, {"kv_num_heads", std::int64_t{1}}};

void ExpectEqual(const Value& a, const Value& b) {
  ASSERT_EQ(a.tensor().shape(), b.tensor().shape());
  const std::vector<float> x = Elements<float>(a), y = Elements<float>(b);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 1e-6) << "element " << i;
}

// [1, 3, 2, parts, 2] from [1, 3, 4] tensors: the same numbers, packed.
Tensor Packed(const std::vector<Tensor>& parts) {
  const auto count = static_cast<std::int64_t>(parts.size());
  Tensor t(DType::kFloat, Shape{1, 3, 2, count, 2});
  for (std::int64_t row = 0; row < 6; ++row)
    for (std::int64_t p = 0; p < count; ++p)
      for (std::int64_t i = 0; i < 2; ++i)
        t.data<float>()[(row * count + p) * 2 + i] = parts[static_cast<std::size_t>(p)].data<float>()[row * 2 + i];
  return t;
}

TEST(MultiHeadAttention, PackedFormsAreTheSeparateOne) {
  const Tensor q = Wave({1, 3, 4}, 0.3f), k = Wave({1, 3, 4}, 0.7f), v = Wave({1, 3, 4}, 1.1f);
  const Value want = EvaluateOp(Call("MultiHeadAttention", {q, k, v}, kTwoHeads))[0];
  ExpectEqual(EvaluateOp(Call("MultiHeadAttention", {Packed({q, k, v})}, kTwoHeads))[0], want);
  ExpectEqual(EvaluateOp(Call("MultiHeadAttention", {q, Packed({k, v})}, kTwoHeads))[0], want);
}

TEST(MultiHeadAttention, ThePastIsOneLengthWithinTheCache) {
  const Tensor x = Wave({1, 1, 4}, 0.3f), cache = Wave({1, 2, 5, 2}, 0.7f);
  const auto call = [&](const Tensor& past) {
    return Call("MultiHeadAttention", {x, x, x, Value(), Value(), Value(), cache, cache, past}, kTwoHeads, 3);
  };
  for (const Tensor& length : {Int32s({4}), Tensor::Scalar<std::int32_t>(0)})
    EXPECT_EQ(EvaluateOp(call(length))[1].tensor().shape(), (Shape{1, 2, 5, 2}));
  const auto expect = [&](const Tensor& past, const std::string& part) {
    EXPECT_NE(ErrorOfOp(call(past)).find(part), std::string::npos) << ErrorOfOp(call(past));
  };
  expect(Int32s({1, 2}), "expected one past_sequence_length, found shape [2]");
  expect(Int32s({}), "expected one past_sequence_length, found shape [0]");
  expect(Int32s({5}), "expected past_sequence_length in [0, 4], found 5");
  expect(Int32s({-1}), "expected past_sequence_length in [0, 4], found -1");
}

TEST(MultiHeadAttention, StepsWithACacheAreTheWholeSequence) {
  const Tensor x = Wave({1, 3, 4}, 0.3f), first = Wave({1, 2, 4}, 0.3f);
  std::vector<Attribute> attributes = kTwoHeads;
  attributes.push_back({"unidirectional", std::int64_t{1}});
  const std::vector<Value> all = EvaluateOp(Call("MultiHeadAttention", {x, x, x}, attributes, 3));
  const std::vector<Value> two = EvaluateOp(Call("MultiHeadAttention", {first, first, first}, attributes, 3));
  Tensor last(DType::kFloat, Shape{1, 1, 4});
  std::copy_n(x.data<float>() + 8, 4, last.data<float>());
  const std::vector<Value> step = EvaluateOp(
      Call("MultiHeadAttention", {last, last, last, Value(), Value(), Value(), two[1], two[2]}, attributes, 3));
  ExpectEqual(step[1], all[1]);
  const std::vector<float> y = Elements<float>(step[0]), want = Elements<float>(all[0]);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(y[i], want[8 + i], 1e-6);
}

TEST(MultiHeadAttention, TakesSharedCachesAndNoQueries) {
  const Tensor x = Wave({1, 1, 4}, 0.3f), cache = Wave({1, 2, 5, 2}, 0.9f);
  const std::vector<Value> y = EvaluateOp(
      Call("MultiHeadAttention", {x, x, x, Value(), Value(), Value(), cache, cache, Int32s({2})}, kTwoHeads, 3));
  EXPECT_EQ(y[1].tensor().shape(), (Shape{1, 2, 5, 2}));
  EXPECT_EQ(y[1].tensor().data<float>()[4], x.data<float>()[0]);
  const Tensor none = Wave({1, 0, 4}, 1);
  EXPECT_EQ(EvaluateOp(Call("MultiHeadAttention", {none, none, none}, kTwoHeads))[0].tensor().count(), 0);
}

TEST(MultiHeadAttention, RefusesWhatDoesNotFit) {
  const Tensor x = Wave({1, 2, 4}, 1);
  const auto error = [&](std::vector<Value> inputs, std::vector<Attribute> attributes = kTwoHeads) {
    return ErrorOfOp(Call("MultiHeadAttention", std::move(inputs), std::move(attributes)));
  };
  EXPECT_NE(error({x, x, x}, {{"num_heads", std::int64_t{3}}}).find("divisible by 3 heads"), std::string::npos);
  EXPECT_NE(error({x, x, x, Floats({1, 2})}).find("expected a bias [12], found [2]"), std::string::npos);
  EXPECT_NE(error({x, x, x, Value(), Int32s({1, 2, 3})}).find("expected a mask"), std::string::npos);
  EXPECT_NE(error({x, Wave({1, 3, 4}, 1), x}).find("that match"), std::string::npos);
  EXPECT_NE(error({x, x, x, Value(), Value(), Value(), Wave({1, 2, 3, 2}, 1)}).find("together"), std::string::npos);
}

TEST(ProjectedAttention, IsAProductAndMultiHeadAttention) {
  const Tensor x = Wave({1, 3, 4}, 0.3f);
  Tensor weights(DType::kFloat, Shape{4, 12});  // three unit matrices: Q = K = V = x
  for (std::int64_t i = 0; i < 48; ++i) weights.data<float>()[i] = i % 12 % 4 == i / 12 ? 1.0f : 0.0f;
  const Value want = EvaluateOp(Call("MultiHeadAttention", {x, x, x}, kTwoHeads))[0];
  ExpectEqual(EvaluateOp(Call("Attention", {x, weights}, kTwoHeads))[0], want);
  EXPECT_NE(ErrorOfOp(Call("Attention", {x, Wave({5, 12}, 1)}, kTwoHeads)).find("4 rows"), std::string::npos);
}

TEST(GroupQueryAttention, StepsAreThePrompt) {
  const Tensor q = Wave({1, 3, 4}, 0.3f), kv = Wave({1, 3, 2}, 0.7f), none = Wave({1, 1, 0, 2}, 1);
  const std::vector<Value> all =
      EvaluateOp(Call("GroupQueryAttention", {q, kv, kv, none, none, Int32s({2}), Int32s({3})}, kTwoAndOne, 3));
  std::vector<Value> caches = {none, none};
  for (std::int32_t i = 0; i < 3; ++i) {
    Tensor row(DType::kFloat, Shape{1, 1, 4}), kv_row(DType::kFloat, Shape{1, 1, 2});
    std::copy_n(q.data<float>() + 4 * i, 4, row.data<float>());
    std::copy_n(kv.data<float>() + 2 * i, 2, kv_row.data<float>());
    const std::vector<Value> step =
        EvaluateOp(Call("GroupQueryAttention",
                        {row, kv_row, kv_row, caches[0], caches[1], Int32s({i}), Int32s({i + 1})}, kTwoAndOne, 3));
    const std::vector<float> y = Elements<float>(step[0]), want = Elements<float>(all[0]);
    for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(y[k], want[static_cast<std::size_t>(4 * i) + k], 1e-6) << i;
    caches = {step[1], step[2]};
  }
  ExpectEqual(caches[0], all[1]);
}

TEST(GroupQueryAttention, RefusesWhatDoesNotFit) {
  const Tensor q = Wave({1, 1, 4}, 0.3f), kv = Wave({1, 1, 2}, 0.7f), cache = Wave({1, 1, 3, 2}, 1);
  const auto error = [&](std::vector<Value> inputs, std::vector<Attribute> attributes = kTwoAndOne) {
    return ErrorOfOp(Call("GroupQueryAttention", std::move(inputs), std::move(attributes), 3));
  };
  const std::vector<Value> good = {q, kv, kv, cache, cache, Int32s({3}), Int32s({4})};
  EXPECT_EQ(error(good), "");
  std::vector<Value> bad = good;
  bad[5] = Int32s({9});
  EXPECT_NE(error(bad).find("expected seqlens_k in [0, 3]"), std::string::npos) << error(bad);
  bad = good;
  bad[1] = Wave({1, 1, 3}, 1);
  EXPECT_NE(error(bad).find("expected key and value [1, 1, 2]"), std::string::npos) << error(bad);
  std::vector<Attribute> rotary = kTwoAndOne;
  rotary.push_back({"do_rotary", std::int64_t{1}});
  EXPECT_NE(error(good, rotary).find("cos_cache"), std::string::npos);
  EXPECT_NE(error(good, {{"num_heads", std::int64_t{3}}, {"kv_num_heads", std::int64_t{2}}}).find("3 and 2"),
            std::string::npos);
}

TEST(EmbedLayerNormalization, RefusesWordsThatAreNotThere) {
  const Tensor ids = Tensor::Of<std::int32_t>({7}, Shape{1, 1}), table = Wave({3, 2}, 1);
  const std::string error = ErrorOfOp(
      Call("EmbedLayerNormalization", {ids, Value(), table, table, Value(), Floats({1, 1}), Floats({0, 0})}, {}));
  EXPECT_NE(error.find("indices of word_embedding in [-3, 3), found 7"), std::string::npos) << error;
}

TEST(MatMulNBits, RefusesPartsThatDoNotFit) {
  const std::vector<Attribute> attributes = {
      {"N", std::int64_t{2}}, {"K", std::int64_t{16}}, {"block_size", std::int64_t{16}}};
  const Tensor weights = Tensor(DType::kUInt8, Shape{2, 1, 8});
  EXPECT_NE(ErrorOfOp(Call("MatMulNBits", {Wave({1, 15}, 1), weights, Floats({1, 1})}, attributes)).find("16 columns"),
            std::string::npos);
  EXPECT_NE(
      ErrorOfOp(Call("MatMulNBits", {Wave({1, 16}, 1), weights, Floats({1})}, attributes)).find("2 elements of scales"),
      std::string::npos);
}

TEST(GatherBlockQuantized, GivesZerosOutsideAndTakesSignedNibbles) {
  Tensor data(DType::kInt4, Shape{2, 16});
  std::fill_n(static_cast<std::uint8_t*>(data.raw()), 8, std::uint8_t{0x2F});  // -1, 2, -1, 2, ...
  std::fill_n(static_cast<std::uint8_t*>(data.raw()) + 8, 8, std::uint8_t{0x33});
  const Tensor scales = Tensor::Of<float>({2, 10}, Shape{2, 1}), at = Tensor::Of<std::int64_t>({0, -1, 5}, Shape{3});
  const std::vector<float> y = Elements<float>(
      EvaluateOp(Call("GatherBlockQuantized", {data, at, scales}, {{"block_size", std::int64_t{16}}}))[0]);
  ASSERT_EQ(y.size(), 48u);
  EXPECT_EQ(y[0], -2);
  EXPECT_EQ(y[1], 4);
  EXPECT_EQ(y[16], 30);
  EXPECT_EQ(y[47], 0);
}

}  // namespace
}  // namespace sardonyx
