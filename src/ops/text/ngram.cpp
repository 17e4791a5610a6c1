// ops/text/ngram.cpp - com.microsoft's operators on ngrams of tokens: NGramRepeatBlock, NGramHashMapping,
// VarlenNGramHashMapping.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "ops/copy_elements.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

// ---- NGramRepeatBlock: scores of tokens that would repeat an ngram become -infinity

struct RepeatState {
  std::int64_t ngram = 1;
};

void InferRepeat(InferContext& c) {
  for (const std::size_t i : {0u, 1u}) {
    if (c.HasRank(i) && c.Rank(i) != 2)
      c.Fail(Code::kInvalidArgument, c.InputText(i), ": expected a matrix, found ", c.InputType(i).ToText());
  }
  c.SetOutputType(0, c.InputType(1));
}

void RunRepeat(KernelContext& c) {
  const std::int64_t n = c.state<RepeatState>().ngram;
  const TensorRef &ids = c.Input(0), &scores = c.Input(1);
  if (ids.dim(0) != scores.dim(0)) {
    Fail(Code::kInvalidArgument, "expected as many rows of 'input_ids' and 'scores', found ", ToText(ids.shape),
         " and ", ToText(scores.shape));
  }
  const OutputRef y = c.Output(0);
  CopyElements(scores.dtype, scores.data, y.data, scores.count, c.parallel());
  const std::int64_t length = ids.dim(1), words = scores.dim(1);
  if (length < n) return;
  c.parallel().For(ids.dim(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t* text = ids.As<std::int64_t>() + row * length;
      const std::int64_t* last = text + length - (n - 1);  // the tokens that the next one completes to an ngram
      for (std::int64_t i = 0; i + n <= length; ++i) {
        if (!std::equal(last, text + length, text + i)) continue;
        const std::int64_t word = text[i + n - 1];
        if (word < 0 || word >= words) {
          Fail(Code::kInvalidArgument, "input 0 ('input_ids'): expected tokens in [0, ", words - 1, "], found ", word);
        }
        y.As<float>()[row * words + word] = -std::numeric_limits<float>::infinity();
      }
    }
  });
}

Prepared PrepareRepeat(PrepareContext& c) {
  if (c.InputDType(0) != DType::kInt64) c.Unsupported(c.InputText(0), c.InputDType(0));
  const RepeatState state = {c.Int("ngram_size")};
  if (state.ngram < 1)
    c.Fail(Code::kInvalidArgument, "attribute 'ngram_size': expected at least 1, found ", state.ngram);
  return WithState(RunRepeat, state);
}

// ---- The hashes: mix = token[t] * multiplier[0] ^ token[t - 1] * multiplier[1] ^ ..., modulo the size of each head

struct HashState {
  std::int64_t ngram = 2;  // the longest; 2, 3 ... ngram are hashed
  std::int64_t each = 1;   // heads of a length
  std::int64_t pad = 0;    // the token before the first
  bool reset_on_end = false;
  std::int64_t captured = 0;  // states of prefixes that each request gives out
  bool packed = false;        // requests of any length, one after the other

  std::int64_t heads() const { return (ngram - 1) * each; }
  std::int64_t history() const { return ngram - 1; }
};

// The inputs of both operators; packed requests have three more.
struct HashInputs {
  std::size_t ids = 0, multipliers = 1, sizes = 2, lengths, past, offsets, end, segments, past_segments, capture;
};
constexpr std::size_t kNone = 64;
constexpr HashInputs kBatch = {0, 1, 2, kNone, 3, 4, 5, 6, kNone, kNone};
constexpr HashInputs kPacked = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

HashState ReadHash(const AttributeReader& c) {
  HashState s;
  s.packed = c.op_type() == "VarlenNGramHashMapping";
  s.ngram = c.Int("max_ngram_size");
  s.each = c.Int("n_head_per_ngram");
  s.pad = c.Int("pad_id");
  s.reset_on_end = c.Flag("reset_on_eos");
  s.captured = c.Int("state_update_capacity", 0);
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  if (s.ngram < 2 || s.ngram > kMost)
    c.Fail(Code::kInvalidArgument, "attribute 'max_ngram_size': expected a number in [2, ", kMost, "], found ",
           s.ngram);
  if (s.each < 1 || s.each > kMost) {
    c.Fail(Code::kInvalidArgument, "attribute 'n_head_per_ngram': expected a number in [1, ", kMost, "], found ",
           s.each);
  }
  if (s.captured < 0 || s.captured > 8)
    c.Fail(Code::kInvalidArgument, "attribute 'state_update_capacity': expected a number in [0, 8], found ",
           s.captured);
  return s;
}

void InferHash(InferContext& c) {
  const HashState s = ReadHash(c);
  const DType dtype = c.InputDType(0);
  const std::size_t rank = s.packed ? 1 : 2;
  if (c.HasRank(0) && c.Rank(0) != rank)
    c.Fail(Code::kInvalidArgument, c.InputText(0), ": expected rank ", rank, ", found ", c.InputType(0).ToText());
  std::vector<Dim> dims = c.HasRank(0) ? c.InputDims(0) : std::vector<Dim>(rank);
  Dim requests = dims[0];
  if (s.packed) {
    const bool known = c.HasRank(kPacked.lengths) && c.Rank(kPacked.lengths) == 1;
    requests = known ? c.InputDims(kPacked.lengths)[0] - Dim(1) : Dim();
  }
  dims.emplace_back(s.heads());
  c.SetOutput(0, dtype, std::move(dims));
  if (c.HasOutput(1)) c.SetOutput(1, dtype, {requests, Dim(s.history())});
  if (c.HasOutput(2)) c.SetOutput(2, DType::kInt32, {requests, Dim(s.history())});
  if (c.HasOutput(3)) c.SetOutput(3, dtype, {requests, Dim(s.captured), Dim(s.history())});
}

void CheckShape(KernelContext& c, std::size_t input, const char* name, std::initializer_list<std::int64_t> expected) {
  if (!c.HasInput(input) || std::ranges::equal(c.Input(input).shape, expected)) return;
  Fail(Code::kInvalidArgument, "input ", input, " ('", name, "'): expected shape ", ToText(Shape(expected)), ", found ",
       ToText(c.Input(input).shape));
}

// Token by token; positions count from the first token of the history.
template <typename T>
class Hasher {
 public:
  using Unsigned = std::make_unsigned_t<T>;

  Hasher(KernelContext& c, const HashState& state, const HashInputs& in)
      : c_(c), s_(state), in_(in), tokens_(c.Input(in.ids).count) {
    requests_ = s_.packed ? c.Input(in.lengths).count - 1 : c.Input(in.ids).dim(0);
    Check();
    ids_ = c.Input(in.ids).As<T>();
    past_ = Optional<T>(in.past), offsets_ = Optional<T>(in.offsets);
    segments_ = Optional<std::int32_t>(in.segments), past_segments_ = Optional<std::int32_t>(in.past_segments);
    before_ = c.HasInput(in.end) ? *c.Input(in.end).As<T>() : static_cast<T>(s_.pad);
    resets_ = s_.reset_on_end && c.HasInput(in.end);
  }

  void Run() {
    const std::int64_t heads = s_.heads();
    T* y = c_.Output(0).template As<T>();
    auto* resets = c_.template Scratch<std::int64_t>(static_cast<std::size_t>(2 * tokens_));
    std::int64_t* requests = resets + tokens_;
    for (std::int64_t r = 0; r < requests_; ++r) {
      FindResets(r, resets);
      std::fill(requests + Begin(r), requests + End(r), r);
    }
    c_.parallel().For(tokens_, 256, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) HashToken(requests[i], i, resets[i], y + i * heads);
    });
    WriteStates();
  }

 private:
  template <typename V>
  const V* Optional(std::size_t input) const {
    return c_.HasInput(input) ? c_.Input(input).template As<V>() : nullptr;
  }
  std::int64_t Begin(std::int64_t request) const {
    return s_.packed ? c_.Input(in_.lengths).template As<std::int32_t>()[request] : request * c_.Input(in_.ids).dim(1);
  }
  std::int64_t End(std::int64_t request) const { return Begin(request + 1); }

  void Check() const {
    const std::int64_t heads = s_.heads(), history = s_.history();
    if (c_.Input(in_.multipliers).rank() != 1 || c_.Input(in_.multipliers).count < s_.ngram) {
      Fail(Code::kInvalidArgument, "input 1 ('multipliers'): expected at least ", s_.ngram, " elements, found shape ",
           ToText(c_.Input(in_.multipliers).shape));
    }
    CheckShape(c_, in_.sizes, "vocab_sizes", {heads});
    for (const T size : c_.Input(in_.sizes).template Span<T>()) {
      if (size < 1) Fail(Code::kInvalidArgument, "input 2 ('vocab_sizes'): expected sizes of at least 1, found ", size);
    }
    if (s_.packed) CheckLengths();
    CheckShape(c_, in_.past, "past_ids", {requests_, history});
    CheckShape(c_, in_.offsets, "head_offsets", {heads});
    if (c_.HasInput(in_.end) && c_.Input(in_.end).count != 1) {
      Fail(Code::kInvalidArgument, "input ", in_.end, " ('eos_token_id'): expected one token, found shape ",
           ToText(c_.Input(in_.end).shape));
    }
    if (c_.HasInput(in_.segments) && !std::ranges::equal(c_.Input(in_.segments).shape, c_.Input(in_.ids).shape)) {
      Fail(Code::kInvalidArgument, "input ", in_.segments, " ('segment_ids'): expected the shape of 'input_ids' ",
           ToText(c_.Input(in_.ids).shape), ", found ", ToText(c_.Input(in_.segments).shape));
    }
    CheckShape(c_, in_.past_segments, "past_segment_ids", {requests_, history});
    const bool wants_segments = c_.HasInput(in_.past_segments) || c_.HasOutput(2);
    if (wants_segments && !c_.HasInput(in_.segments)) {
      Fail(Code::kInvalidArgument,
           "expected the input 'segment_ids' together with past or present segment ids, found none");
    }
    CheckShape(c_, in_.capture, "capture_count", {requests_});
    if (s_.packed && c_.HasInput(in_.capture) != (s_.captured > 0)) {
      Fail(Code::kInvalidArgument,
           "expected the input 'capture_count' exactly if 'state_update_capacity' is positive, ",
           "found a capacity of ", s_.captured, c_.HasInput(in_.capture) ? " and the input" : " and no input");
    }
  }

  void CheckLengths() const {
    const TensorRef& lengths = c_.Input(in_.lengths);
    bool fits = lengths.rank() == 1 && lengths.count >= 2;
    const std::span<const std::int32_t> ends = lengths.Span<std::int32_t>();
    fits = fits && ends.front() == 0 && ends.back() == tokens_;
    for (std::size_t i = 1; fits && i < ends.size(); ++i) fits = ends[i] > ends[i - 1];
    if (!fits) {
      Fail(Code::kInvalidArgument, "input 3 ('cumulative_sequence_length'): expected increasing numbers from 0 to ",
           tokens_, ", one more than there are requests, found ", lengths.count, " numbers");
    }
  }

  // Position `at` of the history and then the tokens of a request.
  T TokenAt(std::int64_t request, std::int64_t at) const {
    const std::int64_t history = s_.history();
    if (at >= history) return ids_[Begin(request) + at - history];
    return past_ != nullptr ? past_[request * history + at] : before_;
  }
  std::int32_t SegmentAt(std::int64_t request, std::int64_t at) const {
    const std::int64_t history = s_.history(), first = Begin(request);
    if (at >= history) return segments_[first + at - history];
    return past_segments_ != nullptr ? past_segments_[request * history + at] : segments_[first];
  }

  // For each token of a request the last position before it that it must not look at; -1: none.
  void FindResets(std::int64_t request, std::int64_t* resets) const {
    const std::int64_t history = s_.history(), begin = Begin(request), end = End(request);
    std::int64_t last = -1;
    for (std::int64_t at = 0; at < history + end - begin; ++at) {
      if (at > 0 && segments_ != nullptr && SegmentAt(request, at) != SegmentAt(request, at - 1)) last = at - 1;
      if (at > 0 && resets_ && TokenAt(request, at - 1) == before_) last = at - 1;
      if (at >= history) resets[begin + at - history] = last;
    }
  }

  void HashToken(std::int64_t request, std::int64_t token, std::int64_t reset, T* y) const {
    const T* multipliers = c_.Input(in_.multipliers).template As<T>();
    const T* sizes = c_.Input(in_.sizes).template As<T>();
    const std::int64_t at = s_.history() + token - Begin(request);
    Unsigned mix = 0;
    for (std::int64_t k = 0; k < s_.ngram; ++k) {
      const T id = at - k <= reset ? before_ : TokenAt(request, at - k);
      mix ^= static_cast<Unsigned>(static_cast<std::uint64_t>(id) * static_cast<std::uint64_t>(multipliers[k]));
      for (std::int64_t h = (k - 1) * s_.each; k > 0 && h < k * s_.each; ++h) {
        const T rest = static_cast<T>(static_cast<T>(mix) % sizes[h]);
        const auto hash = static_cast<Unsigned>(rest < 0 ? rest + sizes[h] : rest);
        y[h] = static_cast<T>(hash + (offsets_ != nullptr ? static_cast<Unsigned>(offsets_[h]) : Unsigned{0}));
      }
    }
  }

  // What the next call gets as its past, and the same after the first tokens of each request.
  void WriteStates() const {
    const std::int64_t history = s_.history();
    T* present = c_.HasOutput(1) ? c_.Output(1).template As<T>() : nullptr;
    std::int32_t* segments = c_.HasOutput(2) ? c_.Output(2).template As<std::int32_t>() : nullptr;
    T* captured = c_.HasOutput(3) ? c_.Output(3).template As<T>() : nullptr;
    for (std::int64_t r = 0; r < requests_; ++r) {
      const std::int64_t length = End(r) - Begin(r);
      for (std::int64_t i = 0; i < history; ++i) {
        if (present != nullptr) present[r * history + i] = TokenAt(r, length + i);
        if (segments != nullptr) segments[r * history + i] = SegmentAt(r, length + i);
      }
      if (captured == nullptr) continue;
      const std::int64_t wanted = c_.Input(in_.capture).template As<std::int32_t>()[r];
      const std::int64_t count = std::clamp<std::int64_t>(wanted, 0, std::min(length, s_.captured));
      T* to = captured + r * s_.captured * history;
      std::fill_n(to, s_.captured * history, static_cast<T>(s_.pad));
      for (std::int64_t i = 0; i < count * history; ++i) to[i] = TokenAt(r, i / history + 1 + i % history);
    }
  }

  KernelContext& c_;
  const HashState& s_;
  const HashInputs& in_;
  std::int64_t tokens_, requests_;
  const T *ids_ = nullptr, *past_ = nullptr, *offsets_ = nullptr;
  const std::int32_t *segments_ = nullptr, *past_segments_ = nullptr;
  T before_ = 0;  // the token before the first, and after a reset
  bool resets_ = false;
};

template <typename T>
void RunHash(KernelContext& c) {
  const HashState& state = c.state<HashState>();
  Hasher<T>(c, state, state.packed ? kPacked : kBatch).Run();
}

Prepared PrepareHash(PrepareContext& c) {
  const HashState state = ReadHash(c);
  const HashInputs& in = state.packed ? kPacked : kBatch;
  const bool narrow = c.InputDType(0) == DType::kInt32;
  if (narrow && state.pad != static_cast<std::int32_t>(state.pad))
    c.Fail(Code::kInvalidArgument, "attribute 'pad_id': expected an int32, the type of the tokens, found ", state.pad);
  for (const std::size_t i : {in.multipliers, in.sizes, in.past, in.offsets, in.end})
    if (c.HasInput(i) && c.InputDType(i) != c.InputDType(0)) c.Unsupported(c.InputText(i), c.InputDType(i));
  for (const std::size_t i : {in.lengths, in.segments, in.past_segments, in.capture})
    if (c.HasInput(i) && c.InputDType(i) != DType::kInt32) c.Unsupported(c.InputText(i), c.InputDType(i));
  return WithState(narrow ? RunHash<std::int32_t> : RunHash<std::int64_t>, state);
}

constexpr DTypeSet kTokens = {DType::kInt32, DType::kInt64};

constexpr OpDef kNGramOps[] = {
    {.domain = "com.microsoft",
     .name = "NGramHashMapping",
     .since = {1},
     .types = kTokens,
     .infer = InferHash,
     .prepare = PrepareHash},
    {.domain = "com.microsoft",
     .name = "NGramRepeatBlock",
     .since = {1},
     .types = {DType::kFloat},
     .typed_input = 1,
     .infer = InferRepeat,
     .prepare = PrepareRepeat},
    {.domain = "com.microsoft",
     .name = "VarlenNGramHashMapping",
     .since = {1},
     .types = kTokens,
     .infer = InferHash,
     .prepare = PrepareHash},
};

}  // namespace

std::span<const OpDef> NGramOps() { return kNGramOps; }

}  // namespace sardonyx::ops
