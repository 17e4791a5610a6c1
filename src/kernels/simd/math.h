// kernels/simd/math.h - float functions on Highway vectors, for *.isa.cpp files only: everything lies in the ISA's
// namespace.
//
// Errors in units in the last place of the result, tested over all exponents in elementwise/unary_test.cpp: Exp,
// Log 1.5; Expm1, Log1pOfUnit, Sin, Cos 2; Tanh, Sigmoid, Erf 3. NaN stays NaN, infinities and denormal results are
// right. The polynomials are weighted minimax fits (Lawson's algorithm on 4,000 Chebyshev nodes, relative error below
// 2^-27).
#pragma once

#include <hwy/highway.h>
#include <math.h>

#include <cstddef>
#include <cstdint>

namespace sardonyx::kernels::SDX_ISA {

namespace hn = hwy::HWY_NAMESPACE;
using FloatTag = hn::ScalableTag<float>;
using Floats = hn::Vec<FloatTag>;
using Int32Tag = hn::RebindToSigned<FloatTag>;
using Int32s = hn::Vec<Int32Tag>;

// Vectors are arrays that loops run through.
inline constexpr bool kEmulated = HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR;

inline Floats Splat(float x) { return hn::Set(FloatTag(), x); }

// c[0] + x c[1] + ... by Horner's rule.
template <std::size_t kCount>
inline Floats Polynomial(Floats x, const float (&c)[kCount]) {
  Floats sum = Splat(c[kCount - 1]);
  for (std::size_t i = kCount - 1; i-- > 0;) sum = hn::MulAdd(sum, x, Splat(c[i]));
  return sum;
}

// A whole number as an integer; anything for NaN, which Highway's form without vectors must not be given.
inline Int32s ToInt32(Floats whole) {
  if constexpr (kEmulated) whole = hn::IfThenZeroElse(hn::IsNaN(whole), whole);
  return hn::ConvertTo(Int32Tag(), whole);
}

// 2^n for n in [-126, 127].
inline Floats PowerOfTwo(Int32s n) {
  const Int32Tag di;
  return hn::BitCast(FloatTag(), hn::ShiftLeft<23>(hn::Add(n, hn::Set(di, 127))));
}

// e^x = 2^n (1 + tail), tail = e^r - 1 with |r| <= ln(2) / 2, for x clamped to [-104, 89] (0 and infinity beyond).
struct ExpParts {
  Floats tail;
  Int32s n;
};
inline ExpParts SplitExp(Floats x) {
  constexpr float kCoefficients[] = {0.49999994f, 0.166665152f, 0.041668456f, 0.00836941879f, 0.00138131448f};
  const Floats in = hn::Max(hn::Min(x, Splat(89.0f)), Splat(-104.0f));
  const Floats n = hn::Round(hn::Mul(in, Splat(1.44269504f)));
  const Floats r = hn::NegMulAdd(n, Splat(3.194618329871446e-05f), hn::NegMulAdd(n, Splat(0.693115234375f), in));
  const Floats tail = hn::MulAdd(hn::Mul(r, r), Polynomial(r, kCoefficients), r);
  return {tail, ToInt32(n)};
}

#if defined(__AVX512F__)

// A sum with it has no room for a fraction, and holds the whole number in its low bits.
inline constexpr float kWhole = 12582912.0f;

// One instruction scales by 2^n and rounds denormal results once; the clamps hand on a NaN, their second operand.
inline Floats Exp(Floats x) {
  constexpr float kCoefficients[] = {0.49999994f, 0.166665152f, 0.041668456f, 0.00836941879f, 0.00138131448f};
  const Floats in{
      _mm512_maskz_max_ps(0xFFFF, Splat(-104.0f).raw, _mm512_maskz_min_ps(0xFFFF, Splat(89.0f).raw, x.raw))};
  const Floats n = hn::Sub(hn::MulAdd(in, Splat(1.44269504f), Splat(kWhole)), Splat(kWhole));
  const Floats r = hn::NegMulAdd(n, Splat(3.194618329871446e-05f), hn::NegMulAdd(n, Splat(0.693115234375f), in));
  const Floats tail = hn::MulAdd(hn::Mul(r, r), Polynomial(r, kCoefficients), r);
  return Floats{_mm512_maskz_scalef_ps(0xFFFF, hn::Add(tail, Splat(1.0f)).raw, n.raw)};
}

// 1 / x for x >= 1, infinity included: an estimate of 14 bits and one step of Newton's method.
inline Floats ReciprocalFromOne(Floats x) {
  const __m512 y = _mm512_maskz_rcp14_ps(0xFFFF, x.raw);
  const Floats rest = hn::NegMulAdd(x, Floats{y}, Splat(1.0f));
  const __mmask16 finite = _mm512_cmp_ps_mask(x.raw, Splat(HUGE_VALF).raw, _CMP_NEQ_UQ);
  return Floats{_mm512_mask_fmadd_ps(y, finite, rest.raw, y)};
}
// a / b for finite a and b >= 2: an estimate of 14 bits, and its rest divided once more.
inline Floats QuotientFromTwo(Floats a, Floats b) {
  const Floats inverse{_mm512_maskz_rcp14_ps(0xFFFF, b.raw)};
  const Floats y = hn::Mul(a, inverse);
  return hn::MulAdd(hn::NegMulAdd(y, b, a), inverse, y);
}

#else

inline Floats ReciprocalFromOne(Floats x) { return hn::Div(Splat(1.0f), x); }
inline Floats QuotientFromTwo(Floats a, Floats b) { return hn::Div(a, b); }

inline Floats Exp(Floats x) {
  const ExpParts e = SplitExp(x);
  const Int32s half = hn::ShiftRight<1>(e.n);  // in two steps, so that denormal results are rounded once, at the end
  const Floats y = hn::Mul(hn::Mul(hn::Add(e.tail, Splat(1.0f)), PowerOfTwo(half)), PowerOfTwo(hn::Sub(e.n, half)));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

#endif

// e^x - 1 for x <= 88.
inline Floats Expm1(Floats x) {
  const ExpParts e = SplitExp(hn::Max(x, Splat(-40.0f)));
  const Floats scale = PowerOfTwo(e.n);
  const Floats y = hn::MulAdd(scale, e.tail, hn::Sub(scale, Splat(1.0f)));
  return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Eq(x, Splat(0.0f))), x, y);
}

// ln(x) for finite positive normal x; `exponent` is added to the binary exponent of x.
inline Floats LogOfNormal(Floats x, Floats exponent) {
  constexpr float kCoefficients[] = {0.333333313f, -0.250008196f, 0.200012267f, -0.166233569f,
                                     0.142017573f, -0.131601825f, 0.127615765f, -0.0763449669f};
  const Int32Tag di;
  const FloatTag d;
  const Int32s bits = hn::BitCast(di, x);
  const Int32s e =
      hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3f3504f3)));  // the mantissa lies in [sqrt(1/2), sqrt(2))
  const Floats f = hn::Sub(hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(e))), Splat(1.0f));
  const Floats n = hn::Add(hn::ConvertTo(d, e), exponent);
  const Floats f2 = hn::Mul(f, f);
  Floats y = hn::Mul(hn::Mul(f, f2), Polynomial(f, kCoefficients));
  y = hn::MulAdd(n, Splat(3.194618329871446e-05f), y);
  y = hn::NegMulAdd(f2, Splat(0.5f), y);
  return hn::MulAdd(n, Splat(0.693115234375f), hn::Add(f, y));
}

inline Floats Log(Floats x) {
  const auto denormal = hn::Lt(x, Splat(1.17549435e-38f));
  const Floats scaled = hn::IfThenElse(denormal, hn::Mul(x, Splat(8388608.0f)), x);
  Floats y = LogOfNormal(scaled, hn::IfThenElseZero(denormal, Splat(-23.0f)));
  y = hn::IfThenElse(hn::Eq(x, Splat(HUGE_VALF)), x, y);
  y = hn::IfThenElse(hn::Eq(x, Splat(0.0f)), Splat(-HUGE_VALF), y);
  y = hn::IfThenElse(hn::Lt(x, Splat(0.0f)), Splat(NAN), y);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

// ln(1 + t) for t in [0, 1] (the e^-|x| of softplus).
inline Floats Log1pOfUnit(Floats t) {
  const Floats u = hn::Add(t, Splat(1.0f));
  const Floats lost = hn::Sub(t, hn::Sub(u, Splat(1.0f)));  // what 1 + t rounded away
  return hn::Add(LogOfNormal(u, Splat(0.0f)), hn::Div(lost, u));
}

// 1 / (1 + e^-x), written with e^-|x| so that it never overflows and keeps small results.
inline Floats Sigmoid(Floats x) {
  const Floats e = Exp(hn::Neg(hn::Abs(x)));
  const Floats top = hn::IfThenElse(hn::Lt(x, Splat(0.0f)), e, Splat(1.0f));
  return hn::Mul(top, ReciprocalFromOne(hn::Add(e, Splat(1.0f))));
}

// With m = e^2|x| - 1, which keeps its digits near 0, |tanh(x)| = m / (m + 2). It is 1 from 9.2 on.
#if defined(__AVX512F__)
// e^2|x| = 2^n e^2r, where |x| = n ln(2) / 2 + r: n is read from the low bits of a sum that has no room for a fraction.
// An error of r grows with n, and counts less by 2^n.
inline Floats Tanh(Floats x) {
  constexpr float kCoefficients[] = {1.99999976f, 1.333321216f, 0.666695296f, 0.26782140128f, 0.08840415616f};
  const Int32Tag di;
  const FloatTag d;
  const Floats size{_mm512_maskz_min_ps(0xFFFF, Splat(9.2f).raw, hn::Abs(x).raw)};  // NaN stays
  const Floats shifted = hn::MulAdd(size, Splat(2.88539008f), Splat(kWhole));
  const Floats r = hn::NegMulAdd(hn::Sub(shifted, Splat(kWhole)), Splat(0.34657359f), size);
  const Floats tail = hn::MulAdd(hn::Mul(r, r), Polynomial(r, kCoefficients), hn::Add(r, r));
  const Floats scale = hn::BitCast(d, hn::Add(hn::ShiftLeft<23>(hn::BitCast(di, shifted)), hn::Set(di, 0x3f800000)));
  const Floats m = hn::MulAdd(scale, tail, hn::Sub(scale, Splat(1.0f)));
  return hn::CopySign(QuotientFromTwo(m, hn::Add(m, Splat(2.0f))), x);
}
#else
inline Floats Tanh(Floats x) {
  constexpr float kCoefficients[] = {0.49999994f, 0.166665152f, 0.041668456f, 0.00836941879f, 0.00138131448f};
  const Floats size = hn::Min(hn::Abs(x), Splat(9.2f));
  const Floats n = hn::Round(hn::Mul(size, Splat(2.88539008f)));
  const Floats twice = hn::Add(size, size);
  const Floats r = hn::NegMulAdd(n, Splat(3.194618329871446e-05f), hn::NegMulAdd(n, Splat(0.693115234375f), twice));
  const Floats tail = hn::MulAdd(hn::Mul(r, r), Polynomial(r, kCoefficients), r);
  const Floats scale = PowerOfTwo(ToInt32(n));
  const Floats m = hn::MulAdd(scale, tail, hn::Sub(scale, Splat(1.0f)));
  const Floats y = hn::CopySign(QuotientFromTwo(m, hn::Add(m, Splat(2.0f))), x);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}
#endif

#if defined(__AVX512F__)
// erf(x) = x P(t), where t is the distance of 3.875 |x| from the nearest whole number, at most 1/2, and the coefficients
// of P for each of the 16 whole numbers lie in a register each. The result is 1 from 3.99 on.
inline Floats Erf(Floats x) {
  alignas(64) static constexpr float kCoefficients[6][16] = {
      {1.12837923f, 1.10382283f, 1.03570783f, 0.93830359f, 0.828924596f,
       0.72227484f, 0.627399743f, 0.547688246f, 0.482677728f, 0.430115879f,
       0.387398213f, 0.352251738f, 0.322912812f, 0.298076302f, 0.276785612f, 0.258333325f},
      {-9.16023968e-09f, -0.0481429659f, -0.0856051967f, -0.106216408f, -0.110039346f,
       -0.101756319f, -0.0874632522f, -0.0720732659f, -0.0583472326f, -0.047221195f,
       -0.0385952219f, -0.0319904238f, -0.0269029699f, -0.0229278225f, -0.0197702292f, -0.0172221977f},
      {-0.0250487942f, -0.0221622679f, -0.0147706019f, -0.00586199295f, 0.00161881861f,
       0.00613310235f, 0.00774297817f, 0.0074208593f, 0.0062345569f, 0.00490550371f,
       0.00376323122f, 0.00288443989f, 0.00223677233f, 0.00176270457f, 0.00141199701f, 0.00114812248f},
      {-1.73789783e-06f, 0.00184870441f, 0.00290199835f, 0.00286522578f, 0.00203569909f,
       0.000981789548f, 0.00015040618f, -0.00030340135f, -0.000447331317f, -0.000421311124f,
       -0.000336778932f, -0.000251328951f, -0.000183802171f, -0.000135056398f, -0.000100760699f, -7.65264776e-05f},
      {0.000507122488f, 0.000386413391f, 0.000125748047f, -0.000128332991f, -0.000257399079f,
       -0.000247454824f, -0.000161209682f, -6.96391871e-05f, -9.45011743e-06f, 1.70443291e-05f,
       2.25458643e-05f, 1.93683209e-05f, 1.44051783e-05f, 1.01937449e-05f, 7.1679151e-06f, 5.10294785e-06f},
      {-1.18368671e-05f, -4.18148084e-05f, -5.68443866e-05f, -4.05696373e-05f, -1.05766221e-05f,
       1.23387272e-05f, 1.971643e-05f, 1.57007344e-05f, 8.33885497e-06f, 2.70570695e-06f,
       -9.66532312e-08f, -9.56239205e-07f, -9.53572737e-07f, -7.2064023e-07f, -4.98154634e-07f, -3.37622168e-07f}};
  const auto coefficient = [](Floats at, int power) {
    return Floats{_mm512_permutexvar_ps(_mm512_castps_si512(at.raw), _mm512_load_ps(kCoefficients[power]))};
  };
  const Floats size{_mm512_maskz_min_ps(0xFFFF, Splat(3.99f).raw, hn::Abs(x).raw)};  // NaN stays
  const Floats shifted = hn::MulAdd(size, Splat(3.875f), Splat(kWhole));  // the table's column in its lowest bits
  const Floats t = hn::MulSub(size, Splat(3.875f), hn::Sub(shifted, Splat(kWhole)));
  Floats sum = coefficient(shifted, 5);
  for (int power = 4; power >= 0; --power) sum = hn::MulAdd(sum, t, coefficient(shifted, power));
  const Floats y{_mm512_maskz_min_ps(0xFFFF, Splat(1.0f).raw, hn::Mul(size, sum).raw)};
  return hn::CopySign(y, x);
}
#else
// erfc(t) for t >= 0.98, from a fit of -ln(erfc) on [0.98, 5]; 0 beyond 5 (erfc(5) is 1.5e-12).
inline Floats ErfcTail(Floats t) {
  constexpr float kCoefficients[] = {1.08382301e-05f, 1.12871373f,    0.63479048f,      0.106874757f,
                                     -0.0243218672f,  0.00390738295f, -0.000387466454f, 1.76129324e-05f};
  const Floats e = Exp(hn::Neg(Polynomial(hn::Min(t, Splat(5.0f)), kCoefficients)));
  return hn::IfThenElseZero(hn::Le(t, Splat(5.0f)), e);
}
// erf(x) for |x| <= 1.
inline Floats ErfNearZero(Floats x) {
  constexpr float kCoefficients[] = {1.12837911f,    -0.37612626f,     0.112835854f,   -0.026853811f,
                                     0.00518832775f, -0.000801019371f, 7.85386073e-05f};
  return hn::Mul(x, Polynomial(hn::Mul(x, x), kCoefficients));
}
inline Floats Erf(Floats x) {
  const Floats size = hn::Abs(x);
  const Floats large = hn::CopySign(hn::Sub(Splat(1.0f), ErfcTail(size)), x);
  const Floats y = hn::IfThenElse(hn::Lt(size, Splat(1.0f)), ErfNearZero(x), large);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}
#endif

// Sine (`shift` 0) or cosine (`shift` 1) for |x| <= kTrigLimit: x minus the nearest multiple n of pi/2, which is
// subtracted in four parts of 11 bits (n fits into 13, so every product is exact).
inline constexpr float kTrigLimit = 12000.0f;
inline Floats SinShifted(Floats x, int shift) {
  constexpr float kSin[] = {-0.166666672f, 0.00833332911f, -0.000198392328f, 2.71736667e-06f};
  constexpr float kCos[] = {0.0416666679f, -0.00138888834f, 2.47993721e-05f, -2.71986266e-07f};
  const Int32Tag di;
  const FloatTag d;
  const Floats n = hn::Round(hn::Mul(x, Splat(0.636619772f)));
  Floats r = hn::NegMulAdd(n, Splat(1.5703125f), x);
  r = hn::NegMulAdd(n, Splat(0.0004837512969970703f), r);
  r = hn::NegMulAdd(n, Splat(7.549533620476723e-08f), r);
  r = hn::NegMulAdd(n, Splat(2.5633440682570896e-12f), r);
  const Int32s quadrant = hn::Add(ToInt32(n), hn::Set(di, shift));
  const Floats r2 = hn::Mul(r, r);
  const Floats sine = hn::MulAdd(hn::Mul(r, r2), Polynomial(r2, kSin), r);
  const Floats cosine = hn::MulAdd(hn::Mul(r2, r2), Polynomial(r2, kCos), hn::NegMulAdd(r2, Splat(0.5f), Splat(1.0f)));
  const auto odd = hn::Eq(hn::And(quadrant, hn::Set(di, 1)), hn::Set(di, 1));
  const Floats y = hn::IfThenElse(hn::RebindMask(d, odd), cosine, sine);
  const Int32s sign = hn::ShiftLeft<30>(hn::And(quadrant, hn::Set(di, 2)));
  return hn::Xor(y, hn::BitCast(d, sign));
}

}  // namespace sardonyx::kernels::SDX_ISA
