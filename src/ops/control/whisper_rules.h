// ops/control/whisper_rules.h - what a search does for Whisper's models: timestamps, tokens that the caller wants, and
// the probability that nobody speaks.
#pragma once

#include <cstdint>
#include <span>

#include "ops/kernel_context.h"
#include "ops/node_view.h"

namespace sardonyx::ops {

// Timestamps are the tokens from `first` on. They come in pairs (but for the one that begins a text) and do not fall.
struct TimestampRules {
  std::int32_t first = -1, none = -1;                                              // none: "no timestamps follow"
  std::int32_t end = -1, start = -1, model = -1, translate = -1, transcribe = -1;  // tokens that are no text

  // Changes the scores (logarithms of probabilities) of the token that follows `text`. `first` is in [0,
  // scores.size()).
  void Apply(std::span<const std::int32_t> text, std::span<float> scores) const;

 private:
  bool IsStamp(std::int32_t token) const { return token >= first; }
  void ForbidTokens(bool begun, std::span<float> scores) const;
  void ForbidStamps(std::span<const std::int32_t> text, bool begun, std::span<float> scores) const;
};

struct WhisperDef {
  TimestampRules stamps;
  std::int32_t no_speech = -1;
};

// From the node's attributes; fails where it asks for scores of cross attentions.
WhisperDef ReadWhisper(const AttributeReader& c, std::int32_t end, std::int32_t start);

// The tokens [batch, steps] of an input that come first; none if it is missing. Fails unless there is a row for each
// of the batch, and no token is beyond `words`.
class ForcedTokens {
 public:
  ForcedTokens() = default;
  ForcedTokens(const KernelContext& c, std::size_t input, std::int64_t batch, std::int64_t words);
  // Leaves the token of this step alone, if there is one.
  void Apply(std::int64_t row, std::int64_t step, std::span<float> scores) const;

 private:
  std::span<const std::int32_t> tokens_;
  std::int64_t steps_ = 0;
};

}  // namespace sardonyx::ops
