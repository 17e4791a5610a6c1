// model/test_messages.h - builds ONNX messages field by field for tests, so that invalid ones can be made as well as
// valid ones.
#pragma once

#include <filesystem>
#include <fstream>
#include <protozero/pbf_writer.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/load.h"
#include "model/onnx_fields.h"

namespace sardonyx::model::messages {

using Writer = protozero::pbf_writer;
using Strings = std::vector<std::string>;
using Entries = std::vector<std::pair<std::string, std::string>>;

template <typename F>
std::string Fields(F&& fill) {
  std::string bytes;
  Writer writer(bytes);
  fill(writer);
  return bytes;
}

template <typename T>
std::string Raw(std::initializer_list<T> values) {
  return {static_cast<const char*>(static_cast<const void*>(values.begin())), values.size() * sizeof(T)};
}

inline std::string EntryProto(const std::string& key, const std::string& value) {
  return Fields([&](Writer& w) {
    w.add_string(1, key);
    w.add_string(2, value);
  });
}

// A TensorProto without data; `fill` adds it.
template <typename F>
std::string TensorWith(const std::string& name, int dtype, const std::vector<std::int64_t>& dims, F&& fill) {
  return Fields([&](Writer& w) {
    w.add_packed_int64(TensorField::kDims, dims.begin(), dims.end());
    w.add_int32(TensorField::kDataType, dtype);
    w.add_string(TensorField::kName, name);
    fill(w);
  });
}

inline std::string TensorProto(const std::string& name, DType dtype, const std::vector<std::int64_t>& dims,
                               const std::string& raw) {
  return TensorWith(name, static_cast<int>(dtype), dims, [&](Writer& w) { w.add_bytes(TensorField::kRawData, raw); });
}

inline std::string ExternalTensor(const std::string& name, DType dtype, const std::vector<std::int64_t>& dims,
                                  const Entries& entries) {
  return TensorWith(name, static_cast<int>(dtype), dims, [&](Writer& w) {
    for (const auto& [key, value] : entries) w.add_message(TensorField::kExternalData, EntryProto(key, value));
    w.add_int32(TensorField::kDataLocation, 1);
  });
}

inline std::string SparseProto(const std::string& values, const std::string& indices,
                               const std::vector<std::int64_t>& dims) {
  return Fields([&](Writer& w) {
    w.add_message(SparseTensorField::kValues, values);
    w.add_message(SparseTensorField::kIndices, indices);
    for (const std::int64_t dim : dims) w.add_int64(SparseTensorField::kDims, dim);
  });
}

// dims: a number, or text for a symbol.
inline std::string TensorType(int dtype, const Strings& dims) {
  return Fields([&](Writer& w) {
    w.add_message(TypeField::kTensor, Fields([&](Writer& t) {
                    t.add_int32(TypeField::kElemType, dtype);
                    t.add_message(TypeField::kShape, Fields([&](Writer& s) {
                                    for (const std::string& dim : dims)
                                      s.add_message(TypeField::kDim, Fields([&](Writer& d) {
                                                      const bool number =
                                                          dim.find_first_not_of("-0123456789") == dim.npos;
                                                      if (dim.empty()) return;
                                                      if (number) d.add_int64(TypeField::kDimValue, std::stoll(dim));
                                                      if (!number) d.add_string(TypeField::kDimParam, dim);
                                                    }));
                                  }));
                  }));
  });
}

inline std::string ValueProto(const std::string& name, const std::string& type) {
  return Fields([&](Writer& w) {
    w.add_string(ValueInfoField::kName, name);
    if (!type.empty()) w.add_message(ValueInfoField::kType, type);
  });
}
inline std::string Floats(const std::string& name, const Strings& dims) {
  return ValueProto(name, TensorType(1, dims));
}

// An AttributeProto of `type` (0: left out) with the field that `fill` adds.
template <typename F>
std::string AttributeWith(const std::string& name, int type, F&& fill) {
  return Fields([&](Writer& w) {
    w.add_string(AttributeField::kName, name);
    if (type != 0) w.add_int32(AttributeField::kType, type);
    fill(w);
  });
}
inline std::string GraphAttribute(const std::string& name, const std::string& graph) {
  return AttributeWith(name, kAttrGraph, [&](Writer& w) { w.add_message(AttributeField::kG, graph); });
}

inline std::string NodeProto(const std::string& op, const Strings& inputs, const Strings& outputs,
                             const Strings& attributes = {}, const std::string& name = "",
                             const std::string& domain = "") {
  return Fields([&](Writer& w) {
    for (const std::string& input : inputs) w.add_string(NodeField::kInput, input);
    for (const std::string& output : outputs) w.add_string(NodeField::kOutput, output);
    if (!name.empty()) w.add_string(NodeField::kName, name);
    w.add_string(NodeField::kOpType, op);
    for (const std::string& attribute : attributes) w.add_message(NodeField::kAttribute, attribute);
    if (!domain.empty()) w.add_string(NodeField::kDomain, domain);
  });
}

struct Parts {
  Strings nodes = {}, inputs = {}, outputs = {}, initializers = {}, sparse = {}, value_infos = {};
};
inline std::string GraphProto(const Parts& parts, const std::string& name = "g") {
  return Fields([&](Writer& w) {
    for (const std::string& m : parts.nodes) w.add_message(GraphField::kNode, m);
    w.add_string(GraphField::kName, name);
    for (const std::string& m : parts.initializers) w.add_message(GraphField::kInitializer, m);
    for (const std::string& m : parts.sparse) w.add_message(GraphField::kSparseInitializer, m);
    for (const std::string& m : parts.inputs) w.add_message(GraphField::kInput, m);
    for (const std::string& m : parts.outputs) w.add_message(GraphField::kOutput, m);
    for (const std::string& m : parts.value_infos) w.add_message(GraphField::kValueInfo, m);
  });
}

inline std::string OpsetProto(const std::string& domain, std::int64_t version) {
  return Fields([&](Writer& w) {
    w.add_string(EntryField::kDomain, domain);
    w.add_int64(EntryField::kVersion, version);
  });
}

// A FunctionProto of domain "my".
inline std::string FunctionProto(const std::string& name, const Strings& inputs, const Strings& outputs,
                                 const Strings& nodes, const Strings& attributes = {}) {
  return Fields([&](Writer& w) {
    w.add_string(FunctionField::kName, name);
    for (const std::string& input : inputs) w.add_string(FunctionField::kInput, input);
    for (const std::string& output : outputs) w.add_string(FunctionField::kOutput, output);
    for (const std::string& attribute : attributes) w.add_string(FunctionField::kAttribute, attribute);
    for (const std::string& node : nodes) w.add_message(FunctionField::kNode, node);
    w.add_message(FunctionField::kOpsetImport, OpsetProto("", 18));
    w.add_string(FunctionField::kDomain, "my");
  });
}

inline std::string ModelProto(const std::string& graph, std::int64_t ir_version = 10, const Strings& functions = {}) {
  return Fields([&](Writer& w) {
    w.add_int64(ModelField::kIrVersion, ir_version);
    w.add_message(ModelField::kOpsetImport, OpsetProto("", 21));
    w.add_message(ModelField::kOpsetImport, OpsetProto("my", 1));
    w.add_message(ModelField::kGraph, graph);
    for (const std::string& function : functions) w.add_message(ModelField::kFunctions, function);
  });
}

inline Model Load(const std::string& bytes, const LoadOptions& options = {}) {
  return LoadBytes(std::as_bytes(std::span(bytes)), nullptr, options);
}

// "code: message" of the Error that f throws; "" if it throws none.
template <typename F>
std::string ErrorOf(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code())) + ": " + error.what();
  }
  return "";
}
inline std::string LoadError(const std::string& bytes) {
  return ErrorOf([&] { Load(bytes); });
}

// A folder that is gone after the test.
class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(std::filesystem::temp_directory_path() / ("sdx-" + std::to_string(std::random_device()()))) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace sardonyx::model::messages
