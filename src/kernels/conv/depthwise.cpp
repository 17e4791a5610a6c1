// kernels/conv/depthwise.cpp - the loops of depthwise convolutions of channels-first planes.
//
// A thread copies a plane into a haloed buffer, split by stride phase ([phase][position]), so that every tap reads
// consecutive floats whatever the stride.
#include "kernels/conv/depthwise.h"

#include <algorithm>

namespace sardonyx::kernels {
namespace {

using std::int64_t;
using std::ptrdiff_t;

constexpr int64_t kSerialWork = int64_t{1} << 17;

std::size_t RoundUp64(std::size_t bytes) { return (bytes + 63) & ~std::size_t{63}; }

// The haloed copy of a plane: [stride phases (d, h, w)][rows of each phase].
struct SplitPlane {
  explicit SplitPlane(const ConvShape& s) : stride(s.stride), lead(s.pad_begin) {
    for (int i = 0; i < 3; ++i) {
      const int64_t extent = (s.out[i] - 1) * s.stride[i] + (s.kernel[i] - 1) * s.dilation[i] + 1;
      size[i] = CeilDivide(extent, s.stride[i]);
    }
  }
  int64_t Floats() const { return Product(size) * Product(stride); }
  // Where position v of the haloed plane is, one dimension after the other.
  int64_t At(const Index3& v) const {
    const int64_t phase = (v[0] % stride[0] * stride[1] + v[1] % stride[1]) * stride[2] + v[2] % stride[2];
    return phase * Product(size) + (v[0] / stride[0] * size[1] + v[1] / stride[1]) * size[2] + v[2] / stride[2];
  }

  Index3 size;  // of one phase
  Index3 stride;
  Index3 lead;
};

// A position that walks along one dimension of the haloed plane: phase and index within the phase, without divisions.
struct PhaseWalk {
  PhaseWalk(int64_t position, int64_t stride_)
      : stride(stride_), phase(position % stride_), index(position / stride_) {}
  void Next() {
    if (++phase == stride) phase = 0, ++index;
  }
  int64_t stride, phase, index;
};

void FillRow(const TileF32Set& tiles, const SplitPlane& plane, const float* row, int64_t width, float* out) {
  const int64_t stride = plane.stride[2];
  PhaseWalk at(plane.lead[2], stride);
  const auto next = [&] {
    float* p = out + at.phase * Product(plane.size) + at.index;
    at.Next();
    return p;
  };
  if (stride == 1) {
    std::copy_n(row, width, next());
  } else if (stride == 2) {
    float *even = next(), *odd = next();
    tiles.split_pairs(row, width / 2, even, odd);
    if (width % 2 != 0) even[width / 2] = row[width - 1];
  } else {
    for (int64_t first = 0; first < std::min(stride, width); ++first) {
      float* p = next();
      for (int64_t w = first; w < width; w += stride) *p++ = row[w];
    }
  }
}

// Copies a plane into its buffer, whose border is zero already.
void Fill(const TileF32Set& tiles, const SplitPlane& plane, const Index3& in, const float* x, float* dst) {
  Index3 end;
  for (int i = 0; i < 3; ++i)
    end[i] = std::max<int64_t>(0, std::min(in[i], plane.size[i] * plane.stride[i] - plane.lead[i]));
  const int64_t floats = Product(plane.size);
  PhaseWalk depth(plane.lead[0], plane.stride[0]);
  for (int64_t d = 0; d < end[0]; ++d, depth.Next()) {
    PhaseWalk height(plane.lead[1], plane.stride[1]);
    for (int64_t h = 0; h < end[1]; ++h, height.Next()) {
      const int64_t phase = (depth.phase * plane.stride[1] + height.phase) * plane.stride[2];
      const int64_t at = phase * floats + (depth.index * plane.size[1] + height.index) * plane.size[2];
      FillRow(tiles, plane, x + (d * in[1] + h) * in[2], end[2], dst + at);
    }
  }
}

void SetTapOffsets(const ConvShape& s, const SplitPlane& plane, ptrdiff_t* offsets) {
  for (int64_t d = 0; d < s.kernel[0]; ++d)
    for (int64_t h = 0; h < s.kernel[1]; ++h)
      for (int64_t w = 0; w < s.kernel[2]; ++w)
        *offsets++ = plane.At({d * s.dilation[0], h * s.dilation[1], w * s.dilation[2]});
}

struct PlaneTask {
  const ConvF32Args& args;
  const TileF32Set& tiles;
  const SplitPlane& plane;
  const ptrdiff_t* offsets;

  // Output channel o of image n from its haloed input.
  void Run(const float* x, int64_t n, int64_t o) const {
    const ConvShape& s = args.shape;
    const Epilogue& e = args.epilogue;
    const int64_t taps = Product(s.kernel), slice = s.out[1] * s.out[2];
    TileF32Args clamp;
    SetClamp(e.activation, &clamp);
    PlaneArgs p;
    p.x_row_stride = plane.size[2];
    p.offsets = offsets, p.w = args.packed_weights + o * taps, p.taps = taps;
    p.rows = s.out[1], p.columns = s.out[2], p.y_row_stride = s.out[2];
    p.alpha = e.alpha, p.beta = e.beta, p.low = clamp.low, p.high = clamp.high;
    p.bias = e.bias_scale * (e.bias + (e.bias_n != nullptr ? e.bias_n[o] : 0));
    for (int64_t d = 0; d < s.out[0]; ++d) {
      const int64_t at = ((n * s.out_channels + o) * s.out[0] + d) * slice;
      p.x = x + d * plane.size[1] * plane.size[2];
      p.y = args.y + at;
      p.residual = e.residual != nullptr ? e.residual + at : nullptr;
      tiles.depthwise_plane(p);
      if (NeedsPass(e.activation)) tiles.activate(p.y, 1, slice, slice, e.activation);
    }
  }
};

std::size_t SlotBytes(const SplitPlane& plane) {
  return RoundUp64(static_cast<std::size_t>(plane.Floats() + kPlaneSlack) * sizeof(float));
}

}  // namespace

std::size_t DepthwisePlanesScratchBytes(const ConvShape& shape, int threads) {
  const SplitPlane plane(shape);
  return RoundUp64(static_cast<std::size_t>(Product(shape.kernel)) * sizeof(ptrdiff_t)) +
         SlotBytes(plane) * static_cast<std::size_t>(std::max(threads, 1));
}

void DepthwisePlanes(const ConvF32Args& args, const TileF32Set& tiles, Parallel& parallel, std::byte* scratch) {
  const ConvShape& s = args.shape;
  const SplitPlane plane(s);
  auto* offsets = reinterpret_cast<ptrdiff_t*>(scratch);
  const int64_t taps = Product(s.kernel);
  SetTapOffsets(s, plane, offsets);
  std::byte* slots = scratch + RoundUp64(static_cast<std::size_t>(taps) * sizeof(ptrdiff_t));
  const std::size_t slot_bytes = SlotBytes(plane);
  const PlaneTask task{args, tiles, plane, offsets};
  const int64_t planes = s.batch * s.in_channels, multiplier = s.out_channels / s.groups, in_plane = Product(s.in);
  const bool small = planes * multiplier * Product(s.out) * taps < kSerialWork;
  const int64_t parts = small ? 1 : parallel.ThreadCount();
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      auto* buffer = reinterpret_cast<float*>(slots + static_cast<std::size_t>(part) * slot_bytes);
      std::fill_n(buffer, slot_bytes / sizeof(float), 0.0f);
      for (int64_t p = planes * part / parts; p < planes * (part + 1) / parts; ++p) {
        Fill(tiles, plane, s.in, args.x + p * in_plane, buffer);
        const int64_t n = p / s.in_channels, c = p % s.in_channels;
        for (int64_t i = 0; i < multiplier; ++i) task.Run(buffer, n, c * multiplier + i);
      }
    }
  };
  if (parts == 1) return run(0, 1);
  parallel.For(parts, 1, run);
}

}  // namespace sardonyx::kernels
