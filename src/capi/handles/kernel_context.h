// capi/handles/kernel_context.h - OrtKernelContext: the inputs and outputs of one call of a kernel.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "capi/handles/kernel_info.h"
#include "onnxruntime_c_api.h"
#include "ops/kernel_context.h"

// Valid while the kernel runs. Several threads may read the inputs at once.
struct OrtKernelContext {
 public:
  // Pairs of an input and an output that begins as that input's bytes.
  using Aliases = std::span<const std::pair<std::size_t, std::size_t>>;

  OrtKernelContext(sardonyx::ops::KernelContext& kernel, const sardonyx::capi::KernelFacts& facts,
                   Aliases aliases = {});
  OrtKernelContext(const OrtKernelContext&) = delete;
  OrtKernelContext& operator=(const OrtKernelContext&) = delete;

  std::size_t InputCount() const { return inputs_.size(); }
  std::size_t OutputCount() const { return outputs_.size(); }
  // nullptr for an input that the node leaves out.
  const sardonyx::Value* Input(std::size_t i) const;
  // Output i, a tensor of this shape; of other kinds of values the shape says nothing. nullptr for an output that
  // nobody wants.
  sardonyx::Value* Output(std::size_t i, sardonyx::Dims shape);
  // Output i if its memory is there before the kernel asks for it, else nullptr.
  sardonyx::Value* PreallocatedOutput(std::size_t i);
  bool HasMade(std::size_t i) const { return outputs_[i].has_value(); }
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
  std::vector<sardonyx::Value> inputs_, outputs_;
};
