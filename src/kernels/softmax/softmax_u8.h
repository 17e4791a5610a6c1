// kernels/softmax/softmax_u8.h - softmax of rows and columns of quantized bytes.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

struct SoftmaxBytesArgs {
  bool is_signed = false;
  float x_scale = 1;  // of the input; its zero point does not matter
  float y_scale = 1;
  int y_zero = 0;
};

inline constexpr std::int64_t kSoftmaxBytesRow = 2048;  // longer rows are computed twice, in parts of this

// y [n] = round(softmax(x * x_scale) / y_scale) + y_zero, halves to even, limited to the element type; n > 0. Relative
// error of a quotient before rounding 1e-6, tested in ops/quantized/quantized_operators_test.cpp. y may be x.
using SoftmaxBytesFn = void(const std::uint8_t* x, std::int64_t n, const SoftmaxBytesArgs& args, std::uint8_t* y);
SoftmaxBytesFn* SoftmaxBytesFunction();  // of the best ISA
std::span<const Variant<SoftmaxBytesFn>> SoftmaxBytesVariants();

// The same for columns [0, columns) of x [n, columns] with rows `stride` apart; y likewise.
using SoftmaxBytesColumnsFn = void(const std::uint8_t* x, std::int64_t n, std::int64_t stride, std::int64_t columns,
                                   const SoftmaxBytesArgs& args, std::uint8_t* y);
SoftmaxBytesColumnsFn* SoftmaxBytesColumnsFunction();
std::span<const Variant<SoftmaxBytesColumnsFn>> SoftmaxBytesColumnsVariants();

#define SDX_DECLARE(isa)                     \
  namespace isa {                            \
  SoftmaxBytesFn SoftmaxBytes;               \
  SoftmaxBytesColumnsFn SoftmaxBytesColumns; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

}  // namespace sardonyx::kernels
