// kernels/attention/attention_rows.isa.cpp - softmax of a block of scores, and products of few queries with keys and
// values that are read once, in place.
#include "kernels/attention/attention_rows.h"

#include "kernels/simd/exp2_f32.h"
#include "kernels/simd/math_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr float kInfinity = __builtin_inff();
constexpr float kLog2E = 1.44269504f;

// Beside scores as far away as a mask of -1e30, x log2(e) - top log2(e) is the rounding of the products and no
// difference; nearer ones are more exact that way, as the first product is not rounded.
bool IsFar(float top) { return top > kFarScore || top < -kFarScore; }

// volatile: rounded by itself, so that all that is measured from `top` is so from the same place.
float InLog2(float top) {
  volatile float rounded = top * kLog2E;
  return rounded;
}

// e^(a - b) for two tops.
float Ratio(float a, float b) {
  return __builtin_exp2f(IsFar(a) || IsFar(b) ? (a - b) * kLog2E : InLog2(a) - InLog2(b));
}

float MaxLane(Vec v) {
  float lanes[kLanes];
  Store(lanes, v);
  float max = lanes[0];
  for (int i = 1; i < kLanes; ++i) max = lanes[i] > max ? lanes[i] : max;
  return max;
}

void Cap(float* x, int64_t count, float cap) {
  const Vec to = Broadcast(1 / cap), from = Broadcast(cap);
  for (int64_t i = 0; i < count; i += kLanes) {
    const Lanes lanes = FirstLanes(count - i);
    Store(x + i, from * Tanh(to * Load(x + i, lanes)), lanes);
  }
}

int64_t RoundToPairs(int64_t count) { return (count + 2 * kLanes - 1) & ~int64_t{2 * kLanes - 1}; }

// Masked scores are -inf before the biases are added: only a bias of +inf could bring them back.
void Bias(ScoreRow* row) {
  float* x = row->x;
  const int64_t padded = RoundToPairs(row->count);
  for (int64_t i = 0; i < row->first; ++i) x[i] = -kInfinity;
  for (int64_t i = row->end; i < padded; ++i) x[i] = -kInfinity;
  const float *b0 = row->bias[0], *b1 = row->bias[1];
  if (b0 == nullptr) b0 = b1, b1 = nullptr;
  Vec max0 = Broadcast(-kInfinity), max1 = max0;
  if (b0 == nullptr) {
    for (int64_t i = 0; i < padded; i += 2 * kLanes) {
      max0 = Max(max0, Load(x + i));
      max1 = Max(max1, Load(x + i + kLanes));
    }
  } else {
    for (int64_t i = 0; i < row->count; i += kLanes) {
      const Lanes lanes = FirstLanes(row->count - i);
      Vec s = Load(x + i) + Load(b0 + i, lanes);
      if (b1 != nullptr) s += Load(b1 + i, lanes);
      Store(x + i, s);
      max0 = Max(max0, s);
    }
  }
  const float block = MaxLane(Max(max0, max1));
  const float top = block > row->top ? block : row->top;
  row->keep = row->top == top ? 1 : row->top == -kInfinity ? 0 : Ratio(row->top, top);
  row->top = top;
}

template <bool kFar>
void ExponentialsFrom(ScoreRow* row, float from) {
  float* x = row->x;
  const int64_t padded = RoundToPairs(row->count);
  const Vec top = Broadcast(from), log2e = Broadcast(kLog2E);
  const auto exponent = [&](auto score) {
    if constexpr (kFar) return (score - top) * log2e;
    return score * log2e - top;
  };
  Vec sum0 = Broadcast(0), sum1 = sum0;
  int64_t i = 0;
  for (; i + 4 * kLanes <= padded; i += 4 * kLanes) {
    const auto e = Exp2OfNegative(exponent(ForEach<4>([&](int k) { return Load(x + i + k * kLanes); })));
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) Store(x + i + k * kLanes, e.v[k]);
    sum0 += e.v[0], sum1 += e.v[1];
    sum0 += e.v[2], sum1 += e.v[3];
  }
  if (i < padded) {
    const Vec a = Exp2OfNegative(exponent(Load(x + i))), b = Exp2OfNegative(exponent(Load(x + i + kLanes)));
    Store(x + i, a);
    Store(x + i + kLanes, b);
    sum0 += a;
    sum1 += b;
  }
  row->sum = row->sum * row->keep + Sum(sum0 + sum1);
}

void Exponentials(ScoreRow* row) {
  const float top = row->top == -kInfinity ? 0 : row->top;
  if (IsFar(top)) return ExponentialsFrom<true>(row, top);
  ExponentialsFrom<false>(row, InLog2(top));
}

void Scale(const float* x, int64_t n, float factor, float* y) {
  const Vec f = Broadcast(factor);
  for (int64_t i = 0; i < n; i += kLanes) {
    const Lanes lanes = FirstLanes(n - i);
    Store(y + i, Load(x + i, lanes) * f, lanes);
  }
}

// Four keys against R queries; the keys from `keys` on repeat the last.
template <int R>
void FourScores(const FewArgs& a, int64_t j) {
  const int64_t keys = a.keys - j < 4 ? a.keys - j : 4;
  const float* k[4];
  for (int64_t i = 0; i < 4; ++i) k[i] = a.kv + (j + (i < keys ? i : keys - 1)) * a.kv_stride;
  Vec acc[R][4];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) acc[r][i] = Broadcast(0);
  int64_t c = 0;
  for (; c + kLanes <= a.size; c += kLanes) {
    Vec kv[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) kv[i] = Load(k[i] + c);
    if (a.ahead != 0)
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) Prefetch(reinterpret_cast<const char*>(k[i] + c + a.ahead));
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const Vec q = Load(a.q + r * a.q_stride + c);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) acc[r][i] += q * kv[i];
    }
  }
  if (c < a.size) {
    const Lanes lanes = FirstLanes(a.size - c);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const Vec q = Load(a.q + r * a.q_stride + c, lanes);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) acc[r][i] += q * Load(k[i] + c, lanes);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    const Quad all = SumLanes(acc[r][0], acc[r][1], acc[r][2], acc[r][3]);
    StoreFirst(a.y + r * a.y_stride + j, all, keys);
  }
}

template <int R>
void Scores(const FewArgs& a) {
  for (int64_t j = 0; j < a.keys; j += 4) FourScores<R>(a, j);
}

// V vectors of columns from c on; the last may be cut off.
template <int R, int V>
void SumColumns(const FewArgs& a, int64_t c) {
  const Lanes lanes = FirstLanes(a.size - c - (V - 1) * kLanes);
  Vec acc[R][V];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int i = 0; i < V; ++i) acc[r][i] = Broadcast(0);
  const float* v = a.kv + c;
  for (int64_t j = 0; j < a.keys; ++j) {
    Vec kv[V];
#pragma GCC unroll 4
    for (int i = 0; i + 1 < V; ++i) kv[i] = Load(v + i * kLanes);
    kv[V - 1] = Load(v + (V - 1) * kLanes, lanes);
    if (a.ahead != 0)
#pragma GCC unroll 4
      for (int i = 0; i < V; ++i) Prefetch(reinterpret_cast<const char*>(v + i * kLanes + a.ahead));
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const Vec p = Broadcast(a.q[r * a.q_stride + j]);
#pragma GCC unroll 4
      for (int i = 0; i < V; ++i) acc[r][i] += p * kv[i];
    }
    v += a.kv_stride;
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    float* y = a.y + r * a.y_stride + c;
#pragma GCC unroll 4
    for (int i = 0; i + 1 < V; ++i) Store(y + i * kLanes, Load(y + i * kLanes) + acc[r][i]);
    Store(y + (V - 1) * kLanes, Load(y + (V - 1) * kLanes, lanes) + acc[r][V - 1], lanes);
  }
}

constexpr int kWide = kLanes == 16 ? 4 : 2;  // vectors of columns that sixteen or thirty-two registers hold

template <int R>
void Values(const FewArgs& a) {
  int64_t c = 0;
  for (; c + kWide * kLanes <= a.size; c += kWide * kLanes) SumColumns<R, kWide>(a, c);
  for (; c + kLanes < a.size; c += 2 * kLanes) SumColumns<R, 2>(a, c);
  if (c < a.size) SumColumns<R, 1>(a, c);
}

// Sixteen registers hold the sums of two rows at most: then the rows are halved.
template <int R>
void ScoresOrHalves(const FewArgs& a) {
  if constexpr (kLanes == 16 || R <= 2) return Scores<R>(a);
  Scores<2>(a);
  FewArgs rest = a;
  rest.q += 2 * a.q_stride;
  rest.y += 2 * a.y_stride;
  Scores<R == 3 ? 1 : 2>(rest);
}

void FewScores(const FewArgs& a) {
  switch (a.rows) {
    case 1:
      return ScoresOrHalves<1>(a);
    case 2:
      return ScoresOrHalves<2>(a);
    case 3:
      return ScoresOrHalves<3>(a);
    default:
      return ScoresOrHalves<4>(a);
  }
}
void FewValues(const FewArgs& a) {
  switch (a.rows) {
    case 1:
      return Values<1>(a);
    case 2:
      return Values<2>(a);
    case 3:
      return Values<3>(a);
    default:
      return Values<4>(a);
  }
}

constexpr AttentionRowsSet kSet = {
    .isa = Isa::SDX_ISA,
    .cap = Cap,
    .bias = Bias,
    .exponentials = Exponentials,
    .ratio = Ratio,
    .scale = Scale,
    .few_scores = FewScores,
    .few_values = FewValues,
};

}  // namespace

const AttentionRowsSet& AttentionRowsOfIsa() { return kSet; }

}  // namespace sardonyx::kernels::SDX_ISA
