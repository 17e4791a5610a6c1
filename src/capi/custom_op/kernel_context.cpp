// capi/custom_op/kernel_context.cpp - the functions of OrtKernelContext.
#include "capi/handles/kernel_context.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "capi/functions.h"
#include "capi/handles/allocator.h"
#include "capi/handles/call_out.h"
#include "capi/handles/memory_info.h"
#include "capi/handles/status.h"
#include "capi/handles/sync_stream.h"
#include "capi/handles/value.h"

namespace sardonyx::capi {
namespace {

std::shared_ptr<Allocator> MemoryFor(const OrtKernelContext& context, const OrtMemoryInfo* mem_info) {
  const OrtMemoryInfo& info = Need(mem_info, "mem_info");
  std::shared_ptr<Allocator> memory = context.facts().session->FindMemory(info.device);
  if (memory == nullptr)
    Fail(Code::kInvalidArgument, "mem_info: expected host memory or that of the kernel's provider, found '", info.name,
         "'");
  return memory;
}

}  // namespace

OrtStatusPtr ORT_API_CALL KernelContext_GetInputCount(const OrtKernelContext* context, size_t* out) noexcept {
  return Guard([&] { Need(out, "out") = Need(context, "context").InputCount(); });
}

OrtStatusPtr ORT_API_CALL KernelContext_GetOutputCount(const OrtKernelContext* context, size_t* out) noexcept {
  return Guard([&] { Need(out, "out") = Need(context, "context").OutputCount(); });
}

OrtStatusPtr ORT_API_CALL KernelContext_GetInput(const OrtKernelContext* context, size_t index,
                                                 const OrtValue** out) noexcept {
  return Guard([&] { Need(out, "out") = AsHandle(Need(context, "context").Input(index)); });
}

OrtStatusPtr ORT_API_CALL KernelContext_GetOutput(OrtKernelContext* context, size_t index, const int64_t* dim_values,
                                                  size_t dim_count, OrtValue** out) noexcept {
  return Guard([&] {
    Need(out, "out");
    OrtKernelContext& target = Need(context, "context");
    const Dims shape(NeedArray(dim_values, dim_count, "dim_values"), dim_count);
    for (const std::int64_t dim : shape) {
      if (dim < 0) Fail(Code::kFail, "output ", index, ": expected dimensions of at least 0, found ", ToText(shape));
    }
    *out = AsHandle(target.Output(index, shape));
  });
}

OrtStatusPtr ORT_API_CALL KernelContext_GetPreallocatedOutput(const OrtKernelContext* context, size_t output_index,
                                                              OrtValue** output) noexcept {
  return Guard([&] {
    if (output_index >= Need(context, "context").OutputCount())
      Fail(Code::kInvalidArgument, "output: expected an index below ", context->OutputCount(), ", found ",
           output_index);
    // What it finds is the output itself, which the caller may write as it may write what GetOutput returns.
    Need(output, "output") = AsHandle(const_cast<OrtKernelContext*>(context)->PreallocatedOutput(output_index));
  });
}

OrtStatusPtr ORT_API_CALL KernelContext_GetLogger(const OrtKernelContext* context, const OrtLogger** logger) noexcept {
  return Guard([&] { Need(logger, "logger") = &Need(context, "context").facts().session->logger; });
}

OrtStatusPtr ORT_API_CALL KernelContext_GetAllocator(const OrtKernelContext* context, const OrtMemoryInfo* mem_info,
                                                     OrtAllocator** out) noexcept {
  return Guard([&] {
    std::shared_ptr<Allocator> memory = MemoryFor(Need(context, "context"), mem_info);
    Need(out, "out");
    *out = NewAllocator(std::move(memory));
  });
}

// To be freed by an allocator of the same memory.
OrtStatusPtr ORT_API_CALL KernelContext_GetScratchBuffer(const OrtKernelContext* context, const OrtMemoryInfo* mem_info,
                                                         size_t count_or_bytes, void** out) noexcept {
  return Guard([&] {
    const std::shared_ptr<Allocator> memory = MemoryFor(Need(context, "context"), mem_info);
    Need(out, "out");
    *out = memory->Allocate(count_or_bytes);
  });
}

// NULL for kernels without a stream: all on the CPU.
OrtStatusPtr ORT_API_CALL KernelContext_GetGPUComputeStream(const OrtKernelContext* context, void** out) noexcept {
  return Guard([&] {
    const OrtSyncStream* stream = Need(context, "context").stream();
    Need(out, "out") = stream != nullptr ? stream->handle() : nullptr;
  });
}

OrtStatusPtr ORT_API_CALL KernelContext_GetSyncStream(const OrtKernelContext* context, OrtSyncStream** out) noexcept {
  return Guard([&] { Need(out, "out") = Need(context, "context").stream(); });
}

OrtStatusPtr ORT_API_CALL KernelContext_GetResource(const OrtKernelContext* context, int resource_version,
                                                    int resource_id, void** resource) noexcept {
  return Guard([&] {
    const KernelFacts& facts = Need(context, "context").facts();
    Need(resource, "resource") = nullptr;
    Fail(Code::kInvalidArgument, "resource ", resource_id, " (version ", resource_version,
         "): resources belong to the streams of providers that are not plug-ins, and node '", facts.node_name,
         "' runs without one");
  });
}

OrtStatusPtr ORT_API_CALL KernelContext_ParallelFor(const OrtKernelContext* context, void (*fn)(void*, size_t),
                                                    size_t total, size_t num_batch, void* usr_data) noexcept {
  return Guard([&] {
    Parallel& parallel = Need(context, "context").parallel();
    if (fn == nullptr) return;
    if (total > static_cast<std::size_t>(INT64_MAX))
      Fail(Code::kInvalidArgument, "ParallelFor: expected a total below 2^63, found ", total);
    const auto count = static_cast<std::int64_t>(total);
    // Without a number of batches, one for each thread.
    const auto batches = num_batch != 0
                             ? static_cast<std::int64_t>(std::min(num_batch, std::max<std::size_t>(total, 1)))
                             : parallel.ThreadCount();
    const std::int64_t grain = std::max<std::int64_t>(1, count / batches + (count % batches != 0 ? 1 : 0));
    parallel.For(count, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        CallOut<Code::kRuntimeException>("the function of ParallelFor", fn, usr_data, static_cast<std::size_t>(i));
    });
  });
}

}  // namespace sardonyx::capi
