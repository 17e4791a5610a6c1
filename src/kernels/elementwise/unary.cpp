// kernels/elementwise/unary.cpp - the double form of every kind, the scalar float form of the rare ones, and the
// dispatch.
#include "kernels/elementwise/unary.h"

#include <cmath>
#include <numbers>

namespace sardonyx::kernels {
namespace {

// x where x is NaN, else max(x, low) and min(x, high).
template <typename T>
T AtLeast(T x, T low) {
  return x < low ? low : x;
}
template <typename T>
T AtMost(T x, T high) {
  return x > high ? high : x;
}

double Sigmoid(double x) {
  const double e = std::exp(-std::abs(x));
  return (x < 0 ? e : 1) / (1 + e);
}
double HardSigmoid(double x, double a, double b) { return AtMost(AtLeast(a * x + b, 0.0), 1.0); }
double Gelu(double x) { return x / 2 * std::erfc(-x / std::numbers::sqrt2); }
double GeluTanh(double x) { return x * Sigmoid(2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)); }
double Mish(double x) {
  if (x > 40) return x;
  const double e = std::exp(x), top = e * (e + 2);
  return x * (top / (top + 2));
}
double Softplus(double x) { return AtLeast(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double Softsign(double x) { return std::isinf(x) ? std::copysign(1.0, x) : x / (1 + std::abs(x)); }
double Shrink(double x, double bias, double lambd) {
  if (x < -lambd) return x + bias;
  return x > lambd ? x - bias : (x == x ? 0 : x);
}
double Sign(double x) { return x > 0 ? 1 : (x < 0 ? -1 : (x == 0 ? 0 : x)); }

template <auto kF>
void Map(const double* x, double* y, std::size_t n, double a, double b) {
  for (std::size_t i = 0; i < n; ++i) y[i] = kF(x[i], a, b);
}
template <float (*kF)(float)>
void MapFloat(const float* x, float* y, std::size_t n, float, float) {
  for (std::size_t i = 0; i < n; ++i) y[i] = kF(x[i]);
}
template <auto kF>
void MapDouble(const double* x, double* y, std::size_t n, double, double) {
  for (std::size_t i = 0; i < n; ++i) y[i] = kF(x[i]);
}

UnaryF64Fn* ActivationF64(UnaryKind kind) {
  using D = double;
  switch (kind) {
    case UnaryKind::kCelu:
      return Map<[](D x, D a, D) { return x < 0 ? a * std::expm1(x / a) : x; }>;
    case UnaryKind::kElu:
      return Map<[](D x, D a, D) { return x < 0 ? a * std::expm1(x) : x; }>;
    case UnaryKind::kGelu:
      return MapDouble<Gelu>;
    case UnaryKind::kGeluTanh:
      return MapDouble<GeluTanh>;
    case UnaryKind::kHardSigmoid:
      return Map<HardSigmoid>;
    case UnaryKind::kHardSwish:
      return MapDouble<[](D x) { return x * HardSigmoid(x, 1.0 / 6, 0.5); }>;
    case UnaryKind::kLeakyRelu:
      return Map<[](D x, D a, D) { return x < 0 ? a * x : x; }>;
    case UnaryKind::kMish:
      return MapDouble<Mish>;
    case UnaryKind::kRelu:
      return MapDouble<[](D x) { return AtLeast(x, 0.0); }>;
    case UnaryKind::kSelu:
      return Map<[](D x, D a, D gamma) { return gamma * (x < 0 ? a * std::expm1(x) : x); }>;
    case UnaryKind::kShrink:
      return Map<Shrink>;
    case UnaryKind::kSigmoid:
      return Map<[](D x, D a, D) { return Sigmoid(a * x); }>;
    case UnaryKind::kSoftplus:
      return MapDouble<Softplus>;
    case UnaryKind::kSoftsign:
      return MapDouble<Softsign>;
    case UnaryKind::kSwish:
      return Map<[](D x, D a, D) { return x * Sigmoid(a * x); }>;
    case UnaryKind::kThresholdedRelu:
      return Map<[](D x, D a, D) { return x <= a ? 0 : x; }>;
    default:
      return nullptr;
  }
}

UnaryF64Fn* TrigF64(UnaryKind kind) {
  using D = double;
  switch (kind) {
    case UnaryKind::kAcos:
      return MapDouble<[](D x) { return std::acos(x); }>;
    case UnaryKind::kAcosh:
      return MapDouble<[](D x) { return std::acosh(x); }>;
    case UnaryKind::kAsin:
      return MapDouble<[](D x) { return std::asin(x); }>;
    case UnaryKind::kAsinh:
      return MapDouble<[](D x) { return std::asinh(x); }>;
    case UnaryKind::kAtan:
      return MapDouble<[](D x) { return std::atan(x); }>;
    case UnaryKind::kAtanh:
      return MapDouble<[](D x) { return std::atanh(x); }>;
    case UnaryKind::kCos:
      return MapDouble<[](D x) { return std::cos(x); }>;
    case UnaryKind::kCosh:
      return MapDouble<[](D x) { return std::cosh(x); }>;
    case UnaryKind::kSin:
      return MapDouble<[](D x) { return std::sin(x); }>;
    case UnaryKind::kSinh:
      return MapDouble<[](D x) { return std::sinh(x); }>;
    case UnaryKind::kTan:
      return MapDouble<[](D x) { return std::tan(x); }>;
    case UnaryKind::kTanh:
      return MapDouble<[](D x) { return std::tanh(x); }>;
    default:
      return ActivationF64(kind);
  }
}

// The float kinds without a vector form.
UnaryF32Fn* ScalarF32(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::kAcos:
      return MapFloat<std::acos>;
    case UnaryKind::kAcosh:
      return MapFloat<std::acosh>;
    case UnaryKind::kAsin:
      return MapFloat<std::asin>;
    case UnaryKind::kAsinh:
      return MapFloat<std::asinh>;
    case UnaryKind::kAtan:
      return MapFloat<std::atan>;
    case UnaryKind::kAtanh:
      return MapFloat<std::atanh>;
    case UnaryKind::kCosh:
      return MapFloat<std::cosh>;
    case UnaryKind::kSinh:
      return MapFloat<std::sinh>;
    case UnaryKind::kTan:
      return MapFloat<std::tan>;
    default:
      return nullptr;
  }
}

constexpr Variant<FindUnaryF32Fn> kVariants[] = {SDX_VARIANTS(FindUnaryF32)};
constexpr Variant<VectorBytesFn> kVectorBytes[] = {SDX_VARIANTS(VectorBytes)};

}  // namespace

std::span<const Variant<FindUnaryF32Fn>> UnaryF32Variants() { return kVariants; }
std::span<const Variant<VectorBytesFn>> VectorBytesVariants() { return kVectorBytes; }

UnaryF32Fn* UnaryF32(UnaryKind kind) {
  static FindUnaryF32Fn* const best = Best(kVariants);
  UnaryF32Fn* const vector = best(kind);
  return vector != nullptr ? vector : ScalarF32(kind);
}

UnaryF64Fn* UnaryF64(UnaryKind kind) {
  using D = double;
  switch (kind) {
    case UnaryKind::kAbs:
      return MapDouble<[](D x) { return std::abs(x); }>;
    case UnaryKind::kCeil:
      return MapDouble<[](D x) { return std::ceil(x); }>;
    case UnaryKind::kClip:
      return Map<[](D x, D low, D high) { return AtMost(AtLeast(x, low), high); }>;
    case UnaryKind::kCube:
      return MapDouble<[](D x) { return x * x * x; }>;
    case UnaryKind::kErf:
      return MapDouble<[](D x) { return std::erf(x); }>;
    case UnaryKind::kExp:
      return MapDouble<[](D x) { return std::exp(x); }>;
    case UnaryKind::kFloor:
      return MapDouble<[](D x) { return std::floor(x); }>;
    case UnaryKind::kLinear:
      return Map<[](D x, D a, D b) { return a * x + b; }>;
    case UnaryKind::kLog:
      return MapDouble<[](D x) { return std::log(x); }>;
    case UnaryKind::kNeg:
      return MapDouble<[](D x) { return -x; }>;
    case UnaryKind::kPowHalf:
      return MapDouble<[](D x) { return std::pow(x, 0.5); }>;
    case UnaryKind::kReciprocal:
      return MapDouble<[](D x) { return 1 / x; }>;
    case UnaryKind::kRound:
      return MapDouble<[](D x) { return std::nearbyint(x); }>;
    case UnaryKind::kSign:
      return MapDouble<Sign>;
    case UnaryKind::kSqrt:
      return MapDouble<[](D x) { return std::sqrt(x); }>;
    case UnaryKind::kSquare:
      return MapDouble<[](D x) { return x * x; }>;
    default:
      return TrigF64(kind);
  }
}

}  // namespace sardonyx::kernels
