// ops/control/beam_search.cpp - com.microsoft BeamSearch and WhisperBeamSearch: runs a decoder token by token and
// follows the most probable texts, several for each prompt.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include "kernels/softmax/softmax_f32.h"
#include "ops/control/decoder_steps.h"
#include "ops/control/encoder_decoder_steps.h"
#include "ops/control/greedy_search.h"
#include "ops/control/next_token.h"
#include "ops/control/whisper_rules.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kIds = 0, kMaxLength = 1, kMinLength = 2, kBeams = 3, kReturned = 4, kLengthPenalty = 5,
                      kPenalty = 6, kVocabMask = 7, kPrefixMask = 8, kMask = 9, kDecoderIds = 10, kProcessor = 11,
                      kForced = 13, kTemperature = 14;
constexpr std::size_t kCrossScores = 3, kNoSpeech = 4;  // outputs
constexpr std::int64_t kMostBeams = 1 << 16;

constexpr std::int64_t kDecoderAlone = 0, kEncoderDecoder = 1, kWhisper = 2;  // model_type

struct BeamState {
  DecoderDef decoder;
  std::optional<EncoderDecoderDef> encoder;
  std::optional<WhisperDef> whisper;
  bool early_stopping = false;
};

// The best finished texts of a prompt.
class Finished {
 public:
  struct Text {
    std::vector<std::int32_t> tokens;
    float score;
  };

  void Add(std::span<const std::int32_t> text, float sum, float length_penalty, std::size_t most) {
    const float score = sum / std::pow(static_cast<float>(text.size()), length_penalty);
    if (texts_.size() >= most && !(score > texts_.back().score)) return;
    // Falling scores; a text of equal score comes after those that are there.
    const auto place = std::ranges::upper_bound(texts_, score, std::greater<>{}, &Text::score);
    texts_.insert(place, {{text.begin(), text.end()}, score});
    if (texts_.size() > most) texts_.pop_back();
  }
  const std::vector<Text>& texts() const { return texts_; }

 private:
  std::vector<Text> texts_;
};

class BeamSearcher {
 public:
  explicit BeamSearcher(KernelContext& c) : c_(c), s_(c.state<BeamState>()), batch_(c.Input(kIds).dim(0)) {
    ReadPrompt();
    length_ = NumberOf(c, kMaxLength, "max_length", 0);
    beams_ = NumberOf(c, kBeams, "num_beams", 1);
    returned_ = NumberOf(c, kReturned, "num_return_sequences", 1);
    if (length_ <= prompt_ || length_ > kMostTokens || prompt_ < 1) {
      Fail(Code::kInvalidArgument, "input 1 ('max_length'): expected a number above the length of ",
           s_.encoder ? "the text to go on with, " : "'input_ids', ", prompt_, " (at least 1), and up to ", kMostTokens,
           ", found ", length_);
    }
    if (beams_ < 1 || beams_ > kMostBeams)
      Fail(Code::kInvalidArgument, "input 3 ('num_beams'): expected a number in [1, ", kMostBeams, "], found ", beams_);
    if (returned_ < 1 || returned_ > beams_) {
      Fail(Code::kInvalidArgument, "input 4 ('num_return_sequences'): expected a number in [1, ", beams_,
           "], the beams, found ", returned_);
    }
    if (c.HasInput(kLengthPenalty)) {
      if (c.Input(kLengthPenalty).count != 1)
        Fail(Code::kInvalidArgument, "input 5 ('length_penalty'): expected one number, found shape ",
             ToText(c.Input(kLengthPenalty).shape));
      length_penalty_ = *c.Input(kLengthPenalty).As<float>();
    }
    rules_.end = s_.decoder.end;
    rules_.no_repeat = s_.decoder.no_repeat;
    rules_.min_length = NumberOf(c, kMinLength, "min_length", 0);
    rules_.repetition_penalty = RepetitionPenalty(c, kPenalty);
    ReadProcessor();
  }

  void Run() {
    const std::int64_t shape[] = {batch_, returned_, length_};
    std::int32_t* y = c_.Output(0, shape).As<std::int32_t>();
    float* y_scores = c_.HasOutput(1) ? c_.Output(1, Dims(shape).first(2)).As<float>() : nullptr;
    if (batch_ == 0) return WriteNoScores();
    Start();
    const std::unique_ptr<TextSteps> steps = Steps();
    for (std::int64_t at = prompt_; at < length_; ++at) {
      const std::span<float> scores = steps->Run();
      if (at == prompt_) ReadMasks(*steps, scores);
      Score(scores, at);
      for (std::int64_t b = 0; b < batch_; ++b) Extend(b, scores, at);
      Append(at);
      if (std::ranges::all_of(done_, std::identity{})) break;
      if (at + 1 < length_) steps->Advance(tokens_, sources_);
    }
    Finish(y, y_scores);
  }

 private:
  // The tokens with which the texts of each row begin.
  void ReadPrompt() {
    if (c_.HasInput(kDecoderIds)) {
      const TensorRef& ids = c_.Input(kDecoderIds);
      if (ids.shape.size() != 2 || ids.dim(0) != batch_) {
        Fail(Code::kInvalidArgument, "input 10 ('decoder_input_ids'): expected shape [", batch_,
             ", tokens], a row for each of input 0, found ", ToText(ids.shape));
      }
      prompt_ = ids.dim(1), prompts_.assign(ids.Span<std::int32_t>().begin(), ids.Span<std::int32_t>().end());
      return;
    }
    if (s_.encoder) {
      prompt_ = 1, prompts_.assign(static_cast<std::size_t>(batch_), s_.encoder->start);
      return;
    }
    prompt_ = c_.Input(kIds).dim(1);
    const std::span<const std::int32_t> ids = c_.Input(kIds).Span<std::int32_t>();
    prompts_.assign(ids.begin(), ids.end());
  }

  void ReadProcessor() {
    const std::int64_t processor = NumberOf(c_, kProcessor, "logits_processor", 0);
    stamps_ = processor == 1 && s_.whisper;
    if (processor != 0 && !stamps_) {
      Fail(Code::kNotImplemented, "input 11 ('logits_processor'): expected 0", s_.whisper ? " or 1 (timestamps)" : "",
           ", found ", processor);
    }
    if (!c_.HasInput(kTemperature)) return;
    if (c_.Input(kTemperature).count == 1) rules_.temperature = *c_.Input(kTemperature).As<float>();
    if (c_.Input(kTemperature).count != 1 || !(rules_.temperature > 0))
      Fail(Code::kInvalidArgument, "input 14 ('temperature'): expected one number above 0");
  }

  std::unique_ptr<TextSteps> Steps() {
    if (s_.encoder) return std::make_unique<EncoderDecoderSteps>(c_, s_.decoder, *s_.encoder, beams_, prompts_, kMask);
    return std::make_unique<DecoderSteps>(c_, s_.decoder, beams_, kMask);
  }

  std::span<const std::int32_t> TextOf(std::int64_t row, std::int64_t length) const {
    return {texts_.data() + row * length_, static_cast<std::size_t>(length)};
  }

  void Start() {
    const auto rows = static_cast<std::size_t>(batch_ * beams_);
    texts_.assign(rows * static_cast<std::size_t>(length_), s_.decoder.pad);
    for (std::int64_t row = 0; row < batch_ * beams_; ++row)
      std::copy_n(prompts_.data() + row / beams_ * prompt_, prompt_, texts_.data() + row * length_);
    sums_.assign(rows, -1e9f);  // of the copies of a prompt the first one counts
    for (std::int64_t b = 0; b < batch_; ++b) sums_[static_cast<std::size_t>(b * beams_)] = 0;
    tokens_.assign(rows, 0), sources_.assign(rows, 0), written_ = prompt_;
    done_.assign(static_cast<std::size_t>(batch_), false);
    finished_.resize(static_cast<std::size_t>(batch_));
  }

  void ReadMasks(const TextSteps& steps, std::span<const float> scores) {
    words_ = steps.words();
    const std::int64_t all[] = {batch_, words_};
    rules_.allowed = steps.VocabularyMask(kVocabMask, "vocab_mask", Dims(all).last(1));
    rules_.first_allowed = steps.VocabularyMask(kPrefixMask, "prefix_vocab_mask", all);
    CheckTokens(prompts_, s_.decoder.pad, words_);
    if (words_ < 2) Fail(Code::kInvalidArgument, "expected a vocabulary of at least 2 tokens, found ", words_);
    if (stamps_ && (s_.whisper->stamps.first < 0 || s_.whisper->stamps.first >= words_)) {
      Fail(Code::kInvalidArgument, "attribute 'beginning_timestamp_token_id': expected a token in [0, ", words_ - 1,
           "] for timestamps, found ", s_.whisper->stamps.first);
    }
    forced_ = ForcedTokens(c_, kForced, batch_, words_);
    if (c_.HasOutput(kNoSpeech)) WriteNoSpeech(scores);
    if (c_.HasOutput(2)) {
      const std::int64_t shape[] = {length_ - prompt_, batch_, beams_, words_};
      const OutputRef out = c_.Output(2, shape);
      std::fill_n(out.As<float>(), out.count, 0.0f);
      all_scores_ = out.As<float>();
    }
  }
  void WriteNoSpeech(std::span<const float> scores) {
    const std::int64_t token = s_.whisper->no_speech;
    if (token < 0 || token >= words_) {
      Fail(Code::kInvalidArgument, "attribute 'no_speech_token_id': expected a token in [0, ", words_ - 1,
           "] for output 4, found ", token);
    }
    const std::int64_t shape[] = {batch_};
    float* y = c_.Output(kNoSpeech, shape).As<float>();
    std::vector<float> all(static_cast<std::size_t>(words_));
    for (std::int64_t b = 0; b < batch_; ++b) {
      kernels::SoftmaxF32(scores.data() + b * beams_ * words_, 1, words_, 1, false, all.data(), c_.parallel());
      y[b] = all[static_cast<std::size_t>(token)];
    }
  }
  void WriteNoScores() {
    const std::int64_t none[] = {0};
    if (c_.HasOutput(kNoSpeech)) c_.Output(kNoSpeech, none);
    if (!c_.HasOutput(2)) return;
    const std::int64_t shape[] = {length_ - prompt_, 0, beams_, std::max<std::int64_t>(s_.decoder.vocabulary, 0)};
    c_.Output(2, shape);
  }

  // Logarithms of probabilities by the rules, added to those of the texts.
  void Score(std::span<float> scores, std::int64_t at) {
    const std::int64_t rows = batch_ * beams_;
    kernels::SoftmaxF32(scores.data(), rows, words_, 1, true, scores.data(), c_.parallel());
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::span<float> own =
          scores.subspan(static_cast<std::size_t>(row * words_), static_cast<std::size_t>(words_));
      rules_.Apply(TextOf(row, at), row / beams_, at == prompt_, own);
      if (stamps_) s_.whisper->stamps.Apply(TextOf(row, at), own);
      forced_.Apply(row / beams_, at - prompt_, own);
      for (float& score : own) score += sums_[static_cast<std::size_t>(row)];
    }
    for (std::int64_t b = 0; all_scores_ != nullptr && b < batch_; ++b) {
      if (done_[static_cast<std::size_t>(b)]) continue;  // zeros
      const std::int64_t each = beams_ * words_;
      std::copy_n(scores.data() + b * each, each, all_scores_ + ((at - prompt_) * batch_ + b) * each);
    }
  }

  // The texts of a prompt with their next tokens: the best of all beams; of those that end, the best are finished.
  void Extend(std::int64_t b, std::span<const float> scores, std::int64_t at) {
    const auto first = static_cast<std::size_t>(b * beams_);
    if (done_[static_cast<std::size_t>(b)]) {
      for (std::int64_t i = 0; i < beams_; ++i) {
        tokens_[first + static_cast<std::size_t>(i)] = s_.decoder.pad;
        sources_[first + static_cast<std::size_t>(i)] = static_cast<std::int32_t>(b * beams_ + i);
      }
      return;
    }
    const std::span<const float> own =
        scores.subspan(first * static_cast<std::size_t>(words_), static_cast<std::size_t>(beams_ * words_));
    std::vector<std::int64_t> order(own.size());
    std::iota(order.begin(), order.end(), std::int64_t{0});
    const auto candidates = order.begin() + std::min<std::int64_t>(2 * beams_, std::ssize(order));
    std::ranges::partial_sort(order, candidates, [&](std::int64_t x, std::int64_t z) {
      const float a = own[static_cast<std::size_t>(x)], c = own[static_cast<std::size_t>(z)];
      return a > c || (a == c && x < z);
    });
    const float best = own[static_cast<std::size_t>(order.front())];
    std::vector<float> sums;
    for (auto i = order.begin(); i != candidates && std::ssize(sums) < beams_; ++i) {
      const std::int64_t row = b * beams_ + *i / words_;
      const auto token = static_cast<std::int32_t>(*i % words_);
      const float score = own[static_cast<std::size_t>(*i)];
      if (token == s_.decoder.end) {
        if (i - order.begin() < beams_)
          finished_[static_cast<std::size_t>(b)].Add(TextOf(row, at), score, length_penalty_,
                                                     static_cast<std::size_t>(beams_));
        continue;
      }
      tokens_[first + sums.size()] = token;
      sources_[first + sums.size()] = static_cast<std::int32_t>(row);
      sums.push_back(score);
    }
    while (std::ssize(sums) < beams_) {  // fewer candidates than beams, as the vocabulary is small
      tokens_[first + sums.size()] = s_.decoder.pad;
      sources_[first + sums.size()] = static_cast<std::int32_t>(b * beams_);
      sums.push_back(std::numeric_limits<float>::lowest());
    }
    std::ranges::copy(sums, sums_.begin() + static_cast<std::ptrdiff_t>(first));
    done_[static_cast<std::size_t>(b)] = IsDone(finished_[static_cast<std::size_t>(b)], best, at);
  }

  // True if no text that goes on can become better than the finished ones.
  bool IsDone(const Finished& finished, float best, std::int64_t length) const {
    if (std::ssize(finished.texts()) < beams_) return false;
    if (s_.early_stopping) return true;
    return finished.texts().back().score >= best / std::pow(static_cast<float>(length), length_penalty_);
  }

  void Append(std::int64_t at) {
    std::vector<std::int32_t> next(texts_.size(), s_.decoder.pad);
    for (std::int64_t row = 0; row < batch_ * beams_; ++row) {
      const std::int64_t source = sources_[static_cast<std::size_t>(row)];
      std::copy_n(texts_.data() + source * length_, at, next.data() + row * length_);
      next[static_cast<std::size_t>(row * length_ + at)] = tokens_[static_cast<std::size_t>(row)];
    }
    texts_ = std::move(next), written_ = at + 1;
  }

  void Finish(std::int32_t* y, float* y_scores) {
    std::fill_n(y, batch_ * returned_ * length_, s_.decoder.pad);
    for (std::int64_t b = 0; b < batch_; ++b) {
      Finished& finished = finished_[static_cast<std::size_t>(b)];
      for (std::int64_t i = b * beams_; i < (b + 1) * beams_ && !done_[static_cast<std::size_t>(b)]; ++i) {
        finished.Add(TextOf(i, written_), sums_[static_cast<std::size_t>(i)], length_penalty_,
                     static_cast<std::size_t>(beams_));
      }
      for (std::int64_t i = 0; i < returned_; ++i) {
        const Finished::Text& text = finished.texts()[static_cast<std::size_t>(i)];
        std::ranges::copy(text.tokens, y + (b * returned_ + i) * length_);
        if (y_scores != nullptr) y_scores[b * returned_ + i] = text.score;
      }
    }
  }

  KernelContext& c_;
  const BeamState& s_;
  std::int64_t batch_, prompt_ = 0, length_ = 0, beams_ = 1, returned_ = 1, words_ = 0, written_ = 0;
  float length_penalty_ = 1;
  TokenRules rules_;
  bool stamps_ = false;  // rules of timestamps
  ForcedTokens forced_;
  std::vector<std::int32_t> prompts_;           // [batch, prompt]
  std::vector<std::int32_t> texts_;             // [batch * beams, max_length]
  std::vector<float> sums_;                     // of each beam
  std::vector<std::int32_t> tokens_, sources_;  // what each beam goes on with
  std::vector<bool> done_;
  std::vector<Finished> finished_;
  float* all_scores_ = nullptr;
};

void RunBeamSearch(KernelContext& c) { BeamSearcher(c).Run(); }

bool HasInput(const AttributeReader& c, std::size_t i) { return i < c.InputCount() && c.node().inputs[i] != kNoValue; }

BeamState ReadModel(const AttributeReader& c) {
  const bool whisper = c.op_type() == "WhisperBeamSearch";
  const std::int64_t kind = c.Int("model_type", whisper ? kWhisper : kDecoderAlone);
  if (whisper && kind != kWhisper)
    c.Fail(Code::kInvalidArgument, "attribute 'model_type': expected ", kWhisper, ", found ", kind);
  if (kind == kDecoderAlone) return {ReadDecoders(c), {}, {}};
  if (kind != kEncoderDecoder && kind != kWhisper)
    c.Fail(Code::kInvalidArgument, "attribute 'model_type': expected 0, 1 or 2, found ", kind);
  BeamState s = {ReadTokens(c), ReadEncoderDecoder(c, kind == kWhisper), {}};
  if (kind == kWhisper) s.whisper = ReadWhisper(c, s.decoder.end, s.encoder->start);
  if (s.encoder->start < 0 && !(s.whisper && HasInput(c, kDecoderIds)))
    c.Fail(Code::kInvalidArgument, "attribute 'decoder_start_token_id': expected a token for a model with an encoder");
  return s;
}

}  // namespace

void InferBeamSearch(InferContext& c) {
  const BeamState model = ReadModel(c);
  const DecoderDef& def = model.decoder;
  const std::size_t rank = model.whisper ? 3 : 2;
  InferDecoders(c);
  if (c.HasRank(kIds) && c.Rank(kIds) != rank)
    c.Fail(Code::kInvalidArgument, c.InputText(kIds), ": expected rank ", rank, ", found ", c.InputType(kIds).ToText());
  const Dim batch = c.HasRank(kIds) ? c.InputDims(kIds)[0] : Dim();
  c.SetOutput(0, DType::kInt32, {batch, Dim(), Dim()});
  if (c.HasOutput(1)) c.SetOutput(1, DType::kFloat, {batch, Dim()});
  if (c.HasOutput(2))
    c.SetOutput(2, DType::kFloat, {Dim(), batch, Dim(), def.vocabulary > 0 ? Dim(def.vocabulary) : Dim()});
  if (c.HasOutput(kCrossScores))
    c.Fail(Code::kNotImplemented, "output 3 ('cross_qk') is not implemented (ONNX Runtime has it on a GPU only)");
  if (c.HasOutput(kNoSpeech)) c.SetOutput(kNoSpeech, DType::kFloat, {batch});
}

Prepared PrepareBeamSearch(PrepareContext& c) {
  BeamState s = ReadModel(c);
  for (std::size_t i = 0; i <= kTemperature; ++i) {
    const bool number = i == kPenalty || i == kLengthPenalty || i == kTemperature;
    const DType expected = i == kIds && s.encoder ? s.encoder->source : number ? DType::kFloat : DType::kInt32;
    if (c.HasInput(i) && c.InputDType(i) != expected) c.Unsupported(c.InputText(i), c.InputDType(i));
  }
  if (c.HasInput(kDecoderIds) && !s.whisper) c.Unsupported(c.InputText(kDecoderIds));
  s.early_stopping = c.Flag("early_stopping");
  if (s.encoder)
    FindEncoderDecoder(c, *s.encoder);
  else
    FindDecoders(c, s.decoder);
  return WithState(RunBeamSearch, std::move(s));
}

}  // namespace sardonyx::ops
