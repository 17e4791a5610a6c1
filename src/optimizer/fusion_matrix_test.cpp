// optimizer/fusion_matrix_test.cpp - each fusion of the whole pipeline in several opsets, sizes and element types, with
// swapped operands, with and without a mask, and with a near miss that must stay; values are the same as without
// optimization.
//
// To cover another fusion: a function that writes its graph, and its rows in a test.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "testing/pass_test.h"
#include "testing/random_tensor.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::GraphOf;
using ::sardonyx::testing::Operators;
using ::sardonyx::testing::RandomTensors;
using ::sardonyx::testing::RunPipeline;

struct Setting {
  std::string dtype = "float";
  int opset = 17;
  bool swapped = false;  // operands of commutative nodes
};
const std::vector<Setting> kSettings = {
    {"float", 11, false}, {"float", 13, true}, {"float", 17, false}, {"float", 21, true}, {"float16", 17, false},
};

std::string Both(const std::string& op, const std::string& a, const std::string& b, const Setting& s) {
  return s.swapped ? op + "(" + b + ", " + a + ")" : op + "(" + a + ", " + b + ")";
}
std::string Header(const Setting& s) {
  return "<ir_version: 8, opset_import: [\"\" : " + std::to_string(s.opset) + "]> ";
}
DType TypeOf(const Setting& s) { return s.dtype == "float" ? DType::kFloat : DType::kFloat16; }

// Runs the whole pipeline; both graphs compute the same from `inputs`. The operators that are left.
std::string Optimized(const std::string& text, const std::vector<Value>& inputs, Level level = Level::kExtended) {
  const ops::Registry registry;
  Graph plain = GraphOf(text, registry), graph = plain;
  OptimizeOptions off, options;
  off.level = Level::kDisable;
  options.level = level;
  RunPipeline(plain, registry, off);
  RunPipeline(graph, registry, options);
  testing::ExpectSameValues(graph, plain, registry, inputs);
  return Operators(graph);
}

void ExpectHas(const std::string& operators, const std::string& wanted, const std::string& text) {
  EXPECT_NE((" " + operators + " ").find(" " + wanted + " "), std::string::npos)
      << "expected " << wanted << ", found " << operators << " in\n"
      << text;
}
void ExpectLacks(const std::string& operators, const std::string& unwanted, const std::string& text) {
  EXPECT_EQ((" " + operators + " ").find(" " + unwanted + " "), std::string::npos) << operators << " in\n" << text;
}

// ---- Attention

struct Heads {
  int count, size;
};
enum class Mask { kNone, kAdded, kBoolean, kFilled };

// Projections [b, s, h * d] as encoders of the BERT kind write them.
std::string AttentionText(const Setting& s, Heads h, Mask mask, const std::string& axis = "-1") {
  const std::string hidden = std::to_string(h.count * h.size), t = s.dtype;
  std::string inputs =
      t + "[b,s," + hidden + "] q0, " + t + "[b,t," + hidden + "] k0, " + t + "[b,t," + hidden + "] v0";
  std::string scores = "c = " + Both("Mul", "a", "scale", s) + "\n";
  if (mask == Mask::kNone) scores += "m = Identity(c)\n";
  if (mask == Mask::kAdded) {
    inputs += ", " + t + "[b,1,1,t] mask";
    scores += "m = " + Both("Add", "c", "mask", s) + "\n";
  }
  if (mask == Mask::kBoolean || mask == Mask::kFilled) {
    inputs += ", bool[b,1,s,t] mask";
    scores += mask == Mask::kBoolean ? "m = Where(mask, c, fill)\n" : "n = Not(mask) m = Where(n, fill, c)\n";
  }
  return Header(s) + "g (" + inputs + ") => (" + t + "[b,s," + hidden + "] y)\n<int64[4] heads = {0, 0, " +
         std::to_string(h.count) + ", " + std::to_string(h.size) + "}, int64[3] whole = {0, 0, " + hidden + "}, " + t +
         " scale = {0.5}, " + t + " fill = {" + (mask == Mask::kBoolean ? "-inf" : "-65504.0") + "}> {\n" +
         "q1 = Reshape(q0, heads) q = Transpose<perm = [0, 2, 1, 3]>(q1)\n"
         "k1 = Reshape(k0, heads) k = Transpose<perm = [0, 2, 3, 1]>(k1)\n"
         "v1 = Reshape(v0, heads) v = Transpose<perm = [0, 2, 1, 3]>(v1)\n"
         "a = MatMul(q, k)\n" +
         scores + "p = Softmax<axis = " + axis +
         ">(m)\n"
         "o = MatMul(p, v) o1 = Transpose<perm = [0, 2, 1, 3]>(o) y = Reshape(o1, whole) }";
}

std::vector<Value> AttentionInputs(RandomTensors& random, const Setting& s, Heads h, Mask mask, std::int64_t rows,
                                   std::int64_t keys, bool hide_all) {
  const std::int64_t hidden = std::int64_t{h.count} * h.size;
  std::vector<Value> inputs;
  for (const std::int64_t length : {rows, keys, keys})
    inputs.emplace_back(random.Uniform(TypeOf(s), Shape{2, length, hidden}));
  if (mask == Mask::kAdded) inputs.emplace_back(random.Uniform(TypeOf(s), Shape{2, 1, 1, keys}));
  if (mask == Mask::kBoolean || mask == Mask::kFilled) {
    Tensor allowed(DType::kBool, Shape{2, 1, rows, keys});
    for (std::int64_t i = 0; i < allowed.count(); ++i) allowed.data<bool>()[i] = i % 3 != 0 || i % keys == 0;
    for (std::int64_t i = 0; hide_all && i < keys; ++i) allowed.data<bool>()[i] = false;  // the first row
    inputs.emplace_back(std::move(allowed));
  }
  return inputs;
}

TEST(FusionMatrix, Attention) {
  RandomTensors random;
  for (const Setting& s : kSettings) {
    for (const Heads h : {Heads{2, 8}, Heads{3, 5}, Heads{1, 4}}) {
      for (const Mask mask : {Mask::kNone, Mask::kAdded, Mask::kBoolean, Mask::kFilled}) {
        const std::string text = AttentionText(s, h, mask);
        ExpectHas(Optimized(text, AttentionInputs(random, s, h, mask, 4, 7, false)), "Attention", text);
        Optimized(text, AttentionInputs(random, s, h, mask, 1, 1, false));
      }
    }
  }
}

// A row that sees no key: NaN where -infinity is filled in, the mean of all values where a finite number is.
TEST(FusionMatrix, AttentionWithNothingToAttendTo) {
  RandomTensors random;
  for (const Mask mask : {Mask::kBoolean, Mask::kFilled}) {
    const std::string text = AttentionText({}, {2, 8}, mask);
    ExpectHas(Optimized(text, AttentionInputs(random, {}, {2, 8}, mask, 4, 7, true)), "Attention", text);
  }
  Tensor added = random.Uniform(DType::kFloat, Shape{2, 1, 1, 7});
  for (std::int64_t i = 0; i < 7; ++i) added.data<float>()[i] = -std::numeric_limits<float>::infinity();
  std::vector<Value> inputs = AttentionInputs(random, {}, {2, 8}, Mask::kNone, 4, 7, false);
  inputs.emplace_back(std::move(added));
  Optimized(AttentionText({}, {2, 8}, Mask::kAdded), inputs);
}

TEST(FusionMatrix, AttentionLeavesAnotherAxis) {
  RandomTensors random;
  const std::string text = AttentionText({}, {2, 8}, Mask::kNone, "-2");
  ExpectLacks(Optimized(text, AttentionInputs(random, {}, {2, 8}, Mask::kNone, 4, 7, false)), "Attention", text);
}

// ---- Normalizations

std::string NormText(const Setting& s, int size, bool bias, const std::string& exponent = "2.0") {
  const std::string t = s.dtype, n = std::to_string(size);
  const auto mean = [&](const std::string& of) {
    return s.opset < 18 ? "ReduceMean<axes = [-1]>(" + of + ")" : "ReduceMean(" + of + ", last)";
  };
  std::string scale = "1.0", shift = "0.5";  // with a point: integers would be the bits of a half
  for (int i = 1; i < size; ++i) {
    scale += ", " + std::to_string(i % 3) + ".0";
    shift += ", " + std::to_string(i % 5) + ".0";
  }
  return Header(s) + "g (" + t + "[b,s," + n + "] x) => (" + t + "[b,s," + n + "] y)\n<" + t + "[" + n + "] w = {" +
         scale + "}, " + t + "[" + n + "] c = {" + shift + "}, " + t + " eps = {0.01}, " + t + " two = {" + exponent +
         "}, int64[1] last = {-1}> {\nm = " + mean("x") + " d = Sub(x, m) q = Pow(d, two) v = " + mean("q") +
         "\ne = " + Both("Add", "v", "eps", s) + " r = Sqrt(e) z = Div(d, r) u = " + Both("Mul", "z", "w", s) +
         (bias ? " y = " + Both("Add", "u", "c", s) : " y = Identity(u)") + " }";
}

TEST(FusionMatrix, LayerNormalization) {
  RandomTensors random;
  for (const Setting& s : kSettings) {
    for (const int size : {8, 5, 33}) {
      for (const bool bias : {true, false}) {
        const std::string text = NormText(s, size, bias);
        ExpectHas(Optimized(text, {random.Uniform(TypeOf(s), Shape{2, 3, size})}), "LayerNormalization", text);
      }
    }
  }
  const std::string miss = NormText({}, 8, true, "3.0");
  ExpectLacks(Optimized(miss, {random.Uniform(DType::kFloat, Shape{2, 3, 8}, 0.5, 1)}), "LayerNormalization", miss);
}

std::string RmsText(const Setting& s, int size, const std::string& one = "1.0") {
  const std::string t = s.dtype, n = std::to_string(size);
  std::string scale = "1.0";
  for (int i = 1; i < size; ++i) scale += ", " + std::to_string(i % 3) + ".0";
  const std::string mean = s.opset < 18 ? "ReduceMean<axes = [-1]>(q)" : "ReduceMean(q, last)";
  return Header(s) + "g (" + t + "[b,s," + n + "] x, " + t + "[b,s," + n + "] z) => (" + t + "[b,s," + n + "] y, " + t +
         "[b,s," + n + "] o)\n<" + t + "[" + n + "] w = {" + scale + "}, " + t + " eps = {0.01}, " + t +
         " two = {2.0}, " + t + " one = {" + one + "}, int64[1] last = {-1}> {\nsum = " + Both("Add", "x", "z", s) +
         " q = Pow(sum, two) v = " + mean + " e = " + Both("Add", "v", "eps", s) +
         " r = Sqrt(e) i = Div(one, r) u = " + Both("Mul", "sum", "i", s) + " y = " + Both("Mul", "u", "w", s) +
         " a = Abs(sum) o = Neg(a) }";
}

TEST(FusionMatrix, SkipRmsNormalization) {
  RandomTensors random;
  for (const Setting& s : kSettings) {
    for (const int size : {8, 5}) {
      const std::string text = RmsText(s, size);
      const auto inputs = [&](std::int64_t rows) {
        return std::vector<Value>{random.Uniform(TypeOf(s), Shape{2, rows, size}),
                                  random.Uniform(TypeOf(s), Shape{2, rows, size})};
      };
      ExpectHas(Optimized(text, inputs(3)), "SkipSimplifiedLayerNormalization", text);
      Optimized(text, inputs(1));
    }
  }
  const std::string miss = RmsText({}, 8, "2.0");
  ExpectLacks(
      Optimized(miss, {random.Uniform(DType::kFloat, Shape{2, 3, 8}), random.Uniform(DType::kFloat, Shape{2, 3, 8})}),
      "SkipSimplifiedLayerNormalization", miss);
}

std::string EmbeddingText(const Setting& s, const std::string& ids, const std::string& sum) {
  const std::string t = s.dtype;
  return Header(s) + "g (" + ids + "[b,s] i, " + ids + "[b,s] k) => (" + t + "[b,s,2] y)\n<" + t +
         "[3,2] words = {1.0,2.0,3.0,4.0,5.0,6.0}, " + t + "[4,2] places = {1.0,0.0,2.0,0.0,3.0,0.0,4.0,1.0}, " + t +
         "[2,2] kinds = {0.5,1.0,2.0,3.0}, " + t +
         "[2] w = {1.0, 2.0}, int64[1,4] rows = {0, 1, 2, 3}, int64[1] zero = {0}, int64[1] one = {1}> {\n" +
         "n = Shape(k) n1 = Gather(n, one) p = Slice(rows, zero, n1, one)\n"
         "e = Gather(words, i) f = Gather(places, p) h = Gather(kinds, k)\n" +
         sum + " y = LayerNormalization(a, w, w) }";
}

TEST(FusionMatrix, EmbeddingAndLayerNormalization) {
  RandomTensors random;
  for (const Setting& s : kSettings) {
    if (s.opset < 17) continue;  // LayerNormalization is an operator since 17
    const std::string sum = "u = " + Both("Add", "e", "f", s) + " a = " + Both("Add", "u", "h", s);
    for (const DType ids : {DType::kInt64, DType::kInt32}) {
      const std::string text = EmbeddingText(s, ids == DType::kInt64 ? "int64" : "int32", sum);
      for (const std::int64_t rows : {3, 1}) {
        const std::string left =
            Optimized(text, {random.Uniform(ids, Shape{2, rows}, -3, 2), random.Uniform(ids, Shape{2, rows}, 0, 1)});
        if (s.dtype != "float") continue;  // halves are gathered as such and widened behind
        ExpectHas(left, "EmbedLayerNormalization", text);
        ExpectLacks(left, "Add", text);
      }
    }
  }
  const std::string miss = EmbeddingText({}, "int64", "u = Sub(e, f) a = Add(u, h)");
  const std::vector<Value> inputs = {random.Uniform(DType::kInt64, Shape{2, 3}, 0, 2),
                                     random.Uniform(DType::kInt64, Shape{2, 3}, 0, 1)};
  ExpectLacks(Optimized(miss, inputs), "EmbedLayerNormalization", miss);
}

// ---- Activations, behind a product so that the elementwise pass does not hide them

std::string ActivationText(const Setting& s, const std::string& body, int size) {
  const std::string t = s.dtype, n = std::to_string(size);
  return Header(s) + "g (" + t + "[b," + n + "] x0, " + t + "[" + n + "," + n + "] w) => (" + t + "[b," + n +
         "] y)\n<" + t + " half = {0.5}, " + t + " one = {1.0}, " + t + " root = {1.41421356}, " + t +
         " k = {1.702}, " + t + " three = {3.0}, " + t + " six = {6.0}, " + t + " zero = {0.0}, " + t +
         " cubic = {0.044715}, " + t + " wide = {0.7978845608}> {\nx = MatMul(x0, w)\n" + body + " }";
}

TEST(FusionMatrix, ActivationsBehindAProduct) {
  RandomTensors random;
  for (const Setting& s : kSettings) {
    const std::vector<std::string> spellings = {
        "y = Relu(x)",
        "y = Sigmoid(x)",
        "y = Tanh(x)",
        "g1 = Sigmoid(x) y = " + Both("Mul", "x", "g1", s),
        "g0 = " + Both("Mul", "x", "k", s) + " g1 = Sigmoid(g0) y = " + Both("Mul", "x", "g1", s),
        "d = Div(x, root) e = Erf(d) f = " + Both("Add", "e", "one", s) + " g1 = " + Both("Mul", "x", "f", s) +
            " y = " + Both("Mul", "g1", "half", s),
        "c = Pow(x, three) d = " + Both("Mul", "c", "cubic", s) + " e = " + Both("Add", "x", "d", s) +
            " f = " + Both("Mul", "e", "wide", s) + " h = Tanh(f) i = " + Both("Add", "h", "one", s) +
            " j = " + Both("Mul", "x", "half", s) + " y = " + Both("Mul", "j", "i", s),
        "a = " + Both("Add", "x", "three", s) +
            " c = Clip(a, zero, six) d = Div(c, six) y = " + Both("Mul", "x", "d", s),
    };
    for (const int size : {8, 3}) {
      for (const std::string& body : spellings) {
        const std::string text = ActivationText(s, body, size);
        const auto inputs = [&](std::int64_t rows) {
          return std::vector<Value>{random.Uniform(TypeOf(s), Shape{rows, size}),
                                    random.Uniform(TypeOf(s), Shape{size, size})};
        };
        const std::string left = Optimized(text, inputs(5));
        ExpectLacks(left, "Mul", text);
        if (s.dtype == "float") {
          EXPECT_EQ(left, "FusedMatMul") << text;
        }
        Optimized(text, inputs(1));
      }
    }
  }
  for (const char* miss : {"n = Neg(x) g1 = Sigmoid(n) y = Mul(x, g1)",
                           "d = Div(x, root) e = Erf(d) f = Add(e, half) g1 = Mul(x, f) y = Mul(g1, half)"}) {
    const std::string text = ActivationText({}, miss, 8);
    EXPECT_NE(Optimized(text, {random.Uniform(DType::kFloat, Shape{5, 8}), random.Uniform(DType::kFloat, Shape{8, 8})}),
              "FusedMatMul")
        << text;
  }
}

// ---- Products and convolutions

TEST(FusionMatrix, ConvolutionWithBatchNormActivationAndResidual) {
  RandomTensors random;
  for (const Setting& s : kSettings) {
    for (const int size : {5, 8}) {
      const std::string t = s.dtype, n = std::to_string(size);
      const std::string text = Header(s) + "g (" + t + "[b,2," + n + "," + n + "] x) => (" + t + "[b,2," + n + "," + n +
                               "] y)\n<" + t + "[2,2,1,1] w = {1.0, 2.0, 3.0, 4.0}, " + t + "[2] one = {1.0, 2.0}, " +
                               t +
                               "[2] var = {0.5, 2.0}> {\n"
                               "a = Conv(x, w) n = BatchNormalization(a, one, one, one, var) r = " +
                               Both("Add", "n", "x", s) + " y = Relu(r) }";
      EXPECT_NE(Optimized(text, {random.Uniform(TypeOf(s), Shape{2, 2, size, size})}).find("FusedConv"),
                std::string::npos)
          << text;
      ExpectLacks(Optimized(text, {random.Uniform(TypeOf(s), Shape{1, 2, size, size})}), "BatchNormalization", text);
    }
  }
  const std::string miss =
      "g (float[1,2,5,5] x, float[2,2,1,1] w) => (float[1,2,5,5] y) <float[2] one = {1, 2}> {"
      "a = Conv(x, w) y = BatchNormalization(a, one, one, one, one) }";
  const std::string left = Optimized(
      miss, {random.Uniform(DType::kFloat, Shape{1, 2, 5, 5}), random.Uniform(DType::kFloat, Shape{2, 2, 1, 1})});
  ExpectHas(left, "Conv", miss);
}

TEST(FusionMatrix, ProductsWithTransposeScaleAndBias) {
  RandomTensors random;
  for (const Setting& s : kSettings) {
    for (const int size : {4, 7}) {
      const std::string t = s.dtype, n = std::to_string(size);
      const std::string text = Header(s) + "g (" + t + "[b," + n + ",3] x, " + t + "[b," + n + ",5] z) => (" + t +
                               "[b,3,5] y)\n<" + t + " k = {0.25}, " + t +
                               "[5] c = {1.0, 2.0, 3.0, 4.0, 5.0}> {\n"
                               "u = Transpose<perm = [0, 2, 1]>(x) m = MatMul(u, z) a = " +
                               Both("Mul", "m", "k", s) + " y = " + Both("Add", "a", "c", s) + " }";
      const std::string left =
          Optimized(text, {random.Uniform(TypeOf(s), Shape{2, size, 3}), random.Uniform(TypeOf(s), Shape{2, size, 5})});
      ExpectHas(left, "FusedMatMul", text);
      if (s.dtype == "float") ExpectLacks(left, "Transpose", text);  // halves are moved as such and widened behind
      ExpectLacks(left, "Add", text);
    }
  }
  const std::string miss =
      "g (float[3,2,4] x, float[2,4,5] z) => (float[2,3,5] y) { u = Transpose<perm = [1, 0, 2]>(x) y = MatMul(u, z) }";
  const std::vector<Value> inputs = {random.Uniform(DType::kFloat, Shape{3, 2, 4}),
                                     random.Uniform(DType::kFloat, Shape{2, 4, 5})};
  ExpectHas(Optimized(miss, inputs), "Transpose", miss);
}

}  // namespace
}  // namespace sardonyx::optimizer
