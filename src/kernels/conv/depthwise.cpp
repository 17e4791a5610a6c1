// kernels/conv/depthwise.cpp - the loops of depthwise convolutions.
//
// Planes: a thread copies a plane into a haloed buffer, split by stride phase ([phase][position]), so that every tap
// reads consecutive floats whatever the stride, and whole blocks of rows are one long vector. Pixels: borders are cut
// out of the list of taps, so the image is read where it lies.
#include "kernels/conv/depthwise.h"

#include <algorithm>

namespace sardonyx::kernels {
namespace {

using std::int64_t;
using std::ptrdiff_t;

constexpr int64_t kSerialWork = int64_t{1} << 17;
constexpr int64_t kSumsFloats = 4096;  // of a block of rows, on the stack

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

void Fill(const SplitPlane& plane, const Index3& in, const float* x, float* dst) {
  std::fill_n(dst, plane.Floats(), 0.0f);
  const auto end = [&](int i) { return std::min(in[i], plane.size[i] * plane.stride[i] - plane.lead[i]); };
  for (int64_t d = 0; d < end(0); ++d)
    for (int64_t h = 0; h < end(1); ++h) {
      const float* row = x + (d * in[1] + h) * in[2];
      if (plane.stride[2] == 1) {
        std::copy_n(row, std::max<int64_t>(0, end(2)),
                    dst + plane.At({d + plane.lead[0], h + plane.lead[1], plane.lead[2]}));
        continue;
      }
      for (int64_t phase = 0; phase < plane.stride[2]; ++phase) {
        const int64_t first = ((phase - plane.lead[2]) % plane.stride[2] + plane.stride[2]) % plane.stride[2];
        if (first >= end(2)) continue;
        float* out = dst + plane.At({d + plane.lead[0], h + plane.lead[1], first + plane.lead[2]});
        for (int64_t w = first; w < end(2); w += plane.stride[2]) *out++ = row[w];
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
    const int64_t taps = Product(s.kernel), out_plane = (n * s.out_channels + o) * Product(s.out);
    const float* w = args.packed_weights + o * taps;
    RowEpilogue e = Finish(o);
    float sums[kSumsFloats];
    const int64_t rows_per_block = std::max<int64_t>(1, kSumsFloats / plane.size[2]);
    for (int64_t d = 0; d < s.out[0]; ++d)
      for (int64_t h0 = 0; h0 < s.out[1]; h0 += rows_per_block) {
        const int64_t rows = std::min(rows_per_block, s.out[1] - h0);
        for (int64_t w0 = 0; w0 < s.out[2]; w0 += kSumsFloats) {  // more than one pass only for very long rows
          const int64_t columns = std::min(kSumsFloats, s.out[2] - w0);
          const int64_t start = (d * plane.size[1] + h0) * plane.size[2] + w0;
          tiles.weighted_sums(x + start, offsets, w, taps, (rows - 1) * plane.size[2] + columns, sums);
          for (int64_t r = 0; r < rows; ++r) {
            const int64_t at = out_plane + (d * s.out[1] + h0 + r) * s.out[2] + w0;
            if (args.epilogue.residual != nullptr) e.residual = args.epilogue.residual + at;
            tiles.finish_row(sums + r * plane.size[2], columns, e, args.y + at);
          }
        }
      }
  }

  RowEpilogue Finish(int64_t channel) const {
    const Epilogue& e = args.epilogue;
    RowEpilogue row;
    row.alpha = e.alpha;
    row.beta = e.beta;
    row.bias_scale = e.bias_scale;
    row.bias = e.bias + (e.bias_n != nullptr ? e.bias_n[channel] : 0);
    row.activation = e.activation;
    return row;
  }
};

}  // namespace

std::size_t DepthwisePlanesScratchBytes(const ConvShape& shape, int threads) {
  const SplitPlane plane(shape);
  const std::size_t slot = RoundUp64(static_cast<std::size_t>(plane.Floats()) * sizeof(float));
  return RoundUp64(static_cast<std::size_t>(Product(shape.kernel)) * sizeof(ptrdiff_t)) +
         slot * static_cast<std::size_t>(std::max(threads, 1));
}

void DepthwisePlanes(const ConvF32Args& args, const TileF32Set& tiles, Parallel& parallel, std::byte* scratch) {
  const ConvShape& s = args.shape;
  const SplitPlane plane(s);
  auto* offsets = reinterpret_cast<ptrdiff_t*>(scratch);
  const int64_t taps = Product(s.kernel);
  SetTapOffsets(s, plane, offsets);
  std::byte* slots = scratch + RoundUp64(static_cast<std::size_t>(taps) * sizeof(ptrdiff_t));
  const std::size_t slot_bytes = RoundUp64(static_cast<std::size_t>(plane.Floats()) * sizeof(float));
  const PlaneTask task{args, tiles, plane, offsets};
  const int64_t planes = s.batch * s.in_channels, multiplier = s.out_channels / s.groups, in_plane = Product(s.in);
  const bool small = planes * multiplier * Product(s.out) * taps < kSerialWork;
  const int64_t parts = small ? 1 : parallel.ThreadCount();
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      auto* buffer = reinterpret_cast<float*>(slots + static_cast<std::size_t>(part) * slot_bytes);
      for (int64_t p = planes * part / parts; p < planes * (part + 1) / parts; ++p) {
        Fill(plane, s.in, args.x + p * in_plane, buffer);
        const int64_t n = p / s.in_channels, c = p % s.in_channels;
        for (int64_t i = 0; i < multiplier; ++i) task.Run(buffer, n, c * multiplier + i);
      }
    }
  };
  if (parts == 1) return run(0, 1);
  parallel.For(parts, 1, run);
}

namespace {

constexpr int64_t kTapsAtOnce = 64;
constexpr int64_t kPixels = 8;
constexpr int64_t kChannels = 128;

// Taps of one dimension that fall into the image at output position o.
struct TapRange {
  TapRange(const ConvShape& s, int dim, int64_t o) {
    const int64_t start = o * s.stride[dim] - s.pad_begin[dim];
    first = start < 0 ? CeilDivide(-start, s.dilation[dim]) : 0;
    last = start >= s.in[dim] ? 0 : std::min(s.kernel[dim], (s.in[dim] - 1 - start) / s.dilation[dim] + 1);
    input = start;
  }
  int64_t first, last, input;  // taps [first, last), the (maybe negative) input position of tap 0
};

class PixelTask {
 public:
  PixelTask(const ConvF32Args& args, const TileF32Set& tiles) : args_(args), s_(args.shape), tiles_(tiles) {}

  // Output row `row` = (n * D + d) * H + h.
  void RunRow(int64_t row) const {
    const TapRange depth(s_, 0, row / s_.out[1] % s_.out[0]), height(s_, 1, row % s_.out[1]);
    int64_t w = 0;
    while (w < s_.out[2]) {
      const TapRange width(s_, 2, w);
      int64_t end = w + 1;
      const bool inside = width.first == 0 && width.last == s_.kernel[2];
      while (inside && end < s_.out[2] && end - w < kPixels && TapRange(s_, 2, end).last == s_.kernel[2]) ++end;
      RunPixels(row, depth, height, width, w, end - w);
      w = end;
    }
  }

 private:
  void RunPixels(int64_t row, const TapRange& depth, const TapRange& height, const TapRange& width, int64_t w,
                 int64_t pixels) const {
    const int64_t channels = s_.out_channels, image = row / (s_.out[0] * s_.out[1]);
    float sums[kPixels * kChannels];
    ptrdiff_t x_offsets[kTapsAtOnce], w_offsets[kTapsAtOnce];
    for (int64_t c = 0; c < channels; c += kChannels) {
      DepthwiseArgs a;
      a.x = args_.x + image * Product(s_.in) * channels + c;
      a.pixel_stride = s_.stride[2] * channels;
      a.w = args_.packed_weights + c;
      a.x_offsets = x_offsets, a.w_offsets = w_offsets;
      a.pixels = pixels;
      a.channels = std::min(kChannels, channels - c);
      a.sums = sums, a.sums_stride = kChannels;
      a.accumulate = false;
      a.taps = 0;
      const auto flush = [&] {
        tiles_.depthwise_pixels(a);
        a.taps = 0;
        a.accumulate = true;
      };
      for (int64_t kd = depth.first; kd < depth.last; ++kd)
        for (int64_t kh = height.first; kh < height.last; ++kh)
          for (int64_t kw = width.first; kw < width.last; ++kw) {
            if (a.taps == kTapsAtOnce) flush();
            const int64_t d = depth.input + kd * s_.dilation[0], h = height.input + kh * s_.dilation[1];
            x_offsets[a.taps] = ((d * s_.in[1] + h) * s_.in[2] + width.input + kw * s_.dilation[2]) * channels;
            w_offsets[a.taps++] = ((kd * s_.kernel[1] + kh) * s_.kernel[2] + kw) * channels;
          }
      flush();
      StorePixels(sums, (row * s_.out[2] + w) * channels + c, pixels, c, a.channels);
    }
  }

  void StorePixels(const float* sums, int64_t at, int64_t pixels, int64_t channel, int64_t channels) const {
    const Epilogue& e = args_.epilogue;
    RowEpilogue r;
    r.alpha = e.alpha, r.beta = e.beta, r.bias_scale = e.bias_scale, r.bias = e.bias;
    r.bias_n = e.bias_n != nullptr ? e.bias_n + channel : nullptr;
    r.activation = e.activation;
    for (int64_t p = 0; p < pixels; ++p) {
      const int64_t pixel = at + p * s_.out_channels;
      if (e.residual != nullptr) r.residual = e.residual + pixel;
      tiles_.finish_row(sums + p * kChannels, channels, r, args_.y + pixel);
    }
  }

  const ConvF32Args& args_;
  const ConvShape& s_;
  const TileF32Set& tiles_;
};

}  // namespace

void DepthwisePixels(const ConvF32Args& args, const TileF32Set& tiles, Parallel& parallel) {
  const ConvShape& s = args.shape;
  const int64_t rows = s.batch * s.out[0] * s.out[1], work = rows * s.out[2] * s.out_channels * Product(s.kernel);
  const PixelTask task(args, tiles);
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) task.RunRow(row);
  };
  const int threads = parallel.ThreadCount();
  if (threads == 1 || work < kSerialWork) return run(0, rows);
  parallel.For(rows, std::max<int64_t>(1, rows / (4 * threads)), run);
}

}  // namespace sardonyx::kernels
