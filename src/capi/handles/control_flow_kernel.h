// capi/handles/control_flow_kernel.h - kernels of If, Loop and Scan that a plug-in gets from us and gives back as its
// own: they say that the executor runs the node.
#pragma once

#include <memory>
#include <string>

#include "capi/handles/kernel_info.h"
#include "onnxruntime_c_api.h"

namespace sardonyx::capi {

// `loop`, `scan`: the plug-in's helper, or NULL; the kernel owns it from now on. `session`: of the kernel.
OrtKernelImpl* NewControlFlowKernel(std::string op_type, std::shared_ptr<const KernelSession> session,
                                    OrtLoopKernelHelper* loop, OrtScanKernelHelper* scan);
bool IsControlFlowKernel(const OrtKernelImpl& kernel);

}  // namespace sardonyx::capi
