// kernels/conv/depthwise_int8.isa.cpp - 8-bit depthwise convolution: a block of channels at a time, for several
// positions that share the weights, two taps in each product.
#include "kernels/conv/depthwise_int8.h"

#include "kernels/simd/pairs_i32.h"
#include "kernels/simd/vec_u8.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr ptrdiff_t kPixels = 4;
constexpr ptrdiff_t kVectors = kDepthwiseLanes / kLanes;
static_assert(kVectors * kLanes == kDepthwiseLanes);

// The values of a block's channels at one tap; those behind the last channel are not read.
template <typename Value>
class Tap {
 public:
  Tap(const std::byte* from, ptrdiff_t count) : from_(reinterpret_cast<const Value*>(from)) {
    if (count == kDepthwiseLanes) return;
    std::memcpy(part_, from, static_cast<std::size_t>(count) * sizeof(Value));
    from_ = part_;
  }
  const Value* values() const { return from_; }

 private:
  const Value* from_;
  Value part_[kDepthwiseLanes];
};

// How the sums of P positions of `count` (up to kDepthwiseLanes) channels become results.
class Results {
 public:
  Results(const DepthwiseInt8Args& a, ptrdiff_t channel, ptrdiff_t count)
      : a_(a), channel_(channel), count_(count), bounds_(a.low, a.high, a.zero), packer_(a.low, a.high, a.zero) {
    for (ptrdiff_t v = 0; v < kVectors; ++v)
      scales_[v] = a.scales != nullptr ? Load(a.scales + channel + v * kLanes, lanes(v)) : Broadcast(0);
  }

  // The first `count` channels of one position or, of whole blocks, of several.
  template <ptrdiff_t P>
  void Store(const UintVec (&sums)[P][kVectors], ptrdiff_t pixel) const {
    if (a_.result == Int8Result::kBytes && P % 2 == 0 && kVectors % 2 == 0 && count_ == kDepthwiseLanes) {
      for (ptrdiff_t p = 0; p < P - P % 2; p += 2)
        for (ptrdiff_t v = 0; v < kVectors - kVectors % 2; v += 2) StorePair(sums[p], sums[p + 1], pixel + p, v);
      return;
    }
    for (ptrdiff_t p = 0; p < P; ++p)
      for (ptrdiff_t v = 0; v < kVectors && v * kLanes < count_; ++v) StoreOne(sums[p][v], pixel + p, v);
  }

 private:
  Lanes lanes(ptrdiff_t v) const { return FirstLanes(count_ - v * kLanes); }

  void StorePair(const UintVec* first, const UintVec* second, ptrdiff_t pixel, ptrdiff_t v) const {
    const Vec a[2] = {ToFloat(first[v]) * scales_[v], ToFloat(first[v + 1]) * scales_[v + 1]};
    const Vec b[2] = {ToFloat(second[v]) * scales_[v], ToFloat(second[v + 1]) * scales_[v + 1]};
    std::uint8_t* const to = reinterpret_cast<std::uint8_t*>(a_.y) + pixel * a_.y_step + channel_ + v * kLanes;
    packer_.Store(a, to, b, to + a_.y_step);
  }

  void StoreOne(UintVec sums, ptrdiff_t pixel, ptrdiff_t v) const {
    const ptrdiff_t at = pixel * a_.y_step + channel_ + v * kLanes;
    if (a_.result == Int8Result::kBytes) {
      StoreAsBytes(reinterpret_cast<std::uint8_t*>(a_.y) + at, bounds_.Quantize(ToFloat(sums) * scales_[v]),
                   count_ - v * kLanes);
    } else if (a_.result == Int8Result::kFloats) {
      kernels::SDX_ISA::Store(reinterpret_cast<float*>(a_.y) + at, ToFloat(sums) * scales_[v], lanes(v));
    } else {
      StoreInt(reinterpret_cast<std::int32_t*>(a_.y) + at, sums, lanes(v));
    }
  }

  const DepthwiseInt8Args& a_;
  ptrdiff_t channel_, count_;
  ByteBounds bounds_;
  RowPacker packer_;
  Vec scales_[kVectors];
};

// P positions from x on.
template <typename Value, ptrdiff_t P, bool kWhole>
void Positions(const DepthwiseInt8Args& a, const std::byte* x, const std::int16_t* w, const UintVec (&start)[kVectors],
               ptrdiff_t count, UintVec (&sums)[P][kVectors]) {
  if (kWhole) count = kDepthwiseLanes;
  for (ptrdiff_t p = 0; p < P; ++p)
    for (ptrdiff_t v = 0; v < kVectors; ++v) sums[p][v] = start[v];
  for (int64_t t = 0; t < a.taps; t += 2, w += 2 * kDepthwiseLanes) {
    UintVec weights[kVectors];
    for (ptrdiff_t v = 0; v < kVectors; ++v) weights[v] = LoadInt(w + 2 * v * kLanes);
    // The last of an odd number of taps is read twice: its second weight is 0.
    const std::byte *first = x + a.offsets[t], *second = x + a.offsets[t + 1 < a.taps ? t + 1 : t];
    for (ptrdiff_t p = 0; p < P; ++p, first += a.x_step, second += a.x_step) {
      UintVec pairs[kVectors];
      PairUp(Tap<Value>(first, count).values(), Tap<Value>(second, count).values(), pairs);
      for (ptrdiff_t v = 0; v < kVectors; ++v) sums[p][v] = DotWords(sums[p][v], pairs[v], weights[v]);
    }
  }
}

template <typename Value, bool kWhole>
void Block(const DepthwiseInt8Args& a, ptrdiff_t channel, ptrdiff_t count) {
  const std::byte* const x = a.x + channel * static_cast<ptrdiff_t>(sizeof(Value));
  const std::int16_t* const w = a.w + channel / kDepthwiseLanes * a.w_block;
  const Results results(a, channel, count);
  UintVec start[kVectors];
  for (ptrdiff_t v = 0; v < kVectors; ++v)
    start[v] = LoadInt(a.terms + channel + v * kLanes, FirstLanes(count - v * kLanes));
  int64_t p = 0;
  for (; p + kPixels <= a.pixels; p += kPixels) {
    UintVec sums[kPixels][kVectors];
    Positions<Value, kPixels, kWhole>(a, x + p * a.x_step, w, start, count, sums);
    results.Store(sums, p);
  }
  for (; p < a.pixels; ++p) {
    UintVec sums[1][kVectors];
    Positions<Value, 1, kWhole>(a, x + p * a.x_step, w, start, count, sums);
    results.Store(sums, p);
  }
}

template <typename Value>
void Run(const DepthwiseInt8Args& a) {
  int64_t c = 0;
  for (; c + kDepthwiseLanes <= a.channels; c += kDepthwiseLanes) Block<Value, true>(a, c, kDepthwiseLanes);
  if (c < a.channels) Block<Value, false>(a, c, a.channels - c);
}

}  // namespace

void DepthwiseInt8Bytes(const DepthwiseInt8Args& a) { Run<std::uint8_t>(a); }
void DepthwiseInt8Words(const DepthwiseInt8Args& a) { Run<std::int16_t>(a); }

}  // namespace sardonyx::kernels::SDX_ISA
