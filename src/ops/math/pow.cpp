// ops/math/pow.cpp - Pow with a base and an exponent of different types.
//
// Float bases are computed in float, or in double if the exponent's type holds more than a float does. Integer bases
// with integer exponents are computed exactly, wrapping; with other exponents in double. If the exponent is the same
// for all elements and one of a few numbers, no pow is needed at all.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elementwise/binary.h"
#include "ops/copy_elements.h"
#include "ops/elementwise.h"
#include "ops/math/legacy_broadcast.h"
#include "ops/registry.h"
#include "ops/shapes/broadcast.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kBlock = 512;

struct Powers {
  DType base = DType::kUndefined;
  DType exponent = DType::kUndefined;
  LegacyAxis axis;
};

// Blocks of a tensor as T, one element for the whole run if it is repeated.
template <typename T>
class Reader {
 public:
  Reader(const TensorRef& t, bool repeats) : data_(t.data), repeats_(repeats) {
    if constexpr (std::is_same_v<T, float>) load_ = kernels::ToFloats(t.dtype);
    if constexpr (std::is_same_v<T, double>) load_ = kernels::ToDoubles(t.dtype);
    if constexpr (std::is_same_v<T, std::int64_t>) load_ = kernels::ToInts(t.dtype);
    floats_ = load_ == nullptr ? kernels::ToFloats(t.dtype) : nullptr;
  }
  void Read(std::int64_t begin, std::size_t n, T* block) const {
    const std::size_t wanted = repeats_ ? 1 : n;
    if (floats_ != nullptr) {
      float floats[kBlock];
      floats_(data_, begin, wanted, floats);
      for (std::size_t i = 0; i < wanted; ++i) block[i] = static_cast<T>(floats[i]);
    } else {
      load_(data_, begin, wanted, block);
    }
    if (repeats_) std::fill_n(block, n, block[0]);
  }

 private:
  const void* data_;
  bool repeats_;
  void (*load_)(const void*, std::int64_t, std::size_t, T*) = nullptr;
  kernels::ToFloatsFn* floats_ = nullptr;
};

// x^y of integers of type T, wrapping. A negative exponent leaves what truncation does: 1 and -1, or 0; of 0 it makes
// infinity, which processors convert to the lowest integer.
template <typename T>
std::int64_t IntegerPower(std::int64_t x, std::int64_t y) {
  if (y < 0) {
    if (x == 0) return std::numeric_limits<T>::lowest();
    return x == 1 ? 1 : (x == -1 ? (y % 2 == 0 ? 1 : -1) : 0);
  }
  std::uint64_t result = 1, square = static_cast<std::uint64_t>(x);
  for (std::uint64_t rest = static_cast<std::uint64_t>(y); rest != 0; rest >>= 1) {
    if (rest & 1) result *= square;
    square *= square;
  }
  return static_cast<std::int64_t>(result);
}

// X: how bases are read; Y: how exponents are; the result is X again, or double where Y is double.
template <typename X, typename Y, auto kPower, auto kWriter>
void RunPow(KernelContext& c) {
  const auto& powers = c.state<Powers>();
  const OutputRef z = c.Output(0);
  if (z.count == 0) return;
  const Shape aligned = powers.axis.Align(c.Input(0).rank(), c.Input(1).shape);
  const Dims shapes[] = {c.Input(0).shape, aligned};
  const BroadcastPlan plan(z.shape, shapes);
  const Reader<X> bases(c.Input(0), plan.repeats(0));
  const Reader<Y> exponents(c.Input(1), plan.repeats(1));
  const auto store = kWriter(z.dtype);
  c.parallel().For(z.count, kHeavyGrain, [&](std::int64_t begin, std::int64_t end) {
    plan.ForRange(begin, end, [&](const BroadcastRun& r) {
      X x[kBlock];
      Y y[kBlock];
      decltype(kPower(X(), Y())) power[kBlock];
      for (std::int64_t i = 0; i < r.count; i += kBlock) {
        const std::size_t n = std::min(kBlock, static_cast<std::size_t>(r.count - i));
        bases.Read(plan.repeats(0) ? r.in[0] : r.in[0] + i, n, x);
        exponents.Read(plan.repeats(1) ? r.in[1] : r.in[1] + i, n, y);
        for (std::size_t k = 0; k < n; ++k) power[k] = kPower(x[k], y[k]);
        store(power, n, z.data, r.out + i);
      }
    });
  });
}

float FloatPower(float x, float y) { return std::pow(x, y); }
double DoublePower(double x, double y) { return std::pow(x, y); }
kernels::FromFloatsFn* FloatWriter(DType to) { return kernels::FromFloats(to); }
kernels::FromDoublesFn* DoubleWriter(DType to) { return kernels::FromDoubles(to); }
kernels::FromIntsFn* IntWriter(DType to) { return kernels::FromInts(to); }

RunFn* GeneralPow(DType base, DType exponent) {
  const bool wide = exponent == DType::kDouble || (IsInteger(exponent) && Bits(exponent) >= 32);
  if (base == DType::kInt32 && IsInteger(exponent))
    return RunPow<std::int64_t, std::int64_t, IntegerPower<std::int32_t>, IntWriter>;
  if (IsInteger(base) && IsInteger(exponent))
    return RunPow<std::int64_t, std::int64_t, IntegerPower<std::int64_t>, IntWriter>;
  if (IsInteger(base) || base == DType::kDouble || wide) return RunPow<double, double, DoublePower, DoubleWriter>;
  return RunPow<float, float, FloatPower, FloatWriter>;
}

// The function of a float base that stands for one exponent; kCount if there is none.
kernels::UnaryKind KindFor(double exponent) {
  using kernels::UnaryKind;
  if (exponent == 2) return UnaryKind::kSquare;
  if (exponent == 3) return UnaryKind::kCube;
  if (exponent == 0.5) return UnaryKind::kPowHalf;
  if (exponent == -1) return UnaryKind::kReciprocal;
  return UnaryKind::kCount;
}

void RunPowOrKind(KernelContext& c) {
  const auto& powers = c.state<Powers>();
  const TensorRef& y = c.Input(1);
  if (IsFloating(powers.base) && y.count == 1 && Shape::Equal(c.Input(0).shape, c.Output(0).shape)) {
    double exponent = 0;
    Reader<double>(y, true).Read(0, 1, &exponent);
    if (exponent == 1)
      return CopyElements(powers.base, c.Input(0).data, c.Output(0).data, c.Output(0).count, c.parallel());
    if (const auto kind = KindFor(exponent); kind != kernels::UnaryKind::kCount) {
      const FloatMap map = FloatMap::Of(kind, powers.base);
      const TensorRef& x = c.Input(0);
      const OutputRef z = c.Output(0);
      c.parallel().For(x.count, kGrain,
                       [&](std::int64_t begin, std::int64_t end) { map.Run(x.data, z.data, begin, end); });
      return;
    }
  }
  GeneralPow(powers.base, powers.exponent)(c);
}

Prepared PreparePow(PrepareContext& c) {
  Powers powers = {.base = c.InputDType(0), .exponent = c.InputDType(1), .axis = LegacyAxis::Of(c)};
  if (!IsInteger(powers.exponent) && !IsFloating(powers.exponent)) c.Unsupported("input 'Y'", powers.exponent);
  return WithState(RunPowOrKind, powers);
}

void InferPow(InferContext& c) { InferLegacyBroadcast(c, c.InputDType(0)); }

constexpr OpDef kPowOps[] = {
    {.name = "Pow",
     .since = {1, 7, 12, 13, 15},
     .types = kIeeeFloats | DTypeSet{DType::kInt32, DType::kInt64},
     .infer = InferPow,
     .prepare = PreparePow,
     .upgrade = UpgradeLegacyBroadcast,
     .traits = kMayAlias | kElementwise},
};

}  // namespace

std::span<const OpDef> PowOps() { return kPowOps; }

}  // namespace sardonyx::ops
