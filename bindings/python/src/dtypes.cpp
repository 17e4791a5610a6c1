// bindings/python/src/dtypes.cpp - which dtypes of NumPy and ml_dtypes correspond to which element types of ONNX.
#include <array>
#include <string>

#include "value.h"

namespace sardonyx::python {
namespace {

struct Row {
  const char* onnx;   // as in "tensor(float)"
  const char* numpy;  // nullptr: object array
  bool from_ml_dtypes;
};

// Indexed by ONNXTensorElementDataType.
constexpr std::array<Row, 27> kRows = {{
    {"undefined", nullptr, false},
    {"float", "float32", false},
    {"uint8", "uint8", false},
    {"int8", "int8", false},
    {"uint16", "uint16", false},
    {"int16", "int16", false},
    {"int32", "int32", false},
    {"int64", "int64", false},
    {"string", "object", false},
    {"bool", "bool", false},
    {"float16", "float16", false},
    {"double", "float64", false},
    {"uint32", "uint32", false},
    {"uint64", "uint64", false},
    {"complex64", "complex64", false},
    {"complex128", "complex128", false},
    {"bfloat16", "bfloat16", true},
    {"float8e4m3fn", "float8_e4m3fn", true},
    {"float8e4m3fnuz", "float8_e4m3fnuz", true},
    {"float8e5m2", "float8_e5m2", true},
    {"float8e5m2fnuz", "float8_e5m2fnuz", true},
    {"uint4", "uint4", true},
    {"int4", "int4", true},
    {"float4e2m1", "float4_e2m1fn", true},
    {"uint2", "uint2", true},
    {"int2", "int2", true},
    {"float8e8m0", "float8_e8m0fnu", true},
}};

// Created once and kept until the process ends, like the module.
struct Tables {
  std::array<PyObject*, kRows.size()> dtypes = {};  // nullptr: ml_dtypes is not installed, or too old for this one
  PyObject* numbers = nullptr;                      // dtype -> element type
};

// None without the package: ONNX Runtime does not require it, so programs are installed without it.
nb::object MlDTypes() {
  try {
    return nb::module_::import_("ml_dtypes");
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    return nb::none();
  }
}

const Tables& Get() {
  static const Tables tables = [] {
    Tables made;
    const nb::module_ numpy = nb::module_::import_("numpy");
    const nb::object ml_dtypes = MlDTypes();
    nb::dict numbers;
    for (std::size_t i = 1; i < kRows.size(); ++i) {
      const Row& row = kRows[i];
      const nb::object type =
          row.from_ml_dtypes ? nb::getattr(ml_dtypes, row.numpy, nb::none()) : nb::object(nb::str(row.numpy));
      if (type.is_none()) continue;
      const nb::object dtype = numpy.attr("dtype")(type);
      numbers[dtype] = nb::int_(i);
      made.dtypes[i] = nb::object(dtype).release().ptr();
    }
    made.numbers = numbers.release().ptr();
    return made;
  }();
  return tables;
}

}  // namespace

const char* ElementTypeName(int type) {
  return type >= 0 && static_cast<std::size_t>(type) < kRows.size() ? kRows[static_cast<std::size_t>(type)].onnx
                                                                    : "undefined";
}

nb::object NumpyDType(int element_type) {
  if (element_type <= 0 || static_cast<std::size_t>(element_type) >= kRows.size()) return nb::none();
  PyObject* dtype = Get().dtypes[static_cast<std::size_t>(element_type)];
  if (dtype == nullptr) {
    const std::string text = std::string("tensor(") + ElementTypeName(element_type) +
                             ") needs a dtype of the package ml_dtypes, 0.5 or newer: pip install ml_dtypes";
    throw nb::import_error(text.c_str());
  }
  return nb::borrow(dtype);
}

int ElementTypeOf(nb::handle numpy_dtype) {
  PyObject* found = PyDict_GetItemWithError(Get().numbers, numpy_dtype.ptr());
  if (found == nullptr) PyErr_Clear();
  return found == nullptr ? 0 : static_cast<int>(PyLong_AsLong(found));
}

}  // namespace sardonyx::python
