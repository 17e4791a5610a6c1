// ops/elementwise.h - what the elementwise families share: functions on tensors of any float type, grain sizes, and
// inference of the contents of small integer tensors.
#pragma once

#include <cstdint>

#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/unary.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"

namespace sardonyx::ops {

// Elements that one thread should get at least: of cheap and of transcendental functions. Multiples of 8 (packed
// types).
inline constexpr std::int64_t kGrain = 16384;
inline constexpr std::int64_t kHeavyGrain = 2048;
// Elements that are converted to float at a time, on the stack.
inline constexpr std::size_t kFloatBlock = 1024;

// y[i] = f(x[i]) for float, double (both directly) and every other float type (in blocks of floats).
struct FloatMap {
  DType dtype = DType::kUndefined;
  kernels::UnaryF32Fn* f32 = nullptr;
  kernels::UnaryF64Fn* f64 = nullptr;
  kernels::ToFloatsFn* load = nullptr;  // types other than float and double
  kernels::FromFloatsFn* store = nullptr;
  double a = 0, b = 0;
  std::int64_t grain = kGrain;

  // For a type with conversions to and from float, or double.
  static FloatMap Of(kernels::UnaryKind kind, DType dtype, double a = 0, double b = 0);
  // Elements [begin, end) of x and y, which may be the same memory unless y is streamed (kernels/copy/stream.h).
  void Run(const void* x, void* y, std::int64_t begin, std::int64_t end, bool streamed = false) const;

 private:
  // Elements [begin, begin + n) of x to y[0 .. n).
  void Make(const void* x, std::int64_t begin, std::size_t n, void* y, std::int64_t at) const;
};

// Whether a result is large enough to be written past the caches; not where it overwrites what is read.
bool IsStreamed(const OutputRef& y, const void* x, const void* z = nullptr);

// Input 0 to output 0 by a FloatMap state.
void RunFloatMap(KernelContext& c);
Prepared PrepareFloatMap(PrepareContext& c, kernels::UnaryKind kind, double a = 0, double b = 0);

// Output 0 has the type of input 0, but not its contents.
void InferSameType(InferContext& c);
// Sets the contents of integer output 0, of rank 0 or 1, from those of inputs 0 and 1 element by element.
void InferShapeDataOf(InferContext& c, Dim (*combine)(const Dim& a, const Dim& b));

}  // namespace sardonyx::ops
