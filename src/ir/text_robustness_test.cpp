// ir/text_robustness_test.cpp - 20,000 damaged texts: each is either read or refused with an Error.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace sardonyx {
namespace {

const std::vector<std::string>& Seeds() {
  static const std::vector<std::string> seeds = {
      R"(<ir_version: 8, opset_import: ["" : 18, "local" : 1], metadata_props: ["k": "v"], doc_string: "a\"b">
"main/g" (float[batch,"seq + 1",?] x, int64[2] d = {1, -2}, seq(float[2]) s, map(string, float[]) m, u) => (float[N] y, z)
<float[2] w = {0.1, -nan}, int4[3] p = {33, 3}, string[2] st = {"a", ""}, complex64[1] c = {1, 2}, float[N] t> {
  [n] t = Mul(x, w)  # comment
  q, "", r = local.f:over <alpha = 2.0, beta: ints = [], g: string = ""> (t, "", c)
  y, z = If(u) <then_branch = th () => (a, t) <float k = {1}> { a = Add(x, k) }, else_branch = el () => (b, e) {
    b, e = Loop(x) <body = bo () => (rr) { rr = Neg(q) }> }>
}
<domain: "local", opset_import: ["" : 17], overload: "over">
f <alpha, beta = [1, 2]> (a, b, c) => (x, y, z) { x = Elu <alpha: float = @alpha> (a) y = Neg(b) z = Abs(c) })",
      R"(g (x) => (y) { y = Op <i = -9223372036854775808, f = 1e-05, t = float[2] {1, 2.5}, tp = seq(float[N]),
  fs = [1.0, inf], is = [1, 2], ss = ["a", ""], gs = [g1 () => (x) {}, "g 2" () => (x) {}], ts = [float {1}, int64[1] {2}],
  tps = [float[2], optional(int64)], sp = sparse_tensor(float[3,4]) {1, 2} int64[2] {3, 11}> (x) })",
      R"(h () => (w) <uint64[1] w = {18446744073709551615}, float16[2] f = {15360, 2.0}, bool[1] b = {1}, double e = {1e300},
  float[2,0,3] none = {}, float8e4m3fn[1] f8 = {255}, uint2[5] u = {3, 0, 1, 2, 3}> {})",
  };
  return seeds;
}

const std::vector<std::string>& Tokens() {
  static const std::vector<std::string> tokens = {"(",
                                                  ")",
                                                  "{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  "<",
                                                  ">",
                                                  "=>",
                                                  "=",
                                                  ",",
                                                  ":",
                                                  "@",
                                                  "\"",
                                                  "\\",
                                                  "#",
                                                  "-",
                                                  "?",
                                                  ".",
                                                  "float",
                                                  "int4",
                                                  "seq(",
                                                  "nan",
                                                  "1e999",
                                                  "1",
                                                  "99999999999999999999",
                                                  "9223372036854775807",
                                                  "a",
                                                  "x",
                                                  "g () => (",
                                                  "If(x) <b = ",
                                                  "float[",
                                                  "\n",
                                                  "",
                                                  std::string(1, '\0'),
                                                  "\xff",
                                                  "sparse_tensor(",
                                                  "complex128",
                                                  "string",
                                                  "4611686018427387904,4"};
  return tokens;
}

std::string Damaged(std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::string text = Seeds()[below(Seeds().size())];
  for (std::size_t edits = below(3) == 0 ? 1 + below(8) : 1; edits != 0; --edits) {
    const std::size_t at = below(text.size() + 1), length = below(12);
    switch (below(7)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, Tokens()[below(Tokens().size())]);
        break;
      case 2:
        text = text.replace(at, length, Tokens()[below(Tokens().size())]);
        break;
      case 3:
        text.insert(at, text.substr(below(text.size() + 1), below(80)));
        break;
      case 4:
        text.resize(at);
        break;
      case 5:  // another digit: most such texts stay models
        for (std::size_t i = at; i < text.size(); ++i) {
          if (text[i] < '0' || text[i] > '9') continue;
          text[i] = static_cast<char>('0' + below(10));
          break;
        }
        break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(random());
        break;
    }
  }
  return text;
}

TEST(TextRobustness, UndamagedTextsAreRead) {
  for (const std::string& text : Seeds()) EXPECT_NO_THROW(ParseModel(text));
}

TEST(TextRobustness, DamagedTextsAreReadOrRefused) {
  constexpr std::uint64_t kSeed = 20261121;
  std::mt19937_64 random(kSeed);
  int read = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string text = Damaged(random);
    SCOPED_TRACE("text " + std::to_string(i) + " of seed " + std::to_string(kSeed) + ":\n" + text);
    try {
      const Model model = ParseModel(text);
      Verify(model.graph);
      const std::string printed = ToText(model);
      ASSERT_EQ(ToText(ParseModel(printed)), printed);
      ++read;
    } catch (const Error& error) {
      ASSERT_TRUE(error.code() == Code::kInvalidGraph || error.code() == Code::kNotImplemented) << error.what();
      ASSERT_NE(std::string(error.what()).find("expected "), std::string::npos) << error.what();
      ++refused;
    }
  }
  // Both must happen often, or the damage is not of the right kind.
  EXPECT_GT(read, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace sardonyx
