// capi/compile/compile.cpp - CompileModel: writes a model as the providers of its options have compiled it. In ONNX's
// format, what no provider compiles, the CPU's nodes, stays as the basic passes leave it. Our own format
// (docs/compiled_models.md) has them fully optimized, and their weights packed.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "capi/compile/options.h"
#include "capi/env.h"
#include "capi/functions.h"
#include "capi/graph/editor.h"
#include "capi/handles/allocator.h"
#include "capi/handles/call_out.h"
#include "capi/handles/graph_view.h"
#include "capi/handles/status.h"
#include "capi/handles/value.h"
#include "capi/model_source.h"
#include "capi/options.h"
#include "model/external_sink.h"
#include "model/save.h"
#include "providers/provider.h"
#include "runtime/build.h"
#include "runtime/save_graph.h"
#include "runtime/session.h"

namespace sardonyx::capi::compile {
namespace {

namespace fs = std::filesystem;

void CheckInput(const OrtModelCompilationOptions& options) {
  if (options.input_model != nullptr || options.input_data != nullptr) return;
  if (options.input_path.empty())
    Fail(Code::kInvalidArgument, "the model to compile: expected a path, bytes or an OrtModel, found none");
  if (!fs::exists(options.input_path))
    Fail(Code::kInvalidArgument, "the model to compile: there is no file '", options.input_path, "'");
}

Model LoadInput(const OrtModelCompilationOptions& options) {
  if (options.input_model != nullptr) {
    Model model = MakeModel(*options.input_model);
    if (model.graph.outputs.empty())
      Fail(Code::kInvalidArgument, "the model to compile: expected one with an output, found none");
    return model;
  }
  if (options.input_data != nullptr)
    return *LoadModel({nullptr, options.input_data, options.input_size}, options.session);
  return *LoadModel({options.input_path.c_str(), nullptr, 0}, options.session);
}

// Whether a compiled model of ours is wanted: by the end of its path, or by the entry session.save_model_format.
bool IsOwnFormat(const OrtModelCompilationOptions& options) {
  runtime::SessionOptions session = options.session;
  if (const auto* path = std::get_if<std::string>(&options.output)) session.optimized_model_path = *path;
  return runtime::FormatOf(session) == runtime::ModelFormat::kCompiled;
}

// The path that the model is written to, or that it would have if it is not; "" if neither model has one.
std::string OutputPath(const OrtModelCompilationOptions& options) {
  if (const auto* path = std::get_if<std::string>(&options.output)) return *path;
  if (options.input_path.empty()) return "";
  const fs::path input(options.input_path);
  return (input.parent_path() / (input.stem().string() + (IsOwnFormat(options) ? ".sdx" : "_ctx.onnx"))).string();
}

bool GoesToFile(const OrtModelCompilationOptions& options) { return options.output.index() <= 1; }

void CheckOutput(const OrtModelCompilationOptions& options) {
  if (!GoesToFile(options)) return;
  const std::string path = OutputPath(options);
  if (path.empty()) {
    Fail(Code::kFail,
         "the compiled model: expected a path, a buffer or a function to write to, or an input with a path");
  }
  if (fs::is_directory(path))
    Fail(Code::kInvalidArgument, "the compiled model: expected the path of a file, found the folder '", path, "'");
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::is_directory(folder))
    Fail(Code::kInvalidArgument, "the compiled model: there is no folder '", folder.string(), "' for it");
  if ((options.flags & OrtCompileApiFlags_ERROR_IF_OUTPUT_FILE_EXISTS) != 0 && fs::exists(path))
    Fail(Code::kFail, "the compiled model: the file '", path, "' exists already");
}

// Asks the caller where each weight is; the caller writes it.
class FunctionSink final : public model::ExternalSink {
 public:
  FunctionSink(WeightFunction function, const std::string& model_path) : function_(function), model_path_(model_path) {}

  std::optional<model::ExternalPlace> Place(const ValueInfo& value) override {
    const Value tensor(value.initializer->tensor);
    const std::optional<OrtExternalInitializerInfo> known = ExternalInfoOf(*value.initializer, model_path_);
    OrtExternalInitializerInfo* answer = nullptr;
    CallOut<Code::kRuntimeException>("the function that locates initializers", function_.locate, function_.state,
                                     value.name.c_str(), AsHandle(&tensor), known ? &*known : nullptr, &answer);
    const std::unique_ptr<OrtExternalInitializerInfo> place(answer);
    if (place == nullptr) return std::nullopt;
    if (place->offset < 0)
      Fail(Code::kInvalidArgument, "the function that locates initializers: initializer '", value.name,
           "': expected an offset of 0 or more, found ", place->offset);
    return model::ExternalPlace{place->path, static_cast<std::uint64_t>(place->offset), place->size};
  }

 private:
  WeightFunction function_;
  const std::string& model_path_;
};

void FillBuffer(const OutputBuffer& buffer, std::string_view bytes) {
  void* data = AllocateResult(buffer.allocator, std::max<std::size_t>(bytes.size(), 1));
  std::memcpy(data, bytes.data(), bytes.size());
  *buffer.data = data;
  *buffer.size = bytes.size();
}

void CallWriter(const OutputFunction& function, std::string_view bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 16;  // at a time, as ONNX Runtime
  for (std::size_t at = 0; at < bytes.size(); at += kMost) {
    const std::string_view part = bytes.substr(at, kMost);
    CallOut<Code::kRuntimeException>("the function that writes the compiled model", function.write, function.state,
                                     static_cast<const void*>(part.data()), part.size());
  }
}

void WriteModel(std::string_view bytes, const OrtModelCompilationOptions& options) {
  if (const auto* buffer = std::get_if<OutputBuffer>(&options.output)) return FillBuffer(*buffer, bytes);
  if (const auto* function = std::get_if<OutputFunction>(&options.output)) return CallWriter(*function, bytes);
  model::NewFile file(OutputPath(options));
  file.Write(bytes);
  file.Close();
  file.Rename();
}

void Write(const Model& model, const OrtModelCompilationOptions& options) {
  model::SinkOptions sink;
  sink.alignment = options.alignment;
  sink.aligned_bytes = options.aligned_bytes;
  if (const auto* file = std::get_if<WeightFile>(&options.weights)) {
    sink.location = file->name;
    sink.min_bytes = file->min_bytes;
    const fs::path path = fs::path(OutputPath(options)).parent_path() / file->name;
    if (GoesToFile(options) && path == fs::path(OutputPath(options)))
      Fail(Code::kInvalidArgument, "the compiled model's weights: expected a file other than its own, found '",
           path.string(), "'");
    model::FileSink weights(path.string(), std::move(sink));
    const std::string bytes = model::SaveBytes(model, &weights);
    weights.file().Close();
    weights.file().Rename();  // first: a model never names a file that is not there
    WriteModel(bytes, options);
  } else if (const auto* buffer = std::get_if<WeightBuffer>(&options.weights)) {
    sink.location = buffer->name;
    sink.min_bytes = buffer->min_bytes;
    model::MemorySink weights(std::move(sink));
    WriteModel(model::SaveBytes(model, &weights), options);
    FillBuffer(buffer->buffer, weights.bytes());
  } else if (const auto* function = std::get_if<WeightFunction>(&options.weights)) {
    FunctionSink weights(*function, model.path);
    WriteModel(model::SaveBytes(model, &weights), options);
  } else {
    WriteModel(model::SaveBytes(model), options);
  }
}

runtime::SessionOptions BuildOptions(const OrtModelCompilationOptions& options) {
  runtime::SessionOptions session = options.session;
  session.optimization_level = std::min(session.optimization_level, runtime::OptimizationLevel::kBasic);
  runtime::PluginData data = session.plugin_data != nullptr ? *session.plugin_data : runtime::PluginData{};
  data.write = options.write_context;
  data.write_state = options.write_context_state;
  session.plugin_data = std::make_shared<const runtime::PluginData>(data);
  return session;
}

// Writes a compiled model of ours. Its nodes are all compiled, by the CPU.
void CompileForCpu(const std::shared_ptr<runtime::Environment>& environment, Model input,
                   const OrtModelCompilationOptions& options) {
  if (options.weights.index() != 0)
    Fail(Code::kInvalidArgument,
         "the compiled model's weights: expected no place of their own, found one; they are "
         "in the compiled model, where they are mapped");
  runtime::SessionOptions session = BuildOptions(options);
  session.optimization_level =
      options.level_is_given ? options.session.optimization_level : runtime::OptimizationLevel::kAll;
  session.optimized_model_path.clear();
  session.config.erase("ep.context_enable");  // that is what the other format is for
  std::string bytes;
  std::optional<model::NewFile> file;
  if (GoesToFile(options)) file.emplace(OutputPath(options));
  session.compiled_sink = [&](std::string_view piece) {
    if (file) return file->Write(piece);
    if (const auto* function = std::get_if<OutputFunction>(&options.output)) return CallWriter(*function, piece);
    bytes += piece;
  };
  runtime::Session::FromModel(environment, std::make_shared<const Model>(std::move(input)), std::move(session));
  if (file) {
    file->Close();
    file->Rename();
  }
  if (const auto* buffer = std::get_if<OutputBuffer>(&options.output)) FillBuffer(*buffer, bytes);
}

}  // namespace

OrtStatusPtr ORT_API_CALL CompileModel(const OrtEnv* env, const OrtModelCompilationOptions* model_options) noexcept {
  return Guard([&] {
    runtime::Environment& environment = *Need(env, "env").environment;
    const OrtModelCompilationOptions& options = Need(model_options, "model_options");
    CheckInput(options);
    CheckOutput(options);
    Model input = LoadInput(options);
    if (IsOwnFormat(options)) return CompileForCpu(Need(env, "env").environment, std::move(input), options);
    runtime::SessionOptions session = BuildOptions(options);
    const Logger logger(session.log_sink ? session.log_sink : environment.logger().sink(), session.log_id,
                        session.log_severity);
    if (session.providers.empty() && session.choose_providers) session.providers = session.choose_providers(input);
    providers::ProviderSet set = runtime::MakeProviders(environment, session, logger);
    Model compiled;
    runtime::BuildGraph(environment, input, session, set, logger, &compiled);
    if (set.contexts.empty() && (options.flags & OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED) != 0)
      Fail(Code::kFail,
           "Unable to compile any nodes: no provider of the session options compiles a node of this model");
    Write(compiled, options);
  });
}

}  // namespace sardonyx::capi::compile
