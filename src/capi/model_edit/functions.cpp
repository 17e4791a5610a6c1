// capi/model_edit/functions.cpp - the functions of SardonyxApi that load, change, save and run a model in memory.
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "capi/env.h"
#include "capi/handles/allocator.h"
#include "capi/handles/status.h"
#include "capi/handles/value.h"
#include "capi/model_edit/edited_model.h"
#include "capi/model_source.h"
#include "capi/options.h"
#include "capi/own_functions.h"
#include "capi/session.h"
#include "model/save.h"

namespace sardonyx::capi {

OrtStatusPtr ORT_API_CALL LoadModelToEdit(const ORTCHAR_T* model_path, const void* model_data, size_t model_data_length,
                                          const OrtSessionOptions* options, SardonyxModel** model) noexcept {
  return Guard([&] {
    auto& result = Need(model, "model");
    const OrtSessionOptions* given = NeedKind(options, "options");
    const auto loaded = LoadModel({model_path, model_data, model_data_length},
                                  given != nullptr ? given->options : runtime::SessionOptions{});
    result = std::make_unique<SardonyxModel>(*loaded).release();
  });
}

void ORT_API_CALL ReleaseModelToEdit(SardonyxModel* input) noexcept { ReleaseHandle(input); }

OrtStatusPtr ORT_API_CALL ModelJson(const SardonyxModel* model, OrtAllocator* allocator, char** json) noexcept {
  return Guard([&] {
    auto& result = Need(json, "json");
    result = CopyText(allocator, DescribeModel(Need(model, "model")));
  });
}

OrtStatusPtr ORT_API_CALL ModelTensor(const SardonyxModel* model, size_t graph, int64_t node, const char* name,
                                      OrtValue** value) noexcept {
  return Guard([&] {
    auto& result = Need(value, "value");
    const SardonyxModel& edited = Need(model, "model");
    const std::string_view wanted = &Need(name, "name");
    if (graph >= edited.graphs.size() || edited.graphs[graph].graph == nullptr)
      Fail(Code::kInvalidArgument, "argument 'graph': expected a number of a graph, found ", graph);
    const Graph& inside = *edited.graphs[graph].graph;
    const Tensor* tensor = nullptr;
    if (node >= 0) {
      if (static_cast<std::uint64_t>(node) >= inside.nodes.size())
        Fail(Code::kInvalidArgument, "argument 'node': expected the id of a node of the graph, found ", node);
      const AttributeValue* attribute = inside.nodes[static_cast<std::size_t>(node)].FindAttribute(wanted);
      if (attribute != nullptr) tensor = std::get_if<Tensor>(attribute);
    } else if (const std::optional<ValueId> id = inside.Find(wanted)) {
      if (const auto& initializer = inside.value(*id).initializer) tensor = &initializer->tensor;
    }
    if (tensor == nullptr) {
      Fail(Code::kInvalidArgument, "argument 'name': expected ",
           node >= 0 ? "an attribute that is a tensor" : "an initializer", ", found '", wanted, "'");
    }
    result = NewHandle(Value(*tensor));
  });
}

OrtStatusPtr ORT_API_CALL EditModel(SardonyxModel* model, const char* edits, const OrtValue* const* tensors,
                                    size_t tensor_count, OrtAllocator* allocator, char** results) noexcept {
  return Guard([&] {
    auto& result = Need(results, "results");
    SardonyxModel& edited = Need(model, "model");
    const OrtValue* const* given = NeedArray(tensors, tensor_count, "tensors");
    std::vector<Tensor> copies;
    for (std::size_t i = 0; i < tensor_count; ++i) copies.push_back(NeedTensor(given[i], "tensors").Clone());
    result = CopyText(allocator, ApplyEdits(edited, &Need(edits, "edits"), copies));
  });
}

OrtStatusPtr ORT_API_CALL SaveEditedModel(SardonyxModel* model, const ORTCHAR_T* path, const char* external_data_file,
                                          size_t external_data_min_bytes) noexcept {
  return Guard([&] {
    SardonyxModel& edited = Need(model, "model");
    const char* file = &Need(path, "path");
    edited.Finish();
    model::SaveOptions options;
    if (external_data_file != nullptr) options.external_data_file = external_data_file;
    options.external_data_min_bytes = external_data_min_bytes;
    options.as_numbers = &edited.as_numbers;
    model::SaveFile(edited.model, file, options);
  });
}

OrtStatusPtr ORT_API_CALL SaveEditedModelToArray(SardonyxModel* model, OrtAllocator* allocator, void** model_data,
                                                 size_t* model_data_length) noexcept {
  return Guard([&] {
    auto& data = Need(model_data, "model_data");
    auto& length = Need(model_data_length, "model_data_length");
    SardonyxModel& edited = Need(model, "model");
    edited.Finish();
    const std::string bytes = model::SaveBytes(edited.model, nullptr, &edited.as_numbers);
    data = AllocateResult(allocator, bytes.size());
    std::memcpy(data, bytes.data(), bytes.size());
    length = bytes.size();
  });
}

OrtStatusPtr ORT_API_CALL CreateSessionFromEditedModel(const OrtEnv* env, SardonyxModel* model,
                                                       const OrtSessionOptions* options, OrtSession** out) noexcept {
  return Guard([&] {
    auto& result = Need(out, "out");
    const auto& environment = Need(env, "env").environment;
    SardonyxModel& edited = Need(model, "model");
    edited.Finish();
    auto session = runtime::Session::FromModel(environment, std::make_shared<const Model>(edited.model),
                                               CopyOptions(env, options));
    TellPlugins(*session);
    result = std::make_unique<OrtSession>(std::move(session)).release();
  });
}

}  // namespace sardonyx::capi
