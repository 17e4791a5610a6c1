// kernels/pool/pool_last_f32.isa.cpp - one output pixel of a channels-last pool, one source for every ISA.
#include "kernels/pool/pool_last_f32.h"

#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

struct Greatest {
  static Vec Join(Vec a, Vec b) { return b != b ? b : Max(b, a); }  // a NaN stays: Max keeps its second operand
};
struct Total {
  static Vec Join(Vec a, Vec b) { return a + b; }
};

// kVectors vectors of the pixel side by side, so that the joins of one need not wait for those of another; `lanes` are
// those of the last.
template <typename Op, int kVectors, typename Finish>
void JoinTaps(const PoolPixel& p, int64_t i, Lanes lanes, const Finish& finish) {
  constexpr int kLast = kVectors - 1;
  Vec v[kVectors];
#pragma GCC unroll 4
  for (int k = 0; k < kLast; ++k) v[k] = Load(p.taps[0] + i + k * kLanes);
  v[kLast] = Load(p.taps[0] + i + kLast * kLanes, lanes);
  for (int64_t t = 1; t < p.tap_count; ++t) {
    const float* tap = p.taps[t] + i;
#pragma GCC unroll 4
    for (int k = 0; k < kLast; ++k) v[k] = Op::Join(v[k], Load(tap + k * kLanes));
    v[kLast] = Op::Join(v[kLast], Load(tap + kLast * kLanes, lanes));
  }
  float* y = p.y + i;
#pragma GCC unroll 4
  for (int k = 0; k < kLast; ++k, y += kLanes) Store(y, finish(p.more ? Op::Join(Load(y), v[k]) : v[k]));
  Store(y, finish(p.more ? Op::Join(Load(y, lanes), v[kLast]) : v[kLast]), lanes);
}

template <typename Op, typename Finish>
void JoinPixel(const PoolPixel& p, const Finish& finish) {
  for (int64_t i = 0; i < p.channels; i += 4 * kLanes) {
    const int64_t rest = p.channels - i;
    if (rest > 3 * kLanes) {
      JoinTaps<Op, 4>(p, i, FirstLanes(rest - 3 * kLanes), finish);
    } else if (rest > 2 * kLanes) {
      JoinTaps<Op, 3>(p, i, FirstLanes(rest - 2 * kLanes), finish);
    } else if (rest > kLanes) {
      JoinTaps<Op, 2>(p, i, FirstLanes(rest - kLanes), finish);
    } else {
      JoinTaps<Op, 1>(p, i, FirstLanes(rest), finish);
    }
  }
}

}  // namespace

void MaxPoolPixel(const PoolPixel& pixel) {
  JoinPixel<Greatest>(pixel, [](Vec v) { return v; });
}

void AveragePoolPixel(const PoolPixel& pixel) {
  const Vec divisor = Broadcast(pixel.divisor);
  if (pixel.divisor == 0) return JoinPixel<Total>(pixel, [](Vec v) { return v; });
  JoinPixel<Total>(pixel, [=](Vec v) { return v / divisor; });
}

}  // namespace sardonyx::kernels::SDX_ISA
