// model/load.cpp - converts ModelProto to Model.
#include "model/load.h"

#include <bit>
#include <cstring>
#include <set>
#include <tuple>
#include <utility>

#include "base/limits.h"
#include "base/mapped_file.h"
#include "ir/function_index.h"
#include "ir/model_version.h"
#include "ir/verify.h"
#include "model/compiled_file.h"
#include "model/graph_reader.h"
#include "model/not_a_model.h"
#include "model/onnx_fields.h"
#include "model/open_model_file.h"
#include "model/ort_format.h"

namespace sardonyx::model {
namespace {

std::string_view Chars(std::span<const std::byte> bytes) {
  return {static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()};
}

class ModelReader {
 public:
  ModelReader(LoadContext& context, std::string_view bytes) : context_(context), root_(bytes, context.source) {}

  Model Read() {
    ReadHead();
    CheckVersions();
    std::size_t functions = 0;
    for (Message m = root_; m.Next();) functions += m.tag() == ModelField::kFunctions ? 1 : 0;
    model_.functions.reserve(functions);  // a graph is expensive to move
    for (Message m = root_; m.Next();) {
      if (m.tag() != ModelField::kFunctions) continue;
      const Message function =
          m.Sub("functions", static_cast<std::int64_t>(model_.functions.size()), {FunctionField::kName});
      model_.functions.push_back(GraphReader(context_).ReadFunction(function));
    }
    model_.graph = ReadMainGraph();
    CheckFunctions();
    root_.InContext([&] { Verify(model_.graph); });
    for (const Function& function : model_.functions) root_.InContext([&] { Verify(function.body); });
    return std::move(model_);
  }

 private:
  void ReadHead() {
    model_.model_version = kNoModelVersion;
    for (Message m = root_; m.Next();) {
      switch (m.tag()) {
        case ModelField::kIrVersion:
          model_.ir_version = m.Int();
          break;
        case ModelField::kProducerName:
          model_.producer_name = m.Text();
          break;
        case ModelField::kProducerVersion:
          model_.producer_version = m.Text();
          break;
        case ModelField::kDomain:
          model_.domain = m.Text();
          break;
        case ModelField::kModelVersion:
          model_.model_version = m.Int();
          break;
        case ModelField::kDoc:
          model_.doc = m.Text();
          break;
        case ModelField::kOpsetImport:
          AddOpsetImport(model_.opset_imports, ReadOpsetImport(m.Sub("opset_import")), m);
          break;
        case ModelField::kMetadata:
          model_.metadata.push_back(ReadEntry(m.Sub("metadata_props")));
          break;
        case ModelField::kTrainingInfo:
          Warn("its training information is ignored");
          break;
        case ModelField::kGraph:
          ++graph_count_;
          break;
        default:
          break;
      }
    }
    if (graph_count_ != 1)
      root_.Fail(Code::kInvalidArgument, "expected an ONNX model with one graph, found ", graph_count_, " graphs");
  }

  void CheckVersions() {
    if (model_.ir_version < 0)
      root_.Fail(Code::kInvalidGraph, "expected an ir_version of at least 0, found ", model_.ir_version);
    if (model_.ir_version > kNewestIrVersion)
      Warn("its IR version ", model_.ir_version, " is newer than ", kNewestIrVersion,
           ", the newest that this version of Sardonyx knows");
    if (model_.opset_imports.empty() && model_.ir_version >= 3)
      root_.Fail(Code::kFail, "expected an opset import in a model of IR version ", model_.ir_version, ", found none");
    if (model_.opset_imports.empty()) model_.opset_imports.push_back({"", 1});
    for (const OpsetImport& import : model_.opset_imports)
      if (import.domain.empty() && context_.options.newest_opset != 0 && import.version > context_.options.newest_opset)
        TellOfNewerOpset(import.version);
    context_.ir_version = model_.ir_version;
    context_.opset_imports = model_.opset_imports;
  }

  void TellOfNewerOpset(std::int64_t version) {
    constexpr const char* kNewest = ", the newest that this version of Sardonyx knows";
    if (context_.options.newest_opset_is_limit)
      root_.Fail(Code::kInvalidGraph, "expected an opset of at most ", context_.options.newest_opset, kNewest,
                 ", found opset ", version, "; session.allow_released_opsets_only = 0 allows to try it");
    Warn("its opset ", version, " is newer than ", context_.options.newest_opset, kNewest);
  }

  Graph ReadMainGraph() {
    Message m = root_;
    while (m.Next() && m.tag() != ModelField::kGraph) {
    }
    const Message graph = m.Sub("graph");
    return GraphReader(context_).ReadGraph(graph);
  }

  void CheckFunctions() const {
    std::set<std::tuple<std::string, std::string, std::string>> known;
    for (const Function& f : model_.functions)
      if (!known.emplace(f.domain, f.name, f.overload).second)
        root_.Fail(Code::kInvalidGraph, "expected each function once, found '", f.domain, ".", f.name,
                   f.overload.empty() ? "" : ":", f.overload, "' twice");
    Calls calls{model_, {}, {}};
    for (const Function& f : model_.functions) CheckCalls(f, calls);
  }

  // A walk from function to function.
  struct Calls {
    FunctionIndex functions;
    std::vector<const Function*> callers;
    std::set<const Function*> done;
  };

  // Fails if `function` calls itself, directly or not: it could never be inlined.
  void CheckCalls(const Function& function, Calls& calls) const {
    if (calls.done.count(&function) != 0) return;
    CheckTime();
    std::vector<const Function*>& callers = calls.callers;
    for (std::size_t i = 0; i < callers.size(); ++i)
      if (callers[i] == &function)
        root_.Fail(Code::kInvalidGraph, "expected functions that do not call themselves, found '", function.domain, ".",
                   function.name, "' calling itself through ", callers.size() - i - 1, " others");
    constexpr std::size_t kMostCalls = 1000;  // each is a frame on the stack, here and wherever graphs are walked
    if (callers.size() >= kMostCalls)
      root_.Fail(Code::kInvalidGraph, "expected function calls nested at most ", kMostCalls,
                 " deep, found deeper ones at '", function.domain, ".", function.name, "'");
    callers.push_back(&function);
    CheckCallsIn(function.body, calls);
    callers.pop_back();
    calls.done.insert(&function);
  }

  void CheckCallsIn(const Graph& graph, Calls& calls) const {
    for (const Node& node : graph.nodes) {
      if (const Function* called = calls.functions.Find(node.domain, node.op_type, node.overload))
        CheckCalls(*called, calls);
      for (const Graph* body : node.Subgraphs()) CheckCallsIn(*body, calls);
    }
  }

  template <typename... Parts>
  void Warn(const Parts&... parts) const {
    if (context_.options.logger) context_.options.logger->Warn(context_.source.name, ": ", parts...);
  }

  LoadContext& context_;
  Message root_;
  Model model_;
  int graph_count_ = 0;
};

Model ReadModel(LoadContext& context, std::string_view chars) {
  context.source.begin = chars.data();
  return ModelReader(context, chars).Read();
}

// A copy of the bytes where packed weights are aligned.
std::shared_ptr<Buffer> AlignedCopy(std::span<const std::byte> bytes) {
  std::shared_ptr<Buffer> copy = Buffer::Allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(copy->data(), bytes.data(), bytes.size());
  return copy;
}

// The weights of a compiled model are external data of the file itself.
Model LoadCompiled(LoadContext& context, std::span<const std::byte> bytes) {
  constexpr std::uintptr_t kAlignment = 64;
  std::shared_ptr<const void> owner = context.owner;
  if (owner == nullptr || std::bit_cast<std::uintptr_t>(bytes.data()) % kAlignment != 0) {
    const std::shared_ptr<Buffer> copy = AlignedCopy(bytes);
    bytes = {static_cast<const std::byte*>(copy->data()), bytes.size()};
    owner = copy;
  }
  CompiledFile file = ReadCompiled(bytes, owner, context.source.name);
  LoadOptions options = context.options;
  options.external_tensors.clear();
  options.external_files = {{std::string(kInThisFile), Buffer::ReadOnly(bytes.data(), bytes.size(), owner)}};
  ExternalFiles files(options, "");
  LoadContext inner{options, files, context.source, owner, context.mapped, 0, {}};
  Model model = ReadModel(inner, file.model);
  if (options.compiled != nullptr) *options.compiled = std::move(file.parts);
  return model;
}

// The caller may have said which format it expects.
void CheckFormat(const LoadContext& context, std::string_view bytes) {
  const std::string& wanted = context.options.format;
  if (wanted.empty()) return;
  if (wanted != "ONNX" && wanted != "ORT") {
    if (context.options.logger)
      context.options.logger->Warn("config entry 'session.load_model_format': expected ONNX or ORT, found '", wanted,
                                   "'; the model's first bytes decide");
    return;
  }
  const char* found = IsCompiledModel(bytes) ? "SDX" : IsOrtFormat(bytes) ? "ORT" : "ONNX";
  if (wanted != found)
    Fail(wanted == "ORT" ? Code::kFail : Code::kInvalidProtobuf, context.source.name,
         ": session.load_model_format expects a model in ", wanted, " format, found a model in ", found, " format");
}

Model LoadAny(LoadContext& context, std::span<const std::byte> bytes) {
  if (IsCompiledModel(Chars(bytes))) return LoadCompiled(context, bytes);
  if (IsOrtFormat(Chars(bytes))) {
    if (context.options.is_ort_format != nullptr) *context.options.is_ort_format = true;
    const auto onnx = std::make_shared<const std::string>(OnnxFromOrtFormat(Chars(bytes), context.source.name));
    context.owner = onnx;
    context.mapped = nullptr;
    return LoadAny(context, std::as_bytes(std::span(*onnx)));
  }
  if (bytes.size() > context.options.max_model_bytes)
    Fail(Code::kInvalidProtobuf, context.source.name, ": expected a model of at most ", context.options.max_model_bytes,
         " bytes (larger weights belong in external data), found ", bytes.size());
  const std::string_view chars = Chars(bytes);
  if (const std::string why = WhyNotAModel(chars); !why.empty())
    Fail(chars.empty() ? Code::kInvalidArgument : Code::kInvalidProtobuf, context.source.name,
         " is not an ONNX model: it ", why);
  return ReadModel(context, chars);
}

Model Load(LoadContext& context, std::span<const std::byte> bytes) {
  CheckFormat(context, Chars(bytes));
  return LoadAny(context, bytes);
}

}  // namespace

Model LoadFile(const std::string& path, const LoadOptions& options) {
  const std::shared_ptr<const MappedFile> file = OpenModelFile(path);
  ExternalFiles files(options, path);
  LoadContext context{options, files, {path, nullptr}, file, file.get(), 0, {}};
  Model model = Load(context, file->bytes());
  model.path = path;
  return model;
}

Model LoadBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const LoadOptions& options) {
  ExternalFiles files(options, "");
  LoadContext context{options, files, {"the model", nullptr}, std::move(owner), nullptr, 0, {}};
  return Load(context, bytes);
}

}  // namespace sardonyx::model
