// ops/tensor/shape_layout.h - how Shape and Reshape behave on channels-last images (ops/layout.h).
#pragma once

#include "ops/layout.h"

namespace sardonyx::ops {

extern const LayoutDef kShapeLayout;
extern const LayoutDef kReshapeLayout;

}  // namespace sardonyx::ops
