// model/external_data.h - the files beside a model that hold its weights.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/mapped_file.h"
#include "model/load_options.h"

namespace sardonyx::model {

// Finds and maps each external file once for one load. Only files in the model's folder are opened: no absolute
// locations, no "..", no links out of the folder, except links into the folder `blobs` of a download cache if the model
// itself is such a link.
class ExternalFiles {
 public:
  // `model_path` is "" for a model given as bytes.
  ExternalFiles(const LoadOptions& options, const std::string& model_path)
      : options_(options), model_path_(model_path) {}

  struct File {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;  // keeps them alive
    const MappedFile* mapped = nullptr;
    std::string path;  // as resolved; for files handed over in memory, the location
  };
  // Fails with kFail if there is no such file, and with kInvalidArgument if `location` is not allowed. Valid for
  // the lifetime of this object.
  const File& Find(const std::string& location);

 private:
  File Open(const std::string& location) const;
  std::string Resolve(const std::string& location) const;

  const LoadOptions& options_;
  std::string model_path_;
  std::map<std::string, File> by_location_;
  std::map<std::string, std::shared_ptr<const MappedFile>> by_path_;
};

}  // namespace sardonyx::model
