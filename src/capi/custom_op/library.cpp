// capi/custom_op/library.cpp - opens libraries of custom operators and has them add their domains to session options.
#include <dlfcn.h>

#include <memory>
#include <string>

#include "capi/api_table.h"
#include "capi/custom_op/domain.h"
#include "capi/functions.h"
#include "capi/handles/call_out.h"
#include "capi/handles/status.h"

namespace sardonyx::capi {
namespace {

constexpr const char* kRegister = "RegisterCustomOps";

std::string LastError() {
  const char* text = dlerror();
  return text != nullptr ? text : "no reason given";
}

std::shared_ptr<void> Open(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) Fail(Code::kFail, "library of custom operators '", path, "': cannot be opened: ", LastError());
  return {handle, [](void* library) { dlclose(library); }};
}

// A library that fails leaves the options as they were.
void Register(OrtSessionOptions& options, void* function, const std::string& callee) {
  const auto before = options.custom_operators;
  try {
    CallOut<Code::kRuntimeException>(callee.c_str(), reinterpret_cast<RegisterCustomOpsFn>(function), &options,
                                     &ApiBase());
  } catch (...) {
    options.custom_operators = before;
    throw;
  }
}

// The library is closed again if it does not register.
std::shared_ptr<void> OpenAndRegister(OrtSessionOptions& options, const std::string& path) {
  std::shared_ptr<void> library = Open(path);
  void* function = dlsym(library.get(), kRegister);
  if (function == nullptr)
    Fail(Code::kFail, "library of custom operators '", path, "': expected a function ", kRegister,
         ", found none: ", LastError());
  Register(options, function, std::string(kRegister) + " of '" + path + "'");
  return library;
}

}  // namespace

// The caller closes the library, after the last session that uses it.
OrtStatusPtr ORT_API_CALL RegisterCustomOpsLibrary(OrtSessionOptions* options, const char* library_path,
                                                   void** library_handle) noexcept {
  return Guard([&] {
    OrtSessionOptions& target = Need(options, "options");
    const std::string path = &Need(library_path, "library_path");
    Need(library_handle, "library_handle");
    const std::shared_ptr<void> library = OpenAndRegister(target, path);
    *library_handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // the caller's own reference
  });
}

OrtStatusPtr ORT_API_CALL RegisterCustomOpsLibrary_V2(OrtSessionOptions* options,
                                                      const ORTCHAR_T* library_name) noexcept {
  return Guard([&] {
    OrtSessionOptions& target = Need(options, "options");
    KeepLibrary(target, OpenAndRegister(target, &Need(library_name, "library_name")));
  });
}

OrtStatusPtr ORT_API_CALL RegisterCustomOpsUsingFunction(OrtSessionOptions* options,
                                                         const char* registration_func_name) noexcept {
  return Guard([&] {
    OrtSessionOptions& target = Need(options, "options");
    const std::string name = &Need(registration_func_name, "registration_func_name");
    void* function = name.empty() ? nullptr : dlsym(RTLD_DEFAULT, name.c_str());
    if (function == nullptr)
      Fail(Code::kFail, "registration function '", name,
           "': expected a function that the process exports (link it in, or open its library with RTLD_GLOBAL), "
           "found none");
    Register(target, function, name);
  });
}

OrtStatusPtr ORT_API_CALL EnableOrtCustomOps(OrtSessionOptions* options) noexcept {
  return Guard([&] {
    if (NeedKind(options, "options") == nullptr) return;
    void* function = dlsym(RTLD_DEFAULT, kRegister);
    if (function == nullptr)
      Fail(Code::kFail,
           "EnableOrtCustomOps: the operators of onnxruntime-extensions are not in this process; install that package "
           "and register its library by its path (RegisterCustomOpsLibrary_V2; in Python "
           "options.register_custom_ops_library(onnxruntime_extensions.get_library_path()))");
    Register(*options, function, std::string(kRegister) + " of onnxruntime-extensions");
  });
}

}  // namespace sardonyx::capi
