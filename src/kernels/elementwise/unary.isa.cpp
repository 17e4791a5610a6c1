// kernels/elementwise/unary.isa.cpp - the functions of unary_functions.inc on vectors: V <name>Of(V x, V a, V b);
// compiled once per ISA.
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

V NoneOf(V x, V, V) { return x; }
V AbsOf(V x, V, V) { return hn::Abs(x); }
V CeilOf(V x, V, V) { return hn::Ceil(x); }
V FloorOf(V x, V, V) { return hn::Floor(x); }
V NegOf(V x, V, V) { return hn::Neg(x); }
V ReciprocalOf(V x, V, V) { return hn::Div(One(), x); }
V RoundOf(V x, V, V) { return hn::Round(x); }
V SqrtOf(V x, V, V) { return hn::Sqrt(x); }
V SquareOf(V x, V, V) { return hn::Mul(x, x); }
V CubeOf(V x, V, V) { return hn::Mul(hn::Mul(x, x), x); }
V PowHalfOf(V x, V, V) {
  return hn::IfThenElse(hn::Eq(x, Splat(-HUGE_VALF)), Splat(HUGE_VALF), hn::Sqrt(hn::Add(x, Zero())));
}
V ReluOf(V x, V, V) { return KeepNan(x, hn::Max(x, Zero())); }
V ClipOf(V x, V low, V high) { return KeepNan(x, hn::Min(hn::Max(x, low), high)); }
V LinearOf(V x, V a, V b) { return hn::MulAdd(a, x, b); }
V LeakyReluOf(V x, V a, V) { return hn::IfThenElse(hn::Lt(x, Zero()), hn::Mul(a, x), x); }
V ThresholdedReluOf(V x, V a, V) { return hn::IfThenZeroElse(hn::Le(x, a), x); }
V HardSigmoidOf(V x, V a, V b) {
  const V y = hn::MulAdd(a, x, b);
  return KeepNan(y, hn::Max(Zero(), hn::Min(One(), y)));
}
V HardSwishOf(V x, V, V) { return hn::Mul(x, HardSigmoidOf(x, Splat(1.0f / 6), Splat(0.5f))); }
V SignOf(V x, V, V) {
  const V size = hn::IfThenElse(hn::Eq(x, Zero()), Zero(), hn::CopySign(One(), x));
  return KeepNan(x, size);
}
V ShrinkOf(V x, V bias, V lambd) {
  const V high = hn::IfThenElseZero(hn::Gt(x, lambd), hn::Sub(x, bias));
  const V y = hn::IfThenElse(hn::Lt(x, hn::Neg(lambd)), hn::Add(x, bias), high);
  return KeepNan(x, y);
}
V SoftsignOf(V x, V, V) {
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
V SwishOf(V x, V a, V) { return hn::Mul(x, Sigmoid(hn::Mul(a, x))); }
V Negative(V x) { return hn::Min(x, Zero()); }  // what an exponential of the negative side may see
V EluOf(V x, V a, V) { return hn::IfThenElse(hn::Lt(x, Zero()), hn::Mul(a, Expm1(Negative(x))), x); }
V SeluOf(V x, V a, V gamma) { return hn::Mul(gamma, EluOf(x, a, a)); }
V CeluOf(V x, V a, V) { return hn::IfThenElse(hn::Lt(x, Zero()), hn::Mul(a, Expm1(hn::Div(x, a))), x); }
V SoftplusOf(V x, V, V) { return KeepNan(x, hn::Add(hn::Max(x, Zero()), Log1pOfUnit(Exp(hn::Neg(hn::Abs(x)))))); }

// x tanh(ln(1 + e^x)) = x (e^2 + 2e) / (e^2 + 2e + 2); the quotient is 1 from x = 20.
V MishOf(V x, V, V) {
  const V e = Exp(hn::Min(x, Splat(20.0f)));
  const V top = hn::Mul(e, hn::Add(e, Splat(2.0f)));
  return hn::IfThenElse(hn::Gt(x, Splat(20.0f)), x, KeepNan(x, hn::Mul(x, hn::Div(top, hn::Add(top, Splat(2.0f))))));
}

// The negative side uses erfc itself, so that it keeps its digits where 1 + erf would cancel.
V GeluOf(V x, V, V) {
  const V half = hn::Mul(x, Splat(0.5f));
  const V t = hn::Mul(x, Splat(0.707106781f));
  const V size = hn::Abs(t);
  const V tail = ErfcTail(size);
  const V large = hn::IfThenElse(hn::Lt(x, Zero()), tail, hn::Sub(Splat(2.0f), tail));
  const V scale = hn::IfThenElse(hn::Lt(size, One()), hn::Add(One(), ErfNearZero(t)), large);
  return KeepNan(x, hn::Mul(half, scale));
}

V GeluTanhOf(V x, V, V) {
  const V x2 = hn::Mul(x, x);
  const V twice = hn::Mul(hn::Mul(x, Splat(1.59576912f)), hn::MulAdd(x2, Splat(0.044715f), One()));
  return hn::Mul(x, Sigmoid(twice));  // (1 + tanh(u)) / 2 = sigmoid(2u)
}

// Sine and cosine; the few x beyond the range of the vector form are computed one by one.
template <int kShift>
V Trig(V x) {
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

V SinOf(V x, V, V) { return Trig<0>(x); }
V CosOf(V x, V, V) { return Trig<1>(x); }

// What has no vector form yet.
template <float (*kF)(float)>
V OneByOne(V x) {
  const FloatTag d;
  HWY_ALIGN float lanes[hn::MaxLanes(d)];
  hn::Store(x, d, lanes);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = kF(lanes[i]);
  return hn::Load(d, lanes);
}
V AcosOf(V x, V, V) { return OneByOne<::acosf>(x); }
V AcoshOf(V x, V, V) { return OneByOne<::acoshf>(x); }
V AsinOf(V x, V, V) { return OneByOne<::asinf>(x); }
V AsinhOf(V x, V, V) { return OneByOne<::asinhf>(x); }
V AtanOf(V x, V, V) { return OneByOne<::atanf>(x); }
V AtanhOf(V x, V, V) { return OneByOne<::atanhf>(x); }
V CoshOf(V x, V, V) { return OneByOne<::coshf>(x); }
V SinhOf(V x, V, V) { return OneByOne<::sinhf>(x); }
V TanOf(V x, V, V) { return OneByOne<::tanf>(x); }

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

#define SDX_UNARY(name, ...) Map<name##Of>,
constexpr UnaryF32Fn* kForms[] = {
#include "kernels/elementwise/unary_functions.inc"
};
#undef SDX_UNARY

}  // namespace

UnaryF32Fn* FindUnaryF32(UnaryKind kind) { return kForms[static_cast<std::size_t>(kind)]; }

std::size_t VectorBytes() { return hn::Lanes(FloatTag()) * sizeof(float); }

}  // namespace sardonyx::kernels::SDX_ISA
