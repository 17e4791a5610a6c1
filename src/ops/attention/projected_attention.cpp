// ops/attention/projected_attention.cpp - com.microsoft Attention, DecoderMaskedSelfAttention and QAttention: one
// product (of floats or of 8-bit integers) projects the input to queries, keys and values; then attention by heads,
// with an optional cache of keys and values [2, batch, heads, sequence, size].
#include <algorithm>
#include <cmath>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_int8.h"
#include "ops/attention/attention_cost.h"
#include "ops/attention/attention_mask.h"
#include "ops/attention/cached_attention.h"
#include "ops/attention/decoder_attention.h"
#include "ops/attention/longformer_attention.h"
#include "ops/attention/ordered_attention.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/same_rows.h"
#include "tensor/packing.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kX = 0, kWeights = 1, kBias = 2;
constexpr std::size_t kY = 0, kPresent = 1;
constexpr std::size_t kAbsent = 99;  // no such input

// Where the operators have their other inputs.
struct Inputs {
  std::size_t mask, past, addend, past_length;
  std::size_t x_scale = kAbsent, weight_scale = kAbsent, x_zero = kAbsent, weight_zero = kAbsent;
  std::size_t beams = kAbsent, indirection = kAbsent;
};
constexpr Inputs kFloatInputs = {3, 4, 5, 6};
constexpr Inputs kQuantizedInputs = {5, 8, kAbsent, kAbsent, 3, 4, 6, 7};
constexpr Inputs kDecoderInputs = {3, 4, 5, 6, kAbsent, kAbsent, kAbsent, kAbsent, 7, 8};

struct State {
  Inputs in = kFloatInputs;
  bool quantized = false;
  bool decoder = false;  // DecoderMaskedSelfAttention: one new token for each sequence
  bool shared = true;    // with a past_sequence_length, the caches are as long as they will ever be
  bool weights_signed = false;
  std::int64_t heads = 1;
  std::int64_t hidden[3] = {0, 0, 0};  // of Q, K, V; 0: a third of the weights' columns each
  float scale = 0;                     // 0: 1 / sqrt(size)
  float filter = -10000;
  bool causal = false;
  bool same_rows = false;  // see GemmF32Args and AttentionF32Args
  Tensor packed;           // the weights, if constant
  std::int64_t columns = 0, inner = 0;
};

State ReadState(const AttributeReader& c) {
  State s;
  s.quantized = c.op_type() == "QAttention";
  if (s.quantized) s.in = kQuantizedInputs;
  s.decoder = c.op_type() == "DecoderMaskedSelfAttention";
  if (s.decoder) s.in = kDecoderInputs, s.shared = c.Flag("past_present_share_buffer");
  s.heads = c.Int("num_heads");
  if (s.heads < 1) c.Fail(Code::kInvalidArgument, "attribute 'num_heads': expected at least 1, found ", s.heads);
  const std::vector<std::int64_t> sizes = c.Ints("qkv_hidden_sizes");
  if (!sizes.empty() && sizes.size() != 3) {
    c.Fail(Code::kInvalidArgument, "attribute 'qkv_hidden_sizes': expected 3 values, found ", sizes.size());
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    constexpr std::int64_t kMost = std::int64_t{1} << 40;  // three of them are a number
    if (sizes[i] < 1 || sizes[i] > kMost || sizes[i] % s.heads != 0) {
      c.Fail(Code::kInvalidArgument, "attribute 'qkv_hidden_sizes': expected sizes in [1, ", kMost,
             "] and divisible by ", s.heads, " heads, found ", sizes[i]);
    }
    s.hidden[i] = sizes[i];
  }
  if (s.hidden[0] != s.hidden[1]) {
    c.Fail(Code::kInvalidArgument, "attribute 'qkv_hidden_sizes': expected one size for Q and K, found ", s.hidden[0],
           " and ", s.hidden[1]);
  }
  s.scale = c.Float("scale", 0);
  s.filter = c.Float("mask_filter_value", -10000);
  s.causal = c.Flag("unidirectional");
  return s;
}

void InferProjected(InferContext& c) {
  const State s = ReadState(c);
  const DType dtype = c.InputDType(s.quantized ? kBias : kX);
  if (!c.HasRank(kX) || !c.HasRank(kWeights)) {
    c.SetOutput(kY, dtype);
    if (c.HasOutput(kPresent)) c.SetOutput(kPresent, dtype);
    return;
  }
  if (c.Rank(kX) != 3 || c.Rank(kWeights) != 2) {
    c.Fail(Code::kInvalidArgument, "expected an input of rank 3 and weights of rank 2, found ",
           c.InputType(kX).ToText(), " and ", c.InputType(kWeights).ToText());
  }
  const std::vector<Dim>& x = c.InputDims(kX);
  const Dim third = FloorDiv(c.InputDims(kWeights)[1], Dim(3));
  const Dim k_hidden = s.hidden[1] > 0 ? Dim(s.hidden[1]) : third,
            v_hidden = s.hidden[2] > 0 ? Dim(s.hidden[2]) : third;
  c.SetOutput(kY, dtype, {x[0], x[1], v_hidden});
  if (!c.HasOutput(kPresent)) return;
  const bool has_past = c.HasInput(s.in.past) && c.HasRank(s.in.past) && c.Rank(s.in.past) == 5;
  const Dim past = !c.HasInput(s.in.past) ? Dim(0) : has_past ? c.InputDims(s.in.past)[3] : Dim();
  c.SetOutput(kPresent, dtype,
              {Dim(2), x[0], Dim(s.heads), c.HasInput(s.in.past_length) && s.shared ? past : past + x[1],
               FloorDiv(k_hidden, Dim(s.heads))});
}

class Projected {
 public:
  explicit Projected(KernelContext& c)
      : c_(c), state_(c.state<State>()), in_(state_.in), io_(c, DType::kFloat, SkippedInputs(state_)) {
    const Dims x = c.Input(kX).shape;
    batch_ = x[0], rows_ = x[0] * x[1];
    SetGemm(x);
    if (state_.quantized) SetInt8();
    const std::int64_t third = gemm_.n / 3;
    const std::int64_t hidden = state_.hidden[0] > 0 ? state_.hidden[0] : third,
                       v_hidden = state_.hidden[2] > 0 ? state_.hidden[2] : third;
    if (2 * hidden + v_hidden != gemm_.n || hidden % state_.heads != 0) {
      Fail(Code::kInvalidArgument, "expected weights for hidden sizes ", hidden, ", ", hidden, " and ", v_hidden,
           ", divisible by ", state_.heads, " heads, found ", gemm_.n, " columns");
    }
    run_.q = run_.k = RowsOfHeads(x[0], x[1], state_.heads, hidden / state_.heads, gemm_.n);
    run_.v = RowsOfHeads(x[0], x[1], state_.heads, v_hidden / state_.heads, gemm_.n);
    run_.y = RowsOfHeads(x[0], x[1], state_.heads, v_hidden / state_.heads, v_hidden);
    hidden_ = hidden;
    if (state_.decoder) CheckDecoder(x);
    ReadPast();
    if (c.HasInput(in_.indirection)) ReadBeams();
    run_.args.scale = state_.scale != 0 ? state_.scale : 1 / std::sqrt(static_cast<float>(run_.q.size));
    run_.args.causal = state_.causal;
    run_.args.same_rows = state_.same_rows;
    run_.args.position = run_.past;
    run_.Plan(io_, c.parallel().ThreadCount());
    scores_ = {x[0], x[1], run_.args.keys, state_.filter};
    if (c.HasInput(in_.mask)) {
      mask_at_ = io_.Add<float>(static_cast<std::size_t>(MaskAddendCount(c.Input(in_.mask), scores_)));
    }
    if (KeysInGroups()) keys_at_ = io_.Add<float>(static_cast<std::size_t>(Half(run_.cache_rows)));
    projected_at_ = io_.Add<float>(static_cast<std::size_t>(rows_ * gemm_.n));
    if (state_.quantized) {
      sums_at_ = io_.Add<std::int32_t>(static_cast<std::size_t>(rows_ * gemm_.n));
      gemm_bytes_ = kernels::GemmInt8ScratchBytes(int8_, c.parallel().ThreadCount());
    } else {
      gemm_bytes_ = kernels::GemmF32ScratchBytes(gemm_, c.parallel().ThreadCount());
    }
    gemm_at_ = io_.Add(gemm_bytes_);
  }

  void Run() {
    const Operands::Computing computing(io_);
    gemm_.c = io_.At<float>(projected_at_);
    state_.quantized ? ProjectInt8() : ProjectFloat();
    if (c_.HasInput(in_.mask)) run_.args.bias[0] = MaskAddend(c_.Input(in_.mask), scores_, io_.At<float>(mask_at_));
    if (c_.HasInput(in_.addend)) {
      run_.args.bias[1] = BroadcastAddend(c_.Input(in_.addend).shape, io_.In<float>(in_.addend), state_.heads, scores_);
    }
    AttentionData d;
    d.q = gemm_.c, d.k = Behind(d.q, hidden_), d.v = Behind(d.k, hidden_);
    d.y = io_.Out<float>(kY);
    if (c_.HasInput(in_.past)) d.past_k = io_.In<float>(in_.past), d.past_v = Behind(d.past_k, Half(run_.past_rows));
    if (run_.present_k)
      d.present_k = io_.Out<float>(kPresent), d.present_v = Behind(d.present_k, Half(run_.cache_rows));
    if (!KeysInGroups()) return run_.Run(io_, d, c_.parallel());
    float *keys = io_.At<float>(keys_at_), *present = d.present_k;
    MoveKeys(d.past_k, false, keys);
    d.past_k = d.present_k = keys;
    run_.Run(io_, d, c_.parallel());
    MoveKeys(keys, true, present);
  }

 private:
  // Integers and packed weights are not converted to floats.
  static std::uint32_t SkippedInputs(const State& s) {
    std::uint32_t skip = 1u << s.in.mask;
    if (s.packed.defined() || s.quantized) skip |= 1u << kWeights;
    if (s.quantized) return skip | 1u << kX | 1u << s.in.x_zero | 1u << s.in.weight_zero;
    if (s.decoder) skip |= 1u << s.in.beams | 1u << s.in.indirection;
    return skip | 1u << s.in.past_length;
  }

  void ProjectFloat() {
    gemm_.a = io_.In<float>(kX);
    gemm_.b = state_.packed.defined() ? nullptr : io_.In<float>(kWeights);
    gemm_.epilogue.bias_n = io_.In<float>(kBias);
    kernels::GemmF32(gemm_, c_.parallel(), gemm_bytes_ == 0 ? nullptr : io_.At(gemm_at_));
  }

  void SetInt8() {
    kernels::GemmInt8Args& g = int8_;
    g.m = gemm_.m, g.n = gemm_.n, g.k = gemm_.k;
    g.a = c_.Input(kX).data, g.lda = gemm_.lda, g.a_signed = c_.Input(kX).dtype == DType::kInt8;
    const bool packed = state_.packed.defined();
    g.b_signed = packed ? state_.weights_signed : c_.Input(kWeights).dtype == DType::kInt8;
    g.b = packed ? nullptr : c_.Input(kWeights).data, g.ldb = gemm_.ldb;
    if (packed) g.packed_b = state_.packed.raw();
    g.ldc = gemm_.n;
    if (c_.HasInput(in_.x_zero)) g.a_zero = c_.Input(in_.x_zero).data;
    if (c_.HasInput(in_.weight_zero)) {
      g.b_zero = c_.Input(in_.weight_zero).data;
      g.b_zero_per_column = c_.Input(in_.weight_zero).count > 1;
    }
    for (const std::size_t i : {in_.weight_scale, in_.weight_zero}) {
      if (c_.HasInput(i) && c_.Input(i).count != 1 && c_.Input(i).count != gemm_.n) {
        Fail(Code::kInvalidArgument, "expected 1 or ", gemm_.n, " scales and zero points of the weights, found ",
             ToText(c_.Input(i).shape));
      }
    }
    if (c_.Input(in_.x_scale).count != 1 || (c_.HasInput(in_.x_zero) && c_.Input(in_.x_zero).count != 1)) {
      Fail(Code::kInvalidArgument, "expected one scale and one zero point of the input, found ",
           ToText(c_.Input(in_.x_scale).shape));
    }
  }

  void ProjectInt8() {
    int8_.c = io_.At<std::int32_t>(sums_at_);
    kernels::GemmInt8(int8_, c_.parallel(), gemm_bytes_ == 0 ? nullptr : io_.At(gemm_at_));
    const std::int64_t n = gemm_.n;
    const float x_scale = io_.In<float>(in_.x_scale)[0];
    const float *scales = io_.In<float>(in_.weight_scale), *bias = io_.In<float>(kBias);
    const std::int64_t step = c_.Input(in_.weight_scale).count > 1 ? 1 : 0;
    c_.parallel().For(rows_, std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, n)),
                      [&](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t r = begin; r < end; ++r) {
                          const std::int32_t* sums = static_cast<const std::int32_t*>(int8_.c) + r * n;
                          float* y = gemm_.c + r * n;
                          for (std::int64_t i = 0; i < n; ++i) {
                            y[i] = static_cast<float>(sums[i]) * (x_scale * scales[i * step]) +
                                   (bias != nullptr ? bias[i] : 0);
                          }
                        }
                      });
  }

  void SetGemm(Dims x) {
    const bool packed = state_.packed.defined();
    gemm_.same_rows = state_.same_rows;
    gemm_.m = rows_, gemm_.k = x[2], gemm_.n = packed ? state_.columns : c_.Input(kWeights).dim(1);
    const std::int64_t inner = packed ? state_.inner : c_.Input(kWeights).dim(0);
    if (inner != x[2]) {
      Fail(Code::kInvalidArgument, "expected weights of ", x[2], " rows for the input ", ToText(x), ", found ", inner);
    }
    if (c_.HasInput(kBias) && c_.Input(kBias).count != gemm_.n) {
      Fail(Code::kInvalidArgument, "expected a bias [", gemm_.n, "], found ", ToText(c_.Input(kBias).shape));
    }
    gemm_.lda = gemm_.k, gemm_.ldb = gemm_.n, gemm_.ldc = gemm_.n;
    if (packed && !state_.quantized) gemm_.packed_b = state_.packed.data<float>();
  }

  void ReadPast() {
    if (c_.HasInput(in_.past)) {
      const Dims past = c_.Input(in_.past).shape;
      run_.past_rows = past.size() == 5 ? past[3] : 0;
      const std::int64_t want[] = {2, batch_, state_.heads, run_.past_rows, run_.k.size};
      if (!Shape::Equal(past, want) || run_.k.size != run_.v.size) {
        Fail(Code::kInvalidArgument, "expected a past ", ToText(want), " with keys and values of one size, found ",
             ToText(past));
      }
    }
    run_.past = run_.past_rows;
    run_.cache_rows = run_.past_rows + run_.k.sequence;
    if (c_.HasInput(in_.past_length) && c_.HasInput(in_.past) && state_.shared) {
      run_.past = IntAt(c_.Input(in_.past_length), 0);
      run_.cache_rows = run_.past_rows;
      if (run_.past < 0 || run_.past + run_.k.sequence > run_.past_rows) {
        Fail(Code::kInvalidArgument, "expected past_sequence_length in [0, ", run_.past_rows - run_.k.sequence,
             "], found ", run_.past);
      }
    }
    run_.present_k = run_.present_v = c_.HasOutput(kPresent);
    run_.gather_k = run_.gather_v = c_.HasInput(in_.past) || c_.HasOutput(kPresent);
    if (run_.present_k && run_.k.size != run_.v.size) {
      Fail(Code::kInvalidArgument, "expected keys and values of one size for output 'present', found ", run_.k.size,
           " and ", run_.v.size);
    }
  }

  // ---- DecoderMaskedSelfAttention.
  void CheckDecoder(Dims x) const {
    if (x[1] != 1) Fail(Code::kInvalidArgument, "input 0 ('input'): expected [batch, 1, hidden], found ", ToText(x));
    const TensorRef &length = c_.Input(in_.past_length), &past = c_.Input(in_.past);
    if (length.count != 1) {
      Fail(Code::kInvalidArgument, "input 6 ('past_sequence_length'): expected one element, found shape ",
           ToText(length.shape));
    }
    if (!state_.shared && past.rank() == 5 && IntAt(length, 0) != past.dim(3)) {
      Fail(Code::kInvalidArgument, "input 6 ('past_sequence_length'): expected the length of the past, ", past.dim(3),
           ", without past_present_share_buffer, found ", IntAt(length, 0));
    }
    if (c_.HasInput(in_.mask) && c_.Input(in_.mask).rank() != 2) {
      Fail(Code::kInvalidArgument, "input 3 ('mask_index'): expected [batch, total sequence], found ",
           ToText(c_.Input(in_.mask).shape));
    }
    if (KeysInGroups() && run_.k.size % KeyGroup() != 0) {
      Fail(Code::kInvalidArgument, "input 4 ('past'): expected heads of a size divisible by ", KeyGroup(),
           " with past_present_share_buffer, found ", run_.k.size);
    }
  }

  // [batch / beams, beams, positions]: the beam whose cache has the key.
  void ReadBeams() {
    const TensorRef& table = c_.Input(in_.indirection);
    const bool counted = c_.HasInput(in_.beams);
    if (counted && c_.Input(in_.beams).count != 1) {
      Fail(Code::kInvalidArgument, "input 7 ('beam_width'): expected one element, found shape ",
           ToText(c_.Input(in_.beams).shape));
    }
    const std::int64_t beams = counted ? IntAt(c_.Input(in_.beams), 0) : table.rank() == 3 ? table.dim(1) : 1;
    if (table.rank() != 3 || beams < 1 || batch_ % beams != 0 || table.dim(1) != beams ||
        table.dim(0) != batch_ / beams || table.dim(2) < run_.past) {
      Fail(Code::kInvalidArgument, "input 8 ('cache_indirection'): expected [", batch_, " / beams, beams, ", run_.past,
           " or more], found ", ToText(table.shape), " and ", beams, " beams");
    }
    run_.beams = beams;
    run_.beam_table = table.As<const std::int32_t>();
    run_.beam_table_rows = table.dim(2);
  }

  // A shared cache keeps the keys of a head as [size / group, rows, group], groups of 16 bytes; values lie in rows.
  bool KeysInGroups() const { return state_.decoder && state_.shared; }
  std::int64_t KeyGroup() const { return c_.Input(kX).dtype == DType::kFloat ? 4 : 8; }

  std::int64_t Half(std::int64_t rows) const { return batch_ * state_.heads * rows * run_.k.size; }

  void MoveKeys(const float* from, bool into_groups, float* to) const {
    const std::int64_t rows = run_.cache_rows, size = run_.k.size, group = KeyGroup(), head = rows * size;
    c_.parallel().For(batch_ * state_.heads, std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, head)),
                      [&](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t i = begin * head; i < end * head; i += head) {
                          for (std::int64_t row = 0; row < rows; ++row) {
                            for (std::int64_t k = 0; k < size; k += group) {
                              const std::int64_t plain = i + row * size + k, grouped = i + k * rows + row * group;
                              std::copy_n(from + (into_groups ? plain : grouped), group,
                                          to + (into_groups ? grouped : plain));
                            }
                          }
                        }
                      });
  }

  KernelContext& c_;
  const State& state_;
  const Inputs& in_;
  Operands io_;
  CachedAttention run_;
  kernels::GemmF32Args gemm_;
  kernels::GemmInt8Args int8_;  // QAttention
  MaskedScores scores_;
  std::int64_t batch_ = 0, rows_ = 0, hidden_ = 0;
  std::size_t mask_at_ = 0, keys_at_ = 0, projected_at_ = 0, sums_at_ = 0, gemm_at_ = 0, gemm_bytes_ = 0;
};

void RunProjected(KernelContext& c) { Projected(c).Run(); }

void PackWeights(PrepareContext& c, State* state) {
  const Tensor* weights = c.Constant(kWeights);
  if (weights == nullptr || weights->shape().rank() != 2 || weights->count() == 0) return;
  c.MarkPacked(kWeights);
  if (state->quantized) {
    state->inner = weights->shape()[0], state->columns = weights->shape()[1];
    state->weights_signed = weights->dtype() == DType::kInt8;
    const std::size_t bytes = kernels::GemmInt8PackedBytes(state->inner, state->columns);
    state->packed = Packed(DType::kUInt8, Shape{static_cast<std::int64_t>(bytes)}, [&](Tensor& packed) {
      kernels::PackGemmInt8B(state->inner, state->columns, weights->raw(), state->columns, state->weights_signed,
                             packed.raw(), c.parallel());
    });
    return;
  }
  state->inner = weights->shape()[0], state->columns = weights->shape()[1];
  const auto count = static_cast<std::int64_t>(kernels::GemmF32PackedCount(state->inner, state->columns));
  state->packed = Packed(DType::kFloat, Shape{count}, [&](Tensor& packed) {
    Tensor floats = *weights;
    if (weights->dtype() != DType::kFloat) {
      floats = Tensor(DType::kFloat, weights->shape());
      Convert(weights->dtype(), weights->raw(), DType::kFloat, floats.raw(), weights->count(), c.parallel());
    }
    kernels::PackGemmF32B(state->inner, state->columns, floats.data<float>(), state->columns, false,
                          packed.data<float>(), c.parallel());
  });
}

Prepared PrepareProjected(PrepareContext& c) {
  State state = ReadState(c);
  if (c.Flag("do_rotary")) c.Unsupported("attribute 'do_rotary'");
  PackWeights(c, &state);
  state.same_rows = WantsSameRows();
  return WithState(RunProjected, std::move(state));
}

void CountProjected(CostContext& c) {
  const bool has_state = c.Out(1).present() && c.Out(1).rank() == 5;
  const double keys = has_state ? CostContext::DimOf(c.Out(1), 3) : CostContext::DimOf(c.In(0), 1);
  c.SetOperations(2 * c.CountIn(0) * CostContext::DimOf(c.In(1), 1) + OperationsOverKeys(c, keys));
}

constexpr OpDef kProjectedAttentionOps[] = {
    {.domain = "com.microsoft",
     .name = "Attention",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16, DType::kBFloat16},
     .infer = InferProjected,
     .prepare = PrepareProjected,
     .cost = CountProjected,
     .traits = kPacksWeights},
    {.domain = "com.microsoft",
     .name = "DecoderAttention",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16},
     .infer = InferDecoderAttention,
     .prepare = PrepareDecoderAttention},
    {.domain = "com.microsoft",
     .name = "DecoderMaskedSelfAttention",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16},
     .infer = InferProjected,
     .prepare = PrepareProjected,
     .cost = CountProjected},
    {.domain = "com.microsoft",
     .name = "LongformerAttention",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16},
     .infer = InferLongformer,
     .prepare = PrepareLongformer},
    {.domain = "com.microsoft",
     .name = "QAttention",
     .since = {1},
     .types = {DType::kInt8, DType::kUInt8},
     .infer = InferProjected,
     .prepare = PrepareProjected,
     .cost = CountProjected},
    {.domain = "com.microsoft",
     .name = "QOrderedAttention",
     .since = {1},
     .types = {DType::kInt8},
     .infer = InferOrderedAttention,
     .prepare = PrepareOrderedAttention},
    {.domain = "com.microsoft",
     .name = "QOrderedLongformerAttention",
     .since = {1},
     .types = {DType::kInt8},
     .infer = InferLongformer,
     .prepare = PrepareOrderedLongformer},
};

}  // namespace

std::span<const OpDef> ProjectedAttentionOps() { return kProjectedAttentionOps; }

}  // namespace sardonyx::ops
