// ops/reduction/reduce_layout.h - the layouts of the reductions (reduce.cpp).
#pragma once

#include "ops/layout.h"

namespace sardonyx::ops {

extern const LayoutDef kReduceLayout;             // the axes are input 1
extern const LayoutDef kQLinearReduceMeanLayout;  // ... an attribute

}  // namespace sardonyx::ops
