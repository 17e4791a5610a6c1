// tools/cli/profile_page.h - a profile as one HTML page that needs nothing but a browser.
#ifndef SARDONYX_TOOLS_CLI_PROFILE_PAGE_H
#define SARDONYX_TOOLS_CLI_PROFILE_PAGE_H

#include <nlohmann/json.hpp>
#include <string>

#include "profile_report.h"

namespace sardonyx::cli {

// Picture of the graph coloured by time, tables by operator and by node, memory over time and the map of the buffers.
// `plans`: what SessionPlan gives.
std::string ProfilePage(const std::string& model, const ProfileReport& report, const nlohmann::json& plans);

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_PROFILE_PAGE_H
