// kernels/conv/depthwise_int8.isa.cpp - a vector of channels at a time, several positions that share the weights.
#include "kernels/conv/depthwise_int8.h"

#include "kernels/simd/vec_u8.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr ptrdiff_t kPixels = 4;

// kLanes values of A' or weights as 32-bit integers, the first `count` of them if that is less.
template <typename T>
UintVec Widen(const T* p, ptrdiff_t count) {
  using Narrow __attribute__((vector_size(kLanes * sizeof(T)))) = T;
  Narrow v = {};
  if (count >= kLanes) {
    std::memcpy(&v, p, sizeof v);
  } else {
    for (ptrdiff_t i = 0; i < count; ++i) v[i] = p[i];
  }
  return (UintVec) __builtin_convertvector(v, IntVec);
}

// P positions of `count` (up to kLanes) channels.
template <typename Value, ptrdiff_t P>
void Positions(const DepthwiseInt8Args& a, const std::byte* x, ptrdiff_t channel, ptrdiff_t count, ptrdiff_t pixel) {
  const Lanes lanes = FirstLanes(count);
  UintVec sums[P];
  const UintVec start = LoadInt(a.terms + channel, lanes);
  for (ptrdiff_t p = 0; p < P; ++p) sums[p] = start;
  const std::int16_t* w = a.w + channel / kDepthwiseLanes * a.taps * kDepthwiseLanes + channel % kDepthwiseLanes;
  for (int64_t t = 0; t < a.taps; ++t) {
    const UintVec weights = Widen(w + t * kDepthwiseLanes, kLanes);
    const std::byte* from = x + a.offsets[t] + channel * static_cast<ptrdiff_t>(sizeof(Value));
    for (ptrdiff_t p = 0; p < P; ++p)
      sums[p] += Widen(reinterpret_cast<const Value*>(from + p * a.x_step), count) * weights;
  }
  const ByteBounds bounds(a.low, a.high, a.zero);
  const Vec scale = a.scales != nullptr ? Load(a.scales + channel, lanes) : Broadcast(0);
  for (ptrdiff_t p = 0; p < P; ++p) {
    const ptrdiff_t at = (pixel + p) * a.y_step + channel;
    if (a.result == Int8Result::kBytes) {
      StoreAsBytes(reinterpret_cast<std::uint8_t*>(a.y) + at, bounds.Quantize(ToFloat(sums[p]) * scale), count);
    } else if (a.result == Int8Result::kFloats) {
      Store(reinterpret_cast<float*>(a.y) + at, ToFloat(sums[p]) * scale, lanes);
    } else {
      StoreInt(reinterpret_cast<std::int32_t*>(a.y) + at, sums[p], lanes);
    }
  }
}

template <typename Value>
void Run(const DepthwiseInt8Args& a) {
  for (int64_t c = 0; c < a.channels; c += kLanes) {
    const ptrdiff_t count = a.channels - c;
    int64_t p = 0;
    for (; p + kPixels <= a.pixels; p += kPixels) Positions<Value, kPixels>(a, a.x + p * a.x_step, c, count, p);
    for (; p < a.pixels; ++p) Positions<Value, 1>(a, a.x + p * a.x_step, c, count, p);
  }
}

}  // namespace

void DepthwiseInt8Bytes(const DepthwiseInt8Args& a) { Run<std::uint8_t>(a); }
void DepthwiseInt8Words(const DepthwiseInt8Args& a) { Run<std::int16_t>(a); }

}  // namespace sardonyx::kernels::SDX_ISA
