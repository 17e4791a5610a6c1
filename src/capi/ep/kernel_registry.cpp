// capi/ep/kernel_registry.cpp - the functions of OrtKernelDefBuilder, OrtKernelDef and OrtKernelRegistry.
#include "capi/handles/kernel_registry.h"

#include <algorithm>
#include <array>
#include <memory>

#include "capi/functions.h"
#include "capi/handles/graph_support_info.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"
#include "ir/domain.h"

namespace sardonyx::capi::ep {
namespace {

constexpr int kTypes = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0 + 1;

OrtKernelDef& DefinitionOf(OrtKernelDefBuilder* builder) { return Need(builder, "kernel_def_builder").definition; }

// A number that is no OrtMemType, which ONNX Runtime accepts, means the provider's own memory.
OrtMemType MemoryTypeOf(int type) {
  return type >= OrtMemTypeCPUInput && type < OrtMemTypeDefault ? static_cast<OrtMemType>(type) : OrtMemTypeDefault;
}

OrtStatusPtr AddAliases(OrtKernelDefBuilder* builder, const int* inputs, const int* outputs, std::size_t count,
                        std::vector<std::pair<std::size_t, std::size_t>> OrtKernelDef::*list) noexcept {
  return Guard([&] {
    auto& aliases = DefinitionOf(builder).*list;
    NeedArray(inputs, count, "input_indices");
    NeedArray(outputs, count, "output_indices");
    for (std::size_t i = 0; i < count; ++i) {
      if (inputs[i] < 0 || outputs[i] < 0)
        Fail(Code::kInvalidArgument, "kernel definition: expected indices of 0 or more, found input ", inputs[i],
             " and output ", outputs[i]);
      aliases.emplace_back(inputs[i], outputs[i]);
    }
  });
}

OrtMemType MemoryOf(const std::map<std::size_t, OrtMemType>& memory, std::size_t index) {
  const auto found = memory.find(index);
  return found != memory.end() ? found->second : OrtMemTypeDefault;
}

}  // namespace

OrtStatusPtr ORT_API_CALL CreateKernelRegistry(OrtKernelRegistry** kernel_registry) noexcept {
  return Guard([&] {
    auto& result = Need(kernel_registry, "kernel_registry");
    result = std::make_unique<OrtKernelRegistry>().release();
  });
}

void ORT_API_CALL ReleaseKernelRegistry(OrtKernelRegistry* input) noexcept { ReleaseHandle(input); }

OrtStatusPtr ORT_API_CALL KernelRegistry_AddKernel(OrtKernelRegistry* kernel_registry, const OrtKernelDef* kernel_def,
                                                   OrtKernelCreateFunc kernel_create_func,
                                                   void* kernel_create_func_state) noexcept {
  return Guard([&] {
    OrtKernelRegistry& registry = Need(kernel_registry, "kernel_registry");
    const OrtKernelDef& definition = Need(kernel_def, "kernel_def");
    if (kernel_create_func == nullptr) FailNullArgument("kernel_create_func");
    registry.entries.push_back({definition, kernel_create_func, kernel_create_func_state});
  });
}

OrtStatusPtr ORT_API_CALL CreateKernelDefBuilder(OrtKernelDefBuilder** kernel_def_builder_out) noexcept {
  return Guard([&] {
    auto& result = Need(kernel_def_builder_out, "kernel_def_builder_out");
    result = std::make_unique<OrtKernelDefBuilder>().release();
  });
}

void ORT_API_CALL ReleaseKernelDefBuilder(OrtKernelDefBuilder* input) noexcept { ReleaseHandle(input); }

OrtStatusPtr ORT_API_CALL KernelDefBuilder_SetOperatorType(OrtKernelDefBuilder* kernel_def_builder,
                                                           const char* op_type) noexcept {
  return Guard([&] { DefinitionOf(kernel_def_builder).op_type = &Need(op_type, "op_type"); });
}

OrtStatusPtr ORT_API_CALL KernelDefBuilder_SetDomain(OrtKernelDefBuilder* kernel_def_builder,
                                                     const char* domain) noexcept {
  return Guard([&] { DefinitionOf(kernel_def_builder).domain = StandardDomain(&Need(domain, "domain")); });
}

OrtStatusPtr ORT_API_CALL KernelDefBuilder_SetSinceVersion(OrtKernelDefBuilder* kernel_def_builder,
                                                           int since_version_start, int since_version_end) noexcept {
  return Guard([&] {
    OrtKernelDef& definition = DefinitionOf(kernel_def_builder);
    if (since_version_start <= 0 || since_version_end < since_version_start)
      Fail(Code::kInvalidArgument, "kernel definition: expected versions from 1 on, the last not before the first, ",
           "found ", since_version_start, " to ", since_version_end);
    definition.first_version = since_version_start;
    definition.last_version = since_version_end;
  });
}

OrtStatusPtr ORT_API_CALL KernelDefBuilder_SetExecutionProvider(OrtKernelDefBuilder* kernel_def_builder,
                                                                const char* ep_name) noexcept {
  return Guard([&] { DefinitionOf(kernel_def_builder).provider = &Need(ep_name, "ep_name"); });
}

OrtStatusPtr ORT_API_CALL KernelDefBuilder_SetInputMemType(OrtKernelDefBuilder* kernel_def_builder, size_t input_index,
                                                           OrtMemType mem_type) noexcept {
  return Guard([&] { DefinitionOf(kernel_def_builder).input_memory[input_index] = MemoryTypeOf(mem_type); });
}

OrtStatusPtr ORT_API_CALL KernelDefBuilder_SetOutputMemType(OrtKernelDefBuilder* kernel_def_builder,
                                                            size_t output_index, OrtMemType mem_type) noexcept {
  return Guard([&] { DefinitionOf(kernel_def_builder).output_memory[output_index] = MemoryTypeOf(mem_type); });
}

OrtStatusPtr ORT_API_CALL KernelDefBuilder_AddTypeConstraint(OrtKernelDefBuilder* kernel_def_builder,
                                                             const char* arg_name, const OrtDataType* const* types,
                                                             size_t num_types) noexcept {
  return Guard([&] {
    OrtKernelDef& definition = DefinitionOf(kernel_def_builder);
    NeedArray(types, num_types, "types");
    if (num_types == 0) Fail(Code::kInvalidArgument, "kernel definition: expected at least one type, found none");
    for (std::size_t i = 0; i < num_types; ++i) Need(types[i], "types[i]");
    definition.types.emplace_back(&Need(arg_name, "arg_name"),
                                  std::vector<const OrtDataType*>(types, types + num_types));
  });
}

OrtStatusPtr ORT_API_CALL KernelDefBuilder_AddInputOutputAliases(OrtKernelDefBuilder* kernel_def_builder,
                                                                 int const* input_indices, int const* output_indices,
                                                                 size_t num_io_indices) noexcept {
  return AddAliases(kernel_def_builder, input_indices, output_indices, num_io_indices, &OrtKernelDef::aliases);
}

OrtStatusPtr ORT_API_CALL KernelDefBuilder_AddInputOutputMutableAliases(OrtKernelDefBuilder* kernel_def_builder,
                                                                        int const* input_indices,
                                                                        int const* output_indices,
                                                                        size_t num_io_indices) noexcept {
  return AddAliases(kernel_def_builder, input_indices, output_indices, num_io_indices, &OrtKernelDef::may_alias);
}

OrtStatusPtr ORT_API_CALL KernelDefBuilder_Build(OrtKernelDefBuilder* kernel_def_builder,
                                                 OrtKernelDef** kernel_def_out) noexcept {
  return Guard([&] {
    const OrtKernelDef& definition = DefinitionOf(kernel_def_builder);
    auto& result = Need(kernel_def_out, "kernel_def_out");
    if (definition.op_type.empty() || definition.provider.empty())
      Fail(Code::kInvalidArgument, "kernel definition: expected an operator type and the name of a provider, found '",
           definition.op_type, "' and '", definition.provider, "'");
    result = std::make_unique<OrtKernelDef>(definition).release();
  });
}

void ORT_API_CALL ReleaseKernelDef(OrtKernelDef* input) noexcept { ReleaseHandle(input); }

const char* ORT_API_CALL KernelDef_GetOperatorType(const OrtKernelDef* kernel_def) noexcept {
  return Given(kernel_def) ? kernel_def->op_type.c_str() : "";
}

const char* ORT_API_CALL KernelDef_GetDomain(const OrtKernelDef* kernel_def) noexcept {
  return Given(kernel_def) ? kernel_def->domain.c_str() : "";
}

OrtStatusPtr ORT_API_CALL KernelDef_GetSinceVersion(const OrtKernelDef* kernel_def, int* start_version,
                                                    int* end_version) noexcept {
  return Guard([&] {
    const OrtKernelDef& definition = Need(kernel_def, "kernel_def");
    Need(start_version, "start_version") = definition.first_version;
    Need(end_version, "end_version") = definition.last_version;
  });
}

const char* ORT_API_CALL KernelDef_GetExecutionProvider(const OrtKernelDef* kernel_def) noexcept {
  return Given(kernel_def) ? kernel_def->provider.c_str() : "";
}

OrtStatusPtr ORT_API_CALL KernelDef_GetInputMemType(const OrtKernelDef* kernel_def, size_t input_index,
                                                    OrtMemType* mem_type) noexcept {
  return Guard([&] {
    const OrtKernelDef& definition = Need(kernel_def, "kernel_def");
    Need(mem_type, "mem_type") = MemoryOf(definition.input_memory, input_index);
  });
}

OrtStatusPtr ORT_API_CALL KernelDef_GetOutputMemType(const OrtKernelDef* kernel_def, size_t output_index,
                                                     OrtMemType* mem_type) noexcept {
  return Guard([&] {
    const OrtKernelDef& definition = Need(kernel_def, "kernel_def");
    Need(mem_type, "mem_type") = MemoryOf(definition.output_memory, output_index);
  });
}

OrtStatusPtr ORT_API_CALL GetTensorDataType(ONNXTensorElementDataType elem_type, const OrtDataType** out) noexcept {
  static constexpr auto kAll = [] {
    std::array<OrtDataType, kTypes> types{};
    for (int i = 0; i < kTypes; ++i) types[i].element_type = static_cast<ONNXTensorElementDataType>(i);
    return types;
  }();
  return Guard([&] {
    if (elem_type <= ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED || elem_type >= kTypes)
      Fail(Code::kNotImplemented, "expected an ONNXTensorElementDataType from 1 to ", kTypes - 1, ", found ",
           int{elem_type});
    Need(out, "out") = &kAll[elem_type];
  });
}

OrtStatusPtr ORT_API_CALL EpGraphSupportInfo_LookUpKernel(OrtEpGraphSupportInfo* graph_support_info,
                                                          const OrtNode* node,
                                                          const OrtKernelDef** out_kernel_def) noexcept {
  return Guard([&] {
    const OrtEpGraphSupportInfo& info = Need(graph_support_info, "graph_support_info");
    const OrtNode& wanted = Need(node, "node");
    auto& result = Need(out_kernel_def, "out_kernel_def");
    const OrtKernelRegistry::Entry* entry =
        info.kernels != nullptr ? FindKernel(*info.kernels, wanted, info.provider) : nullptr;
    result = entry != nullptr ? &entry->definition : nullptr;
  });
}

}  // namespace sardonyx::capi::ep
