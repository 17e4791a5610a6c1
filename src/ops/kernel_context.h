// ops/kernel_context.h - everything a CPU kernel may touch while it runs.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include "base/parallel.h"
#include "ops/op_def.h"
#include "tensor/value.h"

namespace sardonyx::ops {

// A tensor as a kernel sees it: borrowed bytes and shape, valid until the kernel returns. `Byte` is void for a tensor
// that the kernel writes and const void for one that it may only read, such as an input or a constant.
template <typename Byte>
struct BasicTensorRef {
  template <typename T>
  using Element = std::conditional_t<std::is_const_v<Byte>, const T, T>;

  DType dtype = DType::kUndefined;
  Byte* data = nullptr;  // std::string objects for kString; packed for types under a byte
  Dims shape;
  std::int64_t count = 0;
  // Elements from a row of the last axis to the next where they lie apart, as a part of a wider tensor; 0: they follow
  // each other. Only kernels whose row says so (OpDef::pitch) are given such tensors.
  std::int64_t pitch = 0;

  bool present() const { return dtype != DType::kUndefined; }
  std::size_t rank() const { return shape.size(); }
  std::int64_t dim(std::size_t i) const { return shape[i]; }
  template <typename T>
  Element<T>* As() const {
    return static_cast<Element<T>*>(data);
  }
  template <typename T>
  std::span<Element<T>> Span() const {
    return {As<T>(), static_cast<std::size_t>(count)};
  }
  std::int64_t RowPitch() const { return pitch != 0 || shape.empty() ? pitch : shape[shape.size() - 1]; }
  std::size_t byte_size() const { return ByteSize(dtype, count); }
  operator BasicTensorRef<const void>() const requires(!std::is_const_v<Byte>) {
    return {dtype, data, shape, count, pitch};
  }
};

using TensorRef = BasicTensorRef<const void>;
using OutputRef = BasicTensorRef<void>;

// An input or output during a run: a tensor (`ref`, whose bytes `value` owns if they are dynamic) or a value of another
// kind (`value`).
struct Slot {
  TensorRef ref;
  void* bytes = nullptr;  // ref.data where a kernel may write it: null for inputs, constants and views of them
  Value value;
  Shape shape;                       // storage of ref.shape where it is not the plan's
  std::shared_ptr<Buffer> retained;  // dynamic bytes kept for the next run

  void PlaceAt(void* memory) {
    bytes = memory;
    ref.data = memory;
  }
  void Clear() {
    ref = {};
    bytes = nullptr;
  }
  OutputRef output() const { return {ref.dtype, bytes, ref.shape, ref.count, ref.pitch}; }
};

class KernelContext;

// What the executor does for a kernel.
struct KernelHost {
  // Gives output i its shape (and element type, where the planned one is unknown) and memory.
  OutputRef (*allocate_output)(KernelContext&, std::size_t i, DType dtype, Dims shape);
  void (*set_output)(KernelContext&, std::size_t i, Value value);
  void (*run_subgraph)(KernelContext&, std::size_t subgraph, std::span<const Value> inputs, std::span<Value> outputs);
  void* (*scratch)(KernelContext&, std::size_t bytes);
  void (*check_cancelled)(KernelContext&);
};

class KernelContext {
 public:
  KernelContext(const KernelHost& host, void* executor, std::span<Slot* const> inputs, std::span<Slot* const> outputs,
                const void* state)
      : host_(&host), executor_(executor), inputs_(inputs), outputs_(outputs), state_(state) {}

  Parallel& parallel() const { return *parallel_; }
  template <typename State>
  const State& state() const {
    return *static_cast<const State*>(state_);
  }

  std::size_t InputCount() const { return inputs_.size(); }
  std::size_t OutputCount() const { return outputs_.size(); }
  bool HasInput(std::size_t i) const {
    return i < inputs_.size() && inputs_[i] != nullptr && (inputs_[i]->ref.present() || inputs_[i]->value.has_value());
  }
  bool HasOutput(std::size_t i) const { return i < outputs_.size() && outputs_[i] != nullptr; }
  const TensorRef& Input(std::size_t i) const { return inputs_[i]->ref; }  // a tensor, HasInput(i)
  bool IsTensor(std::size_t i) const { return HasInput(i) && inputs_[i]->ref.present(); }
  // Any kind. A tensor comes as a copy with its own bytes unless it already owns them (what goes into a sequence must
  // outlive the run's memory); for kinds other than tensors nothing is copied.
  Value InputValue(std::size_t i) const;

  // Output i with its planned shape. Only for outputs whose shape inference could compute from the inputs' shapes and
  // constants.
  OutputRef Output(std::size_t i) const { return outputs_[i]->output(); }
  // Output i with the shape only the kernel knows. If the plan had predicted this shape, the planned memory comes back.
  // A dtype is given where inference does not know it (kUndefined: the planned one).
  OutputRef Output(std::size_t i, Dims shape, DType dtype = DType::kUndefined) {
    return host_->allocate_output(*this, i, dtype, shape);
  }
  void SetOutput(std::size_t i, Value value) { host_->set_output(*this, i, std::move(value)); }

  // 64-byte aligned memory of this step until the kernel returns; one block: a second call invalidates the first.
  template <typename T = std::byte>
  T* Scratch(std::size_t count) {
    return static_cast<T*>(host_->scratch(*this, CheckedMul(count, sizeof(T), "the size of scratch memory")));
  }
  // Runs a body (PrepareContext::SubgraphIndex) with its explicit inputs; captured values are bound already. `outputs`
  // may hold tensors of an earlier call: their memory is used again where nobody else holds it.
  void RunSubgraph(std::size_t subgraph, std::span<const Value> inputs, std::span<Value> outputs) {
    host_->run_subgraph(*this, subgraph, inputs, outputs);
  }
  // Fails if the run was cancelled; for long loops.
  void CheckCancelled() { host_->check_cancelled(*this); }

  // For the executor.
  void set_parallel(Parallel* parallel) { parallel_ = parallel; }
  void set_state(const void* state) { state_ = state; }  // for kernels that wrap another one
  void* executor() const { return executor_; }
  std::span<Slot* const> inputs() const { return inputs_; }
  std::span<Slot* const> outputs() const { return outputs_; }
  void set_step(std::size_t step) { step_ = step; }
  std::size_t step() const { return step_; }

 private:
  const KernelHost* host_;
  void* executor_;
  std::span<Slot*const> inputs_, outputs_;
  const void* state_;
  Parallel* parallel_ = nullptr;
  std::size_t step_ = 0;
};

}  // namespace sardonyx::ops
