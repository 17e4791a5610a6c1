// bindings/python/src/bind_model.cpp - models that Python reads and changes.
#include <nanobind/stl/string.h>

#include <vector>

#include "model.h"

namespace sardonyx::python {
namespace {

std::string PathOf(const nb::object& path) {
  return nb::cast<std::string>(nb::module_::import_("os").attr("fsdecode")(path));
}

}  // namespace

PyModel::PyModel(const nb::object& source) {
  SardonyxModel* made = nullptr;
  if (nb::isinstance<nb::bytes>(source)) {
    const auto bytes = nb::borrow<nb::bytes>(source);
    const nb::gil_scoped_release release;
    Check(Own().LoadModel(nullptr, bytes.data(), bytes.size(), nullptr, &made));
  } else {
    const std::string path = PathOf(source);
    const nb::gil_scoped_release release;
    Check(Own().LoadModel(path.c_str(), nullptr, 0, nullptr, &made));
  }
  model_.reset(made);
}

std::string PyModel::Json() const {
  char* json = nullptr;
  Check(Own().ModelJson(get(), DefaultAllocator(), &json));
  return TakeText(json);
}

PyValue PyModel::Tensor(std::size_t graph, std::int64_t node, const std::string& name) const {
  OrtValue* value = nullptr;
  Check(Own().ModelTensor(get(), graph, node, name.c_str(), &value));
  return {ValuePtr(value), nb::object()};
}

std::string PyModel::Edit(const std::string& edits, const nb::list& tensors) {
  std::vector<const OrtValue*> values;
  for (const nb::handle tensor : tensors) values.push_back(nb::cast<const PyValue&>(tensor).get());
  char* results = nullptr;
  Check(Own().EditModel(get(), edits.c_str(), values.data(), values.size(), DefaultAllocator(), &results));
  return TakeText(results);
}

void PyModel::Save(const nb::object& path, const std::string& external_data_file, std::size_t min_bytes) {
  const std::string place = PathOf(path);
  const nb::gil_scoped_release release;
  Check(Own().SaveModel(get(), place.c_str(), external_data_file.empty() ? nullptr : external_data_file.c_str(),
                        min_bytes));
}

nb::bytes PyModel::ToBytes() {
  void* data = nullptr;
  std::size_t length = 0;
  {
    const nb::gil_scoped_release release;
    Check(Own().SaveModelToArray(get(), DefaultAllocator(), &data, &length));
  }
  const nb::bytes bytes(data, length);
  Check(Ort().AllocatorFree(DefaultAllocator(), data));
  return bytes;
}

void AddModel(nb::module_& module) {
  nb::class_<PyModel>(module, "ModelHandle")
      .def(nb::init<const nb::object&>())
      .def("json", &PyModel::Json)
      .def("tensor", &PyModel::Tensor)
      .def("edit", &PyModel::Edit)
      .def("save", &PyModel::Save)
      .def("to_bytes", &PyModel::ToBytes);
}

}  // namespace sardonyx::python
