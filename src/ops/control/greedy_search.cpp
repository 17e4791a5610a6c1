// ops/control/greedy_search.cpp - com.microsoft GreedySearch and Sampling: runs a decoder token by token and takes the
// most probable token, or draws one of the most probable.
#include "ops/control/greedy_search.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include "ops/control/decoder_steps.h"
#include "ops/control/next_token.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kIds = 0, kMaxLength = 1, kMinLength = 2, kPenalty = 3, kVocabMask = 4, kPrefixMask = 5,
                      kMask = 6, kPresenceMask = 7, kSeed = 8;

struct SearchState {
  DecoderDef decoder;
  bool draws = false;  // Sampling
  float temperature = 1, presence_penalty = 0;
  TokenSampler sampler;
  std::shared_ptr<const RandomSeed> seed;
};

class Search {
 public:
  explicit Search(KernelContext& c)
      : c_(c), s_(c.state<SearchState>()), batch_(c.Input(kIds).dim(0)), prompt_(c.Input(kIds).dim(1)) {
    length_ = NumberOf(c, kMaxLength, "max_length", 0);
    if (length_ <= prompt_ || length_ > kMostTokens || prompt_ < 1) {
      Fail(Code::kInvalidArgument, "input 1 ('max_length'): expected a number above the length of 'input_ids', ",
           prompt_, " (at least 1), and up to ", kMostTokens, ", found ", length_);
    }
    rules_.end = s_.decoder.end;
    rules_.no_repeat = s_.decoder.no_repeat;
    rules_.min_length = NumberOf(c, kMinLength, "min_length", 0);
    rules_.temperature = s_.temperature;
    rules_.presence_penalty = s_.presence_penalty;
    rules_.repetition_penalty = RepetitionPenalty(c, kPenalty);
  }

  void Run() {
    const std::int64_t shape[] = {batch_, length_};
    std::int32_t* y = c_.Output(0, shape).As<std::int32_t>();
    if (batch_ == 0) return;
    std::fill_n(y, batch_ * length_, s_.decoder.pad);
    for (std::int64_t b = 0; b < batch_; ++b)
      std::copy_n(c_.Input(kIds).As<std::int32_t>() + b * prompt_, prompt_, y + b * length_);
    DecoderSteps steps(c_, s_.decoder, 1, kMask);
    std::optional<RandomStream> random;
    if (s_.draws) random.emplace(RandomOfRun());
    std::vector<bool> done(static_cast<std::size_t>(batch_), false);
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(batch_));
    for (std::int64_t at = prompt_; at < length_; ++at) {
      const std::span<float> scores = steps.Run();
      if (at == prompt_) ReadMasks(steps);
      Choose(scores, at, random ? &*random : nullptr, done, y);
      if (std::ranges::all_of(done, std::identity{})) break;
      for (std::int64_t b = 0; b < batch_; ++b) tokens[static_cast<std::size_t>(b)] = y[b * length_ + at];
      if (at + 1 < length_) steps.Advance(tokens, {});
    }
  }

 private:
  RandomStream RandomOfRun() const {
    if (!c_.HasInput(kSeed)) return s_.seed->NextRun();
    return RandomStream(static_cast<std::uint32_t>(NumberOf(c_, kSeed, "seed", 0)));
  }

  void ReadMasks(const DecoderSteps& steps) {
    const std::int64_t all[] = {batch_, steps.words()};
    const Dims words = Dims(all).last(1);
    rules_.allowed = steps.VocabularyMask(kVocabMask, "vocab_mask", words);
    rules_.first_allowed = steps.VocabularyMask(kPrefixMask, "prefix_vocab_mask", all);
    if (s_.draws) rules_.presence = steps.VocabularyMask(kPresenceMask, "presence_mask", all);
    CheckTokens(c_.Input(kIds).Span<std::int32_t>(), s_.decoder.pad, steps.words());
  }

  void Choose(std::span<float> scores, std::int64_t at, RandomStream* random, std::vector<bool>& done,
              std::int32_t* y) const {
    const std::size_t words = scores.size() / static_cast<std::size_t>(batch_);
    for (std::int64_t b = 0; b < batch_; ++b) {
      if (done[static_cast<std::size_t>(b)]) continue;  // pads follow
      const std::span<float> own = scores.subspan(static_cast<std::size_t>(b) * words, words);
      rules_.Apply({y + b * length_, static_cast<std::size_t>(at)}, b, at == prompt_, own);
      const std::int32_t token = random != nullptr ? s_.sampler.Draw(own, *random) : BestToken(own);
      if (token == s_.decoder.end)
        done[static_cast<std::size_t>(b)] = true;
      else
        y[b * length_ + at] = token;
    }
  }

  KernelContext& c_;
  const SearchState& s_;
  std::int64_t batch_, prompt_, length_ = 0;
  TokenRules rules_;
};

void RunSearch(KernelContext& c) { Search(c).Run(); }

SearchState MakeState(PrepareContext& c) {
  for (std::size_t i = 0; i <= kSeed; ++i) {
    const DType expected = i == kPenalty ? DType::kFloat : DType::kInt32;
    if (c.HasInput(i) && c.InputDType(i) != expected) c.Unsupported(c.InputText(i), c.InputDType(i));
  }
  SearchState s;
  s.decoder = ReadDecoders(c);
  FindDecoders(c, s.decoder);
  return s;
}

}  // namespace

void InferGreedySearch(InferContext& c) {
  ReadDecoders(c);
  InferDecoders(c);
  if (c.HasRank(kIds) && c.Rank(kIds) != 2)
    c.Fail(Code::kInvalidArgument, c.InputText(kIds), ": expected rank 2, found ", c.InputType(kIds).ToText());
  const auto length = c.ConstantInts(kMaxLength);
  const bool known = length && length->size() == 1 && (*length)[0] > 0;
  c.SetOutput(0, DType::kInt32, {c.HasRank(kIds) ? c.InputDims(kIds)[0] : Dim(), known ? Dim((*length)[0]) : Dim()});
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
