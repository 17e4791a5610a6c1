// kernels/pool/pool_f32.cpp - pooling of planes: which input rows each output row is made of, and how threads share the
// rows.
#include "kernels/pool/pool_f32.h"

#include <algorithm>
#include <cstddef>

#include "kernels/pool/pool_last_f32.h"
#include "kernels/pool/pool_narrow_f32.h"

namespace sardonyx::kernels {
namespace {

constexpr Variant<PoolRowFn> kMaxVariants[] = {SDX_VARIANTS(MaxPoolRow)};
constexpr Variant<PoolRowFn> kAverageVariants[] = {SDX_VARIANTS(AveragePoolRow)};
constexpr Variant<NarrowPoolFn> kNarrowMaxVariants[] = {SDX_VARIANTS(NarrowMaxPool)};
constexpr Variant<NarrowPoolFn> kNarrowAverageVariants[] = {SDX_VARIANTS(NarrowAveragePool)};
constexpr std::int64_t kSlack = 64;     // floats that vectors may read beyond a row
constexpr std::int64_t kMaxJobs = 128;  // pieces of work, each with its own memory

std::int64_t BufferSize(const PoolShape& p) {
  const std::int64_t reach = (p.out[2] - 1) * p.stride[2] + (p.kernel[2] - 1) * p.dilation[2] + 1;
  return (std::max(reach, p.pad_begin[2] + p.in[2]) + 2 * kSlack) / 16 * 16;
}
std::int64_t JobBytes(const PoolShape& p) {
  const std::int64_t rows = std::min(p.kernel[0], p.in[0]) * std::min(p.kernel[1], p.in[1]);
  const std::int64_t pointers = rows * static_cast<std::int64_t>(sizeof(float*));
  return BufferSize(p) * static_cast<std::int64_t>(sizeof(float)) + (pointers + 63) / 64 * 64;
}
// Whether a window reaches so far beyond the image that rows with their pads would be mostly pads.
bool IsMostlyPads(const PoolShape& p) { return BufferSize(p) > 4 * (p.in[2] + p.stride[2] * p.out[2]) + 4096; }

// Of averages: the taps along the width, then those along the height.
std::int64_t DivisorBytes(const PoolShape& p) { return ((p.out[2] + p.out[1]) * 4 + 63) / 64 * 64; }

// The rows of x that the window of output row (od, oh) covers, into `rows`; returns how many.
std::int64_t FindRows(const PoolShape& p, const float* x, std::int64_t od, std::int64_t oh, const float** rows) {
  const PoolTapRange depth(p, 0, od), height(p, 1, oh);
  std::int64_t count = 0;
  for (std::int64_t kd = depth.first; kd < depth.last; ++kd) {
    const std::int64_t d = depth.input + kd * p.dilation[0];
    for (std::int64_t kh = height.first; kh < height.last; ++kh) {
      const std::int64_t h = height.input + kh * p.dilation[1];
      rows[count++] = x + (d * p.in[1] + h) * p.in[2];
    }
  }
  return count;
}

void RunNarrow(const PoolShape& p, NarrowWindow window, std::int64_t planes, const float* x, float* y,
               const float* divisors, Parallel& parallel, Isa isa) {
  NarrowPoolFn* run = Best(p.average ? kNarrowAverageVariants : kNarrowMaxVariants, isa);
  NarrowPoolRows rows;
  rows.window = window, rows.x = x, rows.y = y;
  rows.in_height = p.in[1], rows.in_width = p.in[2], rows.out_height = p.out[1], rows.out_width = p.out[2];
  rows.kernel_height = p.kernel[1], rows.stride_height = p.stride[1], rows.pad_height = p.pad_begin[1];
  rows.width_divisors = divisors, rows.height_divisors = divisors + p.out[2];
  const std::int64_t work = p.in[2] * std::min(p.kernel[1], p.in[1]) + 1;
  parallel.For(planes * p.out[1], 16384 / work + 1, [&](std::int64_t begin, std::int64_t end) {
    NarrowPoolRows part = rows;
    part.first = begin, part.last = end;
    run(part);
  });
}

}  // namespace

NarrowWindow NarrowWindowOf(const PoolShape& p) {
  if (p.in[0] != 1 || p.out[0] != 1 || p.kernel[0] != 1 || p.dilation[1] != 1 || p.dilation[2] != 1)
    return NarrowWindow::kOther;
  const auto is = [&](std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
    return p.kernel[2] == kernel && p.stride[2] == stride && p.pad_begin[2] == pad;
  };
  return is(2, 2, 0)   ? NarrowWindow::kTwoStride2
         : is(3, 2, 0) ? NarrowWindow::kThreeStride2
         : is(3, 2, 1) ? NarrowWindow::kThreeStride2Pad1
         : is(3, 1, 1) ? NarrowWindow::kThreeStride1Pad1
                       : NarrowWindow::kOther;
}

std::size_t PoolF32ScratchBytes(const PoolShape& p, std::int64_t planes) {
  if (NarrowWindowOf(p) != NarrowWindow::kOther) return static_cast<std::size_t>(DivisorBytes(p));
  if (IsMostlyPads(p)) return 0;
  const std::int64_t jobs = std::min(planes * p.out[0] * p.out[1], kMaxJobs);
  return static_cast<std::size_t>(jobs * JobBytes(p) + DivisorBytes(p));
}

// NOLINTNEXTLINE(readability-function-size): sizes of one call
void PoolF32(const PoolShape& p, std::int64_t planes, const float* x, float* y, Parallel& parallel, std::byte* scratch,
             Isa isa) {
  const NarrowWindow window = NarrowWindowOf(p);
  if (window == NarrowWindow::kOther && IsMostlyPads(p))  // a plane is an image of one channel
    return PoolLastF32(p, planes, 1, x, y, parallel, isa);
  float* divisors = reinterpret_cast<float*>(scratch);
  if (p.average) {
    for (std::int64_t i = 0; i < p.out[2]; ++i) divisors[i] = static_cast<float>(PoolTaps(p, 2, i));
    for (std::int64_t i = 0; i < p.out[1]; ++i) divisors[p.out[2] + i] = static_cast<float>(PoolTaps(p, 1, i));
  }
  if (window != NarrowWindow::kOther) return RunNarrow(p, window, planes, x, y, divisors, parallel, isa);
  PoolRowFn* run = Best(p.average ? kAverageVariants : kMaxVariants, isa);
  const std::int64_t plane_rows = p.out[0] * p.out[1], total = planes * plane_rows;
  const std::int64_t jobs = std::min(total, kMaxJobs);
  const std::int64_t in_plane = p.in[0] * p.in[1] * p.in[2];
  const std::int64_t row_work = p.in[2] * std::min(p.kernel[1], p.in[1]) * std::min(p.kernel[0], p.in[0]);
  const std::int64_t job_work = (total / std::max<std::int64_t>(jobs, 1) + 1) * row_work;
  parallel.For(jobs, std::max<std::int64_t>(1, 16384 / (job_work + 1)), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t job = begin; job < end; ++job) {
      std::byte* memory = scratch + DivisorBytes(p) + job * JobBytes(p);
      PoolRow row;
      row.buffer_size = BufferSize(p);
      row.buffer = reinterpret_cast<float*>(memory);
      const float** rows = reinterpret_cast<const float**>(memory + row.buffer_size * 4);
      row.rows = rows;
      row.width = p.in[2], row.out_width = p.out[2], row.kernel = p.kernel[2], row.stride = p.stride[2];
      row.dilation = p.dilation[2], row.pad = p.pad_begin[2];
      row.divisors = divisors;
      for (std::int64_t i = total * job / jobs; i < total * (job + 1) / jobs; ++i) {
        const std::int64_t od = i % plane_rows / p.out[1], oh = i % p.out[1];
        row.row_count = FindRows(p, x + i / plane_rows * in_plane, od, oh, rows);
        if (p.average) row.row_divisor = static_cast<float>(PoolTaps(p, 0, od) * PoolTaps(p, 1, oh));
        row.y = y + i * p.out[2];
        run(row);
      }
    }
  });
}

}  // namespace sardonyx::kernels
