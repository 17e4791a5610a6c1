// kernels/elementwise/quantized_binary.isa.cpp - sums and products of bytes in float vectors; tables of 256 bytes.
#include "kernels/elementwise/quantized_binary.h"

#include "kernels/simd/bytes_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

// The product itself: what is added to it is a second rounding, also where the CPU can multiply and add at once.
Vec Rounded(Vec product) {
  KeepInRegister(product);
  return product;
}

template <bool kSigned, QuantizedKind kKind>
class Combination {
 public:
  explicit Combination(const QuantizedBinaryArgs& args)
      : bounds_(kSigned ? -128.0f : 0.0f, kSigned ? 127.0f : 255.0f, 0),
        a_scale_(Broadcast(args.a_scale)),
        b_scale_(Broadcast(args.b_scale)),
        a_zero_(Broadcast(args.a_zero)),
        b_zero_(Broadcast(args.b_zero)),
        added_(Broadcast(kKind == QuantizedKind::kAdd ? args.constant : args.y_zero)) {}

  // What b is to the result.
  Vec Second(Vec b) const {
    if constexpr (kKind == QuantizedKind::kAdd) return b * b_scale_ + added_;
    return b - b_zero_;
  }
  UintVec operator()(Vec a, Vec second) const {
    if constexpr (kKind == QuantizedKind::kAdd) return bounds_.Quantize(a * a_scale_ + second);
    return bounds_.Quantize(Rounded((a - a_zero_) * second * a_scale_) + added_);
  }

 private:
  ByteBounds bounds_;
  Vec a_scale_, b_scale_, a_zero_, b_zero_, added_;
};

template <bool kSigned, QuantizedKind kKind, bool kRepeatsB>
void Run(const void* from_a, const void* from_b, const QuantizedBinaryArgs& args, std::size_t n, void* to) {
  const auto *a = static_cast<const std::uint8_t*>(from_a), *b = static_cast<const std::uint8_t*>(from_b);
  auto* y = static_cast<std::uint8_t*>(to);
  const Combination<kSigned, kKind> combine(args);
  const auto one = kSigned ? static_cast<float>(static_cast<std::int8_t>(*b)) : static_cast<float>(*b);
  const Vec second = combine.Second(Broadcast(one));
  const auto count = static_cast<ptrdiff_t>(n);
  ptrdiff_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vec of_b = kRepeatsB ? second : combine.Second(BytesAsFloats<kSigned>(b + i));
    StoreAsBytes(y + i, combine(BytesAsFloats<kSigned>(a + i), of_b), kLanes);
  }
  if (i == count) return;
  const Vec of_b = kRepeatsB ? second : combine.Second(BytesAsFloats<kSigned>(b + i, count - i));
  StoreAsBytes(y + i, combine(BytesAsFloats<kSigned>(a + i, count - i), of_b), count - i);
}

template <bool kSigned, QuantizedKind kKind>
QuantizedBinaryFn* FindKind(bool repeats_b) {
  return repeats_b ? Run<kSigned, kKind, true> : Run<kSigned, kKind, false>;
}

template <bool kSigned>
QuantizedBinaryFn* FindType(QuantizedKind kind, bool repeats_b) {
  return kind == QuantizedKind::kAdd ? FindKind<kSigned, QuantizedKind::kAdd>(repeats_b)
                                     : FindKind<kSigned, QuantizedKind::kMul>(repeats_b);
}

QuantizedBinaryFn* Find(QuantizedKind kind, bool is_signed, bool repeats_b) {
  return is_signed ? FindType<true>(kind, repeats_b) : FindType<false>(kind, repeats_b);
}

// Eight at a time: loads, lookups and stores overlap.
void LookupEach(const std::uint8_t* x, const std::uint8_t* table, std::size_t n, std::uint8_t* y) {
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    std::uint8_t found[8];
    for (std::size_t k = 0; k < 8; ++k) found[k] = table[x[i + k]];
    for (std::size_t k = 0; k < 8; ++k) y[i + k] = found[k];
  }
  for (; i < n; ++i) y[i] = table[x[i]];
}

template <auto kVectors>
void Lookup(const std::uint8_t* x, const std::uint8_t* table, std::size_t n, std::uint8_t* y) {
  const std::size_t done = kVectors(x, table, n, y);
  LookupEach(x + done, table, n - done, y + done);
}

template <bool kSigned>
void Dequantize(const std::uint8_t* x, float scale, float zero, std::size_t n, float* y) {
  const Vec factor = Broadcast(scale), shift = Broadcast(zero);
  const auto count = static_cast<ptrdiff_t>(n);
  ptrdiff_t i = 0;
  for (; i + kLanes <= count; i += kLanes) Store(y + i, (BytesAsFloats<kSigned>(x + i) - shift) * factor);
  if (i < count) Store(y + i, (BytesAsFloats<kSigned>(x + i, count - i) - shift) * factor, FirstLanes(count - i));
}

}  // namespace

QuantizedTable QuantizedKernels8() { return {Find, Lookup<LookupByShuffles>, Dequantize<true>, Dequantize<false>}; }
QuantizedTable QuantizedKernels8WithByteTables() {
  return {Find, Lookup<LookupVectors>, Dequantize<true>, Dequantize<false>};
}

}  // namespace sardonyx::kernels::SDX_ISA
