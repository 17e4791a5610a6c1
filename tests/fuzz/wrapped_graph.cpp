// tests/fuzz/wrapped_graph.cpp - moves nodes into a branch, a loop's body or a function; see wrapped_graph.h.
#include "fuzz/wrapped_graph.h"

#include <algorithm>
#include <random>
#include <unordered_map>
#include <unordered_set>

namespace sardonyx::fuzz {
namespace {

class Wrapper {
 public:
  Wrapper(const RandomGraph& from, std::uint32_t seed) : from_(from), old_(from.model->graph), random_(seed) {
    const std::size_t count = old_.order.size();
    begin_ = random_() % count;
    end_ = begin_ + 1 + random_() % (count - begin_);
    for (std::size_t i = begin_; i < end_; ++i) FindEdges(old_.node(old_.order[i]));
  }

  RandomGraph Make() {
    RandomGraph made = from_;
    made.model = std::make_shared<Model>();
    model_ = made.model.get();
    model_->ir_version = from_.model->ir_version;
    model_->opset_imports = from_.model->opset_imports;
    graph_ = &model_->graph;
    graph_->name = old_.name;
    graph_->opset_imports = old_.opset_imports;
    for (const ValueId id : old_.inputs) placed_[id] = graph_->AddInput(old_.value(id).name, old_.value(id).type);
    for (ValueId id = 0; id < old_.values.size(); ++id)
      if (old_.value(id).constant() != nullptr)
        placed_[id] = graph_->AddConstant(old_.value(id).name, *old_.value(id).constant());
    for (std::size_t i = 0; i < begin_; ++i) Copy(*graph_, old_.node(old_.order[i]), placed_, "");
    switch (random_() % 3) {
      case 0:
        AddIf(made);
        break;
      case 1:
        AddLoop(made);
        break;
      default:
        AddFunction();
    }
    for (std::size_t i = end_; i < old_.order.size(); ++i) Copy(*graph_, old_.node(old_.order[i]), placed_, "");
    for (const ValueId id : old_.outputs) graph_->AddOutput(placed_.at(id));
    return made;
  }

 private:
  using Places = std::unordered_map<ValueId, ValueId>;

  void FindEdges(const Node& node) {
    for (const ValueId id : node.inputs)
      if (id != kNoValue && inside_.count(id) == 0 && std::find(read_.begin(), read_.end(), id) == read_.end())
        read_.push_back(id);
    for (const ValueId id : node.outputs) {
      if (id == kNoValue) continue;
      inside_.insert(id);
      const ValueInfo& value = old_.value(id);
      const bool leaves = std::any_of(value.consumers.begin(), value.consumers.end(), [&](NodeId reader) {
        const auto at = std::find(old_.order.begin(), old_.order.end(), reader) - old_.order.begin();
        return static_cast<std::size_t>(at) >= end_;
      });
      if (value.is_output || leaves) made_.push_back(id);
    }
  }

  void Copy(Graph& graph, const Node& from, Places& placed, const std::string& prefix) const {
    Node node = from;
    node.implicit_inputs.clear();
    for (ValueId& id : node.inputs)
      if (id != kNoValue) id = placed.at(id);
    for (ValueId& id : node.outputs)
      if (id != kNoValue) id = placed[id] = graph.AddValue(prefix + old_.value(id).name);
    graph.AddNode(std::move(node));
  }

  // The row of nodes as a body. What it reads is captured; constants are its own now and then.
  Graph Body(const std::string& prefix, std::vector<ValueId>* results) {
    Graph body;
    body.name = prefix + "body";
    body.opset_imports = old_.opset_imports;
    Places placed;
    for (const ValueId id : read_) {
      const Tensor* constant = old_.value(id).constant();
      placed[id] = constant != nullptr && random_() % 2 == 0 ? body.AddConstant(prefix + "own", *constant)
                                                             : body.AddCaptured(graph_->value(placed_.at(id)).name);
    }
    for (std::size_t i = begin_; i < end_; ++i) Copy(body, old_.node(old_.order[i]), placed, prefix);
    for (const ValueId id : made_) results->push_back(placed.at(id));
    return body;
  }

  // What decides about the nodes: known before the run, or given in it.
  ValueId Given(RandomGraph& made, const std::string& name, Tensor tensor) {
    if (random_() % 2 == 0) return graph_->AddConstant(name, std::move(tensor));
    const ValueId id = graph_->AddInput(name, Type::TensorOf(tensor.dtype(), tensor.shape()));
    made.inputs.emplace_back(name, std::move(tensor));
    return id;
  }

  void AddIf(RandomGraph& made) {
    const bool which = random_() % 2 == 0;
    Node node;
    node.op_type = "If";
    node.since_version = 13;
    node.inputs = {Given(made, "which", Tensor::Scalar<bool>(which))};
    for (const char* branch : {"then_branch", "else_branch"}) {
      std::vector<ValueId> results;
      Graph body = Body(std::string(branch).substr(0, 4) + "_", &results);
      for (const ValueId id : results) body.AddOutput(id);
      node.attributes.push_back({branch, GraphBox(std::move(body))});
    }
    for (const ValueId id : made_) node.outputs.push_back(placed_[id] = graph_->AddValue(old_.value(id).name));
    graph_->AddNode(std::move(node));
  }

  void AddLoop(RandomGraph& made) {
    std::vector<ValueId> results;
    Graph body = Body("loop_", &results);
    body.AddInput("loop_turn", Type::TensorOf(DType::kInt64, Shape{}));
    const ValueId go_on = body.AddInput("loop_go_on", Type::TensorOf(DType::kBool, Shape{}));
    body.AddOutput(body.AddNode("", "Identity", {go_on}, {}, Type::TensorOf(DType::kBool, Shape{}), "loop_goes_on"));
    body.nodes.back().since_version = 13;
    for (const ValueId id : results) body.AddOutput(id);
    Node node;
    node.op_type = "Loop";
    node.since_version = 13;
    node.inputs = {Given(made, "turns", Tensor::Scalar<std::int64_t>(1)), kNoValue};
    node.attributes = {{"body", GraphBox(std::move(body))}};
    for (std::size_t i = 0; i < made_.size(); ++i)
      node.outputs.push_back(graph_->AddValue("stacked_" + std::to_string(i)));
    const std::vector<ValueId> stacked = node.outputs;
    graph_->AddNode(std::move(node));
    const ValueId first = graph_->AddConstant("first", Tensor::Of<std::int64_t>({0}, Shape{1}));
    for (std::size_t i = 0; i < made_.size(); ++i) {
      Node squeeze;
      squeeze.op_type = "Squeeze";
      squeeze.since_version = 13;
      squeeze.inputs = {stacked[i], first};
      squeeze.outputs = {placed_[made_[i]] = graph_->AddValue(old_.value(made_[i]).name)};
      graph_->AddNode(std::move(squeeze));
    }
  }

  void AddFunction() {
    Function function;
    function.domain = "fuzz";
    function.name = "Part";
    Graph& body = function.body;
    body.name = "Part";
    body.opset_imports = old_.opset_imports;
    Places placed;
    Node call;
    call.domain = function.domain;
    call.op_type = function.name;
    for (const ValueId id : read_) {
      placed[id] = body.AddInput("of_" + old_.value(id).name, {});
      call.inputs.push_back(placed_.at(id));
    }
    for (std::size_t i = begin_; i < end_; ++i) Copy(body, old_.node(old_.order[i]), placed, "of_");
    for (const ValueId id : made_) {
      body.AddOutput(placed.at(id));
      call.outputs.push_back(placed_[id] = graph_->AddValue(old_.value(id).name));
    }
    graph_->AddNode(std::move(call));
    model_->opset_imports.push_back({function.domain, 1});
    graph_->opset_imports = model_->opset_imports;
    model_->functions.push_back(std::move(function));
  }

  const RandomGraph& from_;
  const Graph& old_;
  std::mt19937 random_;
  std::size_t begin_ = 0, end_ = 0;
  std::unordered_set<ValueId> inside_;  // made by the row
  std::vector<ValueId> read_, made_;    // what the row reads from outside, and what is read of it there
  Model* model_ = nullptr;
  Graph* graph_ = nullptr;
  Places placed_;
};

}  // namespace

RandomGraph Wrapped(const RandomGraph& graph, std::uint32_t seed) { return Wrapper(graph, seed).Make(); }

}  // namespace sardonyx::fuzz
