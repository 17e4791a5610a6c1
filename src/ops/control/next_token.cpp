// ops/control/next_token.cpp - changes scores by the rules of a generation, and chooses or draws a token.
#include "ops/control/next_token.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace sardonyx::ops {
namespace {

constexpr float kNever = std::numeric_limits<float>::lowest();

void Penalize(std::span<const std::int32_t> text, float penalty, std::span<float> scores) {
  std::vector<std::int32_t> tokens(text.begin(), text.end());
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  for (const std::int32_t token : tokens) {
    float& score = scores[static_cast<std::size_t>(token)];
    score = score < 0 ? score * penalty : score / penalty;
  }
}

void ForbidRepeats(std::span<const std::int32_t> text, std::size_t ngram, std::span<float> scores) {
  if (ngram > text.size()) return;
  const auto last = text.last(ngram - 1);
  for (std::size_t i = 0; i + ngram <= text.size(); ++i)
    if (std::ranges::equal(last, text.subspan(i, ngram - 1)))
      scores[static_cast<std::size_t>(text[i + ngram - 1])] = kNever;
}

void Forbid(std::span<const std::int32_t> allowed, std::span<float> scores) {
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (allowed[i] == 0) scores[i] = kNever;
}

}  // namespace

void TokenRules::Apply(std::span<const std::int32_t> text, std::int64_t row, bool first,
                       std::span<float> scores) const {
  const std::size_t at = static_cast<std::size_t>(row) * scores.size();
  if (repetition_penalty != 1) Penalize(text, repetition_penalty, scores);
  if (no_repeat > 0) ForbidRepeats(text, static_cast<std::size_t>(no_repeat), scores);
  if (!allowed.empty()) Forbid(allowed, scores);
  if (first && !first_allowed.empty()) Forbid(first_allowed.subspan(at, scores.size()), scores);
  const bool too_short = static_cast<std::int64_t>(text.size()) < min_length;
  if (too_short && end >= 0 && end < static_cast<std::int64_t>(scores.size()))
    scores[static_cast<std::size_t>(end)] = kNever;
  if (temperature != 1)
    for (float& score : scores) score /= temperature;
  for (std::size_t i = 0; !presence.empty() && i < scores.size(); ++i)
    scores[i] -= static_cast<float>(presence[at + i]) * presence_penalty;
}

float RepetitionPenalty(const KernelContext& c, std::size_t input) {
  if (!c.HasInput(input)) return 1;
  const TensorRef& penalty = c.Input(input);
  if (penalty.count != 1) {
    Fail(Code::kInvalidArgument, "input ", input, " ('repetition_penalty'): expected one number, found shape ",
         ToText(penalty.shape));
  }
  const float value = *penalty.As<float>();
  if (!(value > 0)) {
    Fail(Code::kInvalidArgument, "input ", input, " ('repetition_penalty'): expected a number above 0, found ", value);
  }
  return value;
}

std::int32_t BestToken(std::span<const float> scores) {
  return static_cast<std::int32_t>(std::ranges::max_element(scores) - scores.begin());
}

std::int32_t TokenSampler::Draw(std::span<const float> scores, RandomStream& random) const {
  std::vector<std::int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const auto score = [&](std::int32_t token) { return static_cast<double>(scores[static_cast<std::size_t>(token)]); };
  std::ranges::stable_sort(order, std::greater<>{}, score);
  const double most = score(order.front());
  double all = 0;
  for (const std::int32_t token : order) all += std::exp(score(token) - most);
  double kept = 0;
  std::size_t count = 0;
  const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(1, least));
  while (count < order.size() && (count < wanted || kept < static_cast<double>(top_p) * all))
    kept += std::exp(score(order[count++]) - most);
  double place = random.Uniform() * kept;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    place -= std::exp(score(order[i]) - most);
    if (place < 0) return order[i];
  }
  return order[count - 1];
}

}  // namespace sardonyx::ops
