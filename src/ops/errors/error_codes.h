// ops/errors/error_codes.h - the codes of errors at a node, which programs tell apart: those of ONNX Runtime.
#pragma once

#include <optional>

#include "base/error.h"
#include "ir/graph.h"
#include "ops/op_def.h"

namespace sardonyx::ops {

// An error in the inference of a node while its model loads, or in the making of its kernel: what is wrong with inputs
// and attributes is kFail. Other codes, errors of custom operators, and errors that name a node of a body stay.
Error AsLoadError(const Graph& graph, const Node& node, const OpDef& op, const Error& error);

// An error of a node in a run: wrong inputs are kFail, except for operators whose kernels in ONNX Runtime have another
// code for them. What stays is as above.
Error AsRunError(const Graph& graph, const Node& node, const OpDef& op, const Error& error);

// The error that a run is to give for what loading found wrong about `node`, whose newest spelling is `newest`; nullopt
// if loading gives it (ops/errors/late_errors.h).
std::optional<Error> AsLateError(const Graph& graph, const Node& node, const Node& newest, const OpDef& op,
                                 const Error& error);

}  // namespace sardonyx::ops
