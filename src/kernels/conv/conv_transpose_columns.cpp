// kernels/conv/conv_transpose_columns.cpp - the product of a block of pixels, and where its values go.
#include "kernels/conv/conv_transpose_columns.h"

#include <algorithm>

#include "kernels/gemm/gemm.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

constexpr Variant<InterleaveRowsFn> kInterleaveVariants[] = {SDX_VARIANTS(InterleaveRows)};
constexpr int64_t kBlockFloats = 64 * 1024;  // of the values of a block of pixels: what stays in the second cache
constexpr int64_t kFewChannels = 8;          // of a group: less than half of the columns of a tile
constexpr int64_t kMostRows = 16 * 1024;     // values of a pixel; the block of 64 pixels takes 4 MB then

int64_t Product(const std::array<int64_t, 3>& v) { return v[0] * v[1] * v[2]; }
int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }
std::size_t RoundUp64(std::size_t bytes) { return (bytes + 63) & ~std::size_t{63}; }

bool IsWithoutOverlap(const ConvShape& s) { return s.kernel == s.stride && Product(s.dilation) == 1; }

// Values of a pixel in one group.
int64_t RowCount(const ConvShape& s) { return s.out_channels / s.groups * Product(s.kernel); }
// The sums do not depend on where the blocks begin, so neither do they on the number of threads.
int64_t BlockPixels(const ConvShape& s) {
  const int64_t pixels = std::max<int64_t>(64, kBlockFloats / RowCount(s) / 64 * 64);
  return std::min(pixels, Product(s.in));
}
int64_t Blocks(const ConvShape& s) { return CeilDivide(Product(s.in), BlockPixels(s)); }

GemmF32Args ProductOf(const ConvShape& s) {
  GemmF32Args args;
  args.m = RowCount(s), args.n = BlockPixels(s), args.k = s.in_channels / s.groups;
  args.lda = args.m, args.trans_a = true;
  args.ldb = Product(s.in), args.ldc = args.n;
  return args;
}

struct Scratch {
  std::size_t block, gemm;  // bytes of a job
  int64_t jobs;
  std::size_t bytes() const { return static_cast<std::size_t>(jobs) * (block + gemm); }
};
// Blocks whose windows overlap come one after the other, and threads share each.
Scratch ScratchOf(const ConvShape& s, int threads) {
  const bool apart = IsWithoutOverlap(s);
  const GemmF32Args args = ProductOf(s);
  return {RoundUp64(static_cast<std::size_t>(args.m * args.n) * sizeof(float)),
          RoundUp64(GemmF32ScratchBytes(args, apart ? 1 : threads)),
          apart ? std::min<int64_t>(Blocks(s) * s.batch * s.groups, threads) : 1};
}

// Taps side by side along the width, and the pixels [begin, end) of `count` from column `w` on whose outputs all lie in
// the row: column c has those from c * stride + lead on, one for each tap.
struct TapsInRow {
  TapsInRow(const ConvShape& s, int64_t tap, int64_t how_many, int64_t w, int64_t pixels)
      : taps(how_many), lead(tap * s.dilation[2] - s.pad_begin[2]) {
    const int64_t stride = s.stride[2], room = s.out[2] - lead - taps;  // c * stride is at most this
    begin = std::clamp<int64_t>(lead < 0 ? CeilDivide(-lead, stride) - w : 0, 0, pixels);
    end = std::clamp<int64_t>(room >= 0 ? room / stride + 1 - w : 0, begin, pixels);
  }
  int64_t taps, lead, begin, end;
};

// The values of `count` pixels of one image and group, and where they go.
struct Block {
  const ConvShape& s;
  const float* rows;  // [group_out, kD, kH, kW], a row begins at each `pitch`
  int64_t pitch, first, count;
  float* y;           // the group's first channel
  const float* bias;  // of the group, or null

  // A piece of a row of the image: pixels of the block from `done` on, which begin at column w.
  struct Piece {
    int64_t done, d, h, w, count;
  };
  template <typename F>
  void ForPieces(F f) const {
    Piece piece{0, first / (s.in[1] * s.in[2]), first / s.in[2] % s.in[1], first % s.in[2], 0};
    while (piece.done < count) {
      piece.count = std::min(count - piece.done, s.in[2] - piece.w);
      f(piece);
      piece.done += piece.count, piece.w = 0;
      if (++piece.h == s.in[1]) piece.h = 0, ++piece.d;
    }
  }
  // Calls f(from, to) for the first of the taps along the width and the row of outputs that they reach, if there is
  // one.
  template <typename F>
  void ForRows(const Piece& piece, int64_t channel, F f) const {
    const float* from = rows + channel * Product(s.kernel) * pitch + piece.done;
    for (int64_t kd = 0; kd < s.kernel[0]; ++kd) {
      const int64_t od = piece.d * s.stride[0] + kd * s.dilation[0] - s.pad_begin[0];
      for (int64_t kh = 0; kh < s.kernel[1]; ++kh, from += s.kernel[2] * pitch) {
        const int64_t oh = piece.h * s.stride[1] + kh * s.dilation[1] - s.pad_begin[1];
        if (od < 0 || od >= s.out[0] || oh < 0 || oh >= s.out[1]) continue;
        f(from, y + ((channel * s.out[0] + od) * s.out[1] + oh) * s.out[2]);
      }
    }
  }

  // Gives the values of channels [begin, end) to their outputs: as they are, with the bias, or added up.
  void Deliver(int64_t begin, int64_t end, bool add, InterleaveRowsFn* interleave) const {
    ForPieces([&](const Piece& piece) {
      for (int64_t k = 0; k < s.kernel[2];) {
        // As many taps as the stride go to consecutive outputs.
        const int64_t together = s.dilation[2] == 1 && k + s.stride[2] <= s.kernel[2] ? s.stride[2] : 1;
        const TapsInRow taps(s, k, together, piece.w, piece.count);
        for (int64_t channel = begin; channel < end; ++channel) {
          const float added = !add && bias != nullptr ? bias[channel] : 0;
          ForRows(piece, channel, [&](const float* from, float* to) {
            DeliverRow(from + k * pitch, taps, piece, added, add, to, interleave);
          });
        }
        k += together;
      }
    });
  }
  // `to`: the whole row of outputs.
  void DeliverRow(const float* values, const TapsInRow& taps, const Piece& piece, float added, bool add, float* to,
                  InterleaveRowsFn* interleave) const {
    const bool consecutive = taps.taps == s.stride[2] && taps.end > taps.begin;
    if (consecutive) {
      interleave({values + taps.begin, pitch, taps.taps, taps.end - taps.begin, added,
                  to + (piece.w + taps.begin) * s.stride[2] + taps.lead, add});
      if (taps.begin == 0 && taps.end == piece.count) return;
    }
    for (int64_t i = 0; i < piece.count; ++i) {
      if (consecutive && i == taps.begin) i = taps.end;
      if (i == piece.count) return;
      for (int64_t k = 0; k < taps.taps; ++k) {
        const int64_t column = (piece.w + i) * s.stride[2] + taps.lead + k;
        if (column < 0 || column >= s.out[2]) continue;
        const float value = values[k * pitch + i];
        to[column] = add ? to[column] + value : value + added;
      }
    }
  }
};

// Outputs that no window reaches, or all where windows are added up.
void FillWithBias(const ConvShape& s, const float* bias, float* y, Parallel& parallel) {
  const int64_t pixels = Product(s.out);
  parallel.For(s.batch * s.out_channels, std::max<int64_t>(1, 16384 / pixels), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane)
      std::fill_n(y + plane * pixels, pixels, bias != nullptr ? bias[plane % s.out_channels] : 0.0F);
  });
}

bool IsCovered(const ConvShape& s) {
  for (std::size_t i = 0; i < 3; ++i)
    if (s.pad_begin[i] < 0 || s.out[i] + s.pad_begin[i] > s.in[i] * s.stride[i]) return false;
  return true;
}

}  // namespace

bool ColumnsSuitConvTranspose(const ConvShape& s) {
  if (s.in_layout != ImageLayout::kChannelsFirst || s.out_layout != ImageLayout::kChannelsFirst) return false;
  if (s.in_channels / s.groups < 4 || RowCount(s) > kMostRows) return false;
  return IsWithoutOverlap(s) || (s.out_channels / s.groups < kFewChannels && Product(s.kernel) > 1);
}

std::size_t ConvTransposeColumnsScratchBytes(const ConvShape& s, int threads) { return ScratchOf(s, threads).bytes(); }

// NOLINTNEXTLINE(readability-function-size): a shape and its operands
void ConvTransposeColumnsF32(const ConvShape& s, const float* x, const float* w, const float* bias, float* y,
                             Parallel& parallel, std::byte* scratch) {
  const bool apart = IsWithoutOverlap(s);
  InterleaveRowsFn* interleave = Best(kInterleaveVariants);
  const Scratch sizes = ScratchOf(s, parallel.ThreadCount());
  const int64_t group_in = s.in_channels / s.groups, group_out = s.out_channels / s.groups;
  const int64_t pixels = Product(s.in), block_pixels = BlockPixels(s), blocks = Blocks(s);
  if (!apart || !IsCovered(s)) FillWithBias(s, bias, y, parallel);
  // Runs one block of one image and group: the product, then its values to their places.
  const auto run = [&](int64_t unit, std::byte* memory, Parallel& threads) {
    const int64_t block = unit % blocks, group = unit / blocks % s.groups, image = unit / blocks / s.groups;
    const int64_t first = block * block_pixels;
    GemmF32Args args = ProductOf(s);
    args.n = std::min(block_pixels, pixels - first);
    args.a = w + group * group_in * args.m;
    args.b = x + (image * s.in_channels + group * group_in) * pixels + first;
    args.c = reinterpret_cast<float*>(memory);
    GemmF32(args, threads, sizes.gemm == 0 ? nullptr : memory + sizes.block);
    const Block values{s,
                       args.c,
                       args.ldc,
                       first,
                       args.n,
                       y + (image * s.out_channels + group * group_out) * Product(s.out),
                       bias != nullptr ? bias + group * group_out : nullptr};
    threads.For(group_out, 1, [&](int64_t begin, int64_t end) { values.Deliver(begin, end, !apart, interleave); });
  };
  const int64_t units = s.batch * s.groups * blocks;
  if (!apart) {
    for (int64_t unit = 0; unit < units; ++unit) run(unit, scratch, parallel);
    return;
  }
  const int64_t jobs = std::min(units, sizes.jobs);
  parallel.For(jobs, 1, [&](int64_t begin, int64_t end) {
    Serial serial;
    for (int64_t job = begin; job < end; ++job) {
      std::byte* memory = scratch + static_cast<std::size_t>(job) * (sizes.block + sizes.gemm);
      for (int64_t unit = units * job / jobs; unit < units * (job + 1) / jobs; ++unit) run(unit, memory, serial);
    }
  });
}

}  // namespace sardonyx::kernels
