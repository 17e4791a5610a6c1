// ops/attention/decoder_attention.cpp - com.microsoft DecoderAttention: projections and attention of a decoder over
// itself or over an encoder, with caches, of tensors [sequence, batch, hidden]. What it does is decided by inputs.
#include "ops/attention/decoder_attention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/gemm/gemm.h"
#include "ops/attention/cached_attention.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "tensor/packing.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kQuery = 0, kKey = 1, kQWeight = 2, kKvWeight = 3, kBias = 4, kMask = 5, kKCache = 6, kVCache = 7,
                      kStatic = 8, kUsePast = 9, kHasState = 10, kHasMask = 11;
constexpr std::size_t kY = 0, kNewK = 1, kNewV = 2;
constexpr std::string_view kNames[] = {"query",
                                       "key",
                                       "q_weight",
                                       "kv_weight",
                                       "bias",
                                       "key_padding_mask",
                                       "key_cache",
                                       "value_cache",
                                       "static_kv",
                                       "use_past",
                                       "has_layer_state",
                                       "has_key_padding_mask"};

// A constant matrix as products read it.
struct PackedWeight {
  Tensor packed;
  std::int64_t rows = 0, columns = 0;
};

struct State {
  std::int64_t heads = 1;
  PackedWeight q, kv;
};

std::int64_t ReadHeads(const AttributeReader& c) {
  const std::int64_t heads = c.Int("num_heads");
  if (heads < 1) c.Fail(Code::kInvalidArgument, "attribute 'num_heads': expected at least 1, found ", heads);
  return heads;
}

class Decoder {
 public:
  explicit Decoder(KernelContext& c)
      : c_(c),
        state_(c.state<State>()),
        crosses_(Flag(kStatic)),
        caches_(Flag(kUsePast) && Flag(kHasState)),
        masks_(Flag(kHasMask)) {
    ReadSizes();
    SetRows();
    const std::int64_t cache[] = {batch_, state_.heads, keys_, size_};
    for (const std::size_t i : {kNewK, kNewV})
      if (c.HasOutput(i)) c.Output(i, cache);
  }

  void Run() {
    Operands io(c_, DType::kFloat, SkippedInputs());
    const int threads = c_.parallel().ThreadCount();
    run_.Plan(io, threads);
    kernels::GemmF32Args q = Product(state_.q, rows_, hidden_), kv = Product(state_.kv, kv_rows_, 2 * hidden_);
    const std::size_t q_at = io.Add<float>(Floats(rows_, hidden_)),
                      kv_at = io.Add<float>(Floats(kv_rows_, 2 * hidden_));
    const std::size_t mask_at = io.Add<float>(Floats(masks_ ? batch_ : 0, keys_));
    const std::size_t bytes =
        std::max(kernels::GemmF32ScratchBytes(q, threads), kernels::GemmF32ScratchBytes(kv, threads));
    const std::size_t gemm_at = io.Add(bytes);
    const Operands::Computing computing(io);
    std::byte* scratch = bytes == 0 ? nullptr : io.At(gemm_at);
    Project(io, io.In<float>(kQuery), kQWeight, io.In<float>(kBias), io.At<float>(q_at), &q, scratch);
    if (kv_rows_ > 0) {
      Project(io, io.In<float>(crosses_ ? kKey : kQuery), kKvWeight, io.In<float>(kBias) + hidden_, io.At<float>(kv_at),
              &kv, scratch);
    }
    if (masks_) {
      const bool* hidden = c_.Input(kMask).As<const bool>();
      float* addend = io.At<float>(mask_at);
      for (std::int64_t i = 0; i < batch_ * keys_; ++i)
        addend[i] = hidden[i] ? -std::numeric_limits<float>::infinity() : 0;
      run_.args.bias[0] = {.data = addend, .batch = keys_};
    }
    AttentionData d;
    d.q = io.At<float>(q_at), d.k = io.At<float>(kv_at), d.v = Behind(d.k, hidden_);
    if (caches_) d.past_k = io.In<float>(kKCache), d.past_v = io.In<float>(kVCache);
    if (in_place_) d.k = d.past_k, d.v = d.past_v;
    d.present_k = io.Out<float>(kNewK), d.present_v = io.Out<float>(kNewV);
    d.y = io.Out<float>(kY);
    run_.Run(io, d, c_.parallel());
  }

 private:
  bool Flag(std::size_t i) const {
    if (c_.Input(i).count != 1) {
      Fail(Code::kInvalidArgument, "input ", i, " ('", kNames[i], "'): expected one element, found shape ",
           ToText(c_.Input(i).shape));
    }
    return *c_.Input(i).As<const bool>();
  }

  static std::size_t Floats(std::int64_t rows, std::int64_t row) {
    return CheckedMul(static_cast<std::size_t>(rows), static_cast<std::size_t>(row), "projections");
  }

  static void Expect(std::size_t i, Dims shape, std::initializer_list<std::int64_t> want) {
    const Dims wanted(want.begin(), want.size());
    if (Shape::Equal(shape, wanted)) return;
    Fail(Code::kInvalidArgument, "input ", i, " ('", kNames[i], "'): expected ", ToText(wanted), ", found ",
         ToText(shape));
  }
  // Memory of packed weights is released; their shape is kept.
  void ExpectWeight(std::size_t i, const PackedWeight& weight, std::int64_t columns) const {
    const std::int64_t kept[] = {weight.rows, weight.columns};
    Expect(i, weight.packed.defined() ? Dims(kept) : c_.Input(i).shape, {hidden_, columns});
  }

  void ReadSizes() {
    const Dims query = c_.Input(kQuery).shape, key = c_.Input(kKey).shape;
    constexpr std::int64_t kMost = std::int64_t{1} << 40;  // three hidden sizes are a number
    if (query.size() != 3 || query[2] < 1 || query[2] > kMost || query[2] % state_.heads != 0) {
      Fail(Code::kInvalidArgument, "input 0 ('query'): expected [sequence, batch, a multiple of ", state_.heads,
           " heads], found ", ToText(query));
    }
    sequence_ = query[0], batch_ = query[1], hidden_ = query[2], size_ = hidden_ / state_.heads;
    Expect(kKey, key, {key.empty() ? 0 : key[0], batch_, hidden_});
    ExpectWeight(kQWeight, state_.q, hidden_);
    ExpectWeight(kKvWeight, state_.kv, 2 * hidden_);
    Expect(kBias, c_.Input(kBias).shape, {3 * hidden_});
    for (const std::size_t i : {kKCache, kVCache}) {
      if (!caches_) continue;
      if (!c_.HasInput(i))
        Fail(Code::kInvalidArgument, "input ", i, " ('", kNames[i], "'): expected one with use_past, found none");
      const Dims cache = c_.Input(i).shape, first = c_.Input(kKCache).shape;
      Expect(i, cache, {batch_, state_.heads, first.size() == 4 ? first[2] : 0, size_});
    }
    past_ = caches_ ? c_.Input(kKCache).dim(2) : 0;
    const std::int64_t fresh = !crosses_ ? sequence_ : caches_ ? 0 : key[0];
    keys_ = past_ + fresh, rows_ = sequence_ * batch_, kv_rows_ = fresh * batch_;
    if (!masks_) return;
    if (!c_.HasInput(kMask))
      Fail(Code::kInvalidArgument, "input 5 ('key_padding_mask'): expected one with has_key_padding_mask, found none");
    Expect(kMask, c_.Input(kMask).shape, {batch_, keys_});
  }

  // How queries, new keys and values, and the cached ones lie.
  void SetRows() {
    const auto rows = [&](std::int64_t sequence, std::int64_t row) {
      return Heads{batch_, state_.heads, sequence, size_, {.batch = row, .head = size_, .row = batch_ * row}};
    };
    run_.q = run_.y = rows(sequence_, hidden_);
    run_.k = run_.v = rows(keys_ - past_, 2 * hidden_);
    run_.past = run_.past_rows = past_;
    run_.cache_rows = keys_;
    run_.present_k = c_.HasOutput(kNewK), run_.present_v = c_.HasOutput(kNewV);
    run_.gather_k = run_.present_k || past_ > 0, run_.gather_v = run_.present_v || past_ > 0;
    in_place_ = caches_ && crosses_ && !run_.present_k && !run_.present_v;
    if (in_place_) {  // nothing is new: caches are read where they are
      run_.gather_k = run_.gather_v = false;
      run_.k = run_.v = BlocksOfHeads(batch_, state_.heads, keys_, size_);
      run_.past = run_.past_rows = 0;
    }
    run_.args.scale = 1 / std::sqrt(static_cast<float>(size_));
  }

  std::uint32_t SkippedInputs() const {
    std::uint32_t skip = 1u << kMask | 1u << kStatic | 1u << kUsePast | 1u << kHasState | 1u << kHasMask;
    if (!caches_) skip |= 1u << kKCache | 1u << kVCache;
    if (!crosses_ || caches_) skip |= 1u << kKey;
    if (state_.q.packed.defined()) skip |= 1u << kQWeight;
    if (state_.kv.packed.defined() || kv_rows_ == 0) skip |= 1u << kKvWeight;
    return skip;
  }

  kernels::GemmF32Args Product(const PackedWeight& weight, std::int64_t rows, std::int64_t columns) const {
    kernels::GemmF32Args g;
    g.m = rows, g.k = hidden_, g.n = columns;
    g.lda = g.k, g.ldb = g.n, g.ldc = g.n;
    if (weight.packed.defined()) g.packed_b = weight.packed.data<float>();
    return g;
  }

  void Project(const Operands& io, const float* x, std::size_t weight, const float* bias, float* y,
               kernels::GemmF32Args* g, std::byte* scratch) const {
    g->a = x, g->c = y, g->epilogue.bias_n = bias;
    if (g->packed_b == nullptr) g->b = io.In<float>(weight);
    kernels::GemmF32(*g, c_.parallel(), scratch);
  }

  KernelContext& c_;
  const State& state_;
  bool crosses_, caches_, masks_, in_place_ = false;
  std::int64_t sequence_ = 0, batch_ = 0, hidden_ = 0, size_ = 0;
  std::int64_t past_ = 0, keys_ = 0, rows_ = 0, kv_rows_ = 0;  // keys_: those of the past, and the new ones
  CachedAttention run_;
};

void RunDecoder(KernelContext& c) { Decoder(c).Run(); }

PackedWeight Pack(PrepareContext& c, std::size_t i) {
  const Tensor* weight = c.Constant(i);
  if (weight == nullptr || weight->shape().rank() != 2 || weight->count() == 0) return {};
  c.MarkPacked(i);
  PackedWeight w = {.rows = weight->shape()[0], .columns = weight->shape()[1]};
  const auto count = static_cast<std::int64_t>(kernels::GemmF32PackedCount(w.rows, w.columns));
  w.packed = Packed(DType::kFloat, Shape{count}, [&](Tensor& packed) {
    Tensor floats = *weight;
    if (weight->dtype() != DType::kFloat) {
      floats = Tensor(DType::kFloat, weight->shape());
      Convert(weight->dtype(), weight->raw(), DType::kFloat, floats.raw(), weight->count(), c.parallel());
    }
    kernels::PackGemmF32B(w.rows, w.columns, floats.data<float>(), w.columns, false, packed.data<float>(),
                          c.parallel());
  });
  return w;
}

}  // namespace

void InferDecoderAttention(InferContext& c) {
  const std::int64_t heads = ReadHeads(c);
  constexpr std::size_t kRanks[] = {3, 3, 2, 2, 1};  // whether the others are read, inputs of a run say
  for (std::size_t i = 0; i < std::size(kRanks); ++i) {
    if (c.HasRank(i) && c.Rank(i) != kRanks[i]) {
      c.Fail(Code::kInvalidArgument, c.InputText(i), ": expected rank ", kRanks[i], ", found ",
             c.InputType(i).ToText());
    }
  }
  const DType dtype = c.InputDType(kQuery);
  if (!c.HasRank(kQuery)) {
    for (const std::size_t i : {kY, kNewK, kNewV})
      if (c.HasOutput(i)) c.SetOutput(i, dtype);
    return;
  }
  const std::vector<Dim>& query = c.InputDims(kQuery);
  c.SetOutput(kY, dtype, query);
  for (const std::size_t i : {kNewK, kNewV})
    if (c.HasOutput(i)) c.SetOutput(i, dtype, {query[1], Dim(heads), Dim(), FloorDiv(query[2], Dim(heads))});
}

Prepared PrepareDecoderAttention(PrepareContext& c) {
  State state{.heads = ReadHeads(c), .q = Pack(c, kQWeight), .kv = Pack(c, kKvWeight)};
  return WithState(RunDecoder, std::move(state));
}

}  // namespace sardonyx::ops
