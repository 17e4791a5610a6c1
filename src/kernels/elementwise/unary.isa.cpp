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
V ThresholdedReluOf(V x, V a, V) { return hn::IfThenElseZero(hn::Gt(x, a), x); }
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
  return hn::IfThenElse(hn::Lt(x, hn::Neg(lambd)), hn::Add(x, bias), high);
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
V ScaledTanhOf(V x, V a, V b) { return hn::Mul(a, Tanh(hn::Mul(b, x))); }
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

// x P(X < x) of the standard normal distribution. With u = 1 / (1 + 0.35 |x|), P(X < -|x|) = e^(-x^2 / 2) u p(u), so
// the negative side keeps its digits; p is a minimax fit of relative error as in simd/math_f32.h.
V GeluOf(V x, V, V) {
  constexpr float kCoefficients[] = {0.13962141f, 0.13986190f,  0.11983270f, 0.10550866f,  -0.023111418f,
                                     0.15917650f, -0.25571632f, 0.14397271f, -0.029146139f};
  const V size = hn::Min(hn::Abs(x), Splat(40.0f));
  const V u = ReciprocalFromOne(hn::MulAdd(Splat(0.35f), size, One()));
  const V e = Exp(hn::Mul(hn::Mul(size, Splat(-0.5f)), size));
  const V tail = hn::Mul(e, hn::Mul(u, Polynomial(u, kCoefficients)));
  return KeepNan(x, hn::Mul(x, hn::IfThenElse(hn::Lt(x, Zero()), tail, hn::Sub(One(), tail))));
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

// For functions that the C library computes faster than the many steps below, where Highway has no vectors.
template <float (*kF)(float)>
V OneByOne(V x) {
  const FloatTag d;
  HWY_ALIGN float lanes[hn::MaxLanes(d)];
  hn::Store(x, d, lanes);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = kF(lanes[i]);
  return hn::Load(d, lanes);
}

V TanOf(V x, V, V) {
  if constexpr (kEmulated) return OneByOne<::tanf>(x);
  return hn::Div(Trig<0>(x), Trig<1>(x));
}

// e^|x| halved; beyond 88, where it may be infinite and the results below are not, as the product of two roots.
V HalfExp(V size) {
  const V root = Exp(hn::Mul(size, Splat(0.5f)));
  const V large = hn::Mul(hn::Mul(root, Splat(0.5f)), root);
  return hn::IfThenElse(hn::Gt(size, Splat(88.0f)), large, hn::Mul(Exp(size), Splat(0.5f)));
}
V SinhOf(V x, V, V) {
  if constexpr (kEmulated) return OneByOne<::sinhf>(x);
  const V size = hn::Abs(x);
  const V e = Expm1(hn::Min(size, Splat(88.0f)));
  const V y = hn::Mul(hn::Add(e, hn::Div(e, hn::Add(e, One()))), Splat(0.5f));
  return KeepNan(x, hn::CopySign(hn::IfThenElse(hn::Gt(size, Splat(88.0f)), HalfExp(size), y), x));
}
V CoshOf(V x, V, V) {
  if constexpr (kEmulated) return OneByOne<::coshf>(x);
  const V half = HalfExp(hn::Abs(x));
  return hn::Add(half, hn::Div(Splat(0.25f), half));
}

// ln(1 + t) for finite t >= 0.
V Log1p(V t) {
  const V u = hn::Add(t, One());
  const V lost = hn::IfThenElse(hn::Lt(t, One()), hn::Sub(t, hn::Sub(u, One())), hn::Sub(One(), hn::Sub(u, t)));
  return hn::Add(LogOfNormal(u, Zero()), hn::Div(lost, u));
}
// Asinh and acosh are ln(2 x) from here on: 1 / (4 x^2) is less than half an ulp.
V LogOfTwice(V x) { return hn::IfThenElse(hn::Eq(x, Splat(HUGE_VALF)), x, LogOfNormal(x, One())); }
constexpr float kFromHereLogOfTwice = 4096;
V AsinhOf(V x, V, V) {
  if constexpr (kEmulated) return OneByOne<::asinhf>(x);
  const V size = hn::Abs(x), square = hn::Mul(size, size);
  const V root = hn::Sqrt(hn::Add(square, One()));
  const V near = Log1p(hn::Add(size, hn::Div(square, hn::Add(root, One()))));
  const V y = hn::IfThenElse(hn::Gt(size, Splat(kFromHereLogOfTwice)), LogOfTwice(size), near);
  return KeepNan(x, hn::CopySign(y, x));
}
V AcoshOf(V x, V, V) {
  if constexpr (kEmulated) return OneByOne<::acoshf>(x);
  const V t = hn::Sub(x, One());
  const V near = Log1p(hn::Add(t, hn::Sqrt(hn::Mul(t, hn::Add(t, Splat(2.0f))))));
  const V y = hn::IfThenElse(hn::Gt(x, Splat(kFromHereLogOfTwice)), LogOfTwice(x), near);
  return hn::IfThenElse(hn::Ge(x, One()), y, Splat(NAN));
}
V AtanhOf(V x, V, V) {
  if constexpr (kEmulated) return OneByOne<::atanhf>(x);
  const V size = hn::Abs(x), rest = hn::Sub(One(), size);
  const V y = hn::Mul(Log1p(hn::Div(hn::Add(size, size), rest)), Splat(0.5f));
  const V finite = hn::IfThenElse(hn::Eq(rest, Zero()), Splat(HUGE_VALF), y);
  return hn::IfThenElse(hn::Le(size, One()), hn::CopySign(finite, x), Splat(NAN));
}

// The odd functions t + t^3 p(t^2), fits as in simd/math.h: of atan for t <= tan(pi / 8), 2^-30, of asin for t <= 1/2,
// 2^-27.
V AtanNearZero(V t) {
  constexpr float kCoefficients[] = {-0.33333316445350647f, 0.19998489320278168f, -0.14243848621845245f,
                                     0.10596001148223877f, -0.060834530740976334f};
  const V square = hn::Mul(t, t);
  return hn::MulAdd(hn::Mul(t, square), Polynomial(square, kCoefficients), t);
}
V AsinNearZero(V t) {
  constexpr float kCoefficients[] = {0.16666753590106964f, 0.07495241612195969f, 0.04547709971666336f,
                                     0.024147601798176765f, 0.042218565940856934f};
  const V square = hn::Mul(t, t);
  return hn::MulAdd(hn::Mul(t, square), Polynomial(square, kCoefficients), t);
}
// atan(t) = pi / 4 + atan((t - 1) / (t + 1)) = pi / 2 - atan(1 / t).
V AtanOf(V x, V, V) {
  if constexpr (kEmulated) return OneByOne<::atanf>(x);
  const V size = hn::Abs(x);
  const auto large = hn::Gt(size, Splat(2.41421356f)), middle = hn::Gt(size, Splat(0.414213562f));
  const V top = hn::IfThenElse(large, Splat(-1.0f), hn::Sub(size, One()));
  const V bottom = hn::IfThenElse(large, size, hn::Add(size, One()));
  const V offset = hn::IfThenElse(large, Splat(1.57079637f), Splat(0.785398185f));
  const V far = hn::Add(offset, AtanNearZero(hn::Div(top, bottom)));
  return hn::CopySign(hn::IfThenElse(middle, far, AtanNearZero(size)), x);
}
// asin(t) = pi / 2 - 2 asin(sqrt((1 - t) / 2)).
V TwiceAsinOfRest(V size) {
  const V t = AsinNearZero(hn::Sqrt(hn::Mul(hn::Sub(One(), size), Splat(0.5f))));
  return hn::Add(t, t);
}
V AsinOf(V x, V, V) {
  if constexpr (kEmulated) return OneByOne<::asinf>(x);
  const V size = hn::Abs(x);
  const V far = hn::Sub(Splat(1.57079637f), TwiceAsinOfRest(size));
  return hn::CopySign(hn::IfThenElse(hn::Gt(size, Splat(0.5f)), far, AsinNearZero(size)), x);
}
V AcosOf(V x, V, V) {
  if constexpr (kEmulated) return OneByOne<::acosf>(x);
  const V size = hn::Abs(x), rest = TwiceAsinOfRest(size);
  const V far = hn::IfThenElse(hn::Lt(x, Zero()), hn::Sub(Splat(3.14159274f), rest), rest);
  return hn::IfThenElse(hn::Gt(size, Splat(0.5f)), far, hn::Sub(Splat(1.57079637f), AsinNearZero(x)));
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

#define SDX_UNARY(name, ...) Map<name##Of>,
constexpr UnaryF32Fn* kForms[] = {
#include "kernels/elementwise/unary_functions.inc"
};
#undef SDX_UNARY

}  // namespace

UnaryF32Fn* FindUnaryF32(UnaryKind kind) { return kForms[static_cast<std::size_t>(kind)]; }

std::size_t VectorBytes() { return hn::Lanes(FloatTag()) * sizeof(float); }

}  // namespace sardonyx::kernels::SDX_ISA
