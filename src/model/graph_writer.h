// model/graph_writer.h - writes graphs, functions, types and tensors as protobuf messages.
#pragma once

#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>

#include "ir/graph.h"
#include "model/external_sink.h"
#include "model/save.h"

namespace sardonyx::model {

using Writer = protozero::pbf_writer;

class GraphWriter {
 public:
  // `out` is the string that all writers append to, watched for ONNX's limit of 2 GB. `sink` and `as_numbers` may be
  // null.
  GraphWriter(const std::string& out, ExternalSink* sink, std::int64_t ir_version,
              const NamesAsNumbers* as_numbers = nullptr)
      : out_(out), sink_(sink), ir_version_(ir_version), as_numbers_(as_numbers) {}

  void WriteGraph(Writer graph, const Graph& from, bool is_main);
  void WriteFunction(Writer function, const Function& from);
  void WriteTensor(Writer tensor, const Tensor& from, std::string_view name);

 private:
  void WriteInitializers(Writer& graph, const Graph& from);
  void WriteInitializer(Writer& graph, const ValueInfo& value);
  void WriteData(Writer& tensor, const Tensor& from);
  void WriteSparse(Writer sparse, const SparseTensor& from, std::string_view name);
  void WriteNode(Writer node, const Graph& graph, const Node& from);
  void WriteAttribute(Writer attribute, const Attribute& from);
  void WriteValue(Writer& attribute, const AttributeValue& value);
  void WriteConstants(Writer& function, const Graph& from);
  void CheckRoom(std::size_t more) const;

  const std::string& out_;
  ExternalSink* sink_;
  std::int64_t ir_version_;
  const NamesAsNumbers* as_numbers_;
};

// `from` as field `tag` of `parent`, a TypeProto.
void WriteType(Writer& parent, std::uint32_t tag, const Type& from);
// ValueInfoProto
void WriteValueInfo(Writer info, const ValueInfo& from);
template <typename Entries>
void WriteEntries(Writer& message, std::uint32_t tag, const Entries& entries) {
  for (const auto& [key, value] : entries) {
    Writer entry(message, tag);
    entry.add_string(1, key);
    entry.add_string(2, value);
  }
}
void WriteOpsetImports(Writer& message, std::uint32_t tag, const std::vector<OpsetImport>& imports);
// Nothing for an empty text.
void WriteText(Writer& message, std::uint32_t tag, std::string_view text);

}  // namespace sardonyx::model
