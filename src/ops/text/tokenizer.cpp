// ops/text/tokenizer.cpp - com.microsoft.Tokenizer: splits strings [C] or [N, C] into rows of tokens, padded to the
// longest row.
#include <re2/re2.h>

#include <algorithm>
#include <memory>

#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/text/utf8_length.h"

namespace sardonyx::ops {
namespace {

constexpr std::int64_t kGrain = 16;  // strings that are worth a thread
using Tokens = std::vector<std::string_view>;

struct TokenizerState {
  bool mark = false;        // each row begins with U+0002 and ends, before the padding, with U+0003
  bool characters = false;  // a token is a character
  std::size_t least = 1;    // characters of a token
  std::string padding;
  std::vector<std::shared_ptr<const re2::RE2>> separators;  // shared: RE2 cannot be copied, the state is
  std::shared_ptr<const re2::RE2> token;                    // or null, if there are separators
};

// Finds matches of a regular expression from left to right, the longest at each place.
class Matches {
 public:
  Matches(const re2::RE2& regex, std::string_view text) : regex_(regex), text_(text) {}
  // The next match at or after `from`; false if there is none.
  bool Next(std::size_t from) {
    if (from > text_.size()) return false;
    re2::StringPiece found;
    if (!regex_.Match(re2::StringPiece(text_.data(), text_.size()), from, text_.size(), re2::RE2::UNANCHORED, &found,
                      1)) {
      return false;
    }
    begin = static_cast<std::size_t>(found.data() - text_.data());
    size = found.size();
    return true;
  }
  // Behind the character at `at`; beyond the text if there is none.
  std::size_t AfterCharacter(std::size_t at) const {
    return at >= text_.size() ? text_.size() + 1 : at + Utf8Size(text_[at]);
  }
  std::size_t begin = 0, size = 0;

 private:
  const re2::RE2& regex_;
  std::string_view text_;
};

void AddCharacters(std::string_view text, Tokens& tokens) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = std::min(Utf8Size(text[at]), text.size() - at);
    tokens.push_back(text.substr(at, size));
    at += size;
  }
}

// What matches the token's expression. A match that is too short is tried again from its second character.
void AddMatches(const TokenizerState& state, std::string_view text, Tokens& tokens) {
  Matches matches(*state.token, text);
  for (std::size_t from = 0; matches.Next(from);) {
    const std::string_view token = text.substr(matches.begin, matches.size);
    if (Utf8Length(token) >= state.least) {
      tokens.push_back(token);
      from = matches.begin + matches.size;
    } else {
      from = matches.AfterCharacter(matches.begin);
    }
  }
}

void AddBetween(const TokenizerState& state, const re2::RE2& separator, std::string_view text, Tokens& tokens) {
  const auto add = [&](std::size_t begin, std::size_t end) {
    const std::string_view token = text.substr(begin, end - begin);
    if (Utf8Length(token) >= state.least) tokens.push_back(token);
  };
  Matches matches(separator, text);
  std::size_t from = 0;
  while (matches.Next(from)) {
    add(from, matches.begin);
    from = matches.size > 0 ? matches.begin + matches.size : matches.AfterCharacter(matches.begin);
  }
  if (from <= text.size()) add(from, text.size());
}

// The text cut at the first separator, the pieces cut at the second, and so on.
void AddPieces(const TokenizerState& state, std::string_view text, Tokens& tokens) {
  tokens.push_back(text);
  for (const std::shared_ptr<const re2::RE2>& separator : state.separators) {
    Tokens pieces;
    for (const std::string_view piece : tokens) AddBetween(state, *separator, piece, pieces);
    tokens = std::move(pieces);
  }
}

void Tokenize(const TokenizerState& state, std::int64_t index, std::string_view text, Tokens& tokens) {
  if (!IsUtf8(text))
    Fail(Code::kInvalidArgument, "expected valid UTF-8 in the input, found other bytes in element ", index);
  if (state.characters) return AddCharacters(text, tokens);
  if (!state.token) return AddPieces(state, text, tokens);
  if (Utf8Length(text) >= state.least) AddMatches(state, text, tokens);
}

void InferTokenizer(InferContext& c) {
  if (!c.HasRank(0)) return c.SetOutput(0, DType::kString);
  std::vector<Dim> dims = c.InputDims(0);
  if (dims.empty() || dims.size() > 2)
    c.Fail(Code::kInvalidArgument, "expected an input [C] or [N, C], found ", c.InputType(0).ToText());
  const bool empty = std::any_of(dims.begin(), dims.end(), [](const Dim& d) { return d.known() && d.number() == 0; });
  if (empty) {  // as ONNX Runtime: [0] or [N, 0]
    dims.back() = Dim(0);
  } else {
    dims.emplace_back();
  }
  c.SetOutput(0, DType::kString, std::move(dims));
}

void WriteRow(const TokenizerState& state, const Tokens& tokens, std::size_t width, std::string* y) {
  std::string* const end = y + width;
  if (state.mark) *y++ = '\x02';
  for (const std::string_view token : tokens) *y++ = token;
  if (state.mark) *y++ = '\x03';
  std::fill(y, end, state.padding);
}

void RunTokenizer(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const TokenizerState& state = c.state<TokenizerState>();
  if (x.rank() != 1 && x.rank() != 2)
    Fail(Code::kInvalidArgument, "expected an input [C] or [N, C], found shape ", ToText(x.shape));
  Shape shape(x.shape);
  if (x.count == 0) {
    shape[shape.size() - 1] = 0;
    c.Output(0, shape);
    return;
  }
  std::vector<Tokens> rows(static_cast<std::size_t>(x.count));
  c.parallel().For(x.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) Tokenize(state, i, x.As<std::string>()[i], rows[i]);
  });
  std::size_t width = 0;
  for (const Tokens& row : rows) width = std::max(width, row.size());
  if (width > 0 && state.mark) width += 2;
  shape.Append(static_cast<std::int64_t>(width));
  std::string* y = c.Output(0, shape).As<std::string>();
  if (width == 0) return;
  c.parallel().For(x.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      WriteRow(state, rows[i], width, y + i * static_cast<std::int64_t>(width));
  });
}

std::shared_ptr<const re2::RE2> Compile(const PrepareContext& c, std::string_view attribute, const std::string& text) {
  re2::RE2::Options options;
  options.set_longest_match(true);
  options.set_log_errors(false);
  auto regex = std::make_shared<const re2::RE2>(text, options);
  if (!regex->ok())
    c.Fail(Code::kInvalidGraph, "attribute '", attribute, "': expected a regular expression, found '", text,
           "': ", regex->error());
  return regex;
}

Prepared PrepareTokenizer(PrepareContext& c) {
  TokenizerState state;
  state.mark = c.Int("mark") != 0;
  state.padding = c.String("pad_value");
  const std::int64_t least = c.Int("mincharnum");
  if (least < 1) c.Fail(Code::kInvalidGraph, "attribute 'mincharnum': expected 1 or more, found ", least);
  state.least = static_cast<std::size_t>(least);
  if (c.Has("separators")) {
    const std::vector<std::string> separators = c.Strings("separators");
    if (separators.empty()) c.Fail(Code::kInvalidGraph, "attribute 'separators': expected at least one, found none");
    state.characters = separators.size() == 1 && separators[0].empty();
    for (const std::string& text : separators) state.separators.push_back(Compile(c, "separators", text));
  } else {
    const std::string text = c.String("tokenexp", "");
    if (text.empty()) c.Fail(Code::kInvalidGraph, "expected an attribute 'separators' or 'tokenexp', found none");
    state.characters = text == ".";
    state.token = Compile(c, "tokenexp", text);
  }
  if (state.characters && least > 1)
    c.Fail(Code::kInvalidGraph, "attribute 'mincharnum': expected 1 where characters are tokens, found ", least);
  return WithState(RunTokenizer, std::move(state));
}

constexpr OpDef kTokenizerOps[] = {
    {.domain = "com.microsoft",
     .name = "Tokenizer",
     .since = {1},
     .types = {DType::kString},
     .infer = InferTokenizer,
     .prepare = PrepareTokenizer},
};

}  // namespace

std::span<const OpDef> TokenizerOps() { return kTokenizerOps; }

}  // namespace sardonyx::ops
