// capi/graph/value_info.cpp - the functions that read an OrtValueInfo, and where an external initializer lies.
#include "capi/functions.h"
#include "capi/handles/graph_view.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"
#include "capi/handles/value.h"

namespace sardonyx::capi {
namespace {

OrtStatusPtr Answer(const OrtValueInfo* value_info, bool OrtValueInfo::*flag, const char* name, bool* out) noexcept {
  return Guard([&] { Need(out, name) = Need(value_info, "value_info").*flag; });
}

}  // namespace

// A graph releases its values itself.
void ORT_API_CALL ReleaseValueInfo(OrtValueInfo* input) noexcept {
  if (input != nullptr && (IsOther(input) || input->graph == nullptr)) ReleaseHandle(input);
}

OrtStatusPtr ORT_API_CALL GetValueInfoName(const OrtValueInfo* value_info, const char** name) noexcept {
  return Guard([&] { Need(name, "name") = Need(value_info, "value_info").name.c_str(); });
}

OrtStatusPtr ORT_API_CALL GetValueInfoTypeInfo(const OrtValueInfo* value_info, const OrtTypeInfo** type_info) noexcept {
  return Guard([&] { Need(type_info, "type_info") = Need(value_info, "value_info").type.get(); });
}

OrtStatusPtr ORT_API_CALL ValueInfo_GetValueProducer(const OrtValueInfo* value_info, const OrtNode** producer_node,
                                                     size_t* producer_output_index) noexcept {
  return Guard([&] {
    const OrtValueInfo& value = Need(value_info, "value_info");
    Need(producer_node, "producer_node") = value.producer;
    if (producer_output_index != nullptr) *producer_output_index = value.producer_output;
  });
}

OrtStatusPtr ORT_API_CALL ValueInfo_GetValueNumConsumers(const OrtValueInfo* value_info,
                                                         size_t* num_consumers) noexcept {
  return Guard([&] { Need(num_consumers, "num_consumers") = Need(value_info, "value_info").consumers.size(); });
}

OrtStatusPtr ORT_API_CALL ValueInfo_GetValueConsumers(const OrtValueInfo* value_info, const OrtNode** nodes,
                                                      int64_t* input_indices, size_t num_consumers) noexcept {
  return Guard([&] {
    const OrtValueInfo& value = Need(value_info, "value_info");
    if (num_consumers < value.consumers.size()) {
      Fail(Code::kInvalidArgument, "consumers of value '", value.name, "': expected room for ", value.consumers.size(),
           ", found ", num_consumers);
    }
    NeedArray(nodes, value.consumers.size(), "nodes");
    NeedArray(input_indices, value.consumers.size(), "input_indices");
    for (std::size_t i = 0; i < value.consumers.size(); ++i) {
      nodes[i] = value.consumers[i].node;
      input_indices[i] = value.consumers[i].input;
    }
  });
}

// NULL, and no error, for a value that is no initializer.
OrtStatusPtr ORT_API_CALL ValueInfo_GetInitializerValue(const OrtValueInfo* value_info,
                                                        const OrtValue** initializer_value) noexcept {
  return Guard([&] {
    const Value& value = Need(value_info, "value_info").initializer;
    Need(initializer_value, "initializer_value") = value.has_value() ? AsHandle(&value) : nullptr;
  });
}

// NULL, and no error, for a value whose data are not in a file of their own.
OrtStatusPtr ORT_API_CALL ValueInfo_GetExternalInitializerInfo(const OrtValueInfo* value_info,
                                                               OrtExternalInitializerInfo** info) noexcept {
  return Guard([&] {
    const std::optional<OrtExternalInitializerInfo>& external = Need(value_info, "value_info").external;
    auto& result = Need(info, "info");
    result = external ? std::make_unique<OrtExternalInitializerInfo>(*external).release() : nullptr;
  });
}

OrtStatusPtr ORT_API_CALL ValueInfo_IsRequiredGraphInput(const OrtValueInfo* value_info,
                                                         bool* is_required_graph_input) noexcept {
  return Answer(value_info, &OrtValueInfo::is_required_input, "is_required_graph_input", is_required_graph_input);
}

OrtStatusPtr ORT_API_CALL ValueInfo_IsOptionalGraphInput(const OrtValueInfo* value_info,
                                                         bool* is_optional_graph_input) noexcept {
  return Answer(value_info, &OrtValueInfo::is_optional_input, "is_optional_graph_input", is_optional_graph_input);
}

OrtStatusPtr ORT_API_CALL ValueInfo_IsGraphOutput(const OrtValueInfo* value_info, bool* is_graph_output) noexcept {
  return Answer(value_info, &OrtValueInfo::is_output, "is_graph_output", is_graph_output);
}

OrtStatusPtr ORT_API_CALL ValueInfo_IsConstantInitializer(const OrtValueInfo* value_info,
                                                          bool* is_constant_initializer) noexcept {
  return Answer(value_info, &OrtValueInfo::is_constant, "is_constant_initializer", is_constant_initializer);
}

OrtStatusPtr ORT_API_CALL ValueInfo_IsFromOuterScope(const OrtValueInfo* value_info,
                                                     bool* is_from_outer_scope) noexcept {
  return Answer(value_info, &OrtValueInfo::is_from_outer, "is_from_outer_scope", is_from_outer_scope);
}

OrtStatusPtr ORT_API_CALL CreateExternalInitializerInfo(const ORTCHAR_T* filepath, int64_t file_offset,
                                                        size_t byte_size, OrtExternalInitializerInfo** out) noexcept {
  return Guard([&] {
    auto& result = Need(out, "out");
    auto info = std::make_unique<OrtExternalInitializerInfo>();
    *info = {{}, &Need(filepath, "filepath"), file_offset, byte_size};
    result = info.release();
  });
}

void ORT_API_CALL ReleaseExternalInitializerInfo(OrtExternalInitializerInfo* input) noexcept { ReleaseHandle(input); }

const ORTCHAR_T* ORT_API_CALL ExternalInitializerInfo_GetFilePath(const OrtExternalInitializerInfo* info) noexcept {
  return Given(info) ? info->path.c_str() : nullptr;
}

int64_t ORT_API_CALL ExternalInitializerInfo_GetFileOffset(const OrtExternalInitializerInfo* info) noexcept {
  return Given(info) ? info->offset : 0;
}

size_t ORT_API_CALL ExternalInitializerInfo_GetByteSize(const OrtExternalInitializerInfo* info) noexcept {
  return Given(info) ? info->size : 0;
}

}  // namespace sardonyx::capi
