// kernels/pool/pool_narrow_f32.h - f32 max and average pooling by windows of two or three columns: what the rows of a
// window give stays in registers while its columns are combined.
//
// Errors of averages are those of pool_f32.h, which chooses between the two.
#pragma once

#include <cstdint>

#include "kernels/dispatch.h"
#include "kernels/pool/pool_shape.h"

namespace sardonyx::kernels {

// Columns of a window, the stride along the width, and the pad in front.
enum class NarrowWindow : std::uint8_t { kOther, kTwoStride2, kThreeStride2, kThreeStride2Pad1, kThreeStride1Pad1 };
// kOther for all other shapes, among them those with depth or dilation.
NarrowWindow NarrowWindowOf(const PoolShape& shape);

// Output rows [first, last), counted over all planes.
struct NarrowPoolRows {
  NarrowWindow window = NarrowWindow::kOther;
  const float* x = nullptr;  // [planes, in_height, in_width]
  float* y = nullptr;        // [planes, out_height, out_width]
  std::int64_t in_height = 0, in_width = 0, out_height = 0, out_width = 0;
  std::int64_t kernel_height = 1, stride_height = 1, pad_height = 0;
  const float* width_divisors = nullptr;   // [out_width] averages: taps along the width
  const float* height_divisors = nullptr;  // [out_height] averages: taps along the height
  std::int64_t first = 0, last = 0;
};
using NarrowPoolFn = void(const NarrowPoolRows& rows);

#define SDX_DECLARE(isa)          \
  namespace isa {                 \
  NarrowPoolFn NarrowMaxPool;     \
  NarrowPoolFn NarrowAveragePool; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

}  // namespace sardonyx::kernels
