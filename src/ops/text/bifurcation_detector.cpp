// ops/text/bifurcation_detector.cpp - com.microsoft.BifurcationDetector, a step of aggressive decoding: accepts
// predicted tokens as far as they repeat the source, and finds where the source goes on after the last tokens.
#include <algorithm>

#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kSource = 0, kCurrent = 1, kPreviousMatch = 2, kPredicted = 3;

struct DetectorState {
  std::int64_t min_ngram = 1, max_ngram = 3;
};

void InferDetector(InferContext& c) {
  for (const std::size_t i : {kSource, kCurrent, kPredicted}) {
    if (c.HasInput(i) && c.HasRank(i) && c.Rank(i) != 1)
      c.Fail(Code::kInvalidArgument, c.InputText(i), ": expected a vector, found ", c.InputType(i).ToText());
  }
  const bool same = !c.HasInput(kPredicted) && c.HasRank(kCurrent);
  c.SetOutput(0, DType::kInt64, {same ? c.InputDims(kCurrent)[0] : Dim()});
  if (c.HasOutput(1)) c.SetOutputType(1, c.InputType(kPreviousMatch));
}

using Tokens = std::span<const std::int64_t>;

// How many predicted tokens are taken: those that equal the source after the last match, and one more.
std::size_t CountAccepted(Tokens source, Tokens predicted, std::int64_t match) {
  if (match < 0 || match > static_cast<std::int64_t>(source.size())) {
    Fail(Code::kInvalidArgument, "input 2 ('prev_suffix_match_idx'): expected an index in [0, ", source.size(),
         "], found ", match);
  }
  const Tokens rest = source.subspan(static_cast<std::size_t>(match));
  if (predicted.size() != rest.size() + 1) {
    Fail(Code::kInvalidArgument, "input 3 ('pred_tokens'): expected ", rest.size() + 1, " tokens, found ",
         predicted.size());
  }
  const auto differs = std::ranges::mismatch(rest, predicted);
  return static_cast<std::size_t>(differs.in1 - rest.begin()) + 1;
}

// The index in the source behind the longest ngram at the end of `tokens` that occurs there once; -1 if there is none.
// Longer ngrams are tried as long as shorter ones occur.
std::int64_t FindSuffix(Tokens source, Tokens tokens, const DetectorState& state) {
  std::int64_t found = -1;
  const auto longest = std::min(state.max_ngram, static_cast<std::int64_t>(tokens.size()));
  for (std::int64_t n = state.min_ngram; n <= longest; ++n) {
    const Tokens ngram = tokens.last(static_cast<std::size_t>(n));
    const auto first = std::search(source.begin(), source.end(), ngram.begin(), ngram.end());
    if (first == source.end()) break;
    found = first - source.begin() + n;
    if (found == static_cast<std::int64_t>(source.size())) break;
    if (std::search(first + 1, source.end(), ngram.begin(), ngram.end()) != source.end()) found = -1;
  }
  return found;
}

void RunDetector(KernelContext& c) {
  const Tokens source = c.Input(kSource).Span<std::int64_t>(), current = c.Input(kCurrent).Span<std::int64_t>();
  const TensorRef& match = c.Input(kPreviousMatch);
  if (match.count != 1) {
    Fail(Code::kInvalidArgument, "input 2 ('prev_suffix_match_idx'): expected one index, found shape ",
         ToText(match.shape));
  }
  Tokens accepted;
  if (c.HasInput(kPredicted)) {
    const Tokens predicted = c.Input(kPredicted).Span<std::int64_t>();
    accepted = predicted.first(CountAccepted(source, predicted, *match.As<std::int64_t>()));
  }
  const std::int64_t shape[] = {static_cast<std::int64_t>(current.size() + accepted.size())};
  const std::span<std::int64_t> tokens = c.Output(0, shape).Span<std::int64_t>();
  std::ranges::copy(accepted, std::ranges::copy(current, tokens.begin()).out);
  if (c.HasOutput(1))
    *c.Output(1, match.shape).As<std::int64_t>() = FindSuffix(source, tokens, c.state<DetectorState>());
}

Prepared PrepareDetector(PrepareContext& c) {
  const DetectorState state = {c.Int("min_ngram_size", 1), c.Int("max_ngram_size", 3)};
  if (state.min_ngram < 1)
    c.Fail(Code::kInvalidArgument, "attribute 'min_ngram_size': expected at least 1, found ", state.min_ngram);
  if (state.max_ngram < state.min_ngram) {
    c.Fail(Code::kInvalidArgument, "attribute 'max_ngram_size': expected at least min_ngram_size, ", state.min_ngram,
           ", found ", state.max_ngram);
  }
  return WithState(RunDetector, state);
}

constexpr OpDef kBifurcationDetectorOps[] = {
    {.domain = "com.microsoft",
     .name = "BifurcationDetector",
     .since = {1},
     .types = {DType::kInt64},
     .infer = InferDetector,
     .prepare = PrepareDetector,
     .traits = kSizedByElements},
};

}  // namespace

std::span<const OpDef> BifurcationDetectorOps() { return kBifurcationDetectorOps; }

}  // namespace sardonyx::ops
