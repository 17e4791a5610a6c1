// tools/cli/temporary_folder.h - a folder for files that are needed only while a command runs.
#ifndef SARDONYX_TOOLS_CLI_TEMPORARY_FOLDER_H
#define SARDONYX_TOOLS_CLI_TEMPORARY_FOLDER_H

#include <cstdlib>
#include <filesystem>
#include <string>

#include "ort.h"

namespace sardonyx::cli {

// Deleted with its contents in the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sardonyx_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw Failure(ORT_FAIL, "cannot create a temporary folder: " + pattern);
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_TEMPORARY_FOLDER_H
