// tests/fuzz/oracle_exceptions.h - the operators behind which roundings may decide about NaN, infinities and shapes.
//
// Without one of them on the way to an output, its NaN, infinities and shape are the same in every form of the graph.
// To add an operator, write its row in oracle_exceptions.cpp with the reason.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace sardonyx::fuzz {

enum class Cause : std::uint8_t {
  kSum,      // adds (or multiplies) many elements, in any order
  kFormula,  // is computed by another formula where a pass fuses or folds it
  kTail,     // the same, and where its result is nearly zero, it vanishes earlier or later
  kJump,     // its result jumps where an input moves by a rounding: the only ones behind which a shape may change
};

struct OracleException {
  std::string_view op_type;
  Cause cause = Cause::kSum;
  std::string_view reason;
};

std::span<const OracleException> OracleExceptions();

// The operator's row; nullptr if it has none.
const OracleException* FindException(std::string_view op_type);

// "OPERATOR: REASON" of an operator that `output` depends on, the nearest one first; "" if there is none. `jumps`: only
// operators whose cause is kJump.
std::string ExceptionBefore(const Graph& graph, ValueId output, bool jumps);

}  // namespace sardonyx::fuzz
