// base/error.h - the one error type: a code for programs, a message for people.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sardonyx {

// The numbers are those of OrtErrorCode, so that the C boundary converts with a cast.
enum class Code {
  kFail = 1,
  kInvalidArgument = 2,
  kNoSuchFile = 3,
  kNoModel = 4,
  kEngineError = 5,
  kRuntimeException = 6,
  kInvalidProtobuf = 7,
  kModelLoaded = 8,
  kNotImplemented = 9,
  kInvalidGraph = 10,
  kEpFail = 11,
  kModelLoadCanceled = 12,
  kModelRequiresCompilation = 13,
  kNotFound = 14,
};

class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Code code() const { return code_; }

 private:
  Code code_;
};

// Throws Error{code} with the streamed parts joined, e.g. Fail(Code::kInvalidGraph, "rank ", rank).
template <typename... Parts>
[[noreturn]] void Fail(Code code, const Parts&... parts) {
  std::ostringstream message;
  (message << ... << parts);
  throw Error(code, message.str());
}

}  // namespace sardonyx
