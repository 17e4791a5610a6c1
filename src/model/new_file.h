// model/new_file.h - a file that appears under its name only when all of it is written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace sardonyx::model {

// A path that may have any characters, as UTF-8.
std::filesystem::path FromUtf8(const std::string& text);

// Written beside its place under another name, which is gone if it is not finished. What is no file (a device, a pipe)
// is written to as it is. Fails with kFail naming path and the system's reason.
class NewFile {
 public:
  explicit NewFile(std::string path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void Write(std::string_view bytes);
  void Close();
  void Rename();  // after Close: the file is there
  std::uint64_t size() const { return size_; }

 private:
  void Check(bool fine, const char* what) const;

  std::string path_;
  bool in_place_;
  std::string temporary_;
  std::ofstream file_;
  std::uint64_t size_ = 0;
  bool finished_ = false;
};

}  // namespace sardonyx::model
