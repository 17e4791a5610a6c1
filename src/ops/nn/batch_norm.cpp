// ops/nn/batch_norm.cpp - BatchNormalization of every version, with the running statistics of training mode.
#include <algorithm>
#include <cmath>

#include "kernels/copy/stream.h"
#include "kernels/norm/affine_f32.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/nn/row_statistics.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kX = 0, kScale = 1, kBias = 2, kMean = 3, kVar = 4;

struct BatchNormState {
  double epsilon = 1e-5, momentum = 0.9;
  bool training = false;
  bool per_element = false;  // below version 9: statistics for every element of [C, ...]
};

void InferBatchNorm(InferContext& c) {
  if (c.HasRank(kX) && c.HasRank(kScale) && c.Rank(kX) > 1 && c.Rank(kScale) == 1) {
    const Dim &channels = c.InputDims(kX)[1], &scale = c.InputDims(kScale)[0];
    if (channels.known() && scale.known() && channels.number() != scale.number()) {
      c.Fail(Code::kInvalidArgument, "expected a scale of ", channels.number(), " values, found ", scale.number());
    }
  }
  InferSameAsInput(c);
  for (std::size_t i = 1; i < 5; ++i) {
    if (c.HasOutput(i)) c.SetOutputType(i, c.InputType(i % 2 == 1 ? kMean : kVar));
  }
}

struct Sizes {
  std::int64_t batch = 1, channels = 1, pixels = 1;
};

Sizes MakeSizes(KernelContext& c, const BatchNormState& state) {
  const Dims x = c.Input(kX).shape;
  Sizes s;
  s.batch = x.empty() ? 1 : x[0];
  if (state.per_element) {
    s.channels = ElementCount(x, 1, x.size());
  } else if (x.size() > 1) {
    s.channels = x[1];
    s.pixels = ElementCount(x, 2, x.size());
  }
  constexpr const char* kNames[] = {"X", "scale", "B", "input_mean", "input_var"};
  for (const std::size_t i : {kScale, kBias, kMean, kVar}) {
    if (c.Input(i).count != s.channels) {
      Fail(Code::kInvalidArgument, "input '", kNames[i], "': expected ", s.channels, " values for an input ", ToText(x),
           ", found ", ToText(c.Input(i).shape));
    }
  }
  return s;
}

void Affine(const float* x, std::int64_t n, float mean, float scale, float bias, float* y) {
  kernels::AffineF32().scalar(x, n, mean, scale, bias, y);
}
void Affine(const double* x, std::int64_t n, double mean, double scale, double bias, double* y) {
  kernels::AffineF32().scalar_f64(x, n, mean, scale, bias, y);
}
void AffineColumns(const float* x, std::int64_t n, const float* mean, const float* scale, const float* bias, float* y) {
  kernels::AffineF32().columns(x, n, mean, scale, bias, y);
}
void AffineColumns(const double* x, std::int64_t n, const double* mean, const double* scale, const double* bias,
                   double* y) {
  kernels::AffineF32().columns_f64(x, n, mean, scale, bias, y);
}

constexpr std::int64_t kLeastStreamed = 2048;  // pixels: streaming waits for memory once per plane

template <typename T>
void Normalize(Parallel& parallel, const Sizes& s, const T* x, const T* mean, const T* factor, const T* bias, T* y) {
  if (s.pixels == 1) {
    parallel.For(s.batch, std::max<std::int64_t>(1, 8192 / s.channels), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        AffineColumns(x + i * s.channels, s.channels, mean, factor, bias, y + i * s.channels);
      }
    });
    return;
  }
  const std::int64_t grain = std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, s.pixels));
  const bool streamed =
      x != y && static_cast<std::size_t>(s.batch * s.channels * s.pixels) * sizeof(T) >= kernels::kStreamedBytes &&
      s.pixels >= kLeastStreamed;
  parallel.For(s.batch * s.channels, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t channel = i % s.channels;
      const T* from = x + i * s.pixels;
      T* to = y + i * s.pixels;
      if (!streamed) {
        Affine(from, s.pixels, mean[channel], factor[channel], bias[channel], to);
        continue;
      }
      kernels::StreamBlocks(static_cast<std::size_t>(s.pixels), sizeof(T), reinterpret_cast<std::byte*>(to),
                            [&](std::size_t at, std::size_t n, std::byte* block) {
                              Affine(from + at, static_cast<std::int64_t>(n), mean[channel], factor[channel],
                                     bias[channel], reinterpret_cast<T*>(block));
                              return n;
                            });
    }
  });
}

// Mean and (biased) variance of every channel over batch and pixels.
template <typename T>
void Statistics(Parallel& parallel, const Sizes& s, const T* x, T* mean, T* var) {
  const double count = static_cast<double>(s.batch * s.pixels);
  parallel.For(s.channels, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t channel = begin; channel < end; ++channel) {
      double sum = 0, deviations = 0;
      const auto plane = [&](std::int64_t i) { return x + (i * s.channels + channel) * s.pixels; };
      for (std::int64_t i = 0; i < s.batch; ++i) sum += Sum(plane(i), s.pixels);
      mean[channel] = static_cast<T>(sum / count);
      for (std::int64_t i = 0; i < s.batch; ++i) deviations += Deviations(plane(i), s.pixels, mean[channel]);
      var[channel] = static_cast<T>(deviations / count);
    }
  });
}

template <typename T>
void RunBatchNorm(KernelContext& c) {
  const auto& state = c.state<BatchNormState>();
  const Sizes s = MakeSizes(c, state);
  Operands io(c, kDTypeOf<T>);
  const std::size_t channels = static_cast<std::size_t>(s.channels);
  const std::size_t factor_at = io.Add<T>(channels), mean_at = io.Add<T>(state.training ? channels : 0),
                    var_at = io.Add<T>(state.training ? channels : 0);
  const Operands::Computing computing(io);
  const T *x = io.In<T>(kX), *scale = io.In<T>(kScale), *mean = io.In<T>(kMean), *var = io.In<T>(kVar);
  T* factor = io.At<T>(factor_at);
  if (state.training) {
    Statistics(c.parallel(), s, x, io.At<T>(mean_at), io.At<T>(var_at));
    const T momentum = static_cast<T>(state.momentum);
    for (std::int64_t i = 0; i < s.channels; ++i) {
      const T new_mean = io.At<T>(mean_at)[i], new_var = io.At<T>(var_at)[i];
      if (io.Out<T>(1) != nullptr) io.Out<T>(1)[i] = mean[i] * momentum + new_mean * (1 - momentum);
      if (io.Out<T>(2) != nullptr) io.Out<T>(2)[i] = var[i] * momentum + new_var * (1 - momentum);
      if (io.Out<T>(3) != nullptr) io.Out<T>(3)[i] = new_mean;
      // As in ONNX Runtime: what the deviations are multiplied by. The text does not say in which form they are saved.
      if (io.Out<T>(4) != nullptr) io.Out<T>(4)[i] = 1 / std::sqrt(new_var + static_cast<T>(state.epsilon));
    }
    mean = io.At<T>(mean_at);
    var = io.At<T>(var_at);
  } else {  // the running statistics stay as they are
    if (io.Out<T>(1) != nullptr) std::copy_n(mean, s.channels, io.Out<T>(1));
    if (io.Out<T>(2) != nullptr) std::copy_n(var, s.channels, io.Out<T>(2));
  }
  for (std::int64_t i = 0; i < s.channels; ++i)
    factor[i] = scale[i] / std::sqrt(var[i] + static_cast<T>(state.epsilon));
  if (c.Output(0).count != 0) Normalize(c.parallel(), s, x, mean, factor, io.In<T>(kBias), io.Out<T>(0));
}

bool AsksForStatistics(const AttributeReader& c) {
  for (std::size_t i = 1; i < c.OutputCount(); ++i)
    if (c.HasOutput(i)) return true;
  return false;
}

Prepared PrepareBatchNorm(PrepareContext& c) {
  BatchNormState state;
  state.epsilon = static_cast<double>(c.Float("epsilon", 1e-5f));
  state.momentum = static_cast<double>(c.Float("momentum", 0.9f));
  state.per_element = c.node().since_version < 9;
  state.training = c.node().since_version < 14 ? AsksForStatistics(c) : c.Flag("training_mode");
  return WithState(c.InputDType(kX) == DType::kDouble ? RunBatchNorm<double> : RunBatchNorm<float>, state);
}

bool SavesStatistics(const AttributeReader& c) { return c.HasOutput(3) || c.HasOutput(4); }

// Versions below 14 train if they are asked for the statistics (is_test = 0). One that saves those of the batch, which
// version 14 does not, stays as version 9 says it.
void UpgradeBatchNorm(UpgradeContext& c) {
  c.Take("consumed_inputs");
  const auto is_test = c.Take("is_test");
  const bool test = is_test && std::get<std::int64_t>(*is_test) != 0;
  const bool trains = !test && AsksForStatistics(c.attributes());
  if (trains && SavesStatistics(c.attributes())) {
    c.node.since_version = 9;
    return;
  }
  if (trains) c.SetAttribute("training_mode", std::int64_t{1});
  c.node.since_version = 14;
}

// What asks for one statistic an element (spatial = 0) stays, as version 7 says it.
void UpgradeSpatial(UpgradeContext& c) {
  const bool per_element = c.attributes().Int("spatial", 1) == 0;
  if (!per_element) {
    c.Take("spatial");
    return UpgradeBatchNorm(c);
  }
  if (c.attributes().Flag("is_test") && AsksForStatistics(c.attributes()))
    c.attributes().Fail(Code::kNotImplemented,
                        "statistics in test mode (is_test = 1) for each element (spatial = 0) are not implemented");
  c.Take("consumed_inputs");
  c.Take("is_test");
}

constexpr OpDef kBatchNormOps[] = {
    {.name = "BatchNormalization",
     .since = {1, 6, 7},
     .types = kIeeeFloats,
     .infer = InferBatchNorm,
     .prepare = PrepareBatchNorm,
     .upgrade = UpgradeSpatial,
     .cost = CountTwicePerOutput},
    {.name = "BatchNormalization",
     .since = {9},
     .types = kIeeeFloats,
     .infer = InferBatchNorm,
     .prepare = PrepareBatchNorm,
     .upgrade = UpgradeBatchNorm,
     .cost = CountTwicePerOutput},
    {.name = "BatchNormalization",
     .since = {14, 15},
     .types = kIeeeFloats,
     .infer = InferBatchNorm,
     .prepare = PrepareBatchNorm,
     .cost = CountTwicePerOutput},
};

}  // namespace

std::span<const OpDef> BatchNormOps() { return kBatchNormOps; }

}  // namespace sardonyx::ops
