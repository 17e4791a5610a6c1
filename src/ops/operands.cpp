// ops/operands.cpp - converts a kernel's tensors to the type that it computes in, and back.
#include "ops/operands.h"

#include "kernels/elementwise/convert.h"

namespace sardonyx::ops {
namespace {

constexpr std::int64_t kGrain = 1 << 14;  // a multiple of 8, as packed types ask

// Blocks of T from one type to another; false if `to` or `from` has no conversion.
template <typename T, typename ToFn, typename FromFn>
bool ConvertWith(ToFn* read, FromFn* write, const void* src, void* dst, std::int64_t count, Parallel& parallel) {
  if (read == nullptr && write == nullptr) return false;
  parallel.For(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    const auto n = static_cast<std::size_t>(end - begin);
    if (read != nullptr)
      read(src, begin, n, static_cast<T*>(dst) + begin);
    else
      write(static_cast<const T*>(src) + begin, n, dst, begin);
  });
  return true;
}

}  // namespace

void Convert(DType from, const void* src, DType to, void* dst, std::int64_t count, Parallel& parallel) {
  using kernels::FromDoublesFn, kernels::FromFloatsFn, kernels::ToDoublesFn, kernels::ToFloatsFn;
  bool done = false;
  if (to == DType::kFloat) {
    done = ConvertWith<float>(kernels::ToFloats(from), static_cast<FromFloatsFn*>(nullptr), src, dst, count, parallel);
  } else if (to == DType::kDouble) {
    done =
        ConvertWith<double>(kernels::ToDoubles(from), static_cast<FromDoublesFn*>(nullptr), src, dst, count, parallel);
  } else if (from == DType::kFloat) {
    done = ConvertWith<float>(static_cast<ToFloatsFn*>(nullptr), kernels::FromFloats(to), src, dst, count, parallel);
  } else if (from == DType::kDouble) {
    done = ConvertWith<double>(static_cast<ToDoublesFn*>(nullptr), kernels::FromDoubles(to), src, dst, count, parallel);
  }
  if (!done)
    Fail(Code::kNotImplemented, "conversion from ", Name(from), " to ", Name(to),
         " is not implemented in this operator");
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
      in_offset_[i] =
          1 + layout_.Add(CheckedMul(static_cast<std::size_t>(x.count), size, "the size of scratch memory"));
    }
  }
  for (std::size_t i = 0; i < kMax && i < c.OutputCount(); ++i) {
    if (!c.HasOutput(i) || ((skip_outputs >> i) & 1)) continue;
    const OutputRef y = c.Output(i);
    if (y.dtype == compute) {
      out_[i] = y.data;
    } else {
      out_offset_[i] =
          1 + layout_.Add(CheckedMul(static_cast<std::size_t>(y.count), size, "the size of scratch memory"));
    }
  }
}

void Operands::ConvertInputs() {
  if (layout_.bytes() == 0) return;
  block_ = c_.Scratch<std::byte>(layout_.bytes());
  for (std::size_t i = 0; i < kMax; ++i) {
    if (in_offset_[i] != 0) {
      std::byte* converted = block_ + in_offset_[i] - 1;
      const TensorRef& x = c_.Input(i);
      Convert(x.dtype, x.data, compute_, converted, x.count, c_.parallel());
      in_[i] = converted;
    }
    if (out_offset_[i] != 0) out_[i] = block_ + out_offset_[i] - 1;
  }
}

void Operands::ConvertOutputs() {
  for (std::size_t i = 0; i < kMax; ++i) {
    if (out_offset_[i] == 0) continue;
    const OutputRef y = c_.Output(i);
    Convert(compute_, out_[i], y.dtype, y.data, y.count, c_.parallel());
  }
}

}  // namespace sardonyx::ops
