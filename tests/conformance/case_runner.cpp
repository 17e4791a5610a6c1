// tests/conformance/case_runner.cpp - runs cases of the ONNX backend suite from folders, for work on operators.
//
// usage: case_runner [--interpret] [--quiet] FOLDER...   (a folder holds model.onnx and test_data_set_*)
#include <cstdio>
#include <string>

#include "testing/onnx_case.h"

int main(int argc, char** argv) {
  using Status = sardonyx::testing::CaseResult::Status;
  bool interpret = false, quiet = false;
  int counts[3] = {};
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--interpret") {
      interpret = true;
    } else if (argument == "--quiet") {
      quiet = true;
    } else {
      const auto result = sardonyx::testing::RunOnnxCase(argument, interpret);
      ++counts[static_cast<int>(result.status)];
      const char* word = result.status == Status::kPassed ? "pass" : result.status == Status::kFailed ? "FAIL" : "none";
      if (!quiet || result.status == Status::kFailed)
        std::printf("%s %s %s\n", word, argument.c_str(), result.message.c_str());
    }
  }
  std::printf("%d passed, %d failed, %d not implemented\n", counts[0], counts[1], counts[2]);
  return counts[1] != 0;
}
