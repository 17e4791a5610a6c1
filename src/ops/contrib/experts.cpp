// ops/contrib/experts.cpp - com.microsoft MoE and QMoE: each token goes through the few experts that its router
// chooses, layers of two matrices with a function between them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "ops/contrib/expert_layer.h"
#include "ops/elementwise.h"
#include "ops/operands.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

using kernels::UnaryKind;

constexpr std::size_t kX = 0, kRouter = 1, kRouterWeights = 14;

struct ExpertsState {
  std::int64_t chosen = 1;  // experts of a token
  bool normalize = false;
  bool quantized = false;
  UnaryKind activation = UnaryKind::kNone;  // kNone: the identity
  bool gated = false;                       // swiglu: the first matrix gives a gate and a factor
  bool interleaved = false;                 // gate, factor, gate, factor ..., not all gates first
  float alpha = 1, beta = 0, limit = std::numeric_limits<float>::infinity();
  ExpertLayer first, second;
};

void ReadActivation(const AttributeReader& c, ExpertsState& s) {
  const std::string name = c.String("activation_type", "relu");
  s.alpha = c.Float("activation_alpha", 1);
  s.beta = c.Float("activation_beta", 0);
  s.limit = c.Float("swiglu_limit", s.limit);
  if (name == "relu") {
    s.activation = UnaryKind::kRelu;
  } else if (name == "gelu") {
    s.activation = UnaryKind::kGeluTanh;
  } else if (name == "silu") {
    s.activation = UnaryKind::kSwish, s.alpha = 1;
  } else if (name == "swiglu") {
    const std::int64_t fusion = c.Int("swiglu_fusion", 0);
    if (fusion != 1 && fusion != 2) {
      c.Fail(Code::kNotImplemented, "attribute 'swiglu_fusion': 1 and 2, gates and factors in one matrix, are ",
             "implemented, found ", fusion);
    }
    s.activation = UnaryKind::kSwish, s.gated = true, s.interleaved = fusion == 1;
  } else if (name != "identity") {
    c.Fail(Code::kInvalidArgument,
           "attribute 'activation_type': expected relu, gelu, silu, swiglu or identity, found '", name, "'");
  }
}

int ReadBits(const AttributeReader& c, const char* layer) {
  const std::int64_t bits = c.Int(layer, c.Int("expert_weight_bits", 4));
  if (bits != 2 && bits != 4 && bits != 8)
    c.Fail(Code::kInvalidArgument, "attribute '", layer, "': expected 2, 4 or 8 bits, found ", bits);
  return static_cast<int>(bits);
}

std::int64_t ReadBlock(const AttributeReader& c) {
  const std::int64_t block = c.Int("block_size", 0);
  constexpr std::int64_t kMost = std::int64_t{1} << 28;
  if (block != 0 && (block < 16 || block > kMost || (block & (block - 1)) != 0)) {
    c.Fail(Code::kInvalidArgument, "attribute 'block_size': expected a power of two of at least 16, found ", block);
  }
  return block;
}

void InferExperts(InferContext& c) {
  if (c.HasRank(kX) && c.Rank(kX) != 2 && c.Rank(kX) != 3)
    c.Fail(Code::kInvalidArgument, c.InputText(kX), ": expected rank 2 or 3, found ", c.InputType(kX).ToText());
  if (c.HasRank(kRouter) && c.Rank(kRouter) != 2) {
    c.Fail(Code::kInvalidArgument, c.InputText(kRouter), ": expected [tokens, experts], found ",
           c.InputType(kRouter).ToText());
  }
  c.SetOutputType(0, c.InputType(kX));
}

// The experts of a token in falling order of their scores; of equal scores the later expert comes first, as in ONNX
// Runtime. `taken` has a place for each expert.
void Choose(const float* scores, std::int64_t experts, std::int64_t chosen, bool* taken, std::int32_t* to) {
  std::fill_n(taken, experts, false);
  for (std::int64_t i = 0; i < chosen; ++i) {
    std::int64_t best = -1;
    for (std::int64_t e = 0; e < experts; ++e)
      if (!taken[e] && (best < 0 || scores[e] >= scores[best])) best = e;
    taken[best] = true;
    to[i] = static_cast<std::int32_t>(best);
  }
}

// How much each chosen expert counts: its share of e^score, among all experts or (`among_chosen`) the chosen ones.
void Weigh(const float* scores, std::int64_t experts, const std::int32_t* chosen, std::int64_t count, bool among_chosen,
           float* weights) {
  const float most = scores[chosen[0]];
  float sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    weights[i] = std::exp(scores[chosen[i]] - most);
    sum += weights[i];
  }
  if (!among_chosen) {
    sum = 0;
    for (std::int64_t e = 0; e < experts; ++e) sum += std::exp(scores[e] - most);
  }
  for (std::int64_t i = 0; i < count; ++i) weights[i] /= sum;
}

class Experts {
 public:
  explicit Experts(KernelContext& c)
      : c_(c),
        s_(c.state<ExpertsState>()),
        first_(c, s_.first),
        second_(c, s_.second),
        io_(c, DType::kFloat, SkippedInputs()) {
    const Dims x = c.Input(kX).shape;
    hidden_ = x.back();
    tokens_ = ElementCount(x, 0, x.size() - 1);
    experts_ = first_.experts();
    inner_ = second_.k();
    Check();
  }

  void Run() {
    if (c_.Output(0).count == 0) return;
    const std::int64_t routes = tokens_ * s_.chosen;
    const std::size_t chosen_at = io_.Add<std::int32_t>(Count(routes, 1)),
                      weights_at = io_.Add<float>(Count(routes, 1));
    const std::size_t taken_at = io_.Add<bool>(Count(experts_, 1));
    const std::size_t rows_at = io_.Add<std::int64_t>(Count(tokens_, 1));
    const std::size_t in_at = io_.Add<float>(Count(tokens_, hidden_)), out_at = io_.Add<float>(Count(tokens_, hidden_));
    const std::size_t inner_at = io_.Add<float>(Count(tokens_, first_.n()));
    const std::size_t gated_at = io_.Add<float>(Count(tokens_, s_.gated ? inner_ : 0));
    const int threads = c_.parallel().ThreadCount();
    const std::size_t product_at =
        io_.Add(std::max(first_.ScratchBytes(tokens_, threads), second_.ScratchBytes(tokens_, threads)));
    const Operands::Computing computing(io_);
    auto* chosen = io_.At<std::int32_t>(chosen_at);
    float *weights = io_.At<float>(weights_at), *in = io_.At<float>(in_at), *out = io_.At<float>(out_at);
    float *inner = io_.At<float>(inner_at), *gated = s_.gated ? io_.At<float>(gated_at) : inner;
    Route(io_.At<bool>(taken_at), chosen, weights);
    float* y = io_.Out<float>(0);
    std::fill_n(y, tokens_ * hidden_, 0.0f);
    std::int64_t* rows = io_.At<std::int64_t>(rows_at);
    for (std::int64_t e = 0; e < experts_; ++e) {
      std::int64_t m = 0;
      for (std::int64_t i = 0; i < routes; ++i)
        if (chosen[i] == e) rows[m++] = i;
      if (m == 0) continue;
      for (std::int64_t r = 0; r < m; ++r)
        std::copy_n(io_.In<float>(kX) + rows[r] / s_.chosen * hidden_, hidden_, in + r * hidden_);
      first_.Multiply(e, m, in, BiasOf(first_, s_.first, e), inner, c_.parallel(), io_.At(product_at));
      Activate(m, inner, gated);
      second_.Multiply(e, m, gated, BiasOf(second_, s_.second, e), out, c_.parallel(), io_.At(product_at));
      for (std::int64_t r = 0; r < m; ++r) {
        const float weight = weights[rows[r]];
        float* to = y + rows[r] / s_.chosen * hidden_;
        for (std::int64_t i = 0; i < hidden_; ++i) to[i] += weight * out[r * hidden_ + i];
      }
    }
  }

 private:
  static std::size_t Count(std::int64_t rows, std::int64_t columns) {
    return CheckedMul(static_cast<std::size_t>(rows), static_cast<std::size_t>(columns), "the size of expert layers");
  }
  // Weights, scales and zero points, which the layers read themselves.
  std::uint32_t SkippedInputs() const {
    std::uint32_t skipped = 0;
    for (const ExpertLayer* layer : {&s_.first, &s_.second})
      for (const std::size_t i : {layer->def.weights, layer->def.scales, layer->def.zeros})
        if (i != kNoExpertInput) skipped |= 1u << i;
    return skipped;
  }

  void Check() const {
    const std::int64_t rows = s_.gated ? 2 * inner_ : inner_;
    if (first_.k() != hidden_ || second_.n() != hidden_ || first_.n() != rows || second_.experts() != experts_) {
      Fail(Code::kInvalidArgument, "expected fc1 weights [experts, ", rows, ", ", hidden_,
           "] and fc2 weights [experts, ", hidden_, ", ", inner_, "] for an input of ", hidden_, " columns, found [",
           experts_, ", ", first_.n(), ", ", first_.k(), "] and [", second_.experts(), ", ", second_.n(), ", ",
           second_.k(), "]");
    }
    for (const std::size_t i : {kRouter, kRouterWeights}) {
      if (!c_.HasInput(i)) continue;
      const Dims found = c_.Input(i).shape;
      if (found.size() != 2 || found[0] != tokens_ || found[1] != experts_) {
        Fail(Code::kInvalidArgument, "input ", i, ": expected shape [", tokens_, ", ", experts_, "], found ",
             ToText(found));
      }
    }
    if (s_.chosen > experts_)
      Fail(Code::kInvalidArgument, "attribute 'k': expected at most ", experts_, ", the experts, found ", s_.chosen);
  }

  // QMoE weighs among the chosen experts, whatever 'normalize_routing_weights' says, unless it gets weights of its own.
  void Route(bool* taken, std::int32_t* chosen, float* weights) {
    for (std::int64_t t = 0; t < tokens_; ++t) {
      const float* scores = io_.In<float>(kRouter) + t * experts_;
      std::int32_t* own = chosen + t * s_.chosen;
      float* weight = weights + t * s_.chosen;
      Choose(scores, experts_, s_.chosen, taken, own);
      if (!c_.HasInput(kRouterWeights)) {
        Weigh(scores, experts_, own, s_.chosen, s_.normalize || s_.quantized, weight);
        continue;
      }
      float sum = 0;
      for (std::int64_t i = 0; i < s_.chosen; ++i) {
        weight[i] = io_.In<float>(kRouterWeights)[t * experts_ + own[i]];
        sum += weight[i];
      }
      for (std::int64_t i = 0; i < s_.chosen && s_.normalize; ++i) weight[i] /= sum;
    }
  }

  const float* BiasOf(const ExpertMatrices& matrices, const ExpertLayer& layer, std::int64_t expert) const {
    const float* bias = io_.In<float>(layer.def.bias);
    return bias == nullptr ? nullptr : bias + expert * matrices.n();
  }

  void Activate(std::int64_t m, const float* x, float* y) {
    if (s_.activation == UnaryKind::kNone) return;
    kernels::UnaryF32Fn* const function = kernels::UnaryF32(s_.activation);
    c_.parallel().For(m, std::max<std::int64_t>(1, kHeavyGrain / std::max<std::int64_t>(1, inner_)),
                      [&](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t r = begin; r < end; ++r) {
                          float* to = y + r * inner_;
                          if (s_.gated)
                            ApplyGate(function, x + r * 2 * inner_, to);
                          else
                            function(to, to, static_cast<std::size_t>(inner_), s_.alpha, 0);
                        }
                      });
  }

  // gate * sigmoid(alpha * gate) * (factor + beta), both within the limit.
  void ApplyGate(kernels::UnaryF32Fn* swish, const float* x, float* y) const {
    const std::int64_t step = s_.interleaved ? 2 : 1;
    const float* factors = x + (s_.interleaved ? 1 : inner_);
    for (std::int64_t i = 0; i < inner_; ++i) y[i] = std::min(x[i * step], s_.limit);
    swish(y, y, static_cast<std::size_t>(inner_), s_.alpha, 0);
    for (std::int64_t i = 0; i < inner_; ++i)
      y[i] *= std::max(-s_.limit, std::min(factors[i * step], s_.limit)) + s_.beta;
  }

  KernelContext& c_;
  const ExpertsState& s_;
  ExpertMatrices first_, second_;
  Operands io_;
  std::int64_t hidden_, tokens_, experts_, inner_;
};

void RunExperts(KernelContext& c) { Experts(c).Run(); }

ExpertsState ReadExperts(const AttributeReader& c) {
  ExpertsState s;
  s.chosen = c.Int("k", 1);
  if (s.chosen < 1) c.Fail(Code::kInvalidArgument, "attribute 'k': expected at least 1, found ", s.chosen);
  s.normalize = c.Flag("normalize_routing_weights");
  ReadActivation(c, s);
  return s;
}

Prepared PrepareMoe(PrepareContext& c) {
  ExpertsState s = ReadExperts(c);
  if (c.HasInput(6)) c.Unsupported("a third layer, input 'fc3_experts_weights',");
  s.first = PrepareExpertLayer(c, {.weights = 2, .bias = 3});
  s.second = PrepareExpertLayer(c, {.weights = 4, .bias = 5});
  return WithState(RunExperts, std::move(s));
}

Prepared PrepareQmoe(PrepareContext& c) {
  ExpertsState s = ReadExperts(c);
  s.quantized = true;
  const std::string type = c.String("quant_type", "int");
  if (type != "int") c.Unsupported("attribute 'quant_type' = '" + type + "'");
  if (c.HasInput(8)) c.Unsupported("a third layer, input 'fc3_experts_weights',");
  for (const std::size_t i : {2u, 5u})
    if (c.InputDType(i) != DType::kUInt8) c.Unsupported(c.InputText(i), c.InputDType(i));
  for (const std::size_t i : {3u, 6u}) {
    if (!c.HasInput(i)) c.Fail(Code::kInvalidArgument, "expected the input ", c.InputText(i), ", found none");
    if (!IsFloating(c.InputDType(i)) || Bits(c.InputDType(i)) < 16) c.Unsupported(c.InputText(i), c.InputDType(i));
  }
  const std::int64_t block = ReadBlock(c);
  const bool int8 = block > 0 && c.Int("accuracy_level", 0) == 4;
  const auto zeros = [&](std::size_t i) { return c.HasInput(i) ? i : kNoExpertInput; };
  s.first = PrepareExpertLayer(c, {2, 3, zeros(11), 4, ReadBits(c, "fc1_expert_weight_bits"), block, int8});
  s.second = PrepareExpertLayer(c, {5, 6, zeros(12), 7, ReadBits(c, "fc2_expert_weight_bits"), block, int8});
  return WithState(RunExperts, std::move(s));
}

constexpr DTypeSet kExpertTypes = {DType::kFloat, DType::kFloat16, DType::kBFloat16};

constexpr OpDef kExpertsOps[] = {
    {.domain = "com.microsoft",
     .name = "MoE",
     .since = {1},
     .types = kExpertTypes,
     .infer = InferExperts,
     .prepare = PrepareMoe},
    {.domain = "com.microsoft",
     .name = "QMoE",
     .since = {1},
     .types = kExpertTypes,
     .infer = InferExperts,
     .prepare = PrepareQmoe},
};

}  // namespace

std::span<const OpDef> ExpertsOps() { return kExpertsOps; }

}  // namespace sardonyx::ops
