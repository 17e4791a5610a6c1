// kernels/elementwise/quantized_binary.isa.cpp - 8-bit loops that compilers turn into vectors; compiled once per ISA.
#include "kernels/elementwise/quantized_binary.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

// What float additions round to a whole number, halves to even, for |x| < 2^22.
constexpr float kRounder = 12582912.0f;

template <typename T>
constexpr float kLow = sizeof(T) == 1 && static_cast<T>(-1) < static_cast<T>(0) ? -128.0f : 0.0f;

// Clamping before rounding gives what clamping after it would: the bounds are whole numbers.
template <typename T>
T Store(float value, float zero) {
  const float low = kLow<T> - zero, high = kLow<T> + 255.0f - zero;
  const float above = value >= low ? value : low;  // NaN, too
  const float inside = above <= high ? above : high;
  const float whole = (inside + kRounder) - kRounder;
  return static_cast<T>(static_cast<std::int32_t>(whole + zero));
}

template <typename T>
float Load(T x, float zero) {
  return static_cast<float>(static_cast<std::int32_t>(x)) - zero;
}

template <typename T, QuantizedKind kKind>
T Combine(float a, float b, const QuantizedBinaryArgs& args) {
  if constexpr (kKind == QuantizedKind::kAdd) return Store<T>(a * args.a_scale + b * args.b_scale, args.y_zero);
  return Store<T>(a * b * args.a_scale, args.y_zero);
}

template <typename T, QuantizedKind kKind, bool kRepeatsB>
void Run(const void* from_a, const void* from_b, const QuantizedBinaryArgs& given, std::size_t n, void* to) {
  const T *a = static_cast<const T*>(from_a), *b = static_cast<const T*>(from_b);
  T* y = static_cast<T*>(to);
  const QuantizedBinaryArgs args = given;
  if constexpr (kRepeatsB) {
    const float second = Load(*b, args.b_zero);
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) y[i] = Combine<T, kKind>(Load(a[i], args.a_zero), second, args);
  } else {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i)
      y[i] = Combine<T, kKind>(Load(a[i], args.a_zero), Load(b[i], args.b_zero), args);
  }
}

template <typename T, QuantizedKind kKind>
QuantizedBinaryFn* FindKind(bool repeats_b) {
  return repeats_b ? Run<T, kKind, true> : Run<T, kKind, false>;
}

template <typename T>
QuantizedBinaryFn* FindType(QuantizedKind kind, bool repeats_b) {
  return kind == QuantizedKind::kAdd ? FindKind<T, QuantizedKind::kAdd>(repeats_b)
                                     : FindKind<T, QuantizedKind::kMul>(repeats_b);
}

QuantizedBinaryFn* Find(QuantizedKind kind, bool is_signed, bool repeats_b) {
  return is_signed ? FindType<std::int8_t>(kind, repeats_b) : FindType<std::uint8_t>(kind, repeats_b);
}

// Eight at a time: loads, lookups and stores overlap.
void Lookup(const std::uint8_t* x, const std::uint8_t* table, std::size_t n, std::uint8_t* y) {
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    std::uint8_t found[8];
    for (std::size_t k = 0; k < 8; ++k) found[k] = table[x[i + k]];
    for (std::size_t k = 0; k < 8; ++k) y[i + k] = found[k];
  }
  for (; i < n; ++i) y[i] = table[x[i]];
}

}  // namespace

QuantizedTable QuantizedKernels8() { return {Find, Lookup}; }

}  // namespace sardonyx::kernels::SDX_ISA
