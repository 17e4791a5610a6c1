// kernels/reduce/reduce_any.isa.cpp - reductions of doubles and integers as loops that compilers turn into vectors;
// compiled once per ISA.
#include "kernels/reduce/reduce_any.h"

#include <limits>

namespace sardonyx::kernels::SDX_ISA {
namespace {

using std::int64_t;

// A NaN, once in, stays.
struct MaxOf {
  template <typename T>
  static T Step(T acc, T x) {
    return (x > acc) | (x != x) ? x : acc;
  }
};
struct MinOf {
  template <typename T>
  static T Step(T acc, T x) {
    return (x < acc) | (x != x) ? x : acc;
  }
};

template <typename T>
WideSum<T> Wide(T x) {
  return static_cast<WideSum<T>>(x);
}
struct SumOf {
  static constexpr int kStart = 0;
  template <typename T>
  static WideSum<T> Step(WideSum<T> acc, T x) {
    return acc + Wide(x);
  }
  template <typename W>
  static W Join(W a, W b) {
    return a + b;
  }
};
struct SumAbsOf : SumOf {
  template <typename T>
  static WideSum<T> Step(WideSum<T> acc, T x) {
    return acc + (x < T(0) ? WideSum<T>(0) - Wide(x) : Wide(x));
  }
};
struct SumSquareOf : SumOf {
  template <typename T>
  static WideSum<T> Step(WideSum<T> acc, T x) {
    return acc + Wide(x) * Wide(x);
  }
};
struct ProdOf {
  static constexpr int kStart = 1;
  template <typename T>
  static WideSum<T> Step(WideSum<T> acc, T x) {
    return acc * Wide(x);
  }
  template <typename W>
  static W Join(W a, W b) {
    return a * b;
  }
};

// lanes[0] = the fold of the first 2 * kHalf lanes, in halves.
template <typename Op, int kHalf, typename T>
[[gnu::always_inline]] inline void FoldHalves(T* lanes) {
#pragma omp simd
  for (int j = 0; j < kHalf; ++j) lanes[j] = Op::Step(lanes[j], lanes[j + kHalf]);
  if constexpr (kHalf > 1) FoldHalves<Op, kHalf / 2>(lanes);
}

// Rows of at least kCount elements: as many are folded side by side, the last ones perhaps once more.
template <typename Op, int kCount, typename T>
T ExtremeByLanes(const T* x, int64_t n) {
  alignas(64) T lanes[kCount];
#pragma omp simd
  for (int j = 0; j < kCount; ++j) lanes[j] = x[j];
  for (int64_t i = kCount; i < n; i += kCount) {
    const T* from = x + (i + kCount <= n ? i : n - kCount);
#pragma omp simd
    for (int j = 0; j < kCount; ++j) lanes[j] = Op::Step(lanes[j], from[j]);
  }
  FoldHalves<Op, kCount / 2>(lanes);
  return lanes[0];
}

template <typename Op, typename T>
T ExtremeOfRow(const T* x, int64_t n) {
  constexpr int kMany = sizeof(T) == 1 ? 256 : 32, kSome = 64, kFew = sizeof(T) == 1 ? 16 : 8;
  if (n >= 2 * kMany) return ExtremeByLanes<Op, kMany>(x, n);
  if (sizeof(T) == 1 && n >= kSome) return ExtremeByLanes<Op, kSome>(x, n);
  if (n >= kFew) return ExtremeByLanes<Op, kFew>(x, n);
  T best = x[0];
  for (int64_t i = 1; i < n; ++i) best = Op::Step(best, x[i]);
  return best;
}

template <typename Op, typename T>
WideSum<T> SumOfRow(const T* x, int64_t n) {
  constexpr int kCount = 16;
  WideSum<T> total = Op::kStart;
  int64_t i = 0;
  if (n >= kCount) {
    alignas(64) WideSum<T> lanes[kCount];
    for (WideSum<T>& lane : lanes) lane = Op::kStart;
    for (; i + kCount <= n; i += kCount) {
#pragma omp simd
      for (int j = 0; j < kCount; ++j) lanes[j] = Op::template Step<T>(lanes[j], x[i + j]);
    }
    for (int half = kCount / 2; half > 0; half /= 2)
      for (int j = 0; j < half; ++j) lanes[j] = Op::Join(lanes[j], lanes[j + half]);
    total = lanes[0];
  }
  for (; i < n; ++i) total = Op::template Step<T>(total, x[i]);
  return total;
}

template <typename Op, typename T, typename Acc>
void FoldColumns(const T* x, int64_t n, int64_t stride, int64_t columns, Acc* acc) {
  for (int64_t row = 0; row < n; ++row) {
    const T* p = x + row * stride;
#pragma omp simd
    for (int64_t j = 0; j < columns; ++j) acc[j] = Op::template Step<T>(acc[j], p[j]);
  }
}

template <typename T>
T ExtremeRow(bool min, const T* x, int64_t n) {
  return min ? ExtremeOfRow<MinOf>(x, n) : ExtremeOfRow<MaxOf>(x, n);
}
template <typename T>
void ExtremeRows(bool min, const T* x, int64_t rows, int64_t n, T* y) {
  for (int64_t r = 0; r < rows; ++r) y[r] = ExtremeRow(min, x + r * n, n);
}
template <typename T>
void ExtremeColumns(bool min, const T* x, int64_t n, int64_t stride, int64_t columns, T* acc) {
  min ? FoldColumns<MinOf>(x, n, stride, columns, acc) : FoldColumns<MaxOf>(x, n, stride, columns, acc);
}

template <typename T>
WideSum<T> SumRow(ReduceKind kind, const T* x, int64_t n) {
  switch (kind) {
    case ReduceKind::kSumAbs:
      return SumOfRow<SumAbsOf>(x, n);
    case ReduceKind::kSumSquare:
      return SumOfRow<SumSquareOf>(x, n);
    case ReduceKind::kProd:
      return SumOfRow<ProdOf>(x, n);
    default:
      return SumOfRow<SumOf>(x, n);
  }
}
template <typename T>
void SumColumns(ReduceKind kind, const T* x, int64_t n, int64_t stride, int64_t columns, WideSum<T>* acc) {
  switch (kind) {
    case ReduceKind::kSumAbs:
      return FoldColumns<SumAbsOf>(x, n, stride, columns, acc);
    case ReduceKind::kSumSquare:
      return FoldColumns<SumSquareOf>(x, n, stride, columns, acc);
    case ReduceKind::kProd:
      return FoldColumns<ProdOf>(x, n, stride, columns, acc);
    default:
      return FoldColumns<SumOf>(x, n, stride, columns, acc);
  }
}

template <typename T>
constexpr ReduceExtremes<T> kExtremes = {ExtremeRow<T>, ExtremeRows<T>, ExtremeColumns<T>};
template <typename T>
constexpr ReduceSums<T> kSums = {SumRow<T>, SumColumns<T>};

}  // namespace

ReduceAnySet ReduceAnyKernels() {
  return {.max_f64 = kExtremes<double>,
          .max_s8 = kExtremes<std::int8_t>,
          .max_u8 = kExtremes<std::uint8_t>,
          .max_s32 = kExtremes<std::int32_t>,
          .max_u32 = kExtremes<std::uint32_t>,
          .max_s64 = kExtremes<std::int64_t>,
          .max_u64 = kExtremes<std::uint64_t>,
          .sum_f64 = kSums<double>,
          .sum_s32 = kSums<std::int32_t>,
          .sum_u32 = kSums<std::uint32_t>,
          .sum_s64 = kSums<std::int64_t>,
          .sum_u64 = kSums<std::uint64_t>};
}

}  // namespace sardonyx::kernels::SDX_ISA
