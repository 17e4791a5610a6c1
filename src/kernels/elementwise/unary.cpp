// kernels/elementwise/unary.cpp - the functions of unary_functions.inc on doubles, and the choice of the vector forms.
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
double GeluTanh(double x) { return x * Sigmoid(2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)); }
double Mish(double x) {
  if (x > 40) return x;
  const double e = std::exp(x), top = e * (e + 2);
  return x * (top / (top + 2));
}
double Shrink(double x, double bias, double lambd) {
  if (x < -lambd) return x + bias;
  return x > lambd ? x - bias : 0;
}
double Sign(double x) { return x > 0 ? 1 : (x < 0 ? -1 : (x == 0 ? 0 : x)); }

template <double (*kF)(double, double, double)>
void Map(const double* x, double* y, std::size_t n, double a, double b) {
  for (std::size_t i = 0; i < n; ++i) y[i] = kF(x[i], a, b);
}

// clang-format off
#define SDX_UNARY(name, value, ...) \
  {.f64 = Map<[](double x, [[maybe_unused]] double a, [[maybe_unused]] double b) -> double { return value; }>, __VA_ARGS__},
// clang-format on
constexpr UnaryFunction kFunctions[] = {
#include "kernels/elementwise/unary_functions.inc"
};
#undef SDX_UNARY

constexpr Variant<FindUnaryF32Fn> kVariants[] = {SDX_VARIANTS(FindUnaryF32)};
constexpr Variant<VectorBytesFn> kVectorBytes[] = {SDX_VARIANTS(VectorBytes)};

}  // namespace

std::span<const Variant<FindUnaryF32Fn>> UnaryF32Variants() { return kVariants; }
std::span<const Variant<VectorBytesFn>> VectorBytesVariants() { return kVectorBytes; }

const UnaryFunction& UnaryFunctionOf(UnaryKind kind) { return kFunctions[static_cast<std::size_t>(kind)]; }

UnaryF32Fn* UnaryF32(UnaryKind kind) {
  static FindUnaryF32Fn* const best = Best(kVariants);
  return best(kind);
}

UnaryF64Fn* UnaryF64(UnaryKind kind) { return UnaryFunctionOf(kind).f64; }

}  // namespace sardonyx::kernels
