// runtime/weight_memory.cpp - releases mapped pages, shares constants, and drops weights.
#include "runtime/weight_memory.h"

#include <utility>

#include "base/error.h"
#include "base/mapped_file.h"
#include "runtime/sharing/compiled_weights.h"
#include "runtime/sharing/shared_parts.h"
#include "tensor/dropped_bytes.h"
#include "tensor/shared_bytes.h"

namespace sardonyx::runtime {
namespace {

const MappedFile* FileOf(const Tensor& tensor) {
  return tensor.buffer() ? MappedFile::Behind(tensor.buffer()->owner()) : nullptr;
}

}  // namespace

bool IsMapped(const Tensor& tensor) { return FileOf(tensor) != nullptr; }

void ReleasePages(const Tensor& tensor) {
  if (tensor.buffer()) MappedFile::ReleaseBehind(tensor.buffer()->owner(), tensor.raw(), tensor.byte_size());
}

std::set<const Buffer*> CallersBuffers(const SessionOptions& options) {
  std::set<const Buffer*> buffers;
  for (const auto* given : {&options.initializers, &options.external_initializers})
    for (const auto& [name, value] : *given)
      if (value.is_tensor()) buffers.insert(value.tensor().buffer().get());
  return buffers;
}

std::shared_ptr<CompiledWeights> WeightsOfCompiled(model::CompiledParts parts, const SessionOptions& options,
                                                   const Logger& logger) {
  for (const auto* given : {&options.initializers, &options.external_initializers}) {
    if (given->empty()) continue;
    Fail(Code::kInvalidArgument, "initializer '", given->begin()->first,
         "': expected a model whose weights may be replaced, found a compiled one; replace them in the model from "
         "which it is compiled");
  }
  return std::make_shared<CompiledWeights>(std::move(parts), logger);
}

void ShareConstants(Graph& graph, const std::set<const Buffer*>& callers) {
  for (std::size_t id = 0; id < graph.values.size(); ++id) {
    const std::shared_ptr<const Initializer> old = graph.values[id].initializer;
    if (!old || !HasData(old->tensor) || callers.count(old->tensor.buffer().get()) != 0) continue;
    auto replaced = std::make_unique<Initializer>(*old);  // a block of its own: it goes before those who remember it
    replaced->tensor = Shared(old->tensor);
    graph.values[id].initializer = SharedInitializer(std::move(replaced));
  }
  for (const NodeId id : graph.order) {
    for (Attribute& attribute : graph.node(id).attributes)
      if (auto* tensor = std::get_if<Tensor>(&attribute.value)) *tensor = Shared(*tensor);
    for (Graph* body : graph.node(id).Subgraphs()) ShareConstants(*body, callers);
  }
}

bool DropWeights(Graph& graph) {
  bool any = false;
  constexpr std::size_t kWorthDropping = 4096;
  const auto heavy = [](const Tensor& tensor) {
    return tensor.byte_size() >= kWorthDropping && !IsString(tensor.dtype()) && !IsMapped(tensor);
  };
  for (ValueInfo& value : graph.values) {
    if (!value.initializer || !heavy(value.initializer->tensor)) continue;
    auto dropped = std::make_shared<Initializer>(*value.initializer);
    dropped->tensor = WithoutData(dropped->tensor);
    dropped->sparse.reset();
    value.initializer = std::move(dropped);
    any = true;
  }
  for (const NodeId id : graph.order) {
    for (Attribute& attribute : graph.node(id).attributes) {
      auto* tensor = std::get_if<Tensor>(&attribute.value);
      if (tensor == nullptr || !heavy(*tensor)) continue;
      *tensor = WithoutData(*tensor);
      any = true;
    }
    for (Graph* body : graph.node(id).Subgraphs()) any = DropWeights(*body) || any;
  }
  return any;
}

}  // namespace sardonyx::runtime
