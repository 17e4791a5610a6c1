// optimizer/passes/fuse/fuse_attention_test.cpp - attention in the spellings of exporters becomes Attention, and near
// misses stay.
//
// Every graph is computed before and after at several sizes, so that a wrong axis, scale or mask shows.
#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::OperatorsAfter;

Tensor Numbers(const Shape& shape, int seed) {
  Tensor t(DType::kFloat, shape);
  for (std::int64_t i = 0; i < t.count(); ++i)
    t.data<float>()[i] = static_cast<float>((i * 37 + std::int64_t{seed} * 11) % 23 - 11) / 8.0f;
  return t;
}

// The operators left, in order.
std::string Fused(const std::string& text, const std::vector<std::vector<Shape>>& runs) {
  std::vector<std::vector<Value>> values;
  for (const std::vector<Shape>& shapes : runs) {
    std::vector<Value> inputs;
    for (const Shape& shape : shapes) inputs.emplace_back(Numbers(shape, static_cast<int>(inputs.size())));
    values.push_back(inputs);
  }
  return OperatorsAfter(text, {&kFuseAttention, &kMergeViews, &kEliminateDeadNodes}, values);
}

// Projections [b, s, 6] of two heads of three elements; `scores` makes `p` from MatMul's `a`.
std::string Bert(const std::string& scores, const std::string& mask = "", const std::string& product = "MatMul(q, kt)",
                 const std::string& before = "") {
  return "g (float[b,s,6] x0, float[b,t,6] x1, float[b,t,6] x2" + mask +
         ") => (float[b,s,6] y)\n"
         "<int64[4] heads = {0, 0, 2, 3}, int64[3] whole = {0, 0, 6}, float scale = {0.57735}, float minus = {-1e9},\n"
         " float zero = {0}, float[1] two = {2}> {\n"
         "q0 = Reshape(x0, heads) q = Transpose<perm = [0, 2, 1, 3]>(q0)\n"
         "k0 = Reshape(x1, heads) kt = Transpose<perm = [0, 2, 3, 1]>(k0)\n"
         "v0 = Reshape(x2, heads) v = Transpose<perm = [0, 2, 1, 3]>(v0)\n" +
         before + " a = " + product + "\n" + scores +
         "\n o = MatMul(p, v) o1 = Transpose<perm = [0, 2, 1, 3]>(o) y = Reshape(o1, whole) }";
}
const std::vector<std::vector<Shape>> kSizes = {{Shape{2, 5, 6}, Shape{2, 7, 6}, Shape{2, 7, 6}},
                                                {Shape{1, 1, 6}, Shape{1, 1, 6}, Shape{1, 1, 6}}};
std::vector<std::vector<Shape>> With(const Shape& first, const Shape& second) {
  std::vector<std::vector<Shape>> runs = kSizes;
  runs[0].push_back(first);
  runs[1].push_back(second);
  return runs;
}

TEST(FuseAttention, ReadsProjectionsWhereTheyLie) {
  EXPECT_EQ(Fused(Bert("p = Softmax(a)"), kSizes), "Attention");
  EXPECT_EQ(Fused(Bert("c = Mul(a, scale) p = Softmax(c)"), kSizes), "Attention");
  EXPECT_EQ(Fused(Bert("c = Mul(scale, a) p = Softmax(c)"), kSizes), "Attention");
  EXPECT_EQ(Fused(Bert("c = Div(a, two) p = Softmax<axis = 3>(c)"), kSizes), "Attention");
  EXPECT_EQ(Fused(Bert("p0 = Softmax(a) n = IsNaN(p0) p = Where(n, zero, p0)"), kSizes), "Attention");
}

// A mask that the caller gives may be -infinity throughout a row, for which Softmax gives NaN.
const std::string kGuarded = "ReduceMax IsInf Where Attention";

TEST(FuseAttention, KeepsKeysAndValuesOfOneSequenceForAll) {
  // What the model names as one size may differ at run time, and the products repeat the smaller.
  EXPECT_EQ(Fused(Bert("p = Softmax(a)"), {{Shape{3, 5, 6}, Shape{1, 7, 6}, Shape{1, 7, 6}},
                                           {Shape{2, 4, 6}, Shape{1, 3, 6}, Shape{2, 3, 6}},
                                           {Shape{2, 4, 6}, Shape{2, 3, 6}, Shape{1, 3, 6}}}),
            "Attention");
}

TEST(FuseAttention, TakesMasks) {
  const auto runs = With(Shape{2, 1, 1, 7}, Shape{1, 1, 1, 1});
  EXPECT_EQ(Fused(Bert("c = Mul(a, scale) d = Add(c, m) p = Softmax(d)", ", float[b,1,1,t] m"), runs), kGuarded);
  EXPECT_EQ(Fused(Bert("d = Add(m, a) p = Softmax(d)", ", float[b,1,1,t] m"), runs), kGuarded);
  EXPECT_EQ(Fused(Bert("c = Add(a, m) d = Mul(c, two) p = Softmax(d)", ", float[b,1,1,t] m"), runs), "Mul " + kGuarded)
      << "a scale behind the mask";
  EXPECT_EQ(Fused(Bert("c = Add(a, m) d = Add(c, m) p = Softmax(d)", ", float[s,t] m"), With(Shape{5, 7}, Shape{1, 1})),
            "Add " + kGuarded);
  EXPECT_EQ(Fused(Bert("e = Greater(m, zero) c = Where(e, a, minus) p = Softmax(c)", ", float[b,1,s,t] m"),
                  With(Shape{2, 1, 5, 7}, Shape{1, 1, 1, 1})),
            "Greater Where Attention");
  EXPECT_EQ(Fused(Bert("e = Greater(m, zero) c = Where(e, minus, a) p = Softmax(c)", ", float[b,1,s,t] m"),
                  With(Shape{2, 1, 5, 7}, Shape{1, 1, 1, 1})),
            "Greater Where Attention");
}

// The older exporter's masks join an input of "total" keys with lengths that are computed: past + new.
TEST(FuseAttention, TakesMasksThatAreJoinedOfTwoLengths) {
  const std::string masks = ", float[b,1,1,total] m, float[1,1,s,t] n";
  const auto runs = [] {
    auto all = With(Shape{2, 1, 1, 7}, Shape{1, 1, 1, 1});
    all[0].emplace_back(Shape{1, 1, 5, 7});
    all[1].emplace_back(Shape{1, 1, 1, 1});
    return all;
  }();
  EXPECT_EQ(Fused(Bert("j = Add(m, n) c = Add(a, j) p = Softmax(c)", masks), runs), "Add " + kGuarded);
  EXPECT_EQ(Fused(Bert("e = Greater(m, zero) j = Where(e, minus, n) c = Add(j, a) p = Softmax(c)", masks), runs),
            "Greater Where " + kGuarded);
  EXPECT_EQ(Fused(Bert("h = Greater(m, zero) i = Greater(n, zero) j = And(h, i) c = Where(j, a, minus) p = Softmax(c)",
                       masks),
                  runs),
            "Greater Greater And Where Attention");
  std::string cut = Bert(
      "j = Add(m, n) keys = Shape<start = 1, end = 2>(x1) k = Slice(j, first, keys, last)"
      " c = Add(a, k) p = Softmax(c)",
      masks);
  cut.replace(cut.find("<int64[4] heads"), 1, "<float[b,1,s,u] j, int64[1] first = {0}, int64[1] last = {3}, ");
  EXPECT_EQ(Fused(cut, runs), "Add Shape Slice " + kGuarded);
  // Cut to the keys, it may still have fewer: the Expand fails then, as the sum does.
  std::string longer = Bert(
      "keys = Shape<start = 1, end = 2>(x1) k = Slice(m, first, keys, last) c = Add(a, k)"
      " p = Softmax(c)",
      ", float[b,1,1,total] m");
  longer.replace(longer.find("<int64[4] heads"), 1, "<int64[1] first = {0}, int64[1] last = {3}, ");
  EXPECT_EQ(Fused(longer, With(Shape{2, 1, 1, 9}, Shape{1, 1, 1, 4})), "Shape Slice Concat Expand " + kGuarded);
}

// A mask that the caller gives for "total" keys has as many, or one for all: the Expand fails otherwise, as the sum
// does.
TEST(FuseAttention, TakesMasksWhoseLengthHasANameOfItsOwn) {
  const std::string mask = ", float[b,1,s,total] m", expanded = "Shape Concat Concat Expand ";
  auto runs = With(Shape{2, 1, 5, 7}, Shape{1, 1, 1, 1});
  const std::string added = Bert("c = Add(m, a) p = Softmax(c)", mask);
  EXPECT_EQ(Fused(added, runs), expanded + kGuarded);
  EXPECT_EQ(Fused(added, With(Shape{2, 1, 5, 1}, Shape{1, 1, 1, 1})), expanded + kGuarded);
  EXPECT_EQ(Fused(Bert("e = Greater(m, zero) c = Where(e, a, minus) p = Softmax(c)", mask), runs),
            "Greater " + expanded + "Where Attention");
  EXPECT_THROW(Fused(added, With(Shape{2, 1, 5, 6}, Shape{1, 1, 1, 1})), Error) << "shorter";
  // Behind a cache the keys are those of both; the node itself makes what they are counted in.
  const std::string cached =
      "g (float[b,s,6] x0, float[b,s,6] x1, float[b,s,6] x2, float[b,2,p,3] pk, float[b,2,p,3] pv, "
      "float[b,1,s,total] m) => (float[b,s,6] y, float[b,2,n,3] nk, float[b,2,n,3] nv)\n"
      "<int64[4] h = {0, 0, 2, 3}, int64[3] w = {0, 0, 6}> {\n"
      "q0 = Reshape(x0, h) q = Transpose<perm = [0, 2, 1, 3]>(q0)\n"
      "k0 = Reshape(x1, h) k1 = Transpose<perm = [0, 2, 1, 3]>(k0) nk = Concat<axis = 2>(pk, k1)\n"
      "v0 = Reshape(x2, h) v1 = Transpose<perm = [0, 2, 1, 3]>(v0) nv = Concat<axis = -2>(pv, v1)\n"
      "k = Transpose<perm = [0, 1, 3, 2]>(nk) a = MatMul(q, k) c = Add(a, m) pr = Softmax(c)\n"
      "o = MatMul(pr, nv) o1 = Transpose<perm = [0, 2, 1, 3]>(o) y = Reshape(o1, w) }";
  EXPECT_EQ(
      Fused(
          cached,
          {{Shape{2, 1, 6}, Shape{2, 1, 6}, Shape{2, 1, 6}, Shape{2, 2, 4, 3}, Shape{2, 2, 4, 3}, Shape{2, 1, 1, 5}},
           {Shape{1, 3, 6}, Shape{1, 3, 6}, Shape{1, 3, 6}, Shape{1, 2, 0, 3}, Shape{1, 2, 0, 3}, Shape{1, 1, 3, 3}}}),
      "Shape Concat Shape Concat Add Concat Expand " + kGuarded);
}

// GPT-2 fills with the lowest number and adds it, too: where both mask a key, the score is -infinity, so that a row
// that the first mask hides throughout is the mean over what the second one leaves.
TEST(FuseAttention, KeepsTheMeaningOfTwoMasksOfTheLowestNumber) {
  std::string text = Bert(
      "e = Greater(m, zero) c = Where(e, a, lowest) h = Greater(n, zero) i = Where(h, zero, lowest) d = Add(c, i)"
      " p = Softmax(d)",
      ", float[b,1,s,1] m, float[b,1,1,t] n");
  text.replace(text.find("<int64[4] heads"), 1, "<float lowest = {-3.4028235e38}, ");
  auto runs = With(Shape{2, 1, 5, 1}, Shape{1, 1, 1, 1});
  runs[0].emplace_back(Shape{2, 1, 1, 7});
  runs[1].emplace_back(Shape{1, 1, 1, 1});
  EXPECT_EQ(Fused(text, runs), "Greater Greater Where Where Add ReduceMax IsInf Where Attention");
}

// As Gemma 2 caps its scores: cap * tanh(x / cap), before the mask.
TEST(FuseAttention, TakesCapsOfScores) {
  const auto runs = With(Shape{2, 1, 5, 7}, Shape{1, 1, 1, 1});
  const std::string mask = ", float[b,1,s,t] m", cap = "c = Mul(a, scale) d = Div(c, two) e = Tanh(d) f = Mul(e, two) ";
  EXPECT_EQ(Fused(Bert(cap + "p = Softmax(f)"), kSizes), "Attention");
  EXPECT_EQ(Fused(Bert(cap + "h = Add(f, m) p = Softmax(h)", mask), runs), kGuarded);
  EXPECT_EQ(Fused(Bert("d = Tanh(a) p = Softmax(d)"), kSizes), "Attention");
  EXPECT_EQ(Fused(Bert(cap + "h = Add(f, m) i = Mul(h, two) p = Softmax(i)", mask), runs), "Mul " + kGuarded)
      << "a scale behind the mask is one of the cap, too";
  for (const char* other : {"c = Add(a, m) d = Tanh(c) p = Softmax(d)", "c = Tanh(a) d = Mul(c, minus) p = Softmax(d)",
                            "c = Tanh(a) d = Tanh(c) p = Softmax(d)"})
    EXPECT_NE(Fused(Bert(other, mask), runs).find("Softmax"), std::string::npos) << other;
}

TEST(FuseAttention, TakesTheScaleFromQueriesAndKeys) {
  const std::string text = Bert("p = Softmax(a)", "", "MatMul(q2, k2)", "q2 = Mul(scale, q) k2 = Div(kt, two)");
  EXPECT_EQ(Fused(text, kSizes), "Attention");
}

TEST(FuseAttention, LeavesWhatCannotBeExpressed) {
  const std::string all = "Reshape Transpose Reshape Transpose Reshape Transpose ";
  EXPECT_EQ(Fused(Bert("p = Softmax<axis = 2>(a)"), kSizes), all + "MatMul Softmax MatMul Transpose Reshape");
  EXPECT_EQ(Fused(Bert("c = Mul(a, a) p = Softmax(c)"), kSizes), all + "MatMul Mul Softmax MatMul Transpose Reshape");
  EXPECT_EQ(Fused(Bert("e = Greater(m, zero) c = Where(e, a, two) p = Softmax(c)", ", float[b,1,s,t] m"),
                  With(Shape{2, 1, 5, 7}, Shape{1, 1, 1, 1})),
            all + "MatMul Greater Where Softmax MatMul Transpose Reshape")
      << "a fill that does not mask";
}

TEST(FuseAttention, LeavesProbabilitiesThatAreAnOutput) {
  std::string text = Bert("p = Softmax(a)");
  text.replace(text.find("(float[b,s,6] y)"), 16, "(float[b,s,6] y, float[b,2,s,t] p)");
  EXPECT_NE(Fused(text, kSizes).find("Softmax"), std::string::npos);
}

TEST(FuseAttention, JoinsBatchAndHeads) {
  // Three axes: [batch * heads, row, size], as torch.bmm writes it.
  EXPECT_EQ(
      Fused("g (float[2,5,6] x0, float[2,7,6] x1, float[2,7,6] x2, float[2,1,5,7] m) => (float[2,5,6] y)\n"
            "<int64[4] h = {0, 0, 2, 3}, int64[3] j = {4, -1, 3}, int64[4] f = {2, 2, 5, 7}, int64[3] g3 = {4, 5, 7},"
            " int64[4] u = {2, 2, 5, 3}, int64[3] w = {0, 0, 6}> {\n"
            "q0 = Reshape(x0, h) q1 = Transpose<perm = [0, 2, 1, 3]>(q0) q = Reshape(q1, j)\n"
            "k0 = Reshape(x1, h) k1 = Transpose<perm = [0, 2, 1, 3]>(k0) k2 = Reshape(k1, j)\n"
            "k = Transpose<perm = [0, 2, 1]>(k2)\n"
            "v0 = Reshape(x2, h) v1 = Transpose<perm = [0, 2, 1, 3]>(v0) v = Reshape(v1, j)\n"
            "a = MatMul(q, k) a4 = Reshape(a, f) b4 = Add(a4, m) b3 = Reshape(b4, g3) p = Softmax(b3)\n"
            "o = MatMul(p, v) o4 = Reshape(o, u) o1 = Transpose<perm = [0, 2, 1, 3]>(o4) y = Reshape(o1, w) }",
            {{Shape{2, 5, 6}, Shape{2, 7, 6}, Shape{2, 7, 6}, Shape{2, 1, 5, 7}}}),
      kGuarded);
}

// What is masked is set to 0 behind Softmax once more, so that rows without keys are zeros (as DeBERTa writes it).
TEST(FuseAttention, TakesProbabilitiesThatTheMaskSetsToZero) {
  const auto runs = With(Shape{2, 1, 5, 7}, Shape{1, 1, 1, 1});
  const std::string head = "e = Greater(m, zero) n = Not(e) c = Where(n, minus, a) p0 = Softmax(c) ";
  const std::string mask = ", float[b,1,s,t] m";
  EXPECT_EQ(Fused(Bert(head + "p = Where(n, zero, p0)", mask), runs), "Greater Not Where Attention");
  const std::string other = Fused(Bert(head + "p = Where(e, zero, p0)", mask), runs);
  EXPECT_NE(other.find("Softmax"), std::string::npos) << other;
}

TEST(FuseAttention, TakesCaches) {
  EXPECT_EQ(Fused("g (float[b,s,6] x0, float[b,s,6] x1, float[b,s,6] x2, float[b,2,p,3] pk, float[b,2,p,3] pv)"
                  " => (float[b,s,6] y, float[b,2,n,3] nk, float[b,2,n,3] nv)\n"
                  "<int64[4] h = {0, 0, 2, 3}, int64[3] w = {0, 0, 6}> {\n"
                  "q0 = Reshape(x0, h) q = Transpose<perm = [0, 2, 1, 3]>(q0)\n"
                  "k0 = Reshape(x1, h) k1 = Transpose<perm = [0, 2, 1, 3]>(k0) nk = Concat<axis = 2>(pk, k1)\n"
                  "v0 = Reshape(x2, h) v1 = Transpose<perm = [0, 2, 1, 3]>(v0) nv = Concat<axis = -2>(pv, v1)\n"
                  "k = Transpose<perm = [0, 1, 3, 2]>(nk) a = MatMul(q, k) pr = Softmax(a)\n"
                  "o = MatMul(pr, nv) o1 = Transpose<perm = [0, 2, 1, 3]>(o) y = Reshape(o1, w) }",
                  {{Shape{2, 1, 6}, Shape{2, 1, 6}, Shape{2, 1, 6}, Shape{2, 2, 4, 3}, Shape{2, 2, 4, 3}},
                   {Shape{1, 3, 6}, Shape{1, 3, 6}, Shape{1, 3, 6}, Shape{1, 2, 0, 3}, Shape{1, 2, 0, 3}}}),
            "Attention");
}

// The node cannot make the cache that its own mask is computed from.
TEST(FuseAttention, LeavesCachesThatTheMaskIsMadeFrom) {
  const auto graph = [](const std::string& sized) {
    return "g (float[b,s,6] x0, float[b,s,6] x1, float[b,s,6] x2, float[b,2,p,3] pk, float[b,2,p,3] pv)"
           " => (float[b,s,6] y, float[b,2,n,3] nk, float[b,2,n,3] nv)\n"
           "<int64[4] h = {0, 0, 2, 3}, int64[3] w = {0, 0, 6}, int64[1] last = {3}> {\n"
           "q0 = Reshape(x0, h) q = Transpose<perm = [0, 2, 1, 3]>(q0)\n"
           "k0 = Reshape(x1, h) k1 = Transpose<perm = [0, 2, 1, 3]>(k0) nk = Concat<axis = 2>(pk, k1)\n"
           "v0 = Reshape(x2, h) v1 = Transpose<perm = [0, 2, 1, 3]>(v0) nv = Concat<axis = -2>(pv, v1)\n"
           "sums = ReduceMean<keepdims = 1>(" +
           sized +
           ", last) m = Transpose<perm = [0, 1, 3, 2]>(sums)\n"
           "k = Transpose<perm = [0, 1, 3, 2]>(nk) a = MatMul(q, k) c = Add(a, m) pr = Softmax(c)\n"
           "o = MatMul(pr, nv) o1 = Transpose<perm = [0, 2, 1, 3]>(o) y = Reshape(o1, w) }";
  };
  const std::vector<std::vector<Shape>> runs = {
      {Shape{2, 1, 6}, Shape{2, 1, 6}, Shape{2, 1, 6}, Shape{2, 2, 4, 3}, Shape{2, 2, 4, 3}},
      {Shape{1, 3, 6}, Shape{1, 3, 6}, Shape{1, 3, 6}, Shape{1, 2, 0, 3}, Shape{1, 2, 0, 3}}};
  for (const char* sized : {"nk", "nv"}) {
    const std::string left = Fused(graph(sized), runs);
    EXPECT_NE(left.find("Attention"), std::string::npos) << left;
    EXPECT_NE(left.find("Concat"), std::string::npos) << left;
  }
}

TEST(FuseAttention, TakesSharedHeads) {
  const auto repeated = [](const std::string& keys, const std::string& values) {
    return Fused(
        "g (float[b,4,s,3] q, float[b,2,t,3] k, float[b,2,t,3] v) => (float[b,4,s,3] y)\n"
        "<int64[1] two = {2}, int64[4] j = {0, 4, -1, 3}, int64[5] r = {1, 1, 2, 1, 1}> {\n"
        "k0 = Unsqueeze(k, two) k1 = " +
            keys +
            " k2 = Reshape(k1, j) kt = Transpose<perm = [0, 1, 3, 2]>(k2)\n"
            "v0 = Unsqueeze(v, two) v1 = " +
            values +
            " v2 = Reshape(v1, j)\n"
            "a = MatMul(q, kt) p = Softmax(a) y = MatMul(p, v2) }",
        {{Shape{2, 4, 5, 3}, Shape{2, 2, 7, 3}, Shape{2, 2, 7, 3}}});
  };
  EXPECT_EQ(repeated("Expand(k0, r)", "Expand(v0, r)"), "Attention");
  EXPECT_EQ(repeated("Tile(k0, r)", "Tile(v0, r)"), "Attention") << "as torch.repeat_interleave is written";
  EXPECT_EQ(repeated("Concat<axis = 2>(k0, k0)", "Concat<axis = 2>(v0, v0)"), "Attention");
  EXPECT_NE(repeated("Concat<axis = 1>(k0, k0)", "Concat<axis = 1>(v0, v0)"), "Attention") << "heads 0, 1, 0, 1";
}

TEST(FuseAttention, TakesGatheredHeads) {
  const auto gathered = [](const std::string& indices, const std::string& axis = "1") {
    return Fused(
        "g (float[b,4,s,3] q, float[b,2,t,3] k, float[b,2,t,3] v) => (float[b,4,s,3] y)\n"
        "<int64[4] heads = {" +
            indices + "}> { k1 = Gather<axis = " + axis + ">(k, heads) v1 = Gather<axis = " + axis +
            ">(v, heads) kt = Transpose<perm = [0, 1, 3, 2]>(k1) a = MatMul(q, kt) p = Softmax(a) y = MatMul(p, v1) }",
        {{Shape{2, 4, 5, 3}, Shape{2, 2, 7, 3}, Shape{2, 2, 7, 3}}});
  };
  EXPECT_EQ(gathered("0, 0, 1, 1"), "Attention");
  EXPECT_EQ(gathered("0, 0, 1, 1", "-3"), "Attention");
  EXPECT_EQ(gathered("0, 1, 0, 1"), "Gather Gather Attention");
  EXPECT_EQ(gathered("0, 0, -1, -1"), "Gather Gather Attention");
  EXPECT_EQ(gathered("1, 1, 0, 0"), "Gather Gather Attention");
}

// Keys and values [b, key head, 1, t, size] that the products repeat for queries [b, key head, head of the group, ..].
TEST(FuseAttention, TakesGroupsOfHeadsWithAnAxisOfTheirOwn) {
  const auto graph = [](const std::string& keys, const std::string& values, const std::string& scores,
                        const std::string& mask = ", float[b,1,s,t] m", const std::string& before = "") {
    return "g (float[b,4,s,3] q0, float[b,2,t,3] k0, float[b,2,t,3] v0" + mask +
           ") => (float[b,4,s,3] y)\n"
           "<int64[5] groups = {0, 2, 2, -1, 3}, int64[4] joined = {0, 4, -1, 3}, int64[1] one = {1}, int64[1] two = "
           "{2},"
           " int64[5] r = {1, 1, 2, 1, 1}, float scale = {0.5}, float zero = {0}, float minus = {-1e9}> {\n"
           "q = Reshape(q0, groups) " +
           before + " kg = " + keys + " v = " + values +
           " kt = Transpose<perm = [0, 1, 2, 4, 3]>(kg) a = MatMul(q, kt) " + scores +
           " o = MatMul(p, v) y = Reshape(o, joined) }";
  };
  const std::string keys = "Unsqueeze(k0, two)", values = "Unsqueeze(v0, two)",
                    added =
                        "c = Mul(a, scale)"
                        " n = Unsqueeze(m, two) e = Add(c, n) p = Softmax(e)";
  const std::vector<std::vector<Shape>> plain = {{Shape{2, 4, 5, 3}, Shape{2, 2, 7, 3}, Shape{2, 2, 7, 3}},
                                                 {Shape{1, 4, 1, 3}, Shape{1, 2, 1, 3}, Shape{1, 2, 1, 3}}};
  auto masked = plain;
  masked[0].emplace_back(Shape{2, 1, 5, 7});
  masked[1].emplace_back(Shape{1, 1, 1, 1});
  EXPECT_EQ(Fused(graph(keys, values, "p = Softmax(a)", ""), plain), "Attention");
  EXPECT_EQ(Fused(graph(keys, values, added), masked), kGuarded);
  EXPECT_EQ(Fused(graph(keys, values, added, ", float[b,1,s,total] m"), masked),
            "Unsqueeze Shape Concat Concat Expand Squeeze Unsqueeze " + kGuarded)
      << "a mask whose length has a name of its own";
  EXPECT_EQ(
      Fused(graph(keys, values, "n = Unsqueeze(m, two) h = Greater(n, zero) e = Where(h, a, minus) p = Softmax(e)"),
            masked),
      "Unsqueeze Greater Squeeze Unsqueeze Where Attention");
  EXPECT_EQ(
      Fused(graph("Expand(ku, r)", "Expand(vu, r)", "p = Softmax(a)", "", "ku = " + keys + " vu = " + values), plain),
      "Attention");
  const std::string other = Fused(graph("Unsqueeze(k0, one)", values, "p = Softmax(a)", ""), plain);
  EXPECT_NE(other.find("Softmax"), std::string::npos) << "query heads 0, 1 read keys 0, 1: " << other;
  const std::string rows = Fused(graph(keys, values, "p = Softmax<axis = 2>(a)", ""), plain);
  EXPECT_NE(rows.find("Softmax"), std::string::npos) << rows;
}

// A mask with fewer axes than the scores is put where theirs are as it is, without the axes that broadcasting adds.
TEST(FuseAttention, TakesMasksOfFewerAxes) {
  const auto graph = [](const std::string& mask, bool one_head) {
    const std::string q = one_head ? "float[b,s,3]" : "float[b,2,3,s,3]";
    const std::string k = one_head ? "float[b,3,t]" : "float[b,2,1,3,t]";
    const std::string v = one_head ? "float[b,t,3]" : "float[b,2,1,t,3]";
    return "g (" + q + " q, " + k + " k, " + v + " v, " + mask + " m) => (" + q +
           " y) { a = MatMul(q, k) e = Add(a, m) p = Softmax(e) y = MatMul(p, v) }";
  };
  const auto fused = [&](const std::string& type, const std::vector<std::int64_t>& sizes, bool one_head) {
    const Shape mask{std::span<const std::int64_t>(sizes)};
    const std::vector<std::vector<Shape>> runs =
        one_head
            ? std::vector<std::vector<Shape>>{{Shape{2, 5, 3}, Shape{2, 3, 7}, Shape{2, 7, 3}, mask}}
            : std::vector<std::vector<Shape>>{{Shape{2, 2, 3, 5, 3}, Shape{2, 2, 1, 3, 7}, Shape{2, 2, 1, 7, 3}, mask}};
    return Fused(graph(type, one_head), runs);
  };
  for (const bool one_head : {false, true})
    for (const std::string keys : {"t", "m"}) {
      const std::string two = fused("float[s," + keys + "]", {5, 7}, one_head);
      const std::string three = fused("float[1,s," + keys + "]", {1, 5, 7}, one_head);
      if (!one_head || keys == "t") {
        EXPECT_NE(two.find("Attention"), std::string::npos) << two;
        EXPECT_NE(three.find("Attention"), std::string::npos) << three;
      }
      fused("float[" + keys + "]", {7}, one_head);
      if (one_head) continue;
      fused("float[1,1,s," + keys + "]", {1, 1, 5, 7}, one_head);
      fused("float[2,3,s," + keys + "]", {2, 3, 5, 7}, one_head);
    }
}

// As torch writes GPT-OSS: a column of numbers that are learned for each head joins the scores, and its probabilities
// are cut off.
std::string WithSinks(const std::string& scores, const std::string& inputs = ", float[b,1,s,t] m, float[2] sinks") {
  std::string text = Bert(scores, inputs);
  text.replace(text.find("<int64[4] heads"), 1,
               "<int64[4] shape = {1, 2, 1, 1}, int64[1] two_heads = {2}, int64[1] none = {0}, int64[1] one = {1},"
               " int64[1] last = {3}, int64[1] rows = {2}, int64[1] cut = {-1}, int64[1] end = {9223372036854775807},"
               " float hidden = {-inf}, ");
  return text;
}
const std::string kColumn =
    "s4 = Reshape(sinks, shape) bs = Shape<start = 0, end = 1>(q) qs = Shape<start = 2, end = 3>(q)"
    " to = Concat<axis = 0>(bs, two_heads, qs, one) s5 = Expand(s4, to) ";

TEST(FuseAttention, TakesSinks) {
  auto runs = With(Shape{2, 1, 5, 7}, Shape{1, 1, 1, 1});
  for (auto& run : runs) run.emplace_back(Shape{2});
  const std::string added = "c = Mul(a, scale) e = Add(c, m) ", shifted = "mx = ReduceMax(j, last) d = Sub(j, mx) ";
  const std::string join = kColumn + "j = Concat<axis = -1>(e, s5) ";
  EXPECT_EQ(Fused(WithSinks(added + join + shifted + "p0 = Softmax(d) p = Slice(p0, none, cut, last)"), runs),
            "SinkAttention");
  EXPECT_EQ(Fused(WithSinks(added + join + "p0 = Softmax(j) p = Slice(p0, none, cut, last, one)"), runs),
            "SinkAttention");
  EXPECT_EQ(Fused(WithSinks("h = Greater(m, zero) e = Where(h, a, hidden) " + join +
                            "p0 = Softmax(j) p = Slice(p0, none, cut, cut)"),
                  runs),
            "Greater Where SinkAttention")
      << "what nothing but the sink is left of becomes zeros";
  EXPECT_EQ(Fused(WithSinks("e = Add(a, m) " + kColumn +
                            "e1 = Cast<to = 11>(e) s6 = Cast<to = 11>(s5) j = Concat<axis = 3>(e1, s6)"
                            " p0 = Softmax(j) p1 = Slice(p0, none, cut, last) p = Cast<to = 1>(p1)"),
                  runs),
            "SinkAttention");
  const std::string cases[] = {
      added + join + "p0 = Softmax(j) p = Slice(p0, one, end, last)",
      added + join + "mx = ReduceMax(j, rows) d = Sub(j, mx) p0 = Softmax(d) p = Slice(p0, none, cut, last)",
      added + join + "mx = ReduceMin(j, last) d = Sub(j, mx) p0 = Softmax(d) p = Slice(p0, none, cut, last)",
      added + join + "mx = ReduceMax(j, last) d = Sub(mx, j) p0 = Softmax(d) p = Slice(p0, none, cut, last)",
      added + kColumn + "j = Concat<axis = 3>(s5, e) p0 = Softmax(j) p = Slice(p0, none, cut, last)",
      added + join + "j2 = Mul(j, two) p0 = Softmax(j2) p = Slice(p0, none, cut, last)",
      added + join + "p0 = Softmax(j) p2 = Slice(p0, none, cut, last) p = Mul(p2, two)",
  };
  for (const std::string& text : cases)
    EXPECT_NE(Fused(WithSinks(text), runs).find("Softmax"), std::string::npos) << text;
  std::string text = WithSinks(added + join + "p = Softmax(j)");
  text.replace(text.find("float[b,t,6] x2"), 15, "float[b,u,6] x2");
  const std::string uncut =
      Fused(text, {{Shape{2, 5, 6}, Shape{2, 7, 6}, Shape{2, 8, 6}, Shape{2, 1, 5, 7}, Shape{2}}});
  EXPECT_NE(uncut.find("Softmax"), std::string::npos) << uncut;
}

// Groups of heads have an axis of their own, and sinks are one for each head of each group.
TEST(FuseAttention, TakesSinksOfGroups) {
  const auto graph = [](const std::string& shape, const std::string& size, const std::string& keys = "t") {
    return "g (float[b,4,s,3] q0, float[b,2,t,3] k0, float[b,2,t,3] v0, float[b,1,s," + keys + "] m, float[" + size +
           "] sinks) => (float[b,4,s,3] y)\n<int64[5] groups = {0, 2, 2, -1, 3}, int64[4] joined = {0, 4, -1, 3},"
           " int64[1] two = {2}, int64[5] each = {" +
           shape +
           "}, int64[1] twos = {2}, int64[1] none = {0}, int64[1] one = {1}, int64[1] last = {4}, int64[1] cut = {-1}> "
           "{"
           " q = Reshape(q0, groups) kg = Unsqueeze(k0, two) v = Unsqueeze(v0, two)"
           " kt = Transpose<perm = [0, 1, 2, 4, 3]>(kg) a = MatMul(q, kt) n = Unsqueeze(m, two) e = Add(a, n)"
           " bs = Shape<start = 0, end = 1>(q0) qs = Shape<start = 2, end = 3>(q0) s5 = Reshape(sinks, each)"
           " to = Concat<axis = 0>(bs, twos, twos, qs, one) c = Expand(s5, to) j = Concat<axis = -1>(e, c)"
           " p0 = Softmax(j) p = Slice(p0, none, cut, last) o = MatMul(p, v) y = Reshape(o, joined) }";
  };
  const auto runs = [](std::int64_t sinks) {
    return std::vector<std::vector<Shape>>{
        {Shape{2, 4, 5, 3}, Shape{2, 2, 7, 3}, Shape{2, 2, 7, 3}, Shape{2, 1, 5, 7}, Shape{sinks}},
        {Shape{1, 4, 1, 3}, Shape{1, 2, 1, 3}, Shape{1, 2, 1, 3}, Shape{1, 1, 1, 1}, Shape{sinks}}};
  };
  EXPECT_NE(Fused(graph("1, 2, 2, 1, 1", "4"), runs(4)).find("SinkAttention"), std::string::npos);
  // The author says that the sum has the keys of the scores.
  std::string renamed = graph("1, 2, 2, 1, 1", "4", "total");
  renamed.replace(renamed.find("<int64[5] groups"), 1, "<float[b,2,2,s,t] e, ");
  EXPECT_NE(Fused(renamed, runs(4)).find("SinkAttention"), std::string::npos);
  for (const char* shape : {"1, 2, 1, 1, 1", "1, 1, 2, 1, 1"}) {
    const std::string left = Fused(graph(shape, "2"), runs(2));
    EXPECT_NE(left.find("Softmax"), std::string::npos) << "not one for each head: " << left;
  }
}

// With fixed sizes, the column is a constant.
TEST(FuseAttention, TakesSinksThatAreRepeatedAlready) {
  const auto graph = [](const std::string& column) {
    return "g (float[2,2,3,4] q, float[2,2,5,4] k, float[2,2,5,4] v) => (float[2,2,3,4] y)"
           " <float[2,2,3,1] column = {" +
           column +
           "}, int64[1] none = {0}, int64[1] cut = {-1}, int64[1] last = {3}> {"
           " kt = Transpose<perm = [0, 1, 3, 2]>(k) a = MatMul(q, kt) j = Concat<axis = 3>(a, column) p0 = Softmax(j)"
           " p = Slice(p0, none, cut, last) y = MatMul(p, v) }";
  };
  const std::vector<std::vector<Shape>> runs = {{Shape{2, 2, 3, 4}, Shape{2, 2, 5, 4}, Shape{2, 2, 5, 4}}};
  EXPECT_EQ(Fused(graph("1, 1, 1, -2, -2, -2, 1, 1, 1, -2, -2, -2"), runs), "Slice Reshape SinkAttention");
  for (const char* other : {"1, 1, 2, -2, -2, -2, 1, 1, 2, -2, -2, -2", "1, 1, 1, -2, -2, -2, 1, 1, 1, 3, 3, 3"})
    EXPECT_NE(Fused(graph(other), runs).find("Softmax"), std::string::npos) << other;
}

TEST(FuseAttention, LeavesColumnsThatAreNoSinks) {
  const auto left = [](const std::string& column, const std::string& type, const Shape& first, const Shape& second) {
    auto runs = With(Shape{2, 1, 5, 7}, Shape{1, 1, 1, 1});
    runs[0].push_back(first);
    runs[1].push_back(second);
    const std::string text = WithSinks(
        "bs = Shape<start = 0, end = 1>(q) qs = Shape<start = 2, end = 3>(q) to = Concat<axis = 0>(bs, two_heads, qs, "
        "one)"
        " e = Add(a, m) " +
            column + " j = Concat<axis = 3>(e, s5) p0 = Softmax(j) p = Slice(p0, none, cut, last)",
        ", float[b,1,s,t] m, " + type + " sinks");
    const std::string operators = Fused(text, runs);
    EXPECT_NE(operators.find("Softmax"), std::string::npos) << operators << " in " << text;
  };
  left("s5 = Expand(sinks, to)", "float[b,1,1,1]", Shape{2, 1, 1, 1}, Shape{1, 1, 1, 1});  // one for each sequence
  left("s5 = Expand(sinks, to)", "float[s,1]", Shape{5, 1}, Shape{1, 1});                  // one for each row
  left("s5 = Expand(sinks, to)", "float[1,1,1]", Shape{1, 1, 1}, Shape{1, 1, 1});          // one for all heads
  left("s5 = Expand(sinks, to)", "float[2,s,1]", Shape{2, 5, 1}, Shape{2, 1, 1});          // for each head and row
  left("s4 = Exp(a) s5 = ReduceSum(s4, last)", "float[2]", Shape{2}, Shape{2});            // computed from the scores
}

// torch.onnx writes Attention from opset 23 on, behind a cache and the heads that it repeats.
TEST(FuseAttention, TakesTheInputsOfAttentionThatTheAuthorWrote) {
  const auto graph = [](const std::string& attributes, const std::string& shared = "k2, v2") {
    return "g (float[b,s,12] x0, float[b,s,6] x1, float[b,s,6] x2, float[b,2,p,3] pk, float[b,2,p,3] pv, float[b,1,s,n]"
           " m) => (float[b,s,12] y, float[b,2,n,3] nk, float[b,2,n,3] nv)\n"
           "<int64[4] hq = {0, 0, 4, 3}, int64[4] h = {0, 0, 2, 3}, int64[3] w = {0, 0, 12}, int64[1] two = {2},"
           " int64[4] j = {0, 4, -1, 3}, int64[5] r = {1, 1, 2, 1, 1}> {\n"
           "q0 = Reshape(x0, hq) q = Transpose<perm = [0, 2, 1, 3]>(q0)\n"
           "k0 = Reshape(x1, h) k1 = Transpose<perm = [0, 2, 1, 3]>(k0) nk = Concat<axis = 2>(pk, k1)\n"
           "v0 = Reshape(x2, h) v1 = Transpose<perm = [0, 2, 1, 3]>(v0) nv = Concat<axis = -2>(pv, v1)\n"
           "ku = Unsqueeze(nk, two) ke = Expand(ku, r) k2 = Reshape(ke, j)\n"
           "vu = Unsqueeze(nv, two) ve = Expand(vu, r) v2 = Reshape(ve, j)\n"
           "o = Attention<" +
           attributes + ">(q, " + shared + ", m) o1 = Transpose<perm = [0, 2, 1, 3]>(o) y = Reshape(o1, w) }";
  };
  const auto runs = [] {
    std::vector<std::vector<Shape>> all;
    for (const std::int64_t past : {4, 0}) {
      const std::int64_t b = past == 0 ? 1 : 2, s = past == 0 ? 3 : 1, n = past + s;
      all.push_back({Shape{b, s, 12}, Shape{b, s, 6}, Shape{b, s, 6}, Shape{b, 2, past, 3}, Shape{b, 2, past, 3},
                     Shape{b, 1, s, n}});
    }
    return all;
  }();
  EXPECT_EQ(Fused(graph("scale = 0.25"), runs), "Attention");
  EXPECT_EQ(Fused(graph("softcap = 2.0"), runs), "Attention");
  EXPECT_EQ(Fused(graph("scale = 0.25", "nk, nv"), runs), "Attention") << "its heads are grouped already";
  const std::string causal = Fused(graph("is_causal = 1"), runs);
  EXPECT_NE(causal.find("Concat"), std::string::npos) << "with a cache, its rows would be others: " << causal;
  EXPECT_EQ(causal.find("Expand"), std::string::npos) << causal;
}

}  // namespace
}  // namespace sardonyx::optimizer
