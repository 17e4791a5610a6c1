// planner/passed_on.cpp - finds what Loop, Scan and If pass on, and moves it to its device in the bodies.
#include "planner/passed_on.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <variant>

#include "planner/copy_nodes.h"
#include "planner/moved_ports.h"

namespace sardonyx::planner {
namespace {

// The device that output `k` of a body is copied from, if nothing else leaves the body with it.
Device DeviceMade(const Graph& body, std::size_t k) {
  if (k >= body.outputs.size() || std::count(body.outputs.begin(), body.outputs.end(), body.outputs[k]) != 1) return {};
  return DeviceOfOutput(body, body.outputs[k]);
}

// What a turn makes for the next one as output `made` of the body, which reads it as input `read`.
Device KeepOnDevice(Graph& body, std::size_t read, std::size_t made) {
  if (read >= body.inputs.size()) return {};
  const Device device = DeviceOfInput(body, body.inputs[read]);
  if (IsOrdinary(device) || !(DeviceMade(body, made) == device)) return {};
  MoveInput(body, body.inputs[read]);
  MoveOutput(body, body.outputs[made]);
  return device;
}

// Where a body's inputs and outputs stand among those of its node, which makes one value of all turns' last ones.
struct Turns {
  std::size_t first_state = 0, states = 0;           // among the inputs of both
  std::size_t made_before = 0;                       // outputs of the body that the node does not have, in front
  std::vector<bool> whole_scans, plain_collections;  // by input after the states, and output: along the first axis
};

bool IsInBytes(const Type& type) { return type.is_tensor() && !IsString(type.dtype) && !IsSubByte(type.dtype); }

void KeepTurns(Node& node, const Turns& turns, PassedOn& devices) {
  Graph& body = *node.Subgraphs().front();
  const std::size_t end = turns.first_state + turns.states;
  for (std::size_t i = 0; i < turns.states && i < devices.outputs.size(); ++i) {
    const Device device = KeepOnDevice(body, turns.first_state + i, turns.made_before + i);
    devices.inputs[turns.first_state + i] = device;
    devices.outputs[i] = device;
  }
  for (std::size_t i = 0; i < turns.whole_scans.size() && end + i < body.inputs.size(); ++i) {
    const ValueId read = body.inputs[end + i];
    if (!turns.whole_scans[i] || !IsInBytes(body.value(read).type)) continue;
    devices.inputs[end + i] = DeviceOfInput(body, read);
    if (!IsOrdinary(devices.inputs[end + i])) MoveInput(body, read);
  }
  for (std::size_t i = 0; i < turns.plain_collections.size(); ++i) {
    const std::size_t made = turns.made_before + turns.states + i;
    const Device device = turns.plain_collections[i] ? DeviceMade(body, made) : Device{};
    if (IsOrdinary(device) || !IsInBytes(body.value(body.outputs[made]).type)) continue;
    MoveOutput(body, body.outputs[made]);
    devices.outputs[turns.states + i] = device;
  }
  body.SortTopologically();
}

Turns TurnsOfLoop(const Node& node) {
  Turns turns{2, node.inputs.size() - 2, 1, {}, {}};  // after the trip count and the condition; the body makes one, too
  turns.plain_collections.assign(node.outputs.size() - std::min(node.outputs.size(), turns.states), true);
  return turns;
}

// By index, whether the attribute says nothing but 0.
std::vector<bool> Zeros(const Node& node, std::string_view attribute, std::size_t count) {
  std::vector<bool> zeros(count, true);
  const AttributeValue* value = node.FindAttribute(attribute);
  const auto* numbers = value != nullptr ? std::get_if<std::vector<std::int64_t>>(value) : nullptr;
  for (std::size_t i = 0; numbers != nullptr && i < std::min(count, numbers->size()); ++i)
    zeros[i] = (*numbers)[i] == 0;
  return zeros;
}

// Of versions without a batch.
Turns TurnsOfScan(const Node& node) {
  const AttributeValue* attribute = node.FindAttribute("num_scan_inputs");
  const auto* number = attribute != nullptr ? std::get_if<std::int64_t>(attribute) : nullptr;
  const std::size_t scans = number != nullptr ? static_cast<std::size_t>(*number) : 0;
  if (scans == 0 || scans > node.inputs.size() || node.outputs.size() + scans < node.inputs.size()) return {};
  Turns turns{0, node.inputs.size() - scans, 0, Zeros(node, "scan_input_axes", scans), {}};
  const std::size_t collected = node.outputs.size() - turns.states;
  turns.plain_collections = Zeros(node, "scan_output_axes", collected);
  const std::vector<bool> forward = Zeros(node, "scan_output_directions", collected);
  for (std::size_t i = 0; i < collected; ++i) turns.plain_collections[i] = turns.plain_collections[i] && forward[i];
  return turns;
}

void JoinBranches(Node& node, PassedOn& devices) {
  const std::vector<Graph*> branches = node.Subgraphs();
  for (std::size_t k = 0; k < devices.outputs.size(); ++k) {
    const Device device = DeviceMade(*branches.front(), k);
    const bool same = std::all_of(branches.begin(), branches.end(),
                                  [&](const Graph* branch) { return DeviceMade(*branch, k) == device; });
    if (IsOrdinary(device) || !same) continue;
    for (Graph* branch : branches) MoveOutput(*branch, branch->outputs[k]);
    devices.outputs[k] = device;
  }
  for (Graph* branch : branches) branch->SortTopologically();
}

}  // namespace

PassedOn MovePassedOn(Node& node) {
  PassedOn devices{std::vector<Device>(node.inputs.size()), std::vector<Device>(node.outputs.size())};
  constexpr int kScanWithoutBatch = 9;
  if (!node.domain.empty()) return devices;
  if (node.op_type == "If") {
    JoinBranches(node, devices);
  } else if (node.op_type == "Loop" && node.inputs.size() >= 2) {
    KeepTurns(node, TurnsOfLoop(node), devices);
  } else if (node.op_type == "Scan" && node.since_version >= kScanWithoutBatch) {
    KeepTurns(node, TurnsOfScan(node), devices);
  }
  return devices;
}

}  // namespace sardonyx::planner
