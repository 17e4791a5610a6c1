// ops/nn/dropout.cpp - Dropout: the identity in inference; in training, elements become 0 with probability `ratio` and
// the others are scaled up.
#include <algorithm>

#include "ops/copy_elements.h"
#include "ops/cost_context.h"
#include "ops/elementwise.h"
#include "ops/random_stream.h"
#include "ops/registry.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

bool HasMaskLikeData(const AttributeReader& c) { return c.node().since_version < 10; }

struct Dropping {
  std::shared_ptr<const RandomSeed> seed;
  kernels::ToFloatsFn *load, *load_ratio;
  kernels::FromFloatsFn* store;
  bool mask_like_data;  // as before opset 10; all ones then, because those versions are upgraded for inference only
};

// In double for double data, else in float.
template <typename T, typename Load, typename Store>
void Drop(KernelContext& c, RandomStream& stream, double ratio, Load&& load, Store&& store) {
  const TensorRef& x = c.Input(0);
  const OutputRef y = c.Output(0);
  bool* const mask = c.HasOutput(1) ? c.Output(1).As<bool>() : nullptr;
  const double scale = 1 / (1 - ratio);
  T block[kFloatBlock];
  for (std::int64_t i = 0; i < x.count; i += kFloatBlock) {
    const std::size_t n = std::min(kFloatBlock, static_cast<std::size_t>(x.count - i));
    load(x.data, i, n, block);
    for (std::size_t k = 0; k < n; ++k) {
      const bool kept = stream.Uniform() >= ratio;
      block[k] = kept ? static_cast<T>(block[k] * scale) : T(0);
      if (mask != nullptr) mask[i + static_cast<std::int64_t>(k)] = kept;
    }
    store(block, n, y.data, i);
  }
}

double RatioOf(KernelContext& c, const Dropping& d) {
  if (!c.HasInput(1)) return 0.5;
  float ratio = 0;
  if (c.Input(1).count != 1)
    Fail(Code::kInvalidArgument, "input 'ratio': expected one element, found shape ", ToText(c.Input(1).shape));
  d.load_ratio(c.Input(1).data, 0, 1, &ratio);
  if (!(ratio >= 0 && ratio < 1))
    Fail(Code::kInvalidArgument, "input 'ratio': expected a value in [0, 1), found ", ratio);
  return ratio;
}

void FillMask(KernelContext& c, const Dropping& d) {
  const OutputRef mask = c.Output(1);
  if (!d.mask_like_data) {
    std::fill_n(mask.As<bool>(), mask.count, true);
    return;
  }
  float ones[kFloatBlock];
  std::fill_n(ones, kFloatBlock, 1.0f);
  for (std::int64_t i = 0; i < mask.count; i += kFloatBlock)
    d.store(ones, std::min(kFloatBlock, static_cast<std::size_t>(mask.count - i)), mask.data, i);
}

void RunDropout(KernelContext& c) {
  const auto& d = c.state<Dropping>();
  const TensorRef& x = c.Input(0);
  const OutputRef y = c.Output(0);
  const bool training = c.HasInput(2) && c.Input(2).count == 1 && *c.Input(2).As<const bool>();
  const double ratio = training ? RatioOf(c, d) : 0;
  if (ratio == 0) {
    if (c.HasOutput(1)) FillMask(c, d);
    return CopyElements(x.dtype, x.data, y.data, x.count, c.parallel());
  }
  RandomStream stream = d.seed->NextRun();
  if (x.dtype == DType::kDouble)
    return Drop<double>(c, stream, ratio, kernels::ToDoubles(x.dtype), kernels::FromDoubles(x.dtype));
  Drop<float>(c, stream, ratio, d.load, d.store);
}

Prepared PrepareDropout(PrepareContext& c) {
  const DType dtype = c.InputDType(0);
  const Dropping d = {RandomSeed::Of(c), kernels::ToFloats(dtype),
                      kernels::ToFloats(c.HasInput(1) ? c.InputDType(1) : DType::kFloat), kernels::FromFloats(dtype),
                      HasMaskLikeData(c)};
  return WithState(RunDropout, d);
}

void InferDropout(InferContext& c) {
  c.SetOutputType(0, c.InputType(0));
  const DType mask = HasMaskLikeData(c) ? c.InputDType(0) : DType::kBool;
  if (c.HasRank(0)) return c.SetOutput(1, mask, c.InputDims(0));
  c.SetOutput(1, mask);
}

// Before opset 12 the ratio was an attribute, and inference does not read it.
void UpgradeDropout(UpgradeContext& c) {
  if (c.version() < 12) c.Take("ratio");
}

// Versions 1 and 6 could train (is_test = 0, their default). Before 10 the mask had the type of the data: a node that
// makes it stays, as version 7 says it.
void UpgradeOldDropout(UpgradeContext& c) {
  c.Take("consumed_inputs");
  const bool training = c.version() < 7 && !c.attributes().Flag("is_test");
  c.Take("is_test");
  if (c.attributes().HasOutput(1)) {
    if (training)
      c.attributes().Fail(Code::kNotImplemented, "Dropout version ", c.version(),
                          " is not implemented for training with output 'mask'");
    return;
  }
  const float ratio = c.attributes().Float("ratio", 0.5f);
  c.Take("ratio");
  c.node.since_version = 12;
  if (!training) return;
  c.SetConstantInput(1, Tensor::Scalar(ratio));
  c.SetConstantInput(2, Tensor::Scalar(true));
}

constexpr DTypeSet kTypes =
    kIeeeFloats | DTypeSet{DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2, DType::kFloat8E5M2FNUZ};

// The optimizer removes the ones that do not train.
constexpr OpDef kDropoutOps[] = {
    {.name = "Dropout",
     .since = {1, 6, 7},
     .types = kTypes,
     .infer = InferDropout,
     .prepare = PrepareDropout,
     .upgrade = UpgradeOldDropout,
     .cost = CountNothing,
     .traits = kMayAlias | kRandom},
    {.name = "Dropout",
     .since = {10, 12, 13, 22},
     .types = kTypes,
     .infer = InferDropout,
     .prepare = PrepareDropout,
     .upgrade = UpgradeDropout,
     .cost = CountNothing,
     .traits = kMayAlias | kRandom},
};

}  // namespace

std::span<const OpDef> DropoutOps() { return kDropoutOps; }

}  // namespace sardonyx::ops
