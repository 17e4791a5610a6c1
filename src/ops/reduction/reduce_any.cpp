// ops/reduction/reduce_any.cpp - reductions by the vector loops of doubles and integers, and one element after the
// other where there is none.
#include "ops/reduction/reduce_any.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/reduce/reduce_any.h"

namespace sardonyx::ops {
namespace {

using kernels::ReduceKind;
using kernels::WideSum;

// e^-x of whole numbers x; e^-746 is 0.
class WholeExponentials {
 public:
  static const WholeExponentials& Get() {
    static const WholeExponentials table;
    return table;
  }
  double OfNegative(std::uint64_t x) const { return x < table_.size() ? table_[x] : 0.0; }

 private:
  WholeExponentials() {
    for (std::size_t i = 0; i < table_.size(); ++i) table_[i] = std::exp(-static_cast<double>(i));
  }
  std::array<double, 746> table_;
};

// log(sum(e^x)) of the integers that for_each visits in runs of elements `step` apart: their differences from the
// largest are whole numbers. Four sums, so that none has to wait for the one before.
template <typename T, typename ForEachRun>
double LogSumExpOfIntegers(const ForEachRun& for_each) {
  T max = std::numeric_limits<T>::lowest();
  for_each([&](const T* x, std::int64_t n, std::int64_t step) {
    if (step == 1 && n > 0) max = std::max(max, kernels::ReduceAny().template Extremes<T>().row(false, x, n));
    for (std::int64_t k = 0; step != 1 && k < n; ++k) max = std::max(max, x[k * step]);
  });
  const WholeExponentials& exponentials = WholeExponentials::Get();
  const auto power = [&](T v) {
    return exponentials.OfNegative(static_cast<std::uint64_t>(max) - static_cast<std::uint64_t>(v));
  };
  double sum = 0;
  for_each([&](const T* x, std::int64_t n, std::int64_t step) {
    double a = 0, b = 0, c = 0, d = 0;
    std::int64_t k = 0;
    for (; k + 4 <= n; k += 4, x += 4 * step)
      a += power(x[0]), b += power(x[step]), c += power(x[2 * step]), d += power(x[3 * step]);
    for (; k < n; ++k, x += step) a += power(*x);
    sum += a + b + (c + d);
  });
  return std::log(sum) + static_cast<double>(max);
}

// One reduction of elements of T, one after the other: what its accumulator is, a step, and the result.
template <typename T, Reduction kReduction>
struct Scalar {
  static constexpr bool kFloating = std::is_floating_point_v<T>;
  static constexpr bool kInDouble = kFloating || kReduction == Reduction::kL2 || kReduction == Reduction::kLogSum ||
                                    kReduction == Reduction::kLogSumExp;
  static constexpr bool kExtreme = kReduction == Reduction::kMax || kReduction == Reduction::kMin;
  // Integers sum and multiply modulo 2^64 and are cut to their width at the end.
  using Accumulator = std::conditional_t<kExtreme, T, std::conditional_t<kInDouble, double, std::uint64_t>>;

  static Accumulator Start() {
    using Limits = std::numeric_limits<T>;
    if constexpr (kReduction == Reduction::kMax) return kFloating ? -Limits::infinity() : Limits::lowest();
    if constexpr (kReduction == Reduction::kMin) return kFloating ? Limits::infinity() : Limits::max();
    return kReduction == Reduction::kProd ? Accumulator(1) : Accumulator(0);
  }
  static Accumulator Step(Accumulator acc, T element, double max) {
    if constexpr (kReduction == Reduction::kMax) {
      return element > acc || element != element ? element : acc;
    } else if constexpr (kReduction == Reduction::kMin) {
      return element < acc || element != element ? element : acc;
    } else {
      const auto x = static_cast<Accumulator>(element);
      if constexpr (kReduction == Reduction::kProd) return acc * x;
      if constexpr (kReduction == Reduction::kL1) return acc + (element < T(0) ? Accumulator(0) - x : x);
      if constexpr (kReduction == Reduction::kL2 || kReduction == Reduction::kSumSquare) return acc + x * x;
      if constexpr (kReduction == Reduction::kLogSumExp) return acc + std::exp(x - max);
      return acc + x;
    }
  }
  static T Result(Accumulator acc, std::int64_t count, double max) {
    if constexpr (kReduction == Reduction::kMean && !kFloating) {
      if (count == 0) return T(0);
      if constexpr (std::is_signed_v<T>) return static_cast<T>(static_cast<std::int64_t>(acc) / count);
      return static_cast<T>(acc / static_cast<std::uint64_t>(count));
    } else if constexpr (kReduction == Reduction::kMean) {
      return static_cast<T>(acc / static_cast<double>(count));
    } else if constexpr (kReduction == Reduction::kL2) {
      return Rounded(std::sqrt(acc));
    } else if constexpr (kReduction == Reduction::kLogSum) {
      return Rounded(std::log(acc));
    } else if constexpr (kReduction == Reduction::kLogSumExp) {
      return Rounded(std::log(acc) + max);
    } else {
      return static_cast<T>(acc);
    }
  }
  static T Rounded(double value) {
    if constexpr (kFloating) return static_cast<T>(value);
    const bool fits = value >= static_cast<double>(std::numeric_limits<T>::min()) &&
                      value < static_cast<double>(std::numeric_limits<T>::max()) + 1;
    return fits ? static_cast<T>(value) : std::numeric_limits<T>::min();
  }
};

template <typename T, Reduction kReduction>
void ReduceScalars(KernelContext& c, const ReducePlan& p, const T* x, T* y) {
  using S = Scalar<T, kReduction>;
  if (p.reduced_total == 0) {  // x may be null, and has no rows to point at
    std::fill_n(y, p.outer * p.inner, S::Result(S::Start(), 0, 0));
    return;
  }
  const std::int64_t grain = std::max<std::int64_t>(1, kReduceGrain / std::max<std::int64_t>(1, p.reduced_total));
  c.parallel().For(p.outer * p.inner, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T* base = x + p.KeptOffset(i / p.inner) + i % p.inner;
      const auto for_each_run = [&](auto take) {
        for (std::int64_t r = 0; r < p.repeats; ++r) take(base + p.ReducedOffset(r), p.n, p.inner);
      };
      const auto for_each = [&](auto step) {
        for_each_run([&](const T* run, std::int64_t n, std::int64_t stride) {
          for (std::int64_t k = 0; k < n; ++k) step(run[k * stride]);
        });
      };
      double max = 0;
      if constexpr (kReduction == Reduction::kLogSumExp && std::is_integral_v<T>) {
        y[i] = S::Rounded(LogSumExpOfIntegers<T>(for_each_run));
        continue;
      } else if constexpr (kReduction == Reduction::kLogSumExp) {
        max = -std::numeric_limits<double>::infinity();
        for_each([&](T v) { max = std::max(max, static_cast<double>(v)); });
        if (std::isinf(max)) max = 0;
      }
      typename S::Accumulator acc = S::Start();
      for_each([&](T v) { acc = S::Step(acc, v, max); });
      y[i] = S::Result(acc, p.reduced_total, max);
    }
  });
}

constexpr std::int64_t kTile = 256;  // columns that are reduced together

// How one kind of reduction of T runs on the vector loops: Acc is what it is held in.
template <typename T>
struct Extreme {
  using Acc = T;
  bool min;

  Acc Start() const { return min ? Scalar<T, Reduction::kMin>::Start() : Scalar<T, Reduction::kMax>::Start(); }
  Acc Row(const T* x, std::int64_t n) const {
    return n == 0 ? Start() : kernels::ReduceAny().template Extremes<T>().row(min, x, n);
  }
  void Rows(const T* x, std::int64_t rows, std::int64_t n, T* y) const {  // n > 0
    kernels::ReduceAny().template Extremes<T>().rows(min, x, rows, n, y);
  }
  void Columns(const T* x, std::int64_t n, std::int64_t stride, std::int64_t columns, Acc* acc) const {
    kernels::ReduceAny().template Extremes<T>().columns(min, x, n, stride, columns, acc);
  }
  Acc Join(Acc a, Acc b) const {
    return min ? Scalar<T, Reduction::kMin>::Step(a, b, 0) : Scalar<T, Reduction::kMax>::Step(a, b, 0);
  }
  T Result(Acc acc, std::int64_t) const { return acc; }
};

template <typename T>
struct Total {
  using Acc = WideSum<T>;
  ReduceKind kind;
  Reduction reduction;

  Acc Start() const { return kind == ReduceKind::kProd ? Acc(1) : Acc(0); }
  Acc Row(const T* x, std::int64_t n) const { return kernels::ReduceAny().template Sums<T>().row(kind, x, n); }
  void Columns(const T* x, std::int64_t n, std::int64_t stride, std::int64_t columns, Acc* acc) const {
    kernels::ReduceAny().template Sums<T>().columns(kind, x, n, stride, columns, acc);
  }
  Acc Join(Acc a, Acc b) const { return kind == ReduceKind::kProd ? a * b : a + b; }
  T Result(Acc acc, std::int64_t count) const {
    switch (reduction) {
      case Reduction::kMean:
        return Scalar<T, Reduction::kMean>::Result(acc, count, 0);
      case Reduction::kL2:  // of doubles only, like the next one
        return static_cast<T>(std::sqrt(static_cast<double>(acc)));
      case Reduction::kLogSum:
        return static_cast<T>(std::log(static_cast<double>(acc)));
      default:
        return static_cast<T>(acc);
    }
  }
};

// Rows: in pieces, joined in their order, so that threads do not change the bits.
template <typename T, typename How>
void ReduceRows(KernelContext& c, const ReducePlan& p, const How& how, const T* x, T* y) {
  const std::int64_t pieces = (p.n + kReducePiece - 1) / kReducePiece, per_output = p.repeats * pieces;
  const std::int64_t grain = std::max<std::int64_t>(1, kReduceGrain / std::min(p.n, kReducePiece));
  if (per_output == 1) {
    const bool adjoining = p.kept_count == 0 || (p.kept_count == 1 && p.kept[0].stride == p.n);
    if constexpr (requires { how.Rows(x, p.outer, p.n, y); }) {
      if (adjoining) {
        c.parallel().For(p.outer, grain, [&](std::int64_t begin, std::int64_t end) {
          how.Rows(x + begin * p.n, end - begin, p.n, y + begin);
        });
        return;
      }
    }
    c.parallel().For(p.outer, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t o = begin; o < end; ++o) y[o] = how.Result(how.Row(x + p.KeptOffset(o), p.n), p.n);
    });
    return;
  }
  using Acc = typename How::Acc;
  const auto parts = static_cast<std::size_t>(p.outer) * static_cast<std::size_t>(per_output);
  auto* partial = static_cast<Acc*>(static_cast<void*>(c.Scratch(parts * sizeof(Acc))));
  c.parallel().For(p.outer * per_output, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t rest = i % per_output, piece = rest % pieces * kReducePiece;
      const T* row = x + p.KeptOffset(i / per_output) + p.ReducedOffset(rest / pieces) + piece;
      partial[i] = how.Row(row, std::min(kReducePiece, p.n - piece));
    }
  });
  for (std::int64_t o = 0; o < p.outer; ++o) {
    Acc acc = how.Start();
    for (std::int64_t i = 0; i < per_output; ++i) acc = how.Join(acc, partial[o * per_output + i]);
    y[o] = how.Result(acc, p.reduced_total);
  }
}

template <typename T, typename How>
void ReduceColumns(KernelContext& c, const ReducePlan& p, const How& how, const T* x, T* y) {
  const std::int64_t tiles = (p.inner + kTile - 1) / kTile;
  const std::int64_t work = std::max<std::int64_t>(1, p.reduced_total * std::min(kTile, p.inner));
  c.parallel().For(p.outer * tiles, std::max<std::int64_t>(1, kReduceGrain / work),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) {
                       const std::int64_t at = i % tiles * kTile, columns = std::min(kTile, p.inner - at);
                       const T* base = x + p.KeptOffset(i / tiles) + at;
                       T* to = y + i / tiles * p.inner + at;
                       typename How::Acc acc[kTile];
                       std::fill_n(acc, columns, how.Start());
                       for (std::int64_t r = 0; r < p.repeats; ++r)
                         how.Columns(base + p.ReducedOffset(r), p.n, p.inner, columns, acc);
                       for (std::int64_t k = 0; k < columns; ++k) to[k] = how.Result(acc[k], p.reduced_total);
                     }
                   });
}

template <typename T, typename How>
void ReduceBy(KernelContext& c, const ReducePlan& p, const How& how, const T* x, T* y) {
  p.inner == 1 ? ReduceRows(c, p, how, x, y) : ReduceColumns(c, p, how, x, y);
}

// Roots and logarithms of integers are those of sums in double, which do not wrap around.
template <typename T>
bool HasVectorForm(Reduction reduction) {
  if (reduction == Reduction::kLogSumExp) return false;
  return std::is_floating_point_v<T> || (reduction != Reduction::kL2 && reduction != Reduction::kLogSum);
}

template <typename T>
void ReduceByScalars(KernelContext& c, const ReducePlan& p, Reduction reduction, const T* x, T* y) {
  if (reduction == Reduction::kMax) return ReduceScalars<T, Reduction::kMax>(c, p, x, y);
  if (reduction == Reduction::kMin) return ReduceScalars<T, Reduction::kMin>(c, p, x, y);
  if constexpr (sizeof(T) >= 4) {
    switch (reduction) {
      case Reduction::kSum:
        return ReduceScalars<T, Reduction::kSum>(c, p, x, y);
      case Reduction::kMean:
        return ReduceScalars<T, Reduction::kMean>(c, p, x, y);
      case Reduction::kProd:
        return ReduceScalars<T, Reduction::kProd>(c, p, x, y);
      case Reduction::kL1:
        return ReduceScalars<T, Reduction::kL1>(c, p, x, y);
      case Reduction::kL2:
        return ReduceScalars<T, Reduction::kL2>(c, p, x, y);
      case Reduction::kLogSum:
        return ReduceScalars<T, Reduction::kLogSum>(c, p, x, y);
      case Reduction::kLogSumExp:
        return ReduceScalars<T, Reduction::kLogSumExp>(c, p, x, y);
      default:
        return ReduceScalars<T, Reduction::kSumSquare>(c, p, x, y);
    }
  }
}

}  // namespace

ReduceKind KindOf(Reduction reduction) {
  switch (reduction) {
    case Reduction::kMax:
      return ReduceKind::kMax;
    case Reduction::kMin:
      return ReduceKind::kMin;
    case Reduction::kProd:
      return ReduceKind::kProd;
    case Reduction::kL1:
      return ReduceKind::kSumAbs;
    case Reduction::kL2:
    case Reduction::kSumSquare:
      return ReduceKind::kSumSquare;
    default:
      return ReduceKind::kSum;
  }
}

template <typename T>
void ReduceAny(KernelContext& c, const ReducePlan& p, Reduction reduction, const T* x, T* y) {
  const bool extreme = reduction == Reduction::kMax || reduction == Reduction::kMin;
  if constexpr (std::is_same_v<T, float>) {
    ReduceByScalars(c, p, reduction, x, y);
  } else if (p.reduced_total == 0) {  // x may be null
    ReduceByScalars(c, p, reduction, x, y);
  } else if constexpr (std::is_same_v<T, bool>) {
    ReduceBy(c, p, Extreme<std::uint8_t>{reduction == Reduction::kMin}, reinterpret_cast<const std::uint8_t*>(x),
             reinterpret_cast<std::uint8_t*>(y));
  } else if (extreme) {
    ReduceBy(c, p, Extreme<T>{reduction == Reduction::kMin}, x, y);
  } else if constexpr (sizeof(T) >= 4) {
    if (HasVectorForm<T>(reduction)) {
      ReduceBy(c, p, Total<T>{KindOf(reduction), reduction}, x, y);
    } else {
      ReduceByScalars(c, p, reduction, x, y);
    }
  }
}

template void ReduceAny<float>(KernelContext&, const ReducePlan&, Reduction, const float*, float*);
template void ReduceAny<double>(KernelContext&, const ReducePlan&, Reduction, const double*, double*);
template void ReduceAny<bool>(KernelContext&, const ReducePlan&, Reduction, const bool*, bool*);
template void ReduceAny<std::int8_t>(KernelContext&, const ReducePlan&, Reduction, const std::int8_t*, std::int8_t*);
template void ReduceAny<std::uint8_t>(KernelContext&, const ReducePlan&, Reduction, const std::uint8_t*, std::uint8_t*);
template void ReduceAny<std::int32_t>(KernelContext&, const ReducePlan&, Reduction, const std::int32_t*, std::int32_t*);
template void ReduceAny<std::int64_t>(KernelContext&, const ReducePlan&, Reduction, const std::int64_t*, std::int64_t*);
template void ReduceAny<std::uint32_t>(KernelContext&, const ReducePlan&, Reduction, const std::uint32_t*,
                                       std::uint32_t*);
template void ReduceAny<std::uint64_t>(KernelContext&, const ReducePlan&, Reduction, const std::uint64_t*,
                                       std::uint64_t*);

}  // namespace sardonyx::ops
