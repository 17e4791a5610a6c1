// ops/tensor/cast.cpp - Cast and CastLike between all element types, through blocks of floats, doubles or int64.
//
// The intermediate type is chosen so that every result is rounded once: int64 between integers, double where one of the
// types is double, else float.
#include <algorithm>
#include <cstring>

#include "kernels/copy/stream.h"
#include "ops/copy_elements.h"
#include "ops/cost_context.h"
#include "ops/elementwise.h"
#include "ops/registry.h"
#include "ops/tensor/text_numbers.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

using namespace kernels;  // NOLINT(google-build-using-namespace): the conversions

struct Casting {
  DType from = DType::kUndefined, to = DType::kUndefined;
  ToFloatsFn* to_floats = nullptr;
  FromFloatsFn* from_floats = nullptr;
  ToDoublesFn* to_doubles = nullptr;
  FromDoublesFn* from_doubles = nullptr;
  ToIntsFn* to_ints = nullptr;
  FromIntsFn* from_ints = nullptr;
};

// Elements [begin, begin + n) of x to those of y from `at` on, through blocks of T.
template <typename T, typename Load, typename Store>
void Through(Load* load, Store* store, const void* x, std::int64_t begin, std::size_t n, void* y, std::int64_t at) {
  constexpr std::size_t kBlock = 4096 / sizeof(T);
  alignas(64) T block[kBlock];
  for (std::size_t i = 0; i < n; i += kBlock) {
    const std::size_t count = std::min(kBlock, n - i);
    load(x, begin + static_cast<std::int64_t>(i), count, block);
    store(block, count, y, at + static_cast<std::int64_t>(i));
  }
}

// Elements [begin, begin + n) of x to those of y from `at` on.
void CastSome(const Casting& cast, const void* x, std::int64_t begin, std::size_t n, void* y, std::int64_t at) {
  if (cast.to_ints != nullptr) {
    Through<std::int64_t>(cast.to_ints, cast.from_ints, x, begin, n, y, at);
  } else if (cast.to_doubles != nullptr) {
    Through<double>(cast.to_doubles, cast.from_doubles, x, begin, n, y, at);
  } else if (cast.from == DType::kFloat) {
    cast.from_floats(static_cast<const float*>(x) + begin, n, y, at);
  } else if (cast.to == DType::kFloat) {
    cast.to_floats(x, begin, n, static_cast<float*>(y) + at);
  } else {
    Through<float>(cast.to_floats, cast.from_floats, x, begin, n, y, at);
  }
}

void RunNumbers(KernelContext& c) {
  const auto& cast = c.state<Casting>();
  const TensorRef& x = c.Input(0);
  const OutputRef y = c.Output(0);
  const bool streamed = IsStreamed(y, x.data);
  c.parallel().For(x.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    const auto n = static_cast<std::size_t>(end - begin);
    if (!streamed) return CastSome(cast, x.data, begin, n, y.data, begin);
    const auto size = static_cast<std::size_t>(Bits(y.dtype) / 8);
    StreamBlocks(n, size, y.As<std::byte>() + begin * static_cast<std::int64_t>(size),
                 [&](std::size_t i, std::size_t count, std::byte* block) {
                   CastSome(cast, x.data, begin + static_cast<std::int64_t>(i), count, block, 0);
                   return count;
                 });
  });
}

void RunSameType(KernelContext& c) {
  CopyElements(c.Input(0).dtype, c.Input(0).data, c.Output(0).data, c.Input(0).count, c.parallel());
}

void RunToStrings(KernelContext& c) {
  const auto& cast = c.state<Casting>();
  const TensorRef& x = c.Input(0);
  const OutputRef y = c.Output(0);
  for (std::int64_t i = 0; i < x.count; ++i) {
    std::string& text = y.As<std::string>()[i];
    if (cast.to_ints != nullptr) {
      std::int64_t value = 0;
      cast.to_ints(x.data, i, 1, &value);
      text = cast.from == DType::kUInt64 ? std::to_string(static_cast<std::uint64_t>(value)) : std::to_string(value);
    } else if (cast.to_doubles != nullptr) {
      double value = 0;
      cast.to_doubles(x.data, i, 1, &value);
      text = TextOf(value);
    } else {
      float value = 0;
      cast.to_floats(x.data, i, 1, &value);
      text = TextOf(value);
    }
  }
}

void RunFromStrings(KernelContext& c) {
  const auto& cast = c.state<Casting>();
  const TensorRef& x = c.Input(0);
  const OutputRef y = c.Output(0);
  for (std::int64_t i = 0; i < x.count; ++i) {
    const std::string& text = x.As<const std::string>()[i];
    if (cast.from_ints != nullptr) {
      const std::int64_t value = cast.to == DType::kUInt64 ? static_cast<std::int64_t>(UIntOf(text)) : IntOf(text);
      cast.from_ints(&value, 1, y.data, i);
    } else if (cast.to == DType::kFloat) {
      y.As<float>()[i] = FloatOf(text);
    } else {
      const double value = DoubleOf(text);
      cast.from_doubles(&value, 1, y.data, i);
    }
  }
}

bool IsIntegral(DType dtype) { return IsInteger(dtype) || dtype == DType::kBool; }

Prepared PrepareStrings(PrepareContext& c, Casting cast, Float8Rules rules) {
  const DType other = cast.from == DType::kString ? cast.to : cast.from;
  if (cast.from == DType::kString) {
    if (IsIntegral(other)) cast.from_ints = FromInts(other);
    cast.from_doubles = FromDoubles(other, rules);
    if (cast.from_doubles == nullptr) c.Unsupported("an output", other);
    return WithState(RunFromStrings, cast);
  }
  if (IsIntegral(other)) cast.to_ints = ToInts(other);
  if (other == DType::kDouble) cast.to_doubles = ToDoubles(other);
  cast.to_floats = ToFloats(other);
  if (cast.to_floats == nullptr) c.Unsupported("an input", other);
  return WithState(RunToStrings, cast);
}

Prepared PrepareCastTo(PrepareContext& c, DType to) {
  Casting cast = {.from = c.InputDType(0), .to = to};
  const std::string round_mode = c.String("round_mode", "up");
  Float8Rules rules = {.saturate = c.Flag("saturate", true)};
  if (round_mode == "down") {
    rules.e8m0 = Rounding8::kDown;
  } else if (round_mode == "nearest") {
    rules.e8m0 = Rounding8::kNearest;
  } else if (round_mode != "up") {
    c.Fail(Code::kInvalidArgument, "attribute 'round_mode': expected 'up', 'down' or 'nearest', found '", round_mode,
           "'");
  }
  if (cast.from == to) return {.run = RunSameType, .state = nullptr};
  if (IsString(cast.from) || IsString(to)) return PrepareStrings(c, cast, rules);
  if (IsIntegral(cast.from) && IsIntegral(to)) {
    cast.to_ints = ToInts(cast.from);
    cast.from_ints = FromInts(to);
  } else if (cast.from == DType::kDouble || (to == DType::kDouble && IsIntegral(cast.from))) {
    cast.to_doubles = ToDoubles(cast.from);
    cast.from_doubles = FromDoubles(to, rules);
    if (cast.from_doubles == nullptr) c.Unsupported("an output", to);
  } else {
    cast.to_floats = ToFloats(cast.from);
    cast.from_floats = FromFloats(to, rules);
    if (cast.to_floats == nullptr) c.Unsupported("an input", cast.from);
    if (cast.from_floats == nullptr) c.Unsupported("an output", to);
  }
  return WithState(RunNumbers, cast);
}

Prepared PrepareCast(PrepareContext& c) { return PrepareCastTo(c, c.DTypeAttribute("to", DType::kUndefined)); }
Prepared PrepareCastLike(PrepareContext& c) { return PrepareCastTo(c, c.InputDType(1)); }

void InferCastTo(InferContext& c, DType to) {
  if (!c.HasRank(0)) return c.SetOutput(0, to);
  c.SetOutput(0, to, c.InputDims(0));
  const DType from = c.InputDType(0);
  const bool both = (from == DType::kInt64 || from == DType::kInt32) && (to == DType::kInt64 || to == DType::kInt32);
  if (auto data = c.ShapeData(0); both && data && c.Rank(0) <= 1) c.SetShapeData(0, std::move(*data));
}
void InferCast(InferContext& c) {
  const DType to = c.DTypeAttribute("to", DType::kUndefined);
  if (to == DType::kUndefined)
    c.Fail(Code::kInvalidGraph, "attribute 'to': expected an element type, found 0 (undefined)");
  InferCastTo(c, to);
}
void InferCastLike(InferContext& c) { InferCastTo(c, c.InputDType(1)); }

// Version 1 named the type: "FLOAT", "INT64", ...
void UpgradeCast(UpgradeContext& c) {
  if (c.version() != 1) return;
  std::string name = c.attributes().String("to");
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char ch) { return ch >= 'A' && ch <= 'Z' ? static_cast<char>(ch + 32) : ch; });
  const DType to = DTypeFromName(name);
  if (to == DType::kUndefined)
    c.attributes().Fail(Code::kInvalidGraph, "attribute 'to': expected the name of an element type, found '", name,
                        "'");
  c.SetAttribute("to", static_cast<std::int64_t>(to));
}

constexpr DTypeSet kCastable = kNumbers | kFloat8s | kSubBytes | DTypeSet{DType::kBool, DType::kString};

constexpr OpDef kCastOps[] = {
    {.name = "Cast",
     .since = {1, 6, 9, 13, 19, 21, 23, 24, 25, 28},
     .types = kCastable,
     .infer = InferCast,
     .prepare = PrepareCast,
     .upgrade = UpgradeCast,
     .cost = CountNothing,
     .traits = kElementwise},
    {.name = "CastLike",
     .since = {15, 19, 21, 23, 24, 25},
     .types = kCastable,
     .infer = InferCastLike,
     .prepare = PrepareCastLike,
     .cost = CountNothing,
     .traits = kElementwise},
};

}  // namespace

std::span<const OpDef> CastOps() { return kCastOps; }

}  // namespace sardonyx::ops
