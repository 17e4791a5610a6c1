// model/open_model_file.cpp - guesses which file was meant by a path that does not exist.
#include "model/open_model_file.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"

namespace sardonyx::model {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostEntries = 2000;  // of a folder that is looked through for a similar name

fs::path FromUtf8(const std::string& text) { return std::u8string(text.begin(), text.end()); }

std::string ToUtf8(const fs::path& path) {
  const std::u8string text = path.u8string();
  return std::string(text.begin(), text.end());
}

std::string Suggestion(const fs::path& folder, const fs::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end && names.size() < kMostEntries;
       at.increment(error)) {
    names.push_back(ToUtf8(at->path().filename()));
  }
  const std::string closest = ClosestName(ToUtf8(path.filename()), names);
  return closest.empty() ? "" : "; did you mean '" + ToUtf8(path.parent_path() / FromUtf8(closest)) + "'?";
}

// Why `path` leads nowhere: the first folder on the way that is missing, else a file of a similar name.
std::string WhyMissing(const fs::path& path) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  std::string where = path.is_absolute() || error ? "" : " (the current folder is '" + ToUtf8(here) + "')";
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (fs::is_directory(folder, error)) return where + Suggestion(folder, path);
  fs::path step;
  for (const fs::path& part : folder) {
    step /= part;
    if (!fs::is_directory(step, error)) return ": there is no folder '" + ToUtf8(step) + "'" + where;
  }
  return where;
}

}  // namespace

std::shared_ptr<const MappedFile> OpenModelFile(const std::string& path) {
  std::error_code error;
  const bool readable_text = path.find('\0') == std::string::npos;
  if (readable_text && !path.empty() && fs::symlink_status(FromUtf8(path), error).type() == fs::file_type::not_found) {
    Fail(Code::kNoSuchFile, "file '", path, "': cannot be opened: No such file or directory",
         WhyMissing(FromUtf8(path)));
  }
  if (readable_text && fs::exists(FromUtf8(path) / "manifest.json", error))
    Fail(Code::kInvalidArgument, "file '", path, "': expected a regular file, found the folder of a model package");
  if (readable_text && fs::is_directory(FromUtf8(path), error))
    Fail(Code::kInvalidProtobuf, "file '", path, "': expected a regular file, found a folder");
  return MappedFile::Open(path);
}

}  // namespace sardonyx::model
