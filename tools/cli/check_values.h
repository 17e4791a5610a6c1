// tools/cli/check_values.h - `sardonyx run --check-values`: statistics of every value, and the node of the first NaN.
#ifndef SARDONYX_TOOLS_CLI_CHECK_VALUES_H
#define SARDONYX_TOOLS_CLI_CHECK_VALUES_H

#include <nlohmann/json.hpp>
#include <vector>

#include "inputs.h"
#include "ort.h"

namespace sardonyx::cli {

// Runs once and returns the JSON that SardonyxApi::RunCheckValues describes.
nlohmann::ordered_json CheckValues(const Session& session, const std::vector<Input>& inputs);
void PrintValues(const nlohmann::ordered_json& found);

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_CHECK_VALUES_H
