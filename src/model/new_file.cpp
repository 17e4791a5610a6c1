// model/new_file.cpp - a file that appears under its name only when all of it is written.
#include "model/new_file.h"

#include <cerrno>
#include <random>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace sardonyx::model {

namespace fs = std::filesystem;

fs::path FromUtf8(const std::string& text) { return fs::path(std::u8string(text.begin(), text.end())); }

// A device, a pipe: nothing may take its place, and there is nothing to keep until the new file is whole.
static bool IsSpecial(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(FromUtf8(path), error);
  return !error && fs::is_other(status);
}

NewFile::NewFile(std::string path)
    : path_(std::move(path)),
      in_place_(IsSpecial(path_)),
      temporary_(in_place_ ? path_ : path_ + ".saving-" + std::to_string(std::random_device()())) {
  file_.open(FromUtf8(temporary_), std::ios::binary | std::ios::trunc);
  Check(file_.is_open(), "cannot be created");
}

NewFile::~NewFile() {
  if (finished_ || in_place_) return;
  file_.close();
  std::error_code ignored;  // the error that led here matters more
  fs::remove(FromUtf8(temporary_), ignored);
}

void NewFile::Write(std::string_view bytes) {
  file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  Check(file_.good(), "cannot be written");
  size_ += bytes.size();
}

void NewFile::Close() {
  file_.close();
  Check(!file_.fail(), "cannot be written");
}

void NewFile::Rename() {
  finished_ = true;
  if (in_place_) return;
  std::error_code error;
  fs::rename(FromUtf8(temporary_), FromUtf8(path_), error);
  if (error) {
    finished_ = false;
    Fail(Code::kFail, "file '", path_, "' cannot be replaced: ", error.message());
  }
}

void NewFile::Check(bool fine, const char* what) const {
  // A folder that is not there is the caller's mistake, and has ONNX Runtime's code for it.
  const Code code = errno == ENOENT ? Code::kInvalidArgument : Code::kFail;
  if (!fine) Fail(code, "file '", path_, "' ", what, ": ", std::generic_category().message(errno));
}

}  // namespace sardonyx::model
