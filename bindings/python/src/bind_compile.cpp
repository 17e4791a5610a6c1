// bindings/python/src/bind_compile.cpp - writing compiled models, their data in functions of the program, and what is
// known of their compatibility.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "options.h"

namespace sardonyx::python {
namespace {

const OrtCompileApi& Compile() {
  static const OrtCompileApi& api = *Ort().GetCompileApi();
  return api;
}

struct CompileOptionsDeleter {
  void operator()(OrtModelCompilationOptions* options) const noexcept {
    Compile().ReleaseModelCompilationOptions(options);
  }
};

// Runs `body`, which calls Python, for the library: what it throws becomes a status.
template <class Body>
OrtStatus* InPython(Body&& body) {
  const nb::gil_scoped_acquire acquire;
  try {
    body();
    return nullptr;
  } catch (const StatusError& error) {
    return Ort().CreateStatus(error.code(), error.what());
  } catch (const nb::python_error& error) {
    const std::string text =
        nb::cast<std::string>(error.type().attr("__name__")) + ": " + nb::cast<std::string>(nb::str(error.value()));
    return Ort().CreateStatus(ORT_FAIL, text.c_str());
  } catch (const std::exception& error) {
    return Ort().CreateStatus(ORT_FAIL, error.what());
  }
}

nb::handle Function(void* state) { return {static_cast<PyObject*>(state)}; }

// A view of memory that is only there during a call; whoever gets it releases it.
nb::object View(void* data, std::size_t size, int access) {
  PyObject* view = PyMemoryView_FromMemory(static_cast<char*>(data), static_cast<Py_ssize_t>(size), access);
  if (view == nullptr) throw nb::python_error();
  return nb::steal(view);
}

OrtStatus* ORT_API_CALL WritePart(void* state, const void* buffer, std::size_t size) {
  return InPython([&] { Function(state)(nb::bytes(static_cast<const char*>(buffer), size)); });
}

OrtStatus* ORT_API_CALL WriteNamed(void* state, const char* name, const void* buffer, std::size_t size) {
  return InPython([&] {
    // Python has no view of memory at NULL.
    static char nothing = 0;
    Function(state)(Shown(name), View(size == 0 ? &nothing : const_cast<void*>(buffer), size, PyBUF_READ));
  });
}

// Calls the function with the name and a function that allocates: it gets a size, and gives a view of the memory.
OrtStatus* ORT_API_CALL ReadNamed(void* state, const char* name, OrtAllocator* allocator, void** buffer,
                                  std::size_t* size) {
  *buffer = nullptr;
  *size = 0;
  OrtStatus* status = InPython([&] {
    const nb::object allocate = nb::cpp_function([&](std::size_t bytes) {
      if (*buffer != nullptr)
        throw StatusError(ORT_INVALID_ARGUMENT, "the data of a compiled model: the memory is already allocated");
      *buffer = allocator->Alloc(allocator, bytes == 0 ? 1 : bytes);
      if (*buffer == nullptr)
        throw StatusError(ORT_FAIL, "the data of a compiled model: no memory for " + std::to_string(bytes) + " bytes");
      *size = bytes;
      return View(*buffer, bytes, PyBUF_WRITE);
    });
    Function(state)(Shown(name), allocate);
    if (*buffer == nullptr)
      throw StatusError(ORT_FAIL,
                        "the function that reads the data of a compiled model: expected it to allocate "
                        "memory for '" +
                            std::string(name) + "', but it did not");
  });
  if (status != nullptr && *buffer != nullptr) {
    allocator->Free(allocator, *buffer);
    *buffer = nullptr;
    *size = 0;
  }
  return status;
}

// The program may keep the value longer than the library does, so it gets a copy.
PyValue CopyOf(const OrtValue* value) {
  OrtTensorTypeAndShapeInfo* made = nullptr;
  Check(Ort().GetTensorTypeAndShape(value, &made));
  const TensorTypeAndShapeInfoPtr info(made);
  ONNXTensorElementDataType type{};
  std::size_t rank = 0;
  Check(Ort().GetTensorElementType(info.get(), &type));
  Check(Ort().GetDimensionsCount(info.get(), &rank));
  std::vector<std::int64_t> shape(rank);
  Check(Ort().GetDimensions(info.get(), shape.data(), rank));
  OrtValue* copy = nullptr;
  Check(Ort().CreateTensorAsOrtValue(DefaultAllocator(), shape.data(), rank, type, &copy));
  ValuePtr owned(copy);
  Check(Ort().CopyTensors(Environment(), &value, &copy, nullptr, 1));
  return {std::move(owned), nb::object()};
}

// Calls the function with the name, a value, and where the initializer is, a tuple or None; so is its answer.
OrtStatus* ORT_API_CALL Locate(void* state, const char* name, const OrtValue* value,
                               const OrtExternalInitializerInfo* known, OrtExternalInitializerInfo** place) {
  return InPython([&] {
    nb::object former = nb::none();
    if (known != nullptr)
      former = nb::make_tuple(Shown(Ort().ExternalInitializerInfo_GetFilePath(known)),
                              Ort().ExternalInitializerInfo_GetFileOffset(known),
                              Ort().ExternalInitializerInfo_GetByteSize(known));
    const nb::object answer = Function(state)(Shown(name), CopyOf(value), former);
    if (answer.is_none()) return;
    Check(Ort().CreateExternalInitializerInfo(nb::cast<std::string>(answer[0]).c_str(),
                                              nb::cast<std::int64_t>(answer[1]), nb::cast<std::size_t>(answer[2]),
                                              place));
  });
}

class Compiler {
 public:
  // `model` is a path or bytes; the functions are None or callable.
  Compiler(const PySessionOptions& session, const nb::object& model, bool embed, const std::string& weights_file,
           std::size_t weights_threshold, std::uint32_t flags, int level, const nb::object& locate)
      : model_(model), locate_(locate) {
    OrtModelCompilationOptions* made = nullptr;
    Check(Compile().CreateModelCompilationOptionsFromSessionOptions(Environment(), session.get(), &made));
    options_.reset(made);
    if (nb::isinstance<nb::bytes>(model)) {
      const auto bytes = nb::borrow<nb::bytes>(model);
      Check(Compile().ModelCompilationOptions_SetInputModelFromBuffer(made, bytes.data(), bytes.size()));
    } else {
      Check(Compile().ModelCompilationOptions_SetInputModelPath(made, nb::cast<std::string>(model).c_str()));
    }
    Check(Compile().ModelCompilationOptions_SetEpContextEmbedMode(made, embed));
    if (!weights_file.empty())
      Check(Compile().ModelCompilationOptions_SetOutputModelExternalInitializersFile(made, weights_file.c_str(),
                                                                                     weights_threshold));
    Check(Compile().ModelCompilationOptions_SetFlags(made, flags));
    Check(
        Compile().ModelCompilationOptions_SetGraphOptimizationLevel(made, static_cast<GraphOptimizationLevel>(level)));
    if (!locate.is_none())
      Check(Compile().ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc(made, Locate, locate_.ptr()));
  }

  // "" is the path that the input's implies.
  void ToFile(const std::string& path) {
    const Busy busy(*this);
    Check(Compile().ModelCompilationOptions_SetOutputModelPath(options_.get(), path.c_str()));
    Run();
  }

  nb::bytes ToBytes() {
    const Busy busy(*this);
    void* data = nullptr;
    std::size_t size = 0;
    Check(Compile().ModelCompilationOptions_SetOutputModelBuffer(options_.get(), DefaultAllocator(), &data, &size));
    Run();
    const nb::bytes result(static_cast<const char*>(data), size);
    Check(Ort().AllocatorFree(DefaultAllocator(), data));
    return result;
  }

  void ToFunction(const nb::object& function) {
    const Busy busy(*this);
    Check(Compile().ModelCompilationOptions_SetOutputModelWriteFunc(options_.get(), WritePart, function.ptr()));
    Run();
  }

  // None for none.
  void SetDataFunction(const nb::object& function) {
    const Busy busy(*this);
    Check(Compile().ModelCompilationOptions_SetEpContextDataWriteFunc(
        options_.get(), function.is_none() ? nullptr : WriteNamed, function.is_none() ? nullptr : function.ptr()));
    write_data_ = function;
  }

 private:
  // The options may not change while a model is compiled without the GIL.
  struct Busy {
    explicit Busy(Compiler& compiler) : busy(compiler.busy_) {
      if (busy) throw StatusError(ORT_FAIL, "ModelCompiler: it is compiling; expected a call before or after that");
      busy = true;
    }
    ~Busy() { busy = false; }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    bool& busy;
  };

  void Run() {
    const nb::gil_scoped_release release;
    Check(Compile().CompileModel(Environment(), options_.get()));
  }

  std::unique_ptr<OrtModelCompilationOptions, CompileOptionsDeleter> options_;
  nb::object model_, locate_, write_data_;
  bool busy_ = false;
};

nb::object TakeTextOrNone(char* text) {
  if (text == nullptr) return nb::none();
  return Shown(TakeText(text));
}

nb::object InfoOfFile(const std::string& path, const std::string& provider) {
  char* text = nullptr;
  Check(Ort().GetCompatibilityInfoFromModel(path.c_str(), provider.c_str(), DefaultAllocator(), &text));
  return TakeTextOrNone(text);
}

nb::object InfoOfBytes(const nb::bytes& model, const std::string& provider) {
  char* text = nullptr;
  Check(Ort().GetCompatibilityInfoFromModelBytes(model.data(), model.size(), provider.c_str(), DefaultAllocator(),
                                                 &text));
  return TakeTextOrNone(text);
}

int CompatibilityOf(const std::vector<const PyEpDevice*>& devices, const std::string& info) {
  std::vector<const OrtEpDevice*> handles;
  for (const PyEpDevice* device : devices) handles.push_back(device->device);
  OrtCompiledModelCompatibility result{};
  Check(Ort().GetModelCompatibilityForEpDevices(handles.data(), handles.size(), info.c_str(), &result));
  return result;
}

struct DetailsDeleter {
  void operator()(OrtDeviceEpIncompatibilityDetails* details) const noexcept {
    Ort().ReleaseDeviceEpIncompatibilityDetails(details);
  }
};

nb::dict Incompatibility(const std::string& provider, const PyHardwareDevice& device) {
  OrtDeviceEpIncompatibilityDetails* made = nullptr;
  Check(Ort().GetHardwareDeviceEpIncompatibilityDetails(Environment(), provider.c_str(), device.device, &made));
  const std::unique_ptr<OrtDeviceEpIncompatibilityDetails, DetailsDeleter> details(made);
  std::uint32_t reasons = 0;
  const char* notes = nullptr;
  std::int32_t code = 0;
  Check(Ort().DeviceEpIncompatibilityDetails_GetReasonsBitmask(made, &reasons));
  Check(Ort().DeviceEpIncompatibilityDetails_GetNotes(made, &notes));
  Check(Ort().DeviceEpIncompatibilityDetails_GetErrorCode(made, &code));
  nb::dict result;
  result["reasons_bitmask"] = reasons;
  result["notes"] = notes == nullptr || *notes == '\0' ? nb::object(nb::none()) : Shown(notes);
  result["error_code"] = code;
  return result;
}

}  // namespace

void SetDataReader(PySessionOptions& options, const nb::object& function) {
  options.Keep(function);
  Check(Ort().SessionOptionsSetEpContextDataReadFunc(options.get(), function.is_none() ? nullptr : ReadNamed,
                                                     function.is_none() ? nullptr : function.ptr()));
}

void AddCompile(nb::module_& module) {
  nb::class_<Compiler>(module, "CompilerHandle")
      .def(nb::init<const PySessionOptions&, const nb::object&, bool, const std::string&, std::size_t, std::uint32_t,
                    int, const nb::object&>(),
           nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none())
      .def("to_file", &Compiler::ToFile)
      .def("to_bytes", &Compiler::ToBytes)
      .def("to_function", &Compiler::ToFunction)
      .def("set_data_function", &Compiler::SetDataFunction, nb::arg().none());
  module.def("compatibility_info", &InfoOfFile);
  module.def("compatibility_info_of_bytes", &InfoOfBytes);
  module.def("model_compatibility", &CompatibilityOf);
  module.def("device_incompatibility", &Incompatibility);
}

}  // namespace sardonyx::python
