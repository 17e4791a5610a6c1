// ops/registry.cpp - looks operators up by domain, name and version. No static initialisers, no registration order.
#include "ops/registry.h"

#include <algorithm>
#include <tuple>

#include "ir/domain.h"
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
