// kernels/elementwise/simple.isa.cpp - the simple functions as loops that compilers turn into vectors; compiled once
// per ISA.
//
// `omp simd` promises that y is x itself, or overlaps it nowhere, so no loop needs a check for it.
#include "kernels/elementwise/simple.h"

#include <limits>
#include <type_traits>

namespace sardonyx::kernels::SDX_ISA {
namespace {

using U8 = std::uint8_t;

struct Neg {
  template <typename T>
  static T Of(T x) {
    return static_cast<T>(0u - static_cast<std::make_unsigned_t<T>>(x));
  }
};
struct Abs {
  template <typename T>
  static T Of(T x) {
    return x < 0 ? Neg::Of(x) : x;
  }
};
struct Relu {
  template <typename T>
  static T Of(T x) {
    return x < 0 ? T(0) : x;
  }
};
struct Sign {
  template <typename T>
  static T Of(T x) {
    return static_cast<T>((x > 0) - (x < 0));
  }
};
struct BitwiseNot {
  template <typename T>
  static T Of(T x) {
    return static_cast<T>(~x);
  }
};
struct Not {
  static U8 Of(U8 x) { return x == 0; }
};

// Tests of the bits of a float whose infinity is kInf.
template <auto kInf>
struct FloatBits {
  using T = decltype(kInf);
  static constexpr T kSign = T(T(1) << (8 * sizeof(T) - 1));
  struct IsNaN {
    static U8 Of(T x) { return T(x & T(~kSign)) > kInf; }
  };
  struct IsInf {
    static U8 Of(T x) { return T(x & T(~kSign)) == kInf; }
  };
  struct IsPositiveInf {
    static U8 Of(T x) { return x == kInf; }
  };
  struct IsNegativeInf {
    static U8 Of(T x) { return x == T(kInf | kSign); }
  };
};

template <typename F, typename T>
void Map(const void* px, void* py, std::size_t n, const void*, const void*) {
  using Y = decltype(F::Of(T()));
  const T* x = static_cast<const T*>(px);
  Y* y = static_cast<Y*>(py);
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] = F::Of(x[i]);
}

template <typename T>
void Clip(const void* px, void* py, std::size_t n, const void* lowest, const void* highest) {
  const T* x = static_cast<const T*>(px);
  T* y = static_cast<T*>(py);
  const T low = *static_cast<const T*>(lowest), high = *static_cast<const T*>(highest);
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) {
    const T v = x[i] < low ? low : x[i];
    y[i] = v > high ? high : v;
  }
}

template <typename T>
SimpleFn* OfInteger(SimpleKind kind) {
  switch (kind) {
    case SimpleKind::kAbs:
      return Map<Abs, T>;
    case SimpleKind::kNeg:
      return Map<Neg, T>;
    case SimpleKind::kRelu:
      return Map<Relu, T>;
    case SimpleKind::kSign:
      return Map<Sign, T>;
    case SimpleKind::kClip:
      return Clip<T>;
    default:
      return nullptr;
  }
}

template <auto kInf>
SimpleFn* OfFloat(SimpleKind kind) {
  using F = FloatBits<kInf>;
  using T = typename F::T;
  switch (kind) {
    case SimpleKind::kIsNaN:
      return Map<typename F::IsNaN, T>;
    case SimpleKind::kIsInf:
      return Map<typename F::IsInf, T>;
    case SimpleKind::kIsPositiveInf:
      return Map<typename F::IsPositiveInf, T>;
    case SimpleKind::kIsNegativeInf:
      return Map<typename F::IsNegativeInf, T>;
    default:
      return nullptr;
  }
}

SimpleFn* BitwiseNotOf(DType dtype) {
  switch (Bits(dtype)) {
    case 8:
      return Map<BitwiseNot, std::uint8_t>;
    case 16:
      return Map<BitwiseNot, std::uint16_t>;
    case 32:
      return Map<BitwiseNot, std::uint32_t>;
    case 64:
      return Map<BitwiseNot, std::uint64_t>;
    default:
      return nullptr;
  }
}

SimpleFn* FindSimple(SimpleKind kind, DType dtype) {
  if (kind == SimpleKind::kBitwiseNot) return BitwiseNotOf(dtype);
  if (kind == SimpleKind::kNot) return dtype == DType::kBool ? Map<Not, U8> : nullptr;
  switch (dtype) {
    case DType::kInt8:
      return OfInteger<std::int8_t>(kind);
    case DType::kInt16:
      return OfInteger<std::int16_t>(kind);
    case DType::kInt32:
      return OfInteger<std::int32_t>(kind);
    case DType::kInt64:
      return OfInteger<std::int64_t>(kind);
    case DType::kUInt8:
      return OfInteger<std::uint8_t>(kind);
    case DType::kUInt16:
      return OfInteger<std::uint16_t>(kind);
    case DType::kUInt32:
      return OfInteger<std::uint32_t>(kind);
    case DType::kUInt64:
      return OfInteger<std::uint64_t>(kind);
    case DType::kFloat:
      return OfFloat<std::uint32_t(0x7f800000)>(kind);
    case DType::kDouble:
      return OfFloat<std::uint64_t(0x7ff0000000000000)>(kind);
    case DType::kFloat16:
      return OfFloat<std::uint16_t(0x7c00)>(kind);
    case DType::kBFloat16:
      return OfFloat<std::uint16_t(0x7f80)>(kind);
    default:
      return nullptr;
  }
}

// The condition becomes a mask of the element's width, so that both operands are read and none is skipped.
template <typename T, bool kRepeatedX, bool kRepeatedY>
void Choose(const bool* condition, const void* px, const void* py, void* pz, std::size_t n) {
  const auto* chosen = reinterpret_cast<const U8*>(condition);
  const T* x = static_cast<const T*>(px);
  const T* y = static_cast<const T*>(py);
  T* z = static_cast<T*>(pz);
  if (n == 0) return;
  const T one_x = *x, one_y = *y;
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) {
    const T mask = static_cast<T>(0u - static_cast<T>(chosen[i] != 0));
    const T a = kRepeatedX ? one_x : x[i], b = kRepeatedY ? one_y : y[i];
    z[i] = static_cast<T>((a & mask) | (b & static_cast<T>(~mask)));
  }
}

template <typename T>
constexpr SelectLoops kChoices = {Choose<T, false, false>, Choose<T, true, false>, Choose<T, false, true>,
                                  Choose<T, true, true>};

SelectLoops FindSelect(std::size_t bytes) {
  switch (bytes) {
    case 1:
      return kChoices<std::uint8_t>;
    case 2:
      return kChoices<std::uint16_t>;
    case 4:
      return kChoices<std::uint32_t>;
    case 8:
      return kChoices<std::uint64_t>;
    default:
      return {};
  }
}

// Neighbours side by side: each is kCount steps after the one before it in its lane, so no multiplication is needed.
template <typename T>
void FillRamp(std::uint64_t start, std::uint64_t step, void* to, std::size_t n) {
  constexpr std::size_t kCount = 128 / sizeof(T);
  T* y = static_cast<T*>(to);
  T lanes[kCount];
  for (std::size_t j = 0; j < kCount; ++j) lanes[j] = static_cast<T>(start + j * step);
  const T stride = static_cast<T>(kCount * step);
  std::size_t i = 0;
  for (; i + kCount <= n; i += kCount) {
#pragma omp simd
    for (std::size_t j = 0; j < kCount; ++j) {
      y[i + j] = lanes[j];
      lanes[j] = static_cast<T>(lanes[j] + stride);
    }
  }
  for (std::size_t j = 0; i < n; ++i, ++j) y[i] = lanes[j];
}

RampFn* FindRamp(std::size_t bytes) {
  switch (bytes) {
    case 2:
      return FillRamp<std::uint16_t>;
    case 4:
      return FillRamp<std::uint32_t>;
    case 8:
      return FillRamp<std::uint64_t>;
    default:
      return nullptr;
  }
}

}  // namespace

SimpleTable SimpleKernels() { return {FindSimple, FindSelect, FindRamp}; }

}  // namespace sardonyx::kernels::SDX_ISA
