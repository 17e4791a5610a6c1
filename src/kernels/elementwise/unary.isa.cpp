// kernels/elementwise/unary.isa.cpp - the float kinds on vectors; compiled once per ISA.
#include "kernels/elementwise/unary.h"

#include <cstring>

#include "kernels/simd/math.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

using V = Floats;

V Zero() { return Splat(0.0f); }
V One() { return Splat(1.0f); }
// x where x is NaN, else y: for kinds whose min or max would lose it.
V KeepNan(V x, V y) { return hn::IfThenElse(hn::IsNaN(x), x, y); }

V Abs(V x, V, V) { return hn::Abs(x); }
V Ceil(V x, V, V) { return hn::Ceil(x); }
V Floor(V x, V, V) { return hn::Floor(x); }
V Neg(V x, V, V) { return hn::Neg(x); }
V Reciprocal(V x, V, V) { return hn::Div(One(), x); }
V Round(V x, V, V) { return hn::Round(x); }
V Sqrt(V x, V, V) { return hn::Sqrt(x); }
V Square(V x, V, V) { return hn::Mul(x, x); }
V Cube(V x, V, V) { return hn::Mul(hn::Mul(x, x), x); }
V PowHalf(V x, V, V) {
  return hn::IfThenElse(hn::Eq(x, Splat(-HUGE_VALF)), Splat(HUGE_VALF), hn::Sqrt(hn::Add(x, Zero())));
}
V Relu(V x, V, V) { return KeepNan(x, hn::Max(x, Zero())); }
V Clip(V x, V low, V high) { return KeepNan(x, hn::Min(hn::Max(x, low), high)); }
V Linear(V x, V a, V b) { return hn::MulAdd(a, x, b); }
V LeakyRelu(V x, V a, V) { return hn::IfThenElse(hn::Lt(x, Zero()), hn::Mul(a, x), x); }
V ThresholdedRelu(V x, V a, V) { return hn::IfThenZeroElse(hn::Le(x, a), x); }
V HardSigmoid(V x, V a, V b) {
  const V y = hn::MulAdd(a, x, b);
  return KeepNan(y, hn::Max(Zero(), hn::Min(One(), y)));
}
V HardSwish(V x, V, V) { return hn::Mul(x, HardSigmoid(x, Splat(1.0f / 6), Splat(0.5f))); }
V Sign(V x, V, V) {
  const V size = hn::IfThenElse(hn::Eq(x, Zero()), Zero(), hn::CopySign(One(), x));
  return KeepNan(x, size);
}
V Shrink(V x, V bias, V lambd) {
  const V high = hn::IfThenElseZero(hn::Gt(x, lambd), hn::Sub(x, bias));
  const V y = hn::IfThenElse(hn::Lt(x, hn::Neg(lambd)), hn::Add(x, bias), high);
  return KeepNan(x, y);
}
V Softsign(V x, V, V) {
  // An infinite x over an infinite 1 + |x| is 1, not NaN.
  const V size = hn::Abs(x);
  const V y = hn::Div(x, hn::Add(One(), size));
  return hn::IfThenElse(hn::Eq(size, Splat(HUGE_VALF)), hn::CopySign(One(), x), y);
}

V ExpOf(V x, V, V) { return Exp(x); }
V LogOf(V x, V, V) { return Log(x); }
V TanhOf(V x, V, V) { return Tanh(x); }
V ErfOf(V x, V, V) { return Erf(x); }
V SigmoidOf(V x, V a, V) { return Sigmoid(hn::Mul(a, x)); }
V Swish(V x, V a, V) { return hn::Mul(x, Sigmoid(hn::Mul(a, x))); }
V Negative(V x) { return hn::Min(x, Zero()); }  // what an exponential of the negative side may see
V Elu(V x, V a, V) { return hn::IfThenElse(hn::Lt(x, Zero()), hn::Mul(a, Expm1(Negative(x))), x); }
V Selu(V x, V a, V gamma) { return hn::Mul(gamma, Elu(x, a, a)); }
V Celu(V x, V a, V) { return hn::IfThenElse(hn::Lt(x, Zero()), hn::Mul(a, Expm1(hn::Div(x, a))), x); }
V Softplus(V x, V, V) { return KeepNan(x, hn::Add(hn::Max(x, Zero()), Log1pOfUnit(Exp(hn::Neg(hn::Abs(x)))))); }

// x tanh(ln(1 + e^x)) = x (e^2 + 2e) / (e^2 + 2e + 2); the quotient is 1 from x = 20.
V Mish(V x, V, V) {
  const V e = Exp(hn::Min(x, Splat(20.0f)));
  const V top = hn::Mul(e, hn::Add(e, Splat(2.0f)));
  return hn::IfThenElse(hn::Gt(x, Splat(20.0f)), x, KeepNan(x, hn::Mul(x, hn::Div(top, hn::Add(top, Splat(2.0f))))));
}

// The negative side uses erfc itself, so that it keeps its digits where 1 + erf would cancel.
V Gelu(V x, V, V) {
  const V half = hn::Mul(x, Splat(0.5f));
  const V t = hn::Mul(x, Splat(0.707106781f));
  const V size = hn::Abs(t);
  const V tail = ErfcTail(size);
  const V large = hn::IfThenElse(hn::Lt(x, Zero()), tail, hn::Sub(Splat(2.0f), tail));
  const V scale = hn::IfThenElse(hn::Lt(size, One()), hn::Add(One(), ErfNearZero(t)), large);
  return KeepNan(x, hn::Mul(half, scale));
}

V GeluTanh(V x, V, V) {
  const V x2 = hn::Mul(x, x);
  const V twice = hn::Mul(hn::Mul(x, Splat(1.59576912f)), hn::MulAdd(x2, Splat(0.044715f), One()));
  return hn::Mul(x, Sigmoid(twice));  // (1 + tanh(u)) / 2 = sigmoid(2u)
}

// Sine and cosine; the few x beyond the range of the vector form are computed one by one.
template <int kShift>
V Trig(V x, V, V) {
  const FloatTag d;
  const V y = SinShifted(x, kShift);
  const auto ordinary = hn::Le(hn::Abs(x), Splat(kTrigLimit));  // false for NaN
  if (hn::AllTrue(d, ordinary)) return y;
  HWY_ALIGN float in[hn::MaxLanes(d)], out[hn::MaxLanes(d)];
  hn::Store(x, d, in);
  hn::Store(y, d, out);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i)
    if (!(in[i] <= kTrigLimit && in[i] >= -kTrigLimit)) out[i] = kShift == 0 ? ::sinf(in[i]) : ::cosf(in[i]);
  return hn::Load(d, out);
}

template <V (*kF)(V, V, V)>
void Map(const float* x, float* y, std::size_t n, float a, float b) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const V va = Splat(a), vb = Splat(b);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(kF(hn::LoadU(d, x + i), va, vb), d, y + i);
  if (i == n) return;
  HWY_ALIGN float rest[hn::MaxLanes(d)] = {};
  std::memcpy(rest, x + i, (n - i) * sizeof(float));
  hn::Store(kF(hn::Load(d, rest), va, vb), d, rest);
  std::memcpy(y + i, rest, (n - i) * sizeof(float));
}

constexpr UnaryF32Fn* ActivationOf(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::kCelu:
      return Map<Celu>;
    case UnaryKind::kElu:
      return Map<Elu>;
    case UnaryKind::kGelu:
      return Map<Gelu>;
    case UnaryKind::kGeluTanh:
      return Map<GeluTanh>;
    case UnaryKind::kHardSigmoid:
      return Map<HardSigmoid>;
    case UnaryKind::kHardSwish:
      return Map<HardSwish>;
    case UnaryKind::kLeakyRelu:
      return Map<LeakyRelu>;
    case UnaryKind::kMish:
      return Map<Mish>;
    case UnaryKind::kRelu:
      return Map<Relu>;
    case UnaryKind::kSelu:
      return Map<Selu>;
    case UnaryKind::kShrink:
      return Map<Shrink>;
    case UnaryKind::kSigmoid:
      return Map<SigmoidOf>;
    case UnaryKind::kSoftplus:
      return Map<Softplus>;
    case UnaryKind::kSoftsign:
      return Map<Softsign>;
    case UnaryKind::kSwish:
      return Map<Swish>;
    case UnaryKind::kTanh:
      return Map<TanhOf>;
    case UnaryKind::kThresholdedRelu:
      return Map<ThresholdedRelu>;
    default:
      return nullptr;
  }
}

}  // namespace

UnaryF32Fn* FindUnaryF32(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::kAbs:
      return Map<Abs>;
    case UnaryKind::kCeil:
      return Map<Ceil>;
    case UnaryKind::kClip:
      return Map<Clip>;
    case UnaryKind::kCos:
      return Map<Trig<1>>;
    case UnaryKind::kCube:
      return Map<Cube>;
    case UnaryKind::kErf:
      return Map<ErfOf>;
    case UnaryKind::kExp:
      return Map<ExpOf>;
    case UnaryKind::kFloor:
      return Map<Floor>;
    case UnaryKind::kLinear:
      return Map<Linear>;
    case UnaryKind::kLog:
      return Map<LogOf>;
    case UnaryKind::kNeg:
      return Map<Neg>;
    case UnaryKind::kPowHalf:
      return Map<PowHalf>;
    case UnaryKind::kReciprocal:
      return Map<Reciprocal>;
    case UnaryKind::kRound:
      return Map<Round>;
    case UnaryKind::kSign:
      return Map<Sign>;
    case UnaryKind::kSin:
      return Map<Trig<0>>;
    case UnaryKind::kSqrt:
      return Map<Sqrt>;
    case UnaryKind::kSquare:
      return Map<Square>;
    default:
      return ActivationOf(kind);
  }
}

std::size_t VectorBytes() { return hn::Lanes(FloatTag()) * sizeof(float); }

}  // namespace sardonyx::kernels::SDX_ISA
