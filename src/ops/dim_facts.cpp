// ops/dim_facts.cpp - what is certain of symbolic dimensions.
#include "ops/dim_facts.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace sardonyx::ops {

bool NeverNegative(const Dim& d) {
  if (d.known()) return d.number() >= 0;
  return d.symbolic() && d.ToText().find('-') == std::string::npos;  // sums and products of sizes
}

// The smaller one of a number and `d`. Dim writes a number before any name.
static bool IsMinimumWith(const Dim& minimum, const Dim& d) {
  const std::string text = minimum.ToText(), tail = ", " + d.ToText() + ")", head = "min(";
  if (text.size() <= head.size() + tail.size() || !text.starts_with(head) || !text.ends_with(tail)) return false;
  return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(head.size()),
                     text.end() - static_cast<std::ptrdiff_t>(tail.size()),
                     [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
}

Dim BoundedBroadcast(const Dim& x, const Dim& y) {
  if (!x.symbolic() || !y.symbolic()) return {};
  if (IsMinimumWith(y, x) || SameDim(y, Max(x, Dim(0)))) return x;
  if (IsMinimumWith(x, y) || SameDim(x, Max(y, Dim(0)))) return y;
  return {};
}

}  // namespace sardonyx::ops
