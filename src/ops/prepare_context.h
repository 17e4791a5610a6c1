// ops/prepare_context.h - what an operator's prepare function sees.
#pragma once

#include <span>
#include <vector>

#include "base/parallel.h"
#include "ops/node_view.h"
#include "ops/op_def.h"

namespace sardonyx::ops {

class PrepareContext : public AttributeReader {
 public:
  struct Input {
    Type type;                         // shapes may be symbolic or unknown
    const Tensor* constant = nullptr;  // contents that no run can change; valid while the program lives
    bool present = false;
  };
  PrepareContext(const Graph& graph, const Node& node, const OpDef& op, std::span<const Input> inputs,
                 std::span<const Type> outputs, Parallel& parallel, bool rounds_to_bf16 = false)
      : AttributeReader(graph, node),
        op_(&op),
        inputs_(inputs),
        outputs_(outputs),
        parallel_(&parallel),
        rounds_to_bf16_(rounds_to_bf16),
        packed_(inputs.size(), false) {}

  const OpDef& op() const { return *op_; }
  bool HasInput(std::size_t i) const { return i < inputs_.size() && inputs_[i].present; }
  const Type& InputType(std::size_t i) const;
  DType InputDType(std::size_t i) const { return InputType(i).dtype; }
  const Type& OutputType(std::size_t i) const;
  DType OutputDType(std::size_t i) const { return OutputType(i).dtype; }
  const Tensor* Constant(std::size_t i) const { return HasInput(i) ? inputs_[i].constant : nullptr; }
  Parallel& parallel() const { return *parallel_; }  // for packing weights
  // The session wants products of floats and constant floats in bf16, and this CPU is faster at those.
  bool rounds_to_bf16() const { return rounds_to_bf16_; }
  // The kernel has its own copy of constant input i and will not read it: its memory may be released.
  void MarkPacked(std::size_t i) { packed_[i] = true; }
  bool IsPacked(std::size_t i) const { return packed_[i]; }
  // The index that KernelContext::RunSubgraph takes for a graph attribute.
  std::size_t SubgraphIndex(std::string_view attribute) const;
  // Fails with kNotImplemented, naming the operator, its opset version, `what` (e.g. "input 'X'") and the type.
  [[noreturn]] void Unsupported(std::string_view what, DType dtype) const;
  [[noreturn]] void Unsupported(std::string_view what) const;

 private:
  const OpDef* op_;
  std::span<const Input> inputs_;
  std::span<const Type> outputs_;
  Parallel* parallel_;
  bool rounds_to_bf16_;
  std::vector<bool> packed_;
};

// A Prepared whose state is `value`.
template <typename State>
Prepared WithState(RunFn* run, State value) {
  return {run, std::make_shared<const State>(std::move(value))};
}

}  // namespace sardonyx::ops
