// kernels/pool/pool_taps.cpp - walks the rows of outputs, and for each the taps of its windows that lie in the image.
#include "kernels/pool/pool_taps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace sardonyx::kernels {
namespace {

constexpr Variant<PoolTapTableFn> kVariants[] = {SDX_VARIANTS(PoolTapKernels)};

template <typename T>
const PoolTapLoops<T>& Loops() {
  static const PoolTapTable best = Best(kVariants)();
  if constexpr (std::is_same_v<T, float>) {
    return best.f32;
  } else if constexpr (std::is_same_v<T, double>) {
    return best.f64;
  } else if constexpr (std::is_same_v<T, std::int8_t>) {
    return best.s8;
  } else {
    return best.u8;
  }
}

constexpr std::int64_t kChunk = 256;  // outputs of a row that are made together

// Outputs [begin, end) of row (depth, height) of a plane.
struct OutputRow {
  std::int64_t plane, depth, height, begin, end;

  std::int64_t At(const PoolShape& p) const {
    return ((plane * p.out[0] + depth) * p.out[1] + height) * p.out[2] + begin;
  }
};

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return a <= 0 ? 0 : (a + b - 1) / b; }

// Calls step(at, i, n) for every tap along the width: element `at` of the input row is the one of output begin + i, and
// those of the n - 1 outputs behind it follow at the stride.
template <typename Step>
void ForEachWidthTap(const PoolShape& p, std::int64_t begin, std::int64_t end, const Step& step) {
  const std::int64_t stride = p.stride[2], dilation = p.dilation[2], pad = p.pad_begin[2], width = p.in[2];
  const std::int64_t first = CeilDiv(pad - (end - 1) * stride, dilation);
  const std::int64_t room = width - 1 + pad - begin * stride;
  const std::int64_t last = room < 0 ? 0 : std::min(p.kernel[2], room / dilation + 1);
  for (std::int64_t k = first; k < last; ++k) {
    const std::int64_t shift = k * dilation - pad;  // output o reads element o * stride + shift
    const std::int64_t from = std::max(begin, CeilDiv(-shift, stride));
    const std::int64_t to = std::min(end, CeilDiv(width - shift, stride));
    if (from < to) step(from * stride + shift, from - begin, to - from);
  }
}

// Calls step(offset in the plane, i, n) for every tap.
template <typename Step>
void ForEachTap(const PoolShape& p, const OutputRow& row, const Step& step) {
  const PoolTapRange depth(p, 0, row.depth), height(p, 1, row.height);
  for (std::int64_t kd = depth.first; kd < depth.last; ++kd) {
    for (std::int64_t kh = height.first; kh < height.last; ++kh) {
      const std::int64_t line =
          ((depth.input + kd * p.dilation[0]) * p.in[1] + height.input + kh * p.dilation[1]) * p.in[2];
      ForEachWidthTap(p, row.begin, row.end,
                      [&](std::int64_t at, std::int64_t i, std::int64_t n) { step(line + at, i, n); });
    }
  }
}

// Calls run(row) for all outputs. Windows that hop further than the image is wide share no taps: they come singly, so
// that only taps in the image are visited.
template <typename Run>
void ForEachRow(const PoolShape& p, std::int64_t planes, Parallel& parallel, const Run& run) {
  const std::int64_t chunk = p.stride[2] > p.in[2] ? 1 : kChunk;
  const std::int64_t chunks = (p.out[2] + chunk - 1) / chunk, lines = p.out[0] * p.out[1];
  const std::int64_t work = std::max<std::int64_t>(1, std::min(chunk, p.out[2]) * PoolTapsInImage(p));
  const std::int64_t grain = std::max<std::int64_t>(1, 32768 / work);
  parallel.For(planes * lines * chunks, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t line = i / chunks, at = i % chunks * chunk;
      run(OutputRow{line / lines, line % lines / p.out[1], line % p.out[1], at, std::min(at + chunk, p.out[2])});
    }
  });
}

}  // namespace

std::span<const Variant<PoolTapTableFn>> PoolTapVariants() { return kVariants; }

template <typename T>
void MaxPoolTaps(const PoolShape& p, std::int64_t planes, const T* x, T* y, std::int64_t* at, Parallel& parallel) {
  constexpr T kLeast =
      std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  const PoolTapLoops<T>& loops = Loops<T>();
  const std::int64_t plane_size = p.in[0] * p.in[1] * p.in[2];
  ForEachRow(p, planes, parallel, [&](const OutputRow& row) {
    const T* plane = x + row.plane * plane_size;
    T* best = y + row.At(p);
    std::fill_n(best, row.end - row.begin, kLeast);
    if (at == nullptr) {
      return ForEachTap(p, row, [&](std::int64_t offset, std::int64_t i, std::int64_t n) {
        loops.max(plane + offset, p.stride[2], static_cast<std::size_t>(n), best + i);
      });
    }
    std::int64_t* found = at + row.At(p);
    std::fill_n(found, row.end - row.begin, std::int64_t{-1});
    ForEachTap(p, row, [&](std::int64_t offset, std::int64_t i, std::int64_t n) {
      loops.max_at(plane + offset, p.stride[2], static_cast<std::size_t>(n), offset, best + i, found + i);
    });
  });
}

template <typename T>
void SumPoolTaps(const PoolShape& p, std::int64_t planes, const T* x, double power, T* y, Parallel& parallel) {
  const std::int64_t plane_size = p.in[0] * p.in[1] * p.in[2];
  ForEachRow(p, planes, parallel, [&](const OutputRow& row) {
    const T* plane = x + row.plane * plane_size;
    T* to = y + row.At(p);
    double sums[kChunk] = {};
    ForEachTap(p, row, [&](std::int64_t offset, std::int64_t i, std::int64_t n) {
      Loops<T>().add(plane + offset, p.stride[2], static_cast<std::size_t>(n), p.average ? kNoPower : power, sums + i);
    });
    const double others =
        p.average ? static_cast<double>(PoolTaps(p, 0, row.depth)) * static_cast<double>(PoolTaps(p, 1, row.height))
                  : 1;
    for (std::int64_t i = 0; i < row.end - row.begin; ++i) {
      if (p.average) {
        to[i] = static_cast<T>(sums[i] / (others * static_cast<double>(PoolTaps(p, 2, row.begin + i))));
      } else {
        to[i] = static_cast<T>(power == 1 ? sums[i] : power == 2 ? std::sqrt(sums[i]) : std::pow(sums[i], 1 / power));
      }
    }
  });
}

template void MaxPoolTaps<float>(const PoolShape&, std::int64_t, const float*, float*, std::int64_t*, Parallel&);
template void MaxPoolTaps<double>(const PoolShape&, std::int64_t, const double*, double*, std::int64_t*, Parallel&);
template void MaxPoolTaps<std::int8_t>(const PoolShape&, std::int64_t, const std::int8_t*, std::int8_t*, std::int64_t*,
                                       Parallel&);
template void MaxPoolTaps<std::uint8_t>(const PoolShape&, std::int64_t, const std::uint8_t*, std::uint8_t*,
                                        std::int64_t*, Parallel&);
template void SumPoolTaps<float>(const PoolShape&, std::int64_t, const float*, double, float*, Parallel&);
template void SumPoolTaps<double>(const PoolShape&, std::int64_t, const double*, double, double*, Parallel&);

}  // namespace sardonyx::kernels
