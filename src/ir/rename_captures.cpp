// ir/rename_captures.cpp - makes a body that moves to another graph capture the values of that graph.
#include "ir/rename_captures.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace sardonyx {
namespace {

void Merge(Graph& body, ValueId from, ValueId to) {
  body.ReplaceUses(from, to);
  if (!body.value(from).is_output) return;
  std::replace(body.outputs.begin(), body.outputs.end(), from, to);
  body.value(to).is_output = true;
  body.value(from).is_output = false;
}

}  // namespace

void RenameCaptures(Graph& body, const NewNames& new_names) {
  std::vector<std::pair<ValueId, const std::string*>> renamed;
  for (ValueId id = 0; id < body.values.size(); ++id) {
    if (!body.value(id).is_captured) continue;
    const auto found = new_names.find(body.value(id).name);
    if (found != new_names.end() && found->second != found->first) renamed.emplace_back(id, &found->second);
  }
  // No captured value keeps a name that another one is about to take.
  for (const auto& [id, name] : renamed) body.Rename(id, body.FreshName(*name));
  for (const auto& [id, name] : renamed) {
    const std::optional<ValueId> other = body.Find(*name);
    if (other == id) continue;
    if (other && body.value(*other).is_captured) {
      Merge(body, id, *other);
      continue;
    }
    if (other) body.Rename(*other, body.FreshName(*name));
    body.Rename(id, *name);
  }
}

}  // namespace sardonyx
