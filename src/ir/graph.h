// ir/graph.h - a model as data: graphs of nodes over values. Ids never change and are never reused; erased nodes leave
// holes. All edits go through Graph's functions, which keep producers, consumers and names consistent.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "ir/type.h"
#include "tensor/value.h"

namespace sardonyx {

using NodeId = std::uint32_t;
using ValueId = std::uint32_t;
inline constexpr NodeId kNoNode = 0xffffffff;
inline constexpr ValueId kNoValue = 0xffffffff;  // a missing optional input or output

struct Graph;

// Owns a graph as a value: copying copies the graph.
class GraphBox {
 public:
  GraphBox();
  explicit GraphBox(Graph graph);
  GraphBox(const GraphBox& other);
  GraphBox(GraphBox&& other) noexcept;
  GraphBox& operator=(const GraphBox& other);
  GraphBox& operator=(GraphBox&& other) noexcept;
  ~GraphBox();
  Graph& operator*() { return *graph_; }
  const Graph& operator*() const { return *graph_; }
  Graph* operator->() { return graph_.get(); }
  const Graph* operator->() const { return graph_.get(); }

 private:
  std::unique_ptr<Graph> graph_;
};

// The value of an attribute in a function's body that stands for attribute `name` of the function's call.
struct AttributeReference {
  std::string name;
  int type = 0;  // AttributeProto.AttributeType
};

using AttributeValue =
    std::variant<std::monostate, float, std::int64_t, std::string, Tensor, GraphBox, std::vector<float>,
                 std::vector<std::int64_t>, std::vector<std::string>, std::vector<Tensor>, std::vector<GraphBox>,
                 SparseTensor, std::vector<SparseTensor>, Type, std::vector<Type>, AttributeReference>;

struct Attribute {
  std::string name;
  AttributeValue value;
};

// AttributeProto.AttributeType of a value (FLOAT = 1 ... TYPE_PROTOS = 14), and its name ("float", "ints", "graph").
int AttributeTypeOf(const AttributeValue& value);
std::string_view AttributeTypeName(int type);

struct Node {
  NodeId id = kNoNode;
  bool erased = false;
  std::string name;
  std::string domain;  // "" is ai.onnx
  std::string op_type;
  std::string overload;
  int since_version = 0;        // of its schema; 0 until ops::ResolveVersions, and for unknown operators
  std::vector<ValueId> inputs;  // kNoValue where an optional one is missing
  std::vector<ValueId> outputs;
  std::vector<ValueId> implicit_inputs;  // values of this graph that the node's subgraphs capture
  std::vector<Attribute> attributes;
  std::string provider;       // "" until partitioned
  std::string provider_note;  // why other providers did not take it
  std::string doc;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::size_t order_hint = 0;  // for Graph: the node's place in `order` is at most this

  const AttributeValue* FindAttribute(std::string_view attribute) const;
  AttributeValue* FindAttribute(std::string_view attribute);
  void SetAttribute(std::string_view attribute, AttributeValue value);
  bool RemoveAttribute(std::string_view attribute);
  // Every subgraph of the node: its graph attributes in order.
  std::vector<Graph*> Subgraphs();
  std::vector<const Graph*> Subgraphs() const;
};

// Data that comes with the model. Shared: graphs that are copies of each other hold the same bytes.
struct Initializer {
  enum class Kind : std::uint8_t { kConstant, kInputDefault, kVariable };  // only constants are folded or packed
  Tensor tensor;
  std::optional<SparseTensor> sparse;  // as the author wrote it; `tensor` holds the dense form
  Kind kind = Kind::kConstant;
  std::string file;  // external data: the path as resolved, "" if inline
  std::uint64_t offset = 0, length = 0;
};

struct ValueInfo {
  std::string name;
  Type type;
  std::shared_ptr<const Initializer> initializer;
  NodeId producer = kNoNode;      // kNoNode: graph input, initializer or captured
  std::vector<NodeId> consumers;  // once for each use, implicit ones included; graph outputs do not count
  bool is_input = false, is_output = false;
  bool is_captured = false;                    // stands for a value of the enclosing graph
  std::optional<std::vector<Dim>> shape_data;  // elements of a small integer tensor, as far as inference knows them
  Device device;                               // where it lies in a run (planner/place_copies.h)
  // Of a tensor's dimensions, one for each; empty if no dimension has one.
  std::vector<std::string> dim_denotations;  // "DATA_BATCH", ""
  std::vector<std::string> dim_params;       // symbols word for word as in the file; `type` has them as expressions
  std::string doc;
  std::vector<std::pair<std::string, std::string>> metadata;

  // The constant contents, or nullptr (not an initializer, or one that the caller may override).
  const Tensor* constant() const {
    return initializer && initializer->kind == Initializer::Kind::kConstant ? &initializer->tensor : nullptr;
  }
};

struct Capture {
  ValueId inner;  // in the subgraph
  ValueId outer;  // in the graph that holds the node
};

struct OpsetImport {
  std::string domain;  // "" is ai.onnx
  std::int64_t version;
};

struct Graph {
  std::string name, doc;
  std::deque<Node> nodes;        // by NodeId, with holes (erased)
  std::deque<ValueInfo> values;  // by ValueId
  std::vector<NodeId> order;     // nodes that are not erased, topologically sorted
  std::vector<ValueId> inputs, outputs;
  std::vector<Capture> captures;           // of a subgraph
  std::vector<OpsetImport> opset_imports;  // of the model (copied into every graph of it) or of the function
  std::vector<std::pair<std::string, std::string>> metadata;

  // A new value; an empty name gets a fresh one. Fails with kInvalidGraph if the name is taken.
  ValueId AddValue(std::string_view name, Type type = {});
  ValueId AddInput(std::string_view name, Type type);
  void AddOutput(ValueId value);
  ValueId AddConstant(std::string_view name, Tensor tensor);  // name is a prefix: made unique
  void SetInitializer(ValueId value, std::shared_ptr<const Initializer> initializer);
  std::optional<ValueId> Find(std::string_view name) const;
  std::string FreshName(std::string_view prefix) const;
  void Rename(ValueId value, std::string_view name);

  // A value that stands for the enclosing graph's value of this name; returns the existing id if there is one already.
  ValueId AddCaptured(std::string_view name);
  // Adds the node at the end of the order and links it. `node.outputs` must have no producer yet. What the node's
  // subgraphs capture is looked up here by name; a name that is not known becomes captured by this graph in turn, so
  // that subgraphs are built from the inside out. (In a main graph such a capture is an error that Verify reports.)
  NodeId AddNode(Node node);
  // Adds a node with one output and returns the output's id. The node's name is derived from the output's.
  ValueId AddNode(std::string_view domain, std::string_view op_type, std::vector<ValueId> inputs,
                  std::vector<Attribute> attributes, Type output_type = {}, std::string_view output_name = "");
  void EraseNode(NodeId node);                         // its outputs lose their producer
  void EraseNodes(const std::vector<NodeId>& erased);  // the same, in one pass over the order
  void SetInput(NodeId node, std::size_t index, ValueId value);
  // Every use of `from` reads `to` instead: in nodes, in implicit inputs (captures included). Graph outputs stay.
  void ReplaceUses(ValueId from, ValueId to);
  // Makes `value` (a graph output or an inner value) output `index` of `node`. The node that produced it loses it.
  void MoveOutput(NodeId node, std::size_t index, ValueId value);
  // Recomputes implicit_inputs, captures and consumers of a node after its subgraphs changed.
  void RefreshCaptures(NodeId node);
  // Sorts `order` (stable). Fails with kInvalidGraph naming the nodes of a cycle.
  void SortTopologically();
  std::size_t UseCount(ValueId value) const;                 // consumers plus one if it is a graph output
  std::int64_t OpsetVersion(std::string_view domain) const;  // 0 if not imported

  const Node& node(NodeId id) const { return nodes[id]; }
  Node& node(NodeId id) { return nodes[id]; }
  const ValueInfo& value(ValueId id) const { return values[id]; }
  ValueInfo& value(ValueId id) { return values[id]; }

 private:
  std::unordered_map<std::string, ValueId> by_name_;
  mutable std::uint32_t fresh_ = 0;
};

struct Function {
  std::string domain, name, overload, doc;
  std::vector<std::string> attributes;  // without a default
  std::vector<Attribute> attribute_defaults;
  Graph body;  // inputs and outputs in order, types unknown; opset_imports are the function's own
  std::vector<std::pair<std::string, std::string>> metadata;
};

// A model as read from a file or from bytes, or made by the model editor. Immutable once loaded; shared by the sessions
// built from it.
struct Model {
  std::int64_t ir_version = 0;
  std::string producer_name, producer_version, domain, doc;
  std::int64_t model_version = 0;
  std::vector<OpsetImport> opset_imports;
  std::vector<std::pair<std::string, std::string>> metadata;
  Graph graph;
  std::vector<Function> functions;
  std::string path;  // "" if it came from memory

  const Function* FindFunction(std::string_view domain, std::string_view name, std::string_view overload) const;
};

// "node 'name' (Op)" or, for a node without a name, "node #7 (Op, output 'y')": how error messages name a node.
std::string Describe(const Graph& graph, const Node& node);
// The candidate closest to `name` in edit distance if it is close enough to suggest, else "".
std::string ClosestName(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace sardonyx
