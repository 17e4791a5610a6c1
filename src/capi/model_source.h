// capi/model_source.h - loads a model that is given by path or by bytes, as protobuf or as text.
#pragma once

#include <cstddef>
#include <memory>

#include "ir/graph.h"
#include "onnxruntime_c_api.h"
#include "runtime/session.h"

namespace sardonyx::capi {

// The arguments model_path, model_data and model_data_length of the functions in sardonyx_c_api.h.
struct ModelSource {
  const ORTCHAR_T* path;
  const void* data;
  std::size_t size;
};

std::shared_ptr<const Model> LoadModel(const ModelSource& source, const runtime::SessionOptions& options);
std::unique_ptr<runtime::Session> BuildSession(const OrtEnv* env, const ModelSource& source,
                                               runtime::SessionOptions options);

}  // namespace sardonyx::capi
