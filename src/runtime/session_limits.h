// runtime/session_limits.h - the config entries that limit the time and memory of loading and of running.
//
//   sardonyx.max_load_memory   bytes    what loading may hold at once: weights that are copied, constants that are
//                                       folded, weights that kernels pack (not what is mapped from a file)
//   sardonyx.max_run_memory    bytes    what one run may hold at once: intermediate values, outputs, scratch memory
//   sardonyx.load_timeout_ms   ms       asked between nodes and passes
//   sardonyx.run_timeout_ms    ms       asked between nodes, iterations of loops and chunks of parallel work
//
// All are entries of a session; the last of them and the run's memory may be given for one run, too, and hold for that
// run then. Without an entry, and with 0, there is no limit.
#pragma once

#include <map>
#include <string>

#include "base/limits.h"

namespace sardonyx::runtime {

using Config = std::map<std::string, std::string>;

// Fail with kInvalidArgument naming the entry where a value is no number.
Limits LoadLimits(const Config& session);
Limits RunLimits(const Config& session);
// Those of the session, but for what the run says itself.
Limits RunLimits(const Limits& session, const Config& run);

}  // namespace sardonyx::runtime
