// capi/handles/status.cpp - OrtStatus, and the one place where exceptions become statuses.
#include "capi/handles/status.h"

#include <algorithm>
#include <memory>
#include <new>

#include "base/current_error.h"
#include "base/readable_text.h"

namespace sardonyx::capi {
namespace {

OrtStatus* OutOfMemoryStatus() noexcept {
  // Made when the first status is released, long before memory runs out; 13 bytes need no heap of their own.
  static OrtStatus* const status = std::make_unique<OrtStatus>(OrtStatus{{}, ORT_FAIL, "out of memory"}).release();
  return status;
}

thread_local StatusWatch* watch = nullptr;

}  // namespace

StatusWatch::StatusWatch() noexcept : outer_(std::exchange(watch, this)) {}
StatusWatch::~StatusWatch() { watch = outer_; }
bool StatusWatch::Lives(const OrtStatus* status) const noexcept {
  return std::find(living_.begin(), living_.end(), status) != living_.end();
}
void StatusWatch::Made(const OrtStatus* status) { living_.push_back(status); }
void StatusWatch::Freed(const OrtStatus* status) noexcept { std::erase(living_, status); }

OrtStatusPtr MakeStatus(OrtErrorCode code, const char* message) noexcept {
  try {
    auto status = std::make_unique<OrtStatus>(OrtStatus{{}, code, message != nullptr ? message : ""});
    if (watch != nullptr) watch->Made(status.get());
    return status.release();
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
  if (watch != nullptr) watch->Freed(status);
  if (status == nullptr || status == OutOfMemoryStatus()) return;
  if (IsOther(status)) return ReportOtherKind(ExpectedName(status), NameOf(status));
  const std::unique_ptr<OrtStatus> owned(status);
}

void FailNullArgument(const char* name) {
  Fail(Code::kInvalidArgument, "argument '", name, "': expected a pointer, found NULL");
}

void FailReleased(const char* name) {
  Fail(Code::kInvalidArgument, "argument '", name, "': the handle was released before");
}

void FailOtherKind(const char* name, const char* expected, const char* found) {
  Fail(Code::kInvalidArgument, "argument '", name, "': expected ", expected, ", found ", found);
}

void ThrowIfError(OrtStatusPtr status, const char* callee) {
  if (status == nullptr) return;
  const Error error(static_cast<Code>(status->code), std::string(callee) + ": " + status->message);
  FreeStatus(status);
  throw error;
}

}  // namespace sardonyx::capi
