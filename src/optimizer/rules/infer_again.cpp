// optimizer/rules/infer_again.cpp - inference in the middle of optimization.
#include "optimizer/rules/infer_again.h"

#include "base/error.h"
#include "ops/infer.h"

namespace sardonyx::optimizer {

bool InferAgain(Graph& graph, NodeId id, const ops::Registry& registry, const Logger* logger, std::string* why) {
  try {
    ops::InferAt(graph, id, registry, {.logger = logger});
    return true;
  } catch (const Error& error) {
    if (logger != nullptr) logger->Info("a run that reaches this node fails: ", error.what());
    if (why != nullptr) *why = error.what();
    return false;
  }
}

}  // namespace sardonyx::optimizer
