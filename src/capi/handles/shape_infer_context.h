// capi/handles/shape_infer_context.h - OrtShapeInferContext: what a custom operator's shape function sees and sets.
#pragma once

#include <memory>
#include <vector>

#include "capi/handles/kind.h"
#include "capi/handles/type_info.h"
#include "onnxruntime_c_api.h"
#include "ops/infer_context.h"

struct OrtShapeInferContext {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kShapeInferContext> mark;
  explicit OrtShapeInferContext(const sardonyx::ops::InferContext& context) : inference(&context) {
    for (std::size_t i = 0; i < context.InputCount(); ++i)
      inputs.push_back(sardonyx::capi::MakeTensorInfo(context.InputType(i)));
    outputs.resize(context.OutputCount());
  }

  const sardonyx::ops::InferContext* inference;
  std::vector<std::unique_ptr<OrtTensorTypeAndShapeInfo>> inputs;
  std::vector<std::unique_ptr<OrtTensorTypeAndShapeInfo>> outputs;  // null where the function sets none
};
