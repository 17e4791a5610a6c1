// bindings/python/src/value.h - converts between Python objects and OrtValue.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

#include "api.h"

namespace sardonyx::python {

namespace nb = nanobind;

// A text of a model for Python: bytes that are not UTF-8 appear as \\xff.
nb::object Shown(std::string_view text);

// An OrtValue, and the Python object whose memory it uses, if any.
struct HeldValue {
  ValuePtr value;
  nb::object memory;
};

// Converts an object for an input of ONNX type `type` ("tensor(float)", "seq(tensor(int64))",
// "map(string,tensor(float))", "optional(...)"; "" if it is unknown). Contiguous NumPy arrays in native byte order are
// not copied. Arrays of ml_dtypes of less than a byte are packed. Lists and scalars become arrays of this type.
HeldValue FromPython(nb::handle object, const std::string& type);

// Tensors become NumPy arrays that share the value's memory and keep it alive, strings object arrays, sequences lists,
// maps dicts, sparse tensors SparseTensor, and an empty optional None.
nb::object ToPython(ValuePtr value);
nb::object SparseToPython(ValuePtr value);

// A NumPy array over a tensor's memory that keeps `owner` alive; a copy for types of less than a byte.
nb::object TensorView(const OrtValue* value, const nb::object& owner);

// A DLPack capsule over a tensor's memory that keeps `owner` alive; the device as DLPack numbers it.
nb::object DlpackView(const OrtValue* value, const nb::object& owner, int device_type, int device_id);

// Like ToPython, for values other than tensors of numbers, but copies the contents and leaves the value to the caller.
nb::object ToPythonCopy(const OrtValue* value);

// ONNX's name of an element type: "float" for 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT.
const char* ElementTypeName(int type);
// The dtype of NumPy or ml_dtypes for an element type, and the element type for a dtype; 0 if there is none.
nb::object NumpyDType(int element_type);
int ElementTypeOf(nb::handle numpy_dtype);
// A tensor of this element type over the data of an array of any dtype with elements of the same size.
HeldValue TensorFromArray(nb::handle array, int element_type);

}  // namespace sardonyx::python
