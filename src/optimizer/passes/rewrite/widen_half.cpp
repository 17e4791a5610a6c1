// optimizer/passes/rewrite/widen_half.cpp - chains of float16 operators compute in float32 and round only at their
// ends.
//
// The CPU has no arithmetic in float16: every operator would widen its inputs and round its result. Between neighbours
// both waste time and precision, so ONNX Runtime leaves them out, too, at every level; that includes a Cast from float
// in front of a chain. Bodies of control flow are left alone, and so are the caches of GroupQueryAttention and
// CachedAttention, which read them as they are stored: a step of a decoder would convert all of them. Large weights of
// products keep their Cast (optimizer/rules/half_weights.h).
#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "ops/activation.h"
#include "ops/evaluate.h"
#include "ops/own_domain.h"
#include "ops/schema/schema.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/half_weights.h"
#include "optimizer/rules/rewrite.h"
#include "optimizer/rules/unused_constants.h"

namespace sardonyx::optimizer {
namespace {

bool IsHalf(const ValueInfo& value) { return value.type.is_tensor() && value.type.dtype == DType::kFloat16; }

enum class Role : std::uint8_t {
  kOther,       // not ours to change
  kArithmetic,  // computes: its inputs are widened whatever they are
  kMovement,    // only moves elements: goes with its neighbours
  kReader,      // reads half, returns something else
};

// Values that have a float form together.
struct Chain {
  std::uint32_t leader;
  int operators = 0;  // that compute
  int ends = 0;       // casts from and to float
};

class Widener {
 public:
  Widener(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  bool Run() {
    for (const NodeId id : OwnNodes(graph_)) Consider(id);
    DropShortChains();
    if (chosen_.empty()) return false;
    Rewrite();
    graph_.SortTopologically();
    return true;
  }

 private:
  // Whether the kernel reads (makes) a half value beside float ones.
  static bool IsCache(const Node& node, std::size_t i, bool is_output) {
    const bool has_caches = (node.op_type == "GroupQueryAttention" && node.domain == "com.microsoft") ||
                            (node.op_type == "CachedAttention" && node.domain == ops::kOwnDomain);
    if (!has_caches) return false;
    const ops::OpSchema* schema = ops::FindSchema(node.domain, node.op_type, node.since_version);
    const ops::FormalParam* param = is_output ? schema->Output(i) : schema->Input(i);
    return param != nullptr && param->type() == "T_CACHE";
  }
  bool Widens(const Node& node, std::size_t input) const {
    const ValueId id = node.inputs[input];
    return id != kNoValue && IsHalf(graph_.value(id)) && !IsCache(node, input, false);
  }
  bool MakesWide(const Node& node, std::size_t output) const {
    const ValueId id = node.outputs[output];
    return id != kNoValue && IsHalf(graph_.value(id)) && !IsCache(node, output, true);
  }

  // Whether each half input may be float and each half output then is, as far as the operator's schema says.
  Role RoleOf(const Node& node) const {
    const ops::OpSchema* schema = ops::FindSchema(node.domain, node.op_type, node.since_version);
    const ops::OpDef* op = context_.registry.Find(node.domain, node.op_type, node.since_version);
    if (schema == nullptr || op == nullptr || !node.Subgraphs().empty() || node.op_type == "BitCast")
      return Role::kOther;
    if (!std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return IsTensorOrNone(v); }) ||
        !std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) { return IsTensorOrNone(v); })) {
      return Role::kOther;  // a sequence keeps its element type
    }
    std::set<int> widened;  // type parameters of the half inputs
    bool half_outputs = false, moves = false;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!Widens(node, i)) continue;
      const ops::FormalParam* param = schema->Input(i);
      if (param == nullptr || param->constraint < 0 || !param->types().Contains(DType::kFloat)) return Role::kOther;
      widened.insert(param->constraint);
      moves |= param->types().Contains(DType::kString) || param->types().Contains(DType::kBool);
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue || IsCache(node, i, true)) continue;
      const ValueInfo& output = graph_.value(node.outputs[i]);
      const ops::FormalParam* param = schema->Output(i);
      const bool follows = param != nullptr && widened.count(param->constraint) != 0;
      if (IsHalf(output) != follows) return Role::kOther;  // also where a type of its own hangs on the same parameter
      half_outputs |= IsHalf(output);
    }
    if (widened.empty()) return Role::kOther;
    if (!half_outputs) return Role::kReader;
    return moves ? Role::kMovement : Role::kArithmetic;
  }

  bool IsTensorOrNone(ValueId id) const { return id == kNoValue || graph_.value(id).type.is_tensor(); }

  bool HasHalf(const Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId input) { return input != kNoValue && IsHalf(graph_.value(input)); });
  }

  void Consider(NodeId id) {
    const Node& node = graph_.node(id);
    if (IsCast(node, DType::kFloat, DType::kFloat16)) {  // its input is the float form
      roundings_.push_back(id);
      const std::uint32_t chain = NewChain();
      chains_[chain].ends = 1;
      chain_[node.outputs[0]] = chain;
      return;
    }
    const Role role = RoleOf(node);
    if (role == Role::kOther) {
      if (HasHalf(node)) context_.No(graph_, id, "the operator has no float form of its inputs, or holds bodies");
      return;
    }
    bool any = false, all = true;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!Widens(node, i)) continue;
      const ValueId input = node.inputs[i];
      any |= chain_.count(input) != 0;
      all &= chain_.count(input) != 0 || graph_.value(input).constant() != nullptr;
    }
    if ((role == Role::kMovement && !any) || (role == Role::kReader && !all)) {
      context_.FarFrom(graph_, id, "none of its inputs was computed in float");
      return;
    }
    chosen_.push_back(id);
    JoinChains(node, role);
  }

  // All values that the node reads or makes in float belong to one chain.
  void JoinChains(const Node& node, Role role) {
    const std::uint32_t chain = NewChain();
    chains_[chain].operators = role == Role::kArithmetic ? 1 : 0;
    chains_[chain].ends = IsCast(node, DType::kFloat16, DType::kFloat) ? 1 : 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (input == kNoValue || chain_.count(input) == 0 || IsCache(node, i, false)) continue;
      const std::uint32_t other = Leader(chain_.at(input));
      if (other == chain) continue;
      chains_[other].leader = chain;
      chains_[chain].operators += chains_[other].operators;
      chains_[chain].ends += chains_[other].ends;
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (MakesWide(node, i)) chain_[node.outputs[i]] = chain;
    chain_of_node_.push_back(chain);
  }

  std::uint32_t NewChain() {
    const auto chain = static_cast<std::uint32_t>(chains_.size());
    chains_.push_back({chain});
    return chain;
  }

  std::uint32_t Leader(std::uint32_t chain) {
    while (chains_[chain].leader != chain) chain = chains_[chain].leader = chains_[chains_[chain].leader].leader;
    return chain;
  }

  // A single operator widens and rounds by itself, and casts without one are there to round.
  bool IsWorthIt(std::uint32_t chain) {
    const Chain& whole = chains_[Leader(chain)];
    return whole.operators > 0 && whole.operators + whole.ends > 1;
  }

  void DropShortChains() {
    std::vector<NodeId> kept;
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      if (IsWorthIt(chain_of_node_[i])) {
        kept.push_back(chosen_[i]);
      } else {
        context_.FarFrom(graph_, chosen_[i], "no other operator computes beside it: it widens and rounds by itself");
      }
    }
    chosen_ = std::move(kept);
    for (const NodeId id : roundings_) {
      const Node& node = graph_.node(id);
      if (IsWorthIt(chain_.at(node.outputs[0]))) wide_[node.outputs[0]] = node.inputs[0];
    }
  }

  bool IsCast(const Node& node, DType from, DType to) const {
    if (node.op_type != "Cast" || !node.domain.empty()) return false;
    const ValueInfo& x = graph_.value(node.inputs[0]);
    const ValueInfo& y = graph_.value(node.outputs[0]);
    return x.type.is_tensor() && x.type.dtype == from && y.type.is_tensor() && y.type.dtype == to;
  }

  Type Widened(const Type& type) const {
    Type wide = type;
    wide.dtype = DType::kFloat;
    return wide;
  }

  NodeId AddCast(ValueId from, DType to, ValueId output) {
    Node cast;
    cast.name = graph_.value(output).name + "_cast";
    cast.op_type = "Cast";
    cast.since_version = ops::FindSchema("", "Cast")->since_version;
    cast.inputs = {from};
    cast.outputs = {output};
    cast.attributes.push_back({"to", to == DType::kFloat ? std::int64_t{1} : std::int64_t{10}});
    return graph_.AddNode(std::move(cast));
  }

  // The float form of a half value.
  ValueId Wide(ValueId half) {
    const auto found = wide_.find(half);
    if (found != wide_.end()) return found->second;
    const std::string name = graph_.value(half).name + "_float";
    const ValueId wide = graph_.AddValue(graph_.FreshName(name), Widened(graph_.value(half).type));
    const NodeId cast = AddCast(half, DType::kFloat, wide);
    if (graph_.value(half).constant() != nullptr) constants_.push_back(cast);
    return wide_[half] = wide;
  }

  void FoldCast(NodeId cast) {
    const ValueId half = graph_.node(cast).inputs[0], wide = graph_.node(cast).outputs[0];
    const std::vector<Value> inputs = {Value(*graph_.value(half).constant())};
    std::vector<Value> results =
        ops::EvaluateNode(graph_, graph_.node(cast), context_.registry, inputs, {.parallel = context_.parallel});
    graph_.EraseNode(cast);
    auto initializer = std::make_shared<Initializer>();
    initializer->tensor = std::move(results[0].tensor());
    graph_.SetInitializer(wide, std::move(initializer));
    DropIfUnused(graph_, half);
  }

  // A bound that a Clip of half lacks is the largest number of half, not of float.
  void BoundClip(Node& node) {
    if (node.op_type != "Clip" || !node.domain.empty() || !IsHalf(graph_.value(node.inputs[0]))) return;
    const float largest = ops::LargestFinite(DType::kFloat16);
    for (const auto& [input, bound] : {std::pair<std::size_t, float>{1, -largest}, {2, largest}}) {
      if (input < node.inputs.size() && node.inputs[input] != kNoValue) continue;
      Tensor tensor(DType::kFloat, {});
      *tensor.data<float>() = bound;
      node.inputs.resize(std::max(node.inputs.size(), input + 1), kNoValue);
      node.inputs[input] = graph_.AddConstant(graph_.FreshName(node.name + "_bound"), std::move(tensor));
    }
  }

  void Rewrite() {
    std::vector<Node> nodes;
    for (const NodeId id : chosen_) nodes.push_back(graph_.node(id));
    graph_.EraseNodes(chosen_);
    std::vector<ValueId> rounded;
    for (Node& node : nodes) {
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        if (!MakesWide(node, i)) continue;
        const ValueId output = node.outputs[i];
        const std::string name = graph_.FreshName(graph_.value(output).name + "_float");
        wide_[output] = graph_.AddValue(name, Widened(graph_.value(output).type));
        rounded.push_back(output);
      }
    }
    std::map<ValueId, ValueId> gone;  // results of casts that have nothing left to do
    for (Node& node : nodes) {
      BoundClip(node);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        ValueId& input = node.inputs[i];
        if (Widens(node, i)) input = Wide(input);
        if (const auto found = gone.find(input); found != gone.end()) input = found->second;
      }
      for (std::size_t i = 0; i < node.outputs.size(); ++i)
        if (MakesWide(node, i)) node.outputs[i] = wide_.at(node.outputs[i]);
      if (IsCast(node, DType::kFloat, DType::kFloat)) {
        graph_.ReplaceUses(node.outputs[0], node.inputs[0]);
        gone[node.outputs[0]] = node.inputs[0];
        if (!graph_.value(node.outputs[0]).is_output) continue;
      }
      node.id = kNoNode;
      graph_.AddNode(std::move(node));
    }
    for (const ValueId half : rounded)
      if (graph_.UseCount(half) > 0) AddCast(wide_.at(half), DType::kFloat16, half);
    for (const NodeId id : roundings_)
      if (graph_.UseCount(graph_.node(id).outputs[0]) == 0) graph_.EraseNode(id);
    for (const NodeId cast : constants_)
      if (!WidensWeights(graph_, graph_.node(cast), context_.registry)) FoldCast(cast);
  }

  Graph& graph_;
  PassContext& context_;
  std::vector<NodeId> chosen_;                // in order
  std::vector<std::uint32_t> chain_of_node_;  // beside chosen_
  std::map<ValueId, std::uint32_t> chain_;    // half values that will have a float form
  std::vector<Chain> chains_;                 // those that met have one leader
  std::vector<NodeId> roundings_;             // casts from float
  std::map<ValueId, ValueId> wide_;
  std::vector<NodeId> constants_;  // casts of constants
};

bool WidenHalf(Graph& graph, PassContext& context) { return Widener(graph, context).Run(); }

}  // namespace

constinit const Pass kWidenHalf = {.name = "widen_half", .level = Level::kDisable, .run = WidenHalf};

}  // namespace sardonyx::optimizer
