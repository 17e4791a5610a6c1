// kernels/elementwise/quantize.isa.cpp - quantization loops that compilers turn into vectors; compiled once per ISA.
#include "kernels/elementwise/quantize.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

// What float additions round to a whole number, halves to even, for |x| < 2^22.
constexpr float kRounder = 12582912.0f;

// The bounds are whole numbers, so clamping before rounding gives what clamping after it would, and the sum is always
// exact.
template <typename T>
T QuantizeOne(float x, float scale, float zero, float low, float high) {
  const float quotient = x / scale;
  const float above = quotient >= low - zero ? quotient : low - zero;  // NaN, too
  const float inside = above <= high - zero ? above : high - zero;
  const float whole = (inside + kRounder) - kRounder;
  if constexpr (sizeof(T) == sizeof(float)) {
    return whole + zero;
  } else {
    return static_cast<T>(static_cast<std::int32_t>(whole + zero));
  }
}

template <typename T>
void Repeated(const float* x, const float* scale, const float* zero, float low, float high, std::size_t n, void* to) {
  T* y = static_cast<T*>(to);
  const float s = *scale, z = *zero;
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] = QuantizeOne<T>(x[i], s, z, low, high);
}
template <typename T>
void Each(const float* x, const float* scale, const float* zero, float low, float high, std::size_t n, void* to) {
  T* y = static_cast<T*>(to);
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] = QuantizeOne<T>(x[i], scale[i], zero[i], low, high);
}

// The sum may be rounded, too: the zero point is no part of the quotient's rounding, but of the result's.
template <typename T>
void RepeatedSum(const float* x, const float* scale, const float* zero, float low, float high, std::size_t n,
                 void* to) {
  T* y = static_cast<T*>(to);
  const float s = *scale, z = *zero;
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] = QuantizeOne<T>(x[i] / s + z, 1, 0, low, high);
}
QuantizeFn* FindSum(bool is_signed) { return is_signed ? RepeatedSum<std::int8_t> : RepeatedSum<std::uint8_t>; }

QuantizeFn* Find(DType to, bool repeated) {
  switch (to) {
    case DType::kInt8:
      return repeated ? Repeated<std::int8_t> : Each<std::int8_t>;
    case DType::kUInt8:
      return repeated ? Repeated<std::uint8_t> : Each<std::uint8_t>;
    case DType::kInt16:
      return repeated ? Repeated<std::int16_t> : Each<std::int16_t>;
    case DType::kUInt16:
      return repeated ? Repeated<std::uint16_t> : Each<std::uint16_t>;
    case DType::kFloat:
      return repeated ? Repeated<float> : Each<float>;
    default:
      return nullptr;
  }
}

void DequantizeRepeated(const float* x, const float* scale, const float* zero, std::size_t n, float* y) {
  const float s = *scale, z = *zero;
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] = (x[i] - z) * s;
}
void DequantizeEach(const float* x, const float* scale, const float* zero, std::size_t n, float* y) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] = (x[i] - zero[i]) * scale[i];
}

void Range(const float* x, std::size_t n, float* low, float* high) {
  float smallest = 0, largest = 0;
#pragma omp simd reduction(min : smallest) reduction(max : largest)
  for (std::size_t i = 0; i < n; ++i) {
    smallest = x[i] < smallest ? x[i] : smallest;
    largest = x[i] > largest ? x[i] : largest;
  }
  *low = smallest;
  *high = largest;
}

}  // namespace

QuantizeTable QuantizeKernels() { return {Find, FindSum, DequantizeRepeated, DequantizeEach, Range}; }

}  // namespace sardonyx::kernels::SDX_ISA
