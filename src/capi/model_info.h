// capi/model_info.h - a model card: what a person wants to know about a model before running it.
#pragma once

#include <string>

#include "ir/graph.h"

namespace sardonyx::capi {

// The JSON object that SardonyxApi::ModelInfoJson describes.
std::string ModelCard(const Model& model);

}  // namespace sardonyx::capi
