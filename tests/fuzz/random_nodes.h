// tests/fuzz/random_nodes.h - the parts of random graphs: single operators, and chains as exporters write them.
#pragma once

#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fuzz/random_graph.h"
#include "ops/schema/schema.h"

namespace sardonyx::fuzz {

using Ints64 = std::vector<std::int64_t>;

class GraphGrower {
 public:
  GraphGrower(ByteSource& bytes, const ops::Registry& registry);
  void Grow();
  RandomGraph Finish();

 private:
  // random_graph.cpp: the pool of values, and how a node gets into the graph.
  ValueId AddInput();
  // An input with these contents; the dimensions that `symbolic` has bits for get names.
  ValueId AddInput(Tensor tensor, std::uint8_t symbolic);
  Tensor Floats(const Shape& shape);
  ValueId Constant(Tensor tensor);
  ValueId Scalar(float number) { return Constant(Tensor::Scalar<float>(number)); }
  ValueId Ints(const std::vector<std::int64_t>& elements);
  // A value of the pool; nothing if none fits.
  std::optional<ValueId> Take(DType dtype, std::size_t least_rank = 0);
  // The first output. Fails where the inputs do not fit, and nothing is added then.
  ValueId Add(std::string_view op_type, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {},
              std::size_t outputs = 1);
  void CheckInputs(const Node& node, const ops::OpSchema& schema) const;
  // Adds a node whose inputs and attributes are set; its outputs where `wanted` is not kNoValue.
  void Insert(Node& node, const std::vector<ValueId>& wanted);
  const Shape& ShapeOf(ValueId id) const { return values_.at(id).tensor().shape(); }

  // random_nodes.cpp: one of the families, chosen by a byte. All fail where the pool has nothing that fits.
  void AddSome();
  ValueId NeedFloat(std::size_t least_rank = 0);
  ValueId Operand(ValueId beside);
  void AddUnary();
  void AddBinary();
  void AddProduct();
  void AddConv();
  void AddPool();
  void AddNorm();
  void AddView();
  void AddTranspose();
  void AddJoin();
  void AddSelection();
  void AddReduction();
  void AddComparison();
  void AddCast();
  void AddShapeArithmetic();
  void AddQuantized();
  // random_chains.cpp: what fusions look for, in more than one spelling.
  void AddGelu();
  void AddLayerNorm();
  void AddAttention();
  void AddGate();
  void AddConvBlock();
  void AddGroupNorm();

  // planted_snippets.cpp: what passes look for, from their own rules and from models.
  class Planting;
  class RulePlanting;
  void PlantFrom(std::span<const char* const> snippets);
  void InOpset(Node& node) const;
  void AddAttentionSnippet();
  void AddFloatSnippet();
  void AddQuantizedSnippet();
  void AddRulePattern();

  std::int64_t Small(std::int64_t low, std::int64_t high) { return bytes_.Between(low, high); }
  std::vector<std::int64_t> Axes(std::size_t rank);

  ByteSource& bytes_;
  const ops::Registry& registry_;
  std::mt19937 random_;  // contents of tensors: bytes are too dear for them
  int opset_ = 0;
  Graph graph_;
  std::unordered_map<ValueId, Value> values_;
  std::vector<ValueId> pool_, fresh_;
  bool discontinuous_ = false;
};

}  // namespace sardonyx::fuzz
