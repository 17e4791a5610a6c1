// capi/handles/status.cpp - OrtStatus, and the one place where exceptions become statuses.
#include "capi/handles/status.h"

#include <memory>
#include <new>

#include "base/current_error.h"
#include "base/readable_text.h"

namespace sardonyx::capi {
namespace {

OrtStatus* OutOfMemoryStatus() noexcept {
  // Made when the first status is released, long before memory runs out; 13 bytes need no heap of their own.
  static OrtStatus* const status = std::make_unique<OrtStatus>(OrtStatus{ORT_FAIL, "out of memory"}).release();
  return status;
}

}  // namespace

OrtStatusPtr MakeStatus(OrtErrorCode code, const char* message) noexcept {
  try {
    return std::make_unique<OrtStatus>(OrtStatus{code, message != nullptr ? message : ""}).release();
  } catch (...) {
    return OutOfMemoryStatus();
  }
}

OrtStatusPtr StatusOfCurrentException() noexcept {
  try {
    const Error error = CurrentError();
    return MakeStatus(static_cast<OrtErrorCode>(error.code()), ReadableText(error.what()).c_str());
  } catch (const std::bad_alloc&) {  // there is no memory to say so either
    return OutOfMemoryStatus();
  } catch (const std::exception& error) {
    return MakeStatus(ORT_RUNTIME_EXCEPTION, error.what());
  } catch (...) {
    return MakeStatus(ORT_RUNTIME_EXCEPTION, "an exception of an unknown type was thrown");
  }
}

void FreeStatus(OrtStatusPtr status) noexcept {
  if (status != OutOfMemoryStatus()) std::unique_ptr<OrtStatus> owned(status);
}

void FailNullArgument(const char* name) {
  Fail(Code::kInvalidArgument, "argument '", name, "': expected a pointer, found NULL");
}

void FailReleased(const char* name) {
  Fail(Code::kInvalidArgument, "argument '", name, "': the handle was released before");
}

void ThrowIfError(OrtStatusPtr status, const char* callee) {
  if (status == nullptr) return;
  const Error error(static_cast<Code>(status->code), std::string(callee) + ": " + status->message);
  FreeStatus(status);
  throw error;
}

}  // namespace sardonyx::capi
