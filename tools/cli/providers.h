// tools/cli/providers.h - the execution providers that the command line names, and the libraries that they come from.
#pragma once

#include <string>
#include <utility>

#include "ort.h"

namespace sardonyx::cli {

// KEY=VALUE. `option` is named in the error.
std::pair<std::string, std::string> SplitEntry(const std::string& text, const std::string& option);

// Registers the libraries of --provider-library with the environment and adds the providers of --provider to the
// options, in order. The environment must live as long as the sessions.
void AppendProviders(OrtEnv& env, OrtSessionOptions* options, const SessionSettings& settings);

}  // namespace sardonyx::cli
