// model/save.cpp - converts Model to ModelProto, in memory or in files.
#include "model/save.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <random>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "model/graph_writer.h"
#include "model/onnx_fields.h"

namespace sardonyx::model {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kDefaultIrVersion = 10;

fs::path FromUtf8(const std::string& text) { return fs::path(std::u8string(text.begin(), text.end())); }

// A file that appears under its name only when Finish has written all of it.
class NewFile {
 public:
  explicit NewFile(std::string path) : path_(std::move(path)), temporary_(path_ + Suffix()) {
    file_.open(FromUtf8(temporary_), std::ios::binary | std::ios::trunc);
    Check(file_.is_open(), "cannot be created");
  }
  ~NewFile() {
    if (finished_) return;
    file_.close();
    std::error_code ignored;  // the error that led here matters more
    fs::remove(FromUtf8(temporary_), ignored);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void Write(std::string_view bytes) {
    file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    Check(file_.good(), "cannot be written");
    size_ += bytes.size();
  }
  void Close() {
    file_.close();
    Check(!file_.fail(), "cannot be written");
  }
  void Rename() {
    std::error_code error;
    fs::rename(FromUtf8(temporary_), FromUtf8(path_), error);
    if (error) Fail(Code::kFail, "file '", path_, "' cannot be replaced: ", error.message());
    finished_ = true;
  }
  std::uint64_t size() const { return size_; }

 private:
  static std::string Suffix() { return ".saving-" + std::to_string(std::random_device()()); }
  void Check(bool fine, const char* what) const {
    if (!fine) Fail(Code::kFail, "file '", path_, "' ", what, ": ", std::generic_category().message(errno));
  }

  std::string path_, temporary_;
  std::ofstream file_;
  std::uint64_t size_ = 0;
  bool finished_ = false;
};

class FileSink : public ExternalSink {
 public:
  explicit FileSink(const std::string& path) : file_(path) {}

  std::uint64_t Append(std::string_view bytes) override {
    constexpr std::size_t kLine = 64, kPage = 4096, kLarge = std::size_t{1} << 20;
    const std::size_t alignment = bytes.size() >= kLarge ? kPage : kLine;
    const std::size_t padding = (alignment - file_.size() % alignment) % alignment;
    file_.Write(std::string(padding, '\0'));
    const std::uint64_t offset = file_.size();
    file_.Write(bytes);
    return offset;
  }
  NewFile& file() { return file_; }

 private:
  NewFile file_;
};

std::string ModelBytes(const Model& model, ExternalSink* sink) {
  std::string out;
  Writer writer(out);
  const std::int64_t ir_version = model.ir_version == 0 ? kDefaultIrVersion : model.ir_version;
  writer.add_int64(ModelField::kIrVersion, ir_version);
  WriteText(writer, ModelField::kProducerName, model.producer_name);
  WriteText(writer, ModelField::kProducerVersion, model.producer_version);
  WriteText(writer, ModelField::kDomain, model.domain);
  if (model.model_version != 0) writer.add_int64(ModelField::kModelVersion, model.model_version);
  WriteText(writer, ModelField::kDoc, model.doc);
  GraphWriter graphs(out, sink, ir_version);
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
    file.Write(ModelBytes(model, nullptr));
    file.Close();
    file.Rename();
    return;
  }
  FileSink sink(ExternalPath(path, options.external_data_file));
  sink.location = options.external_data_file;
  sink.min_bytes = options.external_data_min_bytes;
  file.Write(ModelBytes(model, &sink));
  file.Close();
  sink.file().Close();
  sink.file().Rename();  // first: a model never names a file that is not there
  file.Rename();
}

std::string SaveBytes(const Model& model) { return ModelBytes(model, nullptr); }

std::string SaveTensor(const Tensor& tensor, std::string_view name) {
  std::string out;
  GraphWriter(out, nullptr, kDefaultIrVersion).WriteTensor(Writer(out), tensor, name);
  return out;
}

}  // namespace sardonyx::model
