// bindings/python/src/session.h - the classes of sessions and values for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api.h"
#include "value.h"

namespace sardonyx::python {

// The name of a value or a dimension. C has a byte of zero as the text \x00, Python has it as it is in the model.
nb::object ShownName(std::string name);

// "tensor(float)", "seq(map(string,tensor(int64)))" ...
std::string TypeText(const OrtTypeInfo* info);

struct NodeArg {
  std::string name, type;
  nb::object shape;
};

// An OrtValue, and the Python object whose memory it uses.
class PyValue {
 public:
  PyValue(ValuePtr value, nb::object memory) : value_(std::move(value)), memory_(std::move(memory)) {}
  OrtValue* get() const { return value_.get(); }
  const nb::object& memory() const { return memory_; }

 private:
  ValuePtr value_;
  nb::object memory_;
};

class Session {
 public:
  // `model` is bytes, a ModelHandle or a path (str, or a path object that os.fsdecode accepts).
  Session(const nb::object& model, OrtSessionOptions* options);
  OrtSession* get() const { return Hold().get(); }
  // The name in the model for a name as Python shows it; they differ only if the name is not UTF-8.
  std::string Spelling(const nb::handle& name) const;
  std::shared_ptr<OrtSession> Hold() const;  // a run keeps its session alive; fails if the session is closed
  void Close() { session_.reset(); }
  const std::vector<NodeArg>& inputs() const { return inputs_; }
  const std::vector<NodeArg>& outputs() const { return outputs_; }
  const std::vector<NodeArg>& overridable_initializers() const { return overridable_; }

  // Returns the outputs in the order of `output_names`. Values of the feed are PyValue or what FromPython accepts.
  nb::list Run(const nb::list& output_names, const nb::dict& feed, OrtRunOptions* options) const;
  std::string CheckValues(const nb::dict& feed, OrtRunOptions* options) const;  // JSON
  std::vector<PyValue> RunWithValues(const nb::list& output_names, const nb::dict& feed, OrtRunOptions* options) const;

 private:
  const std::string& TypeOfInput(const std::string& name) const;
  bool MayBeLeftOut(const std::string& name, const std::string& type) const;
  void NoteBroken(const std::vector<NodeArg>& ports);
  // Appends the names and values of the feed; `held` owns the values that are created for it.
  void Take(const nb::dict& feed, std::vector<HeldValue>& held, std::vector<std::string>& names,
            std::vector<const OrtValue*>& values) const;
  std::vector<OrtValue*> Call(const std::vector<std::string>& input_names, const std::vector<const OrtValue*>& values,
                              const nb::list& output_names, OrtRunOptions* options) const;

  std::shared_ptr<OrtSession> session_;
  std::vector<NodeArg> inputs_, outputs_, overridable_;
  std::vector<std::pair<std::string, std::string>> broken_names_;  // as Python shows it, as the model has it
};

void AddSessionOptions(nb::module_& module);
void AddRunOptions(nb::module_& module);
void AddValues(nb::module_& module);
void AddSparse(nb::class_<PyValue>& handle);
void AddDevices(nb::module_& module);
void AddCompile(nb::module_& module);
void AddModel(nb::module_& module);
void AddHistogram(nb::module_& module);
void AddBinding(nb::module_& module);
void AddAdapters(nb::module_& module);
void AddExceptions(nb::module_& module);

}  // namespace sardonyx::python
