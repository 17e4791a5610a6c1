// testing/onnx_case.h - runs one case of the ONNX backend suite on disk: model.onnx and
// test_data_set_*/{input,output}_*.pb.
#pragma once

#include <string>

namespace sardonyx::testing {

struct CaseResult {
  enum class Status { kPassed, kFailed, kNotImplemented };
  Status status = Status::kPassed;
  std::string message;  // the first difference, or the error
};

// Runs the case in `folder` through a session (or, `interpret`, node by node) and compares with the suite's tolerance.
CaseResult RunOnnxCase(const std::string& folder, bool interpret = false);

}  // namespace sardonyx::testing
