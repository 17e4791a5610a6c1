// ops/registry.cpp - looks operators up by domain, name and version. No static initialisers, no registration order.
#include "ops/registry.h"

#include <algorithm>
#include <tuple>

#include "ir/domain.h"
#include "ops/errors/late_errors.h"
#include "ops/schema/schema.h"

namespace sardonyx::ops {

// Looking an operator up makes no string: a session does it some hundred times for each node.
std::size_t Registry::Hash::operator()(const Name& name) const {
  const std::hash<std::string_view> hash;
  return hash(name.second) * 31 + hash(name.first);
}

Registry::Registry() {
#define SDX_TABLE(Family) Family##Ops(),
  const std::span<const OpDef> families[] = {{}, SDX_OP_FAMILIES(SDX_TABLE)};
  for (const std::span<const OpDef> family : families) Add(family, false);
#undef SDX_TABLE
}

void Registry::Add(std::span<const OpDef> ops, bool first) {
  for (const OpDef& op : ops) {
    auto& rows = rows_[{StandardDomain(op.domain), op.name}];
    rows.insert(first ? rows.begin() : rows.end(), &op);
    if (!StandardDomain(op.domain).empty()) continue;
    const OpSchema* newest = FindSchema("", op.name);
    const OpDef* last = newest == nullptr ? nullptr : Find("", op.name, newest->since_version);
    for (const OpDef* row : rows) {
      if (last == nullptr || row == last) {
        superseded_.erase(row);
      } else {
        superseded_.insert(row);
      }
    }
  }
}

void Registry::AddCustom(const OpDef& op, std::string_view domain) {
  Add({&op, 1}, true);
  custom_[{std::string(StandardDomain(domain)), std::string(op.name)}].push_back(&op);
}

const OpDef* Registry::FindCustom(std::string_view domain, std::string_view name, std::int64_t opset) const {
  if (custom_.empty()) return nullptr;
  const auto found = custom_.find({std::string(StandardDomain(domain)), std::string(name)});
  if (found == custom_.end()) return nullptr;
  const OpDef* newest = nullptr;
  for (const OpDef* op : found->second) {
    const int version = op->since.items[0];
    if ((opset <= 0 || version <= opset) && (newest == nullptr || version > newest->since.items[0])) newest = op;
  }
  return newest;
}

std::vector<int> Registry::CustomVersions(std::string_view domain, std::string_view name) const {
  std::vector<int> versions;
  if (const auto found = custom_.find({std::string(StandardDomain(domain)), std::string(name)}); found != custom_.end())
    for (const OpDef* op : found->second) versions.push_back(op->since.items[0]);
  return versions;
}

static constexpr std::string_view kReplacing = "custom:";

std::string ReplacingDomain(std::string_view domain) {
  return std::string(kReplacing) + std::string(StandardDomain(domain));
}

std::string_view AuthorsDomain(std::string_view domain) {
  for (const std::string_view prefix : {kReplacing, kPostponedPrefix})
    if (domain.starts_with(prefix)) return domain.substr(prefix.size());
  return domain;
}

void Registry::AddFirst(std::span<const OpDef> ops) { Add(ops, true); }

const OpDef* Registry::Find(std::string_view domain, std::string_view name, int since_version) const {
  const auto found = rows_.find({StandardDomain(domain), name});
  if (found == rows_.end()) return nullptr;
  for (const OpDef* op : found->second)
    if (op->since.Has(since_version)) return op;
  return nullptr;
}

bool Registry::HasName(std::string_view domain, std::string_view name) const {
  return rows_.contains({StandardDomain(domain), name});
}

std::vector<const OpDef*> Registry::All() const {
  std::vector<const OpDef*> all;
  for (const auto& [key, rows] : rows_) all.insert(all.end(), rows.begin(), rows.end());
  std::sort(all.begin(), all.end(), [](const OpDef* a, const OpDef* b) {
    return std::tie(a->domain, a->name, a->since.items[0]) < std::tie(b->domain, b->name, b->since.items[0]);
  });
  return all;
}

}  // namespace sardonyx::ops
