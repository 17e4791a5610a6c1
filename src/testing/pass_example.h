// testing/pass_example.h - two graphs of every pass, which the tests that cover all passes need. A pass has them in its
// own test:
//
//   const testing::PassExample kExample("fuse_x", {.changed = "g (...", .left = "g (...", .reasons = {"node", "why"}});
//
// switches_test.cpp and explanation_test.cpp run them, and fail for a pass that has none.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sardonyx::testing {

struct PassGraphs {
  std::string changed;               // the pass alone does something to it
  std::string left;                  // it nearly would
  std::vector<std::string> reasons;  // words of the explanation why not: the node and the reason
};

inline std::map<std::string, PassGraphs>& PassExamples() {
  static std::map<std::string, PassGraphs> all;
  return all;
}

struct PassExample {
  PassExample(const std::string& pass, PassGraphs graphs) { PassExamples().emplace(pass, std::move(graphs)); }
};

}  // namespace sardonyx::testing
