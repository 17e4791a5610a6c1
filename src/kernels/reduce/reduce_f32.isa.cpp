// kernels/reduce/reduce_f32.isa.cpp - reductions of f32 rows and columns, one source for every ISA.
#include "kernels/reduce/reduce_f32.h"

#include "kernels/simd/fold_f32.h"
#include "kernels/simd/math_f32.h"
#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr int64_t kBlock = 2048;
constexpr int kChains = 4;
constexpr float kInfinity = __builtin_inff();

// Each kind: its start, one step for a vector, one for a scalar, and how two partial results join.
struct SumOf {
  static constexpr float kStart = 0;
  static constexpr bool kRepeatable = false;
  static Vec Step(Vec acc, Vec x) { return acc + x; }
  static float Step(float acc, float x) { return acc + x; }
  template <typename V>
  static V Join(V a, V b) {
    return a + b;
  }
  static double Join(double a, double b) { return a + b; }
};
struct SumAbsOf : SumOf {
  static Vec Step(Vec acc, Vec x) { return acc + Abs(x); }
  static float Step(float acc, float x) { return acc + __builtin_fabsf(x); }
};
struct SumSquareOf : SumOf {
  static Vec Step(Vec acc, Vec x) { return acc + x * x; }
  static float Step(float acc, float x) { return acc + x * x; }
};
struct ProdOf {
  static constexpr float kStart = 1;
  static Vec Step(Vec acc, Vec x) { return acc * x; }
  static float Step(float acc, float x) { return acc * x; }
  template <typename V>
  static V Join(V a, V b) {
    return a * b;
  }
  static double Join(double a, double b) { return a * b; }
};
struct MaxOf {  // a NaN, once in, stays
  static constexpr float kStart = -kInfinity;
  static constexpr bool kRepeatable = true;
  template <typename V>
  static V Join(V acc, V x) {
    return (x > acc) | (x != x) ? x : acc;
  }
  static Vec Step(Vec acc, Vec x) { return x != x ? x : Max(x, acc); }  // Max keeps its second operand if that is a NaN
  static float Step(float acc, float x) { return x > acc || x != x ? x : acc; }
  static double Join(double a, double b) { return b > a || b != b ? b : a; }
};
struct MinOf {
  static constexpr float kStart = kInfinity;
  static constexpr bool kRepeatable = true;
  template <typename V>
  static V Join(V acc, V x) {
    return (x < acc) | (x != x) ? x : acc;
  }
  static Vec Step(Vec acc, Vec x) { return x != x ? x : Min(x, acc); }
  static float Step(float acc, float x) { return x < acc || x != x ? x : acc; }
  static double Join(double a, double b) { return b < a || b != b ? b : a; }
};

// Inline: behind a call that takes a vector, g++ 12 leaves the upper halves of registers dirty, and the code that runs
// next takes several times as long.
template <typename Op>
[[gnu::always_inline]] inline double JoinLanes(Vec v) {
  float lanes[kLanes];
  Store(lanes, v);
  double chains[4];
  for (int i = 0; i < 4; ++i) chains[i] = static_cast<double>(lanes[i]);
#pragma GCC unroll 3
  for (int i = 4; i < kLanes; i += 4)
#pragma GCC unroll 4
    for (int chain = 0; chain < 4; ++chain)
      chains[chain] = Op::Join(chains[chain], static_cast<double>(lanes[i + chain]));
  return Op::Join(Op::Join(chains[0], chains[1]), Op::Join(chains[2], chains[3]));
}

// `load` makes the vector (or the scalar) at an index, so that e^x and deviations run through the same loop.
template <typename Op, typename LoadVec, typename LoadOne>
double Fold(int64_t n, LoadVec load, LoadOne load_one) {
  double total = static_cast<double>(Op::kStart);
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = begin + kBlock < n ? begin + kBlock : n;
    int64_t i = begin;
    if (end - i >= kLanes) {
      Vec acc[kChains];
      for (Vec& a : acc) a = Broadcast(Op::kStart);
      for (; i + kChains * kLanes <= end; i += kChains * kLanes) {
        for (int chain = 0; chain < kChains; ++chain) acc[chain] = Op::Step(acc[chain], load(i + chain * kLanes));
      }
      for (; i + kLanes <= end; i += kLanes) acc[0] = Op::Step(acc[0], load(i));
      total = Op::Join(total, JoinLanes<Op>(Op::Join(Op::Join(acc[0], acc[1]), Op::Join(acc[2], acc[3]))));
    }
    float rest = Op::kStart;
    for (; i < end; ++i) rest = Op::Step(rest, load_one(i));
    total = Op::Join(total, static_cast<double>(rest));
  }
  return total;
}

template <typename Op>
double RowOf(const float* x, int64_t n) {
  return Fold<Op>(
      n, [x](int64_t i) { return Load(x + i); }, [x](int64_t i) { return x[i]; });
}

// N: the length of the rows, or 0 for any.
template <typename Op, int N>
void ScalarRows(const float* x, int64_t rows, int64_t length, float* y) {
  const int64_t n = N == 0 ? length : N;
  for (int64_t r = 0; r < rows; ++r, x += n) {
    float acc = Op::kStart;
    for (int64_t i = 0; i < n; ++i) acc = Op::Step(acc, x[i]);
    y[r] = acc;
  }
}

// The last n - i elements of a row of at least a vector: an extreme may read elements twice, a sum adds zeros.
template <typename Op>
Vec AddTail(Vec acc, const float* x, int64_t i, int64_t n) {
  if constexpr (Op::kRepeatable) {
    return Op::Step(acc, Load(x + n - kLanes));
  } else {
    return Op::Step(acc, Load(x + i, FirstLanes(n - i)));
  }
}

// Rows of at least kLanes elements; sums of at most kShortRow.
template <typename Op>
void VectorRows(const float* x, int64_t rows, int64_t n, float* y) {
  for (int64_t r = 0; r < rows; ++r, x += n) {
    Vec acc[kChains];
    for (Vec& a : acc) a = Broadcast(Op::kStart);
    int64_t i = 0;
    for (; i + kChains * kLanes <= n; i += kChains * kLanes)
      for (int chain = 0; chain < kChains; ++chain) acc[chain] = Op::Step(acc[chain], Load(x + i + chain * kLanes));
    for (int chain = 0; i + kLanes <= n; i += kLanes, ++chain) acc[chain] = Op::Step(acc[chain], Load(x + i));
    if (i < n) acc[kChains - 1] = AddTail<Op>(acc[kChains - 1], x, i, n);
    const Vec all = Op::Join(Op::Join(acc[0], acc[1]), Op::Join(acc[2], acc[3]));
    y[r] = JoinHalves(all, [](auto a, auto b) { return Op::Join(a, b); });
  }
}

// An extreme is the same in any order.
template <typename Op>
double ExtremeRow(const float* x, int64_t n) {
  if (n < kLanes) return RowOf<Op>(x, n);
  float extreme;
  VectorRows<Op>(x, 1, n, &extreme);
  return static_cast<double>(extreme);
}

// -0 as often as there are lanes, then 1: added to the first elements of a vector they leave those, and 1 elsewhere.
struct OnesBehind {
  constexpr OnesBehind() {
    for (int i = 0; i < kLanes; ++i) values[i] = -0.0F, values[kLanes + i] = 1;
  }
  float values[2 * kLanes] = {};
};
constexpr OnesBehind kOnesBehind;

// Products of rows of at least kLanes elements, whose lanes are joined in double.
void ProductRows(const float* x, int64_t rows, int64_t n, float* y) {
  for (int64_t r = 0; r < rows; ++r, x += n) {
    Vec even = Broadcast(1), odd = Broadcast(1);
    int64_t i = 0;
    for (; i + 2 * kLanes <= n; i += 2 * kLanes) even = even * Load(x + i), odd = odd * Load(x + i + kLanes);
    if (i + kLanes <= n) even = even * Load(x + i), i += kLanes;
    if (i < n) odd = odd * (Load(x + i, FirstLanes(n - i)) + Load(kOnesBehind.values + kLanes - (n - i)));
    y[r] = static_cast<float>(JoinLanes<ProdOf>(even * odd));
  }
}

template <typename Op>
void ShortRowsOf(const float* x, int64_t rows, int64_t n, float* y) {
  if (n == 2) return ScalarRows<Op, 2>(x, rows, n, y);
  if (n == 3) return ScalarRows<Op, 3>(x, rows, n, y);
  if (n == 4) return ScalarRows<Op, 4>(x, rows, n, y);
  if (n < kLanes) return ScalarRows<Op, 0>(x, rows, n, y);
  if constexpr (Op::kStart == 1) {  // a product
    ProductRows(x, rows, n, y);
  } else {
    VectorRows<Op>(x, rows, n, y);
  }
}

// Rows of a block; blocks are joined so that float sums stay short.
constexpr int64_t kRowsOfSum = 128;

// V vectors of columns over all rows.
template <typename Op, int V>
void ColumnBlock(const float* x, int64_t n, int64_t stride, float* acc, int64_t columns) {
  Lanes lanes[V];
  Vec total[V];
  for (int v = 0; v < V; ++v) {
    lanes[v] = FirstLanes(columns - v * kLanes);
    total[v] = Load(acc + v * kLanes, lanes[v]);
  }
  for (int64_t begin = 0; begin < n; begin += kRowsOfSum) {
    const int64_t end = begin + kRowsOfSum < n ? begin + kRowsOfSum : n;
    Vec sum[V];
    for (int v = 0; v < V; ++v) sum[v] = Broadcast(Op::kStart);
    for (int64_t row = begin; row < end; ++row) {
      const float* p = x + row * stride;
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sum[v] = Op::Step(sum[v], Load(p + v * kLanes, lanes[v]));
    }
    for (int v = 0; v < V; ++v) total[v] = Op::Join(total[v], sum[v]);
  }
  for (int v = 0; v < V; ++v) Store(acc + v * kLanes, total[v], lanes[v]);
}

constexpr int64_t kStreamedColumns = 1024, kStreamedRows = 8;

// A few rows at a time, over all columns of sums [columns].
template <typename Op>
void AddRows(const float* x, int64_t rows, int64_t stride, int64_t columns, float* sums) {
  int64_t at = 0;
  for (; at + 2 * kLanes <= columns; at += 2 * kLanes) {
    Vec even = Load(sums + at), odd = Load(sums + at + kLanes);
    const float* p = x + at;
    for (int64_t row = 0; row < rows; ++row, p += stride) {
      Prefetch(p + kStreamedRows * stride);
      even = Op::Step(even, Load(p)), odd = Op::Step(odd, Load(p + kLanes));
    }
    Store(sums + at, even);
    Store(sums + at + kLanes, odd);
  }
  for (; at < columns; at += kLanes) {
    const Lanes lanes = FirstLanes(columns - at);
    Vec sum = Load(sums + at, lanes);
    for (int64_t row = 0; row < rows; ++row) sum = Op::Step(sum, Load(x + row * stride + at, lanes));
    Store(sums + at, sum, lanes);
  }
}

// With the bits of ColumnBlock, but row after row: memory is read in its order.
constexpr int64_t kStreamedFloats = int64_t{1} << 15;  // fewer stay in the second cache level

template <typename Op>
void StreamColumns(const float* x, int64_t n, int64_t stride, int64_t columns, float* acc) {
  float sums[kStreamedColumns];
  for (int64_t begin = 0; begin < n; begin += kRowsOfSum) {
    const int64_t end = begin + kRowsOfSum < n ? begin + kRowsOfSum : n;
    for (int64_t at = 0; at < columns; at += kLanes) Store(sums + at, Broadcast(Op::kStart));
    for (int64_t row = begin; row < end; row += kStreamedRows)
      AddRows<Op>(x + row * stride, end - row < kStreamedRows ? end - row : kStreamedRows, stride, columns, sums);
    for (int64_t at = 0; at < columns; at += kLanes) {
      const Lanes lanes = FirstLanes(columns - at);
      Store(acc + at, Op::Join(Load(acc + at, lanes), Load(sums + at)), lanes);
    }
  }
}

template <typename Op>
void ColumnsOf(const float* x, int64_t n, int64_t stride, int64_t columns, float* acc) {
  int64_t at = 0;
  if (columns > 4 * kLanes && n * stride > kStreamedFloats) {
    for (; at < columns; at += kStreamedColumns)
      StreamColumns<Op>(x + at, n, stride, columns - at < kStreamedColumns ? columns - at : kStreamedColumns, acc + at);
    return;
  }
  if (n == 0) x = acc;  // nothing is read, and there may be no x to count from
  for (; at + 3 * kLanes < columns; at += 4 * kLanes) ColumnBlock<Op, 4>(x + at, n, stride, acc + at, columns - at);
  for (; at < columns; at += kLanes) ColumnBlock<Op, 1>(x + at, n, stride, acc + at, columns - at);
}

}  // namespace

double ReduceRow(ReduceKind kind, const float* x, int64_t n) {
  switch (kind) {
    case ReduceKind::kSum:
      return RowOf<SumOf>(x, n);
    case ReduceKind::kSumAbs:
      return RowOf<SumAbsOf>(x, n);
    case ReduceKind::kSumSquare:
      return RowOf<SumSquareOf>(x, n);
    case ReduceKind::kProd:
      return RowOf<ProdOf>(x, n);
    case ReduceKind::kMax:
      return ExtremeRow<MaxOf>(x, n);
    case ReduceKind::kMin:
      return ExtremeRow<MinOf>(x, n);
  }
  return 0;
}

void ReduceShortRows(ReduceKind kind, const float* x, int64_t rows, int64_t n, float* y) {
  switch (kind) {
    case ReduceKind::kSum:
      return ShortRowsOf<SumOf>(x, rows, n, y);
    case ReduceKind::kSumAbs:
      return ShortRowsOf<SumAbsOf>(x, rows, n, y);
    case ReduceKind::kSumSquare:
      return ShortRowsOf<SumSquareOf>(x, rows, n, y);
    case ReduceKind::kProd:
      return ShortRowsOf<ProdOf>(x, rows, n, y);
    case ReduceKind::kMax:
      return ShortRowsOf<MaxOf>(x, rows, n, y);
    case ReduceKind::kMin:
      return ShortRowsOf<MinOf>(x, rows, n, y);
  }
}

void ReduceColumns(ReduceKind kind, const float* x, int64_t n, int64_t stride, int64_t columns, float* acc) {
  switch (kind) {
    case ReduceKind::kSum:
      return ColumnsOf<SumOf>(x, n, stride, columns, acc);
    case ReduceKind::kSumAbs:
      return ColumnsOf<SumAbsOf>(x, n, stride, columns, acc);
    case ReduceKind::kSumSquare:
      return ColumnsOf<SumSquareOf>(x, n, stride, columns, acc);
    case ReduceKind::kProd:
      return ColumnsOf<ProdOf>(x, n, stride, columns, acc);
    case ReduceKind::kMax:
      return ColumnsOf<MaxOf>(x, n, stride, columns, acc);
    case ReduceKind::kMin:
      return ColumnsOf<MinOf>(x, n, stride, columns, acc);
  }
}

double SumExp(const float* x, int64_t n, float max) {
  const Vec shift = Broadcast(max);
  const auto vec = [=](int64_t i) { return Exp(Load(x + i) - shift); };
  const auto one = [=](int64_t i) {
    float lanes[kLanes];
    Store(lanes, Exp(Broadcast(x[i]) - shift));
    return lanes[0];
  };
  return Fold<SumOf>(n, vec, one);
}

double SumSquaredDeviations(const float* x, int64_t n, float mean) {
  const Vec shift = Broadcast(mean);
  const auto vec = [=](int64_t i) { return Load(x + i) - shift; };
  return Fold<SumSquareOf>(n, vec, [=](int64_t i) { return x[i] - mean; });
}

}  // namespace sardonyx::kernels::SDX_ISA
