// kernels/elementwise/binary.isa.cpp - the binary loops, which compilers turn into vectors; compiled once per ISA.
//
// `omp simd` promises that z is x or y itself, or overlaps neither, so no loop needs a check for it.
#include "kernels/elementwise/binary.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

using U8 = std::uint8_t;

// Arithmetic on the unsigned type of the same size: wraps, and is the same for signed and unsigned elements.
struct Add {
  template <typename T>
  static T Of(T x, T y) {
    return static_cast<T>(x + y);
  }
};
struct Sub {
  template <typename T>
  static T Of(T x, T y) {
    return static_cast<T>(x - y);
  }
};
struct Mul {
  static std::uint16_t Of(std::uint16_t x, std::uint16_t y) { return static_cast<std::uint16_t>(1u * x * y); }
  template <typename T>
  static T Of(T x, T y) {
    return static_cast<T>(x * y);
  }
};
struct Div {
  template <typename T>
  static T Of(T x, T y) {
    return x / y;
  }
};
// x if x is NaN or the smaller one, else y, which is NaN if y is: `!(x >= y)` would lose a NaN of y.
struct Min {
  template <typename T>
  static T Of(T x, T y) {
    return x < y || x != x ? x : y;
  }
};
struct Max {
  template <typename T>
  static T Of(T x, T y) {
    return x > y || x != x ? x : y;
  }
};
struct PRelu {
  template <typename T>
  static T Of(T x, T y) {
    return x < 0 ? x * y : x;
  }
};
struct And {
  template <typename T>
  static T Of(T x, T y) {
    return x & y;
  }
};
struct Or {
  template <typename T>
  static T Of(T x, T y) {
    return x | y;
  }
};
struct Xor {
  template <typename T>
  static T Of(T x, T y) {
    return x ^ y;
  }
};
struct Equal {
  template <typename T>
  static U8 Of(T x, T y) {
    return x == y;
  }
};
struct Less {
  template <typename T>
  static U8 Of(T x, T y) {
    return x < y;
  }
};
struct LessOrEqual {
  template <typename T>
  static U8 Of(T x, T y) {
    return x <= y;
  }
};

template <typename F, typename T>
std::size_t Both(const void* px, const void* py, void* pz, std::size_t n) {
  using Z = decltype(F::Of(T(), T()));
  const T* x = static_cast<const T*>(px);
  const T* y = static_cast<const T*>(py);
  Z* z = static_cast<Z*>(pz);
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) z[i] = F::Of(x[i], y[i]);
  return n;
}
template <typename F, typename T>
std::size_t RepeatedY(const void* px, const void* py, void* pz, std::size_t n) {
  using Z = decltype(F::Of(T(), T()));
  const T* x = static_cast<const T*>(px);
  Z* z = static_cast<Z*>(pz);
  if (n == 0) return 0;
  const T y = *static_cast<const T*>(py);
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) z[i] = F::Of(x[i], y);
  return n;
}
template <typename F, typename T>
std::size_t RepeatedX(const void* px, const void* py, void* pz, std::size_t n) {
  using Z = decltype(F::Of(T(), T()));
  const T* y = static_cast<const T*>(py);
  Z* z = static_cast<Z*>(pz);
  if (n == 0) return 0;
  const T x = *static_cast<const T*>(px);
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) z[i] = F::Of(x, y[i]);
  return n;
}

template <typename F, typename T>
BinaryLoops Loops() {
  return {Both<F, T>, RepeatedY<F, T>, RepeatedX<F, T>};
}
// Where the order does not matter, a repeated x is a repeated y.
template <typename F, typename T>
std::size_t Swapped(const void* x, const void* y, void* z, std::size_t n) {
  return RepeatedY<F, T>(y, x, z, n);
}
template <typename F, typename T>
BinaryLoops Symmetric() {
  return {Both<F, T>, RepeatedY<F, T>, Swapped<F, T>};
}

template <typename F>
BinaryLoops SymmetricBySize(DType dtype) {
  switch (Bits(dtype)) {
    case 8:
      return Symmetric<F, std::uint8_t>();
    case 16:
      return Symmetric<F, std::uint16_t>();
    case 32:
      return Symmetric<F, std::uint32_t>();
    case 64:
      return Symmetric<F, std::uint64_t>();
    default:
      return {};
  }
}
BinaryLoops SubBySize(DType dtype) {
  switch (Bits(dtype)) {
    case 8:
      return Loops<Sub, std::uint8_t>();
    case 16:
      return Loops<Sub, std::uint16_t>();
    case 32:
      return Loops<Sub, std::uint32_t>();
    case 64:
      return Loops<Sub, std::uint64_t>();
    default:
      return {};
  }
}

// Remainders of floats through doubles: quotients below kMost are whole numbers times a divisor of 24 bits, which a
// double holds, so they are exact; the quotient may have been rounded up to the next whole number. Other operands, few,
// are left to the library. kFloor: the sign of the divisor, else that of the dividend. kStepX, kStepY: 0 for a repeated
// operand.
template <bool kFloor, int kStepX, int kStepY>
std::size_t FloatRemainders(const void* px, const void* py, void* pz, std::size_t n) {
  constexpr double kMost = 1 << 29;
  constexpr float kInfinity = __builtin_inff();
  constexpr std::size_t kBlock = 64;
  const float* x = static_cast<const float*>(px);
  const float* y = static_cast<const float*>(py);
  float* z = static_cast<float*>(pz);
  float r[kBlock];
  for (std::size_t begin = 0; begin < n; begin += kBlock, x += kBlock * kStepX, y += kBlock * kStepY, z += kBlock) {
    const std::size_t count = n - begin < kBlock ? n - begin : kBlock;
    unsigned unusual = 0;
#pragma omp simd reduction(| : unusual)
    for (std::size_t i = 0; i < count; ++i) {
      const float narrow = __builtin_fabsf(y[i * kStepY]);
      const double dividend = __builtin_fabsf(x[i * kStepX]), divisor = narrow, quotient = dividend / divisor;
      const bool usual = (quotient < kMost) & (narrow < kInfinity);
      unusual |= static_cast<unsigned>(!usual);
      const double whole = static_cast<std::int32_t>(usual ? quotient : 0.0), rest = dividend - whole * divisor;
      r[i] = __builtin_copysignf(static_cast<float>(rest < 0 ? rest + divisor : rest), x[i * kStepX]);
    }
    for (std::size_t i = 0; unusual != 0 && i < count; ++i) r[i] = __builtin_fmodf(x[i * kStepX], y[i * kStepY]);
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) {
      const float rest = r[i], divisor = y[i * kStepY];
      const float floored = (rest < 0) != (divisor < 0) ? rest + divisor : rest;  // a NaN stays one either way
      z[i] = !kFloor ? rest : rest == 0 ? __builtin_copysignf(0.0f, divisor) : floored;
    }
  }
  return n;
}
template <bool kFloor>
BinaryLoops Remainders() {
  return {FloatRemainders<kFloor, 1, 1>, FloatRemainders<kFloor, 1, 0>, FloatRemainders<kFloor, 0, 1>};
}

template <template <typename, typename> class Make, typename F>
BinaryLoops ByType(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return Make<F, float>::Get();
    case DType::kDouble:
      return Make<F, double>::Get();
    case DType::kInt8:
      return Make<F, std::int8_t>::Get();
    case DType::kInt16:
      return Make<F, std::int16_t>::Get();
    case DType::kInt32:
      return Make<F, std::int32_t>::Get();
    case DType::kInt64:
      return Make<F, std::int64_t>::Get();
    case DType::kBool:
    case DType::kUInt8:
      return Make<F, std::uint8_t>::Get();
    case DType::kUInt16:
      return Make<F, std::uint16_t>::Get();
    case DType::kUInt32:
      return Make<F, std::uint32_t>::Get();
    case DType::kUInt64:
      return Make<F, std::uint64_t>::Get();
    default:
      return {};
  }
}
template <typename F, typename T>
struct MakeLoops {
  static BinaryLoops Get() { return Loops<F, T>(); }
};
template <typename F, typename T>
struct MakeSymmetric {
  static BinaryLoops Get() { return Symmetric<F, T>(); }
};

template <typename T>
BinaryLoops OfFloat(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kAdd:
      return Symmetric<Add, T>();
    case BinaryKind::kSub:
      return Loops<Sub, T>();
    case BinaryKind::kMul:
      return Symmetric<Mul, T>();
    case BinaryKind::kDiv:
      return Loops<Div, T>();
    case BinaryKind::kPRelu:
      return Loops<PRelu, T>();
    case BinaryKind::kEqual:
      return Symmetric<Equal, T>();
    default:
      return {};
  }
}

BinaryLoops OfInt(BinaryKind kind, DType dtype) {
  switch (kind) {
    case BinaryKind::kAdd:
      return SymmetricBySize<Add>(dtype);
    case BinaryKind::kSub:
      return SubBySize(dtype);
    case BinaryKind::kMul:
      return SymmetricBySize<Mul>(dtype);
    case BinaryKind::kAnd:
      return SymmetricBySize<And>(dtype);
    case BinaryKind::kOr:
      return SymmetricBySize<Or>(dtype);
    case BinaryKind::kXor:
      return SymmetricBySize<Xor>(dtype);
    case BinaryKind::kEqual:
      return SymmetricBySize<Equal>(dtype);
    default:
      return {};
  }
}

}  // namespace

BinaryLoops FindBinary(BinaryKind kind, DType dtype) {
  switch (kind) {
    case BinaryKind::kMin:
      return ByType<MakeSymmetric, Min>(dtype);
    case BinaryKind::kMax:
      return ByType<MakeSymmetric, Max>(dtype);
    case BinaryKind::kLess:
      return ByType<MakeLoops, Less>(dtype);
    case BinaryKind::kLessOrEqual:
      return ByType<MakeLoops, LessOrEqual>(dtype);
    default:
      break;
  }
  if (dtype == DType::kFloat && kind == BinaryKind::kMod) return Remainders<true>();
  if (dtype == DType::kFloat && kind == BinaryKind::kFMod) return Remainders<false>();
  if (dtype == DType::kFloat) return OfFloat<float>(kind);
  if (dtype == DType::kDouble) return OfFloat<double>(kind);
  if (dtype == DType::kBool || IsInteger(dtype)) return OfInt(kind, dtype);
  return {};
}

}  // namespace sardonyx::kernels::SDX_ISA
