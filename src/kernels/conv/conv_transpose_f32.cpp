// kernels/conv/conv_transpose_f32.cpp - transposed convolution, split into phases that are plain convolutions.
//
// Output positions with the same (o + pad) mod stride see the same taps, and their inputs move by one as o moves by
// stride. So each such phase is an implicit GEMM with stride 1 over the haloed input, with weights packed phase by
// phase: [phase][group][panel][tap of the phase][channel][nr].
#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/conv/conv.h"
#include "kernels/conv/implicit_gemm.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;
using std::ptrdiff_t;

const TileF32Set& Tiles(const TileF32Set* tiles) { return tiles != nullptr ? *tiles : BestTilesF32(); }
std::size_t RoundUp64(std::size_t bytes) { return (bytes + 63) & ~std::size_t{63}; }

// One dimension of one phase: output positions first, first + stride, ...
struct PhaseAxis {
  PhaseAxis(const ConvShape& s, int dim, int64_t phase) {
    const int64_t stride = s.stride[dim];
    first = ((phase - s.pad_begin[dim]) % stride + stride) % stride;
    count = first < s.out[dim] ? (s.out[dim] - 1 - first) / stride + 1 : 0;
  }
  int64_t first, count;
};

// The taps of one dimension with tap * dilation = phase (mod stride): first, first + step, ... A stride, and the number
// of taps, may be large: nobody should look at each tap for each phase.
struct PhaseTaps {
  PhaseTaps(const ConvShape& s, int dim, int64_t phase) {
    const int64_t dilation = s.dilation[dim], common = std::gcd(dilation, s.stride[dim]);
    step = s.stride[dim] / common;
    if (phase % common != 0) return;
    first = phase / common * Inverse(dilation / common % step, step) % step;
    if (first < s.kernel[dim]) count = (s.kernel[dim] - 1 - first) / step + 1;
  }
  // b with a * b = 1 (mod n), by Euclid's algorithm; a and n have no common factor.
  static int64_t Inverse(int64_t a, int64_t n) {
    int64_t large = n, small = a, of_large = 0, of_small = 1;
    while (small > 1) {
      const int64_t times = large / small;
      large = std::exchange(small, large - times * small);
      of_large = std::exchange(of_small, of_large - times * of_small);
    }
    return (of_small % n + n) % n;
  }
  int64_t first = 0, step = 1, count = 0;
};

// The input position that `tap` reads at the first output position of its phase.
int64_t FirstInput(const ConvShape& s, int dim, int64_t tap) {
  const PhaseAxis axis(s, dim, tap * s.dilation[dim] % s.stride[dim]);
  return (axis.first + s.pad_begin[dim] - tap * s.dilation[dim]) / s.stride[dim];
}

HaloedImage Halo(const ConvShape& s) {
  HaloedImage halo;
  halo.channels = s.in_channels;
  halo.pixel = s.in_channels;
  for (int i = 0; i < 3; ++i) {
    int64_t low = 0, high = 0;
    for (int64_t tap = 0; tap < s.kernel[i]; ++tap) {
      const PhaseAxis axis(s, i, tap * s.dilation[i] % s.stride[i]);
      low = std::min(low, FirstInput(s, i, tap));
      high = std::max(high, FirstInput(s, i, tap) + axis.count - 1);
    }
    halo.lead[i] = -low;
    halo.size[i] = high - low + 1;
  }
  return halo;
}

// Calls f(kd, kh, kw) for the taps of a phase, in the order in which they are packed.
template <typename F>
void ForTaps(const ConvShape& s, const Index3& phase, F f) {
  const PhaseTaps depth(s, 0, phase[0]), height(s, 1, phase[1]), width(s, 2, phase[2]);
  for (int64_t d = 0; d < depth.count; ++d)
    for (int64_t h = 0; h < height.count; ++h)
      for (int64_t w = 0; w < width.count; ++w)
        f(depth.first + d * depth.step, height.first + h * height.step, width.first + w * width.step);
}

// The next phase that has taps; the stride if there is none.
int64_t NextWithTaps(const ConvShape& s, int dim, int64_t after) {
  const int64_t stride = s.stride[dim], dilation = s.dilation[dim], kernel = s.kernel[dim];
  const int64_t common = std::gcd(dilation, stride), multiple = CeilDivide(after, common) * common;
  if (kernel >= stride / common) return multiple;  // each multiple of the common factor has taps
  if (dilation % stride == common) return multiple < kernel * common ? multiple : stride;
  int64_t next = stride;
  for (int64_t tap = 0; tap < kernel; ++tap) {
    const int64_t its = tap * dilation % stride;
    if (its >= after) next = std::min(next, its);
  }
  return next;
}

// The next phase of an axis that has taps or outputs; the stride if there is none. A stride may be far above both.
int64_t NextPhase(const ConvShape& s, int dim, int64_t phase) {
  const int64_t stride = s.stride[dim], after = phase + 1;
  // Those of the outputs are [first, first + out), modulo the stride.
  const int64_t first = (s.pad_begin[dim] % stride + stride) % stride, end = first + s.out[dim];
  if (after < end - stride) return after;
  const int64_t next = NextWithTaps(s, dim, after);
  return std::max(first, after) < end ? std::min(next, std::max(first, after)) : next;
}

template <typename F>
void ForPhases(const ConvShape& s, F f) {
  for (int64_t d = NextPhase(s, 0, -1); d < s.stride[0]; d = NextPhase(s, 0, d))
    for (int64_t h = NextPhase(s, 1, -1); h < s.stride[1]; h = NextPhase(s, 1, h))
      for (int64_t w = NextPhase(s, 2, -1); w < s.stride[2]; w = NextPhase(s, 2, w)) f(Index3{d, h, w});
}

int64_t TapCount(const ConvShape& s, const Index3& phase) {
  int64_t count = 1;
  for (int i = 0; i < 3; ++i) count *= PhaseTaps(s, i, phase[i]).count;
  return count;
}

std::size_t OffsetBytes(const ConvShape& s) {
  return RoundUp64(static_cast<std::size_t>(Product(s.kernel)) * sizeof(ptrdiff_t));
}

void RunPhase(const ConvShape& s, const Index3& phase, const HaloedImage& halo, ptrdiff_t* offsets, ImplicitGemm g,
              Parallel& parallel) {
  const Index3 pitch = halo.Pitch();
  g.taps = 0;
  ForTaps(s, phase, [&](int64_t d, int64_t h, int64_t w) {
    offsets[g.taps++] = (FirstInput(s, 0, d) + halo.lead[0]) * pitch[0] +
                        (FirstInput(s, 1, h) + halo.lead[1]) * pitch[1] +
                        (FirstInput(s, 2, w) + halo.lead[2]) * pitch[2];
  });
  g.tap_offsets = offsets;
  const Index3 pixels = {s.out[1] * s.out[2], s.out[2], 1};
  g.y_start = 0;
  for (int i = 0; i < 3; ++i) {
    const PhaseAxis axis(s, i, phase[i]);
    g.count[i] = axis.count;
    g.y_start += axis.first * pixels[i];
    g.y_step[i] = s.stride[i] * pixels[i];
  }
  RunImplicitGemm(g, parallel);
}

}  // namespace

std::size_t ConvTransposeF32PackedCount(const ConvShape& s, const TileF32Set* tiles) {
  return static_cast<std::size_t>(PanelWeightFloats(Tiles(tiles), s.groups, s.in_channels / s.groups,
                                                    s.out_channels / s.groups, Product(s.kernel)));
}

void PackConvTransposeF32Weights(const ConvShape& s, const float* w, float* packed, Parallel& parallel,
                                 const TileF32Set* tiles) {
  const int64_t group_in = s.in_channels / s.groups, group_out = s.out_channels / s.groups;
  const int64_t nr = Tiles(tiles).columns, panels = CeilDivide(group_out, nr), taps = Product(s.kernel);
  float* phase_base = packed;
  ForPhases(s, [&](const Index3& phase) {
    const int64_t phase_taps = TapCount(s, phase);
    parallel.For(s.groups * panels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t group = unit / panels, first = unit % panels * nr, columns = std::min(nr, group_out - first);
        float* out = phase_base + unit * phase_taps * group_in * nr;
        ForTaps(s, phase, [&](int64_t kd, int64_t kh, int64_t kw) {
          const int64_t tap = (kd * s.kernel[1] + kh) * s.kernel[2] + kw;
          for (int64_t c = 0; c < group_in; ++c, out += nr) {
            const float* src = w + ((group * group_in + c) * group_out + first) * taps + tap;
            for (int64_t j = 0; j < nr; ++j) out[j] = j < columns ? src[j * taps] : 0;
          }
        });
      }
    });
    phase_base += s.groups * panels * phase_taps * group_in * nr;
  });
}

std::size_t ConvTransposeF32ScratchBytes(const ConvShape& s, int /*threads*/, const TileF32Set* /*tiles*/) {
  return OffsetBytes(s) + RoundUp64(static_cast<std::size_t>(Halo(s).Floats()) * sizeof(float));
}

void ConvTransposeF32(const ConvF32Args& args, Parallel& parallel, std::byte* scratch) {
  const ConvShape& s = args.shape;
  const TileF32Set& tiles = Tiles(args.tiles);
  const HaloedImage halo = Halo(s);
  auto* offsets = reinterpret_cast<ptrdiff_t*>(scratch);
  float* image = reinterpret_cast<float*>(scratch + OffsetBytes(s));
  ImplicitGemm g{};
  g.tiles = &tiles;
  g.x = image;
  g.images = 1;
  g.x_image_floats = halo.Floats();
  g.x_step = halo.Pitch();
  g.k = s.in_channels / s.groups;
  g.groups = s.groups;
  g.group_in = g.k;
  g.group_out = s.out_channels / s.groups;
  g.out_layout = s.out_layout;
  g.out_pixels = Product(s.out);
  g.epilogue = &args.epilogue;
  for (int64_t n = 0; n < s.batch; ++n) {
    FillHalo(tiles, halo, {args.x + n * Product(s.in) * s.in_channels, s.in, s.in_layout}, image, parallel);
    g.y = args.y + n * g.out_pixels * s.out_channels;
    g.residual =
        args.epilogue.residual != nullptr ? args.epilogue.residual + n * g.out_pixels * s.out_channels : nullptr;
    g.weights = args.packed_weights;
    ForPhases(s, [&](const Index3& phase) {
      RunPhase(s, phase, halo, offsets, g, parallel);
      g.weights += PanelWeightFloats(tiles, s.groups, g.group_in, g.group_out, TapCount(s, phase));
    });
  }
}

}  // namespace sardonyx::kernels
