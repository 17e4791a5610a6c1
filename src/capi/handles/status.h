// capi/handles/status.h - OrtStatus, and the one place where exceptions become statuses.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "capi/handles/kind.h"
#include "capi/handles/release.h"
#include "onnxruntime_c_api.h"

struct OrtStatus {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kStatus> mark;
  OrtErrorCode code;
  std::string message;
};

namespace sardonyx::capi {

// Never NULL: where memory is out, a static status that ReleaseStatus leaves alone.
OrtStatusPtr MakeStatus(OrtErrorCode code, const char* message) noexcept;
// The status of the exception in flight; to be called in a catch block only.
OrtStatusPtr StatusOfCurrentException() noexcept;
void FreeStatus(OrtStatusPtr status) noexcept;

// Knows the statuses that this thread has made and not freed since it began, so that one that foreign code returns can
// be told from one that it has freed before: the lambdas of ONNX Runtime's C++ header return what a destroyed
// Ort::Status held. One at a time in a thread; an inner one hides the outer.
class StatusWatch {
 public:
  StatusWatch() noexcept;
  ~StatusWatch();
  StatusWatch(const StatusWatch&) = delete;
  StatusWatch& operator=(const StatusWatch&) = delete;
  bool Lives(const OrtStatus* status) const noexcept;
  void Made(const OrtStatus* status);
  void Freed(const OrtStatus* status) noexcept;

 private:
  std::vector<const OrtStatus*> living_;
  StatusWatch* outer_;
};

// Runs the body of a C function: NULL if it returns, the status of what it throws otherwise.
template <typename Body>
OrtStatusPtr Guard(Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
    return nullptr;
  } catch (...) {
    return StatusOfCurrentException();
  }
}

[[noreturn]] void FailNullArgument(const char* name);
[[noreturn]] void FailReleased(const char* name);
[[noreturn]] void FailOtherKind(const char* name, const char* expected, const char* found);

// A pointer argument that must be there; fails with kInvalidArgument naming it, in debug builds also where it is a
// handle that was released, and where it is a handle of another kind. Ask before making what goes there: in `Need(out,
// "out") = Make()` C++ calls Make first, and what it made is lost if `out` is NULL.
template <typename T>
T& Need(T* argument, const char* name) {
  if (argument == nullptr) FailNullArgument(name);
  if constexpr (kDebugBuild)
    if (WasReleased(argument)) FailReleased(name);
  if (IsOther(argument)) FailOtherKind(name, ExpectedName(argument), NameOf(argument));
  return *argument;
}

// A pointer argument that may be NULL.
template <typename T>
T* NeedKind(T* argument, const char* name) {
  return argument == nullptr ? nullptr : &Need(argument, name);
}

// A pointer argument that may be NULL for zero elements.
template <typename T>
T* NeedArray(T* array, std::size_t count, const char* name) {
  if (array == nullptr && count != 0) FailNullArgument(name);
  return array;
}

// Takes over a status that a callback or plug-in returned: throws what it says, prefixed by who was called.
void ThrowIfError(OrtStatusPtr status, const char* callee);

}  // namespace sardonyx::capi
