// optimizer/layout/min_cut.cpp - Dinic's algorithm without recursion: levels by breadth-first search, then blocking
// flows.
#include "optimizer/layout/min_cut.h"

#include <algorithm>

namespace sardonyx::optimizer {

int MinCut::AddNode() {
  first_.push_back(kNone);
  return static_cast<int>(first_.size()) - 1;
}

void MinCut::AddEdge(int from, int to, double capacity) {
  if (from == to || capacity <= 0) return;
  const auto add = [&](int a, int b, double rest) {
    edges_.push_back({b, first_[static_cast<std::size_t>(a)], rest});
    first_[static_cast<std::size_t>(a)] = static_cast<int>(edges_.size()) - 1;
  };
  add(from, to, capacity);
  add(to, from, 0);
}

bool MinCut::FindLevels() {
  level_.assign(first_.size(), kNone);
  std::vector<int> queue = {kSource};
  level_[kSource] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const auto node = static_cast<std::size_t>(queue[i]);
    for (int e = first_[node]; e != kNone; e = edges_[static_cast<std::size_t>(e)].next) {
      const Edge& edge = edges_[static_cast<std::size_t>(e)];
      if (edge.rest <= 0 || level_[static_cast<std::size_t>(edge.to)] != kNone) continue;
      level_[static_cast<std::size_t>(edge.to)] = level_[node] + 1;
      queue.push_back(edge.to);
    }
  }
  return level_[kSink] != kNone;
}

// Sends flow along one path of rising levels; false if there is none left. Dead ends are left for good (`at_`).
bool MinCut::PushOnce() {
  std::vector<int> path;  // edges
  int node = kSource;
  while (node != kSink) {
    int& e = at_[static_cast<std::size_t>(node)];
    const auto leads_on = [&](const Edge& edge) {
      return edge.rest > 0 && level_[static_cast<std::size_t>(edge.to)] == level_[static_cast<std::size_t>(node)] + 1;
    };
    while (e != kNone && !leads_on(edges_[static_cast<std::size_t>(e)])) e = edges_[static_cast<std::size_t>(e)].next;
    if (e != kNone) {
      path.push_back(e);
      node = edges_[static_cast<std::size_t>(e)].to;
    } else {
      if (path.empty()) return false;
      level_[static_cast<std::size_t>(node)] = kNone;
      node = edges_[static_cast<std::size_t>(path.back() ^ 1)].to;
      path.pop_back();
    }
  }
  double flow = kForbidden;
  for (const int e : path) flow = std::min(flow, edges_[static_cast<std::size_t>(e)].rest);
  for (const int e : path) {
    edges_[static_cast<std::size_t>(e)].rest -= flow;
    edges_[static_cast<std::size_t>(e ^ 1)].rest += flow;
  }
  return true;
}

std::vector<char> MinCut::Solve() {
  while (FindLevels()) {
    at_ = first_;
    while (PushOnce()) {
    }
  }
  // What can still reach the sink must be on its side; all others may stay with the source.
  std::vector<char> reaches(first_.size(), 0);
  std::vector<int> queue = {kSink};
  reaches[kSink] = 1;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (int e = first_[static_cast<std::size_t>(queue[i])]; e != kNone; e = edges_[static_cast<std::size_t>(e)].next) {
      const auto before = static_cast<std::size_t>(edges_[static_cast<std::size_t>(e)].to);
      if (reaches[before] || edges_[static_cast<std::size_t>(e ^ 1)].rest <= 0) continue;
      reaches[before] = 1;
      queue.push_back(static_cast<int>(before));
    }
  }
  return reaches;
}

}  // namespace sardonyx::optimizer
