// optimizer/passes/passes.h - declares the passes; pass_order.inc lists them.
#pragma once

#include "optimizer/rules/pass.h"

namespace sardonyx::optimizer {

#define SDX_BEFORE_UPGRADE(Name) extern const Pass k##Name;
#define SDX_AFTER_UPGRADE(Name) extern const Pass k##Name;
#include "optimizer/passes/pass_order.inc"
#undef SDX_BEFORE_UPGRADE
#undef SDX_AFTER_UPGRADE

}  // namespace sardonyx::optimizer
