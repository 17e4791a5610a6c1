// kernels/pool/pool_last_int8.isa.cpp - maxima of pixels of bytes, a vector of channels at a time.
#include "kernels/pool/pool_last_int8.h"

#include "kernels/simd/vec_any.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

template <typename T>
typename VecOf<T>::Type Greatest(const BytePoolPixel& p, int64_t i) {
  using Bytes = typename VecOf<T>::Type;
  const auto load = [&](const std::uint8_t* at) { return LoadAny(reinterpret_cast<const T*>(at + i)); };
  Bytes v = load(p.more ? p.y : p.taps[0]);
  for (int64_t t = p.more ? 0 : 1; t < p.tap_count; ++t) {
    const Bytes x = load(p.taps[t]);
    v = x > v ? x : v;
  }
  return v;
}

template <typename T>
void Run(const BytePoolPixel& p) {
  constexpr ptrdiff_t kCount = VecOf<T>::kCount;
  int64_t i = 0;
  for (; i + kCount <= p.channels; i += kCount) {
    const auto v = Greatest<T>(p, i);
    std::memcpy(p.y + i, &v, sizeof v);
  }
  for (; i < p.channels; ++i) {
    T v = static_cast<T>((p.more ? p.y : p.taps[0])[i]);
    for (int64_t t = p.more ? 0 : 1; t < p.tap_count; ++t) {
      const T x = static_cast<T>(p.taps[t][i]);
      v = x > v ? x : v;
    }
    p.y[i] = static_cast<std::uint8_t>(v);
  }
}

}  // namespace

void MaxPoolPixelU8(const BytePoolPixel& pixel) { Run<std::uint8_t>(pixel); }
void MaxPoolPixelS8(const BytePoolPixel& pixel) { Run<std::int8_t>(pixel); }

}  // namespace sardonyx::kernels::SDX_ISA
