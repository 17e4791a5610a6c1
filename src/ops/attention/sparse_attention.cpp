// ops/attention/sparse_attention.cpp - com.microsoft.SparseAttention: causal attention over a cache, in which a mask of
// blocks says which keys the queries of a block look at. Only those blocks are computed.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/attention/rotary.h"
#include "kernels/gemm/gemm.h"
#include "kernels/softmax/softmax_f32.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kQ = 0, kK = 1, kV = 2, kPastK = 3, kPastV = 4, kRows = 5, kColumns = 6, kTotal = 7, kLengths = 8,
                      kCos = 9, kSin = 10;

struct SparseState {
  std::int64_t heads = 1, kv_heads = 1, block = 16;
  float scale = 0;
  bool rotary = false, interleaved = false;
};

SparseState ReadSparse(const AttributeReader& c) {
  SparseState s = {c.Int("num_heads"),  c.Int("kv_num_heads"), c.Int("sparse_block_size"),
                   c.Float("scale", 0), c.Flag("do_rotary"),   c.Flag("rotary_interleaved")};
  constexpr std::int64_t kMost = 1 << 20;
  if (s.heads < 1 || s.kv_heads < 1 || s.heads > kMost || s.heads % s.kv_heads != 0) {
    c.Fail(Code::kInvalidArgument, "expected num_heads in [1, ", kMost, "] and divisible by kv_num_heads, found ",
           s.heads, " and ", s.kv_heads);
  }
  if (s.block != 16 && s.block != 32 && s.block != 64 && s.block != 128)
    c.Fail(Code::kInvalidArgument, "attribute 'sparse_block_size': expected 16, 32, 64 or 128, found ", s.block);
  return s;
}

void InferSparse(InferContext& c) {
  const SparseState s = ReadSparse(c);
  if (c.HasRank(kQ) && c.Rank(kQ) != 3)
    c.Fail(Code::kInvalidArgument, c.InputText(kQ), ": expected rank 3, found ", c.InputType(kQ).ToText());
  for (const std::size_t i : {kPastK, kPastV}) {
    if (c.HasRank(i) && c.Rank(i) != 4)
      c.Fail(Code::kInvalidArgument, c.InputText(i), ": expected rank 4, found ", c.InputType(i).ToText());
  }
  if (c.HasRank(kQ)) {
    std::vector<Dim> dims = c.InputDims(kQ);
    const std::int64_t packed = s.heads + 2 * s.kv_heads;
    if (!c.HasInput(kK)) dims[2] = dims[2].known() ? Dim(dims[2].number() / packed * s.heads) : Dim();
    c.SetOutput(0, c.InputDType(kQ), std::move(dims));
  } else {
    c.SetOutput(0, c.InputDType(kQ));
  }
  if (c.HasOutput(1)) c.SetOutputType(1, c.InputType(kPastK));
  if (c.HasOutput(2)) c.SetOutputType(2, c.InputType(kPastV));
}

class SparseRunner {
 public:
  explicit SparseRunner(KernelContext& c)
      : c_(c),
        s_(c.state<SparseState>()),
        io_(c, DType::kFloat, 1u << kRows | 1u << kColumns | 1u << kTotal | 1u << kLengths) {
    ReadSizes();
    CheckMask();
    CheckRotary();
  }

  void Run() {
    if (batch_ == 0 || queries_ == 0 || size_ == 0) return;
    const std::int64_t cache = batch_ * s_.kv_heads * cache_rows_ * size_;
    const std::size_t k_at = io_.Add<float>(c_.HasOutput(1) ? 0 : Count(cache, 1));
    const std::size_t v_at = io_.Add<float>(c_.HasOutput(2) ? 0 : Count(cache, 1));
    const std::size_t q_at = io_.Add<float>(s_.rotary ? Count(batch_ * queries_, s_.heads * size_) : 0);
    threads_ = c_.parallel().ThreadCount();
    scores_each_ = Count(s_.block, blocks_ * s_.block);
    const std::size_t scores_at =
        io_.Add<float>(CheckedMul(scores_each_, static_cast<std::size_t>(threads_), "scores"));
    gemm_each_ = (std::max(ScratchOf(ScoreArgs(s_.block)), ScratchOf(SumArgs(s_.block))) + 63) / 64 * 64;
    const std::size_t gemm_at = io_.Add(gemm_each_ * static_cast<std::size_t>(threads_));
    const Operands::Computing computing(io_);
    keys_ = c_.HasOutput(1) ? io_.Out<float>(1) : io_.At<float>(k_at);
    values_ = c_.HasOutput(2) ? io_.Out<float>(2) : io_.At<float>(v_at);
    FillCache(kPastK, kK, s_.heads, s_.rotary, keys_);
    FillCache(kPastV, kV, s_.heads + s_.kv_heads, false, values_);
    q_ = io_.In<float>(kQ), q_row_ = c_.Input(kQ).dim(2);
    if (s_.rotary) RotateQueries(io_.At<float>(q_at));
    Attend(io_.At<float>(scores_at), io_.At(gemm_at));
  }

 private:
  static std::size_t Count(std::int64_t a, std::int64_t b) {
    return CheckedMul(static_cast<std::size_t>(a), static_cast<std::size_t>(b), "the size of scores");
  }
  std::size_t ScratchOf(const kernels::GemmF32Args& args) const { return kernels::GemmF32ScratchBytes(args, 1); }

  void ReadSizes() {
    const Dims q = c_.Input(kQ).shape, past = c_.Input(kPastK).shape;
    const bool packed = !c_.HasInput(kK);
    const std::int64_t heads = packed ? s_.heads + 2 * s_.kv_heads : s_.heads;
    batch_ = q[0], queries_ = q[1], size_ = q[2] / heads;
    cache_rows_ = past[2];
    const bool fits = q[2] % heads == 0 && past[0] == batch_ && past[1] == s_.kv_heads && past[3] == size_ &&
                      std::ranges::equal(past, c_.Input(kPastV).shape);
    if (!fits) {
      Fail(Code::kInvalidArgument, "expected a query of ", heads, " heads and caches [", batch_, ", ", s_.kv_heads,
           ", rows, ", size_, "], found ", ToText(q), ", ", ToText(past), " and ", ToText(c_.Input(kPastV).shape));
    }
    for (const std::size_t i : {kK, kV}) {
      const std::int64_t want[] = {batch_, queries_, s_.kv_heads * size_};
      if (packed != !c_.HasInput(i) || (!packed && !std::ranges::equal(c_.Input(i).shape, want))) {
        Fail(Code::kInvalidArgument, "input ", i, ": expected ",
             packed ? "none, as there is no key" : ToText(Dims(want)), ", found ",
             c_.HasInput(i) ? ToText(c_.Input(i).shape) : "none");
      }
    }
    if (c_.Input(kTotal).count != 1 || c_.Input(kLengths).count != batch_) {
      Fail(Code::kInvalidArgument, "expected one total_sequence_length and ", batch_,
           " key_total_sequence_lengths, found ", ToText(c_.Input(kTotal).shape), " and ",
           ToText(c_.Input(kLengths).shape));
    }
    total_ = *c_.Input(kTotal).As<std::int32_t>();
    if (total_ < queries_ || total_ > cache_rows_) {
      Fail(Code::kInvalidArgument, "input 7 ('total_sequence_length'): expected a number in [", queries_, ", ",
           cache_rows_, "], found ", total_);
    }
    for (std::int64_t b = 0; b < batch_; ++b) {
      const std::int64_t length = c_.Input(kLengths).As<std::int32_t>()[b];
      const std::int64_t least = total_ == queries_ ? 1 : queries_;  // prompts may be padded
      if (length < least || length > total_) {
        Fail(Code::kInvalidArgument, "input 8 ('key_total_sequence_lengths'): expected lengths in [", least, ", ",
             total_, "], found ", length);
      }
    }
  }

  void CheckMask() {
    const Dims rows = c_.Input(kRows).shape, columns = c_.Input(kColumns).shape;
    const bool fits = rows.size() == 2 && columns.size() == 2 && rows[0] > 0 && rows[0] == columns[0] &&
                      s_.heads % rows[0] == 0 && rows[1] > 1;
    if (!fits) {
      Fail(Code::kInvalidArgument,
           "expected block_row_indices [layouts, blocks + 1] and block_col_indices [layouts, "
           "elements] with a divisor of num_heads as layouts, found ",
           ToText(rows), " and ", ToText(columns));
    }
    layouts_ = rows[0], blocks_ = rows[1] - 1, elements_ = columns[1];
    if (blocks_ * s_.block < total_) {
      Fail(Code::kInvalidArgument, "expected a mask of at least ", total_, " keys, found one of ", blocks_,
           " blocks of ", s_.block);
    }
    const std::int32_t* ends = c_.Input(kRows).As<std::int32_t>();
    for (std::int64_t i = 0; i < layouts_ * rows[1]; ++i) {
      const std::int64_t least = i % rows[1] == 0 ? 0 : ends[i - 1];
      if (ends[i] < least || ends[i] > elements_) {
        Fail(Code::kInvalidArgument, "input 5 ('block_row_indices'): expected rising numbers in [0, ", elements_,
             "], found ", ends[i]);
      }
    }
  }

  void CheckRotary() {
    if (!s_.rotary) return;
    if (!c_.HasInput(kCos) || !c_.HasInput(kSin))
      Fail(Code::kInvalidArgument, "expected cos_cache and sin_cache for do_rotary, found none");
    const Dims cos = c_.Input(kCos).shape;
    if (cos.size() != 2 || !std::ranges::equal(cos, c_.Input(kSin).shape) || cos[0] < total_ || 2 * cos[1] > size_) {
      Fail(Code::kInvalidArgument, "expected cos_cache and sin_cache of at least ", total_, " rows and at most ",
           size_ / 2, " columns, found ", ToText(cos), " and ", ToText(c_.Input(kSin).shape));
    }
    half_ = cos[1];
  }

  // Rows of the cache before the new ones.
  std::int64_t PastOf(std::int64_t b) const {
    return total_ == queries_ ? 0 : c_.Input(kLengths).As<std::int32_t>()[b] - queries_;
  }
  void Turn(const float* x, std::int64_t position, float* y) const {
    rotate_(x, io_.In<float>(kCos) + position * half_, io_.In<float>(kSin) + position * half_, half_, size_,
            s_.interleaved, y);
  }

  // The past, and behind it the new rows; `first_head` is where they lie in a packed query.
  void FillCache(std::size_t past, std::size_t input, std::int64_t first_head, bool turn, float* cache) {
    const bool packed = !c_.HasInput(kK);
    const float* from = packed ? io_.In<float>(kQ) + first_head * size_ : io_.In<float>(input);
    const std::int64_t row_size = packed ? c_.Input(kQ).dim(2) : s_.kv_heads * size_;
    const float* old = io_.In<float>(past);
    c_.parallel().For(batch_ * s_.kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t b = i / s_.kv_heads, head = i % s_.kv_heads, rows = PastOf(b);
        float* to = cache + i * cache_rows_ * size_;
        if (old != cache) std::copy_n(old + i * cache_rows_ * size_, cache_rows_ * size_, to);
        for (std::int64_t row = 0; row < queries_; ++row) {
          const float* x = from + (b * queries_ + row) * row_size + head * size_;
          float* y = to + (rows + row) * size_;
          if (turn)
            Turn(x, rows + row, y);
          else
            std::copy_n(x, size_, y);
        }
      }
    });
  }

  void RotateQueries(float* to) {
    c_.parallel().For(batch_ * queries_, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        for (std::int64_t h = 0; h < s_.heads; ++h)
          Turn(q_ + i * q_row_ + h * size_, PastOf(i / queries_) + i % queries_, to + (i * s_.heads + h) * size_);
    });
    q_ = to, q_row_ = s_.heads * size_;
  }

  // Of up to `m` queries and the keys of one block.
  kernels::GemmF32Args ScoreArgs(std::int64_t m) const {
    kernels::GemmF32Args args;
    args.m = m, args.n = s_.block, args.k = size_;
    args.ldb = size_, args.trans_b = true, args.ldc = blocks_ * s_.block;
    args.epilogue.alpha = s_.scale != 0 ? s_.scale : 1 / std::sqrt(static_cast<float>(size_));
    return args;
  }
  kernels::GemmF32Args SumArgs(std::int64_t m) const {
    static constexpr float kGiven = 0;
    kernels::GemmF32Args args;
    args.m = m, args.n = size_, args.k = s_.block;
    args.lda = blocks_ * s_.block, args.ldb = size_, args.ldc = s_.heads * size_;
    args.epilogue.residual = &kGiven;
    args.epilogue.residual_stride = args.ldc;
    return args;
  }

  // Queries of one block are one job: they look at the same blocks of keys.
  void Attend(float* scores, std::byte* gemm) {
    const std::int64_t groups = queries_ / s_.block + 2;  // at most, as the first one may begin inside a block
    const std::int64_t jobs = batch_ * s_.heads * groups;
    c_.parallel().For(threads_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) {
        for (std::int64_t job = t; job < jobs; job += threads_) {
          const std::int64_t b = job / groups / s_.heads, past = PastOf(b);
          const std::int64_t block_row = past / s_.block + job % groups;
          const std::int64_t first = std::max(block_row * s_.block, past) - past;
          const std::int64_t last = std::min((block_row + 1) * s_.block, past + queries_) - past;
          if (first < last) {
            AttendBlock(b, job / groups % s_.heads, block_row, first, last,
                        scores + static_cast<std::size_t>(t) * scores_each_,
                        gemm + static_cast<std::size_t>(t) * gemm_each_);
          }
        }
      }
    });
  }

  void AttendBlock(std::int64_t b, std::int64_t head, std::int64_t block_row, std::int64_t first, std::int64_t last,
                   float* scores, std::byte* gemm) const {
    const std::int64_t m = last - first, width = blocks_ * s_.block, past = PastOf(b), layout = head % layouts_;
    const std::int64_t cache = (b * s_.kv_heads + head / (s_.heads / s_.kv_heads)) * cache_rows_ * size_;
    const std::int32_t* ends = c_.Input(kRows).As<std::int32_t>() + layout * (blocks_ + 1);
    const std::int32_t* columns = c_.Input(kColumns).As<std::int32_t>() + layout * elements_;
    Serial serial;
    std::int64_t used = 0;  // blocks with scores
    const auto keys_of = [&](std::int64_t block) { return std::min(s_.block, past + last - block * s_.block); };
    const auto for_blocks = [&](auto run) {
      for (std::int32_t i = ends[block_row]; i < ends[block_row + 1]; ++i) {
        const std::int64_t block = columns[i];
        if (block < 0 || block >= blocks_)
          Fail(Code::kInvalidArgument, "input 6 ('block_col_indices'): expected blocks in [0, ", blocks_ - 1,
               "], found ", block);
        if (block <= block_row) run(block);  // the others come later
      }
    };
    for_blocks([&](std::int64_t block) {
      if (used == blocks_) return;  // a block is named twice
      kernels::GemmF32Args args = ScoreArgs(m);
      args.n = keys_of(block);
      args.a = q_ + (b * queries_ + first) * q_row_ + head * size_, args.lda = q_row_;
      args.b = keys_ + cache + block * s_.block * size_;
      args.c = scores + used * s_.block;
      kernels::GemmF32(args, serial, gemm);
      constexpr float kNever = -std::numeric_limits<float>::infinity();
      for (std::int64_t row = 0; row < m; ++row) {  // keys behind the query, and those that do not exist
        float* own = args.c + row * width;
        for (std::int64_t k = std::max<std::int64_t>(0, past + first + row + 1 - block * s_.block); k < s_.block; ++k)
          own[k] = kNever;
      }
      ++used;
    });
    float* y = io_.Out<float>(0) + (b * queries_ + first) * s_.heads * size_ + head * size_;
    for (std::int64_t row = 0; row < m; ++row) std::fill_n(y + row * s_.heads * size_, size_, 0.0f);
    for (std::int64_t row = 0; row < m && used > 0; ++row)
      kernels::SoftmaxF32(scores + row * width, 1, used * s_.block, 1, false, scores + row * width, serial);
    std::int64_t at = 0;
    for_blocks([&](std::int64_t block) {
      if (at == used) return;
      kernels::GemmF32Args args = SumArgs(m);
      args.k = keys_of(block);
      args.a = scores + at * s_.block;
      args.b = values_ + cache + block * s_.block * size_;
      args.c = y;
      args.epilogue.residual = y;
      kernels::GemmF32(args, serial, gemm);
      ++at;
    });
  }

  KernelContext& c_;
  const SparseState& s_;
  Operands io_;
  std::int64_t batch_ = 0, queries_ = 0, size_ = 0, cache_rows_ = 0, total_ = 0;
  std::int64_t layouts_ = 1, blocks_ = 0, elements_ = 0, half_ = 0;
  std::int64_t threads_ = 1;
  std::size_t scores_each_ = 0, gemm_each_ = 0;
  const float* q_ = nullptr;
  std::int64_t q_row_ = 0;
  float *keys_ = nullptr, *values_ = nullptr;
  kernels::RotaryFn* rotate_ = kernels::BestRotary();
};

void RunSparse(KernelContext& c) { SparseRunner(c).Run(); }

Prepared PrepareSparse(PrepareContext& c) { return WithState(RunSparse, ReadSparse(c)); }

constexpr OpDef kSparseAttentionOps[] = {
    {.domain = "com.microsoft",
     .name = "SparseAttention",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16, DType::kBFloat16},
     .infer = InferSparse,
     .prepare = PrepareSparse},
};

}  // namespace

std::span<const OpDef> SparseAttentionOps() { return kSparseAttentionOps; }

}  // namespace sardonyx::ops
