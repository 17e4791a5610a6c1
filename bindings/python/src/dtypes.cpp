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

// Those that were needed so far. They are kept until the process ends, like the module.
struct Tables {
  std::array<PyObject*, kRows.size()> dtypes = {};  // nullptr: ml_dtypes is not loaded, or too old for this one
  PyObject* numbers = nullptr;                      // dtype -> element type
  bool has_ml_dtypes = false;
};

void Add(Tables& tables, std::size_t element_type, const nb::object& type) {
  const nb::object dtype = nb::module_::import_("numpy").attr("dtype")(type);
  if (PyDict_SetItem(tables.numbers, dtype.ptr(), nb::int_(element_type).ptr()) != 0) throw nb::python_error();
  if (tables.dtypes[element_type] == nullptr) tables.dtypes[element_type] = nb::object(dtype).release().ptr();
}

Tables& Get() {
  static Tables tables = [] {
    Tables made;
    made.numbers = nb::dict().release().ptr();
    for (std::size_t i = 1; i < kRows.size(); ++i)
      if (!kRows[i].from_ml_dtypes) Add(made, i, nb::str(kRows[i].numpy));
    return made;
  }();
  return tables;
}

// The package takes longer to import than a small model to load and run, so it waits until one of its types is needed.
// ONNX Runtime does not require it, so programs are installed without it.
void AddMlDTypes(Tables& tables) {
  if (tables.has_ml_dtypes) return;
  nb::object package;
  try {
    package = nb::module_::import_("ml_dtypes");
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    return;
  }
  for (std::size_t i = 1; i < kRows.size(); ++i) {
    if (!kRows[i].from_ml_dtypes) continue;
    const nb::object type = nb::getattr(package, kRows[i].numpy, nb::none());
    if (!type.is_none()) Add(tables, i, type);
  }
  tables.has_ml_dtypes = true;
}

bool IsImported(const char* name) {
  PyObject* const module = PyDict_GetItemString(PyImport_GetModuleDict(), name);
  return module != nullptr && module != Py_None;  // None: its import is forbidden
}

}  // namespace

const char* ElementTypeName(int type) {
  return type >= 0 && static_cast<std::size_t>(type) < kRows.size() ? kRows[static_cast<std::size_t>(type)].onnx
                                                                    : "undefined";
}

nb::object NumpyDType(int element_type) {
  if (element_type <= 0 || static_cast<std::size_t>(element_type) >= kRows.size()) return nb::none();
  Tables& tables = Get();
  if (kRows[static_cast<std::size_t>(element_type)].from_ml_dtypes) AddMlDTypes(tables);
  PyObject* dtype = tables.dtypes[static_cast<std::size_t>(element_type)];
  if (dtype == nullptr) {
    const std::string text = std::string("tensor(") + ElementTypeName(element_type) +
                             ") needs a dtype of the package ml_dtypes, 0.5 or newer: pip install ml_dtypes";
    throw nb::import_error(text.c_str());
  }
  return nb::borrow(dtype);
}

int ElementTypeOf(nb::handle numpy_dtype) {
  Tables& tables = Get();
  PyObject* found = PyDict_GetItemWithError(tables.numbers, numpy_dtype.ptr());
  if (found == nullptr && !tables.has_ml_dtypes && IsImported("ml_dtypes")) {  // else nobody can have its types
    PyErr_Clear();
    AddMlDTypes(tables);
    found = PyDict_GetItemWithError(tables.numbers, numpy_dtype.ptr());
  }
  if (found == nullptr) PyErr_Clear();
  return found == nullptr ? 0 : static_cast<int>(PyLong_AsLong(found));
}

}  // namespace sardonyx::python
