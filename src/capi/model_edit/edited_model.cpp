// capi/model_edit/edited_model.cpp - the numbers of a model's graphs, and what bodies read of the graphs around them.
#include "capi/model_edit/edited_model.h"

#include <utility>

#include "ir/verify.h"

using sardonyx::Attribute;
using sardonyx::Graph;
using sardonyx::GraphBox;
using sardonyx::NodeId;

SardonyxModel::SardonyxModel(sardonyx::Model loaded) : model(std::move(loaded)) { NumberGraphs(); }

void SardonyxModel::NumberGraphs() {
  graphs.clear();
  graphs.push_back({&model.graph, 0, sardonyx::kNoNode, ""});
  for (const NodeId id : model.graph.order) NumberBodies(0, id);
}

void SardonyxModel::NumberBodies(std::size_t graph, NodeId node) {
  for (Attribute& attribute : graphs[graph].graph->node(node).attributes) {
    std::vector<Graph*> bodies;
    if (auto* one = std::get_if<GraphBox>(&attribute.value)) bodies.push_back(&**one);
    if (auto* several = std::get_if<std::vector<GraphBox>>(&attribute.value))
      for (GraphBox& body : *several) bodies.push_back(&*body);
    for (Graph* body : bodies) {
      const std::size_t number = graphs.size();
      graphs.push_back({body, graph, node, attribute.name});
      for (const NodeId inner : body->order) NumberBodies(number, inner);
    }
  }
}

void SardonyxModel::DropBodies(std::size_t graph, NodeId node) {
  for (std::size_t number = 1; number < graphs.size(); ++number) {
    Place& place = graphs[number];
    if (place.graph == nullptr || place.parent != graph || place.node != node) continue;
    for (const NodeId inner : place.graph->order) DropBodies(number, inner);
    place.graph = nullptr;
  }
}

void SardonyxModel::RefreshCaptures(std::size_t graph) {
  for (; graph != 0; graph = graphs[graph].parent)
    graphs[graphs[graph].parent].graph->RefreshCaptures(graphs[graph].node);
}

void SardonyxModel::Finish() {
  for (Place& place : graphs)
    if (place.graph != nullptr) place.graph->SortTopologically();
  Verify(model.graph);
}
