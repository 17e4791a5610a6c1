// base/mapped_file_test.cpp - mapping files, the errors for files that cannot be mapped, and the logger's default sink.
#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/logging.h"

namespace sardonyx {
namespace {

class MappedFiles : public testing::Test {
 protected:
  // The process id keeps test runs at the same time apart.
  MappedFiles()
      : folder_(std::filesystem::path(testing::TempDir()) /
                ("sardonyx_mapped_file_größe_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~MappedFiles() override { std::filesystem::remove_all(folder_); }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  Error FailureOf(const std::string& path) const {
    try {
      MappedFile::Open(path);
    } catch (const Error& error) {
      return error;
    }
    return {Code::kFail, "no failure"};
  }
  std::filesystem::path folder_;
};

TEST_F(MappedFiles, HaveTheFilesBytesEvenAfterPagesWereReleased) {
  std::string text(300000, 'x');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7 % 251);
  const auto file = MappedFile::Open(Write("größe.bin", text));
  const auto equal = [&] {
    return std::string(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()) == text;
  };
  EXPECT_TRUE(equal());
  file->Release(5, 200000);
  file->Release(0, static_cast<std::size_t>(-1));
  file->Release(text.size() + 1, 1);
  EXPECT_TRUE(equal());
}

TEST_F(MappedFiles, OfNoBytesAreEmpty) { EXPECT_TRUE(MappedFile::Open(Write("empty", ""))->bytes().empty()); }

TEST_F(MappedFiles, FailuresNamePathAndReason) {
  const Error missing = FailureOf((folder_ / "none").string());
  EXPECT_EQ(missing.code(), Code::kNoSuchFile);
  EXPECT_NE(std::string(missing.what()).find("none': cannot be opened: No such file"), std::string::npos)
      << missing.what();
  const Error folder = FailureOf(folder_.string());
  EXPECT_EQ(folder.code(), Code::kInvalidArgument);
  EXPECT_NE(std::string(folder.what()).find("expected a regular file, found a folder"), std::string::npos);
  EXPECT_EQ(FailureOf("/dev/null").code(), Code::kInvalidArgument);
  EXPECT_EQ(FailureOf(std::string("a\0b", 3)).code(), Code::kInvalidArgument);
  EXPECT_EQ(FailureOf("").code(), Code::kNoSuchFile);
}

TEST(Logger, WritesOneLineToStandardErrorAboveTheThreshold) {
  testing::internal::CaptureStderr();
  const Logger logger;
  logger.Warn("a ", 1);
  logger.Info("not this");
  logger.Write(Severity::kVerbose, "nor this");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find(" UTC [W sardonyx] a 1\n"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST(Logger, PassesEverythingToItsSink) {
  std::string seen;
  const Logger logger(
      [&](Severity severity, const char* category, const char* id, const char* location, const char* text) {
        seen = std::to_string(static_cast<int>(severity)) + category + id + location + text;
      },
      "id", Severity::kInfo);
  logger.Write(Severity::kError, "text", "place");
  EXPECT_EQ(seen, "3sardonyxidplacetext");
}

}  // namespace
}  // namespace sardonyx
