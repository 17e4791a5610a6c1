// kernels/elementwise/binary.cpp - dispatch of the binary loops, and the functions that have no vector instruction:
// division and remainder of integers, shifts, powers.
#include "kernels/elementwise/binary.h"

#include <cmath>
#include <type_traits>

namespace sardonyx::kernels {
namespace {

constexpr Variant<FindBinaryFn> kVariants[] = {SDX_VARIANTS(FindBinary)};

template <typename T>
constexpr bool kIsFloat = std::is_floating_point_v<T>;

// Quotient and remainder with a divisor that is not 0; the smallest integer over -1 wraps to itself.
template <typename T>
T Quotient(T x, T y) {
  if constexpr (std::is_signed_v<T>)
    if (y == -1) return static_cast<T>(0u - static_cast<std::make_unsigned_t<T>>(x));
  return static_cast<T>(x / y);
}
template <typename T>
T Remainder(T x, T y) {
  if constexpr (std::is_signed_v<T>)
    if (y == -1) return 0;
  return static_cast<T>(x % y);
}

struct Div {
  template <typename T>
  static T Of(T x, T y) {
    return Quotient(x, y);
  }
};
struct FMod {
  template <typename T>
  static T Of(T x, T y) {
    if constexpr (kIsFloat<T>) {
      return std::fmod(x, y);
    } else {
      return Remainder(x, y);
    }
  }
};
struct Mod {
  template <typename T>
  static T Of(T x, T y) {
    const T r = FMod::Of(x, y);
    if constexpr (kIsFloat<T>) {
      if (r == 0) return std::copysign(T(0), y);
      return (r < 0) != (y < 0) ? r + y : r;  // a NaN stays one either way
    } else {
      return r != 0 && ((r < 0) != (y < 0)) ? static_cast<T>(r + y) : r;
    }
  }
};
struct Pow {
  template <typename T>
  static T Of(T x, T y) {
    return std::pow(x, y);
  }
};
struct PRelu {
  template <typename T>
  static T Of(T x, T y) {
    if (!(x < 0)) return x;
    return static_cast<T>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y));
  }
};
template <typename T>
bool TooFar(T y) {
  return y < 0 || static_cast<std::uint64_t>(y) >= 8 * sizeof(T);
}
struct ShiftLeft {
  template <typename T>
  static T Of(T x, T y) {
    return TooFar(y) ? T(0) : static_cast<T>(static_cast<std::uint64_t>(x) << y);
  }
};
// Signed elements keep their sign: -1 is what is left of a negative one.
struct ShiftRight {
  template <typename T>
  static T Of(T x, T y) {
    if (TooFar(y)) return x < 0 ? static_cast<T>(-1) : T(0);
    return static_cast<T>(x >> y);
  }
};

// kStepX, kStepY: 0 for a repeated operand. kDivides: a y of 0 ends the loop.
template <typename F, typename T, int kStepX, int kStepY, bool kDivides>
std::size_t Loop(const void* px, const void* py, void* pz, std::size_t n) {
  const T* x = static_cast<const T*>(px);
  const T* y = static_cast<const T*>(py);
  T* z = static_cast<T*>(pz);
  for (std::size_t i = 0; i < n; ++i) {
    const T divisor = y[i * kStepY];
    if constexpr (kDivides)
      if (divisor == 0) return i;
    z[i] = F::Of(x[i * kStepX], divisor);
  }
  return n;
}
template <typename F, typename T, bool kDivides = false>
BinaryLoops Loops() {
  constexpr bool kChecks = kDivides && !kIsFloat<T>;
  return {Loop<F, T, 1, 1, kChecks>, Loop<F, T, 1, 0, kChecks>, Loop<F, T, 0, 1, kChecks>};
}

template <typename F, bool kDivides>
BinaryLoops OfInts(DType dtype) {
  BinaryLoops loops;
  VisitDType<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
             std::uint64_t>(dtype, [&]<typename T>() { loops = Loops<F, T, kDivides>(); });
  return loops;
}
template <typename F>
BinaryLoops OfFloats(DType dtype) {
  BinaryLoops loops;
  VisitDType<float, double>(dtype, [&]<typename T>() { loops = Loops<F, T>(); });
  return loops;
}

}  // namespace

std::span<const Variant<FindBinaryFn>> BinaryVariants() { return kVariants; }

BinaryLoops Binary(BinaryKind kind, DType dtype) {
  static FindBinaryFn* const best = Best(kVariants);
  const BinaryLoops vector = best(kind, dtype);
  if (vector.both != nullptr) return vector;
  const bool is_float = dtype == DType::kFloat || dtype == DType::kDouble;
  switch (kind) {
    case BinaryKind::kDiv:
      return OfInts<Div, true>(dtype);
    case BinaryKind::kMod:
      return is_float ? OfFloats<Mod>(dtype) : OfInts<Mod, true>(dtype);
    case BinaryKind::kFMod:
      return is_float ? OfFloats<FMod>(dtype) : OfInts<FMod, true>(dtype);
    case BinaryKind::kPow:
      return OfFloats<Pow>(dtype);
    case BinaryKind::kPRelu:
      return OfInts<PRelu, false>(dtype);
    case BinaryKind::kShiftLeft:
      return OfInts<ShiftLeft, false>(dtype);
    case BinaryKind::kShiftRight:
      return OfInts<ShiftRight, false>(dtype);
    default:
      return {};
  }
}

}  // namespace sardonyx::kernels
