// model/graph_reader.h - converts GraphProto and FunctionProto to Graph: values, nodes, subgraphs and what they
// capture.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "model/tensor_reader.h"
#include "model/wire.h"

namespace sardonyx::model {

// Reads one graph. All values exist before the first node is read, so nodes may come in any order; they are sorted
// then.
class GraphReader {
 public:
  // `outer` reads the graph that holds the node whose subgraph this is; null for a model's graph or a function's body.
  explicit GraphReader(LoadContext& context, const GraphReader* outer = nullptr) : context_(context), outer_(outer) {}

  // Both fail with kInvalidGraph where names are not defined, defined twice, or nodes form a cycle.
  Graph ReadGraph(const Message& message);
  Function ReadFunction(const Message& message);
  LoadContext& context() const { return context_; }

 private:
  void ReadHead(const Message& message);
  void ReadInitializers(const Message& message);
  void AddInitializer(NamedInitializer&& initializer, const Message& message);
  void AddNodeOutputs(const Message& message, std::uint32_t node_field);
  void ReadTypes(const Message& message, std::uint32_t value_info_field);
  void ReadOutputs(const Message& message);
  void ReadNodes(const Message& message, std::uint32_t node_field);
  Node ReadNode(Message message);
  Attribute ReadAttribute(Message message) const;
  void AddInput(const Message& message, const std::string& name, Type type);
  void AddOutput(const Message& message, const std::string& name);
  // Fails with `undefined` where nothing has this name; ONNX Runtime has one code for inputs, another for outputs.
  ValueId Resolve(const std::string& name, const Message& message, Code undefined = Code::kInvalidArgument);
  const ValueInfo* FindOuter(const std::string& name) const;
  [[noreturn]] void FailUndefined(const std::string& name, const Message& message, Code code) const;

  LoadContext& context_;
  const GraphReader* outer_;
  Graph graph_;
};

// OperatorSetIdProto; domain "ai.onnx" becomes "".
OpsetImport ReadOpsetImport(Message message);
// Adds `import` to `imports`. Fails with kInvalidGraph if its domain is there with another version.
void AddOpsetImport(std::vector<OpsetImport>& imports, OpsetImport import, const Message& message);

}  // namespace sardonyx::model
