// base/error.h - the one error type: a code for programs, a message for people.
#pragma once

#include <stdexcept>
#include <string>

#include "base/joined_text.h"

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

[[noreturn]] void FailWith(Code code, const TextPart* parts, std::size_t count);

// Throws Error{code} with the parts joined, e.g. Fail(Code::kInvalidGraph, "rank ", rank).
template <typename... Parts>
[[noreturn]] void Fail(Code code, const Parts&... parts) {
  const TextPart list[] = {TextPart(parts)...};
  FailWith(code, list, sizeof...(parts));
}

}  // namespace sardonyx
