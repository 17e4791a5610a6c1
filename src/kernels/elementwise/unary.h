// kernels/elementwise/unary.h - y[i] = f(x[i]) on contiguous floats and doubles.
//
// To add one: a kind here, its double form in unary.cpp and, if it is hot, its vector form in unary.isa.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

// a and b are the parameters of kinds that have some. The names are ONNX's; NaN stays NaN in every kind.
enum class UnaryKind : std::uint8_t {
  kAbs,
  kAcos,
  kAcosh,
  kAsin,
  kAsinh,
  kAtan,
  kAtanh,
  kCeil,
  kCelu,  // alpha a
  kClip,  // to [a, b]; b where a > b
  kCos,
  kCosh,
  kCube,
  kElu,  // alpha a
  kErf,
  kExp,
  kFloor,
  kGelu,         // x / 2 * (1 + erf(x / sqrt(2)))
  kGeluTanh,     // x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
  kHardSigmoid,  // max(0, min(1, a x + b))
  kHardSwish,
  kLeakyRelu,  // alpha a
  kLinear,     // a x + b
  kLog,
  kMish,
  kNeg,
  kPowHalf,  // x^0.5: the square root, but +0 of -0 and infinity of -infinity
  kReciprocal,
  kRelu,
  kRound,    // halves to even
  kSelu,     // alpha a, gamma b
  kShrink,   // bias a, lambd b
  kSigmoid,  // 1 / (1 + e^(-a x)); a is 1 for ONNX's
  kSign,
  kSin,
  kSinh,
  kSoftplus,
  kSoftsign,
  kSqrt,
  kSquare,
  kSwish,  // x * sigmoid(a x)
  kTan,
  kTanh,
  kThresholdedRelu,  // alpha a
  kCount,
};

// y may be x. Errors in units of the last place of y: 1 rounding for the arithmetic kinds; 4 for the others, except for
// Gelu, GeluTanh, Swish, Mish and Softplus: 4 ulp of max(|y|, 2^-24 max(1, |x|)). Tested in unary_test.cpp.
using UnaryF32Fn = void(const float* x, float* y, std::size_t n, float a, float b);
using UnaryF64Fn = void(const double* x, double* y, std::size_t n, double a, double b);

UnaryF32Fn* UnaryF32(UnaryKind kind);  // never null
UnaryF64Fn* UnaryF64(UnaryKind kind);  // never null

// The vector form of one ISA, or null where a kind has only the scalar one.
using FindUnaryF32Fn = UnaryF32Fn*(UnaryKind kind);
std::span<const Variant<FindUnaryF32Fn>> UnaryF32Variants();
// Bytes of the vectors that an ISA's file was compiled with.
using VectorBytesFn = std::size_t();
std::span<const Variant<VectorBytesFn>> VectorBytesVariants();

#define SDX_DECLARE(isa)       \
  namespace isa {              \
  FindUnaryF32Fn FindUnaryF32; \
  VectorBytesFn VectorBytes;   \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

}  // namespace sardonyx::kernels
