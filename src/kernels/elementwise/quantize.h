// kernels/elementwise/quantize.h - converts runs of elements to and from quantized integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "base/parallel.h"
#include "kernels/dispatch.h"

namespace sardonyx::kernels {

// y[i] = min(max(round(x[i] / scale[i]) + zero[i], low), high), halves to even, NaN to low; y of the type that the
// function was found for. zero holds whole numbers of y's type. With kRepeated functions scale[0] and zero[0] hold for
// all elements.
using QuantizeFn = void(const float* x, const float* scale, const float* zero, float low, float high, std::size_t n,
                        void* y);
// y[i] = (x[i] - zero[i]) * scale[i]; y may be x.
using DequantizeFn = void(const float* x, const float* scale, const float* zero, std::size_t n, float* y);

struct QuantizeTable {
  // To int8, uint8, int16, uint16 or float (whole numbers, for types that are packed later); null for other types.
  QuantizeFn* (*quantize)(DType to, bool repeated);
  // To int8 or uint8, repeated: y[i] = round(x[i] / scale + zero). Where that is a half, y[i] is even, not y[i] - zero.
  QuantizeFn* (*quantize_sum)(bool is_signed);
  DequantizeFn* repeated_dequantize;
  DequantizeFn* dequantize;
  // The smallest and largest of x and 0; NaN is skipped.
  void (*range)(const float* x, std::size_t n, float* low, float* high);
};
const QuantizeTable& Quantization();  // of the best ISA

using QuantizeTableFn = QuantizeTable();
std::span<const Variant<QuantizeTableFn>> QuantizeVariants();

// What DynamicQuantizeLinear finds: y = round(x / scale) + zero over the range of x and 0.
struct DynamicScale {
  float scale;
  std::uint8_t zero;
};
// ranges: DynamicRangeFloats(count) floats of scratch.
std::size_t DynamicRangeFloats(std::int64_t count);
DynamicScale QuantizeDynamically(const float* x, std::int64_t count, std::uint8_t* y, float* ranges,
                                 Parallel& parallel);

#define SDX_DECLARE(isa)           \
  namespace isa {                  \
  QuantizeTableFn QuantizeKernels; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

}  // namespace sardonyx::kernels
