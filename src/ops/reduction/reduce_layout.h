// ops/reduction/reduce_layout.h - how reductions behave on channels-last images (ops/layout.h).
#pragma once

#include "ops/layout.h"

namespace sardonyx::ops {

extern const LayoutDef kReduceLayout;             // the axes are input 1
extern const LayoutDef kQLinearReduceMeanLayout;  // ... an attribute

}  // namespace sardonyx::ops
