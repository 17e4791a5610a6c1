// ops/nn/lp_power.h - what LpPool and GlobalLpPool share.
#pragma once

#include "ops/upgrade_context.h"

namespace sardonyx::ops {

// Version 1 of both has p as a float of default 2. kNotImplemented for a p that is no 32-bit integer.
void UpgradeLpPower(UpgradeContext& c);  // pool.cpp

}  // namespace sardonyx::ops
