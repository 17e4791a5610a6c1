// kernels/elementwise/binary.h - z[i] = f(x[i], y[i]) on contiguous elements, where x or y may be one repeated element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "kernels/dispatch.h"

namespace sardonyx::kernels {

enum class BinaryKind : std::uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,   // integers: towards zero
  kMod,   // the sign of the divisor
  kFMod,  // the sign of the dividend
  kMin,   // NaN if either is
  kMax,
  kPow,    // float types only
  kPRelu,  // x < 0 ? x * y : x
  kAnd,    // bitwise; of bools logical
  kOr,
  kXor,
  kShiftLeft,  // 0 from the type's width on
  kShiftRight,
  kEqual,  // these write bools (bytes of 0 and 1)
  kLess,
  kLessOrEqual,
};

// Integers wrap. Returns n, or the index of the first element that has no result (an integer division by zero); the
// elements behind it are not written then. z may be x or y where it has their element size.
using BinaryFn = std::size_t(const void* x, const void* y, void* z, std::size_t n);

// One loop for each kind of operands; a repeated one is read at its first element only.
struct BinaryLoops {
  BinaryFn* both = nullptr;
  BinaryFn* repeated_y = nullptr;
  BinaryFn* repeated_x = nullptr;
};

// For float, double, integers of 8 to 64 bits and bool; empty where a kind has no meaning for the type.
BinaryLoops Binary(BinaryKind kind, DType dtype);

// The vector forms of one ISA, or empty.
using FindBinaryFn = BinaryLoops(BinaryKind kind, DType dtype);
std::span<const Variant<FindBinaryFn>> BinaryVariants();

#define SDX_DECLARE(isa)   \
  namespace isa {          \
  FindBinaryFn FindBinary; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

}  // namespace sardonyx::kernels
