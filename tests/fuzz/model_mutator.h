// tests/fuzz/model_mutator.h - changes a model so that most of it keeps its meaning and many changed models still run.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/proto_tree.h"

namespace sardonyx::fuzz {

// Mutations of one model: operators, attributes, shapes, element types, initializers, edges, opsets.
class ModelMutator {
 public:
  explicit ModelMutator(std::uint32_t seed) : random_(seed) {}

  // Bytes that are no protobuf come back as they are.
  std::string Mutate(std::string_view bytes);

 private:
  struct Parts {  // of the whole tree, bodies included
    std::vector<Field*> graphs, nodes, attributes, tensors, types, shapes, dims, opsets;
  };
  static void Collect(Field& message, Parts& to);

  std::size_t Below(std::size_t count) { return count == 0 ? 0 : random_() % count; }
  bool OneIn(std::size_t count) { return Below(count) == 0; }
  Field* Any(const std::vector<Field*>& fields) { return fields.empty() ? nullptr : fields[Below(fields.size())]; }
  std::uint64_t Number();
  float Float();

  void ChangeOnce(Field& model);
  void ChangeOperator(Field& node);
  void ChangeAttribute(Field& attribute);
  void AddAttribute(Field& node);
  void ChangeElements(Field& tensor);
  void ChangeTensorShape(Field& tensor);
  void ChangeDim(Field& dim);
  void ChangeRank(Field& shape);
  void ChangeElementType(Field& type);
  void ChangeEdge(Field& graph);
  void RepeatNode(Field& graph);
  void RemoveNode(Field& graph);
  void FixInput(Field& graph);

  std::mt19937 random_;
};

}  // namespace sardonyx::fuzz
