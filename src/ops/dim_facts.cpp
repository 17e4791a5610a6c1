// ops/dim_facts.cpp - derives what holds for symbolic dimensions whatever their symbols stand for.
#include "ops/dim_facts.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace sardonyx::ops {

bool NeverNegative(const Dim& d) {
  if (d.known()) return d.number() >= 0;
  return d.symbolic() && d.ToText().find('-') == std::string::npos;  // sums and products of sizes
}

Dim Simpler(const Dim& x, const Dim& y) {
  if (y.unknown() || x.known() || SameDim(x, y)) return x;
  if (x.unknown() || y.known()) return y;
  const std::string a = x.ToText(), b = y.ToText();
  return a.size() < b.size() || (a.size() == b.size() && a < b) ? x : y;
}

namespace {

bool IsNumber(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
}

// The first "min(number, other)" in an expression, its operands in either order.
struct Minimum {
  Dim number, other;
};
std::optional<Minimum> FirstMinimum(const Dim& d) {
  constexpr std::string_view kHead = "min(", kComma = ", ";
  const std::string text = d.ToText();
  const std::size_t begin = text.find(kHead) == std::string::npos ? text.size() : text.find(kHead) + kHead.size();
  std::size_t end = begin, comma = 0;
  for (int depth = 0; end < text.size() && (depth > 0 || text[end] != ')'); ++end) {
    depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
    if (depth == 0 && text[end] == ',') comma = end;
  }
  if (end >= text.size() || comma == 0) return std::nullopt;
  const std::string first = text.substr(begin, comma - begin);
  const std::string second = text.substr(comma + kComma.size(), end - comma - kComma.size());
  const bool number_first = IsNumber(first);
  if (number_first == IsNumber(second)) return std::nullopt;
  const std::string& digits = number_first ? first : second;
  std::int64_t number = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc()) return std::nullopt;
  return Minimum{number, Dim::Symbol(number_first ? second : first)};
}

bool IsMinimumOf(const Dim& d, const Minimum& minimum) { return SameDim(d, Min(minimum.number, minimum.other)); }

// The smaller one of a number and `d`.
bool IsMinimumWith(const Dim& minimum, const Dim& d) {
  const auto found = FirstMinimum(minimum);
  return found && IsMinimumOf(minimum, *found) && SameDim(found->other, d);
}

// LastElements of `count` and some size.
bool IsLastElements(const Dim& d, const Dim& count) {
  const std::string text = d.ToText(), head = "last(" + count.ToText() + ", ";
  if (text.substr(0, head.size()) != head) return false;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0 && text[i] == ')') return i + 1 == text.size();
  }
  return false;
}

}  // namespace

Dim JoinedSize(const Dim& x, const Dim& y) {
  for (const auto& [head, tail] : {std::pair(&x, &y), std::pair(&y, &x)}) {
    const auto minimum = FirstMinimum(*head);
    if (minimum && IsMinimumOf(*head, *minimum) && SameDim(*tail, Max(minimum->other - minimum->number, 0)))
      return minimum->other;
  }
  return x + y;
}

Dim WithoutLast(const Dim& size, std::int64_t count) {
  const auto minimum = count == 1 ? FirstMinimum(size) : std::nullopt;
  if (minimum && SameDim(minimum->number, 1) && NeverNegative(minimum->other) &&
      SameDim(size, minimum->other + Min(1, minimum->other)))
    return minimum->other;
  const Dim rest = size - Dim(count);
  return NeverNegative(rest) ? rest : Max(rest, Dim(0));
}

Dim LastElements(const Dim& count, const Dim& size) {
  if (SameDim(count, size)) return size;
  if (!NeverNegative(count) || !NeverNegative(size - count)) return {};
  return Dim::Symbol("last(" + count.ToText() + ", " + size.ToText() + ")");
}

Dim BoundedBroadcast(const Dim& x, const Dim& y) {
  if (!x.symbolic() || !y.symbolic()) return {};
  if (IsMinimumWith(y, x) || SameDim(y, Max(x, Dim(0))) || IsLastElements(y, x)) return x;
  if (IsMinimumWith(x, y) || SameDim(x, Max(y, Dim(0))) || IsLastElements(x, y)) return y;
  return {};
}

void NameRowsOfSquare(const std::vector<Dim>& a, const std::vector<Dim>& b, std::vector<Dim>& out) {
  if (std::none_of(out.begin(), out.end(), [](const Dim& d) { return d.unknown(); })) return;
  for (const auto& [part, whole] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    for (std::size_t column = 0; column < out.size(); ++column) {
      if (!IsMinimumWith((*part)[column], (*whole)[column])) continue;
      const Dim side = FirstMinimum((*part)[column])->number, end = (*whole)[column];
      if (side.number() < 2) continue;  // one column broadcasts with any number of them
      for (std::size_t row = 0; row < out.size(); ++row) {
        const Dim& rows = (*whole)[row];
        if (!out[row].unknown() || !SameDim((*part)[row], Min(side, end) - Min(side, end - rows))) continue;
        out[row] = rows;
      }
    }
  }
}

}  // namespace sardonyx::ops
