// capi/profile.h - profiles as files that Perfetto, chrome://tracing and the readers of ONNX Runtime's profiles open.
//
// The events have ONNX Runtime's names and fields (cat "Session" and "Node"; op_name, provider, input_type_shape ...)
// and more: what each node computed and moved, on how many threads, and what share of the machine's ceiling that is.
#pragma once

#include <string>

#include "runtime/profile/trace.h"
#include "runtime/session.h"

namespace sardonyx::capi {

// Ends the session's profile and writes it; the file's name, "" if none was under way. Fails with kFail naming the file
// and why it cannot be written.
std::string EndProfile(runtime::Session& session);

// Runs with a profile of this run alone, written at its end, however it ends.
void RunProfiled(runtime::Session& session, const runtime::RunOptions& options, std::span<const std::size_t> inputs,
                 std::span<const Value* const> values, std::span<const std::size_t> outputs, std::span<Value> results,
                 const runtime::RunExtras& extras);

// Fails with kInvalidArgument unless files that begin like this can be written.
void CheckProfilePrefix(const std::string& prefix);

}  // namespace sardonyx::capi
