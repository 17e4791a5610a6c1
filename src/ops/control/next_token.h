// ops/control/next_token.h - what operators of text generation do with a decoder's scores before they choose a token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/kernel_context.h"
#include "ops/random_stream.h"

namespace sardonyx::ops {

struct TokenRules {
  float repetition_penalty = 1;  // divides scores of tokens that are there already (multiplies those below 0)
  std::int64_t no_repeat = 0;    // ngrams of this length do not come twice; 0: any may
  std::int64_t min_length = 0;   // before which the end does not come
  std::int64_t end = -1;
  std::span<const std::int32_t> allowed;        // [vocabulary]: 0 for tokens that never come; or empty
  std::span<const std::int32_t> first_allowed;  // [batch, vocabulary] for the first token; or empty
  float temperature = 1;
  std::span<const std::int32_t> presence;  // [batch, vocabulary], times presence_penalty, is subtracted; or empty
  float presence_penalty = 0;

  // Changes the scores of the token that follows `text`, of row `row` of the batch. Every token of the text is in [0,
  // scores.size()).
  void Apply(std::span<const std::int32_t> text, std::int64_t row, bool first, std::span<float> scores) const;
};

// The repetition_penalty of an input, 1 if it is missing. Fails unless it is one number above 0.
float RepetitionPenalty(const KernelContext& c, std::size_t input);

// The token with the highest score; of equal ones the first.
std::int32_t BestToken(std::span<const float> scores);

// Draws from the most probable tokens, as few as have a probability of `top_p` together, but `least` at least.
struct TokenSampler {
  float top_p = 1;
  std::int64_t least = 1;
  std::int32_t Draw(std::span<const float> scores, RandomStream& random) const;
};

}  // namespace sardonyx::ops
