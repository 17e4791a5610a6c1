// bindings/python/src/session.cpp - sessions for Python: names are read once, and runs release the GIL.
#include "session.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <utility>

#include "interrupt.h"
#include "model.h"

namespace sardonyx::python {

nb::object ShownName(std::string name) {
  constexpr std::string_view kZero = "\\x00";
  for (std::size_t at = name.find(kZero); at != std::string::npos; at = name.find(kZero, at))
    name.replace(at, kZero.size(), 1, '\0');
  return Shown(name);
}

namespace {

std::string TensorText(const OrtTypeInfo* info, const char* kind) {
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  Check(Ort().CastTypeInfoToTensorInfo(info, &tensor));
  ONNXTensorElementDataType type{};
  if (tensor != nullptr) Check(Ort().GetTensorElementType(tensor, &type));
  return std::string(kind) + "(" + ElementTypeName(type) + ")";
}

}  // namespace

std::string TypeText(const OrtTypeInfo* info) {
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  Check(Ort().GetOnnxTypeFromTypeInfo(info, &kind));
  OrtTypeInfo* inner = nullptr;
  switch (kind) {
    case ONNX_TYPE_TENSOR:
      return TensorText(info, "tensor");
    case ONNX_TYPE_SPARSETENSOR:
      return TensorText(info, "sparse_tensor");
    case ONNX_TYPE_SEQUENCE: {
      const OrtSequenceTypeInfo* sequence = nullptr;
      Check(Ort().CastTypeInfoToSequenceTypeInfo(info, &sequence));
      Check(Ort().GetSequenceElementType(sequence, &inner));
      return "seq(" + TypeText(TypeInfoPtr(inner).get()) + ")";
    }
    case ONNX_TYPE_OPTIONAL: {
      const OrtOptionalTypeInfo* optional = nullptr;
      Check(Ort().CastTypeInfoToOptionalTypeInfo(info, &optional));
      Check(Ort().GetOptionalContainedTypeInfo(optional, &inner));
      return "optional(" + TypeText(TypeInfoPtr(inner).get()) + ")";
    }
    case ONNX_TYPE_MAP: {
      const OrtMapTypeInfo* map = nullptr;
      ONNXTensorElementDataType key{};
      Check(Ort().CastTypeInfoToMapTypeInfo(info, &map));
      Check(Ort().GetMapKeyType(map, &key));
      Check(Ort().GetMapValueType(map, &inner));
      return std::string("map(") + ElementTypeName(key) + "," + TypeText(TypeInfoPtr(inner).get()) + ")";
    }
    default:
      return "unknown";
  }
}

namespace {

// A list of numbers, names of symbolic dimensions, and None for unknown ones; empty for other types and unknown ranks.
nb::object ShapeOf(const OrtTypeInfo* info) {
  nb::list shape;
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  Check(Ort().CastTypeInfoToTensorInfo(info, &tensor));
  if (tensor == nullptr) {  // an optional tensor has the tensor's shape
    const OrtOptionalTypeInfo* optional = nullptr;
    Check(Ort().CastTypeInfoToOptionalTypeInfo(info, &optional));
    if (optional == nullptr) return shape;
    OrtTypeInfo* inner = nullptr;
    Check(Ort().GetOptionalContainedTypeInfo(optional, &inner));
    const TypeInfoPtr owned(inner);
    return ShapeOf(inner);
  }
  std::size_t rank = 0;
  Check(Ort().GetDimensionsCount(tensor, &rank));
  std::vector<std::int64_t> dims(rank);
  std::vector<const char*> names(rank);
  Check(Ort().GetDimensions(tensor, dims.data(), rank));
  Check(Ort().GetSymbolicDimensions(tensor, names.data(), rank));
  for (std::size_t i = 0; i < rank; ++i) {
    if (dims[i] >= 0) {
      shape.append(nb::int_(dims[i]));
    } else if (names[i] != nullptr && *names[i] != '\0') {
      shape.append(ShownName(names[i]));
    } else {
      shape.append(nb::none());
    }
  }
  return shape;
}

using CountFn = OrtStatusPtr(ORT_API_CALL*)(const OrtSession*, std::size_t*);
using NameFn = OrtStatusPtr(ORT_API_CALL*)(const OrtSession*, std::size_t, OrtAllocator*, char**);
using InfoFn = OrtStatusPtr(ORT_API_CALL*)(const OrtSession*, std::size_t, OrtTypeInfo**);

std::vector<NodeArg> Ports(const OrtSession* session, CountFn count_of, NameFn name_of, InfoFn info_of) {
  std::size_t count = 0;
  Check(count_of(session, &count));
  std::vector<NodeArg> ports;
  for (std::size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    Check(name_of(session, i, DefaultAllocator(), &name));
    NodeArg port;
    port.name = TakeText(name);
    OrtTypeInfo* info = nullptr;
    Check(info_of(session, i, &info));
    const TypeInfoPtr owned(info);
    port.type = TypeText(info);
    port.shape = ShapeOf(info);
    ports.push_back(std::move(port));
  }
  return ports;
}

}  // namespace

Session::Session(const nb::object& model, OrtSessionOptions* options) {
  OrtSession* made = nullptr;
  if (nb::isinstance<nb::bytes>(model)) {
    const auto bytes = nb::borrow<nb::bytes>(model);
    const nb::gil_scoped_release release;
    Check(Ort().CreateSessionFromArray(Environment(), bytes.data(), bytes.size(), options, &made));
  } else if (nb::isinstance<PyModel>(model)) {
    SardonyxModel* edited = nb::cast<PyModel&>(model).get();
    const nb::gil_scoped_release release;
    Check(Own().CreateSessionFromLoadedModel(Environment(), edited, options, &made));
  } else {
    const std::string path = nb::cast<std::string>(nb::module_::import_("os").attr("fsdecode")(model));
    const nb::gil_scoped_release release;
    Check(Ort().CreateSession(Environment(), path.c_str(), options, &made));
  }
  session_ = SessionPtr(made);
  inputs_ = Ports(made, Ort().SessionGetInputCount, Ort().SessionGetInputName, Ort().SessionGetInputTypeInfo);
  outputs_ = Ports(made, Ort().SessionGetOutputCount, Ort().SessionGetOutputName, Ort().SessionGetOutputTypeInfo);
  overridable_ = Ports(made, Ort().SessionGetOverridableInitializerCount, Ort().SessionGetOverridableInitializerName,
                       Ort().SessionGetOverridableInitializerTypeInfo);
  for (const auto* ports : {&inputs_, &outputs_, &overridable_}) NoteBroken(*ports);
}

void Session::NoteBroken(const std::vector<NodeArg>& ports) {
  for (const NodeArg& port : ports)
    if (std::string shown = nb::cast<std::string>(ShownName(port.name)); shown != port.name)
      broken_names_.emplace_back(std::move(shown), port.name);
}

std::string Session::Spelling(const nb::handle& name) const {
  if (PyBytes_Check(name.ptr())) return nb::cast<nb::bytes>(name).c_str();  // which ONNX Runtime's package takes, too
  if (!PyUnicode_Check(name.ptr()))
    throw nb::type_error(
        ("expected a name as str, found '" + nb::cast<std::string>(nb::str(name.type().attr("__name__"))) + "'")
            .c_str());
  auto given = nb::cast<std::string>(name);
  for (const auto& [shown, spelt] : broken_names_)
    if (shown == given) return spelt;
  return given;
}

std::shared_ptr<OrtSession> Session::Hold() const {
  if (!session_) throw StatusError(ORT_FAIL, "the session is closed");
  return session_;
}

const std::string& Session::TypeOfInput(const std::string& name) const {
  static const std::string unknown;
  for (const auto* ports : {&inputs_, &overridable_})
    for (const NodeArg& port : *ports)
      if (port.name == name) return port.type;
  return unknown;
}

// None for an input that has an initializer, or for what is not an input at all, is as if it were not given.
bool Session::MayBeLeftOut(const std::string& name, const std::string& type) const {
  const auto is_it = [&](const NodeArg& port) { return port.name == name; };
  return type.empty() || std::any_of(overridable_.begin(), overridable_.end(), is_it);
}

// Ctrl-C on the main thread sets the terminate flag of the run. When the run has returned, Python raises
// KeyboardInterrupt.
std::vector<OrtValue*> Session::Call(const std::vector<std::string>& input_names,
                                     const std::vector<const OrtValue*>& values, const nb::list& output_names,
                                     OrtRunOptions* options) const {
  std::vector<const char*> names, wanted;
  std::vector<std::string> outputs;
  for (const nb::handle name : output_names) outputs.push_back(Spelling(name));
  for (const std::string& name : input_names) names.push_back(name.c_str());
  for (const std::string& name : outputs) wanted.push_back(name.c_str());
  std::vector<OrtValue*> made(wanted.size(), nullptr);
  const std::shared_ptr<OrtSession> session = Hold();
  RunOptionsPtr own;
  if (options == nullptr) {
    Check(Ort().CreateRunOptions(&options));
    own.reset(options);
  }
  OrtStatusPtr status = nullptr;
  {
    const InterruptGuard guard(options);
    const nb::gil_scoped_release release;
    status = Ort().Run(session.get(), options, names.data(), values.data(), values.size(), wanted.data(), wanted.size(),
                       made.data());
  }
  if (PyErr_CheckSignals() != 0) {
    if (!own) Check(Ort().RunOptionsUnsetTerminate(options));  // the caller's options can be used for the next run
    if (status != nullptr) Ort().ReleaseStatus(status);
    for (OrtValue* value : made) Ort().ReleaseValue(value);
    throw nb::python_error();
  }
  Check(status);
  return made;
}

void Session::Take(const nb::dict& feed, std::vector<HeldValue>& held, std::vector<std::string>& names,
                   std::vector<const OrtValue*>& values) const {
  for (const auto& [key, item] : feed) {
    names.push_back(Spelling(key));
    if (nb::isinstance<PyValue>(item)) {
      values.push_back(nb::cast<const PyValue&>(item).get());
      continue;
    }
    const std::string& type = TypeOfInput(names.back());
    if (item.is_none() && MayBeLeftOut(names.back(), type)) {
      names.pop_back();
      continue;
    }
    try {
      held.push_back(FromPython(item, type));
    } catch (const StatusError& error) {
      throw StatusError(error.code(), "input '" + names.back() + "': " + error.what());
    }
    values.push_back(held.back().value.get());
  }
}

nb::list Session::Run(const nb::list& output_names, const nb::dict& feed, OrtRunOptions* options) const {
  std::vector<HeldValue> held;
  std::vector<std::string> names;
  std::vector<const OrtValue*> values;
  Take(feed, held, names, values);
  std::vector<ValuePtr> owned;
  for (OrtValue* value : Call(names, values, output_names, options)) owned.emplace_back(value);
  nb::list results;
  for (ValuePtr& value : owned) results.append(ToPython(std::move(value)));
  return results;
}

std::string Session::CheckValues(const nb::dict& feed, OrtRunOptions* options) const {
  std::vector<HeldValue> held;
  std::vector<std::string> names;
  std::vector<const OrtValue*> values;
  Take(feed, held, names, values);
  std::vector<const char*> pointers;
  for (const std::string& name : names) pointers.push_back(name.c_str());
  const std::shared_ptr<OrtSession> session = Hold();
  char* json = nullptr;
  OrtStatusPtr status = nullptr;
  {
    const nb::gil_scoped_release release;
    status = Own().RunCheckValues(session.get(), options, pointers.data(), values.data(), values.size(),
                                  DefaultAllocator(), &json);
  }
  Check(status);
  return TakeText(json);
}

std::vector<PyValue> Session::RunWithValues(const nb::list& output_names, const nb::dict& feed,
                                            OrtRunOptions* options) const {
  std::vector<std::string> names;
  std::vector<const OrtValue*> values;
  for (const auto& [key, item] : feed) {
    names.push_back(Spelling(key));
    values.push_back(nb::cast<const PyValue&>(item).get());
  }
  std::vector<PyValue> results;
  for (OrtValue* value : Call(names, values, output_names, options)) results.emplace_back(ValuePtr(value), nb::none());
  return results;
}

}  // namespace sardonyx::python
