// kernels/conv/depthwise_int8.isa.cpp - 8-bit depthwise convolution: a block of channels at a time, for several
// positions that share the weights, two taps in each product. Positions whose windows overlap share pairs of values,
// too.
#include "kernels/conv/depthwise_int8.h"

#include <type_traits>

#include "kernels/simd/pairs_i32.h"
#include "kernels/simd/vec_u8.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr ptrdiff_t kPixels = kLanes == 4 ? 2 : 4;  // that share a load of weights
constexpr ptrdiff_t kVectors = kDepthwiseLanes / kLanes;
static_assert(kVectors * kLanes == kDepthwiseLanes);

// How the sums of P positions of `count` (up to kDepthwiseLanes) channels become results.
class Results {
 public:
  Results(const DepthwiseInt8Args& a, ptrdiff_t channel, ptrdiff_t count)
      : a_(a),
        channel_(channel),
        count_(count),
        bounds_(a.low, a.high, a.zero),
        packer_(a.high, a.zero, a.low + static_cast<float>(static_cast<std::int32_t>(a.zero)) < 0) {
    for (ptrdiff_t v = 0; v < kVectors; ++v)
      scales_[v] = a.scales != nullptr ? Load(a.scales + channel + v * kLanes, lanes(v)) : Broadcast(0);
  }

  // The first `count` channels of one position or, of whole blocks, of several; V vectors hold them.
  template <ptrdiff_t P, ptrdiff_t V>
  [[gnu::always_inline]] void Store(const UintVec (&sums)[P][V], ptrdiff_t pixel) const {
    if (a_.result == Int8Result::kBytes && P % 2 == 0 && V % 2 == 0 && count_ == kDepthwiseLanes) {
#pragma GCC unroll 4
      for (ptrdiff_t p = 0; p < P - P % 2; p += 2)
#pragma GCC unroll 2
        for (ptrdiff_t v = 0; v < V - V % 2; v += 2) StorePair(sums[p], sums[p + 1], pixel + p, v);
      return;
    }
#pragma GCC unroll 4
    for (ptrdiff_t p = 0; p < P; ++p)
#pragma GCC unroll 4
      for (ptrdiff_t v = 0; v < V; ++v)
        if (v * kLanes < count_) StoreOne(sums[p][v], pixel + p, v);
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

// What P positions take from two rows, or from two columns next to each other of one row: kStep columns of taps a pair.
//
// Windows of kColumns taps that lie kStride columns apart: each pair of values is made once.
template <ptrdiff_t kStride, ptrdiff_t kColumns>
struct Overlapping {
  template <ptrdiff_t kStep, typename Value, ptrdiff_t P, ptrdiff_t V>
  [[gnu::always_inline]] static void Add(const DepthwiseInt8Args& a, const Value* first, const Value* second,
                                         const std::int16_t* w, UintVec (&sums)[P][V]) {
#pragma GCC unroll 16
    for (ptrdiff_t c = 0; c < (P - 1) * kStride + kColumns; ++c) {
      UintVec pairs[kVectors];
      PairUp(first + c * a.column_step, second + c * a.column_step, pairs);
#pragma GCC unroll 4
      for (ptrdiff_t p = 0; p < P; ++p) {
        const ptrdiff_t column = c - p * kStride;
        if (column < 0 || column >= kColumns || column % kStep != 0) continue;
        const std::int16_t* const weights = w + column / kStep * 2 * kDepthwiseLanes;
#pragma GCC unroll 4
        for (ptrdiff_t v = 0; v < V; ++v)
          sums[p][v] = DotWords(sums[p][v], pairs[v], LoadInt(weights + 2 * v * kLanes));
      }
    }
  }
};

// Any windows.
struct Separate {
  template <ptrdiff_t kStep, typename Value, ptrdiff_t P, ptrdiff_t V>
  [[gnu::always_inline]] static void Add(const DepthwiseInt8Args& a, const Value* first, const Value* second,
                                         const std::int16_t* w, UintVec (&sums)[P][V]) {
    for (int64_t column = 0; column < a.columns; column += kStep, w += 2 * kDepthwiseLanes) {
      const ptrdiff_t at = column * a.column_step;
#pragma GCC unroll 4
      for (ptrdiff_t p = 0; p < P; ++p) {
        UintVec pairs[kVectors];
        PairUp(first + at + p * a.x_step, second + at + p * a.x_step, pairs);
#pragma GCC unroll 4
        for (ptrdiff_t v = 0; v < V; ++v) sums[p][v] = DotWords(sums[p][v], pairs[v], LoadInt(w + 2 * v * kLanes));
      }
    }
  }
};

// V vectors of the channels from `channel` on.
template <typename Value, typename Windows, ptrdiff_t V>
class Block {
 public:
  Block(const DepthwiseInt8Args& a, ptrdiff_t channel, ptrdiff_t count)
      : a_(a), w_(a.w + channel / kDepthwiseLanes * a.w_block), channel_(channel), results_(a, channel, count) {
    for (ptrdiff_t v = 0; v < V; ++v)
      start_[v] = LoadInt(a.terms + channel + v * kLanes, FirstLanes(count - v * kLanes));
  }

  void Run() const {
    if constexpr (std::is_same_v<Windows, Separate>) {
      if (a_.pixels < kPixels) {
        for (int64_t p = 0; p < a_.pixels; ++p) Positions<1>(p);
        return;
      }
    }
    // The last ones begin earlier if there are fewer left, so that some are computed once more.
    for (int64_t p = 0; p < a_.pixels; p += kPixels)
      Positions<kPixels>(p + kPixels <= a_.pixels ? p : a_.pixels - kPixels);
  }

 private:
  template <ptrdiff_t P>
  void Positions(int64_t pixel) const {
    UintVec sums[P][V];
#pragma GCC unroll 4
    for (ptrdiff_t p = 0; p < P; ++p)
#pragma GCC unroll 4
      for (ptrdiff_t v = 0; v < V; ++v) sums[p][v] = start_[v];
    const ptrdiff_t at = a_.x_offset + pixel * a_.x_step + channel_;
    const auto values = [&](int64_t row) { return reinterpret_cast<const Value*>(a_.rows[row] + at); };
    const std::int16_t* w = w_;
    int64_t row = 0;
    for (; row + 2 <= a_.row_count; row += 2, w += a_.columns * 2 * kDepthwiseLanes)
      Windows::template Add<1>(a_, values(row), values(row + 1), w, sums);
    if (row < a_.row_count) Windows::template Add<2>(a_, values(row), values(row) + a_.column_step, w, sums);
    results_.Store(sums, pixel);
  }

  const DepthwiseInt8Args& a_;
  const std::int16_t* w_;
  ptrdiff_t channel_;
  Results results_;
  UintVec start_[V];
};

template <typename Value, typename Windows>
void RunWindows(const DepthwiseInt8Args& a) {
  constexpr ptrdiff_t kHalf = (kVectors + 1) / 2;
  int64_t c = 0;
  for (; c + kDepthwiseLanes <= a.channels; c += kDepthwiseLanes)
    Block<Value, Windows, kVectors>(a, c, kDepthwiseLanes).Run();
  const ptrdiff_t rest = a.channels - c;
  if (rest > kHalf * kLanes) return Block<Value, Windows, kVectors>(a, c, rest).Run();
  if (rest > 0) Block<Value, Windows, kHalf>(a, c, rest).Run();
}

template <typename Value>
void Run(const DepthwiseInt8Args& a) {
  if (a.pixels < kPixels) return RunWindows<Value, Separate>(a);
  const bool dense = a.x_step == a.column_step, every_second = a.x_step == 2 * a.column_step;
  if (dense && a.columns == 3) return RunWindows<Value, Overlapping<1, 3>>(a);
  if (dense && a.columns == 5) return RunWindows<Value, Overlapping<1, 5>>(a);
  if (every_second && a.columns == 3) return RunWindows<Value, Overlapping<2, 3>>(a);
  if (every_second && a.columns == 5) return RunWindows<Value, Overlapping<2, 5>>(a);
  RunWindows<Value, Separate>(a);
}

}  // namespace

void DepthwiseInt8Signed(const DepthwiseInt8Args& a) { Run<std::int8_t>(a); }
void DepthwiseInt8Unsigned(const DepthwiseInt8Args& a) { Run<std::uint8_t>(a); }

}  // namespace sardonyx::kernels::SDX_ISA
