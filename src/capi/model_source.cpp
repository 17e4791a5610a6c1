// capi/model_source.cpp - loads a model that is given by path or by bytes, as protobuf or as text.
#include "capi/model_source.h"

#include <string_view>

#include "base/error.h"
#include "base/mapped_file.h"
#include "capi/env.h"
#include "capi/handles/status.h"
#include "ir/text.h"
#include "model/load.h"
#include "model/open_model_file.h"

namespace sardonyx::capi {
namespace {

std::span<const std::byte> Bytes(const ModelSource& source) {
  return {static_cast<const std::byte*>(source.data), source.size};
}

void CheckSource(const ModelSource& source) {
  if ((source.path == nullptr) == (source.data == nullptr))
    Fail(Code::kInvalidArgument, "model: expected either model_path or model_data, found ",
         source.path == nullptr ? "neither" : "both");
}

// Text begins with '<', which no protobuf of a model does: it would be field 7 with an unknown wire type.
bool IsText(std::span<const std::byte> bytes) { return !bytes.empty() && bytes[0] == std::byte{'<'}; }

std::shared_ptr<const Model> Parse(std::span<const std::byte> bytes) {
  return std::make_shared<const Model>(ParseModel({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}

// The model if it is written as text, else null.
std::shared_ptr<const Model> ParseIfText(const ModelSource& source) {
  if (source.path == nullptr) return IsText(Bytes(source)) ? Parse(Bytes(source)) : nullptr;
  const std::shared_ptr<const MappedFile> file = model::OpenModelFile(source.path);
  if (!IsText(file->bytes())) return nullptr;
  try {
    return Parse(file->bytes());
  } catch (const Error& error) {
    throw Error(error.code(), std::string(source.path) + ": " + error.what());
  }
}

}  // namespace

std::shared_ptr<const Model> LoadModel(const ModelSource& source, const runtime::SessionOptions& options) {
  CheckSource(source);
  if (std::shared_ptr<const Model> text = ParseIfText(source)) return text;
  model::LoadOptions load;
  load.external_files = options.external_files;
  load.external_data_folder = options.Config("session.model_external_initializers_file_folder_path", "");
  return std::make_shared<const Model>(source.path != nullptr ? model::LoadFile(source.path, load)
                                                              : model::LoadBytes(Bytes(source), nullptr, load));
}

std::unique_ptr<runtime::Session> BuildSession(const OrtEnv* env, const ModelSource& source,
                                               runtime::SessionOptions options) {
  CheckSource(source);
  const std::shared_ptr<runtime::Environment>& environment = Need(env, "env").environment;
  if (std::shared_ptr<const Model> text = ParseIfText(source))
    return runtime::Session::FromModel(environment, std::move(text), std::move(options));
  if (source.path != nullptr) return runtime::Session::FromFile(environment, source.path, std::move(options));
  return runtime::Session::FromBytes(environment, Bytes(source), nullptr, std::move(options));
}

}  // namespace sardonyx::capi
