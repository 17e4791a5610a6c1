// kernels/conv/depthwise_int8.isa.cpp - 8-bit depthwise convolution: a vector of channels at a time, for several
// positions that share the weights.
#include "kernels/conv/depthwise_int8.h"

#include "kernels/simd/vec_u8.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr ptrdiff_t kPixels = 4;

// kLanes values of A' or weights as 32-bit integers.
inline UintVec Widen(const std::int16_t* p) {
  using Narrow __attribute__((vector_size(kLanes * sizeof(std::int16_t)))) = std::int16_t;
  Narrow v;
  std::memcpy(&v, p, sizeof v);
  return (UintVec) __builtin_convertvector(v, IntVec);
}

inline UintVec Widen(const std::uint8_t* p) { return WidenBytes(p); }

// The first `count` of them, the others 0.
template <typename T>
UintVec Widen(const T* p, ptrdiff_t count) {
  if (count >= kLanes) return Widen(p);
  T block[kLanes] = {};
  std::memcpy(block, p, static_cast<std::size_t>(count) * sizeof(T));
  return Widen(block);
}

// P positions of `count` (up to kLanes) channels.
template <typename Value, ptrdiff_t P, bool kWhole>
void Positions(const DepthwiseInt8Args& a, const std::byte* x, ptrdiff_t channel, ptrdiff_t count, ptrdiff_t pixel) {
  const Lanes lanes = FirstLanes(count);
  UintVec sums[P];
  const UintVec start = LoadInt(a.terms + channel, lanes);
  for (ptrdiff_t p = 0; p < P; ++p) sums[p] = start;
  const std::int16_t* w = a.w + channel / kDepthwiseLanes * a.taps * kDepthwiseLanes + channel % kDepthwiseLanes;
  for (int64_t t = 0; t < a.taps; ++t) {
    const UintVec weights = Widen(w + t * kDepthwiseLanes);
    const std::byte* from = x + a.offsets[t] + channel * static_cast<ptrdiff_t>(sizeof(Value));
    for (ptrdiff_t p = 0; p < P; ++p)
      sums[p] += Widen(reinterpret_cast<const Value*>(from + p * a.x_step), kWhole ? kLanes : count) * weights;
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

template <typename Value, bool kWhole>
void Channels(const DepthwiseInt8Args& a, ptrdiff_t channel, ptrdiff_t count) {
  int64_t p = 0;
  for (; p + kPixels <= a.pixels; p += kPixels)
    Positions<Value, kPixels, kWhole>(a, a.x + p * a.x_step, channel, count, p);
  for (; p < a.pixels; ++p) Positions<Value, 1, kWhole>(a, a.x + p * a.x_step, channel, count, p);
}

template <typename Value>
void Run(const DepthwiseInt8Args& a) {
  int64_t c = 0;
  for (; c + kLanes <= a.channels; c += kLanes) Channels<Value, true>(a, c, kLanes);
  if (c < a.channels) Channels<Value, false>(a, c, a.channels - c);
}

}  // namespace

void DepthwiseInt8Bytes(const DepthwiseInt8Args& a) { Run<std::uint8_t>(a); }
void DepthwiseInt8Words(const DepthwiseInt8Args& a) { Run<std::int16_t>(a); }

}  // namespace sardonyx::kernels::SDX_ISA
