// ops/tensor/shape_layout.h - the layouts of Shape and Reshape (shape.cpp).
#pragma once

#include "ops/layout.h"

namespace sardonyx::ops {

extern const LayoutDef kShapeLayout;
extern const LayoutDef kReshapeLayout;

}  // namespace sardonyx::ops
