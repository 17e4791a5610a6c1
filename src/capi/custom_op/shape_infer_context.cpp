// capi/custom_op/shape_infer_context.cpp - the functions of OrtShapeInferContext.
#include "capi/handles/shape_infer_context.h"

#include "capi/functions.h"
#include "capi/handles/op_attr.h"
#include "capi/handles/status.h"

namespace sardonyx::capi {

OrtStatusPtr ORT_API_CALL ShapeInferContext_GetInputCount(const OrtShapeInferContext* context, size_t* out) noexcept {
  return Guard([&] { Need(out, "out") = Need(context, "context").inputs.size(); });
}

OrtStatusPtr ORT_API_CALL ShapeInferContext_GetInputTypeShape(const OrtShapeInferContext* context, size_t index,
                                                              OrtTensorTypeAndShapeInfo** info) noexcept {
  return Guard([&] {
    const auto& inputs = Need(context, "context").inputs;
    if (index >= inputs.size())
      Fail(Code::kRuntimeException, "input: expected an index below ", inputs.size(), ", found ", index);
    Need(info, "info") = inputs[index].get();
  });
}

OrtStatusPtr ORT_API_CALL ShapeInferContext_GetAttribute(const OrtShapeInferContext* context, const char* attr_name,
                                                         const OrtOpAttr** attr) noexcept {
  return Guard([&] {
    const Node& node = Need(context, "context").inference->node();
    const std::string_view name = &Need(attr_name, "attr_name");
    Need(attr, "attr") = nullptr;
    for (const Attribute& attribute : node.attributes)
      if (attribute.name == name) *attr = AsHandle(&attribute);
    if (*attr == nullptr) Fail(Code::kInvalidArgument, "attribute '", name, "': expected it in the node, found none");
  });
}

OrtStatusPtr ORT_API_CALL ShapeInferContext_SetOutputTypeShape(const OrtShapeInferContext* context, size_t index,
                                                               const OrtTensorTypeAndShapeInfo* info) noexcept {
  return Guard([&] {
    // The interface hands out a context that looks constant; its outputs are there to be set.
    auto& outputs = const_cast<OrtShapeInferContext&>(Need(context, "context")).outputs;
    if (index >= outputs.size())
      Fail(Code::kRuntimeException, "output: expected an index below ", outputs.size(), ", found ", index);
    auto copy = std::make_unique<OrtTensorTypeAndShapeInfo>(Need(info, "info"));
    copy->symbols.resize(copy->dims.size());
    outputs[index] = std::move(copy);
  });
}

}  // namespace sardonyx::capi
