// bindings/python/src/value.h - Python objects to OrtValue and back.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

#include "api.h"

namespace sardonyx::python {

namespace nb = nanobind;

// A text of a model as Python shows it: bytes that are no UTF-8 appear as \\xff.
nb::object Shown(std::string_view text);

// An OrtValue with the Python object whose memory it uses, if any.
struct HeldValue {
  ValuePtr value;
  nb::object memory;
};

// The value for an input of ONNX type `type` ("tensor(float)", "seq(tensor(int64))", "map(string,tensor(float))",
// "optional(...)"; "" if not known). NumPy arrays that are contiguous and of a native byte order are not copied.
// ml_dtypes arrays of less than a byte are packed. Lists and scalars become arrays of the type wanted.
HeldValue FromPython(nb::handle object, const std::string& type);

// NumPy arrays share the value's memory and keep it alive; strings become object arrays, sequences lists, maps dicts,
// an empty optional None.
nb::object ToPython(ValuePtr value);

// A NumPy array over a tensor's memory that keeps `owner` alive; a copy for types of less than a byte.
nb::object TensorView(const OrtValue* value, const nb::object& owner);

// What ToPython makes, of a value that stays where it is and is no tensor of numbers: its contents are copied.
nb::object ToPythonCopy(const OrtValue* value);

// ONNX's element type numbers and names: 1 and "float" for ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT.
const char* ElementTypeName(int type);
// NumPy's (or ml_dtypes') dtype of an element type, and back; 0 if there is none.
nb::object NumpyDType(int element_type);
int ElementTypeOf(nb::handle numpy_dtype);
// An array's data as a tensor of this element type, whatever the array's dtype is (the sizes must agree).
HeldValue TensorFromArray(nb::handle array, int element_type);

}  // namespace sardonyx::python
