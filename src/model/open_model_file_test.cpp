// model/open_model_file_test.cpp - the error for a wrong path suggests what may have been meant.
#include "model/open_model_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace sardonyx::model {
namespace {

class OpenModelFiles : public testing::Test {
 protected:
  void SetUp() override {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = std::filesystem::temp_directory_path() / ("open_model_" + name + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "resnet50.onnx") << "bytes";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string ErrorOf(const std::string& path, Code code = Code::kNoSuchFile) {
    try {
      OpenModelFile(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      return error.what();
    }
    return "no error";
  }

  std::filesystem::path folder_;
};

TEST_F(OpenModelFiles, ThatAreThereAreMapped) {
  EXPECT_EQ(OpenModelFile((folder_ / "resnet50.onnx").string())->bytes().size(), 5u);
}

TEST_F(OpenModelFiles, SuggestsASimilarNameBesideIt) {
  const std::string meant = (folder_ / "resnet50.onnx").string();
  const std::string error = ErrorOf((folder_ / "resnet5.onnx").string());
  EXPECT_NE(error.find("No such file or directory; did you mean '" + meant + "'?"), std::string::npos) << error;
  EXPECT_EQ(ErrorOf((folder_ / "whisper_large").string()).find("did you mean"), std::string::npos);
}

TEST_F(OpenModelFiles, NamesTheFolderThatIsMissing) {
  const std::string error = ErrorOf((folder_ / "nets/deep/model.onnx").string());
  EXPECT_NE(error.find("there is no folder '" + (folder_ / "nets").string() + "'"), std::string::npos) << error;
}

TEST_F(OpenModelFiles, SaysWhereARelativePathBegins) {
  const std::string error = ErrorOf("surely_not_here/model.onnx");
  EXPECT_NE(error.find("there is no folder 'surely_not_here' (the current folder is '"), std::string::npos) << error;
  EXPECT_NE(ErrorOf("surely_not_here.onnx").find("(the current folder is '"), std::string::npos);
}

TEST_F(OpenModelFiles, WithOddPathsKeepTheirErrors) {
  EXPECT_NE(ErrorOf(folder_.string(), Code::kInvalidProtobuf).find("found a folder"), std::string::npos);
  EXPECT_NE(ErrorOf(std::string("a\0b", 3), Code::kInvalidArgument).find("NUL"), std::string::npos);
  EXPECT_NE(ErrorOf("").find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace sardonyx::model
