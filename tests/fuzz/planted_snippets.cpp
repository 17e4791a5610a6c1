// tests/fuzz/planted_snippets.cpp - puts snippets and the patterns of the optimizer's rules into a growing graph, with
// swapped operands and sometimes with a constant, an edge or a reader that the passes do not expect.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "fuzz/fitting_inputs.h"
#include "fuzz/random_nodes.h"
#include "fuzz/snippets.h"
#include "ir/text.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/term.h"

namespace sardonyx::fuzz {
namespace {

bool IsCommutative(const Node& node) {
  constexpr std::string_view kOps[] = {"Add", "Mul", "Max", "Min", "And", "Or", "Equal"};
  return node.domain.empty() && node.inputs.size() == 2 &&
         std::find(std::begin(kOps), std::end(kOps), node.op_type) != std::end(kOps);
}

Tensor Masks(std::mt19937& random, const Shape& shape) {
  constexpr float kLow[] = {-10000.0F, -3.4028235e38F, -1.0F};
  const float low = kLow[random() % std::size(kLow)];
  Tensor tensor(DType::kFloat, shape);
  for (float& x : tensor.span<float>()) x = random() % 3 == 0 ? low : 0.0F;
  return tensor;
}

Tensor Elements(std::mt19937& random, std::string_view name, DType dtype, const Shape& shape) {
  if (name[0] == 'm' && dtype == DType::kFloat) return Masks(random, shape);
  if (dtype == DType::kFloat) {
    Tensor tensor(dtype, shape);
    for (float& x : tensor.span<float>()) x = static_cast<float>(random() % 33) / 8 - 2;
    return tensor;
  }
  if (dtype == DType::kFloat16) {
    Tensor tensor(dtype, shape);
    for (Half& x : tensor.span<Half>()) x = Half(static_cast<float>(random() % 33) / 16 - 1);
    return tensor;
  }
  Tensor tensor = RandomTensor(random, dtype, shape);
  if (dtype == DType::kInt64)
    for (std::int64_t& x : tensor.span<std::int64_t>()) x = static_cast<std::int64_t>(random() % 2);
  if (dtype == DType::kInt32)
    for (std::int32_t& x : tensor.span<std::int32_t>())
      x = name[0] == 'i' ? static_cast<std::int32_t>(random() % 2) : static_cast<std::int32_t>(random() % 301) - 150;
  return tensor;
}

}  // namespace

// One snippet on its way into the graph.
class GraphGrower::Planting {
 public:
  Planting(GraphGrower& grower, std::uint32_t seed) : grower_(grower), random_(seed), disturbs_(OneIn(4)) {}

  void Plant(std::string_view text) {
    snippet_ = ParseGraph(Filled(text));
    for (const ValueId id : snippet_.inputs) placed_[id] = PlaceInput(snippet_.value(id));
    for (const NodeId id : snippet_.order) PlantNode(snippet_.node(id));
  }

 private:
  bool OneIn(std::size_t count) { return random_() % count == 0; }

  std::int64_t Size(char name) {
    const auto found = sizes_.find(name);
    if (found != sizes_.end()) return found->second;
    std::int64_t size = 1 + static_cast<std::int64_t>(random_() % 4);
    if (!grower_.pool_.empty() && OneIn(2)) {  // so that the snippet may follow what is there
      const Value& value = grower_.values_.at(grower_.pool_[random_() % grower_.pool_.size()]);
      if (value.is_tensor() && !value.tensor().shape().empty() && value.tensor().shape().back() <= 8)
        size = std::max<std::int64_t>(1, value.tensor().shape().back());
    }
    return sizes_[name] = size;
  }

  std::string Product(std::string_view text, std::size_t& at) {
    std::int64_t product = 1;
    for (; at < text.size() && (std::islower(text[at]) != 0 || std::isdigit(text[at]) != 0); ++at)
      product *= std::isdigit(text[at]) != 0 ? text[at] - '0' : Size(text[at]);
    return std::to_string(product);
  }

  std::string Parameter(char kind) {
    constexpr const char* kScales[] = {"0.03", "0.0625", "0.011", "0.05"};
    constexpr const char* kUnsigned[] = {"0", "120", "128", "255"};
    constexpr const char* kSigned[] = {"0", "-7", "0", "100"};
    const std::size_t at = random_() % 4;
    return kind == 's' ? kScales[at] : kind == 'u' ? kUnsigned[at] : kSigned[at];
  }

  std::string Filled(std::string_view text) {
    std::string filled;
    for (std::size_t at = 0; at < text.size();) {
      const char c = text[at++];
      if (c == '$') {
        filled += Product(text, at);
      } else if (c == '@') {
        filled += Parameter(text[at++]);
      } else {
        filled += c;
      }
    }
    return filled;
  }

  // Symbols of the snippet stand for one size each.
  bool Unify(const Type& type, const Shape& shape) {
    if (type.rank() != shape.rank()) return false;
    std::unordered_map<std::string, std::int64_t> symbols = symbols_;
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      const Dim& dim = type.dims[i];
      const std::int64_t wanted = dim.known() ? dim.number() : symbols.emplace(dim.ToText(), shape[i]).first->second;
      if (wanted != shape[i]) return false;
    }
    symbols_ = std::move(symbols);
    return true;
  }

  Shape ShapeFor(const Type& type) {
    Shape shape;
    for (const Dim& dim : type.dims) {
      const auto size = 1 + static_cast<std::int64_t>(random_() % 5);
      shape.Append(dim.known() ? dim.number() : symbols_.emplace(dim.ToText(), size).first->second);
    }
    return shape;
  }

  ValueId PlaceInput(const ValueInfo& input) {
    const bool is_weight = input.name[0] == 'w' && !OneIn(10);
    const DType dtype = input.type.dtype;
    if (!is_weight && !OneIn(3)) {
      for (std::size_t i = grower_.pool_.size(); i-- > 0;) {
        const ValueId id = grower_.pool_[i];
        const Value& value = grower_.values_.at(id);
        if (value.is_tensor() && value.tensor().dtype() == dtype && dtype != DType::kInt64 && dtype != DType::kInt32 &&
            Unify(input.type, value.tensor().shape()))
          return id;
      }
    }
    const Shape shape = ShapeFor(input.type);
    Tensor tensor = Elements(random_, input.name, dtype, shape);
    return is_weight ? grower_.Constant(std::move(tensor))
                     : grower_.AddInput(std::move(tensor), static_cast<std::uint8_t>(random_()));
  }

  // The value in the graph that stands for one of the snippet's.
  ValueId Placed(ValueId id) {
    if (id == kNoValue) return kNoValue;
    const auto found = placed_.find(id);
    if (found != placed_.end()) return found->second;
    const Tensor* constant = snippet_.value(id).constant();
    if (constant == nullptr) Fail(Code::kInvalidGraph, "a value that was not made");
    Tensor tensor = constant->Clone();
    if (disturbs_ && OneIn(12)) tensor = Disturbed(std::move(tensor));
    return placed_[id] =
               disturbs_ && OneIn(16) ? grower_.AddInput(std::move(tensor), 0) : grower_.Constant(std::move(tensor));
  }

  Tensor Disturbed(Tensor tensor) {
    if (tensor.count() == 1 && OneIn(2)) return tensor.Reshaped(Shape(std::vector<std::int64_t>(1 + random_() % 5, 1)));
    if (tensor.dtype() == DType::kFloat)
      for (float& x : tensor.span<float>()) x = OneIn(2) ? x * 1.5F : -x;
    if (tensor.dtype() == DType::kInt64)
      for (std::int64_t& x : tensor.span<std::int64_t>())
        if (x < 100 && OneIn(2)) x += OneIn(2) ? 1 : -1;
    return tensor;
  }

  // The same elements in another way.
  ValueId Detour(ValueId id) {
    const Value& value = grower_.values_.at(id);
    if (!value.is_tensor()) return id;
    const DType dtype = value.tensor().dtype();
    const Shape shape = value.tensor().shape();
    switch (random_() % 5) {
      case 0:
        return grower_.Add("Reshape", {id, grower_.Ints({shape.begin(), shape.end()})});
      case 1:
        return grower_.Add("Cast", {id}, {{"to", static_cast<std::int64_t>(dtype)}});
      case 2:
        if (shape.rank() < 2) return id;
        return grower_.Add("Transpose", {grower_.Add("Transpose", {id})});
      case 3:
        if (dtype != DType::kFloat) return id;
        return grower_.Add("Mul", {id, grower_.Scalar(1)});
      default:
        return grower_.Add("Identity", {id});
    }
  }

  void DisturbAttribute(Node& node) {
    if (node.attributes.empty()) return;
    AttributeValue& value = node.attributes[random_() % node.attributes.size()].value;
    if (auto* number = std::get_if<std::int64_t>(&value)) *number += OneIn(2) ? 1 : -1;
    if (auto* number = std::get_if<float>(&value)) *number *= 1.5F;
    if (auto* list = std::get_if<std::vector<std::int64_t>>(&value); list != nullptr && list->size() > 1)
      std::swap((*list)[0], (*list)[random_() % list->size()]);
  }

  void PlantNode(const Node& from) {
    Node node;
    node.domain = from.domain;
    node.op_type = from.op_type;
    node.attributes = from.attributes;
    for (const ValueId id : from.inputs) node.inputs.push_back(Placed(id));
    if (IsCommutative(from) && OneIn(2)) std::swap(node.inputs[0], node.inputs[1]);
    if (disturbs_ && OneIn(12) && !node.inputs.empty() && node.inputs[0] != kNoValue)
      node.inputs[0] = Detour(node.inputs[0]);
    if (disturbs_ && OneIn(16)) DisturbAttribute(node);
    grower_.InOpset(node);
    grower_.Insert(node, from.outputs);
    for (std::size_t i = 0; i < from.outputs.size(); ++i)
      if (from.outputs[i] != kNoValue) placed_[from.outputs[i]] = node.outputs[i];
    if (disturbs_ && OneIn(12) && node.outputs[0] != kNoValue) grower_.Add("Identity", {node.outputs[0]});
  }

  GraphGrower& grower_;
  std::mt19937 random_;
  bool disturbs_;
  Graph snippet_;
  std::unordered_map<char, std::int64_t> sizes_;
  std::unordered_map<std::string, std::int64_t> symbols_;
  std::unordered_map<ValueId, ValueId> placed_;
};

void GraphGrower::PlantFrom(std::span<const char* const> snippets) {
  const std::string_view text = snippets[bytes_.Below(snippets.size())];
  const auto seed = static_cast<std::uint32_t>(bytes_.Below(65536));
  discontinuous_ |= text.find("uantize") != std::string_view::npos || text.find("float16") != std::string_view::npos ||
                    text.find("Less") != std::string_view::npos;
  Planting(*this, seed).Plant(text);
}

void GraphGrower::AddAttentionSnippet() { PlantFrom(AttentionSnippets()); }
void GraphGrower::AddFloatSnippet() { PlantFrom(FloatSnippets()); }
void GraphGrower::AddQuantizedSnippet() { PlantFrom(QuantizedSnippets()); }

// Snippets are written in the newest opset; axes of reductions and Split's count were something else before.
void GraphGrower::InOpset(Node& node) const {
  if (!node.domain.empty()) return;
  if (node.op_type.starts_with("Reduce") && opset_ < 18 && node.inputs.size() > 1 && node.op_type != "ReduceSum") {
    const Tensor* axes = graph_.value(node.inputs[1]).constant();
    if (axes == nullptr) Fail(Code::kInvalidGraph, "not in this opset");
    const auto list = axes->span<std::int64_t>();
    node.SetAttribute("axes", Ints64(list.begin(), list.end()));
    node.inputs.pop_back();
  }
  if (node.op_type == "Split" && opset_ < 18) node.RemoveAttribute("num_outputs");
  for (Graph* body : node.Subgraphs()) {
    body->opset_imports = graph_.opset_imports;
    for (Node& inner : body->nodes) {
      const ops::OpSchema* schema = ops::FindSchema(inner.domain, inner.op_type, opset_);
      if (schema == nullptr || schema->max_inputs < static_cast<std::int64_t>(inner.inputs.size()))
        Fail(Code::kInvalidGraph, "not in this opset");
      inner.since_version = schema->since_version;
    }
  }
}

namespace {

const std::vector<const optimizer::Rule*>& AllRules() {
  static const auto* const all = [] {
    auto* rules = new std::vector<const optimizer::Rule*>();
    for (const optimizer::Pass* pass :
         {&optimizer::kFuseGelu, &optimizer::kFuseActivations, &optimizer::kSimplifyNodes, &optimizer::kEliminateCasts,
          &optimizer::kFuseReluClip, &optimizer::kReplaceDivisions, &optimizer::kFuseMatMulAdd}) {
      for (const optimizer::Rule& rule : pass->rules) rules->push_back(&rule);
    }
    return rules;
  }();
  return *all;
}

}  // namespace

// The pattern of a rule, as nodes.
class GraphGrower::RulePlanting {
 public:
  explicit RulePlanting(GraphGrower& grower) : grower_(grower), bytes_(grower.bytes_) {}

  ValueId Build(const optimizer::Term& term, std::string_view reader) {
    using Kind = optimizer::Term::Kind;
    switch (term.kind) {
      case Kind::kNumber:
        return grower_.Scalar(static_cast<float>(term.number));
      case Kind::kCapture:
        return Captured(term, reader);
      case Kind::kAlternatives:
        return Build(term.arguments[bytes_.Below(term.arguments.size())], reader);
      case Kind::kNode:
        return term.optional && bytes_.Bool() ? Build(term.arguments[0], reader) : BuildNode(term);
      default:
        return Number(reader);
    }
  }

 private:
  bool WantsTruth(std::string_view reader) const { return reader == "And" || reader == "Or" || reader == "Not"; }

  ValueId Truth() {
    if (const auto found = grower_.Take(DType::kBool)) return *found;
    const ValueId x = grower_.NeedFloat();
    grower_.discontinuous_ = true;
    return grower_.Add("Less", {x, grower_.Operand(x)});
  }

  ValueId Number(std::string_view reader) {
    if (WantsTruth(reader)) return Truth();
    if (first_ == kNoValue || (reader == "MatMul" || reader == "Gemm")) {
      const ValueId x = grower_.NeedFloat(reader == "MatMul" ? 2 : 0);
      if (first_ == kNoValue) first_ = x;
      return x;
    }
    return grower_.Operand(first_);
  }

  ValueId Captured(const optimizer::Term& term, std::string_view reader) {
    if (const auto found = captured_.find(std::string(term.name)); found != captured_.end()) return found->second;
    ValueId value = kNoValue;
    if (term.optional && bytes_.Bool()) {
      value = kNoValue;
    } else if (term.name == "low" || term.name == "high" || term.name == "factor") {
      value = grower_.Scalar(static_cast<float>(grower_.Small(-4, 8)) / 2);
    } else if (term.name == "c" && WantsTruth(reader)) {
      value = grower_.Constant(Tensor::Scalar<bool>(bytes_.Bool()));
    } else if (term.name == "c" && reader == "Div") {
      constexpr float kPowers[] = {4.0F, 0.5F, -8.0F, 3.0F};
      value = grower_.Scalar(kPowers[bytes_.Below(std::size(kPowers))]);
    } else if (term.name == "axes") {
      value = kNoValue;
    } else if (term.name == "shape" || term.name == "pads") {
      if (first_ == kNoValue) Fail(Code::kInvalidGraph, "nothing to shape");
      const Shape shape = grower_.ShapeOf(first_);
      value = term.name == "shape" ? grower_.Ints({shape.begin(), shape.end()})
                                   : grower_.Ints(Ints64(2 * shape.rank(), bytes_.Below(4) == 0 ? 1 : 0));
    } else {
      value = Number(reader);
    }
    return captured_[std::string(term.name)] = value;
  }

  ValueId BuildNode(const optimizer::Term& term) {
    Node node;
    node.domain = term.domain;
    node.op_type = term.op_type;
    for (const optimizer::Term& argument : term.arguments) node.inputs.push_back(Build(argument, term.op_type));
    while (!node.inputs.empty() && node.inputs.back() == kNoValue) node.inputs.pop_back();
    if (IsCommutative(node) && bytes_.Bool()) std::swap(node.inputs[0], node.inputs[1]);
    while (node.inputs.size() > 2 && (node.op_type == "Add" || node.op_type == "Mul")) JoinTwo(node);
    for (const auto& attribute : term.attributes) {
      const std::string name(attribute.name);
      const bool captured = attribute.kind == optimizer::Term::Attribute::Kind::kCapture;
      if (!captured) node.SetAttribute(name, optimizer::ValueOf(attribute));
      if (name.starts_with("trans")) node.SetAttribute(name, std::int64_t{bytes_.Below(4) == 0});
      if (name == "alpha" && captured) node.SetAttribute("alpha", 0.5F);
    }
    if (term.op_type == "Cast") {
      constexpr DType kTypes[] = {DType::kDouble, DType::kFloat, DType::kFloat16, DType::kInt64};
      const std::size_t to = bytes_.Below(std::size(kTypes));
      grower_.discontinuous_ |= to > 1;
      node.SetAttribute("to", static_cast<std::int64_t>(kTypes[to]));
    }
    grower_.Insert(node, {0});
    return node.outputs[0];
  }

  // Two factors of a chain, whichever, become one.
  void JoinTwo(Node& chain) {
    const std::size_t i = bytes_.Below(chain.inputs.size() - 1), j = i + 1 + bytes_.Below(chain.inputs.size() - 1 - i);
    chain.inputs[i] = grower_.Add(chain.op_type, {chain.inputs[i], chain.inputs[j]});
    chain.inputs.erase(chain.inputs.begin() + static_cast<std::ptrdiff_t>(j));
  }

  GraphGrower& grower_;
  ByteSource& bytes_;
  std::unordered_map<std::string, ValueId> captured_;
  ValueId first_ = kNoValue;
};

void GraphGrower::AddRulePattern() {
  const optimizer::Rule& rule = *AllRules()[bytes_.Below(AllRules().size())];
  RulePlanting(*this).Build(optimizer::ParseTerm(rule.match.text, rule.match.definitions), "");
}

}  // namespace sardonyx::fuzz
