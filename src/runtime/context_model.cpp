// runtime/context_model.cpp - writes models of what providers have compiled (EPContext models), and asks providers
// whether such a model fits them.
#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "model/save.h"
#include "planner/context_graph.h"
#include "runtime/save_graph.h"

namespace sardonyx::runtime {
namespace {

namespace fs = std::filesystem;

// A model's metadata has what a provider says of itself under this key, followed by the provider's name.
constexpr const char* kCompatibilityKey = "ep_compatibility_info.";

}  // namespace

bool WritesContexts(const SessionOptions& options) { return options.Config("ep.context_enable", "0") == "1"; }

std::string ContextPath(const Model& model, const SessionOptions& options) {
  std::string path = options.Config("ep.context_file_path", "");
  if (path.empty()) {
    if (model.path.empty()) {
      Fail(Code::kInvalidArgument, "Both ep_context_path and model_path are empty: ep.context_enable writes a model, ",
           "expected ep.context_file_path to say where, or a model from a file");
    }
    const fs::path source(model.path);
    path = (source.parent_path() / (source.stem().string() + "_ctx.onnx")).string();
  }
  if (fs::is_directory(path) || path.ends_with('/'))
    Fail(Code::kInvalidArgument, "ep.context_file_path: expected the path of a file, found the folder '", path, "'");
  if (fs::exists(path))
    Fail(Code::kFail, "ep.context_enable: the file '", path, "' exists already; remove it to have it written again");
  return path;
}

Model ContextModel(const Graph& graph, const Model& model, providers::ProviderSet& set, const ops::Registry& registry) {
  Model written = SavedModel(planner::ContextGraph(graph, set), model, false, registry);
  for (const auto& provider : set.providers) {
    const std::string info = provider->CompatibilityInfo(model.graph, &model);
    if (info.empty()) continue;
    const std::string key = kCompatibilityKey + std::string(provider->name());
    std::erase_if(written.metadata, [&](const auto& entry) { return entry.first == key; });
    written.metadata.emplace_back(key, info);
  }
  return written;
}

void SaveContexts(const Model& written, const std::string& path, const SessionOptions& options) {
  model::SaveOptions save;
  save.external_data_file = options.Config("ep.context_model_external_initializers_file_name", "");
  save.external_data_min_bytes = 0;
  model::SaveFile(written, path, save);
}

void CheckCompatibility(const Model& model, const providers::ProviderSet& set, const SessionOptions& options,
                        const Logger& logger) {
  for (const auto& [key, info] : model.metadata) {
    if (!key.starts_with(kCompatibilityKey)) continue;
    providers::Provider* provider = set.Find(key.substr(std::string_view(kCompatibilityKey).size()));
    if (provider == nullptr) continue;
    const providers::Compatibility answer = provider->Assess(info);
    if (answer == providers::Compatibility::kUnsupported) {
      Fail(Code::kFail, "Compiled model is not supported by execution provider: ", provider->name(), ", which finds '",
           info, "' in it: compile it again");
    }
    if (answer != providers::Compatibility::kSuboptimal) continue;
    if (options.Config("session.fail_on_suboptimal_compiled_model", "0") == "1") {
      Fail(Code::kFail, "Compiled model is suboptimal for execution provider: ", provider->name(), ", which finds '",
           info, "' in it, and session.fail_on_suboptimal_compiled_model forbids that");
    }
    logger.Warn("execution provider '", provider->name(), "' runs this compiled model (", info,
                "), but would run it better if it were compiled again");
  }
}

}  // namespace sardonyx::runtime
