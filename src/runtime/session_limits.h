// runtime/session_limits.h - the config entries that limit the time and memory of loading and of running.
//
// clang-format off
//   sardonyx.max_load_memory   bytes    what loading may hold at once: weights that are copied, constants that are
//                                       folded, weights that kernels pack (not what is mapped from a file)
//   sardonyx.max_run_memory    bytes    what one run may hold at once: intermediate values, outputs, scratch memory
//   sardonyx.load_timeout_ms   ms       checked between nodes and passes
//   sardonyx.run_timeout_ms    ms       checked between nodes, iterations of loops and chunks of parallel work
// clang-format on
//
// All are entries of a session. The two for runs may also be given for one run, for which they then hold. Without an
// entry, and with 0, there is no limit.
#pragma once

#include <map>
#include <string>

#include "base/limits.h"

namespace sardonyx::runtime {

using Config = std::map<std::string, std::string>;

// Fail with kInvalidArgument, naming the entry, if a value is not a number.
Limits LoadLimits(const Config& session);
Limits RunLimits(const Config& session);
// The limits of the session, except for those that the run sets itself.
Limits RunLimits(const Limits& session, const Config& run);

}  // namespace sardonyx::runtime
