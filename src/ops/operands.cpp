// ops/operands.cpp - conversion of a kernel's tensors to the type it computes in.
#include "ops/operands.h"

#include <cmath>
#include <limits>
#include <type_traits>

namespace sardonyx::ops {
namespace {

constexpr std::int64_t kGrain = 1 << 15;

template <typename From, typename To>
To ConvertOne(From value) {
  if constexpr (std::is_arithmetic_v<From> && std::is_arithmetic_v<To>) {
    if constexpr (std::is_same_v<To, bool>) {
      return value != From(0);
    } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
      const From rounded = std::nearbyint(value);
      if (!(rounded >= static_cast<From>(std::numeric_limits<To>::min()))) return std::numeric_limits<To>::min();
      if (rounded >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
      return static_cast<To>(rounded);
    } else {
      return static_cast<To>(value);
    }
  } else if constexpr (std::is_arithmetic_v<From>) {
    return To(static_cast<float>(value));
  } else {
    return ConvertOne<float, To>(static_cast<float>(value));
  }
}

template <typename From, typename To>
void ConvertSpan(const void* src, void* dst, std::int64_t count, Parallel& parallel) {
  const From* from = static_cast<const From*>(src);
  To* to = static_cast<To*>(dst);
  parallel.For(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = ConvertOne<From, To>(from[i]);
  });
}

template <typename F>
bool VisitNumber(DType dtype, F&& f) {
  return VisitDType<float, double, Half, BFloat16, std::int32_t, std::int64_t, std::uint8_t, std::int8_t, std::uint16_t,
                    std::int16_t, std::uint32_t, std::uint64_t, bool, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2,
                    Float8E5M2FNUZ, Float8E8M0>(dtype, f);
}

}  // namespace

void Convert(DType from, const void* src, DType to, void* dst, std::int64_t count, Parallel& parallel) {
  bool done = false;
  VisitDType<float, double>(to, [&]<typename To>() {
    done = VisitNumber(from, [&]<typename From>() { ConvertSpan<From, To>(src, dst, count, parallel); });
  });
  if (done) return;
  VisitDType<float, double>(from, [&]<typename From>() {
    done = VisitNumber(to, [&]<typename To>() { ConvertSpan<From, To>(src, dst, count, parallel); });
  });
  if (!done) Fail(Code::kNotImplemented, "conversion from ", Name(from), " to ", Name(to), " in a computing kernel");
}

Operands::Operands(KernelContext& c, DType compute, std::uint32_t skip_inputs, std::uint32_t skip_outputs)
    : c_(c), compute_(compute) {
  const std::size_t size = compute == DType::kDouble ? sizeof(double) : sizeof(float);
  for (std::size_t i = 0; i < kMax && i < c.InputCount(); ++i) {
    if (!c.IsTensor(i) || ((skip_inputs >> i) & 1)) continue;
    const TensorRef& x = c.Input(i);
    if (x.dtype == compute) {
      in_[i] = x.data;
    } else {
      in_offset_[i] = 1 + layout_.Add(CheckedMul(static_cast<std::size_t>(x.count), size, "scratch memory"));
    }
  }
  for (std::size_t i = 0; i < kMax && i < c.OutputCount(); ++i) {
    if (!c.HasOutput(i) || ((skip_outputs >> i) & 1)) continue;
    const TensorRef& y = c.Output(i);
    if (y.dtype == compute) {
      out_[i] = y.data;
    } else {
      out_offset_[i] = 1 + layout_.Add(CheckedMul(static_cast<std::size_t>(y.count), size, "scratch memory"));
    }
  }
}

void Operands::Begin() {
  if (layout_.bytes() == 0) return;
  block_ = c_.Scratch<std::byte>(layout_.bytes());
  for (std::size_t i = 0; i < kMax; ++i) {
    if (in_offset_[i] != 0) {
      in_[i] = block_ + in_offset_[i] - 1;
      const TensorRef& x = c_.Input(i);
      Convert(x.dtype, x.data, compute_, in_[i], x.count, c_.parallel());
    }
    if (out_offset_[i] != 0) out_[i] = block_ + out_offset_[i] - 1;
  }
}

void Operands::End() {
  for (std::size_t i = 0; i < kMax; ++i) {
    if (out_offset_[i] == 0) continue;
    const TensorRef& y = c_.Output(i);
    Convert(compute_, out_[i], y.dtype, y.data, y.count, c_.parallel());
  }
}

}  // namespace sardonyx::ops
