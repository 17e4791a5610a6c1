// optimizer/passes/eliminate/eliminate_identity.cpp - removes nodes that pass their input on: Identity, and sums,
// minima, maxima, means and Concats of one operand.
#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {
namespace {

constexpr Rule kRules[] = {
    {.name = "one operand",
     .match = "Identity(x) | Sum(x) | Max(x) | Min(x) | Mean(x) | Concat(x)",
     .replace = "x",
     .any_spelling = true},
};

}  // namespace

constinit const Pass kEliminateIdentity = {.name = "eliminate_identity", .level = Level::kBasic, .rules = kRules};

}  // namespace sardonyx::optimizer
