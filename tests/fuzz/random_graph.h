// tests/fuzz/random_graph.h - a valid graph and inputs for it, from the bytes of a fuzzer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/byte_source.h"
#include "ir/graph.h"
#include "ops/registry.h"

namespace sardonyx::fuzz {

struct RandomGraph {
  std::shared_ptr<Model> model;
  std::vector<std::pair<std::string, Value>> inputs;
  std::vector<std::string> outputs;
  std::vector<Value> results;  // of the outputs, computed node by node
  std::uint32_t seed = 0;      // for choices beyond the graph
  bool discontinuous = false;  // a node's result may jump where its input moves a little
};

// Nodes that fit nothing the graph has so far are left out, so that all bytes make a graph; it may have no nodes.
RandomGraph MakeRandomGraph(ByteSource bytes, const ops::Registry& registry);

}  // namespace sardonyx::fuzz
