// ops/math/clip.cpp - Clip: limits values to [min, max]; where min is above max, everything becomes max. A bound that
// is missing is the smallest or largest finite number of the type, so that infinities become finite.
#include <limits>

#include "kernels/elementwise/simple.h"
#include "ops/activation.h"
#include "ops/elementwise.h"
#include "ops/registry.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

// The scalar of input i, or `otherwise` if it is missing.
template <typename T>
T BoundOf(KernelContext& c, std::size_t i, T otherwise) {
  if (!c.HasInput(i)) return otherwise;
  const TensorRef& bound = c.Input(i);
  if (bound.count != 1)
    Fail(Code::kInvalidArgument, "input '", i == 1 ? "min" : "max", "': expected one element, found shape ",
         ToText(bound.shape));
  return *bound.As<const T>();
}

template <typename T>
void RunClipInts(KernelContext& c) {
  const T low = BoundOf<T>(c, 1, std::numeric_limits<T>::min());
  const T high = BoundOf<T>(c, 2, std::numeric_limits<T>::max());
  const T* x = c.Input(0).As<const T>();
  T* y = c.Output(0).As<T>();
  kernels::SimpleFn* clip = c.state<kernels::SimpleFn*>();
  c.parallel().For(c.Input(0).count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    clip(x + begin, y + begin, static_cast<std::size_t>(end - begin), &low, &high);
  });
}

float FloatBound(KernelContext& c, const FloatMap& map, std::size_t i, float otherwise) {
  if (map.load == nullptr || !c.HasInput(i)) return BoundOf<float>(c, i, otherwise);
  BoundOf<std::uint8_t>(c, i, 0);  // checks the shape
  float bound = 0;
  map.load(c.Input(i).data, 0, 1, &bound);
  return bound;
}

void RunClipFloats(KernelContext& c) {
  FloatMap map = c.state<FloatMap>();
  if (map.f64 != nullptr) {
    map.a = BoundOf<double>(c, 1, std::numeric_limits<double>::lowest());
    map.b = BoundOf<double>(c, 2, std::numeric_limits<double>::max());
  } else {
    const float largest = LargestFinite(map.dtype);
    map.a = FloatBound(c, map, 1, -largest);
    map.b = FloatBound(c, map, 2, largest);
  }
  const TensorRef& x = c.Input(0);
  const OutputRef y = c.Output(0);
  c.parallel().For(x.count, map.grain,
                   [&](std::int64_t begin, std::int64_t end) { map.Run(x.data, y.data, begin, end); });
}

Prepared PrepareClip(PrepareContext& c) {
  const DType dtype = c.InputDType(0);
  for (const std::size_t i : {1, 2})
    if (c.HasInput(i) && c.InputDType(i) != DType::kUndefined && c.InputDType(i) != dtype)
      c.Fail(Code::kInvalidGraph, "input '", i == 1 ? "min" : "max", "': expected type ", Name(dtype), ", found ",
             Name(c.InputDType(i)));
  if (IsFloating(dtype)) return WithState(RunClipFloats, FloatMap::Of(kernels::UnaryKind::kClip, dtype));
  Prepared prepared;
  VisitDType<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
             std::uint64_t>(dtype, [&]<typename T>() {
    prepared = WithState(RunClipInts<T>, kernels::Simple(kernels::SimpleKind::kClip, dtype));
  });
  if (prepared.run == nullptr) c.Unsupported(c.InputText(0), dtype);
  return prepared;
}

void InferClip(InferContext& c) {
  for (const std::size_t i : {1, 2}) {
    if (!c.HasInput(i) || !c.InputType(i).HasStaticShape() || ElementCount(c.InputType(i).StaticShape()) == 1) continue;
    c.Fail(Code::kInvalidArgument, "input '", i == 1 ? "min" : "max", "': expected one element, found shape ",
           ToText(c.InputType(i).StaticShape()));
  }
  InferSameType(c);
}

void UpgradeClip(UpgradeContext& c) {
  c.Take("consumed_inputs");
  if (c.version() >= 11) return;
  c.AttributeToInput("min", 1, true);
  c.AttributeToInput("max", 2, true);
}

constexpr OpDef kClipOps[] = {
    {.name = "Clip",
     .since = {1, 6, 11, 12, 13},
     .types = kNumbers,
     .infer = InferClip,
     .prepare = PrepareClip,
     .upgrade = UpgradeClip,
     .traits = kMayAlias | kElementwise},
};

}  // namespace

std::span<const OpDef> ClipOps() { return kClipOps; }

}  // namespace sardonyx::ops
