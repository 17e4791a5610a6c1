// optimizer/rules/changes.h - what a pass did to a graph, rewrite by rewrite, found by comparing the graph before and
// after.
//
// Passes need not report what they do, so none can forget to: every node that is gone, new or different is found here.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "optimizer/rules/explanation.h"

namespace sardonyx::optimizer {

class Changes {
 public:
  // Remembers the graph, its bodies included.
  explicit Changes(const Graph& graph);
  ~Changes();
  // Tells `explanation` what became of each node since then. Returns the nodes that are gone or changed, as Describe
  // names them.
  std::set<std::string> Tell(const Graph& graph, Explanation& explanation) const;

 private:
  struct Before;
  std::unique_ptr<Before> before_;
};

}  // namespace sardonyx::optimizer
