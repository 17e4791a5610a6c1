// bindings/python/src/bind_value.cpp - OrtValue and IoBinding.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "device_values.h"
#include "interrupt.h"
#include "options.h"
#include "session.h"

namespace sardonyx::python {
namespace {

ONNXType KindOf(const PyValue& value) {
  ONNXType type = ONNX_TYPE_UNKNOWN;
  Check(Ort().GetValueType(value.get(), &type));
  return type;
}

TensorTypeAndShapeInfoPtr InfoOf(const PyValue& value) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  Check(Ort().GetTensorTypeAndShape(value.get(), &info));
  return TensorTypeAndShapeInfoPtr(info);
}

int ElementType(const PyValue& value) {
  ONNXTensorElementDataType type{};
  Check(Ort().GetTensorElementType(InfoOf(value).get(), &type));
  return type;
}

std::vector<std::int64_t> Shape(const PyValue& value) {
  const TensorTypeAndShapeInfoPtr info = InfoOf(value);
  std::size_t rank = 0;
  Check(Ort().GetDimensionsCount(info.get(), &rank));
  std::vector<std::int64_t> shape(rank);
  Check(Ort().GetDimensions(info.get(), shape.data(), rank));
  return shape;
}

std::uintptr_t DataPointer(const PyValue& value) {
  void* data = nullptr;
  Check(Ort().GetTensorMutableData(value.get(), &data));
  return reinterpret_cast<std::uintptr_t>(data);
}

std::size_t SizeInBytes(const PyValue& value) {
  std::size_t size = 0;
  Check(Ort().GetTensorSizeInBytes(value.get(), &size));
  return size;
}

// A NumPy array over the memory of `self`, which it keeps alive; a copy if NumPy cannot share the memory, as that of a
// device.
nb::object ToNumpy(const nb::object& self) {
  const auto& value = nb::cast<const PyValue&>(self);
  if (KindOf(value) != ONNX_TYPE_TENSOR || ElementType(value) == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING)
    return ToPythonCopy(value.get());
  if (!IsOnHost(value.get())) return ToPython(CopyToHost(value.get()));
  return TensorView(value.get(), self);
}

std::string TypeTextOf(const PyValue& value) {
  OrtTypeInfo* info = nullptr;
  Check(Ort().GetTypeInfo(value.get(), &info));
  return TypeText(TypeInfoPtr(info).get());
}

// `stream` may be null.
void CopyTensors(const std::vector<const PyValue*>& from, const std::vector<const PyValue*>& to,
                 const PySyncStream* stream) {
  std::vector<const OrtValue*> sources;
  std::vector<OrtValue*> targets;
  for (const PyValue* value : from) sources.push_back(value->get());
  for (const PyValue* value : to) targets.push_back(value->get());
  const nb::gil_scoped_release release;
  Check(Ort().CopyTensors(Environment(), sources.data(), targets.data(), stream != nullptr ? stream->get() : nullptr,
                          sources.size()));
}

}  // namespace

void AddValues(nb::module_& module) {
  nb::class_<PyValue> handle(module, "ValueHandle");
  AddSparse(handle);
  AddDeviceValues(handle);
  handle
      .def_static("from_numpy",
                  [](const nb::object& array) {
                    HeldValue held = FromPython(array, "");
                    return PyValue(std::move(held.value), held.memory);
                  })
      .def_static("from_array_with_type",
                  [](const nb::object& array, int type) {
                    HeldValue held = TensorFromArray(array, type);
                    return PyValue(std::move(held.value), held.memory);
                  })
      .def_static("from_python",
                  [](const nb::object& object, const std::string& type) {
                    HeldValue held = FromPython(object, type);
                    return PyValue(std::move(held.value), held.memory);
                  })
      .def("numpy", &ToNumpy)
      .def("type_text", &TypeTextOf)
      .def("kind", [](const PyValue& value) { return static_cast<int>(KindOf(value)); })
      .def("element_type", &ElementType)
      .def("shape", &Shape)
      .def("data_ptr", &DataPointer)
      .def("size_in_bytes", &SizeInBytes)
      .def("has_value", [](const PyValue& value) {
        int present = 0;
        Check(Ort().HasValue(value.get(), &present));
        return present != 0;
      });
  module.def("copy_tensors", &CopyTensors, nb::arg(), nb::arg(), nb::arg().none());
  module.def("numpy_dtype", &NumpyDType);
  module.def("element_type_of", [](const nb::object& dtype) { return ElementTypeOf(dtype); });
}

// Keeps what is bound alive as long as the binding.
class Binding {
 public:
  explicit Binding(nb::object session) : session_(std::move(session)) {
    OrtIoBinding* made = nullptr;
    Check(Ort().CreateIoBinding(nb::cast<const Session&>(session_).get(), &made));
    binding_.reset(made);
  }
  OrtIoBinding* get() const { return binding_.get(); }
  std::string Spelling(nb::handle name) const { return nb::cast<const Session&>(session_).Spelling(name); }
  void Keep(const std::string& name, nb::object value) { kept_[nb::str(name.c_str())] = std::move(value); }

  // Ctrl-C ends it, as it ends the runs of Session.
  void Run(const Session& session, OrtRunOptions* options) {
    const std::shared_ptr<OrtSession> held = session.Hold();
    RunOptionsPtr own;
    if (options == nullptr) {
      Check(Ort().CreateRunOptions(&options));
      own.reset(options);
    }
    OrtStatusPtr status = nullptr;
    {
      const InterruptGuard guard(options);
      const nb::gil_scoped_release release;
      status = Ort().RunWithBinding(held.get(), options, binding_.get());
    }
    if (PyErr_CheckSignals() != 0) {
      if (status != nullptr) Ort().ReleaseStatus(status);
      if (!own) Check(Ort().RunOptionsUnsetTerminate(options));
      throw nb::python_error();
    }
    Check(status);
  }

 private:
  nb::object session_;
  IoBindingPtr binding_;
  nb::dict kept_;
};

void AddBinding(nb::module_& module) {
  nb::class_<Binding>(module, "BindingHandle")
      .def("__init__", [](Binding* at, const nb::object& session) { new (at) Binding(session); })
      .def("bind_input",
           [](Binding& b, const nb::str& shown, const nb::object& value) {
             const std::string name = b.Spelling(shown);
             Check(Ort().BindInput(b.get(), name.c_str(), nb::cast<const PyValue&>(value).get()));
             b.Keep("in:" + nb::cast<std::string>(shown), value);
           })
      .def("bind_output",
           [](Binding& b, const nb::str& shown, const nb::object& value) {
             const std::string name = b.Spelling(shown);
             Check(Ort().BindOutput(b.get(), name.c_str(), nb::cast<const PyValue&>(value).get()));
             b.Keep("out:" + nb::cast<std::string>(shown), value);
           })
      .def("bind_output_to",
           [](Binding& b, const nb::str& shown, const Place& place) {
             Check(Ort().BindOutputToDevice(b.get(), b.Spelling(shown).c_str(), MemoryAt(place)));
           })
      .def("synchronize_inputs",
           [](Binding& b) {
             const nb::gil_scoped_release release;
             Check(Ort().SynchronizeBoundInputs(b.get()));
           })
      .def("synchronize_outputs",
           [](Binding& b) {
             const nb::gil_scoped_release release;
             Check(Ort().SynchronizeBoundOutputs(b.get()));
           })
      .def("clear_inputs", [](Binding& b) { Ort().ClearBoundInputs(b.get()); })
      .def("clear_outputs", [](Binding& b) { Ort().ClearBoundOutputs(b.get()); })
      .def(
          "run",
          [](Binding& b, const Session& session, const PyRunOptions* options) {
            b.Run(session, options != nullptr ? options->get() : nullptr);
          },
          nb::arg("session"), nb::arg("options").none())
      .def("outputs", [](Binding& b) {
        OrtValue** values = nullptr;
        std::size_t count = 0;
        Check(Ort().GetBoundOutputValues(b.get(), DefaultAllocator(), &values, &count));
        std::vector<PyValue> results;
        for (std::size_t i = 0; i < count; ++i) results.emplace_back(ValuePtr(values[i]), nb::none());
        if (values != nullptr) Check(Ort().AllocatorFree(DefaultAllocator(), values));
        return results;
      });
}

}  // namespace sardonyx::python
