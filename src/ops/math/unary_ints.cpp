// ops/math/unary_ints.cpp - the unary operators on integers, and IsNaN and IsInf.
#include "ops/math/unary_ints.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "ops/elementwise.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

using kernels::UnaryKind;

// Elements [begin, end) of x and y.
using IntFn = void(const void* x, void* y, std::int64_t begin, std::int64_t end, float a, float b);
struct IntMap {
  IntFn* run;
  float a, b;
};

template <typename T, auto kF>
void Map(const void* px, void* py, std::int64_t begin, std::int64_t end, float a, float b) {
  const T* x = static_cast<const T*>(px);
  T* y = static_cast<T*>(py);
  for (std::int64_t i = begin; i < end; ++i) y[i] = kF(x[i], a, b);
}

// Integers wrap: the absolute value and the negative of the smallest one are itself.
template <typename T>
T Negative(T x) {
  return static_cast<T>(0u - static_cast<std::make_unsigned_t<T>>(x));
}

// Towards zero, then modulo the type's range; what no 64 bits hold becomes the type's smallest number.
template <typename T>
T Wrapped(double value) {
  using Wide = std::conditional_t<std::is_same_v<T, std::uint64_t>, std::uint64_t, std::int64_t>;
  constexpr double kEnd = std::is_same_v<T, std::uint64_t> ? 18446744073709551616.0 : 9223372036854775808.0;
  if (value >= 0 ? value < kEnd : value >= -9223372036854775808.0)
    return static_cast<T>(value < 0 ? static_cast<Wide>(static_cast<std::int64_t>(value)) : static_cast<Wide>(value));
  return std::numeric_limits<T>::min();
}

template <typename T>
T Shrink(T x, float bias, float lambd) {
  const double v = static_cast<double>(x);
  if (v < -double{lambd}) return Wrapped<T>(v + bias);
  return v > double{lambd} ? Wrapped<T>(v - bias) : T(0);
}

// Computed as a float and cut, as in ONNX's reference: beyond 3 the float is 1.
template <typename T>
T Erf(T x, float, float) {
  return static_cast<T>(static_cast<float>(std::erf(static_cast<double>(x))));
}

template <typename T>
IntFn* IntFnOf(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::kAbs:
      return Map<T, [](T x, float, float) { return x < 0 ? Negative(x) : x; }>;
    case UnaryKind::kErf:
      return Map<T, Erf<T>>;
    case UnaryKind::kNeg:
      return Map<T, [](T x, float, float) { return Negative(x); }>;
    case UnaryKind::kRelu:
      return Map<T, [](T x, float, float) { return x < 0 ? T(0) : x; }>;
    case UnaryKind::kSign:
      return Map<T, [](T x, float, float) { return static_cast<T>(x > 0 ? 1 : (x < 0 ? -1 : 0)); }>;
    default:
      return Map<T, Shrink<T>>;
  }
}

void RunIntMap(KernelContext& c) {
  const auto& map = c.state<IntMap>();
  const TensorRef& x = c.Input(0);
  const OutputRef y = c.Output(0);
  c.parallel().For(x.count, kGrain,
                   [&](std::int64_t begin, std::int64_t end) { map.run(x.data, y.data, begin, end, map.a, map.b); });
}

// Any type by its bytes: ~x.
void RunBitwiseNot(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const OutputRef y = c.Output(0);
  const auto* from = x.As<const std::uint8_t>();
  auto* to = y.As<std::uint8_t>();
  c.parallel().For(static_cast<std::int64_t>(x.byte_size()), 4 * kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = static_cast<std::uint8_t>(~from[i]);
  });
}

void RunNot(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const OutputRef y = c.Output(0);
  const auto* from = x.As<const std::uint8_t>();
  auto* to = y.As<std::uint8_t>();
  c.parallel().For(x.count, 4 * kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = from[i] == 0;
  });
}

// IsNaN and IsInf: a test on floats or doubles.
struct FloatTest {
  bool nan = false, positive = false, negative = false;
  DType dtype = DType::kUndefined;
  kernels::ToFloatsFn* load = nullptr;

  template <typename T>
  bool Holds(T x) const {
    if (nan) return x != x;
    return std::isinf(x) && (x > 0 ? positive : negative);
  }
};

void RunFloatTest(KernelContext& c) {
  const auto& test = c.state<FloatTest>();
  const TensorRef& x = c.Input(0);
  const OutputRef y = c.Output(0);
  auto* to = y.As<std::uint8_t>();
  c.parallel().For(x.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    if (test.dtype == DType::kDouble) {
      for (std::int64_t i = begin; i < end; ++i) to[i] = test.Holds(x.As<const double>()[i]);
      return;
    }
    float block[kFloatBlock];
    for (std::int64_t i = begin; i < end; i += kFloatBlock) {
      const std::size_t count = std::min(kFloatBlock, static_cast<std::size_t>(end - i));
      test.load(x.data, i, count, block);
      for (std::size_t k = 0; k < count; ++k) to[i + static_cast<std::int64_t>(k)] = test.Holds(block[k]);
    }
  });
}

Prepared PrepareTest(PrepareContext& c, FloatTest test) {
  test.dtype = c.InputDType(0);
  test.load = kernels::ToFloats(test.dtype);
  if (!IsFloating(test.dtype)) c.Unsupported("input 'X'", test.dtype);
  return WithState(RunFloatTest, test);
}
Prepared PrepareIsNaN(PrepareContext& c) {
  FloatTest test;
  test.nan = true;
  return PrepareTest(c, test);
}
Prepared PrepareIsInf(PrepareContext& c) {
  FloatTest test;
  test.positive = c.Flag("detect_positive", true);
  test.negative = c.Flag("detect_negative", true);
  return PrepareTest(c, test);
}

void InferTest(InferContext& c) {
  if (c.HasRank(0)) return c.SetOutput(0, DType::kBool, c.InputDims(0));
  c.SetOutput(0, DType::kBool);
}

constexpr DTypeSet kTested =
    kIeeeFloats | DTypeSet{DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2, DType::kFloat8E5M2FNUZ};

constexpr OpDef kUnaryTestOps[] = {
    {.name = "IsInf",
     .since = {10, 20},
     .types = kTested,
     .infer = InferTest,
     .prepare = PrepareIsInf,
     .traits = kElementwise},
    {.name = "IsNaN",
     .since = {9, 13, 20},
     .types = kTested,
     .infer = InferTest,
     .prepare = PrepareIsNaN,
     .traits = kElementwise},
};

}  // namespace

Prepared PrepareUnaryInts(PrepareContext& c, UnaryKind kind, float a, float b) {
  IntFn* run = nullptr;
  VisitDType<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
             std::uint64_t>(c.InputDType(0), [&]<typename T>() { run = IntFnOf<T>(kind); });
  if (run == nullptr) c.Unsupported(c.InputText(0), c.InputDType(0));
  return WithState(RunIntMap, IntMap{run, a, b});
}

Prepared PrepareBitwiseNot(PrepareContext&) { return {.run = RunBitwiseNot, .state = nullptr}; }
Prepared PrepareNot(PrepareContext&) { return {.run = RunNot, .state = nullptr}; }

std::span<const OpDef> UnaryTestOps() { return kUnaryTestOps; }

}  // namespace sardonyx::ops
