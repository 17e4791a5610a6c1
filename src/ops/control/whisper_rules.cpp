// ops/control/whisper_rules.cpp - timestamps and wanted tokens of Whisper's models.
#include "ops/control/whisper_rules.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>

#include "ops/control/decoder_steps.h"

namespace sardonyx::ops {
namespace {

constexpr float kNever = std::numeric_limits<float>::lowest();
constexpr std::int64_t kLatestStart = 50;  // steps of 20 ms: a text begins in the first second

void Forbid(std::int64_t from, std::int64_t to, std::span<float> scores) {
  const auto count = static_cast<std::int64_t>(scores.size());
  from = std::clamp<std::int64_t>(from, 0, count), to = std::clamp<std::int64_t>(to, from, count);
  std::ranges::fill(scores.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)), kNever);
}

// The logarithm of a sum of probabilities; kNever if none is possible.
float LogOfSum(std::span<const float> scores) {
  const float most = std::ranges::max(scores);
  float sum = 0;
  for (const float score : scores)
    if (score > kNever) sum += std::exp(score - most);
  return sum > 0 ? std::log(sum) + most : kNever;
}

}  // namespace

void TimestampRules::ForbidTokens(bool begun, std::span<float> scores) const {
  for (const std::int32_t token : {none, model})
    if (token >= 0) Forbid(token, std::int64_t{token} + 1, scores);
  if (!begun) return;
  for (const std::int32_t token : {start, translate, transcribe})
    if (token >= 0) Forbid(token, std::int64_t{token} + 1, scores);
}

void TimestampRules::ForbidStamps(std::span<const std::int32_t> text, bool begun, std::span<float> scores) const {
  const auto all = static_cast<std::int64_t>(scores.size());
  const bool last = !text.empty() && IsStamp(text.back());
  const bool before = !begun || IsStamp(text[text.size() - 2]);
  if (last && before) Forbid(first, all, scores);  // a pair, or the beginning: text follows
  if (last && !before) Forbid(0, end, scores);     // half a pair
  for (auto i = text.rbegin(); i != text.rend(); ++i) {
    if (!IsStamp(*i)) continue;
    Forbid(first, std::int64_t{*i} + (last && !before ? 0 : 1), scores);
    break;
  }
  if (!begun) Forbid(first + kLatestStart + 1, all, scores);
}

void TimestampRules::Apply(std::span<const std::int32_t> text, std::span<float> scores) const {
  const auto stamp = std::ranges::find_if(text, [&](std::int32_t token) { return IsStamp(token); });
  // More than the first timestamp is there; a text without one has not begun.
  const bool begun = stamp != text.end() && std::next(stamp) != text.end();
  ForbidTokens(begun, scores);
  ForbidStamps(text, begun, scores);
  const auto words = scores.first(static_cast<std::size_t>(first));
  if (words.empty()) return;
  // All timestamps together are more probable than any other token.
  if (LogOfSum(scores.subspan(words.size())) > std::ranges::max(words)) std::ranges::fill(words, kNever);
}

WhisperDef ReadWhisper(const AttributeReader& c, std::int32_t end, std::int32_t start) {
  if (c.Flag("decoder_output_cross_qk")) {
    c.Fail(Code::kNotImplemented,
           "attribute 'decoder_output_cross_qk': scores of cross attentions are not implemented (ONNX Runtime has them "
           "on a GPU only)");
  }
  WhisperDef def;
  def.no_speech = TokenAttribute(c, "no_speech_token_id", -1);
  TimestampRules& stamps = def.stamps;
  stamps.end = end, stamps.start = start;
  stamps.first = TokenAttribute(c, "beginning_timestamp_token_id", -1);
  stamps.none = TokenAttribute(c, "no_timestamps_token_id", -1);
  stamps.model = TokenAttribute(c, "start_of_lm_token_id", -1);
  stamps.translate = TokenAttribute(c, "translate_token_id", -1);
  stamps.transcribe = TokenAttribute(c, "transcribe_token_id", -1);
  return def;
}

ForcedTokens::ForcedTokens(const KernelContext& c, std::size_t input, std::int64_t batch, std::int64_t words) {
  if (!c.HasInput(input)) return;
  const TensorRef& tokens = c.Input(input);
  if (tokens.shape.size() != 2 || tokens.dim(0) != batch) {
    Fail(Code::kInvalidArgument, "input ", input, " ('extra_decoding_ids'): expected shape [", batch,
         ", tokens], found ", ToText(tokens.shape));
  }
  tokens_ = tokens.Span<std::int32_t>(), steps_ = tokens.dim(1);
  for (const std::int32_t token : tokens_) {
    if (token >= words) {
      Fail(Code::kInvalidArgument, "input ", input, " ('extra_decoding_ids'): expected tokens below ", words,
           ", found ", token);
    }
  }
}

void ForcedTokens::Apply(std::int64_t row, std::int64_t step, std::span<float> scores) const {
  if (step >= steps_) return;
  // A negative token ends the list of its row.
  const auto own = tokens_.subspan(static_cast<std::size_t>(row * steps_), static_cast<std::size_t>(step) + 1);
  if (std::ranges::any_of(own, [](std::int32_t token) { return token < 0; })) return;
  std::ranges::fill(scores, kNever);
  scores[static_cast<std::size_t>(own.back())] = 0;
}

}  // namespace sardonyx::ops
