// ops/shapes/einsum_equation.h - the equation of Einsum: the label of every axis of every operand and of the output.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/shape.h"

namespace sardonyx::ops {

// Labels: a-z and A-Z are 0 to 51, the axes of an ellipsis, counted from the last, 52 and up.
struct EinsumTerm {
  static constexpr std::size_t kMaxRank = 24;
  std::array<std::uint8_t, kMaxRank> labels = {};
  std::size_t rank = 0;

  void Append(int label);
  bool Has(int label) const;
};

struct EinsumEquation {
  static constexpr std::size_t kMaxOperands = 12;
  static constexpr int kLabels = 52 + static_cast<int>(EinsumTerm::kMaxRank);
  std::array<EinsumTerm, kMaxOperands> operands;
  std::size_t count = 0;
  EinsumTerm output;
};

// Reads `text` without spaces ("ij,jk->ik", "...i,...i") for operands of the given ranks. Fails with kInvalidArgument,
// naming the place.
EinsumEquation ParseEinsum(std::string_view text, std::span<const std::size_t> ranks);

}  // namespace sardonyx::ops
