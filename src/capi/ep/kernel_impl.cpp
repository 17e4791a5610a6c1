// capi/ep/kernel_impl.cpp - what a plug-in asks of us for its kernels: control flow, and weights to be shared.
#include "capi/functions.h"
#include "capi/handles/call_out.h"
#include "capi/handles/control_flow_kernel.h"
#include "capi/handles/kernel_info.h"
#include "capi/handles/shared_weights.h"
#include "capi/handles/status.h"

namespace sardonyx::capi::ep {
namespace {

void CheckOperator(const OrtKernelInfo* info, const char* op_type) {
  const KernelFacts& facts = *Need(info, "kernel_info").facts;
  if (facts.op_type != op_type || !facts.domain.empty()) {
    Fail(Code::kInvalidArgument, "Create", op_type, "Kernel: node '", facts.node_name, "': expected the operator ",
         op_type, ", found ", facts.domain.empty() ? "" : facts.domain + ".", facts.op_type);
  }
}

template <typename Helper>
Helper& CheckHelper(Helper* helper) {
  if (Need(helper, "helper").Release == nullptr)
    Fail(Code::kInvalidArgument, "argument 'helper': expected a function Release, found NULL");
  return *helper;
}

}  // namespace

OrtStatusPtr ORT_API_CALL CreateIfKernel(const OrtKernelInfo* kernel_info, OrtKernelImpl** kernel_out) noexcept {
  return Guard([&] {
    CheckOperator(kernel_info, "If");
    Need(kernel_out, "kernel_out") = NewControlFlowKernel("If", kernel_info->facts->session, nullptr, nullptr);
  });
}

OrtStatusPtr ORT_API_CALL CreateLoopKernel(const OrtKernelInfo* kernel_info, OrtLoopKernelHelper* helper,
                                           OrtKernelImpl** kernel_out) noexcept {
  return Guard([&] {
    CheckOperator(kernel_info, "Loop");
    auto& result = Need(kernel_out, "kernel_out");
    if (CheckHelper(helper).ConcatOutput == nullptr)
      Fail(Code::kInvalidArgument, "argument 'helper': expected a function ConcatOutput, found NULL");
    result = NewControlFlowKernel("Loop", kernel_info->facts->session, helper, nullptr);
  });
}

OrtStatusPtr ORT_API_CALL CreateScanKernel(const OrtKernelInfo* kernel_info, OrtScanKernelHelper* helper,
                                           OrtKernelImpl** kernel_out) noexcept {
  return Guard([&] {
    CheckOperator(kernel_info, "Scan");
    auto& result = Need(kernel_out, "kernel_out");
    if (CheckHelper(helper).Transpose == nullptr)
      Fail(Code::kInvalidArgument, "argument 'helper': expected a function Transpose, found NULL");
    result = NewControlFlowKernel("Scan", kernel_info->facts->session, nullptr, helper);
  });
}

void ORT_API_CALL ReleaseKernelImpl(OrtKernelImpl* input) noexcept {
  if (input == nullptr || input->Release == nullptr) return;
  FreeStatus(Guard([&] { CallOut("OrtKernelImpl::Release", input->Release, input); }));
}

OrtStatusPtr ORT_API_CALL SharedPrePackedWeightCache_StoreWeightData(
    OrtSharedPrePackedWeightCache* prepacked_weight_cache, void** buffer_data_ptrs, size_t* buffer_data_sizes,
    size_t num_buffers) noexcept {
  return Guard([&] {
    OrtSharedPrePackedWeightCache& cache = Need(prepacked_weight_cache, "prepacked_weight_cache");
    NeedArray(buffer_data_ptrs, num_buffers, "buffer_data_ptrs");
    NeedArray(buffer_data_sizes, num_buffers, "buffer_data_sizes");
    if (num_buffers == 0) Fail(Code::kInvalidArgument, "packed weights: expected at least one buffer, found none");
    if (!cache.data.empty()) Fail(Code::kInvalidArgument, "packed weights: those of this input are stored already");
    cache.sizes.assign(buffer_data_sizes, buffer_data_sizes + num_buffers);
    cache.data.assign(buffer_data_ptrs, buffer_data_ptrs + num_buffers);
  });
}

}  // namespace sardonyx::capi::ep
