// capi/handles/control_flow_kernel.cpp - makes and releases the kernels of control flow.
#include "capi/handles/control_flow_kernel.h"

#include <memory>
#include <utility>

#include "base/error.h"
#include "capi/handles/call_release.h"
#include "capi/handles/status.h"

namespace sardonyx::capi {
namespace {

struct ControlFlowKernel : OrtKernelImpl {
  std::string op_type;
  std::shared_ptr<const KernelSession> session;
  OrtLoopKernelHelper* loop = nullptr;
  OrtScanKernelHelper* scan = nullptr;
};

template <typename Helper>
void FreeHelper(const KernelSession& session, const char* callee, Helper* helper) noexcept {
  if (helper == nullptr || helper->Release == nullptr) return;
  CallRelease(session.logger.logger, session.provider + ": " + callee, helper->Release, helper);
}

void ORT_API_CALL Release(OrtKernelImpl* kernel) noexcept {
  const std::unique_ptr<ControlFlowKernel> owned(static_cast<ControlFlowKernel*>(kernel));
  FreeHelper(*owned->session, "OrtLoopKernelHelper::Release", owned->loop);
  FreeHelper(*owned->session, "OrtScanKernelHelper::Release", owned->scan);
}

// The executor looks through the kernels that plug-ins return; one that wraps this one would have to come here.
OrtStatusPtr ORT_API_CALL Compute(OrtKernelImpl* kernel, OrtKernelContext* /*context*/) noexcept {
  return Guard([&] {
    const std::string& op_type = static_cast<const ControlFlowKernel*>(kernel)->op_type;
    Fail(Code::kNotImplemented, "OrtKernelImpl::Compute is not implemented for the kernel that Create", op_type,
         "Kernel made: return that kernel itself from OrtKernelCreateFunc");
  });
}

}  // namespace

OrtKernelImpl* NewControlFlowKernel(std::string op_type, std::shared_ptr<const KernelSession> session,
                                    OrtLoopKernelHelper* loop, OrtScanKernelHelper* scan) {
  auto kernel = std::make_unique<ControlFlowKernel>();
  kernel->ort_version_supported = ORT_API_VERSION;
  kernel->Compute = Compute;
  kernel->Release = Release;
  kernel->op_type = std::move(op_type);
  kernel->session = std::move(session);
  kernel->loop = loop;
  kernel->scan = scan;
  return kernel.release();
}

bool IsControlFlowKernel(const OrtKernelImpl& kernel) { return kernel.Compute == Compute; }

}  // namespace sardonyx::capi
