// ops/generator/random.cpp - RandomNormal, RandomUniform (and Like), Bernoulli, Multinomial.
//
// One thread draws the numbers in the order of the elements, so they depend on the seed alone.
#include <algorithm>
#include <cmath>

#include "ops/elementwise.h"
#include "ops/random_stream.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kBlock = 512;

struct Distribution {
  std::shared_ptr<const RandomSeed> seed;
  bool normal = false;
  double offset = 0, scale = 1;  // of a number in [0, 1), or of a normal one
  kernels::FromDoublesFn* store = nullptr;
};

void RunDistribution(KernelContext& c) {
  const auto& d = c.state<Distribution>();
  const OutputRef y = c.Output(0);
  RandomStream stream = d.seed->NextRun();
  double block[kBlock];
  for (std::int64_t i = 0; i < y.count; i += kBlock) {
    const std::size_t n = std::min(kBlock, static_cast<std::size_t>(y.count - i));
    for (std::size_t k = 0; k < n; ++k) block[k] = d.offset + d.scale * (d.normal ? stream.Normal() : stream.Uniform());
    d.store(block, n, y.data, i);
  }
}

Prepared PrepareDistribution(PrepareContext& c, bool normal) {
  Distribution d = {.seed = RandomSeed::Of(c), .normal = normal};
  if (normal) {
    d.offset = c.Float("mean", 0.0f);
    d.scale = c.Float("scale", 1.0f);
  } else {
    d.offset = c.Float("low", 0.0f);
    d.scale = c.Float("high", 1.0f) - d.offset;
  }
  if (!kIeeeFloats.Has(c.OutputDType(0))) c.Unsupported("an output", c.OutputDType(0));
  d.store = kernels::FromDoubles(c.OutputDType(0));
  return WithState(RunDistribution, d);
}
Prepared PrepareNormal(PrepareContext& c) { return PrepareDistribution(c, true); }
Prepared PrepareUniform(PrepareContext& c) { return PrepareDistribution(c, false); }

void InferShaped(InferContext& c) {
  std::vector<Dim> dims;
  for (const std::int64_t d : c.Ints("shape")) {
    if (d < 0) c.Fail(Code::kInvalidArgument, "attribute 'shape': expected dimensions of at least 0, found ", d);
    dims.emplace_back(d);
  }
  c.SetOutput(0, c.DTypeAttribute("dtype", DType::kFloat), std::move(dims));
}
// Types other than floats fall back to float without an attribute.
void InferLike(InferContext& c) {
  const DType same = kIeeeFloats.Has(c.InputDType(0)) ? c.InputDType(0) : DType::kFloat;
  const DType dtype = c.DTypeAttribute("dtype", same);
  if (c.HasRank(0)) return c.SetOutput(0, dtype, c.InputDims(0));
  c.SetOutput(0, dtype);
}

// ---- Bernoulli

struct Coins {
  std::shared_ptr<const RandomSeed> seed;
  kernels::ToFloatsFn* load;
  kernels::FromFloatsFn* store;
};

void RunBernoulli(KernelContext& c) {
  const auto& coins = c.state<Coins>();
  const TensorRef& x = c.Input(0);
  const OutputRef y = c.Output(0);
  RandomStream stream = coins.seed->NextRun();
  float block[kBlock];
  for (std::int64_t i = 0; i < x.count; i += kBlock) {
    const std::size_t n = std::min(kBlock, static_cast<std::size_t>(x.count - i));
    coins.load(x.data, i, n, block);
    for (std::size_t k = 0; k < n; ++k) block[k] = stream.Uniform() < block[k] ? 1.0f : 0.0f;
    coins.store(block, n, y.data, i);
  }
}
Prepared PrepareBernoulli(PrepareContext& c) {
  const Coins coins = {RandomSeed::Of(c), kernels::ToFloats(c.InputDType(0)), kernels::FromFloats(c.OutputDType(0))};
  if (coins.store == nullptr) c.Unsupported("an output", c.OutputDType(0));
  return WithState(RunBernoulli, coins);
}
void InferBernoulli(InferContext& c) {
  const DType dtype = c.DTypeAttribute("dtype", c.InputDType(0));
  if (c.HasRank(0)) return c.SetOutput(0, dtype, c.InputDims(0));
  c.SetOutput(0, dtype);
}

// ---- Multinomial

struct Draws {
  std::shared_ptr<const RandomSeed> seed;
  kernels::ToFloatsFn* load;
  std::int64_t count;
};

// Unnormalised log-probabilities of one row as running sums of probabilities.
void CumulativeWeights(const float* logits, std::int64_t classes, double* sums) {
  const float largest = *std::max_element(logits, logits + classes);
  double sum = 0;
  for (std::int64_t k = 0; k < classes; ++k) {
    sum += std::exp(static_cast<double>(logits[k]) - largest);
    sums[k] = sum;
  }
  if (!(sum > 0) || std::isinf(sum))
    Fail(Code::kInvalidArgument, "expected log-probabilities with a finite, positive sum in every row, found a sum of ",
         sum);
}

void RunMultinomial(KernelContext& c) {
  const auto& draws = c.state<Draws>();
  const TensorRef& x = c.Input(0);
  const OutputRef y = c.Output(0);
  if (y.count == 0) return;
  const std::int64_t classes = x.dim(1);
  if (classes == 0)
    Fail(Code::kInvalidArgument, "input 'input': expected at least one class, found shape ", ToText(x.shape));
  double* const sums = c.Scratch<double>(2 * static_cast<std::size_t>(classes));
  float* const logits = reinterpret_cast<float*>(sums + classes);
  RandomStream stream = draws.seed->NextRun();
  for (std::int64_t row = 0; row < x.dim(0); ++row) {
    draws.load(x.data, row * classes, static_cast<std::size_t>(classes), logits);
    CumulativeWeights(logits, classes, sums);
    for (std::int64_t i = 0; i < draws.count; ++i) {
      const double at = stream.Uniform() * sums[classes - 1];
      const std::int64_t drawn = std::min<std::int64_t>(std::upper_bound(sums, sums + classes, at) - sums, classes - 1);
      const std::int64_t place = row * draws.count + i;
      if (y.dtype == DType::kInt64) {
        y.As<std::int64_t>()[place] = drawn;
      } else {
        y.As<std::int32_t>()[place] = static_cast<std::int32_t>(drawn);
      }
    }
  }
}
Prepared PrepareMultinomial(PrepareContext& c) {
  const DType to = c.OutputDType(0);
  if (to != DType::kInt32 && to != DType::kInt64) c.Unsupported("an output", to);
  return WithState(RunMultinomial,
                   Draws{RandomSeed::Of(c), kernels::ToFloats(c.InputDType(0)), c.Int("sample_size", 1)});
}
void InferMultinomial(InferContext& c) {
  const std::int64_t count = c.Int("sample_size", 1);
  if (count < 0) c.Fail(Code::kInvalidArgument, "attribute 'sample_size': expected at least 0, found ", count);
  if (c.HasRank(0) && c.Rank(0) != 2)
    c.Fail(Code::kInvalidArgument, "input 'input': expected shape [batch, classes], found ", c.InputType(0).ToText());
  c.SetOutput(0, c.DTypeAttribute("dtype", DType::kInt32), {c.HasRank(0) ? c.InputDims(0)[0] : Dim(), Dim(count)});
}

constexpr OpDef kRandomOps[] = {
    {.name = "Bernoulli",
     .since = {15, 22},
     .types = kIeeeFloats,
     .infer = InferBernoulli,
     .prepare = PrepareBernoulli,
     .traits = kRandom},
    {.name = "Multinomial",
     .since = {7, 22},
     .types = kIeeeFloats,
     .infer = InferMultinomial,
     .prepare = PrepareMultinomial,
     .traits = kRandom},
    {.name = "RandomNormal", .since = {1, 22}, .infer = InferShaped, .prepare = PrepareNormal, .traits = kRandom},
    {.name = "RandomNormalLike",
     .since = {1, 22},
     .infer = InferLike,
     .prepare = PrepareNormal,
     .traits = kRandom | kShapeOnly},
    {.name = "RandomUniform", .since = {1, 22}, .infer = InferShaped, .prepare = PrepareUniform, .traits = kRandom},
    {.name = "RandomUniformLike",
     .since = {1, 22},
     .infer = InferLike,
     .prepare = PrepareUniform,
     .traits = kRandom | kShapeOnly},
};

}  // namespace

std::span<const OpDef> RandomOps() { return kRandomOps; }

}  // namespace sardonyx::ops
