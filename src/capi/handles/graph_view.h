// capi/handles/graph_view.h - OrtGraph, OrtNode and OrtValueInfo: a graph as the C interface shows it.
//
// A view is a table of names and links, made whole by ViewGraph so that any number of threads may read it. It points to
// attributes and weights of the graph that it shows, which has to stay as it is for as long as the view lives. The
// model editor makes the same handles one by one (capi/graph).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capi/handles/kind.h"
#include "capi/handles/model_metadata.h"
#include "capi/handles/type_info.h"
#include "ir/graph.h"
#include "onnxruntime_c_api.h"
#include "tensor/value.h"

struct OrtExternalInitializerInfo {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kExternalInitializerInfo> mark;
  std::string path;  // relative to the model's folder, as far as it can be
  std::int64_t offset = 0;
  std::size_t size = 0;
};

struct OrtValueInfo {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kValueInfo> mark;
  struct Consumer {
    OrtNode* node;
    std::int64_t input;  // -1: one of the node's subgraphs reads it
  };

  std::string name;
  std::unique_ptr<OrtTypeInfo> type;  // null if not known
  const OrtGraph* graph = nullptr;    // null: not in a graph yet
  OrtNode* producer = nullptr;        // null: none in this graph
  std::size_t producer_output = 0;
  std::vector<Consumer> consumers;  // of this graph
  sardonyx::Value initializer;      // nothing if it is none
  std::optional<OrtExternalInitializerInfo> external;
  bool is_required_input = false;
  bool is_optional_input = false;  // an initializer that the caller may override
  bool is_output = false;
  bool is_constant = false;    // an initializer that nobody may override
  bool is_from_outer = false;  // a value of an enclosing graph
};

struct OrtNode {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kNode> mark;
  // Defaults of the schema included; null if there is none.
  const sardonyx::Attribute* FindAttribute(std::string_view attribute) const;

  std::size_t id = 0;
  std::string name, op_type, domain, provider;  // provider: "" until a provider has claimed the node
  int since_version = 0;
  std::vector<OrtValueInfo*> inputs, outputs;  // NULL where an optional one is missing
  std::vector<OrtValueInfo*> implicit_inputs;
  std::vector<const sardonyx::Attribute*> attributes;
  std::deque<sardonyx::Attribute> own_attributes;  // of `attributes`, what no node of the IR has
  std::vector<std::unique_ptr<OrtGraph>> subgraphs;
  std::vector<const char*> subgraph_attributes;  // the name of the attribute that holds each subgraph
  const OrtGraph* graph = nullptr;               // null: not in a graph yet
  std::deque<OrtValueInfo> own_values;           // of a node that is not in a graph yet: what it reads and makes
};

namespace sardonyx::capi {

// What a graph's handle says of the model that the graph is part of.
struct ModelFacts {
  std::string path;  // "" if it came from memory
  std::int64_t ir_version = 0;
  OrtModelMetadata metadata;
  std::vector<OpsetImport> opsets;
};
std::shared_ptr<const ModelFacts> FactsOf(const Model& model);

}  // namespace sardonyx::capi

struct OrtGraph {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kGraph> mark;
  OrtValueInfo* Find(std::string_view value) const;  // null if there is none

  std::string name;
  std::shared_ptr<const sardonyx::capi::ModelFacts> facts;
  std::vector<sardonyx::OpsetImport> opsets;
  std::vector<OrtValueInfo*> inputs, outputs;  // inputs with those that have a default
  std::vector<OrtValueInfo*> initializers;
  std::vector<OrtNode*> nodes;  // in topological order
  const OrtNode* parent = nullptr;
  std::unique_ptr<OrtNode> own_parent;      // of a body that is shown alone; it is in no graph
  const sardonyx::Graph* source = nullptr;  // null: made by the model editor
  bool in_model = false;                    // an OrtModel owns it
  bool in_node = false;                     // an OrtNode owns it

  std::vector<std::unique_ptr<OrtNode>> own_nodes;
  std::vector<std::unique_ptr<OrtValueInfo>> own_values;
  std::unordered_map<std::string_view, OrtValueInfo*> by_name;
  std::vector<std::unique_ptr<sardonyx::Value>> own_tensors;  // the handles of initializers that the editor was given
};

namespace sardonyx::capi {

// Where an initializer's data lie if they have a file of their own. `model_path`: "" if the model came from memory.
std::optional<OrtExternalInitializerInfo> ExternalInfoOf(const Initializer& initializer, const std::string& model_path);

// Shows `graph` and the subgraphs inside it. Nodes are numbered by NodeId, and stand in the order of ShownOrder.
// Domains that the model does not import have the version that ONNX Runtime gives them. `parent`: if the graph is the
// body of a node, that node in a view of the enclosing graph, which has to outlive this one; without it values of the
// enclosing graph are known by name and type, and as constants if inference has shown them to the body.
std::unique_ptr<OrtGraph> ViewGraph(const Graph& graph, std::shared_ptr<const ModelFacts> facts,
                                    const OrtNode* parent = nullptr);

// Shows a body of the node `parent` of `outer`, and with it that node: what it reads and makes, its attributes and
// bodies, but not the graph that it is in.
std::unique_ptr<OrtGraph> ViewBody(const Graph& body, const Graph& outer, NodeId parent,
                                   std::shared_ptr<const ModelFacts> facts);

// Shows these nodes alone, as a graph named "sub_graph". Its inputs are what they read and do not make, but for
// constants; its outputs are what nodes elsewhere read and what `graph` has as outputs; both in the order of `nodes`,
// but that an input of `graph` is moved to its place there. The view's nodes stand in topological order and keep their
// numbers.
std::unique_ptr<OrtGraph> ViewNodes(const Graph& graph, std::span<const NodeId> nodes,
                                    std::shared_ptr<const ModelFacts> facts, const OrtNode* parent = nullptr);

}  // namespace sardonyx::capi
