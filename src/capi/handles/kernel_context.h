// capi/handles/kernel_context.h - OrtKernelContext: the inputs and outputs of one call of a kernel.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "capi/handles/kernel_info.h"
#include "capi/handles/kind.h"
#include "onnxruntime_c_api.h"
#include "ops/kernel_context.h"

namespace sardonyx::capi {

// The inputs and outputs of a call as values.
struct KernelValues {
  struct Entry {
    Value value;
    bool is_view =
        false;          // of memory that it does not own: the value may serve the next call if the memory is the same
    bool made = false;  // an output that the kernel has asked for
  };
  std::vector<Entry> inputs, outputs;
};

// Keeps the values of a node's last call for the next one, which mostly finds its tensors where they were. Calls at the
// same time make values of their own.
class SpareValues {
 public:
  SpareValues() = default;
  SpareValues(const SpareValues&) = delete;
  SpareValues& operator=(const SpareValues&) = delete;
  ~SpareValues() { Take(); }

  std::unique_ptr<KernelValues> Take() {
    return std::unique_ptr<KernelValues>(spare_.exchange(nullptr, std::memory_order_acquire));
  }
  void Give(std::unique_ptr<KernelValues> values) {
    const std::unique_ptr<KernelValues> other(spare_.exchange(values.release(), std::memory_order_acq_rel));
  }

 private:
  std::atomic<KernelValues*> spare_{nullptr};
};

}  // namespace sardonyx::capi

// Valid while the kernel runs. Several threads may read the inputs at once.
struct OrtKernelContext {
 public:
  sardonyx::capi::Mark<sardonyx::capi::Kind::kKernelContext> mark;
  // Pairs of an input and an output that begins as that input's bytes.
  using Aliases = std::span<const std::pair<std::size_t, std::size_t>>;

  OrtKernelContext(sardonyx::ops::KernelContext& kernel, const sardonyx::capi::KernelFacts& facts, Aliases aliases = {},
                   sardonyx::capi::SpareValues* spare = nullptr);
  ~OrtKernelContext();
  OrtKernelContext(const OrtKernelContext&) = delete;
  OrtKernelContext& operator=(const OrtKernelContext&) = delete;

  std::size_t InputCount() const { return values_->inputs.size(); }
  std::size_t OutputCount() const { return values_->outputs.size(); }
  // nullptr for an input that the node leaves out.
  const sardonyx::Value* Input(std::size_t i) const;
  // Output i, a tensor of this shape; of other kinds of values the shape says nothing. nullptr for an output that
  // nobody wants.
  sardonyx::Value* Output(std::size_t i, sardonyx::Dims shape);
  // Output i if its memory is there before the kernel asks for it, else nullptr.
  sardonyx::Value* PreallocatedOutput(std::size_t i);
  bool HasMade(std::size_t i) const { return values_->outputs[i].made && values_->outputs[i].value.has_value(); }
  // Fails naming `callee`, which has returned, unless it has made every output that is wanted: the memory of one that
  // it has not holds whatever was there before. An output of an optional type may be left empty.
  void CheckMade(const std::string& callee) const;
  // Hands over the outputs that are not tensors. To be called when the kernel has returned.
  void Finish();

  // The stream that takes the kernel's work; nullptr if its work is to be done when it returns.
  OrtSyncStream* stream() const { return stream_; }
  sardonyx::Parallel& parallel() const { return kernel_.parallel(); }
  const sardonyx::capi::KernelFacts& facts() const { return facts_; }

 private:
  sardonyx::ops::KernelContext& kernel_;
  const sardonyx::capi::KernelFacts& facts_;
  Aliases aliases_;
  OrtSyncStream* stream_;
  sardonyx::capi::SpareValues* spare_;  // nullptr: the values are not kept
  std::unique_ptr<sardonyx::capi::KernelValues> values_;
};
