// optimizer/passes/fuse/fuse_attention_halves_test.cpp - Attention between casts reads and writes caches of 16 bits.
#include <array>

#include "optimizer/passes/passes.h"
#include "testing/evaluate_op.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::EvaluateOp;
using ::sardonyx::testing::OperatorsAfter;

// Multiples of 1/8, which 16 bits hold.
Value Eighths(const Shape& shape, int seed, DType dtype) {
  Tensor t(DType::kFloat, shape);
  for (std::int64_t i = 0; i < t.count(); ++i)
    t.data<float>()[i] = static_cast<float>((i * 37 + std::int64_t{seed} * 11) % 23 - 11) / 8.0f;
  return EvaluateOp({"Cast", 13, {t}, {{"to", static_cast<std::int64_t>(dtype)}}})[0];
}

struct Between {
  std::string attributes = "q_num_heads = 4, kv_num_heads = 2, scale = 0.5, softcap = 2.0";
  std::string outputs = "float16[b,2,n,3] nk, float16[b,2,n,3] nv";
  std::string mask = "m";
  int to = 10;  // of the presents
};
std::string LeftOf(const Between& c) {
  const std::string text =
      "g (float[b,s,12] x0, float[b,s,6] x1, float[b,s,6] x2, float[b,1,s,n] m, float16[b,2,p,3] pk,"
      " float16[b,2,p,3] pv) => (float[b,s,12] y, " +
      c.outputs + ") { fk = Cast<to = 1>(pk) fv = Cast<to = 1>(pv) y, gk, gv = Attention<" + c.attributes +
      ">(x0, x1, x2, " + c.mask + ", fk, fv) nk = Cast<to = " + std::to_string(c.to) +
      ">(gk) nv = Cast<to = " + std::to_string(c.to) + ">(gv) }";
  std::vector<std::vector<Value>> runs;
  for (const auto& [b, s, p] : {std::array<std::int64_t, 3>{2, 1, 4}, {1, 3, 0}, {3, 2, 70}, {1, 0, 2}}) {
    runs.emplace_back();
    int seed = 0;
    for (const Shape& shape : {Shape{b, s, 12}, Shape{b, s, 6}, Shape{b, s, 6}, Shape{b, 1, s, p + s}})
      runs.back().push_back(Eighths(shape, ++seed, DType::kFloat));
    for (int i = 0; i < 2; ++i) runs.back().push_back(Eighths(Shape{b, 2, p, 3}, ++seed, DType::kFloat16));
  }
  return OperatorsAfter(text, {&kFuseAttention, &kEliminateDeadNodes}, runs);
}

TEST(HalfCaches, AreReadAsTheyAreStored) { EXPECT_EQ(LeftOf({}), "CachedAttention"); }

TEST(HalfCaches, StayBetweenCastsWhereFloatsAreWanted) {
  const std::string all = "Cast Cast Attention Cast Cast";
  EXPECT_EQ(LeftOf({.outputs = "float16[b,2,n,3] nk, float16[b,2,n,3] nv, float[b,2,n,3] gk"}), all);
  EXPECT_EQ(LeftOf({.outputs = "bfloat16[b,2,n,3] nk, bfloat16[b,2,n,3] nv", .to = 16}), all);
  EXPECT_EQ(LeftOf({.attributes = "q_num_heads = 4, kv_num_heads = 2, is_causal = 1"}), all);
}

// As a model that was saved has them.
TEST(HalfCaches, StayHalvesWhereTheRestIsWidened) {
  std::vector<Value> inputs;
  for (const Shape& shape : {Shape{2, 3, 12}, Shape{2, 3, 6}, Shape{2, 3, 6}, Shape{2, 2, 4, 3}, Shape{2, 2, 4, 3}})
    inputs.push_back(Eighths(shape, static_cast<int>(inputs.size()), DType::kFloat16));
  EXPECT_EQ(OperatorsAfter("<ir_version: 10, opset_import: [\"\" : 23, \"ai.sardonyx\" : 1]>"
                           "g (float16[b,s,12] x0, float16[b,s,6] x1, float16[b,s,6] x2, float16[b,2,p,3] pk,"
                           " float16[b,2,p,3] pv) => (float16[b,s,12] y, float16[b,2,n,3] nk, float16[b,2,n,3] nv) {"
                           " o, nk, nv = ai.sardonyx.CachedAttention<q_num_heads = 4, kv_num_heads = 2>"
                           "(x0, x1, x2, , pk, pv) r = Relu(o) y = Neg(r) }",
                           {&kWidenHalf}, {inputs}),
            "Cast Cast Cast CachedAttention Relu Neg Cast");
}

}  // namespace
}  // namespace sardonyx::optimizer
