// model/save.cpp - converts Model to ModelProto, in memory or in files.
#include "model/save.h"

#include <filesystem>
#include <utility>

#include "base/error.h"
#include "ir/model_version.h"
#include "model/graph_writer.h"
#include "model/new_file.h"
#include "model/onnx_fields.h"

namespace sardonyx::model {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kDefaultIrVersion = 10;

std::string ModelBytes(const Model& model, ExternalSink* sink, const NamesAsNumbers* as_numbers) {
  std::string out;
  Writer writer(out);
  const std::int64_t ir_version = model.ir_version == 0 ? kDefaultIrVersion : model.ir_version;
  writer.add_int64(ModelField::kIrVersion, ir_version);
  WriteText(writer, ModelField::kProducerName, model.producer_name);
  WriteText(writer, ModelField::kProducerVersion, model.producer_version);
  WriteText(writer, ModelField::kDomain, model.domain);
  if (model.model_version != kNoModelVersion) writer.add_int64(ModelField::kModelVersion, model.model_version);
  WriteText(writer, ModelField::kDoc, model.doc);
  GraphWriter graphs(out, sink, ir_version, as_numbers);
  graphs.WriteGraph(Writer(writer, ModelField::kGraph), model.graph, true);
  WriteOpsetImports(writer, ModelField::kOpsetImport, model.opset_imports);
  WriteEntries(writer, ModelField::kMetadata, model.metadata);
  for (const Function& function : model.functions)
    graphs.WriteFunction(Writer(writer, ModelField::kFunctions), function);
  constexpr std::size_t kMost = (std::size_t{1} << 31) - 1;
  if (out.size() > kMost)
    Fail(Code::kInvalidArgument, "expected a model of less than 2 GB, found ", out.size(),
         " bytes without its weights");
  return out;
}

// The path of the external file, beside the model.
std::string ExternalPath(const std::string& model_path, const std::string& name) {
  const fs::path model = FromUtf8(model_path), file = FromUtf8(name);
  if (file.has_parent_path() || name == "." || name == ".." || name.find('\\') != std::string::npos ||
      file == model.filename())
    Fail(Code::kInvalidArgument, "expected a file name other than the model's for its external data, found '", name,
         "'");
  const std::u8string path = (model.parent_path() / file).u8string();
  return std::string(path.begin(), path.end());
}

}  // namespace

void SaveFile(const Model& model, const std::string& path, const SaveOptions& options) {
  NewFile file(path);
  if (options.external_data_file.empty()) {
    file.Write(ModelBytes(model, nullptr, options.as_numbers));
    file.Close();
    file.Rename();
    return;
  }
  SinkOptions sink_options;
  sink_options.location = options.external_data_file;
  sink_options.min_bytes = options.external_data_min_bytes;
  FileSink sink(ExternalPath(path, options.external_data_file), std::move(sink_options));
  file.Write(ModelBytes(model, &sink, options.as_numbers));
  file.Close();
  if (sink.file().size() != 0) {
    sink.file().Close();
    sink.file().Rename();  // first: a model never names a file that is not there
  }
  file.Rename();
}

std::string SaveBytes(const Model& model, ExternalSink* weights, const NamesAsNumbers* as_numbers) {
  return ModelBytes(model, weights, as_numbers);
}

std::string SaveTensor(const Tensor& tensor, std::string_view name) {
  std::string out;
  GraphWriter(out, nullptr, kDefaultIrVersion).WriteTensor(Writer(out), tensor, name);
  return out;
}

}  // namespace sardonyx::model
