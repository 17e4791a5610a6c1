// model/external_data.cpp - decides which external files a model may name, and maps them.
#include "model/external_data.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/error.h"

namespace sardonyx::model {
namespace {

namespace fs = std::filesystem;

fs::path FromUtf8(const std::string& text) { return fs::path(std::u8string(text.begin(), text.end())); }

std::string ToUtf8(const fs::path& path) {
  const std::u8string text = path.u8string();
  return std::string(text.begin(), text.end());
}

// What a location may not be, whatever the system: absolute, with a drive, with a step up.
void CheckLocation(const std::string& location) {
  const auto refuse = [&](const char* found) {
    Fail(Code::kInvalidArgument, "expected an external data location inside the model's folder, found ", found, " '",
         location, "'");
  };
  if (location.empty()) refuse("an empty one,");
  if (location.find('\0') != std::string::npos) refuse("a NUL character in");
  if (location[0] == '/' || location[0] == '\\') refuse("an absolute one,");
  if (location.size() > 1 && location[1] == ':') refuse("one with a drive letter,");
  for (std::size_t begin = 0; begin <= location.size();) {
    const std::size_t end = std::min(location.find_first_of("/\\", begin), location.size());
    if (location.compare(begin, end - begin, "..") == 0) refuse("a '..' in");
    begin = end + 1;
  }
}

// Whether `file` lies in `folder` or below it; both canonical.
bool IsInside(const fs::path& file, const fs::path& folder) {
  const auto [rest, ignored] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return rest == folder.end();
}

}  // namespace

std::string ExternalFiles::Resolve(const std::string& location) const {
  CheckLocation(location);
  if (options_.external_data_folder.empty() && model_path_.empty())
    Fail(Code::kFail, "external data '", location,
         "' cannot be found for a model given as bytes: give its folder (config entry "
         "'session.model_external_initializers_file_folder_path') or the file's bytes "
         "(AddExternalInitializersFromFilesInMemory)");
  const fs::path model = FromUtf8(model_path_);
  const fs::path folder = !options_.external_data_folder.empty() ? FromUtf8(options_.external_data_folder)
                          : model.has_parent_path()              ? model.parent_path()
                                                                 : fs::path(".");
  std::error_code error;
  const fs::path file = fs::canonical(folder / FromUtf8(location), error);
  if (error)
    Fail(Code::kFail, "external data file '", ToUtf8(folder / FromUtf8(location)), "': ", error.message(),
         "; it holds weights of the model and must be where the model expects it, beside the model's file");
  const fs::path home = fs::canonical(folder, error);
  if (!error && IsInside(file, home)) return ToUtf8(file);
  const fs::path blobs = model_path_.empty() ? fs::path() : fs::canonical(model, error).parent_path();
  if (!error && blobs.filename() == "blobs" && IsInside(file, blobs)) return ToUtf8(file);
  Fail(Code::kInvalidArgument, "expected external data inside the model's folder '", ToUtf8(home),
       "', found a link from '", location, "' to '", ToUtf8(file), "'");
}

ExternalFiles::File ExternalFiles::Open(const std::string& location) const {
  File file;
  if (const auto given = options_.external_files.find(location); given != options_.external_files.end()) {
    const std::shared_ptr<Buffer>& buffer = given->second;
    file.bytes = {static_cast<const std::byte*>(static_cast<const Buffer&>(*buffer).data()), buffer->size()};
    file.owner = buffer->read_only() ? buffer->owner() : buffer;
    if (!file.owner) file.owner = buffer;
    file.mapped = MappedFile::Behind(file.owner);
    file.path = location;
    return file;
  }
  file.path = Resolve(location);
  return file;
}

const ExternalFiles::File& ExternalFiles::Find(const std::string& location) {
  if (const auto known = by_location_.find(location); known != by_location_.end()) return known->second;
  File file = Open(location);
  if (!file.owner) {
    std::shared_ptr<const MappedFile>& mapped = by_path_[file.path];
    if (!mapped) mapped = MappedFile::Open(file.path);
    file.bytes = mapped->bytes();
    file.owner = mapped;
    file.mapped = mapped.get();
  }
  return by_location_.emplace(location, std::move(file)).first->second;
}

}  // namespace sardonyx::model
