// optimizer/rules/explanation.h - what passes did and why they left nodes alone, collected for a person to read.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sardonyx::optimizer {

class Explanation {
 public:
  // Explains one pass, with a line for every rewrite and every candidate; or all passes ("*"), with equal rewrites of
  // the same operators in one line, and nodes that were left alone only if a pattern nearly matched, equal reasons
  // counted.
  explicit Explanation(std::string pass = "*") : wanted_(std::move(pass)) {}
  const std::string& pass() const { return wanted_; }
  bool Wants(std::string_view pass) const { return wanted_ == "*" || wanted_ == pass; }

  // The calls that follow are about this pass, which may run several times.
  void Begin(std::string_view pass);
  void NotRun(std::string_view pass, std::string_view why);
  // `nodes` (those that are gone or changed, as Describe names them) became `result`. Rewrites of one `kind`, such as
  // "Mul, Sigmoid -> Swish", are counted together.
  void Rewrote(const std::vector<std::string>& nodes, const std::string& kind, const std::string& result);
  // A detail of what a pass did to `node`, reported only if this pass is asked for.
  void Noted(const std::string& node, const std::string& text);
  // `near`: the pattern nearly matched.
  void Left(const std::string& node, const std::string& why, bool near);
  // The pass is done. `changes` sums up what it did ("Erf 12 -> 0"), "" if nothing. `gone` (by Describe) are the nodes
  // that it removed in the end, even if a rule left them alone at first.
  void End(const std::string& changes, const std::set<std::string>& gone);

  std::string ToText() const;

 private:
  struct Rewrites {
    std::size_t count = 0;
    std::vector<std::string> examples;  // the first node of each
  };
  struct Remark {
    std::string node, why;
    bool near;
  };
  struct Report {
    std::string pass, not_run;
    std::vector<std::string> changes;  // by run
    std::vector<std::pair<std::string, Rewrites>> kinds;
    std::vector<std::string> lines;  // of each rewrite
    std::vector<Remark> left;        // of the last run that looked at the node
    std::size_t begin = 0;           // of `left` in this run
  };
  std::string TextOf(const Report& report) const;
  void AppendLeft(const Report& report, std::string& text) const;

  std::string wanted_;
  std::vector<Report> reports_;  // in the order of the first run
  Report* current_ = nullptr;
  std::map<std::string, std::size_t, std::less<>> at_;
};

}  // namespace sardonyx::optimizer
