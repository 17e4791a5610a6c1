// capi/graph/edit_session.cpp - sessions of models that the model editor makes, and of models that it adds to.
#include <limits>

#include "capi/env.h"
#include "capi/functions.h"
#include "capi/graph/editor.h"
#include "capi/handles/status.h"
#include "capi/model_source.h"
#include "capi/options.h"
#include "capi/session.h"
#include "ir/domain.h"
#include "ops/schema/schema.h"

namespace sardonyx::capi::model_editor {
namespace {

using runtime::Session;

void ListPorts(EditedModel& edited) {
  edited.inputs.clear();
  edited.outputs.clear();
  edited.overridable.clear();
  const Graph& graph = edited.model->graph;
  for (const ValueId id : graph.inputs) {
    const ValueInfo& value = graph.value(id);
    if (value.constant() != nullptr) continue;  // a constant that old models list among the inputs
    (value.initializer ? edited.overridable : edited.inputs).push_back({value.name, value.type});
  }
  for (const ValueId id : graph.outputs) edited.outputs.push_back({graph.value(id).name, graph.value(id).type});
}

OrtStatusPtr StartEditing(const OrtEnv* env, const ModelSource& source, const OrtSessionOptions* options,
                          OrtSession** out) noexcept {
  return Guard([&] {
    auto& result = Need(out, "out");
    EditedModel edited;
    edited.environment = Need(env, "env").environment;
    edited.options = CopyOptions(env, options);
    edited.model = LoadModel(source, edited.options);
    ListPorts(edited);
    result = std::make_unique<OrtSession>(std::move(edited)).release();
  });
}

EditedModel& EditedOf(OrtSession* session) {
  if (Need(session, "session").edited == nullptr)
    Fail(Code::kModelLoaded, "argument 'session': expected one of CreateModelEditorSession before ",
         "FinalizeModelEditorSession, found one that runs");
  return *session->edited;
}

}  // namespace

OrtStatusPtr ORT_API_CALL CreateSessionFromModel(const OrtEnv* env, const OrtModel* model,
                                                 const OrtSessionOptions* options, OrtSession** out) noexcept {
  return Guard([&] {
    auto& result = Need(out, "out");
    const auto& environment = Need(env, "env").environment;
    auto made = std::make_shared<const Model>(MakeModel(Need(model, "model")));
    auto session = Session::FromModel(environment, std::move(made), CopyOptions(env, options));
    TellPlugins(*session);
    result = std::make_unique<OrtSession>(std::move(session)).release();
  });
}

OrtStatusPtr ORT_API_CALL CreateModelEditorSession(const OrtEnv* env, const ORTCHAR_T* model_path,
                                                   const OrtSessionOptions* options, OrtSession** out) noexcept {
  const OrtStatusPtr failure = Guard([&] { Need(model_path, "model_path"); });
  return failure != nullptr ? failure : StartEditing(env, {model_path, nullptr, 0}, options, out);
}

OrtStatusPtr ORT_API_CALL CreateModelEditorSessionFromArray(const OrtEnv* env, const void* model_data,
                                                            size_t model_data_length, const OrtSessionOptions* options,
                                                            OrtSession** out) noexcept {
  const OrtStatusPtr failure = Guard([&] {
    Need(static_cast<const std::byte*>(model_data), "model_data");
    if (model_data_length == 0)
      Fail(Code::kInvalidArgument, "argument 'model_data_length': expected the size of a model, found 0");
  });
  return failure != nullptr ? failure : StartEditing(env, {nullptr, model_data, model_data_length}, options, out);
}

// A domain that the model does not import counts in the newest opset that we know of it, as its nodes would.
OrtStatusPtr ORT_API_CALL SessionGetOpsetForDomain(const OrtSession* session, const char* domain, int* opset) noexcept {
  return Guard([&] {
    const Model& model = ModelOf(session);
    const std::string_view wanted = StandardDomain(&Need(domain, "domain"));
    std::int64_t version = model.graph.OpsetVersion(wanted);
    if (version == 0) version = ops::NewestOpset(wanted);
    if (version <= 0 || version > std::numeric_limits<int>::max())
      Fail(Code::kFail, "the session's model has no opset of domain '", wanted, "'");
    Need(opset, "opset") = static_cast<int>(version);
  });
}

OrtStatusPtr ORT_API_CALL ApplyModelToModelEditorSession(OrtSession* session, OrtModel* model) noexcept {
  return Guard([&] {
    EditedModel& edited = EditedOf(session);
    edited.model = std::make_shared<const Model>(Augmented(*edited.model, Need(model, "model")));
    ListPorts(edited);
  });
}

// A session that runs stays as it is. The options are the session's own, but for the providers.
OrtStatusPtr ORT_API_CALL
FinalizeModelEditorSession(OrtSession* session, const OrtSessionOptions* options,
                           OrtPrepackedWeightsContainer* prepacked_weights_container) noexcept {
  return Guard([&] {
    NeedKind(options, "options");
    NeedKind(prepacked_weights_container, "prepacked_weights_container");
    if (Need(session, "session").edited == nullptr) return;
    EditedModel& edited = *session->edited;
    if (options != nullptr) edited.options.providers = options->options.providers;
    std::shared_ptr<Session> made = Session::FromModel(edited.environment, edited.model, edited.options);
    TellPlugins(*made);
    session->session = std::move(made);
    session->edited = nullptr;
  });
}

}  // namespace sardonyx::capi::model_editor
