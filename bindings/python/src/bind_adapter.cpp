// bindings/python/src/bind_adapter.cpp - LoRA adapters: reads and writes their files.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <tuple>
#include <vector>

#include "options.h"

namespace sardonyx::python {
namespace {

nb::dict Parameters(const PyLoraAdapter& adapter, std::size_t count) {
  nb::dict result;
  for (std::size_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    OrtValue* value = nullptr;
    Check(Own().LoraAdapterParameter(adapter.get(), i, &name, &value));
    result[Shown(name)] = nb::cast(PyValue(ValuePtr(value), nb::none()));
  }
  return result;
}

// The versions of the format, of the adapter and of its model, and the parameters by name.
std::tuple<int, int, int, nb::dict> Contents(const PyLoraAdapter& adapter) {
  int format = 0, own = 0, model = 0;
  std::size_t count = 0;
  Check(Own().LoraAdapterInfo(adapter.get(), &format, &own, &model, &count));
  return {format, own, model, Parameters(adapter, count)};
}

void Write(const std::string& path, int adapter_version, int model_version, const nb::dict& parameters) {
  std::vector<std::string> names;
  std::vector<const char*> texts;
  std::vector<const OrtValue*> values;
  for (const auto& [name, value] : parameters) {
    names.push_back(nb::cast<std::string>(name));
    values.push_back(nb::cast<const PyValue&>(value).get());
  }
  for (const std::string& name : names) texts.push_back(name.c_str());
  CheckPlainly(
      Own().WriteLoraAdapter(path.c_str(), adapter_version, model_version, texts.data(), values.data(), texts.size()));
}

}  // namespace

PyLoraAdapter::PyLoraAdapter(const std::string& path) {
  OrtLoraAdapter* made = nullptr;
  CheckPlainly(Ort().CreateLoraAdapter(path.c_str(), nullptr, &made));
  adapter_.reset(made);
}

void AddAdapters(nb::module_& module) {
  nb::class_<PyLoraAdapter>(module, "LoraAdapterHandle").def(nb::init<const std::string&>()).def("contents", &Contents);
  module.def("write_lora_adapter", &Write);
}

}  // namespace sardonyx::python
