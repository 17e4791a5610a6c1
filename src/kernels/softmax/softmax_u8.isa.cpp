// kernels/softmax/softmax_u8.isa.cpp - softmax of bytes: the exponentials of a row stay in the first cache level.
#include "kernels/softmax/softmax_u8.h"

#include "kernels/simd/bytes_f32.h"
#include "kernels/simd/exp2_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr float kLog2E = 1.44269504f;

template <bool kSigned>
float MaxOf(const std::uint8_t* x, std::int64_t n) {
  int max = kSigned ? -128 : 0;
#pragma omp simd reduction(max : max)
  for (std::int64_t i = 0; i < n; ++i) {
    const int value = kSigned ? static_cast<std::int8_t>(x[i]) : x[i];
    max = value > max ? value : max;
  }
  return static_cast<float>(max);
}

// 2^((x - max) * factor) of n <= kSoftmaxBytesRow bytes into `to`, and their sum.
template <bool kSigned>
float Exponentials(const std::uint8_t* x, std::int64_t n, float max, float factor, float* to) {
  const Vec top = Broadcast(max), scale = Broadcast(factor);
  Vec sum = Broadcast(0);
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Vec e = Exp2OfNegative((BytesAsFloats<kSigned>(x + i) - top) * scale);
    Store(to + i, e);
    sum += e;
  }
  if (i < n) {
    const Lanes lanes = FirstLanes(n - i);
    Store(to + i, Exp2OfNegative((BytesAsFloats<kSigned>(x + i, n - i) - top) * scale), lanes);
    sum += Load(to + i, lanes);
  }
  float total[kLanes], result = 0;
  Store(total, sum);
  for (const float lane : total) result += lane;
  return result;
}

template <bool kSigned>
void Row(const std::uint8_t* x, std::int64_t n, const SoftmaxBytesArgs& args, std::uint8_t* y) {
  alignas(64) float e[kSoftmaxBytesRow];
  const float max = MaxOf<kSigned>(x, n), factor = args.x_scale * kLog2E;
  double sum = 0;
  for (std::int64_t at = 0; at < n; at += kSoftmaxBytesRow) {
    const std::int64_t count = n - at < kSoftmaxBytesRow ? n - at : kSoftmaxBytesRow;
    sum += static_cast<double>(Exponentials<kSigned>(x + at, count, max, factor, e));
  }
  const auto zero = static_cast<float>(args.y_zero);
  const ByteBounds bounds((kSigned ? -128.0f : 0.0f) - zero, (kSigned ? 127.0f : 255.0f) - zero,
                          static_cast<std::uint32_t>(args.y_zero));
  const Vec scale = Broadcast(static_cast<float>(1 / (sum * static_cast<double>(args.y_scale))));
  for (std::int64_t at = 0; at < n; at += kSoftmaxBytesRow) {
    const std::int64_t count = n - at < kSoftmaxBytesRow ? n - at : kSoftmaxBytesRow;
    if (n > kSoftmaxBytesRow) Exponentials<kSigned>(x + at, count, max, factor, e);
    for (std::int64_t i = 0; i < count; i += kLanes)
      StoreAsBytes(y + at + i, bounds.Quantize(Load(e + i, FirstLanes(count - i)) * scale), count - i);
  }
}

}  // namespace

void SoftmaxBytes(const std::uint8_t* x, std::int64_t n, const SoftmaxBytesArgs& args, std::uint8_t* y) {
  if (args.is_signed) return Row<true>(x, n, args, y);
  Row<false>(x, n, args, y);
}

}  // namespace sardonyx::kernels::SDX_ISA
