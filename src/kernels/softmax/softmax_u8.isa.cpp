// kernels/softmax/softmax_u8.isa.cpp - softmax of bytes: the exponentials of a row stay in the first cache level.
#include "kernels/softmax/softmax_u8.h"

#include "kernels/simd/bytes_f32.h"
#include "kernels/simd/exp2_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr float kLog2E = 1.44269504f;

// Signed bytes are compared as unsigned ones 128 higher.
template <bool kSigned>
float MaxOf(const std::uint8_t* x, std::int64_t n) {
  using Bytes = std::uint8_t __attribute__((vector_size(16)));
  constexpr std::uint8_t kFlip = kSigned ? 128 : 0;
  const Bytes flip = Bytes{} + kFlip;
  Bytes max = {};
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    Bytes bytes;
    std::memcpy(&bytes, x + i, sizeof bytes);
    bytes ^= flip;
    max = bytes > max ? bytes : max;
  }
  std::uint8_t result = 0;
  for (int lane = 0; lane < 16; ++lane) result = max[lane] > result ? max[lane] : result;
  for (; i < n; ++i) {
    const std::uint8_t byte = x[i] ^ kFlip;
    result = byte > result ? byte : result;
  }
  return static_cast<float>(result) - static_cast<float>(kFlip);
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
  const Quad quarter = FoldToQuad(sum);
  return (quarter[0] + quarter[1]) + (quarter[2] + quarter[3]);
}

template <bool kSigned>
ByteBounds BoundsOf(int zero) {
  return ByteBounds((kSigned ? -128.0f : 0.0f) - static_cast<float>(zero),
                    (kSigned ? 127.0f : 255.0f) - static_cast<float>(zero), static_cast<std::uint32_t>(zero));
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
  const ByteBounds bounds = BoundsOf<kSigned>(args.y_zero);
  const Vec scale = Broadcast(static_cast<float>(1 / (sum * static_cast<double>(args.y_scale))));
  for (std::int64_t at = 0; at < n; at += kSoftmaxBytesRow) {
    const std::int64_t count = n - at < kSoftmaxBytesRow ? n - at : kSoftmaxBytesRow;
    if (n > kSoftmaxBytesRow) Exponentials<kSigned>(x + at, count, max, factor, e);
    for (std::int64_t i = 0; i < count; i += kLanes)
      StoreAsBytes(y + at + i, bounds.Quantize(Load(e + i, FirstLanes(count - i)) * scale), count - i);
  }
}

// One vector of columns; exponentials of the first rows stay in the first cache level, others are computed twice.
template <bool kSigned>
void Columns(const std::uint8_t* x, std::int64_t n, std::int64_t stride, std::int64_t count,
             const SoftmaxBytesArgs& args, std::uint8_t* y) {
  constexpr std::int64_t kKept = kSoftmaxBytesRow / kLanes;
  alignas(64) float e[kKept * kLanes];
  const Vec factor = Broadcast(args.x_scale * kLog2E);
  Vec max = Broadcast(-128), sum = Broadcast(0);
  for (std::int64_t i = 0; i < n; ++i) max = Max(max, BytesAsFloats<kSigned>(x + i * stride, count));
  const auto exponential = [&](std::int64_t i) {
    return Exp2OfNegative((BytesAsFloats<kSigned>(x + i * stride, count) - max) * factor);
  };
  for (std::int64_t i = 0; i < n; ++i) {
    const Vec term = exponential(i);
    if (i < kKept) Store(e + i * kLanes, term);
    sum += term;
  }
  const ByteBounds bounds = BoundsOf<kSigned>(args.y_zero);
  const Vec scale = Broadcast(1) / (sum * Broadcast(args.y_scale));
  for (std::int64_t i = 0; i < n; ++i) {
    const Vec term = i < kKept ? Load(e + i * kLanes) : exponential(i);
    StoreAsBytes(y + i * stride, bounds.Quantize(term * scale), count);
  }
}

}  // namespace

void SoftmaxBytesColumns(const std::uint8_t* x, std::int64_t n, std::int64_t stride, std::int64_t columns,
                         const SoftmaxBytesArgs& args, std::uint8_t* y) {
  for (std::int64_t at = 0; at < columns; at += kLanes) {
    const std::int64_t count = columns - at < kLanes ? columns - at : kLanes;
    if (args.is_signed) {
      Columns<true>(x + at, n, stride, count, args, y + at);
    } else {
      Columns<false>(x + at, n, stride, count, args, y + at);
    }
  }
}

void SoftmaxBytes(const std::uint8_t* x, std::int64_t n, const SoftmaxBytesArgs& args, std::uint8_t* y) {
  if (args.is_signed) return Row<true>(x, n, args, y);
  Row<false>(x, n, args, y);
}

}  // namespace sardonyx::kernels::SDX_ISA
