// kernels/pool/pool_last_f32.isa.cpp - one output pixel of a channels-last pool, one source for every ISA.
#include "kernels/pool/pool_last_f32.h"

#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

struct Greatest {
  static Vec Join(Vec a, Vec b) { return (b > a) | (b != b) ? b : a; }
};
struct Total {
  static Vec Join(Vec a, Vec b) { return a + b; }
};

template <typename Op>
Vec JoinTaps(const PoolPixel& p, int64_t i, Lanes lanes) {
  Vec v = Load(p.taps[0] + i, lanes);
  for (int64_t t = 1; t < p.tap_count; ++t) v = Op::Join(v, Load(p.taps[t] + i, lanes));
  return p.more ? Op::Join(Load(p.y + i, lanes), v) : v;
}

}  // namespace

void MaxPoolPixel(const PoolPixel& pixel) {
  for (int64_t i = 0; i < pixel.channels; i += kLanes) {
    const Lanes lanes = FirstLanes(pixel.channels - i);
    Store(pixel.y + i, JoinTaps<Greatest>(pixel, i, lanes), lanes);
  }
}

void AveragePoolPixel(const PoolPixel& pixel) {
  const Vec divisor = Broadcast(pixel.divisor);
  for (int64_t i = 0; i < pixel.channels; i += kLanes) {
    const Lanes lanes = FirstLanes(pixel.channels - i);
    const Vec sum = JoinTaps<Total>(pixel, i, lanes);
    Store(pixel.y + i, pixel.divisor == 0 ? sum : sum / divisor, lanes);
  }
}

}  // namespace sardonyx::kernels::SDX_ISA
