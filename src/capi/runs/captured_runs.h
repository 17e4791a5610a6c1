// capi/runs/captured_runs.h - runs that a plug-in captures as graphs of its device, and replays.
#pragma once

#include <functional>
#include <span>

#include "runtime/session.h"

namespace sardonyx::capi {

// Fails with kFail if a provider of the session captures graphs, and does not run all that its policy says it must.
void CheckCapture(const runtime::Session& session);

// Values of a run by the indices of their inputs or outputs.
struct RunValues {
  std::span<const std::size_t> inputs;
  std::span<const Value* const> values;
  std::span<const std::size_t> outputs;
  std::span<Value> results;
};

// Calls `run` once or, for a provider that captures graphs, until it has captured this one (the run key gpu_graph_id;
// -1: none); from then on the provider replays it. Fails with kInvalidArgument for a key that is not a number, and for
// values that lie elsewhere than those of the captured run.
void RunCaptured(runtime::Session& session, const runtime::RunOptions& options, const RunValues& values,
                 const runtime::RunExtras& extras, const std::function<void(const runtime::RunExtras&)>& run);

// Has the provider forget a graph; does nothing if there is none.
void ReleaseCaptured(runtime::Session& session, int id);

}  // namespace sardonyx::capi
