// ops/nn/lp_power.h - the exponent p of LpPool and GlobalLpPool, which was a float in version 1.
#pragma once

#include "ops/upgrade_context.h"

namespace sardonyx::ops {

// Version 1 of both has p as a float of default 2. kNotImplemented for a p that is no 32-bit integer.
void UpgradeLpPower(UpgradeContext& c);  // pool.cpp

}  // namespace sardonyx::ops
