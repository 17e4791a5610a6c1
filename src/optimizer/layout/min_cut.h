// optimizer/layout/min_cut.h - the cheapest way to split a network in two.
#pragma once

#include <cstddef>
#include <vector>

namespace sardonyx::optimizer {

// Nodes on the source's side or the sink's; every edge that leads from the source's side to the sink's costs its
// capacity. Dinic's algorithm (1970): few rounds in networks as flat as a graph of operators.
class MinCut {
 public:
  static constexpr int kSource = 0, kSink = 1;
  static constexpr double kForbidden = 1e18;  // the capacity of an edge that may not be cut

  MinCut() : first_(2, kNone) {}
  int AddNode();
  void AddEdge(int from, int to, double capacity);
  // By node: true if it is on the sink's side of the cheapest cut; of several, the one with the fewest nodes there.
  std::vector<char> Solve();

 private:
  static constexpr int kNone = -1;
  struct Edge {
    int to, next;
    double rest;  // capacity left
  };
  bool FindLevels();
  bool PushOnce();

  std::vector<Edge> edges_;  // edge i and its reverse i ^ 1
  std::vector<int> first_;   // by node: its first edge
  std::vector<int> level_, at_;
};

}  // namespace sardonyx::optimizer
