// ops/math/unary_ints.cpp - the unary operators on integers, and IsNaN and IsInf.
#include "ops/math/unary_ints.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "kernels/copy/stream.h"
#include "kernels/elementwise/simple.h"
#include "ops/elementwise.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

using kernels::SimpleKind;
using kernels::UnaryKind;

// Elements [begin, end) of x and y, by a loop of its own where there is no vector form.
using IntFn = void(const void* x, void* y, std::int64_t begin, std::int64_t end, float a, float b);
struct IntMap {
  IntFn* run;
  float a, b;
};

// A vector form, which needs no parameters.
struct SimpleMap {
  kernels::SimpleFn* run = nullptr;
  std::int64_t in_size = 0, out_size = 0;  // bytes of an element
};

void RunSimpleMap(KernelContext& c) {
  const auto& map = c.state<SimpleMap>();
  const TensorRef& x = c.Input(0);
  const OutputRef y = c.Output(0);
  const bool streamed = IsStreamed(y, x.data);
  c.parallel().For(x.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    const auto* from = x.As<const std::byte>() + begin * map.in_size;
    auto* to = y.As<std::byte>() + begin * map.out_size;
    const auto n = static_cast<std::size_t>(end - begin);
    if (!streamed) return map.run(from, to, n, nullptr, nullptr);
    kernels::StreamBlocks(n, static_cast<std::size_t>(map.out_size), to,
                          [&](std::size_t i, std::size_t count, std::byte* block) {
                            map.run(from + i * static_cast<std::size_t>(map.in_size), block, count, nullptr, nullptr);
                            return count;
                          });
  });
}

// Without a run where the kind has no vector form for the type.
Prepared PrepareSimple(SimpleKind kind, DType dtype, bool to_bool = false) {
  kernels::SimpleFn* run = kernels::Simple(kind, dtype);
  if (run == nullptr) return {};
  const std::int64_t size = Bits(dtype) / 8;
  return WithState(RunSimpleMap, SimpleMap{run, size, to_bool ? 1 : size});
}

template <typename T, auto kF>
void Map(const void* px, void* py, std::int64_t begin, std::int64_t end, float a, float b) {
  const T* x = static_cast<const T*>(px);
  T* y = static_cast<T*>(py);
  for (std::int64_t i = begin; i < end; ++i) y[i] = kF(x[i], a, b);
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
  return kind == UnaryKind::kErf ? Map<T, Erf<T>> : Map<T, Shrink<T>>;
}

std::optional<SimpleKind> SimpleKindOf(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::kAbs:
      return SimpleKind::kAbs;
    case UnaryKind::kNeg:
      return SimpleKind::kNeg;
    case UnaryKind::kRelu:
      return SimpleKind::kRelu;
    case UnaryKind::kSign:
      return SimpleKind::kSign;
    default:
      return std::nullopt;
  }
}

void RunIntMap(KernelContext& c) {
  const auto& map = c.state<IntMap>();
  const TensorRef& x = c.Input(0);
  const OutputRef y = c.Output(0);
  c.parallel().For(x.count, kGrain,
                   [&](std::int64_t begin, std::int64_t end) { map.run(x.data, y.data, begin, end, map.a, map.b); });
}

// IsNaN and IsInf of 8-bit floats: a test of their values.
struct FloatTest {
  bool nan = false, positive = false, negative = false;
  kernels::ToFloatsFn* load = nullptr;

  bool Holds(float x) const {
    if (nan) return x != x;
    return std::isinf(x) && (x > 0 ? positive : negative);
  }
};

void RunFloatTest(KernelContext& c) {
  const auto& test = c.state<FloatTest>();
  const TensorRef& x = c.Input(0);
  const OutputRef y = c.Output(0);
  auto* to = y.As<std::uint8_t>();
  if (!test.nan && !test.positive && !test.negative) {
    std::fill_n(to, y.count, std::uint8_t{0});
    return;
  }
  c.parallel().For(x.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    float block[kFloatBlock];
    for (std::int64_t i = begin; i < end; i += kFloatBlock) {
      const std::size_t count = std::min(kFloatBlock, static_cast<std::size_t>(end - i));
      test.load(x.data, i, count, block);
      for (std::size_t k = 0; k < count; ++k) to[i + static_cast<std::int64_t>(k)] = test.Holds(block[k]);
    }
  });
}

Prepared PrepareTest(PrepareContext& c, std::optional<SimpleKind> kind, FloatTest test) {
  const DType dtype = c.InputDType(0);
  if (!IsFloating(dtype)) c.Unsupported("input 'X'", dtype);
  if (kind)
    if (Prepared simple = PrepareSimple(*kind, dtype, true); simple.run != nullptr) return simple;
  test.load = kernels::ToFloats(dtype);
  return WithState(RunFloatTest, test);
}
Prepared PrepareIsNaN(PrepareContext& c) { return PrepareTest(c, SimpleKind::kIsNaN, {.nan = true}); }
Prepared PrepareIsInf(PrepareContext& c) {
  const bool positive = c.Flag("detect_positive", true), negative = c.Flag("detect_negative", true);
  std::optional<SimpleKind> kind;  // none: nothing is found
  if (positive && negative) {
    kind = SimpleKind::kIsInf;
  } else if (positive) {
    kind = SimpleKind::kIsPositiveInf;
  } else if (negative) {
    kind = SimpleKind::kIsNegativeInf;
  }
  return PrepareTest(c, kind, {.positive = positive, .negative = negative});
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
  if (const auto simple = SimpleKindOf(kind))
    if (Prepared prepared = PrepareSimple(*simple, c.InputDType(0)); prepared.run != nullptr) return prepared;
  IntFn* run = nullptr;
  VisitDType<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
             std::uint64_t>(c.InputDType(0), [&]<typename T>() { run = IntFnOf<T>(kind); });
  if (run == nullptr) c.Unsupported(c.InputText(0), c.InputDType(0));
  return WithState(RunIntMap, IntMap{run, a, b});
}

Prepared PrepareBitwiseNot(PrepareContext& c) {
  Prepared prepared = PrepareSimple(SimpleKind::kBitwiseNot, c.InputDType(0));
  if (prepared.run == nullptr) c.Unsupported(c.InputText(0), c.InputDType(0));
  return prepared;
}
Prepared PrepareNot(PrepareContext& c) {
  Prepared prepared = PrepareSimple(SimpleKind::kNot, c.InputDType(0));
  if (prepared.run == nullptr) c.Unsupported(c.InputText(0), c.InputDType(0));
  return prepared;
}

std::span<const OpDef> UnaryTestOps() { return kUnaryTestOps; }

}  // namespace sardonyx::ops
