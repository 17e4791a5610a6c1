// kernels/elementwise/quantized_binary.h - sums and products of 8-bit quantized elements, tables of 256 results, and
// bytes as floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

// kAdd: y = round(a * a_scale + (b * b_scale + constant)), where the constant is what the zero points make
// kMul: y = round((a - a_zero) * (b - b_zero) * a_scale + y_zero)
// Halves to the even y, limited to the element type. The scales are those of the operands over that of the result.
// These are ONNX Runtime's operations in its order, so that where CPUs multiply and add at once every bit is the same;
// a quotient, the constant and two sums are rounded to float between the result and the exact one.
enum class QuantizedKind : std::uint8_t { kAdd, kMul };

struct QuantizedBinaryArgs {
  float a_scale = 1, b_scale = 1;
  float a_zero = 0, b_zero = 0, y_zero = 0;  // kMul
  float constant = 0;                        // kAdd
};

using QuantizedBinaryFn = void(const void* a, const void* b, const QuantizedBinaryArgs& args, std::size_t n, void* y);

// y[i] = table[x[i]], x as unsigned bytes; y may be x.
using Lookup8Fn = void(const std::uint8_t* x, const std::uint8_t* table, std::size_t n, std::uint8_t* y);

// y[i] = (x[i] - zero) * scale, x of int8 or uint8.
using Dequantize8Fn = void(const std::uint8_t* x, float scale, float zero, std::size_t n, float* y);

struct QuantizedTable {
  // Elements int8 or uint8; with `repeats_b` b is one element. y may be a or b.
  QuantizedBinaryFn* (*binary)(QuantizedKind kind, bool is_signed, bool repeats_b);
  Lookup8Fn* lookup;
  Dequantize8Fn *dequantize_signed, *dequantize_unsigned;
};
const QuantizedTable& Quantized8();  // of the best ISA

using QuantizedTableFn = QuantizedTable();
std::span<const Variant<QuantizedTableFn>> QuantizedVariants();

#define SDX_DECLARE(isa)                                               \
  namespace isa {                                                      \
  QuantizedTableFn QuantizedKernels8, QuantizedKernels8WithByteTables; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

}  // namespace sardonyx::kernels
