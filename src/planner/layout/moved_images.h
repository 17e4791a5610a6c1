// planner/layout/moved_images.h - opens operators of com.ms.internal.nhwc that have no kernel on images channels last.
#pragma once

#include "ir/graph.h"
#include "ops/registry.h"

namespace sardonyx::planner {

// Replaces each node of the domain whose operator `registry` lacks by ONNX's operator of the name between
// transpositions, which the optimizer then moves. Versions are not resolved yet: in files of ONNX Runtime the domain
// has the versions of ONNX's. Fails with kNotImplemented naming the node where the number of dimensions, which
// transpositions need, is known neither from declared types nor from the nodes before, or for an operator that cannot
// be replaced.
void OpenMovedImages(Graph& graph, const ops::Registry& registry);

}  // namespace sardonyx::planner
