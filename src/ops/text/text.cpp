// ops/text/text.cpp - operators on strings: RegexFullMatch, StringConcat, StringNormalizer, StringSplit.
#include <re2/re2.h>

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/limits.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/shapes/broadcast.h"
#include "ops/text/utf8_case.h"
#include "ops/text/utf8_length.h"

namespace sardonyx::ops {
namespace {

constexpr DTypeSet kStrings = {DType::kString};

// ---- RegexFullMatch

void InferRegex(InferContext& c) {
  Type type = c.InputType(0);
  if (!type.is_tensor()) return;
  type.dtype = DType::kBool;
  c.SetOutputType(0, std::move(type));
}

struct RegexState {
  std::shared_ptr<const re2::RE2> regex;  // shared: RE2 cannot be copied, the state is
};

void RunRegex(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const re2::RE2& regex = *c.state<RegexState>().regex;
  const OutputRef y = c.Output(0, x.shape);
  for (std::int64_t i = 0; i < x.count; ++i) y.As<bool>()[i] = re2::RE2::FullMatch(x.As<std::string>()[i], regex);
}

Prepared PrepareRegex(PrepareContext& c) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  auto regex = std::make_shared<const re2::RE2>(c.String("pattern"), options);
  if (!regex->ok())
    c.Fail(Code::kInvalidGraph, "attribute 'pattern': expected a regular expression, found '", regex->pattern(),
           "': ", regex->error());
  return WithState(RunRegex, RegexState{std::move(regex)});
}

// ---- StringConcat

void RunStringConcat(KernelContext& c) {
  const TensorRef& a = c.Input(0);
  const TensorRef& b = c.Input(1);
  Shape shape;
  if (!Broadcast(a.shape, b.shape, &shape)) {
    Fail(Code::kInvalidArgument, "shapes ", ToText(a.shape), " and ", ToText(b.shape), " do not broadcast");
  }
  const OutputRef y = c.Output(0, shape);
  if (y.count == 0) return;
  const Dims shapes[] = {a.shape, b.shape};
  const BroadcastPlan plan(y.shape, shapes);
  const std::int64_t step_a = plan.repeats(0) ? 0 : 1, step_b = plan.repeats(1) ? 0 : 1;
  const auto for_each = [&](auto f) {  // f(text of a, text of b, place in y)
    plan.ForRange(0, y.count, [&](const BroadcastRun& r) {
      const std::string* left = a.As<std::string>() + r.in[0];
      const std::string* right = b.As<std::string>() + r.in[1];
      for (std::int64_t i = 0; i < r.count; ++i) f(left[i * step_a], right[i * step_b], r.out + i);
    });
  };
  std::size_t bytes = 0;  // of all texts, which limits have to allow; in a loop they double each time
  for_each(
      [&](const std::string& left, const std::string& right, std::int64_t) { bytes += left.size() + right.size(); });
  ChargeMemory(bytes);
  ReturnMemory(bytes);
  for_each([&](const std::string& left, const std::string& right, std::int64_t i) {
    std::string& text = y.As<std::string>()[i];
    text.reserve(left.size() + right.size());
    text.assign(left).append(right);
  });
}

Prepared PrepareStringConcat(PrepareContext&) { return {RunStringConcat, nullptr}; }

// ---- StringSplit

struct SplitState {
  std::string delimiter;  // empty: runs of white space
  std::int64_t most;      // splits; negative: no limit
};

void InferStringSplit(InferContext& c) {
  if (!c.HasRank(0)) {
    c.SetOutput(0, DType::kString);
    c.SetOutput(1, DType::kInt64);
    return;
  }
  std::vector<Dim> dims = c.InputDims(0);
  c.SetOutput(1, DType::kInt64, dims);
  dims.push_back(Dim());
  c.SetOutput(0, DType::kString, std::move(dims));
}

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

void SplitAtSpace(std::string_view text, std::int64_t most, std::vector<std::string_view>& parts) {
  const std::size_t before = parts.size();
  std::size_t i = 0;
  while (true) {
    while (i < text.size() && IsSpace(text[i])) ++i;
    if (i == text.size()) return;
    std::size_t end = i;
    if (most >= 0 && static_cast<std::int64_t>(parts.size() - before) == most) {
      end = text.size();
      while (end > i && IsSpace(text[end - 1])) --end;
      parts.push_back(text.substr(i, end - i));
      return;
    }
    while (end < text.size() && !IsSpace(text[end])) ++end;
    parts.push_back(text.substr(i, end - i));
    i = end;
  }
}

// Appends the parts of `text`.
void SplitAt(std::string_view text, const SplitState& state, std::vector<std::string_view>& parts) {
  if (state.delimiter.empty()) return SplitAtSpace(text, state.most, parts);
  if (text.empty()) return;
  std::size_t begin = 0;
  for (std::int64_t splits = 0; state.most < 0 || splits < state.most; ++splits) {
    const std::size_t end = text.find(state.delimiter, begin);
    if (end == std::string_view::npos) break;
    parts.push_back(text.substr(begin, end - begin));
    begin = end + state.delimiter.size();
  }
  parts.push_back(text.substr(begin));
}

void RunStringSplit(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const auto texts = static_cast<std::size_t>(x.count);
  std::vector<std::string_view> parts;  // of all texts, one after the other
  std::vector<std::size_t> ends;        // of each text's parts
  ends.reserve(texts);
  std::size_t most = 0;
  for (std::size_t i = 0; i < texts; ++i) {
    const std::size_t before = parts.size();
    SplitAt(x.As<std::string>()[i], c.state<SplitState>(), parts);
    most = std::max(most, parts.size() - before);
    ends.push_back(parts.size());
  }
  Shape shape(x.shape);
  shape.Append(static_cast<std::int64_t>(most));
  std::string* y = c.Output(0, shape).As<std::string>();
  std::int64_t* counts = c.HasOutput(1) ? c.Output(1, x.shape).As<std::int64_t>() : nullptr;
  std::size_t part = 0;
  for (std::size_t i = 0; i < texts; ++i, y += most) {
    const std::size_t count = ends[i] - part;
    for (std::size_t k = 0; k < count; ++k) y[k].assign(parts[part++]);
    for (std::size_t k = count; k < most; ++k) y[k].clear();
    if (counts != nullptr) counts[i] = static_cast<std::int64_t>(count);
  }
}

Prepared PrepareStringSplit(PrepareContext& c) {
  return WithState(RunStringSplit, SplitState{c.String("delimiter", ""), c.Int("maxsplit", -1)});
}

// ---- StringNormalizer

enum class CaseChange { kNone, kLower, kUpper };

struct NormalizerState {
  CaseChange change;
  Letters letters;  // that have another case in the attribute's locale
  bool case_sensitive;
  std::unordered_set<std::string> stop_words;  // in lower case unless case_sensitive
};

void InferStringNormalizer(InferContext& c) {
  if (c.HasRank(0) && c.Rank(0) == 2) return c.SetOutput(0, DType::kString, {Dim(1), Dim()});
  if (c.HasRank(0)) return c.SetOutput(0, DType::kString, {Dim()});
  c.SetOutput(0, DType::kString);
}

void RunStringNormalizer(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const NormalizerState& state = c.state<NormalizerState>();
  if (x.rank() != 1 && !(x.rank() == 2 && x.shape[0] == 1)) {
    Fail(Code::kInvalidArgument, "expected an input [C] or [1, C], found shape ", ToText(x.shape));
  }
  std::vector<std::string> kept;
  kept.reserve(static_cast<std::size_t>(x.count));
  for (std::int64_t i = 0; i < x.count; ++i) {
    const std::string& text = x.As<std::string>()[i];
    if (!IsUtf8(text))
      Fail(Code::kInvalidArgument, "expected valid UTF-8 in the input, found other bytes in element ", i);
    if (!state.stop_words.empty() &&
        state.stop_words.contains(state.case_sensitive ? text : ToLower(text, state.letters)))
      continue;
    kept.push_back(state.change == CaseChange::kLower   ? ToLower(text, state.letters)
                   : state.change == CaseChange::kUpper ? ToUpper(text, state.letters)
                                                        : text);
  }
  if (kept.empty()) kept.emplace_back();  // the specification: one empty string where nothing is left
  Shape shape;
  if (x.rank() == 2) shape.Append(1);
  shape.Append(static_cast<std::int64_t>(kept.size()));
  std::move(kept.begin(), kept.end(), c.Output(0, shape).As<std::string>());
}

Prepared PrepareStringNormalizer(PrepareContext& c) {
  NormalizerState state;
  const std::string change = c.String("case_change_action", "NONE");
  if (change != "NONE" && change != "LOWER" && change != "UPPER") {
    c.Fail(Code::kInvalidGraph, "attribute 'case_change_action': expected NONE, LOWER or UPPER, found '", change, "'");
  }
  state.change = change == "LOWER" ? CaseChange::kLower : change == "UPPER" ? CaseChange::kUpper : CaseChange::kNone;
  state.letters = LettersOf(c.String("locale", ""));
  state.case_sensitive = c.Flag("is_case_sensitive");
  for (const std::string& word : c.Strings("stopwords"))
    state.stop_words.insert(state.case_sensitive ? word : ToLower(word, state.letters));
  return WithState(RunStringNormalizer, std::move(state));
}

constexpr OpDef kTextOps[] = {
    {.name = "RegexFullMatch", .since = {20}, .types = kStrings, .infer = InferRegex, .prepare = PrepareRegex},
    {.name = "StringConcat", .since = {20}, .types = kStrings, .infer = InferBroadcast, .prepare = PrepareStringConcat},
    {.name = "StringNormalizer",
     .since = {10},
     .types = kStrings,
     .infer = InferStringNormalizer,
     .prepare = PrepareStringNormalizer},
    {.name = "StringSplit", .since = {20}, .types = kStrings, .infer = InferStringSplit, .prepare = PrepareStringSplit},
};

}  // namespace

std::span<const OpDef> TextOps() { return kTextOps; }

}  // namespace sardonyx::ops
