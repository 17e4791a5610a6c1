// kernels/elementwise/unary.h - y[i] = f(x[i]) on contiguous floats and doubles.
//
// To add one: see unary_functions.inc.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/dispatch.h"
#include "kernels/elementwise/unary_kind.h"

namespace sardonyx::kernels {

// y may be x. The errors are those that UnaryFunction states.
using UnaryF32Fn = void(const float* x, float* y, std::size_t n, float a, float b);
using UnaryF64Fn = void(const double* x, double* y, std::size_t n, double a, double b);

// A row of unary_functions.inc, where the fields are explained. Bounds are tested in unary_test.cpp.
struct UnaryFunction {
  UnaryF64Fn* f64 = nullptr;
  double ulps = 0;
  bool of_product = false;
  float a = 0, b = 0;
  bool cheap = false;
};
const UnaryFunction& UnaryFunctionOf(UnaryKind kind);

UnaryF32Fn* UnaryF32(UnaryKind kind);  // of the best ISA
UnaryF64Fn* UnaryF64(UnaryKind kind);

// The vector forms of one ISA.
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
