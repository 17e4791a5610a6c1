// ops/recurrent/attn_lstm.cpp - com.microsoft.AttnLSTM: an LSTM whose input at each step also holds what an attention
// over a memory found after the step before.
//
// D. Bahdanau et al., "Neural Machine Translation by Jointly Learning to Align and Translate" (2014): scores of the
// memory's steps are v . tanh(keys + query), keys = memory MW, query = h QW; the context is the memory weighted by
// their softmax. With AW the attention is [h, context] AW, else the context.
#include <algorithm>
#include <cmath>

#include "ops/operands.h"
#include "ops/product.h"
#include "ops/recurrent/recurrent_cell.h"
#include "ops/recurrent/recurrent_state.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kQueryWeights = 8, kMemoryWeights = 9, kScoreWeights = 10, kMemory = 11, kMemoryLens = 12,
                      kAttentionWeights = 13;

struct AttentionSizes {
  std::int64_t seq, batch, input, hidden, directions;
  std::int64_t steps, depth;  // of the memory
  std::int64_t keys;          // elements of a key
  std::int64_t attention;     // elements that come with the input of a step
};

void ExpectShape(KernelContext& c, std::size_t i, const char* name, std::initializer_list<std::int64_t> expected) {
  if (!c.HasInput(i) || std::ranges::equal(c.Input(i).shape, expected)) return;
  Fail(Code::kInvalidArgument, "input ", i, " ('", name, "'): expected shape ", ToText(Shape(expected)), ", found ",
       ToText(c.Input(i).shape));
}

void ExpectLengths(KernelContext& c, std::size_t i, const char* name, std::int64_t least, std::int64_t most) {
  if (!c.HasInput(i)) return;
  for (const std::int32_t length : c.Input(i).Span<std::int32_t>()) {
    if (length < least || length > most) {
      Fail(Code::kInvalidArgument, "input ", i, " ('", name, "'): expected lengths in [", least, ", ", most,
           "], found ", length);
    }
  }
}

AttentionSizes MakeSizes(KernelContext& c, const RecurrentState& state) {
  for (const std::size_t i : {kX, kR, kMemory, kMemoryWeights, kAttentionWeights}) {
    if (c.HasInput(i) && c.Input(i).rank() != 3)
      Fail(Code::kInvalidArgument, "input ", i, ": expected rank 3, found shape ", ToText(c.Input(i).shape));
  }
  const Dims x = c.Input(kX).shape, memory = c.Input(kMemory).shape;
  AttentionSizes s = {};
  s.seq = x[0], s.batch = x[1], s.input = x[2];
  s.hidden = c.Input(kR).dim(2), s.directions = state.directions;
  s.steps = memory[1], s.depth = memory[2];
  s.keys = c.Input(kMemoryWeights).dim(2);
  s.attention = c.HasInput(kAttentionWeights) ? c.Input(kAttentionWeights).dim(2) : s.depth;
  const std::int64_t d = s.directions, h = s.hidden;
  ExpectShape(c, kW, "W", {d, 4 * h, s.input + s.attention});
  ExpectShape(c, kR, "R", {d, 4 * h, h});
  ExpectShape(c, kB, "B", {d, 8 * h});
  ExpectShape(c, kLens, "sequence_lens", {s.batch});
  ExpectShape(c, kH, "initial_h", {d, s.batch, h});
  ExpectShape(c, kC, "initial_c", {d, s.batch, h});
  ExpectShape(c, kP, "P", {d, 3 * h});
  ExpectShape(c, kQueryWeights, "QW", {d, h, s.keys});
  ExpectShape(c, kMemoryWeights, "MW", {d, s.depth, s.keys});
  ExpectShape(c, kScoreWeights, "V", {d, s.keys});
  ExpectShape(c, kMemory, "M", {s.batch, s.steps, s.depth});
  ExpectShape(c, kMemoryLens, "memory_seq_lens", {s.batch});
  ExpectShape(c, kAttentionWeights, "AW", {d, s.depth + h, s.attention});
  ExpectLengths(c, kLens, "sequence_lens", 0, s.seq);
  ExpectLengths(c, kMemoryLens, "memory_seq_lens", 1, s.steps);
  return s;
}

template <typename T>
Product<T> MakeProduct(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, const T* b, T* c) {
  Product<T> p;
  p.m = m, p.n = n, p.k = k;
  p.a = a, p.lda = k;
  p.b = b, p.ldb = n;
  p.c = c, p.ldc = n;
  return p;
}

template <typename T>
class AttentionRunner {
 public:
  AttentionRunner(KernelContext& c, const RecurrentState& state)
      : c_(c), state_(state), s_(MakeSizes(c, state)), io_(c, kDTypeOf<T>, 1u << kLens | 1u << kMemoryLens) {
    const auto count = [](std::int64_t a, std::int64_t b) {
      return CheckedMul(static_cast<std::size_t>(a), static_cast<std::size_t>(b), "the size of gates");
    };
    const std::int64_t all = 4 * s_.hidden, rows = static_cast<std::int64_t>(count(s_.seq, s_.batch));
    const std::int64_t memory = static_cast<std::int64_t>(count(s_.batch, s_.steps));
    gates_ = io_.template Add<T>(count(rows, all));
    recurrent_ = io_.template Add<T>(count(s_.batch, all));
    bias_ = io_.template Add<T>(static_cast<std::size_t>(all));
    h_ = io_.template Add<T>(count(s_.batch, s_.hidden));
    cell_ = io_.template Add<T>(count(s_.batch, s_.hidden));
    keys_ = io_.template Add<T>(count(memory, s_.keys));
    query_ = io_.template Add<T>(count(s_.batch, s_.keys));
    scores_ = io_.template Add<T>(static_cast<std::size_t>(memory));
    context_ = io_.template Add<T>(count(s_.batch, s_.depth));
    attention_ = io_.template Add<T>(count(s_.batch, s_.attention));
    const int threads = c.parallel().ThreadCount();
    std::size_t bytes = 0;
    for (const Product<T>& p : {InputProduct(0), AttentionProduct(0), HiddenProduct(0), KeyProduct(0), QueryProduct(0),
                                HiddenAttention(0), ContextAttention(0)})
      bytes = std::max(bytes, ProductScratch(p, threads));
    product_ = io_.Add(bytes);
  }

  void Run() {
    if (s_.batch == 0) return;
    const Operands::Computing computing(io_);
    if (c_.HasOutput(0)) std::fill_n(io_.template Out<T>(0), c_.Output(0).count, T(0));
    for (std::int64_t d = 0; d < s_.directions; ++d) RunDirection(d);
  }

 private:
  T* At(std::size_t place) const { return io_.template At<T>(place); }
  const T* In(std::size_t i, std::int64_t direction, std::int64_t size) const {
    const T* in = io_.template In<T>(i);
    return in == nullptr ? nullptr : in + direction * size;
  }
  const T* Weights(std::int64_t d) const { return In(kW, d, 4 * s_.hidden * (s_.input + s_.attention)); }

  // The gates of all steps as far as they come from X; then, step by step, from the attention and from the hidden
  // state.
  Product<T> InputProduct(std::int64_t d) const {
    Product<T> p =
        MakeProduct<T>(s_.seq * s_.batch, 4 * s_.hidden, s_.input, io_.template In<T>(kX), Weights(d), nullptr);
    p.trans_b = true, p.ldb = s_.input + s_.attention;
    return p;
  }
  Product<T> AttentionProduct(std::int64_t d) const {
    const T* weights = Weights(d);
    Product<T> p = MakeProduct<T>(s_.batch, 4 * s_.hidden, s_.attention, nullptr,
                                  weights == nullptr ? nullptr : weights + s_.input, nullptr);
    p.trans_b = true, p.ldb = s_.input + s_.attention, p.accumulate = true;
    return p;
  }
  Product<T> HiddenProduct(std::int64_t d) const {
    Product<T> p =
        MakeProduct<T>(s_.batch, 4 * s_.hidden, s_.hidden, nullptr, In(kR, d, 4 * s_.hidden * s_.hidden), nullptr);
    p.trans_b = true, p.ldb = s_.hidden;
    return p;
  }
  Product<T> KeyProduct(std::int64_t d) const {
    return MakeProduct<T>(s_.batch * s_.steps, s_.keys, s_.depth, io_.template In<T>(kMemory),
                          In(kMemoryWeights, d, s_.depth * s_.keys), nullptr);
  }
  Product<T> QueryProduct(std::int64_t d) const {
    return MakeProduct<T>(s_.batch, s_.keys, s_.hidden, nullptr, In(kQueryWeights, d, s_.hidden * s_.keys), nullptr);
  }
  Product<T> HiddenAttention(std::int64_t d) const {
    return MakeProduct<T>(s_.batch, s_.attention, s_.hidden, nullptr,
                          In(kAttentionWeights, d, (s_.depth + s_.hidden) * s_.attention), nullptr);
  }
  Product<T> ContextAttention(std::int64_t d) const {
    const T* weights = In(kAttentionWeights, d, (s_.depth + s_.hidden) * s_.attention);
    Product<T> p = MakeProduct<T>(s_.batch, s_.attention, s_.depth, nullptr,
                                  weights == nullptr ? nullptr : weights + s_.hidden * s_.attention, nullptr);
    p.accumulate = true;
    return p;
  }
  void Multiply(Product<T> p, const T* a, T* to) {
    p.a = a, p.c = to;
    if (p.k == 0 || p.n == 0) {
      if (!p.accumulate) std::fill_n(to, p.m * p.n, T(0));
      return;
    }
    RunProduct(p, c_.parallel(), io_.At(product_));
  }

  void Load(std::size_t input, std::int64_t d, T* to) const {
    const T* from = In(input, d, s_.batch * s_.hidden);
    if (from == nullptr)
      std::fill_n(to, s_.batch * s_.hidden, T(0));
    else
      std::copy_n(from, s_.batch * s_.hidden, to);
  }
  void AddBias(std::int64_t d, T* gates) const {
    const std::int64_t all = 4 * s_.hidden;
    const T* from = In(kB, d, 2 * all);
    if (from == nullptr) return;
    T* bias = At(bias_);
    for (std::int64_t i = 0; i < all; ++i) bias[i] = from[i] + from[all + i];
    for (std::int64_t row = 0; row < s_.seq * s_.batch; ++row)
      for (std::int64_t i = 0; i < all; ++i) gates[row * all + i] += bias[i];
  }
  std::int64_t LengthOf(std::int64_t b) const {
    return c_.HasInput(kLens) ? c_.Input(kLens).template As<std::int32_t>()[b] : s_.seq;
  }

  void RunDirection(std::int64_t d) {
    const bool reverse = d == 1 || state_.reverse;
    Multiply(InputProduct(d), io_.template In<T>(kX), At(gates_));
    AddBias(d, At(gates_));
    Multiply(KeyProduct(d), io_.template In<T>(kMemory), At(keys_));
    Load(kH, d, At(h_));
    Load(kC, d, At(cell_));
    std::fill_n(At(attention_), s_.batch * s_.attention, T(0));
    CellStep<T> cell;
    cell.units = cell.block = cell.hidden = s_.hidden;
    cell.activations = state_.activations.data() + static_cast<std::size_t>(d) * state_.activations_each;
    cell.clip = state_.clip;
    cell.input_forget = state_.input_forget;
    cell.peephole = In(kP, d, 3 * s_.hidden);
    for (std::int64_t step = 0; step < s_.seq; ++step) {
      c_.CheckCancelled();
      RunStep(d, reverse, step, cell);
    }
    for (const auto& [output, from] : {std::pair<std::size_t, const T*>{1, At(h_)}, {2, At(cell_)}}) {
      if (c_.HasOutput(output))
        std::copy_n(from, s_.batch * s_.hidden, io_.template Out<T>(output) + d * s_.batch * s_.hidden);
    }
  }

  void RunStep(std::int64_t d, bool reverse, std::int64_t step, CellStep<T>& cell) {
    const std::int64_t all = 4 * s_.hidden;
    Multiply(HiddenProduct(d), At(h_), At(recurrent_));
    Multiply(AttentionProduct(d), At(attention_), At(recurrent_));
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      const std::int64_t length = LengthOf(b);
      if (step >= length) continue;
      const std::int64_t time = reverse ? length - 1 - step : step;
      cell.gates = At(gates_) + (time * s_.batch + b) * all;
      cell.recurrent = At(recurrent_) + b * all;
      cell.new_h = At(h_) + b * s_.hidden;
      cell.h = cell.new_h;
      cell.c = At(cell_) + b * s_.hidden;
      LstmStep(cell);
      if (c_.HasOutput(0)) {
        const std::int64_t row = (time * s_.directions + d) * s_.batch + b;
        std::copy_n(cell.new_h, s_.hidden, io_.template Out<T>(0) + row * s_.hidden);
      }
    }
    Attend(d);
  }

  void Attend(std::int64_t d) {
    Multiply(QueryProduct(d), At(h_), At(query_));
    const T* weights = In(kScoreWeights, d, s_.keys);
    c_.parallel().For(s_.batch, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) FindContext(b, weights);
    });
    if (!c_.HasInput(kAttentionWeights)) {
      std::copy_n(At(context_), s_.batch * s_.depth, At(attention_));
      return;
    }
    Multiply(HiddenAttention(d), At(h_), At(attention_));
    Multiply(ContextAttention(d), At(context_), At(attention_));
  }

  void FindContext(std::int64_t b, const T* weights) const {
    const std::int64_t steps =
        c_.HasInput(kMemoryLens) ? c_.Input(kMemoryLens).template As<std::int32_t>()[b] : s_.steps;
    const T *keys = At(keys_) + b * s_.steps * s_.keys, *query = At(query_) + b * s_.keys;
    const T* memory = io_.template In<T>(kMemory) + b * s_.steps * s_.depth;
    T *scores = At(scores_) + b * s_.steps, *context = At(context_) + b * s_.depth;
    std::fill_n(context, s_.depth, T(0));
    if (steps == 0) return;
    for (std::int64_t i = 0; i < steps; ++i) {
      scores[i] = 0;
      for (std::int64_t k = 0; k < s_.keys; ++k) scores[i] += weights[k] * std::tanh(keys[i * s_.keys + k] + query[k]);
    }
    const T most = *std::max_element(scores, scores + steps);
    T sum = 0;
    for (std::int64_t i = 0; i < steps; ++i) {
      scores[i] = std::exp(scores[i] - most);
      sum += scores[i];
    }
    for (std::int64_t i = 0; i < steps; ++i)
      for (std::int64_t k = 0; k < s_.depth; ++k) context[k] += scores[i] / sum * memory[i * s_.depth + k];
  }

  KernelContext& c_;
  const RecurrentState& state_;
  AttentionSizes s_;
  Operands io_;
  std::size_t gates_, recurrent_, bias_, h_, cell_, keys_, query_, scores_, context_, attention_, product_;
};

template <typename T>
void RunAttention(KernelContext& c) {
  AttentionRunner<T>(c, c.state<RecurrentState>()).Run();
}

void InferAttention(InferContext& c) {
  const RecurrentState s = ReadRecurrent(c);
  for (const std::size_t i : {kX, kW, kR, kMemory}) {
    if (c.HasRank(i) && c.Rank(i) != 3)
      c.Fail(Code::kInvalidArgument, c.InputText(i), ": expected rank 3, found ", c.InputType(i).ToText());
  }
  Dim seq, batch, hidden;
  if (c.HasRank(kX)) seq = c.InputDims(kX)[0], batch = c.InputDims(kX)[1];
  if (c.Has("hidden_size")) hidden = Dim(c.Int("hidden_size"));
  if (c.HasRank(kR)) {
    const Dim& found = c.InputDims(kR)[2];
    if (found.known() && hidden.known() && found.number() != hidden.number()) {
      c.Fail(Code::kInvalidArgument, "attribute 'hidden_size': expected ", found.number(),
             ", the last size of R, found ", hidden.number());
    }
    if (!found.unknown()) hidden = found;
  }
  const DType dtype = c.InputDType(kX);
  const Dim directions(s.directions);
  if (c.HasOutput(0)) c.SetOutput(0, dtype, {seq, directions, batch, hidden});
  for (const std::size_t i : {1u, 2u})
    if (c.HasOutput(i)) c.SetOutput(i, dtype, {directions, batch, hidden});
}

Prepared PrepareAttention(PrepareContext& c) {
  for (const std::size_t i : {kQueryWeights, kMemoryWeights, kScoreWeights, kMemory})
    if (!c.HasInput(i)) c.Fail(Code::kInvalidArgument, "expected the input ", c.InputText(i), ", found none");
  const bool is_double = c.InputDType(kX) == DType::kDouble;
  return WithState(is_double ? RunAttention<double> : RunAttention<float>, ReadRecurrent(c));
}

constexpr OpDef kAttnLstmOps[] = {
    {.domain = "com.microsoft",
     .name = "AttnLSTM",
     .since = {1},
     .types = {DType::kFloat, DType::kDouble},
     .infer = InferAttention,
     .prepare = PrepareAttention},
};

}  // namespace

std::span<const OpDef> AttnLstmOps() { return kAttnLstmOps; }

}  // namespace sardonyx::ops
