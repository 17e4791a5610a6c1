// ops/shapes/einsum_equation.cpp - parses the equation of Einsum.
#include "ops/shapes/einsum_equation.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"

namespace sardonyx::ops {
namespace {

constexpr int kEllipsis = 52;

int LabelOf(char c) { return c >= 'a' && c <= 'z' ? c - 'a' : c - 'A' + 26; }

// Reads one term; `ellipsis` says how many axes "..." stands for (-1: take what `rank` leaves).
EinsumTerm ParseTerm(std::string_view text, std::string_view term, int ellipsis, std::size_t rank, int* found) {
  const std::size_t letters =
      static_cast<std::size_t>(std::count_if(term.begin(), term.end(), [](char c) { return c != '.'; }));
  EinsumTerm result;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
      result.Append(LabelOf(term[i]));
      continue;
    }
    if (term.substr(i, 3) != "..." || *found >= 0) {
      Fail(Code::kInvalidArgument, "expected letters and at most one '...' in '", term, "' of the equation '", text,
           "'");
    }
    if (ellipsis < 0 && rank < letters) {
      Fail(Code::kInvalidArgument, "expected an operand of rank ", letters, " or more for '", term, "', found ", rank);
    }
    *found = ellipsis >= 0 ? ellipsis : static_cast<int>(rank - letters);
    for (int axis = *found; axis-- > 0;) result.Append(kEllipsis + axis);
    i += 2;
  }
  return result;
}

// Without an arrow: the ellipsis, then the labels that occur once, in alphabetical order (capitals first, as in NumPy).
EinsumTerm ImpliedOutput(const EinsumEquation& e, int ellipsis) {
  std::array<int, EinsumEquation::kLabels> uses = {};
  for (std::size_t i = 0; i < e.count; ++i) {
    for (std::size_t axis = 0; axis < e.operands[i].rank; ++axis) ++uses[e.operands[i].labels[axis]];
  }
  EinsumTerm output;
  for (int axis = ellipsis; axis-- > 0;) output.Append(kEllipsis + axis);
  for (const int first : {26, 0}) {
    for (int label = first; label < first + 26; ++label) {
      if (uses[label] == 1) output.Append(label);
    }
  }
  return output;
}

}  // namespace

void EinsumTerm::Append(int label) {
  if (rank == kMaxRank)
    Fail(Code::kNotImplemented, "expected at most ", kMaxRank, " axes in each term of the equation, found more");
  labels[rank++] = static_cast<std::uint8_t>(label);
}

bool EinsumTerm::Has(int label) const {
  return std::find(labels.begin(), labels.begin() + rank, label) != labels.begin() + rank;
}

EinsumEquation ParseEinsum(std::string_view text, std::span<const std::size_t> ranks) {
  const std::size_t arrow = text.find("->");
  const std::string_view left = text.substr(0, arrow);
  EinsumEquation e;
  int ellipsis = 0;
  for (std::size_t begin = 0;;) {
    const std::size_t comma = std::min(left.find(',', begin), left.size());
    if (e.count == ranks.size() || e.count == EinsumEquation::kMaxOperands) {
      Fail(ranks.size() > EinsumEquation::kMaxOperands ? Code::kNotImplemented : Code::kInvalidArgument,
           "expected an equation of ", ranks.size(), " operands, found '", text, "'");
    }
    int found = -1;
    EinsumTerm& term = e.operands[e.count];
    term = ParseTerm(text, left.substr(begin, comma - begin), -1, ranks[e.count], &found);
    if (term.rank != ranks[e.count]) {
      Fail(Code::kInvalidArgument, "expected an operand of rank ", term.rank, " for '",
           left.substr(begin, comma - begin), "', found ", ranks[e.count]);
    }
    ellipsis = std::max(ellipsis, found);
    ++e.count;
    if (comma == left.size()) break;
    begin = comma + 1;
  }
  if (e.count != ranks.size()) {
    Fail(Code::kInvalidArgument, "expected an equation of ", ranks.size(), " operands, found '", text, "'");
  }
  int found = -1;
  e.output = arrow == std::string_view::npos ? ImpliedOutput(e, ellipsis)
                                             : ParseTerm(text, text.substr(arrow + 2), ellipsis, 0, &found);
  for (std::size_t i = 0; i < e.output.rank; ++i) {
    bool known = false;
    for (std::size_t k = 0; k < e.count; ++k) known |= e.operands[k].Has(e.output.labels[i]);
    if (!known) Fail(Code::kInvalidArgument, "expected output labels that an operand has, found '", text, "'");
    for (std::size_t k = 0; k < i; ++k)
      if (e.output.labels[k] == e.output.labels[i])
        Fail(Code::kInvalidArgument, "expected output labels that differ, found '", text, "'");
  }
  return e;
}

}  // namespace sardonyx::ops
