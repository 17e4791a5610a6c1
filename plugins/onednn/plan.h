// plugins/onednn/plan.h - what a compiled group does for inputs of certain shapes: primitives in order, and the memory
// between them. One run at a time uses a plan.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "model.h"

namespace sardonyx_onednn {

struct Buffer {
  enum class Kind { kArena, kInput, kOutput, kConstant };
  Kind kind = Kind::kArena;
  std::size_t index = 0;      // among the inputs or outputs
  dnnl::memory constant;      // the memory of a constant
  std::size_t size = 0;       // of the arena's
  std::size_t offset = 0;     // in the arena
  int first = -1, last = -1;  // the steps that use it
};

struct StepArgument {
  int argument = 0;  // DNNL_ARG_...
  dnnl::memory::desc desc;
  int buffer = -1;
};

// Computes with the memory of a step's arguments, in their order.
using NativeFunction = std::function<void(std::span<void* const>)>;

class Plan {
 public:
  explicit Plan(const dnnl::engine& engine) : engine_(engine), stream_(engine) {}

  int AddBuffer(Buffer buffer);
  Buffer& buffer(int index) { return buffers_[static_cast<std::size_t>(index)]; }
  void AddPrimitive(const std::string& node, const dnnl::primitive& primitive, std::vector<StepArgument> arguments);
  void AddNative(const std::string& node, NativeFunction function, std::vector<StepArgument> arguments);

  // To be called once, after the last step: places the buffers.
  void Finish(std::vector<Dims> output_dims);

  const std::vector<Dims>& output_dims() const { return output_dims_; }
  // The places of the constants that it reads.
  std::set<const void*> Constants() const;
  // Each pointer to as many bytes as the shapes say.
  void Run(std::span<const void* const> inputs, std::span<void* const> outputs);

 private:
  struct Step {
    std::string node;
    dnnl::primitive primitive;
    NativeFunction native;
    std::vector<StepArgument> arguments;
    std::vector<dnnl::memory> memories;     // one for each argument
    std::vector<dnnl_exec_arg_t> prepared;  // the same, as oneDNN's C function takes them
  };
  struct External {
    dnnl::memory memory;
    std::size_t index = 0;
  };

  void PlaceBuffers();

  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<Buffer> buffers_;
  std::vector<Step> steps_;
  std::vector<Dims> output_dims_;
  std::unique_ptr<std::byte, decltype(&std::free)> arena_{nullptr, &std::free};
  std::size_t arena_size_ = 0;
  std::vector<External> inputs_, outputs_;
};

}  // namespace sardonyx_onednn
