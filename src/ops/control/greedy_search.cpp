// ops/control/greedy_search.cpp - com.microsoft GreedySearch and Sampling: runs a decoder (GPT-2's form) token by
// token.
//
// The decoder has the inputs input_ids, position_ids, attention_mask and past_0, past_1 ... [2, batch, heads, length,
// size], and the outputs logits [batch, length, vocabulary] and present_0 ...; init_decoder, if there is one, runs
// first.
#include "ops/control/greedy_search.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "kernels/elementwise/convert.h"
#include "ops/control/next_token.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kIds = 0, kMaxLength = 1, kMinLength = 2, kPenalty = 3, kVocabMask = 4, kPrefixMask = 5,
                      kMask = 6, kPresenceMask = 7, kSeed = 8;
constexpr std::size_t kFirstPast = 3;  // input of the decoder
constexpr std::int64_t kMostTokens = std::int64_t{1} << 24;

struct SearchState {
  std::size_t decoder = 0;
  std::optional<std::size_t> first_decoder;
  std::size_t layers = 0;
  DType past = DType::kFloat;
  std::int64_t heads = 0, size = 0;  // of the past
  std::int64_t vocabulary = -1;      // tokens beyond it do not come; -1: all that have scores
  std::int32_t pad = 0, end = 0;
  std::int64_t no_repeat = 0;
  bool draws = false;  // Sampling
  float temperature = 1, presence_penalty = 0;
  TokenSampler sampler;
  std::shared_ptr<const RandomSeed> seed;
};

// The types that a decoder gets: those that it declares, with sizes that a run decides unknown.
std::vector<Type> DecoderInputs(const Graph& decoder) {
  std::vector<Type> types;
  for (const ValueId id : decoder.inputs) {
    Type type = decoder.value(id).type;
    for (Dim& dim : type.dims)
      if (!dim.known()) dim = Dim();
    types.push_back(std::move(type));
  }
  return types;
}

const Graph& DecoderOf(const AttributeReader& c, const char* attribute) {
  const Graph* decoder = c.GraphAttribute(attribute);
  if (decoder == nullptr) c.Fail(Code::kInvalidGraph, "attribute '", attribute, "' (a graph) is required and missing");
  const std::size_t inputs = decoder->inputs.size(), outputs = decoder->outputs.size();
  if (outputs < 2 || inputs != outputs + kFirstPast - 1) {
    c.Fail(
        Code::kNotImplemented, "attribute '", attribute,
        "': decoders with input_ids, position_ids, attention_mask and a past for each present are implemented, found ",
        inputs, " inputs and ", outputs, " outputs");
  }
  return *decoder;
}

// Sizes of the past, which the decoder declares.
void ReadDecoder(const AttributeReader& c, const char* attribute, SearchState& s) {
  const Graph& decoder = DecoderOf(c, attribute);
  const Type& past = decoder.value(decoder.inputs[kFirstPast]).type;
  const bool known =
      past.is_tensor() && past.has_rank && past.rank() == 5 && past.dims[2].known() && past.dims[4].known();
  if (!known || past.dims[2].number() < 1 || past.dims[4].number() < 1) {
    c.Fail(Code::kInvalidGraph, "attribute '", attribute,
           "': expected a first past of rank 5 with known heads and size, found ", past.ToText());
  }
  for (std::size_t i = 0; i < kFirstPast; ++i) {
    const Type& type = decoder.value(decoder.inputs[i]).type;
    if (type.dtype != DType::kInt32) {
      c.Fail(Code::kInvalidGraph, "attribute '", attribute, "': expected int32 as input ", i, " of the decoder, found ",
             type.ToText());
    }
  }
  s.layers = decoder.outputs.size() - 1;
  s.past = past.dtype;
  s.heads = past.dims[2].number(), s.size = past.dims[4].number();
  if (s.past != DType::kFloat && s.past != DType::kFloat16) {
    c.Fail(Code::kNotImplemented, "attribute '", attribute, "': a past of float or float16 is implemented, found ",
           past.ToText());
  }
}

SearchState ReadSearch(const AttributeReader& c) {
  SearchState s;
  const std::int64_t kind = c.Int("model_type", 0);
  if (kind != 0 || c.Has("encoder"))
    c.Fail(Code::kNotImplemented, "models with an encoder are not implemented, found 'model_type' ", kind);
  ReadDecoder(c, "decoder", s);
  if (c.Has("init_decoder")) {
    SearchState first;
    ReadDecoder(c, "init_decoder", first);
    if (first.layers != s.layers || first.heads != s.heads || first.size != s.size || first.past != s.past)
      c.Fail(Code::kInvalidGraph, "expected 'init_decoder' with the past of 'decoder', found another one");
  }
  const auto token = [&](const char* name) {
    const std::int64_t value = c.Int(name);
    if (value < -1 || value > kMostTokens)
      c.Fail(Code::kInvalidArgument, "attribute '", name, "': expected a token, found ", value);
    return static_cast<std::int32_t>(value);
  };
  s.pad = token("pad_token_id"), s.end = token("eos_token_id");
  s.vocabulary = c.Int("vocab_size", -1);
  s.no_repeat = std::max<std::int64_t>(0, c.Int("no_repeat_ngram_size", 0));
  return s;
}

// One tensor of int32 [rows, columns].
Tensor Ints32(std::int64_t rows, std::int64_t columns) { return Tensor(DType::kInt32, Shape{rows, columns}); }

class Search {
 public:
  explicit Search(KernelContext& c)
      : c_(c), s_(c.state<SearchState>()), batch_(c.Input(kIds).dim(0)), prompt_(c.Input(kIds).dim(1)) {
    length_ = NumberOf(kMaxLength, "max_length", 0);
    if (length_ <= prompt_ || length_ > kMostTokens || prompt_ < 1) {
      Fail(Code::kInvalidArgument, "input 1 ('max_length'): expected a number above the length of 'input_ids', ",
           prompt_, " (at least 1), and up to ", kMostTokens, ", found ", length_);
    }
    rules_.end = s_.end;
    rules_.no_repeat = s_.no_repeat;
    rules_.min_length = NumberOf(kMinLength, "min_length", 0);
    rules_.temperature = s_.temperature;
    rules_.presence_penalty = s_.presence_penalty;
    if (c.HasInput(kPenalty)) {
      if (c.Input(kPenalty).count != 1 || !(*c.Input(kPenalty).As<float>() > 0)) {
        Fail(Code::kInvalidArgument, "input 3 ('repetition_penalty'): expected one number above 0, found shape ",
             ToText(c.Input(kPenalty).shape), " or another number");
      }
      rules_.repetition_penalty = *c.Input(kPenalty).As<float>();
    }
    const Dims ids = c.Input(kIds).shape;
    if (c.HasInput(kMask) && !std::ranges::equal(c.Input(kMask).shape, ids)) {
      Fail(Code::kInvalidArgument, "input 6 ('attention_mask'): expected the shape of 'input_ids' ", ToText(ids),
           ", found ", ToText(c.Input(kMask).shape));
    }
  }

  void Run() {
    const std::int64_t shape[] = {batch_, length_};
    std::int32_t* y = c_.Output(0, shape).As<std::int32_t>();
    if (batch_ == 0) return;
    std::fill_n(y, batch_ * length_, s_.pad);
    for (std::int64_t b = 0; b < batch_; ++b)
      std::copy_n(c_.Input(kIds).As<std::int32_t>() + b * prompt_, prompt_, y + b * length_);
    StartInputs();
    std::optional<RandomStream> random;
    if (s_.draws) random.emplace(RandomOfRun());
    std::vector<bool> done(static_cast<std::size_t>(batch_), false);
    for (std::int64_t at = prompt_; at < length_; ++at) {
      c_.CheckCancelled();
      const bool first = at == prompt_;
      c_.RunSubgraph(first && s_.first_decoder ? *s_.first_decoder : s_.decoder, inputs_, outputs_);
      ReadScores();
      if (first) CheckMasks(y);
      Choose(first, at, random ? &*random : nullptr, done, y);
      if (std::ranges::all_of(done, std::identity{})) break;
      if (at + 1 < length_) Advance(y, at);
    }
  }

 private:
  std::int64_t NumberOf(std::size_t input, const char* name, std::int64_t otherwise) const {
    if (!c_.HasInput(input)) return otherwise;
    if (c_.Input(input).count != 1) {
      Fail(Code::kInvalidArgument, "input ", input, " ('", name, "'): expected one number, found shape ",
           ToText(c_.Input(input).shape));
    }
    return IntAt(c_.Input(input), 0);
  }
  RandomStream RandomOfRun() const {
    if (!c_.HasInput(kSeed)) return s_.seed->NextRun();
    return RandomStream(static_cast<std::uint32_t>(NumberOf(kSeed, "seed", 0)));
  }

  // The prompt with its positions (pads have none of their own) and an empty past.
  void StartInputs() {
    const std::int32_t* from = c_.Input(kIds).As<std::int32_t>();
    const std::int32_t* given = c_.HasInput(kMask) ? c_.Input(kMask).As<std::int32_t>() : nullptr;
    Tensor ids = Ints32(batch_, prompt_), positions = Ints32(batch_, prompt_), mask = Ints32(batch_, prompt_);
    next_.assign(static_cast<std::size_t>(batch_), 0);
    for (std::int64_t i = 0; i < batch_ * prompt_; ++i) {
      std::int32_t& next = next_[static_cast<std::size_t>(i / prompt_)];
      const bool is_pad = from[i] == s_.pad;
      ids.data<std::int32_t>()[i] = from[i];
      mask.data<std::int32_t>()[i] = given != nullptr ? given[i] : is_pad ? 0 : 1;
      positions.data<std::int32_t>()[i] = is_pad ? 0 : next++;
    }
    inputs_.assign(kFirstPast + s_.layers, Value());
    inputs_[0] = std::move(ids), inputs_[1] = std::move(positions), inputs_[2] = std::move(mask);
    for (std::size_t i = 0; i < s_.layers; ++i)
      inputs_[kFirstPast + i] = Tensor(s_.past, Shape{2, batch_, s_.heads, 0, s_.size});
    outputs_.assign(1 + s_.layers, Value());
  }

  // The scores of the last position.
  void ReadScores() {
    const Value& value = outputs_[0];
    const bool fits = value.is_tensor() && value.tensor().shape().rank() == 3 && value.tensor().shape()[0] == batch_ &&
                      value.tensor().shape()[1] > 0;
    if (!fits)
      Fail(Code::kInvalidArgument, "expected logits [", batch_, ", length, vocabulary] of the decoder, found ",
           value.is_tensor() ? ToText(value.tensor().shape()) : value.KindName());
    const Tensor& logits = value.tensor();
    const std::int64_t rows = logits.shape()[1], width = logits.shape()[2];
    words_ = s_.vocabulary > 0 ? s_.vocabulary : width;
    kernels::ToFloatsFn* const load = kernels::ToFloats(logits.dtype());
    if (words_ < 1 || words_ > width || !IsFloating(logits.dtype()) || load == nullptr) {
      Fail(Code::kInvalidArgument, "expected logits of at least ", std::max<std::int64_t>(1, words_), " floats, found ",
           Name(logits.dtype()), " ", ToText(logits.shape()));
    }
    scores_.resize(static_cast<std::size_t>(batch_ * words_));
    for (std::int64_t b = 0; b < batch_; ++b)
      load(logits.raw(), (b * rows + rows - 1) * width, static_cast<std::size_t>(words_), scores_.data() + b * words_);
  }

  // As soon as the vocabulary is known.
  void CheckMasks(const std::int32_t* y) {
    const auto mask = [&](std::size_t i, const char* name, std::initializer_list<std::int64_t> expected) {
      if (!c_.HasInput(i)) return std::span<const std::int32_t>();
      if (!std::ranges::equal(c_.Input(i).shape, expected)) {
        Fail(Code::kInvalidArgument, "input ", i, " ('", name, "'): expected shape ", ToText(Shape(expected)),
             ", found ", ToText(c_.Input(i).shape));
      }
      return std::span<const std::int32_t>(c_.Input(i).Span<std::int32_t>());
    };
    rules_.allowed = mask(kVocabMask, "vocab_mask", {words_});
    rules_.first_allowed = mask(kPrefixMask, "prefix_vocab_mask", {batch_, words_});
    if (s_.draws) rules_.presence = mask(kPresenceMask, "presence_mask", {batch_, words_});
    for (std::int64_t i = 0; i < batch_ * prompt_; ++i) {
      const std::int32_t token = y[i / prompt_ * length_ + i % prompt_];
      if (token < 0 || token >= words_)
        Fail(Code::kInvalidArgument, "input 0 ('input_ids'): expected tokens in [0, ", words_ - 1, "], found ", token);
    }
    if (s_.pad >= words_) {
      Fail(Code::kInvalidArgument, "attribute 'pad_token_id': expected a token below ", words_, ", found ", s_.pad);
    }
  }

  void Choose(bool first, std::int64_t at, RandomStream* random, std::vector<bool>& done, std::int32_t* y) {
    for (std::int64_t b = 0; b < batch_; ++b) {
      if (done[static_cast<std::size_t>(b)]) continue;  // pads follow
      const std::span<float> scores(scores_.data() + b * words_, static_cast<std::size_t>(words_));
      rules_.Apply({y + b * length_, static_cast<std::size_t>(at)}, b, first, scores);
      const std::int32_t token = random != nullptr ? s_.sampler.Draw(scores, *random) : BestToken(scores);
      if (token == s_.end)
        done[static_cast<std::size_t>(b)] = true;
      else
        y[b * length_ + at] = token;
    }
  }

  // The next inputs: the tokens chosen, their positions, a mask that is longer by one, and what the decoder kept.
  void Advance(const std::int32_t* y, std::int64_t at) {
    Tensor ids = Ints32(batch_, 1), positions = Ints32(batch_, 1), mask = Ints32(batch_, at + 1);
    const std::int32_t* old = inputs_[2].tensor().data<std::int32_t>();
    for (std::int64_t b = 0; b < batch_; ++b) {
      ids.data<std::int32_t>()[b] = std::max(y[b * length_ + at], std::int32_t{0});
      positions.data<std::int32_t>()[b] = next_[static_cast<std::size_t>(b)]++;
      std::copy_n(old + b * at, at, mask.data<std::int32_t>() + b * (at + 1));
      mask.data<std::int32_t>()[b * (at + 1) + at] = 1;
    }
    inputs_[0] = std::move(ids), inputs_[1] = std::move(positions), inputs_[2] = std::move(mask);
    for (std::size_t i = 0; i < s_.layers; ++i) std::swap(inputs_[kFirstPast + i], outputs_[1 + i]);
  }

  KernelContext& c_;
  const SearchState& s_;
  std::int64_t batch_, prompt_, length_ = 0, words_ = 0;
  TokenRules rules_;
  std::vector<Value> inputs_, outputs_;
  std::vector<std::int32_t> next_;  // positions
  std::vector<float> scores_;       // [batch, vocabulary]
};

void RunSearch(KernelContext& c) { Search(c).Run(); }

void CheckTypes(PrepareContext& c) {
  for (std::size_t i = 0; i < 9; ++i) {
    const DType expected = i == kPenalty ? DType::kFloat : DType::kInt32;
    if (c.HasInput(i) && c.InputDType(i) != expected) c.Unsupported(c.InputText(i), c.InputDType(i));
  }
}

SearchState MakeState(PrepareContext& c) {
  CheckTypes(c);
  SearchState s = ReadSearch(c);
  s.decoder = c.SubgraphIndex("decoder");
  if (c.Has("init_decoder")) s.first_decoder = c.SubgraphIndex("init_decoder");
  return s;
}

}  // namespace

void InferGreedySearch(InferContext& c) {
  ReadSearch(c);
  for (const char* decoder : {"decoder", "init_decoder"})
    if (c.Has(decoder)) c.InferSubgraph(decoder, DecoderInputs(*c.GraphAttribute(decoder)));
  if (c.HasRank(kIds) && c.Rank(kIds) != 2)
    c.Fail(Code::kInvalidArgument, c.InputText(kIds), ": expected rank 2, found ", c.InputType(kIds).ToText());
  const auto length = c.ConstantInts(kMaxLength);
  c.SetOutput(0, DType::kInt32,
              {c.HasRank(kIds) ? c.InputDims(kIds)[0] : Dim(),
               length && length->size() == 1 && (*length)[0] > 0 ? Dim((*length)[0]) : Dim()});
}

Prepared PrepareGreedySearch(PrepareContext& c) { return WithState(RunSearch, MakeState(c)); }

Prepared PrepareSampling(PrepareContext& c) {
  SearchState s = MakeState(c);
  s.draws = true;
  s.temperature = c.Float("temperature", 1);
  s.presence_penalty = c.Float("presence_penalty", 0);
  s.sampler = {c.Float("top_p", 0), c.Int("min_tokens_to_keep", 0)};
  s.seed = RandomSeed::Of(c);
  if (!(s.temperature > 0))
    c.Fail(Code::kInvalidArgument, "attribute 'temperature': expected a number above 0, found ", s.temperature);
  return WithState(RunSearch, std::move(s));
}

}  // namespace sardonyx::ops
