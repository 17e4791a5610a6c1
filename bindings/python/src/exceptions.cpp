// bindings/python/src/exceptions.cpp - a Python exception for each OrtErrorCode, with ONNX Runtime's names.
#include <array>
#include <string>
#include <utility>

#include "session.h"

namespace sardonyx::python {
namespace {

constexpr std::array<std::pair<OrtErrorCode, const char*>, 14> kNames = {{
    {ORT_FAIL, "Fail"},
    {ORT_INVALID_ARGUMENT, "InvalidArgument"},
    {ORT_NO_SUCHFILE, "NoSuchFile"},
    {ORT_NO_MODEL, "NoModel"},
    {ORT_ENGINE_ERROR, "EngineError"},
    {ORT_RUNTIME_EXCEPTION, "RuntimeException"},
    {ORT_INVALID_PROTOBUF, "InvalidProtobuf"},
    {ORT_MODEL_LOADED, "ModelLoaded"},
    {ORT_NOT_IMPLEMENTED, "NotImplemented"},
    {ORT_INVALID_GRAPH, "InvalidGraph"},
    {ORT_EP_FAIL, "EPFail"},
    {ORT_MODEL_LOAD_CANCELED, "ModelLoadCanceled"},
    {ORT_MODEL_REQUIRES_COMPILATION, "ModelRequiresCompilation"},
    {ORT_NOT_FOUND, "NotFound"},
}};

std::array<PyObject*, 16>& Types() {
  static std::array<PyObject*, 16> types = {};
  return types;
}

}  // namespace

void AddExceptions(nb::module_& module) {
  for (const auto& [code, name] : kNames) {
    const std::string full = std::string("sardonyx.capi.onnxruntime_pybind11_state.") + name;
    PyObject* type = PyErr_NewException(full.c_str(), PyExc_Exception, nullptr);
    Types()[static_cast<std::size_t>(code)] = type;
    module.attr(name) = nb::borrow(type);
  }
  // Messages of ONNX Runtime begin with the code, and programs look for it there.
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const StatusError& error) {
      const auto code = static_cast<std::size_t>(error.code());
      PyObject* type = code < Types().size() && Types()[code] != nullptr ? Types()[code] : Types()[ORT_FAIL];
      std::string name = "FAIL";
      static constexpr const char* kCodes[] = {"OK",
                                               "FAIL",
                                               "INVALID_ARGUMENT",
                                               "NO_SUCHFILE",
                                               "NO_MODEL",
                                               "ENGINE_ERROR",
                                               "RUNTIME_EXCEPTION",
                                               "INVALID_PROTOBUF",
                                               "MODEL_LOADED",
                                               "NOT_IMPLEMENTED",
                                               "INVALID_GRAPH",
                                               "EP_FAIL",
                                               "MODEL_LOAD_CANCELED",
                                               "MODEL_REQUIRES_COMPILATION",
                                               "NOT_FOUND"};
      if (code < std::size(kCodes)) name = kCodes[code];
      // Names in a damaged model need not be UTF-8.
      const std::string text = ("[Sardonyx] : " + std::to_string(code) + " : " + name + " : " + error.what());
      PyObject* message = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
      if (message == nullptr) return;
      PyErr_SetObject(type, message);
      Py_DECREF(message);
    }
  });
}

}  // namespace sardonyx::python
