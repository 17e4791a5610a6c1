// ops/tensor/scatter_reduction.cpp - the reductions of the scatter operators.
#include "ops/tensor/scatter_reduction.h"

#include <algorithm>
#include <complex>
#include <string>
#include <type_traits>

#include "base/error.h"
#include "kernels/copy/strided_copy.h"

namespace sardonyx::ops {
namespace {

template <typename T>
constexpr bool kIsSmall = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// What arithmetic is done in: float for the small floats, unsigned for integers, so that overflow wraps.
template <typename T>
auto Widened(T value) {
  if constexpr (kIsSmall<T>) {
    return static_cast<float>(value);
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<T>>(value));
  } else {
    return value;
  }
}

struct Add {
  template <typename T>
  static T Of(T a, T b) {
    return static_cast<T>(Widened(a) + Widened(b));
  }
};
struct Multiply {
  template <typename T>
  static T Of(T a, T b) {
    return static_cast<T>(Widened(a) * Widened(b));
  }
};
template <typename T>
bool IsNan(T value) {
  if constexpr (kIsSmall<T>) {
    return static_cast<float>(value) != static_cast<float>(value);
  } else {
    return value != value;
  }
}
template <typename T>
bool Less(T a, T b) {
  if constexpr (kIsSmall<T>) {
    return static_cast<float>(a) < static_cast<float>(b);
  } else {
    return a < b;
  }
}
struct Minimum {
  template <typename T>
  static T Of(T a, T b) {
    return Less(b, a) || IsNan(b) ? (IsNan(a) ? a : b) : a;
  }
};
struct Maximum {
  template <typename T>
  static T Of(T a, T b) {
    return Less(a, b) || IsNan(b) ? (IsNan(a) ? a : b) : a;
  }
};

template <typename Op, typename T>
void Combine(DType, const void* from, std::int64_t begin, void* to, const std::int64_t* places, std::int64_t n,
             std::int64_t run) {
  const T* u = static_cast<const T*>(from) + begin;
  T* y = static_cast<T*>(to);
  if (run == 1) {
    for (std::int64_t i = 0; i < n; ++i) y[places[i]] = Op::template Of<T>(y[places[i]], u[i]);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i, u += run)
    for (std::int64_t j = 0; j < run; ++j) y[places[i] + j] = Op::template Of<T>(y[places[i] + j], u[j]);
}

template <typename T>
void Write(DType, const void* from, std::int64_t begin, void* to, const std::int64_t* places, std::int64_t n,
           std::int64_t run) {
  const T* u = static_cast<const T*>(from) + begin;
  T* y = static_cast<T*>(to);
  if (run == 1) {
    for (std::int64_t i = 0; i < n; ++i) y[places[i]] = u[i];
    return;
  }
  for (std::int64_t i = 0; i < n; ++i, u += run) std::copy_n(u, run, y + places[i]);
}

// Sums of strings: the texts one after the other, as ONNX Runtime has it; the standard's text names none.
void Append(DType, const void* from, std::int64_t begin, void* to, const std::int64_t* places, std::int64_t n,
            std::int64_t run) {
  const auto* u = static_cast<const std::string*>(from) + begin;
  auto* y = static_cast<std::string*>(to);
  for (std::int64_t i = 0; i < n; ++i, u += run)
    for (std::int64_t j = 0; j < run; ++j) y[places[i] + j] += u[j];
}

void WriteAny(DType dtype, const void* from, std::int64_t begin, void* to, const std::int64_t* places, std::int64_t n,
              std::int64_t run) {
  for (std::int64_t i = 0; i < n; ++i) kernels::CopyElements(dtype, from, begin + i * run, to, places[i], run);
}

// By the size of an element alone, where it has whole bytes.
ScatterReductionFn* WriteOf(DType dtype) {
  if (IsString(dtype) || IsSubByte(dtype)) return WriteAny;
  switch (Bits(dtype)) {
    case 8:
      return Write<std::uint8_t>;
    case 16:
      return Write<std::uint16_t>;
    case 32:
      return Write<std::uint32_t>;
    case 64:
      return Write<std::uint64_t>;
    default:
      return WriteAny;
  }
}

template <typename Op>
ScatterReductionFn* ForType(DType dtype) {
  ScatterReductionFn* found = nullptr;
  VisitDType<float, double, Half, BFloat16, bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
             std::uint16_t, std::uint32_t, std::uint64_t>(dtype, [&]<typename T>() { found = Combine<Op, T>; });
  return found;
}

// Sums and products, which complex numbers have too.
template <typename Op>
ScatterReductionFn* ForRing(DType dtype) {
  if (dtype == DType::kComplex64) return Combine<Op, std::complex<float>>;
  if (dtype == DType::kComplex128) return Combine<Op, std::complex<double>>;
  return ForType<Op>(dtype);
}

}  // namespace

ScatterReductionFn* FindScatterReduction(std::string_view reduction, DType dtype) {
  if (reduction == "none") return WriteOf(dtype);
  if (reduction == "add") return IsString(dtype) ? Append : ForRing<Add>(dtype);
  if (reduction == "mul") return ForRing<Multiply>(dtype);
  if (reduction == "min") return ForType<Minimum>(dtype);
  if (reduction == "max") return ForType<Maximum>(dtype);
  Fail(Code::kInvalidGraph, "attribute 'reduction': expected none, add, mul, min or max, found '", reduction, "'");
}

}  // namespace sardonyx::ops
