// capi/custom_op/eager_call.h - one node that is called with values again and again: prepared once for their types.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "ir/graph.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/upgrade.h"
#include "runtime/late_shapes.h"
#include "tensor/value.h"

namespace sardonyx::capi {

// Keeps what the last call with the same element types and shapes has found out. Called by one thread at a time.
class EagerCall {
 public:
  // A node without subgraphs that has all its inputs and outputs. The arguments must outlive it.
  EagerCall(const Graph& graph, const Node& node, const ops::Registry& registry);
  EagerCall(const EagerCall&) = delete;
  EagerCall& operator=(const EagerCall&) = delete;

  // All inputs are tensors. Tensors among the outputs receive the elements and must have the type and shape computed;
  // other outputs are replaced.
  void Run(std::span<const Value* const> inputs, std::span<Value* const> outputs, Parallel& parallel);

 private:
  struct Host;
  void Show(std::span<const Value* const> inputs);
  bool Remembers();
  void Prepare(Parallel& parallel);
  void Infer(bool with_contents);
  std::ptrdiff_t CountKnown() const;  // outputs whose shapes inference knows
  void CheckType() const;
  void Place(std::span<const Value* const> inputs, std::span<Value* const> outputs);
  void RunKernel(std::span<Value* const> outputs, Parallel& parallel);
  void Allocate(std::size_t output, DType dtype, Dims shape);
  void Deliver(std::size_t output, Value& target);

  const Graph& graph_;
  const Node& original_;
  ops::Canonical canonical_;
  std::vector<ops::Slot> inputs_, outputs_;
  std::vector<ops::Slot*> input_pointers_, output_pointers_;
  std::vector<Type> output_types_;
  bool reads_contents_ = false;  // the types of the outputs follow from elements of the inputs, too
  runtime::LateShapes shapes_;
  ops::Prepared prepared_;  // without a function until the first call
  std::shared_ptr<Buffer> scratch_;
  Serial serial_;  // packing is not the session's work
};

// The calls of one operator: threads that call it at once each have their own.
class EagerCalls {
 public:
  EagerCalls() = default;
  EagerCalls(const EagerCalls&) = delete;
  EagerCalls& operator=(const EagerCalls&) = delete;
  ~EagerCalls() { Take(); }
  std::unique_ptr<EagerCall> Take() const {
    return std::unique_ptr<EagerCall>(spare_.exchange(nullptr, std::memory_order_acquire));
  }
  void Give(std::unique_ptr<EagerCall> call) const {
    const std::unique_ptr<EagerCall> other(spare_.exchange(call.release(), std::memory_order_acq_rel));
  }

 private:
  mutable std::atomic<EagerCall*> spare_{nullptr};
};

}  // namespace sardonyx::capi
