// optimizer/passes/fuse/fuse_attention_caches_test.cpp - attention behind caches with other axes and of other types.
#include <array>

#include "optimizer/passes/passes.h"
#include "testing/elements.h"
#include "testing/evaluate_op.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::EvaluateOp;
using ::sardonyx::testing::OperatorsAfter;
using ::sardonyx::testing::Wave;

Value Half(const Value& x) {
  return EvaluateOp({"Cast", 13, {x}, {{"to", static_cast<std::int64_t>(DType::kFloat16)}}})[0];
}

// Projections of two heads of three elements, and caches of these types whose rows are axis `rows`; `caches` makes keys
// `k` [b, h, d, t] and values `v` [b, h, t, d], and `nk` and `nv`, of x1, x2, pk and pv.
struct Cached {
  std::string key_type, value_type, caches;
  std::size_t rows = 2;
};
std::string LeftOf(const Cached& c, const std::string& present = "nk, nv") {
  const auto total = [](std::string type) { return type.replace(type.find_first_of("p", type.find('[')), 1, "n"); };
  const std::string text =
      "g (float[b,s,6] x0, float[b,s,6] x1, float[b,s,6] x2, " + c.key_type + " pk, " + c.value_type +
      " pv) => (float[b,s,6] y" + (present.empty() ? "" : ", " + total(c.key_type) + " nk, ") +
      (present.empty() ? "" : total(c.value_type) + " nv") +
      ")\n<int64[4] h = {0, 0, 2, 3}, int64[3] w = {0, 0, 6}, float tenth = {0.1}> {\n"
      "q0 = Reshape(x0, h) q = Transpose<perm = [0, 2, 1, 3]>(q0) k0 = Reshape(x1, h) v0 = Reshape(x2, h)\n" +
      c.caches +
      " a = MatMul(q, k) p = Softmax(a) o = MatMul(p, v) o1 = Transpose<perm = [0, 2, 1, 3]>(o) y = Reshape(o1, w) }";
  const auto past = [&](const std::string& type, std::int64_t batch, std::int64_t count, float step) {
    std::vector<std::int64_t> sizes;
    for (std::size_t at = type.find('['); type[at] != ']'; at = type.find_first_of(",]", at + 1))
      sizes.push_back(type[at + 1] == 'b' ? batch : type[at + 1] == 'p' ? count : type[at + 1] - '0');
    const Value x = Wave(Shape{std::span<const std::int64_t>(sizes)}, step);
    return type.rfind("float16", 0) == 0 ? Half(x) : x;
  };
  std::vector<std::vector<Value>> runs;
  for (const auto& [b, s, p] :
       {std::array<std::int64_t, 3>{2, 1, 4}, {1, 3, 0}, {3, 2, 1}, {1, 1, 40}, {2, 0, 3}, {0, 1, 2}})
    runs.push_back({Wave({b, s, 6}, 0.1f), Wave({b, s, 6}, 0.2f), Wave({b, s, 6}, 0.3f), past(c.key_type, b, p, 0.4f),
                    past(c.value_type, b, p, 0.5f)});
  return OperatorsAfter(text, {&kFuseAttention, &kMergeViews, &kEliminateDeadNodes}, runs);
}

const std::string kRows =
    "nk = Concat<axis = 1>(pk, k0) nv = Concat<axis = -3>(pv, v0)"
    " k = Transpose<perm = [0, 2, 3, 1]>(nk) v = Transpose<perm = [0, 2, 1, 3]>(nv)";

TEST(AttentionCaches, MayHaveRowsBeforeHeads) {
  EXPECT_EQ(LeftOf({"float[b,p,2,3]", "float[b,p,2,3]", kRows}), "CachedAttention");
}

TEST(AttentionCaches, MayHaveRowsBeforeSequences) {
  EXPECT_EQ(LeftOf({"float[p,b,2,3]", "float[p,b,2,3]",
                    "k1 = Transpose<perm = [1, 0, 2, 3]>(k0) v1 = Transpose<perm = [1, 0, 2, 3]>(v0)"
                    " nk = Concat<axis = 0>(pk, k1) nv = Concat<axis = 0>(pv, v1)"
                    " k = Transpose<perm = [1, 2, 3, 0]>(nk) v = Transpose<perm = [1, 2, 0, 3]>(nv)"}),
            "CachedAttention");
}

// As OpenAI's own Whisper has them.
TEST(AttentionCaches, MayHaveHeadsAndSizesInOneAxis) {
  EXPECT_EQ(
      LeftOf({"float[b,p,6]", "float[b,p,6]",
              "nk = Concat<axis = 1>(pk, x1) nv = Concat<axis = 1>(pv, x2) k1 = Reshape(nk, h) v1 = Reshape(nv, h)"
              " k = Transpose<perm = [0, 2, 3, 1]>(k1) v = Transpose<perm = [0, 2, 1, 3]>(v1)"}),
      "Reshape Reshape CachedAttention Reshape Reshape");
}

const std::string kHalves =
    "k1 = Transpose<perm = [0, 2, 1, 3]>(k0) k2 = Cast<to = 10>(k1) v1 = Transpose<perm = [0, 2, 1, 3]>(v0)"
    " v2 = Cast<to = 10>(v1) nk = Concat<axis = 2>(pk, k2) nv = Concat<axis = 2>(pv, v2) fk = Cast<to = 1>(nk)"
    " v = Cast<to = 1>(nv) k = Transpose<perm = [0, 1, 3, 2]>(fk)";

TEST(AttentionCaches, MayHoldHalves) {
  EXPECT_EQ(LeftOf({"float16[b,2,p,3]", "float16[b,2,p,3]", kHalves}), "CachedAttention");
  EXPECT_EQ(LeftOf({"float16[b,p,2,3]", "float16[b,p,2,3]",
                    "k1 = Cast<to = 10>(k0) v1 = Cast<to = 10>(v0) nk = Concat<axis = 1>(pk, k1)"
                    " nv = Concat<axis = 1>(pv, v1) k2 = Cast<to = 1>(nk) v2 = Cast<to = 1>(nv)"
                    " k = Transpose<perm = [0, 2, 3, 1]>(k2) v = Transpose<perm = [0, 2, 1, 3]>(v2)"}),
            "CachedAttention");
}

TEST(AttentionCaches, StayWhereTheyAreNoCachesOfTheNode) {
  const auto keeps = [](const Cached& c) {
    const std::string left = LeftOf(c);
    EXPECT_NE(left.find("Concat"), std::string::npos) << left;
    EXPECT_EQ(left.find("CachedAttention"), std::string::npos) << left;
  };
  // Keys and values in different orders.
  keeps({"float[b,p,2,3]", "float[b,2,p,3]",
         "nk = Concat<axis = 1>(pk, k0) v1 = Transpose<perm = [0, 2, 1, 3]>(v0) nv = Concat<axis = 2>(pv, v1)"
         " k = Transpose<perm = [0, 2, 3, 1]>(nk) v = Identity(nv)"});
  // Elements before rows.
  keeps({"float[b,2,3,p]", "float[b,2,3,p]",
         "k1 = Transpose<perm = [0, 2, 3, 1]>(k0) v1 = Transpose<perm = [0, 2, 3, 1]>(v0)"
         " k = Concat<axis = 3>(pk, k1) nv = Concat<axis = 3>(pv, v1) nk = Identity(k)"
         " v = Transpose<perm = [0, 1, 3, 2]>(nv)"});
  // Values of other numbers than the cache has.
  keeps({"float16[b,2,p,3]", "float[b,2,p,3]",
         "k1 = Transpose<perm = [0, 2, 1, 3]>(k0) k2 = Cast<to = 10>(k1) v1 = Transpose<perm = [0, 2, 1, 3]>(v0)"
         " nk = Concat<axis = 2>(pk, k2) nv = Concat<axis = 2>(pv, v1) fk = Cast<to = 1>(nk)"
         " v = Identity(nv) k = Transpose<perm = [0, 1, 3, 2]>(fk)"});
}

}  // namespace
}  // namespace sardonyx::optimizer
