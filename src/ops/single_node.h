// ops/single_node.h - runs one node by itself: infers its shapes from the values at hand, allocates its outputs and
// runs its kernel.
//
// Folding (ops/evaluate.h) and the steps of a run whose shapes come with the data (runtime/run_late.cpp) share it; they
// differ in whose memory the outputs get and in who relies on the shapes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "ir/graph.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"

namespace sardonyx::ops {

// What inference may know of an input of a single node.
struct SeenInput {
  const Slot* slot = nullptr;  // null: the node has none
  const Type* type = nullptr;  // where the slot holds no tensor; null: unknown
  bool present = false;        // there is one, though perhaps without a value yet
  bool with_contents = false;  // inference may look at the elements
};

// Types and contents of the outputs of `node`, which is in its newest spelling. `bodies` as in InferContext.
std::vector<InferContext::Output> InferSingle(const Graph& graph, const Node& node, const OpDef& op,
                                              std::span<const SeenInput> inputs,
                                              const InferContext::SubgraphFn& bodies);

// An output's type, as far as memory can be given for it before the kernel runs.
struct OutputShape {
  bool known = false;
  DType dtype = DType::kUndefined;
  Shape shape;
};
OutputShape OutputShapeOf(const Type& type);

// Memory of a slot for a tensor: what it keeps from call to call serves again while nobody else holds it.
void AllocateDynamic(Slot& slot, DType dtype, Dims shape,
                     const std::shared_ptr<Allocator>& allocator = HostAllocator());

// Fails where limits leave no room for the texts that a string output of this shape may hold.
void CheckTexts(const KernelContext& c, const OpDef& op, Dims shape);

// The shape that others rely on for output i; null where nobody does.
using PromisedFn = FunctionRef<const Shape*(std::size_t i)>;
// Fails where an output has another shape than promised.
void CheckPromised(const KernelContext& c, PromisedFn promised);

// Gives outputs of known shape memory, calls run(), and checks what was promised.
struct SingleRun {
  FunctionRef<void(std::size_t i, DType dtype, Dims shape)> allocate;
  FunctionRef<void()> run;
  PromisedFn promised;
};
void RunSingle(const KernelContext& c, const OpDef& op, std::span<const OutputShape> shapes, const SingleRun& how);

}  // namespace sardonyx::ops
