// ops/attention/linear_attention.cpp - LinearAttention: a state of outer products of keys and values that each row
// updates and reads.
//
// Per row and key head: S = exp(decay) S; S += k (x) v, or k (x) beta (v - S^T k) in the delta rules; y = scale S^T q.
#include <algorithm>
#include <cmath>

#include "kernels/attention/attention_rows.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kQ = 0, kK = 1, kV = 2, kPast = 3, kDecay = 4, kBeta = 5;
constexpr std::size_t kY = 0, kPresent = 1;

struct State {
  std::int64_t heads = 1, kv_heads = 1;
  float scale = 0;  // 0: 1 / sqrt(size of a key)
  bool gated = false, delta = false;
};

State ReadState(const AttributeReader& c) {
  State s;
  s.heads = c.Int("q_num_heads");
  s.kv_heads = c.Int("kv_num_heads");
  if (c.Int("state_window", 0) != 0 || (c.node().domain == "com.microsoft" && s.kv_heads > s.heads)) {
    c.Fail(
        Code::kNotImplemented,
        "com.microsoft.LinearAttention is not implemented with state_window or with more key heads than query heads");
  }
  constexpr std::int64_t kMostHeads = 1 << 20;
  if (s.heads < 1 || s.kv_heads < 1 || s.heads > kMostHeads || s.heads % s.kv_heads != 0) {
    c.Fail(Code::kInvalidArgument, "expected q_num_heads in [1, ", kMostHeads,
           "] and divisible by kv_num_heads, found ", s.heads, " and ", s.kv_heads);
  }
  s.scale = c.Float("scale", 0);
  const std::string rule = c.String("update_rule", "gated_delta");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta") {
    c.Fail(Code::kInvalidArgument, "attribute 'update_rule': expected linear, gated, delta or gated_delta, found '",
           rule, "'");
  }
  s.gated = rule == "gated" || rule == "gated_delta";
  s.delta = rule == "delta" || rule == "gated_delta";
  return s;
}

void InferLinear(InferContext& c) {
  const State s = ReadState(c);
  const DType present = c.HasInput(kPast) ? c.InputDType(kPast) : c.InputDType(kQ);
  if (!c.HasRank(kQ) || !c.HasRank(kV) || c.Rank(kQ) != 3 || c.Rank(kV) != 3) {
    c.SetOutput(kY, c.InputDType(kQ));
    if (c.HasOutput(kPresent)) c.SetOutput(kPresent, present);
    return;
  }
  const std::vector<Dim>& q = c.InputDims(kQ);
  const Dim size = FloorDiv(q[2], Dim(s.heads)), value = FloorDiv(c.InputDims(kV)[2], Dim(s.kv_heads));
  c.SetOutput(kY, c.InputDType(kQ), {q[0], q[1], Dim(s.heads) * value});
  if (c.HasOutput(kPresent)) c.SetOutput(kPresent, present, {q[0], Dim(s.kv_heads), size, value});
}

class Linear {
 public:
  explicit Linear(KernelContext& c) : c_(c), state_(c.state<State>()), io_(c, DType::kFloat) {
    const Dims q = c.Input(kQ).shape, k = c.Input(kK).shape, v = c.Input(kV).shape;
    if (q.size() != 3 || k.size() != 3 || v.size() != 3) {
      Fail(Code::kInvalidArgument, "expected query, key and value of rank 3, found ", ToText(q), ", ", ToText(k),
           " and ", ToText(v));
    }
    batch_ = q[0], rows_ = q[1], size_ = q[2] / state_.heads, value_ = v[2] / state_.kv_heads;
    Expect(kK, {batch_, rows_, state_.kv_heads * size_});
    Expect(kV, {batch_, rows_, state_.kv_heads * value_});
    Expect(kQ, {batch_, rows_, state_.heads * size_});
    if (c.HasInput(kPast)) Expect(kPast, {batch_, state_.kv_heads, size_, value_});
    CheckGates();
    scale_ = state_.scale != 0 ? state_.scale : 1 / std::sqrt(static_cast<float>(size_));
    const auto all = static_cast<std::size_t>(batch_ * state_.kv_heads);
    states_at_ = io_.Add<float>(c.HasOutput(kPresent) ? 0 : all * static_cast<std::size_t>(size_ * value_));
    values_at_ = io_.Add<float>(all * static_cast<std::size_t>(value_));
  }

  void Run() {
    const bool nothing = c_.Output(kY).count == 0 && (!c_.HasOutput(kPresent) || c_.Output(kPresent).count == 0);
    if (nothing) return;  // a batch of any size
    const Operands::Computing computing(io_);
    float* states = c_.HasOutput(kPresent) ? io_.Out<float>(kPresent) : io_.At<float>(states_at_);
    c_.parallel().For(batch_ * state_.kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        float* state = states + i * size_ * value_;
        if (c_.HasInput(kPast)) {
          std::copy_n(io_.In<float>(kPast) + i * size_ * value_, size_ * value_, state);
        } else {
          std::fill_n(state, size_ * value_, 0.0f);
        }
        float* value = io_.At<float>(values_at_) + i * value_;
        for (std::int64_t row = 0; row < rows_; ++row)
          Step(i / state_.kv_heads, i % state_.kv_heads, row, state, value);
      }
    });
  }

 private:
  void Expect(std::size_t i, Shape want) const {
    if (!Shape::Equal(c_.Input(i).shape, want)) {
      Fail(Code::kInvalidArgument, "expected input ", i, " of ", ToText(want), ", found ", ToText(c_.Input(i).shape));
    }
  }

  void CheckGates() {
    const auto width = [&](std::size_t i, std::string_view name, bool wanted, std::int64_t other) {
      if (c_.HasInput(i) != wanted) {
        Fail(Code::kInvalidArgument, "expected ", wanted ? "an" : "no", " input '", name,
             "' for this update_rule, found ", wanted ? "none" : "one");
      }
      if (!wanted) return std::int64_t{0};
      const Dims d = c_.Input(i).shape;
      if (d.size() != 3 || d[0] != batch_ || d[1] != rows_ || (d[2] != state_.kv_heads && d[2] != other)) {
        Fail(Code::kInvalidArgument, "expected ", name, " [", batch_, ", ", rows_, ", ", state_.kv_heads, " or ", other,
             "], found ", ToText(d));
      }
      return d[2];
    };
    decay_width_ = width(kDecay, "decay", state_.gated, state_.kv_heads * size_);
    beta_width_ = width(kBeta, "beta", state_.delta, 1);
  }

  void Step(std::int64_t b, std::int64_t kv, std::int64_t row, float* state, float* value) const {
    const std::int64_t at = b * rows_ + row, group = state_.heads / state_.kv_heads;
    const float* k = io_.In<float>(kK) + (at * state_.kv_heads + kv) * size_;
    const float* v = io_.In<float>(kV) + (at * state_.kv_heads + kv) * value_;
    if (state_.gated) Decay(at, kv, state);
    kernels::FewArgs f;
    if (state_.delta) {
      std::fill_n(value, value_, 0.0f);
      f.rows = 1, f.keys = size_, f.size = value_, f.q = k, f.kv = state, f.kv_stride = value_, f.y = value;
      rows_of_.few_values(f);
      const float beta = io_.In<float>(kBeta)[at * beta_width_ + (beta_width_ == 1 ? 0 : kv)];
      for (std::int64_t i = 0; i < value_; ++i) value[i] = beta * (v[i] - value[i]);
      v = value;
    }
    for (std::int64_t i = 0; i < size_; i += kernels::kRowGroup) {  // state[i] += k[i] * v
      f.rows = std::min(kernels::kRowGroup, size_ - i), f.keys = 1, f.size = value_;
      f.q = k + i, f.q_stride = 1, f.kv = v, f.kv_stride = 0, f.y = state + i * value_, f.y_stride = value_;
      rows_of_.few_values(f);
    }
    float* y = io_.Out<float>(kY) + (at * state_.heads + kv * group) * value_;
    std::fill_n(y, group * value_, 0.0f);
    for (std::int64_t g = 0; g < group; g += kernels::kRowGroup) {
      f.rows = std::min(kernels::kRowGroup, group - g), f.keys = size_, f.size = value_;
      f.q = io_.In<float>(kQ) + (at * state_.heads + kv * group + g) * size_, f.q_stride = size_;
      f.kv = state, f.kv_stride = value_, f.y = y + g * value_, f.y_stride = value_;
      rows_of_.few_values(f);
    }
    rows_of_.scale(y, group * value_, scale_, y);
  }

  void Decay(std::int64_t at, std::int64_t kv, float* state) const {
    const bool per_head = decay_width_ == state_.kv_heads;
    const float* decay = io_.In<float>(kDecay) + at * decay_width_ + (per_head ? kv : kv * size_);
    for (std::int64_t i = 0; i < size_; ++i) {
      rows_of_.scale(state + i * value_, value_, std::exp(decay[per_head ? 0 : i]), state + i * value_);
    }
  }

  KernelContext& c_;
  const State& state_;
  Operands io_;
  const kernels::AttentionRowsSet& rows_of_ = kernels::AttentionRows();
  std::int64_t batch_ = 0, rows_ = 0, size_ = 0, value_ = 0, decay_width_ = 0, beta_width_ = 0;
  float scale_ = 1;
  std::size_t states_at_ = 0, values_at_ = 0;
};

void RunLinear(KernelContext& c) { Linear(c).Run(); }

Prepared PrepareLinear(PrepareContext& c) { return WithState(RunLinear, ReadState(c)); }

constexpr DTypeSet kLinearTypes = {DType::kFloat, DType::kFloat16, DType::kBFloat16};

// A state of outer products, one for each head of keys, is changed and read in every row of q [batch, rows, ...].
void CountLinearAttention(CostContext& c) { c.SetOperations(4 * CostContext::DimOf(c.In(0), 1) * c.CountOut(1)); }

constexpr OpDef kLinearAttentionOps[] = {
    {.name = "LinearAttention",
     .since = {27},
     .types = kLinearTypes,
     .infer = InferLinear,
     .prepare = PrepareLinear,
     .cost = CountLinearAttention},
    {.domain = "com.microsoft",
     .name = "LinearAttention",
     .since = {1},
     .types = kLinearTypes,
     .infer = InferLinear,
     .prepare = PrepareLinear,
     .cost = CountLinearAttention},
};

}  // namespace

std::span<const OpDef> LinearAttentionOps() { return kLinearAttentionOps; }

}  // namespace sardonyx::ops
