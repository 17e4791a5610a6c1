// ops/attention/longformer_attention.cpp - com.microsoft LongformerAttention: a token sees those up to `window`
// positions away and all global tokens; a global token sees every token, with projections of its own. And
// QOrderedLongformerAttention, whose projections and result are rounded to int8.
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
#include <string_view>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_int8.h"
#include "ops/attention/heads.h"
#include "ops/operands.h"
#include "ops/quantized_operators.h"
#include "ops/shapes/memory_order.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kX = 0, kNone = 99;

// Where the inputs are.
struct Inputs {
  std::size_t weights, bias, mask, global_weights, global_bias, global;
  // Scales of the int8 forms.
  std::size_t x_scale = kNone, weights_scale = kNone, projected_scale = kNone;
  std::size_t global_weights_scale = kNone, global_projected_scale = kNone, y_scale = kNone;
};
constexpr Inputs kFloats = {1, 2, 3, 4, 5, 6};
constexpr Inputs kBytes = {2, 4, 7, 8, 10, 12, 1, 3, 6, 9, 11, 13};

struct State {
  std::int64_t heads = 1, window = 1;
  bool bytes = false;
};

State ReadState(const AttributeReader& c) {
  const State s = {.heads = c.Int("num_heads"), .window = c.Int("window")};
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
  explicit Longformer(KernelContext& c)
      : c_(c),
        state_(c.state<State>()),
        in_(state_.bytes ? kBytes : kFloats),
        io_(c, DType::kFloat, SkippedInputs(state_, in_), state_.bytes ? 1u : 0) {
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
    const int threads = c.parallel().ThreadCount();
    if (state_.bytes) {
      ReadScales();
      turned_at_ = io_.Add<std::int8_t>(
          CheckedMul(static_cast<std::size_t>(hidden_) * 3, static_cast<std::size_t>(hidden_), "attention"));
      rounded_at_ = io_.Add<std::int8_t>(static_cast<std::size_t>(batch_ * sequence_ * 3 * hidden_));
      result_at_ = floats(batch_ * sequence_, hidden_);
      gemm_bytes_ = kernels::GemmInt8ScratchBytes(ByteProduct(), threads);
    } else {
      gemm_bytes_ = kernels::GemmF32ScratchBytes(Product(), threads);
    }
    gemm_at_ = io_.Add(gemm_bytes_);
    scratch_at_ = io_.Add(std::max(ScratchBytes(block_, most_keys_), ScratchBytes(most_globals_, sequence_)));
  }

  void Run() {
    if (c_.Input(kX).count == 0) return;
    const Operands::Computing computing(io_);
    mask_ = io_.In<float>(in_.mask), y_ = state_.bytes ? io_.At<float>(result_at_) : io_.Out<float>(0);
    Project(false, io_.At<float>(projected_at_));
    if (most_globals_ > 0) Project(true, io_.At<float>(global_at_));
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
    if (state_.bytes) {
      QuantizeBytes(y_, batch_ * sequence_ * hidden_, y_scale_, c_.Output(0).As<std::int8_t>(), c_.parallel());
    }
  }

 private:
  static std::uint32_t SkippedInputs(const State& s, const Inputs& in) {
    return s.bytes ? ~(1u << in.mask | 1u << in.bias | 1u << in.global_bias) : 1u << in.global;
  }

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
    Expect(in_.weights, "weight", {hidden_, columns});
    Expect(in_.bias, "bias", {columns});
    Expect(in_.mask, "mask", {batch_, sequence_});
    Expect(in_.global_weights, "global_weight", {hidden_, columns});
    Expect(in_.global_bias, "global_bias", {columns});
    Expect(in_.global, "global", {batch_, sequence_});
  }

  void FindGlobals() {
    const std::int32_t* flags = c_.Input(in_.global).As<const std::int32_t>();
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

  void Project(bool global, float* to) {
    const std::size_t weights = global ? in_.global_weights : in_.weights, bias = global ? in_.global_bias : in_.bias;
    std::byte* scratch = gemm_bytes_ == 0 ? nullptr : io_.At(gemm_at_);
    if (state_.bytes) return ProjectBytes(global, weights, io_.In<float>(bias), to, scratch);
    kernels::GemmF32Args g = Product();
    g.a = io_.In<float>(kX), g.b = io_.In<float>(weights), g.c = to;
    g.epilogue.bias_n = io_.In<float>(bias);
    kernels::GemmF32(g, c_.parallel(), scratch);
  }

  // ---- int8

  float ScaleOf(std::size_t i) {
    const float scale = ReadScale(c_, i, kNone).scale;
    if (!(scale > 0)) Fail(Code::kInvalidArgument, "input ", i, ": expected a scale above 0, found ", scale);
    return scale;
  }

  void ReadScales() {
    const float x = ScaleOf(in_.x_scale);
    projected_scales_[0] = ScaleOf(in_.projected_scale), projected_scales_[1] = ScaleOf(in_.global_projected_scale);
    factors_[0] = x * ScaleOf(in_.weights_scale) / projected_scales_[0];
    factors_[1] = x * ScaleOf(in_.global_weights_scale) / projected_scales_[1];
    y_scale_ = ScaleOf(in_.y_scale);
  }

  kernels::GemmInt8Args ByteProduct() const {
    kernels::GemmInt8Args g;
    g.m = batch_ * sequence_, g.k = hidden_, g.n = 3 * hidden_;
    g.lda = g.k, g.ldb = g.n, g.ldc = g.n;
    g.a_signed = g.b_signed = true;
    g.result = kernels::Int8Result::kFloats;
    return g;
  }

  // Weights come column by column. The bias counts steps of the projections already: ONNX Runtime adds it to the
  // product as it is.
  void ProjectBytes(bool global, std::size_t weights, const float* bias, float* to, std::byte* scratch) {
    auto *turned = io_.At<std::int8_t>(turned_at_), *rounded = io_.At<std::int8_t>(rounded_at_);
    Reorder({1, hidden_, 3 * hidden_}, Order::kColumn, Order::kRow, c_.Input(weights).As<std::int8_t>(), turned,
            c_.parallel());
    kernels::GemmInt8Args g = ByteProduct();
    g.a = c_.Input(kX).data, g.b = turned, g.c = to;
    g.scales = &factors_[global ? 1 : 0], g.float_bias = bias;
    kernels::GemmInt8(g, c_.parallel(), scratch);
    QuantizeBytes(to, g.m * g.n, 1, rounded, c_.parallel());
    DequantizeBytes(rounded, g.m * g.n, projected_scales_[global ? 1 : 0], to, c_.parallel());
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
  const Inputs& in_;
  Operands io_;
  kernels::AttentionF32Args args_;
  std::int64_t batch_ = 0, sequence_ = 0, hidden_ = 0, block_ = 0, most_keys_ = 0, most_globals_ = 0;
  std::vector<std::vector<std::int64_t>> globals_;  // of each sequence, in order
  const float* mask_ = nullptr;                     // added to the scores; negative: the row of the result is 0
  float* y_ = nullptr;
  std::size_t projected_at_ = 0, global_at_ = 0, keys_at_ = 0, rows_at_ = 0, addend_at_ = 0;
  std::size_t gemm_bytes_ = 0, gemm_at_ = 0, scratch_at_ = 0;
  std::size_t turned_at_ = 0, rounded_at_ = 0, result_at_ = 0;
  float projected_scales_[2] = {}, factors_[2] = {}, y_scale_ = 0;  // of the projections; the second: of global tokens
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

Prepared PrepareOrderedLongformer(PrepareContext& c) {
  State state = ReadState(c);
  state.bytes = true;
  ExpectRows(c, "order_input");
  ExpectRows(c, "order_output");
  for (const std::string_view name : {"order_weight", "order_global_weight"}) {
    const Order order = ReadOrder(c, name);
    if (order != Order::kColumn) {
      c.Fail(Code::kNotImplemented, "attribute '", name, "': expected ", Name(Order::kColumn), ", found ", Name(order));
    }
  }
  return WithState(RunLongformer, state);
}

}  // namespace sardonyx::ops
