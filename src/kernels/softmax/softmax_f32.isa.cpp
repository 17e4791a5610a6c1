// kernels/softmax/softmax_f32.isa.cpp - softmax of rows and columns, one source for every ISA.
#include "kernels/softmax/softmax_f32.h"

#include "kernels/simd/fold_f32.h"
#include "kernels/simd/math_f32.h"
#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr float kInfinity = __builtin_inff();

template <typename V>
V Greater(V acc, V x) {
  return (x > acc) | (x != x) ? x : acc;
}

// The same, faster: Max keeps its second operand if that is a NaN.
Vec GreaterOf(Vec acc, Vec x) { return x != x ? x : Max(x, acc); }

// e^x for x <= 0, exactly 0 where masks put -inf.
Vec ExpOfNegative(Vec x) { return x < Broadcast(-87.0f) ? Broadcast(0.0f) : Exp(x); }

float RowMax(const float* x, int64_t n) {
  Vec max = Broadcast(-kInfinity), max2 = max;
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    max = GreaterOf(max, Load(x + i));
    max2 = GreaterOf(max2, Load(x + i + kLanes));
  }
  max = GreaterOf(max, max2);
  if (n < kLanes) {
    float result = -kInfinity;
    for (; i < n; ++i) result = x[i] > result || x[i] != x[i] ? x[i] : result;
    return result;
  }
  if (i + kLanes <= n) max = GreaterOf(max, Load(x + i)), i += kLanes;
  if (i < n) max = GreaterOf(max, Load(x + n - kLanes));  // some of them once more
  return JoinHalves(max, [](auto a, auto b) { return Greater(a, b); });
}

// x[i] of the row that follows, if there is one: searching for its maximum would wait for memory.
void FetchSoon(const float* x, int64_t i) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(x) + static_cast<uintptr_t>(4 * i)));
}

// The sum of e^(x - max), and the terms into y where `store`; blocks are added in double.
template <bool kStore>
double Exponentials(const float* x, int64_t n, float max, float* y) {
  constexpr int64_t kBlock = 1024;
  const Vec shift = Broadcast(max);
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = begin + kBlock < n ? begin + kBlock : n;
    Vec sum = Broadcast(0), sum2 = sum;
    int64_t i = begin;
    for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
      FetchSoon(x, n + i);
      FetchSoon(x, n + i + kLanes);
      const Vec a = ExpOfNegative(Load(x + i) - shift), b = ExpOfNegative(Load(x + i + kLanes) - shift);
      if (kStore) Store(y + i, a), Store(y + i + kLanes, b);
      sum += a;
      sum2 += b;
    }
    for (; i < end; i += kLanes) {
      const Lanes lanes = FirstLanes(end - i);
      const Vec e = ExpOfNegative(Load(x + i, lanes) - shift);
      if (kStore) Store(y + i, e, lanes);
      sum += Keep(e, lanes);
    }
    total += static_cast<double>(Sum(sum + sum2));
  }
  return total;
}

template <typename Step>
void ForEachVector(int64_t n, Step step) {
  for (int64_t i = 0; i < n; i += kLanes) step(i, FirstLanes(n - i));
}

// log of a vector, by the C library: once per column.
Vec Log(Vec x) {
  float lanes[kLanes];
  Store(lanes, x);
  for (float& lane : lanes) lane = __builtin_logf(lane);
  return Load(lanes);
}

// One vector of columns.
void ColumnVector(const float* x, int64_t n, int64_t stride, Lanes lanes, bool log, float* y) {
  Vec max = Broadcast(-kInfinity), sum = Broadcast(0);
  for (int64_t i = 0; i < n; ++i) max = GreaterOf(max, Load(x + i * stride, lanes));
  constexpr int64_t kRows = 128;
  for (int64_t begin = 0; begin < n; begin += kRows) {
    Vec part = Broadcast(0);
    for (int64_t i = begin; i < n && i < begin + kRows; ++i) {
      const Vec e = ExpOfNegative(Load(x + i * stride, lanes) - max);
      part += e;
      if (!log) Store(y + i * stride, e, lanes);
    }
    sum += part;
  }
  if (log) {
    const Vec log_sum = Log(sum);
    for (int64_t i = 0; i < n; ++i) Store(y + i * stride, Load(x + i * stride, lanes) - max - log_sum, lanes);
    return;
  }
  const Vec scale = Broadcast(1) / sum;
  for (int64_t i = 0; i < n; ++i) Store(y + i * stride, Load(y + i * stride, lanes) * scale, lanes);
}

}  // namespace

void SoftmaxRow(const float* x, int64_t n, bool log, float* y) {
  const float max = RowMax(x, n);
  if (log) {
    const double sum = Exponentials<false>(x, n, max, y);
    const Vec shift = Broadcast(max), log_sum = Broadcast(static_cast<float>(__builtin_log(sum)));
    return ForEachVector(n, [&](int64_t i, Lanes lanes) { Store(y + i, Load(x + i, lanes) - shift - log_sum, lanes); });
  }
  const Vec scale = Broadcast(static_cast<float>(1.0 / Exponentials<true>(x, n, max, y)));
  ForEachVector(n, [&](int64_t i, Lanes lanes) { Store(y + i, Load(y + i, lanes) * scale, lanes); });
}

void SoftmaxColumns(const float* x, int64_t n, int64_t stride, int64_t columns, bool log, float* y) {
  for (int64_t i = 0; i < columns; i += kLanes) {
    ColumnVector(x + i, n, stride, FirstLanes(columns - i), log, y + i);
  }
}

}  // namespace sardonyx::kernels::SDX_ISA
