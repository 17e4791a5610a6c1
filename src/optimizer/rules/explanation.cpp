// optimizer/rules/explanation.cpp - counts rewrites and reasons, and puts them into words.
#include "optimizer/rules/explanation.h"

#include <algorithm>

namespace sardonyx::optimizer {
namespace {

constexpr std::size_t kExamples = 3;  // named in a line that stands for many

// A reason without the names in it: what it says about other nodes, too.
std::string WithoutNames(std::string_view why) {
  std::string text;
  bool quoted = false;
  for (std::size_t i = 0; i < why.size(); ++i) {
    if (why[i] == '\'') quoted = !quoted;
    if (why[i] == '#') {  // a node without a name
      while (i + 1 < why.size() && why[i + 1] >= '0' && why[i + 1] <= '9') ++i;
    }
    if (!quoted || why[i] == '\'') text += why[i];
  }
  return text;
}

std::string Joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) text.append(text.empty() ? "" : separator).append(part);
  return text;
}

}  // namespace

void Explanation::Begin(std::string_view pass) {
  const auto [at, fresh] = at_.try_emplace(std::string(pass), reports_.size());
  if (fresh) reports_.push_back({.pass = std::string(pass)});
  current_ = &reports_[at->second];
  current_->begin = current_->left.size();
}

void Explanation::NotRun(std::string_view pass, std::string_view why) {
  Begin(pass);
  current_->not_run = why;
  current_ = nullptr;
}

void Explanation::Rewrote(const std::vector<std::string>& nodes, const std::string& kind, const std::string& result) {
  const std::string from = Joined(nodes, ", ");
  current_->lines.push_back(from.empty() ? "new " + result : from + " -> " + result);
  auto found = std::find_if(current_->kinds.begin(), current_->kinds.end(),
                            [&](const auto& entry) { return entry.first == kind; });
  if (found == current_->kinds.end()) found = current_->kinds.insert(found, {kind, {}});
  Rewrites& rewrites = found->second;
  ++rewrites.count;
  if (rewrites.examples.size() < kExamples) rewrites.examples.push_back(nodes.empty() ? result : nodes.back());
}

void Explanation::Noted(const std::string& node, const std::string& text) {
  if (wanted_ != "*") current_->lines.push_back(node + ": " + text);
}

void Explanation::Left(const std::string& node, const std::string& why, bool near) {
  if (near || wanted_ != "*") current_->left.push_back({node, why, near});
}

void Explanation::End(const std::string& changes, const std::set<std::string>& gone) {
  if (!changes.empty()) current_->changes.push_back(changes);
  std::vector<Remark>& left = current_->left;
  std::set<std::string> seen;  // now: what an earlier run said of the node is old
  for (std::size_t i = current_->begin; i < left.size(); ++i) seen.insert(left[i].node);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const bool old = i < current_->begin && seen.count(left[i].node) != 0;
    if (old || gone.count(left[i].node) != 0) continue;
    if (kept != i) left[kept] = std::move(left[i]);
    ++kept;
  }
  left.resize(kept);
  current_ = nullptr;
}

void Explanation::AppendLeft(const Report& report, std::string& text) const {
  std::vector<std::pair<std::string, std::vector<const Remark*>>> reasons;
  std::map<std::string, std::size_t> at;
  for (const Remark& remark : report.left) {
    const std::string key = wanted_ == "*" ? WithoutNames(remark.why) : remark.node + '\n' + remark.why;
    const auto [found, fresh] = at.try_emplace(key, reasons.size());
    if (fresh) reasons.push_back({key, {}});
    reasons[found->second].second.push_back(&remark);
  }
  for (const auto& [key, remarks] : reasons) {
    std::set<std::string> nodes;
    for (const Remark* remark : remarks) nodes.insert(remark->node);
    const std::size_t more = nodes.size() - 1;
    text += report.pass + ": " + remarks[0]->node;
    if (more > 0) text += " and " + std::to_string(more) + " more";
    text += ": not changed: " + remarks[0]->why + "\n";
  }
}

std::string Explanation::TextOf(const Report& report) const {
  const std::string head = report.pass + ": ";
  if (!report.not_run.empty() && report.changes.empty()) return head + "not run: " + report.not_run + "\n";
  std::string text;
  if (report.changes.empty()) text = head + "no change\n";
  for (const std::string& changes : report.changes) text += head + changes + "\n";
  if (wanted_ != "*") {
    for (const std::string& line : report.lines) text += head + line + "\n";
  } else {
    for (const auto& [kind, rewrites] : report.kinds) {
      text += head + std::to_string(rewrites.count) + (rewrites.count == 1 ? " time " : " times ") + kind + ": " +
              Joined(rewrites.examples, ", ");
      if (rewrites.count > rewrites.examples.size())
        text += " and " + std::to_string(rewrites.count - rewrites.examples.size()) + " more";
      text += "\n";
    }
  }
  AppendLeft(report, text);
  return text;
}

std::string Explanation::ToText() const {
  std::string text;
  std::vector<std::string> idle, not_run;
  for (const Report& report : reports_) {
    const bool quiet = wanted_ == "*" && report.changes.empty() && report.left.empty();
    if (!quiet) {
      text += TextOf(report);
    } else if (report.not_run.empty()) {
      idle.push_back(report.pass);
    } else {
      not_run.push_back(report.pass + " (" + report.not_run + ")");
    }
  }
  if (!idle.empty()) text += "nothing to do: " + Joined(idle, ", ") + "\n";
  if (!not_run.empty()) text += "not run: " + Joined(not_run, ", ") + "\n";
  return text;
}

}  // namespace sardonyx::optimizer
