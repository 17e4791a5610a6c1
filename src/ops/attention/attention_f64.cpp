// ops/attention/attention_f64.cpp - Attention in double: products and softmax of one part of the matrix of scores at a
// time.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/attention/attention_state.h"
#include "ops/operands.h"
#include "ops/product.h"

namespace sardonyx::ops {
namespace {

using namespace attention;  // NOLINT(google-build-using-namespace): names of inputs and outputs
using T = double;
constexpr std::int64_t kTile = 64;     // query rows of one piece of work
constexpr std::int64_t kMaxJobs = 32;  // pieces with memory of their own

// A tensor as [batch, heads, sequence, size] with strides of its own.
struct Heads {
  std::int64_t batch = 1, heads = 1, sequence = 0, size = 1;
  std::int64_t batch_stride = 0, head_stride = 0, row_stride = 0;
  std::int64_t Offset(std::int64_t b, std::int64_t h) const { return b * batch_stride + h * head_stride; }
};

Heads MakeHeads(Dims d, std::int64_t heads) {
  Heads v;
  v.batch = d[0];
  if (d.size() == 4) {
    v.heads = d[1], v.sequence = d[2], v.size = d[3];
    v.batch_stride = d[1] * d[2] * d[3], v.head_stride = d[2] * d[3], v.row_stride = d[3];
  } else {
    v.heads = heads, v.sequence = d[1], v.size = d[2] / heads;
    v.batch_stride = d[1] * d[2], v.head_stride = v.size, v.row_stride = d[2];
  }
  return v;
}
Heads Contiguous(Heads v, std::int64_t sequence) {
  v.sequence = sequence;
  v.row_stride = v.size, v.head_stride = sequence * v.size, v.batch_stride = v.heads * v.head_stride;
  return v;
}

void SoftmaxRows(double* x, std::int64_t rows, std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r, x += n) {
    const double max = *std::max_element(x, x + n);
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += x[i] = std::exp(x[i] - max);
    for (std::int64_t i = 0; i < n; ++i) x[i] /= sum;
  }
}

class Runner {
 public:
  Runner(KernelContext& c, const AttentionState& state)
      : c_(c), state_(state), io_(c, kDTypeOf<T>, (1u << kMask) | (1u << kLengths)) {
    q_ = MakeHeads(c.Input(kQ).shape, state.q_heads);
    k_ = MakeHeads(c.Input(kK).shape, state.kv_heads);
    v_ = MakeHeads(c.Input(kV).shape, state.kv_heads);
    y_ = MakeHeads(c.Output(kY).shape, q_.heads);
    past_ = c.HasInput(kPastK) && c.Input(kPastK).rank() == 4 ? c.Input(kPastK).dim(2) : 0;
    total_ = past_ + k_.sequence;
    // Keys and values as one piece of memory where a cache is given or asked for.
    gather_k_ = c.HasInput(kPastK) || c.HasOutput(kPresentK);
    gather_v_ = c.HasInput(kPastV) || c.HasOutput(kPresentV);
    for (Heads* heads : {&k_, &v_})  // as in attention.cpp
      if (heads->batch == 1) heads->batch = q_.batch, heads->batch_stride = 0;
    Check();
    scale_ = state.scale != 0 ? state.scale : 1 / std::sqrt(static_cast<double>(q_.size));
    const auto count = [](const Heads& h, std::int64_t n) {
      return static_cast<std::size_t>(h.batch * h.heads * n * h.size);
    };
    k_at_ = io_.Add<T>(gather_k_ && !c.HasOutput(kPresentK) ? count(k_, total_) : 0);
    v_at_ = io_.Add<T>(gather_v_ && !c.HasOutput(kPresentV) ? count(v_, total_) : 0);
    const bool mask_is_t = c.HasInput(kMask) && c.Input(kMask).dtype == kDTypeOf<T>;
    mask_at_ = io_.Add<T>(c.HasInput(kMask) && !mask_is_t ? static_cast<std::size_t>(c.Input(kMask).count) : 0);
    tiles_ = (q_.sequence + kTile - 1) / kTile;
    pieces_ = q_.batch * q_.heads * tiles_;
    jobs_ = std::min(pieces_, kMaxJobs);
    const std::int64_t rows = std::min(kTile, q_.sequence);
    job_scores_ = (rows * total_ * 2 + 15) / 16 * 16;  // scores, then their bias
    scores_at_ = io_.Add<T>(static_cast<std::size_t>(jobs_ * job_scores_));
    for (const std::int64_t m : {rows, q_.sequence % kTile}) {
      if (m == 0) continue;
      gemm_bytes_ = std::max({gemm_bytes_, ProductScratch(ScoreProduct(m), 1), ProductScratch(ValueProduct(m), 1)});
    }
    gemm_bytes_ = (gemm_bytes_ + 63) / 64 * 64;
    gemm_at_ = io_.Add(static_cast<std::size_t>(jobs_) * gemm_bytes_);
  }

  void Run() {
    const Operands::Computing computing(io_);
    k_data_ = Gather(kK, kPastK, kPresentK, gather_k_, k_at_, &k_);
    v_data_ = Gather(kV, kPastV, kPresentV, gather_v_, v_at_, &v_);
    PrepareMask();
    c_.parallel().For(jobs_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t job = begin; job < end; ++job) {
        for (std::int64_t i = pieces_ * job / jobs_; i < pieces_ * (job + 1) / jobs_; ++i) RunPiece(job, i);
      }
    });
  }

 private:
  void Check() const {
    const bool heads = k_.heads > 0 && q_.heads % k_.heads == 0 && k_.heads == v_.heads;
    if (!heads || q_.size != k_.size || k_.sequence != v_.sequence || q_.batch != k_.batch || k_.batch != v_.batch) {
      Fail(Code::kInvalidArgument, "expected Q, K and V of one batch, with heads that match, found ",
           ToText(c_.Input(kQ).shape), ", ", ToText(c_.Input(kK).shape), " and ", ToText(c_.Input(kV).shape));
    }
    if (c_.HasInput(kPastK) != c_.HasInput(kPastV)) {
      Fail(Code::kInvalidArgument, "expected past_key and past_value together, found only one");
    }
    if (c_.HasInput(kPastK)) {
      const Dims pk = c_.Input(kPastK).shape, pv = c_.Input(kPastV).shape;
      const std::int64_t want_k[] = {k_.batch, k_.heads, past_, k_.size},
                         want_v[] = {v_.batch, v_.heads, past_, v_.size};
      if (!Shape::Equal(pk, want_k) || !Shape::Equal(pv, want_v)) {
        Fail(Code::kInvalidArgument, "expected past_key ", ToText(want_k), " and past_value ", ToText(want_v),
             ", found ", ToText(pk), " and ", ToText(pv));
      }
    }
    if (c_.HasInput(kLengths) && c_.Input(kLengths).count != q_.batch) {
      Fail(Code::kInvalidArgument, "expected nonpad_kv_seqlen [", q_.batch, "], found ",
           ToText(c_.Input(kLengths).shape));
    }
  }

  Product<T> ScoreProduct(std::int64_t rows) const {
    Product<T> p;
    p.m = rows, p.n = total_, p.k = q_.size;
    p.lda = q_.row_stride, p.ldb = gather_k_ ? k_.size : k_.row_stride, p.trans_b = true, p.ldc = total_;
    p.alpha = static_cast<T>(scale_);
    return p;
  }
  Product<T> ValueProduct(std::int64_t rows) const {
    Product<T> p;
    p.m = rows, p.n = v_.size, p.k = total_;
    p.lda = total_, p.ldb = gather_v_ ? v_.size : v_.row_stride, p.ldc = y_.row_stride;
    return p;
  }

  const T* Gather(std::size_t in, std::size_t past, std::size_t present, bool gather, std::size_t at, Heads* view) {
    const T* from = io_.In<T>(in);
    if (!gather) return from;
    T* to = c_.HasOutput(present) ? io_.Out<T>(present) : io_.At<T>(at);
    const Heads source = *view;
    *view = Contiguous(source, total_);
    const std::int64_t size = source.size;
    c_.parallel().For(source.batch * source.heads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        T* head = to + i * total_ * size;
        const T* old = c_.HasInput(past) ? io_.In<T>(past) + i * past_ * size : nullptr;
        if (old != nullptr && old != head) std::copy_n(old, past_ * size, head);
        const T* rows = from + source.Offset(i / source.heads, i % source.heads);
        for (std::int64_t r = 0; r < source.sequence; ++r) {
          std::copy_n(rows + r * source.row_stride, size, head + (past_ + r) * size);
        }
      }
    });
    return to;
  }

  void PrepareMask() {
    if (!c_.HasInput(kMask)) return;
    const TensorRef& mask = c_.Input(kMask);
    const std::int64_t sizes[] = {q_.batch, q_.heads, q_.sequence, total_};
    if (mask.rank() > 4)
      Fail(Code::kInvalidArgument, "expected attn_mask of rank 4 at most, found ", ToText(mask.shape));
    mask_last_ = mask.rank() == 0 ? 1 : mask.shape.back();
    std::int64_t step = 1;
    for (std::size_t i = 0; i < mask.rank(); ++i) {  // from the last axis
      const std::int64_t mine = mask.shape[mask.rank() - 1 - i], want = sizes[3 - i];
      if (mine != 1 && mine != want && !(i == 0 && mine < want)) {
        Fail(Code::kInvalidArgument, "expected attn_mask that broadcasts to ", ToText(sizes), ", found ",
             ToText(mask.shape));
      }
      mask_stride_[3 - i] = mine == 1 ? 0 : step;
      step *= mine;
    }
    if (mask.dtype == kDTypeOf<T>) {
      mask_ = mask.As<T>();
      return;
    }
    T* to = io_.At<T>(mask_at_);
    mask_ = to;
    if (mask.dtype == DType::kBool) {
      for (std::int64_t i = 0; i < mask.count; ++i) to[i] = mask.As<bool>()[i] ? T(0) : -kInfinity;
    } else {
      Convert(mask.dtype, mask.data, kDTypeOf<T>, to, mask.count, c_.parallel());
    }
  }

  // The bias of one row of scores; false if it masks every key.
  bool RowBias(std::int64_t b, std::int64_t h, std::int64_t row, T* bias) const {
    std::fill_n(bias, total_, T(0));
    if (mask_ != nullptr) {
      const T* from = mask_ + b * mask_stride_[0] + h * mask_stride_[1] + row * mask_stride_[2];
      // A last axis of 1 broadcasts; a shorter one leaves the rest masked.
      const std::int64_t last = mask_stride_[3] == 0 ? total_ : std::min(mask_last_, total_);
      for (std::int64_t j = 0; j < total_; ++j) bias[j] = j < last ? from[j * mask_stride_[3]] : -kInfinity;
    }
    const std::int64_t length =
        c_.HasInput(kLengths) ? std::clamp(c_.Input(kLengths).As<std::int64_t>()[b], -kBeyondAllKeys, kBeyondAllKeys)
                              : total_;
    const std::int64_t offset = c_.HasInput(kPastK) ? past_ : c_.HasInput(kLengths) ? length - q_.sequence : 0;
    const std::int64_t at = row + offset;
    std::int64_t first = 0, end = std::min(length, total_);
    if (state_.causal) end = std::min(end, at + 1);
    if (state_.right >= 0) end = std::min(end, at + state_.right + 1);
    if (state_.left >= 0) first = std::max<std::int64_t>(0, at - state_.left);
    end = std::max<std::int64_t>(end, 0);
    first = std::min(first, total_);
    std::fill_n(bias, first, -kInfinity);
    if (end < total_) std::fill_n(bias + end, total_ - end, -kInfinity);
    return std::any_of(bias, bias + total_, [](T v) { return !(v == -kInfinity); });
  }

  void Expose(std::int64_t mode, std::int64_t piece_row, const T* scores, std::int64_t rows) {
    if (mode != state_.scores_mode || !c_.HasOutput(kScores)) return;
    std::copy_n(scores, rows * total_, io_.Out<T>(kScores) + piece_row * total_);
  }

  void RunPiece(std::int64_t job, std::int64_t piece) {
    const std::int64_t head = piece / tiles_, row = piece % tiles_ * kTile, rows = std::min(kTile, q_.sequence - row);
    const std::int64_t b = head / q_.heads, h = head % q_.heads, kv = h / (q_.heads / k_.heads);
    const std::int64_t piece_row = head * q_.sequence + row;
    Serial serial;
    T* scores = io_.At<T>(scores_at_) + job * job_scores_;
    T* bias = scores + rows * total_;
    std::byte* gemm = gemm_bytes_ == 0 ? nullptr : io_.At(gemm_at_ + static_cast<std::size_t>(job) * gemm_bytes_);
    Product<T> p = ScoreProduct(rows);
    p.a = io_.In<T>(kQ) + q_.Offset(b, h) + row * q_.row_stride;
    p.b = k_data_ + k_.Offset(b, kv);
    p.c = scores;
    RunProduct(p, serial, gemm);
    Expose(0, piece_row, scores, rows);
    if (state_.softcap > 0) {
      const T cap = static_cast<T>(state_.softcap);
      for (std::int64_t i = 0; i < rows * total_; ++i) scores[i] = cap * std::tanh(scores[i] / cap);
    }
    Expose(1, piece_row, scores, rows);
    bool visible[kTile];
    for (std::int64_t r = 0; r < rows; ++r) {
      T* to = scores + r * total_;
      visible[r] = RowBias(b, h, row + r, bias + r * total_);
      for (std::int64_t j = 0; j < total_; ++j) to[j] += bias[r * total_ + j];
    }
    Expose(2, piece_row, scores, rows);
    if (total_ > 0) SoftmaxRows(scores, rows, total_);
    for (std::int64_t r = 0; r < rows; ++r) {
      if (!visible[r]) std::fill_n(scores + r * total_, total_, T(0));
    }
    Expose(3, piece_row, scores, rows);
    p = ValueProduct(rows);
    p.a = scores;
    p.b = v_data_ + v_.Offset(b, kv);
    p.c = io_.Out<T>(kY) + y_.Offset(b, h) + row * y_.row_stride;
    RunProduct(p, serial, gemm);
  }

  static constexpr T kInfinity = std::numeric_limits<T>::infinity();
  KernelContext& c_;
  const AttentionState& state_;
  Operands io_;
  Heads q_, k_, v_, y_;
  std::int64_t past_ = 0, total_ = 0, tiles_ = 0, pieces_ = 0, jobs_ = 0, job_scores_ = 0;
  double scale_ = 1;
  bool gather_k_ = false, gather_v_ = false;
  std::size_t k_at_ = 0, v_at_ = 0, mask_at_ = 0, scores_at_ = 0, gemm_at_ = 0, gemm_bytes_ = 0;
  const T* k_data_ = nullptr;
  const T* v_data_ = nullptr;
  const T* mask_ = nullptr;
  std::int64_t mask_last_ = 0;
  std::int64_t mask_stride_[4] = {0, 0, 0, 0};
};

}  // namespace

void RunAttentionF64(KernelContext& c) { Runner(c, c.state<AttentionState>()).Run(); }

}  // namespace sardonyx::ops
