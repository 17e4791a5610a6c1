// ops/attention/ordered_attention.cpp - com.microsoft QOrderedAttention: attention in which each step rounds to int8:
// projections, scores, probabilities and the sums of values, each with a scale of its own.
#include "ops/attention/ordered_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/elementwise/quantize.h"
#include "kernels/gemm/gemm_int8.h"
#include "kernels/gemm/tile_int8.h"
#include "ops/attention/attention_mask.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/quantized_operators.h"
#include "ops/shapes/memory_order.h"

namespace sardonyx::ops {
namespace {

// Inputs; those of K and V follow those of Q.
constexpr std::size_t kX = 0, kScaleX = 1, kScaleGemm = 2, kWeights = 5, kScaleWeights = 8, kBias = 11,
                      kScaleScores = 14, kScaleSoftmax = 15, kScaleValues = 16, kMask = 17, kPast = 18, kAddend = 19;

struct State {
  std::int64_t heads = 1;
  bool causal = false;
};

float ScaleOf(KernelContext& c, std::size_t input) {
  const float scale = c.HasInput(input) ? ReadScale(c, input, 99).scale : 0;
  if (!(scale > 0)) Fail(Code::kInvalidArgument, "input ", input, ": expected a scale above 0, found ", scale);
  return scale;
}

struct Sizes {
  std::int64_t batch, sequence, inner, hidden, heads, head;  // head: numbers of one
  std::int64_t rows() const { return batch * sequence; }
};

Sizes CheckedSizes(KernelContext& c, const State& state) {
  const Dims x = c.Input(kX).shape;
  if (x.size() != 3) Fail(Code::kInvalidArgument, "input 0 ('input'): expected 3 dimensions, found ", ToText(x));
  const Dims q = c.Input(kWeights).shape;
  Sizes s{x[0], x[1], x[2], q.size() == 2 ? q[1] : 0, state.heads, 0};
  const std::int64_t weights[] = {s.inner, s.hidden};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!Shape::Equal(c.Input(kWeights + i).shape, weights)) {
      Fail(Code::kInvalidArgument, "input ", kWeights + i, ": expected weights ", ToText(weights), ", found ",
           ToText(c.Input(kWeights + i).shape));
    }
    const std::int64_t scales = c.Input(kScaleWeights + i).count, bias = c.Input(kBias + i).count;
    if ((scales != 1 && scales != s.hidden) || bias != s.hidden) {
      Fail(Code::kInvalidArgument, "expected 1 or ", s.hidden, " values of input ", kScaleWeights + i, " and ",
           s.hidden, " of input ", kBias + i, ", found ", scales, " and ", bias);
    }
  }
  if (s.hidden % s.heads != 0)
    Fail(Code::kInvalidArgument, "input 5 ('Q_weight'): expected columns divisible by ", s.heads, " heads, found ",
         s.hidden);
  s.head = s.hidden / s.heads;
  return s;
}

class OrderedAttention {
 public:
  explicit OrderedAttention(KernelContext& c)
      : c_(c), state_(c.state<State>()), s_(CheckedSizes(c, state_)), scores_{s_.batch, s_.sequence, s_.sequence, -1} {}

  void Run() {
    for (std::size_t i = 0; i < 3; ++i) gemm_scales_[i] = ScaleOf(c_, kScaleGemm + i);
    const float x_scale = ScaleOf(c_, kScaleX), score_scale = ScaleOf(c_, kScaleScores),
                softmax_scale = ScaleOf(c_, kScaleSoftmax), y_scale = ScaleOf(c_, kScaleValues);
    if (c_.Output(0).count == 0) return;
    Plan();
    for (std::size_t i = 0; i < 3; ++i) Project(i, x_scale);
    if (c_.HasInput(kMask)) mask_ = MaskAddend(c_.Input(kMask), scores_, At<float>(mask_at_));
    FillPowers(score_scale / std::sqrt(static_cast<double>(s_.head)));
    for (std::int64_t i = 0; i < s_.batch * s_.heads; ++i) Head(i, score_scale, softmax_scale, y_scale);
  }

 private:
  template <typename T>
  T* At(std::size_t at) const {
    return static_cast<T*>(static_cast<void*>(block_ + at));
  }

  void Plan() {
    const auto square = CheckedMul(static_cast<std::size_t>(s_.sequence), static_cast<std::size_t>(s_.sequence),
                                   "the size of the scores");
    const auto projected = static_cast<std::size_t>(s_.rows() * s_.hidden);
    const auto weights = static_cast<std::size_t>(s_.inner * s_.hidden);
    for (std::size_t& at : projected_at_) at = layout_.Add(projected);
    scores_at_ = layout_.Add(square);
    turned_at_ = layout_.Add(std::max(weights, static_cast<std::size_t>(s_.sequence * s_.head)));
    floats_at_ = layout_.Add<float>(std::max(square, projected));
    factors_at_ = layout_.Add<float>(2 * static_cast<std::size_t>(s_.hidden));
    if (c_.HasInput(kMask))
      mask_at_ = layout_.Add<float>(static_cast<std::size_t>(MaskAddendCount(c_.Input(kMask), scores_)));
    const int threads = c_.parallel().ThreadCount();
    std::size_t gemm = 0;
    for (const kernels::GemmInt8Args& args :
         {Args(s_.rows(), s_.hidden, s_.inner), Args(s_.sequence, s_.sequence, s_.head),
          Args(s_.sequence, s_.head, s_.sequence)}) {
      gemm = std::max(gemm, kernels::GemmInt8ScratchBytes(args, threads));
    }
    gemm_at_ = layout_.Add(gemm);
    block_ = c_.Scratch(layout_.bytes());
  }

  static kernels::GemmInt8Args Args(std::int64_t m, std::int64_t n, std::int64_t k) {
    kernels::GemmInt8Args args;
    args.m = m, args.n = n, args.k = k;
    args.lda = k, args.ldb = args.ldc = n;
    args.a_signed = args.b_signed = true;
    args.result = kernels::Int8Result::kFloats;
    return args;
  }

  // y = the product, rounded to int8; `args` says the rest.
  void Multiply(kernels::GemmInt8Args args, std::int8_t* y) {
    auto* floats = At<float>(floats_at_);
    args.c = floats;
    kernels::GemmInt8(args, c_.parallel(), block_ + gemm_at_);
    QuantizeBytes(floats, args.m * args.n, 1, y, c_.parallel());
  }

  // Weights come column by column.
  void Project(std::size_t i, float x_scale) {
    auto *factors = At<float>(factors_at_), *bias = factors + s_.hidden;
    const TensorRef& scales = c_.Input(kScaleWeights + i);
    for (std::int64_t j = 0; j < s_.hidden; ++j) {
      factors[j] = x_scale * scales.As<float>()[scales.count == 1 ? 0 : j] / gemm_scales_[i];
      bias[j] = c_.Input(kBias + i).As<float>()[j] / gemm_scales_[i];
    }
    Reorder({1, s_.inner, s_.hidden}, Order::kColumn, Order::kRow, c_.Input(kWeights + i).As<std::int8_t>(),
            At<std::int8_t>(turned_at_), c_.parallel());
    kernels::GemmInt8Args args = Args(s_.rows(), s_.hidden, s_.inner);
    args.a = c_.Input(kX).data, args.b = At<std::int8_t>(turned_at_);
    args.scales = factors, args.scale_per_column = true, args.float_bias = bias;
    Multiply(args, At<std::int8_t>(projected_at_[i]));
  }

  // e^(scale * -d) for the distance d of a score from the largest.
  void FillPowers(double scale) {
    for (std::size_t d = 0; d < powers_.size(); ++d)
      powers_[d] = static_cast<float>(std::exp(-scale * static_cast<double>(d)));
  }

  void Head(std::int64_t i, float score_scale, float softmax_scale, float y_scale) {
    const std::int64_t image = i / s_.heads, head = i % s_.heads, at = image * s_.sequence * s_.hidden + head * s_.head;
    const auto *q = At<std::int8_t>(projected_at_[0]) + at, *k = At<std::int8_t>(projected_at_[1]) + at,
               *v = At<std::int8_t>(projected_at_[2]) + at;
    auto* turned = At<std::uint8_t>(turned_at_);
    kernels::BestTilesInt8().transpose(s_.sequence, s_.head, reinterpret_cast<const std::uint8_t*>(k), s_.hidden,
                                       turned, s_.sequence);
    const float score_factor = gemm_scales_[0] * gemm_scales_[1] / score_scale;
    kernels::GemmInt8Args args = Args(s_.sequence, s_.sequence, s_.head);
    args.a = q, args.lda = s_.hidden, args.b = turned, args.scales = &score_factor;
    auto* scores = At<std::int8_t>(scores_at_);
    Multiply(args, scores);
    c_.parallel().For(s_.sequence, std::max<std::int64_t>(1, 8192 / s_.sequence),
                      [&](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t row = begin; row < end; ++row)
                          Softmax(image, row, softmax_scale, scores + row * s_.sequence);
                      });
    const float y_factor = softmax_scale * gemm_scales_[2] / y_scale;
    args = Args(s_.sequence, s_.head, s_.sequence);
    args.a = scores, args.b = v, args.ldb = s_.hidden, args.scales = &y_factor;
    auto* rows = At<std::int8_t>(turned_at_);
    Multiply(args, rows);
    auto* y = c_.Output(0).As<std::int8_t>() + at;
    for (std::int64_t row = 0; row < s_.sequence; ++row)
      std::copy_n(rows + row * s_.head, s_.head, y + row * s_.hidden);
  }

  // The largest score is that of all keys, hidden ones too, as in ONNX Runtime. A row without visible keys becomes 0.
  void Softmax(std::int64_t image, std::int64_t row, float scale, std::int8_t* x) const {
    const std::int64_t keys = s_.sequence;
    const int largest = *std::max_element(x, x + keys);
    const float* mask = mask_.data == nullptr ? nullptr : mask_.data + image * mask_.batch + row * mask_.query;
    std::vector<float> powers(static_cast<std::size_t>(keys), 0.0f);
    double sum = 0;
    for (std::int64_t j = 0; j < (state_.causal ? row + 1 : keys); ++j) {
      if (mask != nullptr && mask[j] != 0) continue;
      powers[static_cast<std::size_t>(j)] = powers_[static_cast<std::size_t>(largest - x[j])];
      sum += static_cast<double>(powers[static_cast<std::size_t>(j)]);
    }
    if (sum == 0) return static_cast<void>(std::fill_n(x, keys, std::int8_t{0}));
    const float step = static_cast<float>(sum * static_cast<double>(scale)), zero = 0;
    kernels::Quantization().quantize(DType::kInt8, true)(powers.data(), &step, &zero, -128, 127, powers.size(), x);
  }

  KernelContext& c_;
  const State& state_;
  Sizes s_;
  MaskedScores scores_;
  std::array<float, 3> gemm_scales_ = {};
  std::array<float, 256> powers_ = {};
  kernels::ScoreBias mask_;
  ScratchLayout layout_;
  std::array<std::size_t, 3> projected_at_ = {};
  std::size_t scores_at_ = 0, turned_at_ = 0, floats_at_ = 0, factors_at_ = 0, mask_at_ = 0, gemm_at_ = 0;
  std::byte* block_ = nullptr;
};

void RunOrderedAttention(KernelContext& c) { OrderedAttention(c).Run(); }

}  // namespace

void InferOrderedAttention(InferContext& c) {
  if (!c.HasRank(kX) || c.Rank(kX) != 3) return c.SetOutput(0, DType::kInt8);
  const Dim hidden = c.HasRank(kWeights) && c.Rank(kWeights) == 2 ? c.InputDims(kWeights)[1] : Dim();
  c.SetOutput(0, DType::kInt8, {c.InputDims(kX)[0], c.InputDims(kX)[1], hidden});
}

Prepared PrepareOrderedAttention(PrepareContext& c) {
  const State state{c.Int("num_heads"), c.Flag("unidirectional")};
  if (state.heads < 1)
    c.Fail(Code::kInvalidArgument, "attribute 'num_heads': expected at least 1, found ", state.heads);
  ExpectRows(c, "order_input");
  ExpectRows(c, "order_output");
  const Order weights = ReadOrder(c, "order_weight");
  if (weights != Order::kColumn) {
    c.Fail(Code::kNotImplemented, "attribute 'order_weight': expected ", Name(Order::kColumn), ", found ",
           Name(weights));
  }
  for (const std::size_t i : {kPast, kAddend})
    if (c.HasInput(i)) c.Unsupported(c.InputText(i));
  return WithState(RunOrderedAttention, state);
}

}  // namespace sardonyx::ops
