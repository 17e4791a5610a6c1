// ops/attention/attention_cost.cpp - counts the keys of this step and, if the node has a state, those of earlier steps.
#include "ops/attention/attention_cost.h"

namespace sardonyx::ops {

double OperationsOverKeys(const CostContext& c, double keys) { return 4 * keys * c.CountOut(0); }

void CountAttention(CostContext& c) {
  const TensorRef& present = c.Out(1);
  const TensorRef& k = c.In(1).present() ? c.In(1) : c.In(0);
  const bool has_state = present.present() && present.rank() == 4;
  const double keys = has_state ? CostContext::DimOf(present, 2) : CostContext::DimOf(k, k.rank() == 4 ? 2 : 1);
  c.SetOperations(OperationsOverKeys(c, keys));
}

}  // namespace sardonyx::ops
