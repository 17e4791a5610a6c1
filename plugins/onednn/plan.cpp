// plugins/onednn/plan.cpp - places the memory of a plan and runs it.
#include "plan.h"

#include <algorithm>
#include <numeric>

namespace sardonyx_onednn {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t Aligned(std::size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

int Plan::AddBuffer(Buffer buffer) {
  buffers_.push_back(std::move(buffer));
  return static_cast<int>(buffers_.size()) - 1;
}

void Plan::AddPrimitive(const std::string& node, const dnnl::primitive& primitive,
                        std::vector<StepArgument> arguments) {
  steps_.push_back({.node = node,
                    .primitive = primitive,
                    .native = {},
                    .arguments = std::move(arguments),
                    .memories = {},
                    .prepared = {}});
}

void Plan::AddNative(const std::string& node, NativeFunction function, std::vector<StepArgument> arguments) {
  steps_.push_back({.node = node,
                    .primitive = {},
                    .native = std::move(function),
                    .arguments = std::move(arguments),
                    .memories = {},
                    .prepared = {}});
}

// The largest first, each at the lowest place where no buffer of an overlapping lifetime lies.
void Plan::PlaceBuffers() {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    for (const StepArgument& argument : steps_[i].arguments) {
      Buffer& used = buffer(argument.buffer);
      if (used.first < 0) used.first = static_cast<int>(i);
      used.last = static_cast<int>(i);
    }
  }
  std::vector<Buffer*> waiting, placed;
  for (Buffer& each : buffers_)
    if (each.kind == Buffer::Kind::kArena && each.first >= 0) waiting.push_back(&each);
  std::stable_sort(waiting.begin(), waiting.end(), [](const Buffer* a, const Buffer* b) { return a->size > b->size; });
  for (Buffer* next : waiting) {
    std::size_t offset = 0;
    for (const Buffer* other : placed) {  // sorted by offset
      if (other->last < next->first || next->last < other->first) continue;
      if (offset + next->size <= other->offset) break;
      offset = std::max(offset, other->offset + Aligned(other->size));
    }
    next->offset = offset;
    arena_size_ = std::max(arena_size_, offset + Aligned(next->size));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), next,
                                   [](const Buffer* a, const Buffer* b) { return a->offset < b->offset; }),
                  next);
  }
}

void Plan::Finish(std::vector<Dims> output_dims) {
  output_dims_ = std::move(output_dims);
  PlaceBuffers();
  if (arena_size_ != 0) {
    arena_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, arena_size_)));
    if (arena_ == nullptr)
      throw Failure(ORT_EP_FAIL, "expected " + std::to_string(arena_size_) + " bytes for intermediate results");
  }
  for (Step& step : steps_) {
    for (const StepArgument& argument : step.arguments) {
      const Buffer& used = buffer(argument.buffer);
      void* place = DNNL_MEMORY_NONE;
      if (used.kind == Buffer::Kind::kArena) place = arena_.get() + used.offset;
      if (used.kind == Buffer::Kind::kConstant) place = used.constant.get_data_handle();
      step.memories.emplace_back(argument.desc, engine_, place);
      step.prepared.push_back({argument.argument, step.memories.back().get()});
      if (used.kind == Buffer::Kind::kInput) inputs_.push_back({step.memories.back(), used.index});
      if (used.kind == Buffer::Kind::kOutput) outputs_.push_back({step.memories.back(), used.index});
    }
  }
}

std::set<const void*> Plan::Constants() const {
  std::set<const void*> places;
  for (const Step& step : steps_)
    for (const StepArgument& argument : step.arguments)
      if (const Buffer& used = buffers_[static_cast<std::size_t>(argument.buffer)]; used.constant)
        places.insert(used.constant.get_data_handle());
  return places;
}

void Plan::Run(std::span<const void* const> inputs, std::span<void* const> outputs) {
  for (const External& each : inputs_) each.memory.set_data_handle(const_cast<void*>(inputs[each.index]));
  for (const External& each : outputs_) each.memory.set_data_handle(outputs[each.index]);
  for (const Step& step : steps_) {
    if (step.native) {
      std::vector<void*> places;
      for (const dnnl::memory& memory : step.memories) places.push_back(memory.get_data_handle());
      step.native(places);
      continue;
    }
    const dnnl_status_t status = dnnl_primitive_execute(step.primitive.get(), stream_.get(),
                                                        static_cast<int>(step.prepared.size()), step.prepared.data());
    if (status != dnnl_success)
      throw Failure(ORT_EP_FAIL, step.node + ": oneDNN failed with status " + std::to_string(status));
  }
  stream_.wait();
}

}  // namespace sardonyx_onednn
