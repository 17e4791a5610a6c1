// ops/attention/attention.cpp - Attention: softmax(Q K^T * scale + bias) V by heads, with caches, grouped heads, masks
// and windows. ai.sardonyx SinkAttention has a sink for each head: a score whose probability goes nowhere. ai.sardonyx
// CachedAttention has caches of another element type or with other axes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/attention/attention_cost.h"
#include "ops/attention/attention_state.h"
#include "ops/attention/cached_attention.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/same_rows.h"
#include "ops/spell_context.h"

namespace sardonyx::ops {
namespace {

using namespace attention;  // NOLINT(google-build-using-namespace): names of inputs and outputs

// What both operators have.
AttentionState ReadShared(const AttributeReader& c) {
  AttentionState s;
  s.q_heads = c.Int("q_num_heads", 0);
  s.kv_heads = c.Int("kv_num_heads", 0);
  s.scale = static_cast<double>(c.Float("scale", 0));
  s.softcap = static_cast<double>(c.Float("softcap", 0));
  return s;
}

AttentionState ReadCached(const AttributeReader& c) {
  AttentionState s = ReadShared(c);
  const std::vector<std::int64_t> axes = c.Ints("cache_axes");
  if (axes.empty()) return s;
  const std::vector<std::int64_t> front(axes.begin(), axes.end() - 1);
  if (axes.size() != s.cache_axes.size() || axes.back() != 3 ||
      !std::is_permutation(front.begin(), front.end(), kBlocksOfHeads.begin())) {
    c.Fail(Code::kInvalidArgument,
           "attribute 'cache_axes': expected 0, 1 and 2 in some order and 3 behind them, found ", ToText(axes));
  }
  std::copy(axes.begin(), axes.end(), s.cache_axes.begin());
  return s;
}

AttentionState ReadAttention(const AttributeReader& c) {
  AttentionState s = ReadShared(c);
  s.causal = c.Flag("is_causal");
  s.left = std::min(c.Int("left_window_size", -1), kBeyondAllKeys);
  s.right = std::min(c.Int("right_window_size", -1), kBeyondAllKeys);
  s.scores_mode = c.Int("qk_matmul_output_mode", 0);
  if (s.scores_mode < 0 || s.scores_mode > 3) {
    c.Fail(Code::kInvalidArgument, "attribute 'qk_matmul_output_mode': expected 0 to 3, found ", s.scores_mode);
  }
  if (s.left < -1 || s.right < -1) {
    c.Fail(Code::kInvalidArgument,
           "attributes 'left_window_size' and 'right_window_size': expected at least -1, found ", s.left, " and ",
           s.right);
  }
  return s;
}

// [batch, heads, sequence, size] of an input of rank 3 ([batch, sequence, heads * size]) or 4.
struct HeadDims {
  Dim batch, heads, sequence, size;
};
HeadDims ViewHeads(const InferContext& c, std::size_t i, std::int64_t heads) {
  const std::vector<Dim>& d = c.InputDims(i);
  if (d.size() == 4) return {d[0], d[1], d[2], d[3]};
  if (d.size() != 3)
    c.Fail(Code::kInvalidArgument, c.InputText(i), ": expected rank 3 or 4, found ", c.InputType(i).ToText());
  if (heads < 1)
    c.Fail(Code::kInvalidArgument,
           "attributes 'q_num_heads' and 'kv_num_heads': expected at least 1 for inputs of rank 3, found ", heads);
  if (d[2].known() && d[2].number() % heads != 0) {
    c.Fail(Code::kInvalidArgument, c.InputText(i), ": expected a hidden size divisible by ", heads, " heads, found ",
           c.InputType(i).ToText());
  }
  return {d[0], Dim(heads), d[1], FloorDiv(d[2], Dim(heads))};
}

// The axis of a cache that holds `axis` of batch, heads, sequence and size.
std::size_t PlaceOf(const CacheAxes& axes, std::int64_t axis) {
  return static_cast<std::size_t>(std::find(axes.begin(), axes.end(), axis) - axes.begin());
}
std::vector<Dim> InOrder(const CacheAxes& axes, const std::vector<Dim>& dims) {
  std::vector<Dim> ordered;
  for (const std::int64_t axis : axes) ordered.push_back(dims[static_cast<std::size_t>(axis)]);
  return ordered;
}

// `cached`: the caches' type is their own.
void InferHeads(InferContext& c, const AttentionState& s, bool cached = false) {
  const DType t1 = c.InputDType(kQ), t2 = c.InputDType(kV);
  const DType cached_k = cached ? c.InputDType(kPastK) : t1, cached_v = cached ? c.InputDType(kPastV) : t2;
  if (!c.HasRank(kQ) || !c.HasRank(kK) || !c.HasRank(kV) || (c.HasInput(kPastK) && !c.HasRank(kPastK))) {
    for (std::size_t i = 0; i < 4; ++i) {
      if (c.HasOutput(i)) c.SetOutput(i, i == kPresentV ? cached_v : i == kPresentK ? cached_k : t1);
    }
    return;
  }
  const HeadDims q = ViewHeads(c, kQ, s.q_heads), k = ViewHeads(c, kK, s.kv_heads), v = ViewHeads(c, kV, s.kv_heads);
  if (q.size.known() && k.size.known() && q.size.number() != k.size.number()) {
    c.Fail(Code::kInvalidArgument, "expected heads of one size, found ", q.size.number(), " (Q) and ", k.size.number(),
           " (K)");
  }
  if (q.heads.known() && k.heads.known() && (k.heads.number() == 0 || q.heads.number() % k.heads.number() != 0)) {
    c.Fail(Code::kInvalidArgument, "expected a number of query heads divisible by that of key heads, found ",
           q.heads.number(), " and ", k.heads.number());
  }
  Dim total = k.sequence;
  if (c.HasInput(kPastK)) {
    if (c.Rank(kPastK) != 4)
      c.Fail(Code::kInvalidArgument, "expected past_key of rank 4, found ", c.InputType(kPastK).ToText());
    total = total + c.InputDims(kPastK)[PlaceOf(s.cache_axes, 2)];
  }
  if (c.Rank(kQ) == 4)
    c.SetOutput(kY, t1, {q.batch, q.heads, q.sequence, v.size});
  else
    c.SetOutput(kY, t1, {q.batch, q.sequence, q.heads * v.size});
  // Of one sequence, they are repeated for each of the queries'.
  if (c.HasOutput(kPresentK))
    c.SetOutput(kPresentK, cached_k, InOrder(s.cache_axes, {q.batch, k.heads, total, k.size}));
  if (c.HasOutput(kPresentV))
    c.SetOutput(kPresentV, cached_v, InOrder(s.cache_axes, {q.batch, v.heads, total, v.size}));
  if (c.HasOutput(kScores)) c.SetOutput(kScores, t1, {q.batch, q.heads, q.sequence, total});
}

void InferAttention(InferContext& c) { InferHeads(c, ReadAttention(c)); }
void InferSinkAttention(InferContext& c) { InferHeads(c, ReadShared(c)); }
void InferCachedAttention(InferContext& c) { InferHeads(c, ReadCached(c), true); }

Heads ViewOf(Dims d, std::int64_t heads) {
  if (d.size() == 4) return BlocksOfHeads(d[0], d[1], d[2], d[3]);
  return RowsOfHeads(d[0], d[1], heads, d[2] / heads, d[2]);
}

// Whether caches of 16-bit floats are read and written as they are stored.
bool StoresHalves(const KernelContext& c) {
  for (const std::size_t i : {kPastK, kPastV})
    if (!c.HasInput(i) || c.Input(i).dtype != c.Input(kPastK).dtype) return false;
  const DType dtype = c.Input(kPastK).dtype;
  return c.HasOutput(kPresentK) && c.HasOutput(kPresentV) && (dtype == DType::kFloat16 || dtype == DType::kBFloat16);
}

// Attention of floats (and of 16-bit floats, converted).
class Runner {
 public:
  explicit Runner(KernelContext& c)
      : c_(c),
        state_(c.state<AttentionState>()),
        has_lengths_(!state_.sinks && c.HasInput(kLengths)),
        stored_(StoresHalves(c)),
        io_(c, DType::kFloat,
            1u << kMask | (state_.sinks ? 0u : 1u << kLengths) | (stored_ ? 1u << kPastK | 1u << kPastV : 0),
            stored_ ? 1u << kPresentK | 1u << kPresentV : 0) {
    run_.q = ViewOf(c.Input(kQ).shape, state_.q_heads);
    run_.k = ViewOf(c.Input(kK).shape, state_.kv_heads);
    run_.v = ViewOf(c.Input(kV).shape, state_.kv_heads);
    run_.y = ViewOf(c.Output(kY).shape, run_.q.heads);
    RepeatBatch();
    ReadPast();
    SetArguments();
    run_.Plan(io_, c.parallel().ThreadCount());
    if (c.HasInput(kMask)) PlanMask();
    lengths_at_ = io_.Add<std::int64_t>(has_lengths_ ? 2 * static_cast<std::size_t>(run_.q.batch) : 0);
  }

  void Run() {
    const Operands::Computing computing(io_);
    SetLengths();
    SetSinks();
    if (c_.HasInput(kMask)) SetMask();
    if (c_.HasOutput(kScores)) {
      run_.args.scores = io_.Out<float>(kScores);
      run_.args.stage = static_cast<kernels::ScoreStage>(state_.scores_mode);
    }
    AttentionData d;
    d.q = io_.In<float>(kQ), d.k = io_.In<float>(kK), d.v = io_.In<float>(kV);
    if (stored_) {
      d.stored_past_k = c_.Input(kPastK).data, d.stored_past_v = c_.Input(kPastV).data;
      d.stored_k = c_.Output(kPresentK).data, d.stored_v = c_.Output(kPresentV).data;
    } else {
      d.past_k = io_.In<float>(kPastK), d.past_v = io_.In<float>(kPastV);
      d.present_k = io_.Out<float>(kPresentK), d.present_v = io_.Out<float>(kPresentV);
    }
    d.y = io_.Out<float>(kY);
    run_.Run(io_, d, c_.parallel());
  }

 private:
  // Keys or values of one sequence serve every sequence of queries, as they do in the products that the optimizer
  // makes a node of: a decoder's beams on the states of one text. Caches are each sequence's own, and get a copy each.
  void RepeatBatch() {
    for (Heads* heads : {&run_.k, &run_.v}) {
      if (heads->batch != 1) continue;
      heads->batch = run_.q.batch;
      heads->strides.batch = 0;
    }
  }

  void ReadPast() {
    if (c_.HasInput(kPastK) != c_.HasInput(kPastV)) {
      Fail(Code::kInvalidArgument, "expected past_key and past_value together, found only one");
    }
    if (c_.HasInput(kPastK)) {
      const Dims pk = c_.Input(kPastK).shape, pv = c_.Input(kPastV).shape;
      const CacheAxes& axes = state_.cache_axes;
      run_.past = pk.size() == 4 ? pk[PlaceOf(axes, 2)] : 0;
      const std::int64_t k[] = {run_.k.batch, run_.k.heads, run_.past, run_.k.size},
                         v[] = {run_.v.batch, run_.v.heads, run_.past, run_.v.size};
      std::int64_t want_k[4], want_v[4];
      for (std::size_t i = 0; i < 4; ++i) {
        want_k[i] = k[static_cast<std::size_t>(axes[i])];
        want_v[i] = v[static_cast<std::size_t>(axes[i])];
      }
      if (!Shape::Equal(pk, want_k) || !Shape::Equal(pv, want_v)) {
        Fail(Code::kInvalidArgument, "expected past_key ", ToText(want_k), " and past_value ", ToText(want_v),
             ", found ", ToText(pk), " and ", ToText(pv));
      }
    }
    run_.cache_axes = state_.cache_axes;
    if (stored_) run_.cache_type = c_.Input(kPastK).dtype;
    run_.past_rows = run_.past;
    run_.cache_rows = run_.past + run_.k.sequence;
    run_.gather_k = c_.HasInput(kPastK) || c_.HasOutput(kPresentK);
    run_.gather_v = c_.HasInput(kPastV) || c_.HasOutput(kPresentV);
    run_.present_k = c_.HasOutput(kPresentK), run_.present_v = c_.HasOutput(kPresentV);
  }

  void SetArguments() {
    kernels::AttentionF32Args& a = run_.args;
    a.scale = static_cast<float>(state_.scale != 0 ? state_.scale : 1 / std::sqrt(static_cast<double>(run_.q.size)));
    a.cap = static_cast<float>(std::max(0.0, state_.softcap));
    a.causal = state_.causal;
    a.left = state_.left, a.right = state_.right;
    a.same_rows = state_.same_rows;
    if (c_.HasInput(kPastK)) a.position = run_.past;
  }

  // Lengths end the keys; without a past they also say where the queries stand.
  void SetLengths() {
    if (!has_lengths_) return;
    if (c_.Input(kLengths).count != run_.q.batch) {
      Fail(Code::kInvalidArgument, "expected nonpad_kv_seqlen [", run_.q.batch, "], found ",
           ToText(c_.Input(kLengths).shape));
    }
    auto* memory = io_.At<std::int64_t>(lengths_at_);
    for (std::int64_t b = 0; b < run_.q.batch; ++b) {
      const std::int64_t length =
          std::clamp(c_.Input(kLengths).As<const std::int64_t>()[b], -kBeyondAllKeys, kBeyondAllKeys);
      memory[b] = std::clamp<std::int64_t>(length, 0, run_.args.keys);
      memory[run_.q.batch + b] = length - run_.q.sequence;
    }
    run_.args.counts = memory;
    if (!c_.HasInput(kPastK)) run_.args.positions = memory + run_.q.batch;
  }

  void SetSinks() {
    if (!state_.sinks) return;
    if (c_.Input(kSinks).count != run_.q.heads) {
      Fail(Code::kInvalidArgument, "expected sinks [", run_.q.heads, "], found ", ToText(c_.Input(kSinks).shape));
    }
    run_.args.sinks = io_.In<float>(kSinks);
  }

  // How the mask broadcasts to [batch, heads, queries, keys]; only a short or repeated last axis is copied.
  void PlanMask() {
    const TensorRef& mask = c_.Input(kMask);
    const std::int64_t keys = run_.args.keys;
    const std::int64_t sizes[] = {run_.q.batch, run_.q.heads, run_.q.sequence, keys};
    if (mask.rank() > 4)
      Fail(Code::kInvalidArgument, "expected attn_mask of rank 4 at most, found ", ToText(mask.shape));
    mask_last_ = mask.rank() == 0 ? 1 : mask.shape.back();
    mask_rows_ = 1;  // of rows without elements, too: they hide all keys
    for (std::size_t i = 0; i + 1 < mask.rank(); ++i) mask_rows_ *= mask.shape[i];
    std::int64_t step = keys;
    for (std::size_t i = 0; i < mask.rank(); ++i) {  // from the last axis
      const std::int64_t mine = mask.shape[mask.rank() - 1 - i], want = sizes[3 - i];
      if (mine != 1 && mine != want && !(i == 0 && mine < want)) {
        Fail(Code::kInvalidArgument, "expected attn_mask that broadcasts to ", ToText(sizes), ", found ",
             ToText(mask.shape));
      }
      if (i == 0) continue;
      mask_stride_[3 - i] = mine == 1 ? 0 : step;
      step *= mine;
    }
    if (mask.dtype == DType::kFloat && mask_last_ == keys) return;
    mask_at_ = io_.Add<float>(static_cast<std::size_t>(std::max(mask.count, mask_rows_ * keys)));
    wide_at_ = io_.Add<float>(static_cast<std::size_t>(mask_last_ == keys ? 0 : mask.count));
    copies_mask_ = true;
  }

  void SetMask() {
    const TensorRef& mask = c_.Input(kMask);
    const float* data = mask.As<const float>();
    if (copies_mask_) {
      const std::int64_t keys = run_.args.keys;
      float* to = io_.At<float>(mask_last_ == keys ? mask_at_ : wide_at_);
      if (mask.dtype == DType::kBool) {
        for (std::int64_t i = 0; i < mask.count; ++i) to[i] = mask.As<const bool>()[i] ? 0.0f : -kInfinity;
      } else {
        Convert(mask.dtype, mask.data, DType::kFloat, to, mask.count, c_.parallel());
      }
      data = mask_last_ == keys ? to : SpreadMask(to, keys);
    }
    run_.args.bias[0] = {data, mask_stride_[0], mask_stride_[1], mask_stride_[2]};
  }

  // Rows of one element are repeated, shorter rows hide the keys behind them.
  const float* SpreadMask(const float* from, std::int64_t keys) {
    float* to = io_.At<float>(mask_at_);
    for (std::int64_t r = 0; r < mask_rows_; ++r) {
      for (std::int64_t j = 0; j < keys; ++j) {
        const bool there = mask_last_ == 1 || j < mask_last_;
        to[r * keys + j] = there ? from[r * mask_last_ + (mask_last_ == 1 ? 0 : j)] : -kInfinity;
      }
    }
    return to;
  }

  static constexpr float kInfinity = std::numeric_limits<float>::infinity();
  KernelContext& c_;
  const AttentionState& state_;
  const bool has_lengths_, stored_;
  Operands io_;
  CachedAttention run_;
  std::int64_t mask_last_ = 0, mask_rows_ = 0;
  std::int64_t mask_stride_[3] = {0, 0, 0};
  bool copies_mask_ = false;
  std::size_t mask_at_ = 0, wide_at_ = 0, lengths_at_ = 0;
};

void RunAttention(KernelContext& c) { Runner(c).Run(); }

Prepared PrepareAttention(PrepareContext& c) {
  AttentionState state = ReadAttention(c);
  state.same_rows = WantsSameRows();
  return WithState(c.InputDType(kQ) == DType::kDouble ? RunAttentionF64 : RunAttention, state);
}

Prepared PrepareSinkAttention(PrepareContext& c) {
  AttentionState state = ReadShared(c);
  state.same_rows = WantsSameRows();
  state.sinks = true;
  return WithState(RunAttention, state);
}

Prepared PrepareCachedAttention(PrepareContext& c) {
  AttentionState state = ReadCached(c);
  state.same_rows = WantsSameRows();
  return WithState(RunAttention, state);
}

void CountCachedAttention(CostContext& c) {
  const double new_rows = CostContext::DimOf(c.In(kK), c.In(kK).rank() == 4 ? 2 : 1), count = c.CountIn(kK);
  c.SetOperations(OperationsOverKeys(c, count > 0 ? c.CountOut(kPresentK) / count * new_rows : 0));
}

// An Expand of the mask to the last two axes of `wanted`, made for another Attention; kNoValue: none.
ValueId ExpandedMask(const Graph& graph, ValueId mask, const Type& wanted) {
  for (const NodeId id : graph.value(mask).consumers) {
    const Node& node = graph.node(id);
    if (!node.domain.empty() || node.op_type != "Expand" || node.inputs[0] != mask) continue;
    const Type& type = graph.value(node.outputs[0]).type;
    if (type.has_rank && type.rank() == wanted.rank() && SameDim(type.dims.back(), wanted.dims.back()) &&
        SameDim(type.dims[type.rank() - 2], wanted.dims[type.rank() - 2]))
      return node.outputs[0];
  }
  return kNoValue;
}

// ONNX Runtime's kernel repeats a mask over batch and heads alone: in a file it has every row and every key.
void SpellAttention(SpellContext& c) {
  const std::vector<ValueId> inputs = c.node().inputs;
  if (inputs.size() <= kMask || inputs[kMask] == kNoValue) return;
  const Type mask = c.InputType(kMask), q = c.InputType(kQ), k = c.InputType(kK);
  const auto has_rows = [](const Type& type) { return type.has_rank && (type.rank() == 3 || type.rank() == 4); };
  if (!mask.has_rank || mask.rank() < 1 || mask.rank() > 4 || !has_rows(q) || !has_rows(k)) return;
  const NodeId producer = c.graph().value(inputs[kMask]).producer;
  if (producer != kNoNode && c.graph().node(producer).op_type == "Expand") return;
  const std::size_t q_axis = q.rank() == 3 ? 1 : 2, k_axis = k.rank() == 3 ? 1 : 2;
  const Dim last = mask.dims.back();
  const bool has_keys = !last.known() || last.number() != 1 || SameDim(k.dims[k_axis], Dim(1));
  if (has_keys && mask.rank() > 1 && SameDim(mask.dims[mask.rank() - 2], q.dims[q_axis])) return;

  const Type one = Type::TensorOf(DType::kInt64, Shape{1});
  const auto size_of = [&](ValueId value, std::size_t axis) {
    const auto start = static_cast<std::int64_t>(axis);
    return c.Add("Shape", {value}, {{"start", start}, {"end", start + 1}}, one);
  };
  Type wanted = mask;
  if (wanted.rank() == 1) wanted.dims.insert(wanted.dims.begin(), Dim(1));
  wanted.dims[wanted.rank() - 2] = q.dims[q_axis];
  const bool has_past = inputs.size() > kPastK && inputs[kPastK] != kNoValue;
  if (!has_keys) {
    const bool known = !has_past || c.InputType(kPastK).rank() == 4;
    wanted.dims.back() = !known ? Dim() : has_past ? k.dims[k_axis] + c.InputType(kPastK).dims[2] : k.dims[k_axis];
  }
  ValueId expanded = ExpandedMask(c.graph(), inputs[kMask], wanted);
  if (expanded == kNoValue) {
    ValueId keys = has_keys ? c.Longs({1}) : size_of(inputs[kK], k_axis);
    if (!has_keys && has_past) keys = c.Add("Add", {keys, size_of(inputs[kPastK], 2)}, {}, one);
    const ValueId shape = c.Add("Concat", {size_of(inputs[kQ], q_axis), keys}, {{"axis", std::int64_t{0}}},
                                Type::TensorOf(DType::kInt64, Shape{2}));
    expanded = c.Add("Expand", {inputs[kMask], shape}, {}, wanted);
  }
  c.graph().SetInput(c.id(), kMask, expanded);
}

constexpr OpDef kAttentionOps[] = {
    {.name = "Attention",
     .since = {23, 24, 25},
     .types = kIeeeFloats,
     .infer = InferAttention,
     .prepare = PrepareAttention,
     .cost = CountAttention,
     .spell = {23, SpellAttention}},
    {.domain = "ai.sardonyx",
     .name = "SinkAttention",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16, DType::kBFloat16},
     .infer = InferSinkAttention,
     .prepare = PrepareSinkAttention,
     .cost = CountAttention},
    {.domain = "ai.sardonyx",
     .name = "CachedAttention",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16, DType::kBFloat16},
     .infer = InferCachedAttention,
     .prepare = PrepareCachedAttention,
     .cost = CountCachedAttention},
};

}  // namespace

std::span<const OpDef> AttentionOps() { return kAttentionOps; }

}  // namespace sardonyx::ops
