// tools/cli/profile_page.h - writes a profile as a single HTML page, without external files.
#ifndef SARDONYX_TOOLS_CLI_PROFILE_PAGE_H
#define SARDONYX_TOOLS_CLI_PROFILE_PAGE_H

#include <nlohmann/json.hpp>
#include <string>

#include "profile_report.h"

namespace sardonyx::cli {

// The page: the graph coloured by time, tables by operator and by node, memory over time and the map of the buffers.
// `plans` is the JSON of SardonyxApi::SessionPlan.
std::string ProfilePage(const std::string& model, const ProfileReport& report, const nlohmann::json& plans);

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_PROFILE_PAGE_H
