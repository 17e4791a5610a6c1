// kernels/attention/attention_test.cpp - attention against float64, on every ISA this machine has.
#include "kernels/attention/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "kernels/attention/attention_rows.h"
#include "kernels/gemm/kernel_test.h"

namespace sardonyx::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Case {
  int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, size = 8, value_size = 8;
  float scale = 0.25f, cap = 0;
  bool causal = false;
  int64_t left = -1, right = -1;
  bool bias = false, second_bias = false, sinks = false, ranges = false;
  bool interleaved = false;  // [batch, sequence, heads, size] instead of [batch, heads, sequence, size]
};

HeadStrides StridesOf(const Case& c, int64_t heads, int64_t rows, int64_t size) {
  if (c.interleaved) return {rows * heads * size, size, heads * size};
  return {heads * rows * size, rows * size, size};
}

// The tensors of a case and what attention makes of them.
struct Problem {
  std::vector<float> q, k, v, y, bias, second_bias, sinks;
  std::vector<int64_t> positions, firsts, counts;
  AttentionF32Args args;
};

Problem Make(const Case& c, std::uint32_t seed) {
  Problem p;
  const auto count = [](int64_t a, int64_t b, int64_t d, int64_t e) { return static_cast<std::size_t>(a * b * d * e); };
  p.q = Random(count(c.batch, c.heads, c.queries, c.size), seed);
  p.k = Random(count(c.batch, c.kv_heads, c.keys, c.size), seed + 1);
  p.v = Random(count(c.batch, c.kv_heads, c.keys, c.value_size), seed + 2);
  p.y.assign(count(c.batch, c.heads, c.queries, c.value_size), -99);
  AttentionF32Args& a = p.args;
  a.batch = c.batch, a.heads = c.heads, a.kv_heads = c.kv_heads, a.queries = c.queries, a.keys = c.keys;
  a.size = c.size, a.value_size = c.value_size, a.scale = c.scale, a.cap = c.cap;
  a.causal = c.causal, a.left = c.left, a.right = c.right;
  a.q = p.q.data(), a.k = p.k.data(), a.v = p.v.data(), a.y = p.y.data();
  a.q_strides = StridesOf(c, c.heads, c.queries, c.size);
  a.k_strides = StridesOf(c, c.kv_heads, c.keys, c.size);
  a.v_strides = StridesOf(c, c.kv_heads, c.keys, c.value_size);
  a.y_strides = StridesOf(c, c.heads, c.queries, c.value_size);
  if (c.bias) {
    p.bias = Random(count(c.batch, c.heads, c.queries, c.keys), seed + 3);
    for (std::size_t i = 0; i < p.bias.size(); i += 7) p.bias[i] = -kInfinity;
    a.bias[0] = {p.bias.data(), c.heads * c.queries * c.keys, c.queries * c.keys, c.keys};
  }
  if (c.second_bias) {
    p.second_bias = Random(count(c.batch, 1, 1, c.keys), seed + 4);
    a.bias[1] = {p.second_bias.data(), c.keys, 0, 0};
  }
  if (c.sinks) {
    p.sinks = Random(static_cast<std::size_t>(c.heads), seed + 5);
    a.sinks = p.sinks.data();
  }
  if (c.ranges) {
    for (int64_t b = 0; b < c.batch; ++b) {
      p.counts.push_back(c.keys - b);
      p.firsts.push_back(b == 0 ? 0 : 1);
      p.positions.push_back(p.counts.back() - c.queries - 2);
    }
    a.position = 2;
    a.counts = p.counts.data(), a.firsts = p.firsts.data(), a.positions = p.positions.data();
  }
  return p;
}

bool Sees(const AttentionF32Args& a, int64_t b, int64_t query, int64_t key) {
  const int64_t at = query + a.position + (a.positions != nullptr ? a.positions[b] : 0);
  if (key < (a.firsts != nullptr ? a.firsts[b] : 0) || key >= (a.counts != nullptr ? a.counts[b] : a.keys))
    return false;
  return (!a.causal || key <= at) && (a.left < 0 || key >= at - a.left) && (a.right < 0 || key <= at + a.right);
}

// The weights of the keys for one query, in float64, before the division; returns their sum.
double WeightsOf(const AttentionF32Args& a, int64_t b, int64_t h, int64_t query, std::vector<double>* weights) {
  const int64_t kv = h / (a.heads / a.kv_heads);
  double top = a.sinks != nullptr ? static_cast<double>(a.sinks[h]) : -HUGE_VAL;
  weights->assign(static_cast<std::size_t>(a.keys), -HUGE_VAL);
  for (int64_t j = 0; j < a.keys; ++j) {
    double s = 0;
    for (int64_t i = 0; i < a.size; ++i) {
      s += static_cast<double>(a.q[b * a.q_strides.batch + h * a.q_strides.head + query * a.q_strides.row + i]) *
           static_cast<double>(a.k[b * a.k_strides.batch + kv * a.k_strides.head + j * a.k_strides.row + i]);
    }
    s *= static_cast<double>(a.scale);
    if (a.cap > 0) s = static_cast<double>(a.cap) * std::tanh(s / static_cast<double>(a.cap));
    for (const ScoreBias& bias : a.bias) {
      if (bias.data == nullptr) continue;
      s += static_cast<double>(bias.data[b * bias.batch + h * bias.head + query * bias.query + j]);
    }
    if (!Sees(a, b, query, j)) s = -HUGE_VAL;
    (*weights)[static_cast<std::size_t>(j)] = s;
    top = std::max(top, s);
  }
  double sum = a.sinks != nullptr ? std::exp(static_cast<double>(a.sinks[h]) - top) : 0;
  for (double& w : *weights) sum += w = top == -HUGE_VAL ? 0 : std::exp(w - top);
  return sum;
}

// Runs with `parallel` and returns the largest error, relative to the largest value (1 at least).
double ErrorOf(Problem& p, Parallel& parallel) {
  Scratch scratch(AttentionF32ScratchBytes(p.args, parallel.ThreadCount()));
  AttentionF32(p.args, parallel, scratch.data());
  const AttentionF32Args& a = p.args;
  double worst = 0, largest = 1;
  std::vector<double> weights;
  for (int64_t b = 0; b < a.batch; ++b) {
    for (int64_t h = 0; h < a.heads; ++h) {
      for (int64_t query = 0; query < a.queries; ++query) {
        const double sum = WeightsOf(a, b, h, query, &weights);
        for (int64_t i = 0; i < a.value_size; ++i) {
          double y = 0;
          for (int64_t j = 0; j < a.keys; ++j) {
            const int64_t kv = h / (a.heads / a.kv_heads);
            y += weights[static_cast<std::size_t>(j)] *
                 static_cast<double>(a.v[b * a.v_strides.batch + kv * a.v_strides.head + j * a.v_strides.row + i]);
          }
          y = sum == 0 ? 0 : y / sum;
          const float got = a.y[b * a.y_strides.batch + h * a.y_strides.head + query * a.y_strides.row + i];
          const double error = std::abs(y - static_cast<double>(got));
          worst = std::isnan(got) ? HUGE_VAL : std::max(worst, error);
          largest = std::max(largest, std::abs(y));
        }
      }
    }
  }
  return worst / largest;
}

template <typename F>
void ForEachIsa(Problem& p, F f) {
  for (const Isa isa : SupportedIsas()) {
    p.args.tiles = &TilesF32(isa);
    p.args.rows = &AttentionRows(isa);
    f(Name(isa));
  }
}

void ExpectClose(const Case& c) {
  Problem p = Make(c, 20);
  ForEachIsa(p, [&](std::string_view isa) {
    Serial serial;
    EXPECT_LT(ErrorOf(p, serial), 3e-6) << isa << ", queries " << c.queries << ", keys " << c.keys << ", size "
                                        << c.size << ", values " << c.value_size;
  });
}

TEST(AttentionF32, MatchesFloat64ForSizesAroundTheVectorsAndBlocks) {
  for (const int64_t size : {1, 5, 16, 33, 64, 80}) {
    for (const int64_t queries : {1, 3, 17, 40}) {
      for (const int64_t keys : {1, 31, 65, 513}) {
        ExpectClose({.heads = 2, .kv_heads = 2, .queries = queries, .keys = keys, .size = size, .value_size = size});
      }
    }
  }
}

TEST(AttentionF32, TakesValuesOfAnotherSizeAndInterleavedHeads) {
  for (const int64_t queries : {2, 30}) {
    ExpectClose({.batch = 2,
                 .heads = 6,
                 .kv_heads = 2,
                 .queries = queries,
                 .keys = 70,
                 .size = 24,
                 .value_size = 37,
                 .interleaved = true});
  }
}

TEST(AttentionF32, MasksCausallyByWindowAndByLength) {
  for (const int64_t queries : {1, 5, 90}) {
    for (const int64_t keys : {90, 600, 1100}) {
      Case c{.batch = 3, .heads = 2, .kv_heads = 1, .queries = queries, .keys = keys, .size = 12, .value_size = 20};
      c.causal = true, c.ranges = true;
      ExpectClose(c);
      c.left = 20;
      ExpectClose(c);
      c.causal = false, c.right = 3;
      ExpectClose(c);
    }
  }
}

TEST(AttentionF32, AddsBiasesCapsAndSinks) {
  for (const int64_t queries : {1, 33}) {
    Case c{.batch = 2, .heads = 4, .kv_heads = 2, .queries = queries, .keys = 530, .size = 16, .value_size = 16};
    c.bias = true;
    ExpectClose(c);
    c.second_bias = c.sinks = true;
    ExpectClose(c);
    c.cap = 1.5f, c.causal = true, c.ranges = true;
    ExpectClose(c);
  }
}

// Biases that mask as exporters write it: keys after the query and before its window, all keys of some queries.
TEST(AttentionF32, LeavesOutWhatBiasesMask) {
  for (const float mask : {-kInfinity, std::numeric_limits<float>::lowest()}) {
    for (const int64_t queries : {1, 3, 90}) {
      for (const int64_t keys : {90, 1100}) {
        for (const int64_t window : {7, 5000}) {
          Case c{.batch = 2, .heads = 4, .kv_heads = 2, .queries = queries, .keys = keys, .size = 12, .value_size = 20};
          Problem p = Make(c, 41);
          for (const bool shared : {true, false}) {
            const int64_t heads = shared ? 1 : c.heads;
            p.bias.assign(static_cast<std::size_t>(c.batch * heads * queries * keys), 0.5f);
            for (int64_t row = 0; row < c.batch * heads * queries; ++row) {
              const int64_t head = row / queries % heads, at = keys - queries + row % queries - 11 * head - 30;
              for (int64_t j = 0; j < keys; ++j)
                if (j > at || j <= at - window || row % 5 == 4) p.bias[static_cast<std::size_t>(row * keys + j)] = mask;
            }
            p.args.bias[0] = {p.bias.data(), heads * queries * keys, shared ? 0 : queries * keys, keys};
            ForEachIsa(p, [&](std::string_view isa) {
              ThreeInTurn three;
              EXPECT_LT(ErrorOf(p, three), 3e-6) << isa << ", mask " << mask << ", queries " << queries << ", keys "
                                                 << keys << ", window " << window << ", shared " << shared;
            });
          }
        }
      }
    }
  }
}

// A cache of a fixed size: its rest is not read, whatever lies there.
TEST(AttentionF32, DoesNotReadWhatAMaskHidesBehindTheKeys) {
  constexpr int64_t kUsed = 70, kKeys = 1300;
  for (const float mask : {-kInfinity, std::numeric_limits<float>::lowest()}) {
    Problem p = Make({.heads = 4, .kv_heads = 2, .queries = 1, .keys = kKeys, .size = 16, .value_size = 16}, 9);
    p.bias.assign(kKeys, 0);
    std::fill(p.bias.begin() + kUsed, p.bias.end(), mask);
    p.args.bias[1] = {p.bias.data(), 0, 0, kKeys};
    std::vector<float> wanted;
    ForEachIsa(p, [&](std::string_view isa) {
      Serial serial;
      EXPECT_LT(ErrorOf(p, serial), 3e-6) << isa;
      wanted = p.y;
      const std::vector<float> k = p.k, v = p.v;
      for (int64_t kv = 0; kv < 2; ++kv) {
        std::fill_n(p.k.begin() + (kv * kKeys + kUsed) * 16, (kKeys - kUsed) * 16, std::nanf(""));
        std::fill_n(p.v.begin() + (kv * kKeys + kUsed) * 16, (kKeys - kUsed) * 16, std::nanf(""));
      }
      Scratch scratch(AttentionF32ScratchBytes(p.args, 1));
      AttentionF32(p.args, serial, scratch.data());
      EXPECT_EQ(p.y, wanted) << isa;
      std::copy(k.begin(), k.end(), p.k.begin());
      std::copy(v.begin(), v.end(), p.v.begin());
    });
  }
}

// The scores of such keys are not known beforehand, but their weights are 0 beside those of other keys of the block.
TEST(AttentionF32, DoesNotReadValuesWhoseWeightsAMaskMakesZero) {
  constexpr int64_t kFirst = 21, kEnd = 70;
  for (const int64_t queries : {1, 3, 30}) {
    const int64_t keys = queries > 3 ? 1300 : kKeyBlock;
    Case c{.heads = 4, .kv_heads = 2, .queries = queries, .keys = keys, .size = 16, .value_size = 16};
    Problem p = Make(c, 9);
    p.bias.assign(static_cast<std::size_t>(keys), -10000);
    std::fill(p.bias.begin() + kFirst, p.bias.begin() + kEnd, 0.0f);
    p.args.bias[0] = {p.bias.data(), 0, 0, 0};
    ForEachIsa(p, [&](std::string_view isa) {
      Serial serial;
      EXPECT_LT(ErrorOf(p, serial), 3e-6) << isa;
      const std::vector<float> wanted = p.y, v = p.v;
      for (int64_t kv = 0; kv < 2; ++kv) {
        const auto end = p.v.begin() + (kv + 1) * keys * 16;
        std::fill(p.v.begin() + (kv * keys + kEnd + 64) * 16, end, std::nanf(""));
      }
      Scratch scratch(AttentionF32ScratchBytes(p.args, 1));
      AttentionF32(p.args, serial, scratch.data());
      EXPECT_EQ(p.y, wanted) << isa << ", queries " << queries;
      p.v = v;
    });
  }
}

TEST(AttentionF32, GivesZerosToAQueryThatSeesNothing) {
  for (const int64_t queries : {2, 20}) {
    Problem p = Make({.queries = queries, .keys = 9}, 5);
    const int64_t none = 0;
    p.args.counts = &none;
    ForEachIsa(p, [&](std::string_view isa) {
      Serial serial;
      EXPECT_EQ(ErrorOf(p, serial), 0) << isa;
    });
  }
}

TEST(AttentionF32, KeepsLargeScoresApartAndNanToItsRow) {
  for (const int64_t queries : {2, 20}) {
    Problem p = Make({.queries = queries, .keys = 700, .size = 16, .value_size = 16, .scale = 100}, 8);
    ForEachIsa(p, [&](std::string_view isa) {
      Serial serial;
      EXPECT_LT(ErrorOf(p, serial), 2e-4) << isa;  // scores of 1,000 are rounded to 6e-5
    });
    p.q[0] = std::numeric_limits<float>::quiet_NaN();
    ForEachIsa(p, [&](std::string_view isa) {
      Serial serial;
      Scratch scratch(AttentionF32ScratchBytes(p.args, 1));
      AttentionF32(p.args, serial, scratch.data());
      EXPECT_TRUE(std::isnan(p.y[0])) << isa;
      EXPECT_FALSE(std::isnan(p.y[16])) << isa;
    });
  }
}

TEST(AttentionF32, StoresTheScoresOfEachStage) {
  Case c{.batch = 2, .heads = 2, .kv_heads = 2, .queries = 20, .keys = 530, .size = 8, .value_size = 8, .cap = 2};
  c.bias = c.causal = c.ranges = true;
  for (const int64_t queries : {2, 20}) {
    c.queries = queries;
    Problem p = Make(c, 31);
    std::vector<float> scores(static_cast<std::size_t>(c.batch * c.heads * c.queries * c.keys));
    p.args.scores = scores.data();
    ForEachIsa(p, [&](std::string_view isa) {
      for (const ScoreStage stage :
           {ScoreStage::kRaw, ScoreStage::kCapped, ScoreStage::kBiased, ScoreStage::kSoftmax}) {
        p.args.stage = stage;
        Serial serial;
        EXPECT_LT(ErrorOf(p, serial), 3e-6) << isa;
        AttentionF32Args plain = p.args;
        if (stage < ScoreStage::kBiased)
          plain.causal = false, plain.counts = plain.firsts = nullptr, plain.bias[0] = {};
        if (stage == ScoreStage::kRaw) plain.cap = 0;
        const int64_t b = 1, h = 1, query = queries - 1;
        std::vector<double> want;
        const double sum = WeightsOf(plain, b, h, query, &want);
        const float* got = scores.data() + ((b * c.heads + h) * c.queries + query) * c.keys;
        for (int64_t j = 0; j < c.keys; ++j) {
          // Scores are compared by their exponentials, but for their maximum.
          const double w = want[static_cast<std::size_t>(j)];
          const double g =
              stage == ScoreStage::kSoftmax
                  ? static_cast<double>(got[j]) * sum
                  : std::exp(static_cast<double>(got[j]) - static_cast<double>(*std::max_element(got, got + c.keys)));
          EXPECT_NEAR(g, w, 2e-6) << isa << " stage " << static_cast<int>(stage) << " key " << j;
        }
      }
    });
  }
}

TEST(AttentionF32, HasTheSameBitsForAnyNumberOfThreads) {
  for (const int64_t queries : {1, 100}) {
    Problem p = Make(
        {.batch = 2, .heads = 4, .kv_heads = 2, .queries = queries, .keys = 1500, .size = 32, .value_size = 32}, 3);
    Serial serial;
    ThreeInTurn three;
    EXPECT_LT(ErrorOf(p, serial), 3e-6);
    const std::vector<float> once = p.y;
    EXPECT_LT(ErrorOf(p, three), 3e-6);
    EXPECT_EQ(once, p.y) << queries;
  }
}

// The queries of a prompt, one by one or few at once behind the keys before them.
TEST(AttentionF32, GivesARowTheSameBitsBehindACacheWhereAsked) {
  constexpr int64_t kLength = 1100;
  for (const int64_t left : {-1, 40}) {
    for (const bool sinks : {false, true}) {
      Case c{.heads = 6, .kv_heads = 2, .queries = kLength, .keys = kLength, .size = 24, .value_size = 20, .cap = 3};
      c.causal = true, c.left = left, c.sinks = sinks;
      Problem p = Make(c, 17);
      p.args.same_rows = true;
      ForEachIsa(p, [&](std::string_view isa) {
        ThreeInTurn three;
        EXPECT_LT(ErrorOf(p, three), 3e-6) << isa;
        for (const int64_t queries : {1, 2, 7}) {
          for (const int64_t keys : {7, 31, 511, 512, 513, 900, 1029, 1100}) {
            std::vector<float> y(static_cast<std::size_t>(c.heads * queries * c.value_size), -99);
            AttentionF32Args a = p.args;
            a.queries = queries, a.keys = keys, a.position = keys - queries;
            a.q += a.position * a.q_strides.row;
            a.y = y.data(), a.y_strides = {0, queries * c.value_size, c.value_size};
            Scratch scratch(AttentionF32ScratchBytes(a, 3));
            AttentionF32(a, three, scratch.data());
            std::vector<float> want;
            for (int64_t h = 0; h < c.heads; ++h) {
              const float* rows = p.y.data() + h * p.args.y_strides.head + a.position * c.value_size;
              want.insert(want.end(), rows, rows + queries * c.value_size);
            }
            EXPECT_EQ(y, want) << isa << ", queries " << queries << ", keys " << keys << ", window " << left;
          }
        }
      });
    }
  }
}

// Rows of 16 bits give the bits of the same numbers as floats, for few and many queries.
TEST(AttentionF32, ReadsKeysAndValuesAsTheyAreStored) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (const int64_t queries : {1, 3, 40}) {
      for (const int64_t keys : {1, 33, 700}) {
        Problem p = Make({.batch = 2,
                          .heads = 6,
                          .kv_heads = 2,
                          .queries = queries,
                          .keys = keys,
                          .size = 20,
                          .value_size = 24,
                          .causal = queries > 1},
                         31);
        std::vector<std::uint16_t> k(p.k.size()), v(p.v.size());
        FromFloats(dtype)(p.k.data(), k.size(), k.data(), 0);
        FromFloats(dtype)(p.v.data(), v.size(), v.data(), 0);
        ToFloats(dtype)(k.data(), 0, k.size(), p.k.data());
        ToFloats(dtype)(v.data(), 0, v.size(), p.v.data());
        ForEachIsa(p, [&](std::string_view isa) {
          ThreeInTurn three;
          ErrorOf(p, three);
          const std::vector<float> want = p.y;
          Problem stored = p;
          stored.args.k = stored.args.v = nullptr;
          stored.args.y = stored.y.data();
          stored.args.to_floats = ToFloats(dtype), stored.args.stored_k = k.data(), stored.args.stored_v = v.data();
          Scratch scratch(AttentionF32ScratchBytes(stored.args, three.ThreadCount()));
          AttentionF32(stored.args, three, scratch.data());
          EXPECT_EQ(stored.y, want) << isa << ", queries " << queries << ", keys " << keys;
        });
      }
    }
  }
}

// Keys or values where attention reads them, `shift` elements behind a line of memory: the new rows at first, and those
// of the past elsewhere, in memory for more rows than are needed.
template <typename T>
struct SplitCache {
  SplitCache(const std::vector<T>& whole, const Case& c, int64_t width, const std::vector<int64_t>& pasts,
             std::size_t behind)
      : past(behind + static_cast<std::size_t>(c.batch * c.kv_heads * (c.keys + 3) * width), T{9}),
        present(2 * behind + whole.size(), T{7}),
        shift(behind) {
    strides = {c.kv_heads * (c.keys + 3) * width, (c.keys + 3) * width, width};
    for (int64_t i = 0; i < c.batch * c.kv_heads; ++i) {
      const int64_t old = pasts[static_cast<std::size_t>(i / c.kv_heads)] * width, head = i * c.keys * width;
      std::copy_n(whole.data() + head, old, past.data() + shift + i * strides.head);
      std::copy_n(whole.data() + head + old, c.keys * width - old, present.data() + shift + head + old);
    }
  }

  PastRows rows() { return {past.data() + shift, present.data() + shift, strides}; }
  // Whether all rows are there, and nothing else was written.
  bool IsWhole(const std::vector<T>& whole) const {
    const auto edge = [](T x) { return x == T{7}; };
    return std::memcmp(present.data() + shift, whole.data(), whole.size() * sizeof(T)) == 0 &&
           std::all_of(present.begin(), present.begin() + static_cast<std::ptrdiff_t>(shift), edge) &&
           std::all_of(present.end() - static_cast<std::ptrdiff_t>(shift), present.end(), edge);
  }

  std::vector<T> past, present;
  std::size_t shift;
  HeadStrides strides;
};

// y has the same bits as with all rows in their place, which they are afterwards. The longest pasts are streamed.
template <typename T>
void ExpectPastsCopied(const Case& c) {
  constexpr bool floats = sizeof(T) == sizeof(float);
  Problem p = Make(c, 41);
  AttentionF32Args& whole = p.args;
  std::vector<T> k(p.k.size()), v(p.v.size());
  if constexpr (floats) {
    k = p.k, v = p.v;
  } else {
    FromFloats(DType::kFloat16)(p.k.data(), k.size(), k.data(), 0);
    FromFloats(DType::kFloat16)(p.v.data(), v.size(), v.data(), 0);
    whole.to_floats = ToFloats(DType::kFloat16), whole.element_bytes = sizeof(T);
  }
  const auto place = [&](AttentionF32Args* a, const void* keys, const void* values) {
    a->k = floats ? static_cast<const float*>(keys) : nullptr;
    a->v = floats ? static_cast<const float*>(values) : nullptr;
    a->stored_k = keys, a->stored_v = values;
  };
  place(&whole, k.data(), v.data());
  const auto run = [](const AttentionF32Args& a) {
    ThreeInTurn three;
    Scratch scratch(AttentionF32ScratchBytes(a, three.ThreadCount()));
    AttentionF32(a, three, scratch.data());
  };
  ForEachIsa(p, [&](std::string_view isa) {
    run(whole);
    for (const std::size_t shift : {0, 1, 5}) {
      const std::vector<int64_t> pasts = {c.keys - c.queries, std::max<int64_t>(0, c.keys - c.queries - 45)};
      SplitCache<T> keys(k, c, c.size, pasts, shift), values(v, c, c.value_size, pasts, shift);
      AttentionF32Args split = whole;
      std::vector<float> y(p.y.size(), -99);
      split.y = y.data();
      split.past_k = keys.rows(), split.past_v = values.rows(), split.pasts = pasts.data();
      place(&split, split.past_k.to, split.past_v.to);
      run(split);
      const std::string what = std::string(isa) + ", queries " + std::to_string(c.queries) + ", keys " +
                               std::to_string(c.keys) + ", window " + std::to_string(c.left) + ", shift " +
                               std::to_string(shift) + ", bytes " + std::to_string(sizeof(T));
      EXPECT_EQ(y, p.y) << what;
      EXPECT_TRUE(keys.IsWhole(k)) << what;
      EXPECT_TRUE(values.IsWhole(v)) << what;
    }
  });
}

TEST(AttentionF32, CopiesAPastBesideItsUse) {
  for (const int64_t queries : {1, 3, 20}) {  // the last are too many to copy beside their use
    for (const int64_t keys : {20, 33, 517, 2817}) {
      for (const int64_t left : {-1, 70}) {
        const Case c{.batch = 2,
                     .heads = 6,
                     .kv_heads = 2,
                     .queries = queries,
                     .keys = keys,
                     .size = 52,
                     .value_size = 44,
                     .causal = true,
                     .left = left,
                     .bias = left < 0,
                     .ranges = true};
        ExpectPastsCopied<float>(c);
        ExpectPastsCopied<std::uint16_t>(c);
      }
    }
  }
}

TEST(AttentionF32, CopiesAPastWithoutQueriesOrValues) {
  for (const Case& c : {Case{.batch = 2, .queries = 0, .keys = 9}, Case{.batch = 2, .keys = 9, .value_size = 0}})
    ExpectPastsCopied<float>(c);
}

TEST(AttentionF32, TakesEmptyTensors) {
  for (const Case& c :
       {Case{.queries = 0}, Case{.keys = 0}, Case{.batch = 0}, Case{.value_size = 0}, Case{.queries = 20, .keys = 0}}) {
    Problem p = Make(c, 1);
    Serial serial;
    EXPECT_EQ(ErrorOf(p, serial), 0);
  }
}

}  // namespace
}  // namespace sardonyx::kernels
