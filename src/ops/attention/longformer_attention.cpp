// ops/attention/longformer_attention.cpp - com.microsoft LongformerAttention: a token sees those up to `window`
// positions away and all global tokens; a global token sees every token, with projections of its own.
//
// The work grows with sequence * (window + global tokens): a block of queries meets the keys that one of them sees,
// gathered in one piece, and an addend hides what the others see.
#include "ops/attention/longformer_attention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/gemm/gemm.h"
#include "ops/attention/heads.h"
#include "ops/operands.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kX = 0, kWeights = 1, kBias = 2, kMask = 3, kGlobalWeights = 4, kGlobalBias = 5, kGlobal = 6;

struct State {
  std::int64_t heads = 1, window = 1;
};

State ReadState(const AttributeReader& c) {
  const State s = {c.Int("num_heads"), c.Int("window")};
  constexpr std::int64_t kMost = std::int64_t{1} << 40;  // sums and products of a few stay numbers
  if (s.heads < 1 || s.heads > kMost) {
    c.Fail(Code::kInvalidArgument, "attribute 'num_heads': expected at least 1, found ", s.heads);
  }
  if (s.window < 1 || s.window > kMost) {
    c.Fail(Code::kInvalidArgument, "attribute 'window': expected at least 1, found ", s.window);
  }
  return s;
}

class Longformer {
 public:
  explicit Longformer(KernelContext& c) : c_(c), state_(c.state<State>()), io_(c, DType::kFloat, 1u << kGlobal) {
    CheckShapes();
    FindGlobals();
    args_.heads = args_.kv_heads = state_.heads;
    args_.batch = 1;
    args_.size = args_.value_size = hidden_ / state_.heads;
    args_.scale = 1 / std::sqrt(static_cast<float>(args_.size));
    // Short blocks would pack the same keys again and again; long ones would compute scores that nobody sees.
    block_ = std::min(sequence_, std::clamp<std::int64_t>(state_.window, 64, 256));
    most_keys_ = std::min(sequence_, block_ + 2 * state_.window + most_globals_);
    const auto floats = [this](std::int64_t rows, std::int64_t row) {
      return io_.Add<float>(CheckedMul(static_cast<std::size_t>(rows), static_cast<std::size_t>(row), "attention"));
    };
    projected_at_ = floats(batch_ * sequence_, 3 * hidden_);
    global_at_ = floats(most_globals_ > 0 ? batch_ * sequence_ : 0, 3 * hidden_);
    keys_at_ = floats(2 * most_keys_, hidden_);
    rows_at_ = floats(2 * most_globals_, hidden_);
    addend_at_ = floats(block_, most_keys_);
    gemm_bytes_ = kernels::GemmF32ScratchBytes(Product(), c.parallel().ThreadCount());
    gemm_at_ = io_.Add(gemm_bytes_);
    scratch_at_ = io_.Add(std::max(ScratchBytes(block_, most_keys_), ScratchBytes(most_globals_, sequence_)));
  }

  void Run() {
    if (c_.Input(kX).count == 0) return;
    const Operands::Computing computing(io_);
    mask_ = io_.In<float>(kMask), y_ = io_.Out<float>(0);
    Project(kWeights, kBias, io_.At<float>(projected_at_));
    if (most_globals_ > 0) Project(kGlobalWeights, kGlobalBias, io_.At<float>(global_at_));
    for (std::int64_t b = 0; b < batch_; ++b) {
      c_.CheckCancelled();
      for (std::int64_t begin = 0; begin < sequence_; begin += block_) {
        RunBlock(b, begin, std::min(sequence_, begin + block_));
      }
      RunGlobals(b);
      for (std::int64_t s = 0; s < sequence_; ++s) {
        if (mask_[b * sequence_ + s] < 0) std::fill_n(y_ + (b * sequence_ + s) * hidden_, hidden_, 0.0f);
      }
    }
  }

 private:
  void Expect(std::size_t i, const char* name, std::initializer_list<std::int64_t> want) const {
    const Dims shape = c_.Input(i).shape;
    if (Shape::Equal(shape, Dims(want.begin(), want.size()))) return;
    Fail(Code::kInvalidArgument, "input ", i, " ('", name, "'): expected ", ToText(Dims(want.begin(), want.size())),
         ", found ", ToText(shape));
  }

  void CheckShapes() {
    const Dims x = c_.Input(kX).shape;
    if (x.size() != 3) {
      Fail(Code::kInvalidArgument, "input 0 ('input'): expected [batch, sequence, hidden], found ", ToText(x));
    }
    batch_ = x[0], sequence_ = x[1], hidden_ = x[2];
    if (sequence_ % (2 * state_.window) != 0 || hidden_ % state_.heads != 0) {
      Fail(Code::kInvalidArgument, "input 0 ('input'): expected a sequence divisible by two windows of ", state_.window,
           " and a hidden size divisible by ", state_.heads, " heads, found ", ToText(x));
    }
    const auto columns = static_cast<std::int64_t>(CheckedMul(static_cast<std::size_t>(hidden_), 3, "attention"));
    Expect(kWeights, "weight", {hidden_, columns});
    Expect(kBias, "bias", {columns});
    Expect(kMask, "mask", {batch_, sequence_});
    Expect(kGlobalWeights, "global_weight", {hidden_, columns});
    Expect(kGlobalBias, "global_bias", {columns});
    Expect(kGlobal, "global", {batch_, sequence_});
  }

  void FindGlobals() {
    const std::int32_t* flags = c_.Input(kGlobal).As<const std::int32_t>();
    globals_.resize(static_cast<std::size_t>(batch_));
    for (std::int64_t i = 0; i < batch_ * sequence_; ++i) {
      if (flags[i] != 0) globals_[static_cast<std::size_t>(i / sequence_)].push_back(i % sequence_);
    }
    for (const auto& tokens : globals_) {
      most_globals_ = std::max(most_globals_, static_cast<std::int64_t>(tokens.size()));
    }
  }

  kernels::GemmF32Args Product() const {
    kernels::GemmF32Args g;
    g.m = batch_ * sequence_, g.k = hidden_, g.n = 3 * hidden_;
    g.lda = g.k, g.ldb = g.n, g.ldc = g.n;
    return g;
  }

  void Project(std::size_t weights, std::size_t bias, float* to) {
    kernels::GemmF32Args g = Product();
    g.a = io_.In<float>(kX), g.b = io_.In<float>(weights), g.c = to;
    g.epilogue.bias_n = io_.In<float>(bias);
    kernels::GemmF32(g, c_.parallel(), gemm_bytes_ == 0 ? nullptr : io_.At(gemm_at_));
  }

  std::size_t ScratchBytes(std::int64_t queries, std::int64_t keys) {
    args_.queries = queries, args_.keys = keys;
    return kernels::AttentionF32ScratchBytes(args_, c_.parallel().ThreadCount());
  }

  // Queries [begin, end) of one sequence.
  void RunBlock(std::int64_t b, std::int64_t begin, std::int64_t end) {
    const float* x = io_.At<float>(projected_at_) + b * sequence_ * 3 * hidden_;
    const std::int64_t first = std::max<std::int64_t>(0, begin - state_.window),
                       last = std::min(sequence_, end + state_.window);
    float *keys = io_.At<float>(keys_at_), *values = keys + most_keys_ * hidden_;
    float* addend = io_.At<float>(addend_at_);
    std::int64_t count = 0;
    const float* mask = mask_ + b * sequence_;
    const auto add = [&](std::int64_t token, bool global) {
      std::copy_n(x + token * 3 * hidden_ + hidden_, hidden_, keys + count * hidden_);
      std::copy_n(x + token * 3 * hidden_ + 2 * hidden_, hidden_, values + count * hidden_);
      for (std::int64_t q = begin; q < end; ++q) {
        const bool seen = global || std::abs(q - token) <= state_.window;
        addend[(q - begin) * most_keys_ + count] = seen ? mask[token] : -std::numeric_limits<float>::infinity();
      }
      ++count;
    };
    const std::vector<std::int64_t>& globals = globals_[static_cast<std::size_t>(b)];
    auto next = std::lower_bound(globals.begin(), globals.end(), first);
    for (auto at = globals.begin(); at != next; ++at) add(*at, true);
    for (std::int64_t token = first; token < last; ++token) {
      const bool global = next != globals.end() && *next == token;
      if (global) ++next;
      add(token, global);
    }
    for (; next != globals.end(); ++next) add(*next, true);
    args_.queries = end - begin, args_.keys = count;
    args_.bias[0] = {addend, 0, 0, most_keys_};
    Attend(x + begin * 3 * hidden_, 3 * hidden_, keys, values, hidden_, y_ + (b * sequence_ + begin) * hidden_);
  }

  // Replaces the rows of global tokens.
  void RunGlobals(std::int64_t b) {
    const std::vector<std::int64_t>& globals = globals_[static_cast<std::size_t>(b)];
    if (globals.empty()) return;
    const float* x = io_.At<float>(global_at_) + b * sequence_ * 3 * hidden_;
    float *queries = io_.At<float>(rows_at_), *results = queries + most_globals_ * hidden_, *to = queries;
    for (const std::int64_t token : globals) to = std::copy_n(x + token * 3 * hidden_, hidden_, to);
    args_.queries = static_cast<std::int64_t>(globals.size()), args_.keys = sequence_;
    args_.bias[0] = {mask_ + b * sequence_, 0, 0, 0};
    Attend(queries, hidden_, x + hidden_, x + 2 * hidden_, 3 * hidden_, results);
    for (const std::int64_t token : globals) {
      std::copy_n(results, hidden_, y_ + (b * sequence_ + token) * hidden_);
      results += hidden_;
    }
  }

  void Attend(const float* q, std::int64_t q_row, const float* k, const float* v, std::int64_t kv_row, float* y) {
    const auto strides = [this](std::int64_t row) { return kernels::HeadStrides{0, args_.size, row}; };
    args_.q = q, args_.q_strides = strides(q_row);
    args_.k = k, args_.k_strides = strides(kv_row);
    args_.v = v, args_.v_strides = strides(kv_row);
    args_.y = y, args_.y_strides = strides(hidden_);
    kernels::AttentionF32(args_, c_.parallel(), io_.At(scratch_at_));
  }

  KernelContext& c_;
  const State& state_;
  Operands io_;
  kernels::AttentionF32Args args_;
  std::int64_t batch_ = 0, sequence_ = 0, hidden_ = 0, block_ = 0, most_keys_ = 0, most_globals_ = 0;
  std::vector<std::vector<std::int64_t>> globals_;  // of each sequence, in order
  const float* mask_ = nullptr;                     // added to the scores; negative: the row of the result is 0
  float* y_ = nullptr;
  std::size_t projected_at_ = 0, global_at_ = 0, keys_at_ = 0, rows_at_ = 0, addend_at_ = 0;
  std::size_t gemm_bytes_ = 0, gemm_at_ = 0, scratch_at_ = 0;
};

void RunLongformer(KernelContext& c) { Longformer(c).Run(); }

}  // namespace

void InferLongformer(InferContext& c) {
  ReadState(c);
  if (!c.HasRank(kX)) return c.SetOutput(0, c.InputDType(kX));
  if (c.Rank(kX) != 3) {
    c.Fail(Code::kInvalidArgument, c.InputText(kX), ": expected [batch, sequence, hidden], found ",
           c.InputType(kX).ToText());
  }
  c.SetOutput(0, c.InputDType(kX), c.InputDims(kX));
}

Prepared PrepareLongformer(PrepareContext& c) { return WithState(RunLongformer, ReadState(c)); }

}  // namespace sardonyx::ops
