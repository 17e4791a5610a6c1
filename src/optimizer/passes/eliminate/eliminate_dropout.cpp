// optimizer/passes/eliminate/eliminate_dropout.cpp - removes Dropout, which passes its input on in inference.
#include "ops/upgrade.h"
#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {
namespace {

bool DoesNotTrain(Match& m) {
  const ops::Canonical dropout(m.graph(), m.graph().node(m.root()), m.registry());
  if (!dropout.HasInput(2)) return true;
  const Tensor* training = dropout.Constant(m.graph(), 2);
  if (training == nullptr || training->count() != 1) return m.No("its training_mode is not constant");
  return !*training->data<bool>() || m.No("it is in training mode");
}

constexpr Rule kRules[] = {
    {.name = "inference", .match = "Dropout(x, ?_, ?_)", .replace = "x", .when = DoesNotTrain, .any_spelling = true},
};

}  // namespace

constinit const Pass kEliminateDropout = {.name = "eliminate_dropout", .level = Level::kBasic, .rules = kRules};

}  // namespace sardonyx::optimizer
