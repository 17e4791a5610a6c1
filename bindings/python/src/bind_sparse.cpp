// bindings/python/src/bind_sparse.cpp - sparse tensors in their three formats, as methods of the value handle.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "session.h"

namespace sardonyx::python {
namespace {

void* AddressOf(const nb::object& array) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): NumPy gives addresses as numbers
  return reinterpret_cast<void*>(nb::cast<std::uintptr_t>(array.attr("ctypes").attr("data")));
}

// A sparse tensor over the values of the array, which has no indices yet.
ValuePtr SparseValues(const std::vector<std::int64_t>& dense_shape, const nb::object& values, int type) {
  const auto element = static_cast<ONNXTensorElementDataType>(type);
  if (element == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING)
    throw StatusError(ORT_NOT_IMPLEMENTED,
                      "block-sparse tensors of strings are not implemented in Sardonyx's Python package");
  const auto shape = nb::cast<std::vector<std::int64_t>>(values.attr("shape"));
  OrtValue* made = nullptr;
  Check(Ort().CreateSparseTensorWithValuesAsOrtValue(HostMemory(), AddressOf(values), dense_shape.data(),
                                                     dense_shape.size(), shape.data(), shape.size(), element, &made));
  return ValuePtr(made);
}

// An empty sparse tensor of strings and pointers to the texts that fill it, which it copies: strings in NumPy's arrays
// have no form that a tensor could share.
ValuePtr SparseStrings(const std::vector<std::int64_t>& dense_shape, const std::vector<std::string>& texts,
                       std::vector<const char*>& pointers) {
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  OrtValue* made = nullptr;
  Check(Ort().CreateSparseTensorAsOrtValue(DefaultAllocator(), dense_shape.data(), dense_shape.size(),
                                           ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &made));
  return ValuePtr(made);
}

std::size_t SizeOf(const nb::object& array) { return nb::cast<std::size_t>(array.attr("size")); }

// Sparse tensors over the memory of the arrays, which the value keeps alive.
PyValue SparseCoo(const std::vector<std::int64_t>& dense_shape, const nb::object& values, int type,
                  const nb::object& indices) {
  ValuePtr made = SparseValues(dense_shape, values, type);
  Check(Ort().UseCooIndices(made.get(), static_cast<std::int64_t*>(AddressOf(indices)), SizeOf(indices)));
  return PyValue(std::move(made), nb::make_tuple(values, indices));
}

PyValue SparseCsr(const std::vector<std::int64_t>& dense_shape, const nb::object& values, int type,
                  const nb::object& inner, const nb::object& outer) {
  ValuePtr made = SparseValues(dense_shape, values, type);
  Check(Ort().UseCsrIndices(made.get(), static_cast<std::int64_t*>(AddressOf(inner)), SizeOf(inner),
                            static_cast<std::int64_t*>(AddressOf(outer)), SizeOf(outer)));
  return PyValue(std::move(made), nb::make_tuple(values, inner, outer));
}

PyValue SparseCooStrings(const std::vector<std::int64_t>& dense_shape, const std::vector<std::string>& texts,
                         const nb::object& indices) {
  std::vector<const char*> pointers;
  ValuePtr made = SparseStrings(dense_shape, texts, pointers);
  const auto count = static_cast<std::int64_t>(texts.size());
  Check(Ort().FillSparseTensorCoo(made.get(), HostMemory(), &count, 1, pointers.data(),
                                  static_cast<const std::int64_t*>(AddressOf(indices)), SizeOf(indices)));
  return PyValue(std::move(made), nb::none());
}

PyValue SparseCsrStrings(const std::vector<std::int64_t>& dense_shape, const std::vector<std::string>& texts,
                         const nb::object& inner, const nb::object& outer) {
  std::vector<const char*> pointers;
  ValuePtr made = SparseStrings(dense_shape, texts, pointers);
  const auto count = static_cast<std::int64_t>(texts.size());
  Check(Ort().FillSparseTensorCsr(made.get(), HostMemory(), &count, 1, pointers.data(),
                                  static_cast<const std::int64_t*>(AddressOf(inner)), SizeOf(inner),
                                  static_cast<const std::int64_t*>(AddressOf(outer)), SizeOf(outer)));
  return PyValue(std::move(made), nb::none());
}

PyValue SparseBlocks(const std::vector<std::int64_t>& dense_shape, const nb::object& values, int type,
                     const nb::object& indices) {
  ValuePtr made = SparseValues(dense_shape, values, type);
  const auto shape = nb::cast<std::vector<std::int64_t>>(indices.attr("shape"));
  Check(Ort().UseBlockSparseIndices(made.get(), shape.data(), shape.size(),
                                    static_cast<std::int32_t*>(AddressOf(indices))));
  return PyValue(std::move(made), nb::make_tuple(values, indices));
}

// A view of `data` that keeps `self` alive.
nb::object View(const void* data, const OrtTensorTypeAndShapeInfo* info, const nb::object& self) {
  std::size_t rank = 0, size = 0;
  ONNXTensorElementDataType type{};
  Check(Ort().GetDimensionsCount(info, &rank));
  Check(Ort().GetTensorElementType(info, &type));
  Check(Ort().GetTensorShapeElementCount(info, &size));
  std::vector<std::int64_t> shape(rank);
  Check(Ort().GetDimensions(info, shape.data(), rank));
  const nb::object dtype = NumpyDType(type);
  OrtValue* view = nullptr;
  Check(Ort().CreateTensorWithDataAsOrtValue(HostMemory(), const_cast<void*>(data),
                                             size * nb::cast<std::size_t>(dtype.attr("itemsize")), shape.data(), rank,
                                             type, &view));
  return TensorView(ValuePtr(view).get(), self);
}

nb::object Values(const nb::object& self) {
  const OrtValue* value = nb::cast<const PyValue&>(self).get();
  OrtTensorTypeAndShapeInfo* info = nullptr;
  Check(Ort().GetSparseTensorValuesTypeAndShape(value, &info));
  const TensorTypeAndShapeInfoPtr owned(info);
  const void* data = nullptr;
  Check(Ort().GetSparseTensorValues(value, &data));
  return View(data, info, self);
}

nb::object Indices(const nb::object& self, int kind) {
  const auto format = static_cast<OrtSparseIndicesFormat>(kind);
  const OrtValue* value = nb::cast<const PyValue&>(self).get();
  OrtTensorTypeAndShapeInfo* info = nullptr;
  Check(Ort().GetSparseTensorIndicesTypeShape(value, format, &info));
  const TensorTypeAndShapeInfoPtr owned(info);
  const void* data = nullptr;
  std::size_t count = 0;
  Check(Ort().GetSparseTensorIndices(value, format, &count, &data));
  return View(data, info, self);
}

int Format(const PyValue& value) {
  OrtSparseFormat format{};
  Check(Ort().GetSparseTensorFormat(value.get(), &format));
  return format;
}

}  // namespace

nb::object SparseToPython(ValuePtr value) {
  return nb::module_::import_("sardonyx.values").attr("SparseTensor")(PyValue(std::move(value), nb::none()));
}

void AddSparse(nb::class_<PyValue>& handle) {
  handle.def_static("sparse_coo", &SparseCoo)
      .def_static("sparse_csr", &SparseCsr)
      .def_static("sparse_coo_strings", &SparseCooStrings)
      .def_static("sparse_csr_strings", &SparseCsrStrings)
      .def_static("sparse_blocks", &SparseBlocks)
      .def("sparse_values", &Values)
      .def("sparse_indices", &Indices)
      .def("sparse_format", &Format);
}

}  // namespace sardonyx::python
