// bindings/python/src/value.h - Python objects to OrtValue and back.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "api.h"

namespace sardonyx::python {

namespace nb = nanobind;

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

// The same for a value that stays where it is: its contents are copied.
nb::object ToPythonCopy(const OrtValue* value);

// ONNX's element type numbers and names: 1 and "float" for ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT.
const char* ElementTypeName(int type);
// NumPy's (or ml_dtypes') dtype of an element type, and back; 0 if there is none.
nb::object NumpyDType(int element_type);
int ElementTypeOf(nb::handle numpy_dtype);
// An array's data as a tensor of this element type, whatever the array's dtype is (the sizes must agree).
HeldValue TensorFromArray(nb::handle array, int element_type);

}  // namespace sardonyx::python
