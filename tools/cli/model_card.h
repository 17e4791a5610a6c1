// tools/cli/model_card.h - what a model says of itself, without a session.
#ifndef SARDONYX_TOOLS_CLI_MODEL_CARD_H
#define SARDONYX_TOOLS_CLI_MODEL_CARD_H

#include <nlohmann/json.hpp>
#include <vector>

#include "ort.h"

namespace sardonyx::cli {

// The JSON of SardonyxApi::ModelInfoJson.
nlohmann::json ModelCard(const ModelSource& model);
std::vector<ValueDescription> InputsOf(const nlohmann::json& card);

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_MODEL_CARD_H
