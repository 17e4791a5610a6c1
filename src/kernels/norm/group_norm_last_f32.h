// kernels/norm/group_norm_last_f32.h - group and instance normalisation of channels-last f32 images.
//
// Statistics of blocks of pixels are summed in float (at most 64 in a chain), blocks in double: mean and variance have
// relative errors of 64 * 2^-24, tested in group_norm_last_f32_test.cpp. Blocks depend on the shape only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/dispatch.h"

namespace sardonyx::kernels {

struct GroupNormLastArgs {
  std::int64_t batch = 0, pixels = 0, channels = 0;  // x, y: [batch, pixels, channels], each at least 1
  std::int64_t groups = 1;                           // divides channels
  double epsilon = 1e-5;
  const float* x = nullptr;
  const float* scale = nullptr;  // [channels], or [groups] if per_group
  const float* bias = nullptr;
  bool per_group = false;
  float* y = nullptr;  // may be x
};

#define SDX_DECLARE(isa)                                                                                           \
  namespace isa {                                                                                                  \
  void DeviationColumns(const float* x, std::int64_t rows, std::int64_t channels, const float* mean, float* sums); \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

// sums[c] = the sum of (x[r, c] - mean[c])^2 over the rows of x [rows, channels].
using DeviationColumnsFn = void(const float* x, std::int64_t rows, std::int64_t channels, const float* mean,
                                float* sums);

std::size_t GroupNormLastScratchBytes(const GroupNormLastArgs& args);
// scratch: GroupNormLastScratchBytes, 64-byte aligned.
void GroupNormLastF32(const GroupNormLastArgs& args, Parallel& parallel, std::byte* scratch, Isa isa = BestIsa());

}  // namespace sardonyx::kernels
