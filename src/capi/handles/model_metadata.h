// capi/handles/model_metadata.h - OrtModelMetadata: who made a model, what it is for, and the pairs it carries.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "capi/handles/kind.h"
#include "ir/graph.h"
#include "onnxruntime_c_api.h"

struct OrtModelMetadata {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kModelMetadata> mark;
  std::string producer_name, graph_name, domain, description, graph_description;
  std::int64_t version = 0;
  std::vector<std::pair<std::string, std::string>> custom;
};

namespace sardonyx::capi {

inline OrtModelMetadata MetadataOf(const Model& model) {
  return {{},        model.producer_name, model.graph.name,    model.domain,
          model.doc, model.graph.doc,     model.model_version, model.metadata};
}

}  // namespace sardonyx::capi
