// capi/session_reports.cpp - writes placement, plan and values as JSON, and the plan also as lines of text.
#include "capi/session_reports.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "ops/registry.h"
#include "planner/plan.h"
#include "planner/plan_text.h"
#include "runtime/inspect/body_path.h"
#include "runtime/program.h"

namespace sardonyx::capi {
namespace {

using Json = nlohmann::ordered_json;
using planner::Plan;
using planner::PlannedSlot;
using runtime::Program;

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::vector<std::int64_t> Numbers(Dims dims) { return {dims.begin(), dims.end()}; }

Json NamesOf(const Graph& graph, const std::vector<ValueId>& ids) {
  Json names = Json::array();
  for (const ValueId id : ids) names.push_back(id == kNoValue ? std::string() : graph.value(id).name);
  return names;
}

Json StepsOf(const Program& program, const Plan& plan) {
  std::vector<char> runs(program.steps().size(), 0), late(program.steps().size(), 0);
  for (const auto& planned : plan.steps) {
    runs[static_cast<std::size_t>(planned.step)] = 1;
    late[static_cast<std::size_t>(planned.step)] = planned.late ? 1 : 0;
  }
  Json steps = Json::array();
  for (std::size_t s = 0; s < program.steps().size(); ++s) {
    const Node& node = program.graph().node(program.steps()[s].node);
    steps.push_back({{"node", node.name},
                     {"domain", std::string(ops::AuthorsDomain(node.domain))},
                     {"op_type", node.op_type},
                     {"provider", node.provider},
                     {"inputs", NamesOf(program.graph(), node.inputs)},
                     {"outputs", NamesOf(program.graph(), node.outputs)},
                     {"runs", runs[s] != 0},
                     {"late", late[s] != 0}});
  }
  return steps;
}

Json BuffersOf(const Program& program, const Plan& plan) {
  Json buffers = Json::array();
  for (const planner::PlannedBuffer& buffer : plan.buffers) {
    Json values = Json::array();
    for (const int slot : planner::SlotsIn(program.outline(), plan, buffer))
      values.push_back(program.graph().value(program.slots()[static_cast<std::size_t>(slot)].value).name);
    buffers.push_back({{"values", std::move(values)},
                       {"memory", buffer.memory},
                       {"offset", buffer.offset},
                       {"bytes", buffer.bytes},
                       {"first_step", buffer.first},
                       {"last_step", buffer.last}});
  }
  return buffers;
}

Json ValuesOf(const Program& program, const Plan& plan) {
  Json values = Json::array();
  for (std::size_t slot = 0; slot < plan.slots.size(); ++slot) {
    const PlannedSlot& planned = plan.slots[slot];
    Json value = {{"name", program.graph().value(program.slots()[slot].value).name},
                  {"place", std::string(planner::NameOf(planned.place))}};
    if (planned.dtype != DType::kUndefined) {
      value["type"] = std::string(Name(planned.dtype));
      value["shape"] = Numbers(planned.shape);
      value["bytes"] = IsString(planned.dtype) ? 0 : ByteSize(planned.dtype, planned.count);
    }
    values.push_back(std::move(value));
  }
  return values;
}

Json PlanOf(const Program& program, const std::string& path, const Plan& plan) {
  Json memories = Json::array();
  for (std::size_t m = 0; m < plan.arena_bytes.size(); ++m)
    memories.push_back({{"device", program.outline().memories()[m]->device().IsHost() ? "host" : "device"},
                        {"arena_bytes", plan.arena_bytes[m]}});
  return {{"graph", path},
          {"memories", std::move(memories)},
          {"steps", StepsOf(program, plan)},
          {"buffers", BuffersOf(program, plan)},
          {"values", ValuesOf(program, plan)}};
}

// Calls visit(program, path, plan) for the plan of a program and those of its bodies that ran.
template <typename Visit>
void ForPlans(Program& program, const std::string& path, const std::shared_ptr<const Plan>& plan, const Visit& visit) {
  if (!plan) return;
  visit(program, path, *plan);
  for (std::size_t s = 0; s < program.steps().size(); ++s) {
    const auto& bodies = program.kernels()[s].bodies;
    for (std::size_t b = 0; b < bodies.size(); ++b) {
      std::shared_ptr<const Plan> body = bodies[b]->LastPlan();
      for (const auto& planned : plan->steps)
        if (planned.step == static_cast<int>(s) && planned.branch == static_cast<int>(b) && planned.body)
          body = planned.body;
      ForPlans(*bodies[b], runtime::BodyPath(program, path, s, b), body, visit);
    }
  }
}

Json RowOf(const runtime::ValueStatistics& value) {
  Json row = {{"value", value.value}, {"node", value.node},  {"op_type", value.op_type},
              {"graph", value.graph}, {"type", value.type},  {"shape", Numbers(value.shape)},
              {"turns", value.turns}, {"count", value.count}};
  if (!value.readable) return row;
  row["nan_count"] = value.nan_count;
  row["infinity_count"] = value.infinity_count;
  const bool any = value.finite_count != 0;
  row["min"] = any ? Json(value.lowest) : Json();
  row["max"] = any ? Json(value.highest) : Json();
  row["mean"] = any ? Json(value.mean) : Json();
  row["std"] = any ? Json(value.deviation) : Json();
  return row;
}

Json MakerJson(const runtime::FirstMaker& maker) {
  if (!maker.found) return nullptr;
  Json turns = Json::array(), inputs = Json::array();
  for (const runtime::BodyTurn& turn : maker.turns) turns.push_back({{"graph", turn.graph}, {"turn", turn.turn}});
  for (const runtime::ValueStatistics& input : maker.inputs) inputs.push_back(RowOf(input));
  return {{"node", maker.node},
          {"op_type", maker.op_type},
          {"value", maker.value},
          {"graph", maker.turns.empty() ? "" : maker.turns.back().graph},
          {"turn", maker.turns.empty() ? 0 : maker.turns.back().turn},
          {"turns", std::move(turns)},
          {"inputs", std::move(inputs)}};
}

}  // namespace

std::string PlacementJson(const runtime::Session& session) {
  Json rows = Json::array();
  for (const runtime::Placement& placement : session.placement()) {
    Json members = Json::array();
    for (const runtime::Placement& member : placement.members)
      members.push_back({{"node", member.node}, {"domain", member.domain}, {"op_type", member.op_type}});
    const std::int64_t counted = placement.copy >= 0 ? session.LastCopied(placement.copy) : -1;
    const std::int64_t bytes = counted >= 0 ? counted : placement.bytes_copied;
    rows.push_back({{"node", placement.node},
                    {"members", std::move(members)},
                    {"value", placement.value},
                    {"domain", placement.domain},
                    {"op_type", placement.op_type},
                    {"provider", placement.provider},
                    {"reason", placement.reason},
                    {"bytes_copied", bytes < 0 ? Json() : Json(bytes)}});
  }
  return Dump(rows);
}

std::string ProvidersJson(const runtime::Session& session) {
  Json providers = Json::array(), missing = Json::array();
  for (const auto& provider : session.providers().providers) providers.push_back(std::string(provider->name()));
  for (const auto& provider : session.providers().missing)
    missing.push_back({{"provider", provider.name}, {"reason", provider.reason}});
  return Dump({{"providers", std::move(providers)}, {"missing", std::move(missing)}});
}

std::string PlanJson(const runtime::Session& session) {
  Json plans = Json::array();
  ForPlans(session.program(), "", session.program().LastPlan(),
           [&](const Program& program, const std::string& path, const Plan& plan) {
             plans.push_back(PlanOf(program, path, plan));
           });
  return Dump(plans);
}

std::string PlanLines(const runtime::Session& session) {
  std::string text;
  ForPlans(session.program(), "", session.program().LastPlan(),
           [&](const Program& program, const std::string& path, const Plan& plan) {
             if (!path.empty()) text += "\nbody " + path + "\n";
             text += planner::PlanText(program.outline(), plan);
           });
  return text;
}

std::string ValuesJson(const runtime::ValueCheck& check) {
  Json rows = Json::array();
  for (const runtime::ValueStatistics& value : check.values()) rows.push_back(RowOf(value));
  return Dump({{"values", std::move(rows)},
               {"first_nan", MakerJson(check.first_nan())},
               {"first_infinity", MakerJson(check.first_infinity())}});
}

}  // namespace sardonyx::capi
