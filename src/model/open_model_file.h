// model/open_model_file.h - maps a model's file; a wrong path gets an error that helps to find the right one.
#pragma once

#include <memory>
#include <string>

#include "base/mapped_file.h"

namespace sardonyx::model {

// As MappedFile::Open. Where there is no such file, the error (kNoSuchFile) says which folder is missing, or suggests
// the file of a similar name beside it, and names the current folder for a relative path.
std::shared_ptr<const MappedFile> OpenModelFile(const std::string& path);

}  // namespace sardonyx::model
