// bindings/python/src/model.h - a model in memory for Python, which sardonyx/model.py wraps.
#pragma once

#include <memory>
#include <string>

#include "session.h"

namespace sardonyx::python {

struct ModelDeleter {
  void operator()(SardonyxModel* model) const noexcept { Own().ReleaseModel(model); }
};

class PyModel {
 public:
  explicit PyModel(const nb::object& source);  // bytes, or a path that os.fsdecode accepts
  SardonyxModel* get() const { return model_.get(); }

  std::string Json() const;
  PyValue Tensor(std::size_t graph, std::int64_t node, const std::string& name) const;
  std::string Edit(const std::string& edits, const nb::list& tensors);  // of PyValue
  void Save(const nb::object& path, const std::string& external_data_file, std::size_t min_bytes);
  nb::bytes ToBytes();

 private:
  std::unique_ptr<SardonyxModel, ModelDeleter> model_;
};

}  // namespace sardonyx::python
