// ops/attention/multi_head_attention.cpp - com.microsoft MultiHeadAttention and DecoderMaskedMultiHeadAttention:
// attention over projected queries, keys and values.
//
// Forms: Q, K, V [batch, sequence, heads * size]; Q, K and V packed as [batch, sequence, heads, 3, size]; K and V
// packed as [batch, sequence, heads, 2, size]; K and V [batch, heads, sequence, size] (cross attention, no bias for
// them).
#include <cmath>

#include "ops/attention/attention_cost.h"
#include "ops/attention/attention_mask.h"
#include "ops/attention/cached_attention.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/same_rows.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kQ = 0, kK = 1, kV = 2;
constexpr std::size_t kAbsent = 99;  // no such input

// Where the two operators have their other inputs.
struct Inputs {
  std::size_t bias, mask, addend, past_k, past_v, past, beams, indirection;
};
constexpr Inputs kGeneral = {3, 4, 5, 6, 7, 8, kAbsent, 9};
constexpr Inputs kDecoder = {10, 3, 4, 5, 6, 7, 8, 9};

const Inputs& InputsOf(const AttributeReader& c) { return c.op_type() == "MultiHeadAttention" ? kGeneral : kDecoder; }

constexpr std::size_t kY = 0, kPresentK = 1, kPresentV = 2, kScores = 3;

struct State {
  Inputs in = kGeneral;
  std::int64_t heads = 1;
  float scale = 0;  // 0: 1 / sqrt(size)
  float filter = -10000;
  bool causal = false;
  bool same_rows = false;  // see AttentionF32Args
};

// [batch, sequence, heads, size] of the inputs, symbolic; the size of V apart.
struct Sizes {
  Dim batch, queries, keys, size, value_size;
};

Dim PerHead(const InferContext& c, std::size_t i, std::int64_t heads) {
  const Dim& hidden = c.InputDims(i)[2];
  if (hidden.known() && hidden.number() % heads != 0) {
    c.Fail(Code::kInvalidArgument, c.InputText(i), ": expected a hidden size divisible by ", heads, " heads, found ",
           c.InputType(i).ToText());
  }
  return FloorDiv(hidden, Dim(heads));
}

// False if the ranks are not known.
bool ReadSizes(const InferContext& c, std::int64_t heads, Sizes* s) {
  if (!c.HasRank(kQ) || (c.HasInput(kK) && !c.HasRank(kK)) || (c.HasInput(kV) && !c.HasRank(kV))) return false;
  const auto expect = [&](std::size_t i, bool fits, std::string_view rank) {
    if (!fits)
      c.Fail(Code::kInvalidArgument, c.InputText(i), ": expected rank ", rank, ", found ", c.InputType(i).ToText());
  };
  const std::vector<Dim>& q = c.InputDims(kQ);
  expect(kQ, q.size() == 3 || q.size() == 5, "3 or 5");
  s->batch = q[0], s->queries = q[1];
  if (!c.HasInput(kK) && q.size() == 3 && c.op_type() != "MultiHeadAttention") {
    s->keys = q[1], s->size = s->value_size = FloorDiv(q[2], Dim(3 * heads));
    return true;
  }
  if (!c.HasInput(kK)) {
    expect(kQ, q.size() == 5, "5 without a key");
    s->keys = q[1], s->size = s->value_size = q[4];
    return true;
  }
  expect(kQ, q.size() == 3, "3 with a key");
  s->size = PerHead(c, kQ, heads);
  const std::vector<Dim>& k = c.InputDims(kK);
  if (!c.HasInput(kV)) {
    expect(kK, k.size() == 5, "5 without a value");
    s->keys = k[1], s->value_size = k[4];
    return true;
  }
  expect(kK, k.size() == 3 || k.size() == 4, "3 or 4");
  expect(kV, c.Rank(kV) == k.size(), "equal to that of the key");
  s->keys = k[k.size() - 2];
  s->value_size = k.size() == 4 ? c.InputDims(kV)[3] : PerHead(c, kV, heads);
  return true;
}

void InferMultiHead(InferContext& c) {
  const std::int64_t heads = c.Int("num_heads");
  constexpr std::int64_t kMostHeads = 1 << 20;
  if (heads < 1 || heads > kMostHeads)
    c.Fail(Code::kInvalidArgument, "attribute 'num_heads': expected 1 to ", kMostHeads, ", found ", heads);
  const DType dtype = c.InputDType(kQ);
  const Inputs& in = InputsOf(c);
  Sizes s;
  if (!ReadSizes(c, heads, &s)) {
    for (std::size_t i = 0; i < 4; ++i)
      if (c.HasOutput(i)) c.SetOutput(i, dtype);
    return;
  }
  c.SetOutput(kY, dtype, {s.batch, s.queries, Dim(heads) * s.value_size});
  const bool has_past = c.HasInput(in.past_k) && c.HasRank(in.past_k) && c.Rank(in.past_k) == 4;
  const Dim past = !c.HasInput(in.past_k) ? Dim(0) : has_past ? c.InputDims(in.past_k)[2] : Dim();
  const Dim total = past + s.keys, rows = c.HasInput(in.past) ? past : total;
  if (c.HasOutput(kPresentK)) c.SetOutput(kPresentK, dtype, {s.batch, Dim(heads), rows, s.size});
  if (c.HasOutput(kPresentV)) c.SetOutput(kPresentV, dtype, {s.batch, Dim(heads), rows, s.value_size});
  if (c.HasOutput(kScores)) {
    c.SetOutput(kScores, dtype, {s.batch, Dim(heads), s.queries, c.HasInput(in.past) ? Dim() : total});
  }
}

class MultiHead {
 public:
  explicit MultiHead(KernelContext& c)
      : c_(c),
        state_(c.state<State>()),
        in_(state_.in),
        io_(c, DType::kFloat, 1u << in_.mask | 1u << in_.past | 1u << in_.indirection | BeamsBit(in_)) {
    ReadViews();
    ReadPast();
    run_.y = RowsOfHeads(run_.q.batch, run_.q.sequence, run_.q.heads, run_.v.size, run_.q.heads * run_.v.size);
    if (c.HasInput(in_.bias)) {
      const std::int64_t want = run_.q.heads * (run_.q.size + run_.k.size + run_.v.size);
      if (c.Input(in_.bias).count != want) {
        Fail(Code::kInvalidArgument, "expected a bias [", want, "], found ", ToText(c.Input(in_.bias).shape));
      }
      run_.bias_q = true;
      run_.bias_kv = !kv_in_blocks_;
    }
    run_.args.scale = state_.scale != 0 ? state_.scale : 1 / std::sqrt(static_cast<float>(run_.q.size));
    run_.args.causal = state_.causal;
    run_.args.same_rows = state_.same_rows;
    run_.args.last_sees_all = true;  // as in ONNX Runtime, where there are more keys than queries
    run_.args.position = run_.past;
    if (c.HasInput(in_.indirection)) ReadBeams();
    run_.Plan(io_, c.parallel().ThreadCount());
    scores_ = {run_.q.batch, run_.q.sequence, run_.args.keys, state_.filter};
    if (c.HasInput(in_.mask)) {
      mask_at_ = io_.Add<float>(static_cast<std::size_t>(MaskAddendCount(c.Input(in_.mask), scores_)));
    }
  }

  void Run() {
    const Operands::Computing computing(io_);
    if (c_.HasInput(in_.mask)) run_.args.bias[0] = MaskAddend(c_.Input(in_.mask), scores_, io_.At<float>(mask_at_));
    if (c_.HasInput(in_.addend)) {
      run_.args.bias[1] = BroadcastAddend(c_.Input(in_.addend).shape, io_.In<float>(in_.addend), run_.q.heads, scores_);
    }
    if (c_.HasOutput(kScores)) {
      run_.args.scores = io_.Out<float>(kScores);
      run_.args.stage = kernels::ScoreStage::kBiased;
    }
    AttentionData d;
    d.q = io_.In<float>(kQ);
    const bool packed = !c_.HasInput(kK);
    d.k = packed ? d.q + packed_step_ : io_.In<float>(kK);
    d.v = c_.HasInput(kV) ? io_.In<float>(kV) : d.k + packed_step_;
    d.past_k = io_.In<float>(in_.past_k), d.past_v = io_.In<float>(in_.past_v);
    d.present_k = io_.Out<float>(kPresentK), d.present_v = io_.Out<float>(kPresentV);
    d.y = io_.Out<float>(kY);
    d.bias = io_.In<float>(in_.bias);
    run_.Run(io_, d, c_.parallel());
  }

 private:
  static std::uint32_t BeamsBit(const Inputs& in) { return in.beams == kAbsent ? 0 : 1u << in.beams; }

  // [batch / beams, beams, rows of the caches]: the beam whose cache has the key.
  void ReadBeams() {
    const TensorRef& table = c_.Input(in_.indirection);
    const std::int64_t beams = c_.HasInput(in_.beams) ? IntAt(c_.Input(in_.beams), 0)
                               : table.rank() == 3    ? table.dim(1)
                                                      : 1;
    if (table.rank() != 3 || beams < 1 || run_.q.batch % beams != 0 || table.dim(0) * table.dim(1) < run_.q.batch ||
        table.dim(2) < run_.cache_rows) {
      Fail(Code::kInvalidArgument, "expected cache_indirection [", run_.q.batch, " / beams, beams, ", run_.cache_rows,
           "], found ", ToText(table.shape), " and ", beams, " beams");
    }
    run_.beams = beams;
    run_.beam_table = table.As<const std::int32_t>();
    run_.beam_table_rows = table.dim(2);
  }

  static Heads Packed(Dims d, std::int64_t parts) {
    const std::int64_t row = d[2] * parts * d[4];
    return {d[0], d[2], d[1], d[4], {d[1] * row, parts * d[4], row}};
  }
  Heads Rows(std::size_t i) const {
    const Dims d = c_.Input(i).shape;
    if (d[2] % state_.heads != 0) {
      Fail(Code::kInvalidArgument, "expected a hidden size divisible by ", state_.heads, " heads, found ", ToText(d));
    }
    return RowsOfHeads(d[0], d[1], state_.heads, d[2] / state_.heads, d[2]);
  }

  void ReadViews() {
    const Dims q = c_.Input(kQ).shape;
    if (!c_.HasInput(kK) && q.size() == 3) {
      if (q[2] % (3 * state_.heads) != 0) {
        Fail(Code::kInvalidArgument, "expected a packed query of a size divisible by 3 * ", state_.heads,
             " heads, found ", ToText(q));
      }
      packed_step_ = q[2] / 3;
      run_.q = run_.k = run_.v = RowsOfHeads(q[0], q[1], state_.heads, packed_step_ / state_.heads, q[2]);
      return;
    }
    if (!c_.HasInput(kK)) {
      packed_step_ = q[4];
      CheckPacked(q, 3);
      run_.q = run_.k = run_.v = Packed(q, 3);
      return;
    }
    run_.q = Rows(kQ);
    const Dims k = c_.Input(kK).shape;
    if (!c_.HasInput(kV)) {
      packed_step_ = k[4];
      CheckPacked(k, 2);
      run_.k = run_.v = Packed(k, 2);
    } else if (k.size() == 4) {
      const Dims v = c_.Input(kV).shape;
      run_.k = BlocksOfHeads(k[0], k[1], k[2], k[3]);
      run_.v = BlocksOfHeads(v[0], v[1], v[2], v[3]);
      kv_in_blocks_ = true;
    } else {
      run_.k = Rows(kK);
      run_.v = Rows(kV);
    }
    if (run_.k.heads != state_.heads) {
      Fail(Code::kInvalidArgument, "expected a key with ", state_.heads, " heads, found ", ToText(k));
    }
  }

  void CheckPacked(Dims d, std::int64_t parts) const {
    if (d[2] != state_.heads || d[3] != parts) {
      Fail(Code::kInvalidArgument, "expected a packed input [batch, sequence, ", state_.heads, ", ", parts,
           ", size], found ", ToText(d));
    }
  }

  void ReadPast() {
    if (c_.HasInput(in_.past_k) != c_.HasInput(in_.past_v)) {
      Fail(Code::kInvalidArgument, "expected past_key and past_value together, found only one");
    }
    if (c_.HasInput(in_.past_k)) {
      run_.past_rows = c_.Input(in_.past_k).rank() == 4 ? c_.Input(in_.past_k).dim(2) : 0;
      const std::int64_t k[] = {run_.k.batch, run_.k.heads, run_.past_rows, run_.k.size},
                         v[] = {run_.v.batch, run_.v.heads, run_.past_rows, run_.v.size};
      if (!Shape::Equal(c_.Input(in_.past_k).shape, k) || !Shape::Equal(c_.Input(in_.past_v).shape, v)) {
        Fail(Code::kInvalidArgument, "expected past_key ", ToText(k), " and past_value ", ToText(v), ", found ",
             ToText(c_.Input(in_.past_k).shape), " and ", ToText(c_.Input(in_.past_v).shape));
      }
    }
    run_.past = run_.past_rows;
    run_.cache_rows = run_.past_rows + run_.k.sequence;
    if (c_.HasInput(in_.past)) {  // the caches are as long as they will ever be
      const TensorRef& past = c_.Input(in_.past);
      if (past.count != 1)
        Fail(Code::kInvalidArgument, "expected one past_sequence_length, found shape ", ToText(past.shape));
      run_.past = IntAt(past, 0);
      run_.cache_rows = run_.past_rows;
      if (run_.past < 0 || run_.past > run_.past_rows - run_.k.sequence) {
        Fail(Code::kInvalidArgument, "expected past_sequence_length in [0, ", run_.past_rows - run_.k.sequence,
             "], found ", run_.past);
      }
    }
    run_.gather_k = c_.HasInput(in_.past_k) || c_.HasOutput(kPresentK);
    run_.gather_v = c_.HasInput(in_.past_v) || c_.HasOutput(kPresentV);
    run_.present_k = c_.HasOutput(kPresentK), run_.present_v = c_.HasOutput(kPresentV);
  }

  KernelContext& c_;
  const State& state_;
  const Inputs& in_;
  Operands io_;
  CachedAttention run_;
  MaskedScores scores_;
  std::int64_t packed_step_ = 0;  // from queries to keys to values where they are packed
  bool kv_in_blocks_ = false;
  std::size_t mask_at_ = 0;
};

void RunMultiHead(KernelContext& c) { MultiHead(c).Run(); }

Prepared PrepareMultiHead(PrepareContext& c) {
  State s;
  s.in = InputsOf(c);
  if (c.HasInput(s.in.indirection) && c.HasOutput(kScores)) c.Unsupported("output 'qk' with input 'cache_indirection'");
  if (c.HasInput(s.in.past) && c.HasOutput(kScores)) c.Unsupported("output 'qk' with input 'past_sequence_length'");
  s.heads = c.Int("num_heads");
  s.scale = c.Float("scale", 0);
  s.filter = c.Float("mask_filter_value", -10000);
  s.causal = c.Flag("unidirectional");
  s.same_rows = WantsSameRows();
  return WithState(RunMultiHead, s);
}

constexpr OpDef kMultiHeadAttentionOps[] = {
    {.domain = "com.microsoft",
     .name = "MultiHeadAttention",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16, DType::kBFloat16},
     .infer = InferMultiHead,
     .prepare = PrepareMultiHead,
     .cost = CountAttention},
    {.domain = "com.microsoft",
     .name = "DecoderMaskedMultiHeadAttention",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16},
     .infer = InferMultiHead,
     .prepare = PrepareMultiHead,
     .cost = CountAttention},
};

}  // namespace

std::span<const OpDef> MultiHeadAttentionOps() { return kMultiHeadAttentionOps; }

}  // namespace sardonyx::ops
