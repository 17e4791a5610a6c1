// tests/custom_ops/library.cpp - a library of custom operators, as authors make them for ONNX Runtime: it knows the
// public header and what RegisterCustomOps is given, nothing else.
#include <cstdlib>

#include "test_op.h"

using custom_ops::Check;

static OrtCustomOpDomain *domain = nullptr, *onnx = nullptr, *microsoft = nullptr;

OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
  custom_ops::api = base->GetApi(ORT_API_VERSION);
  return custom_ops::Guarded([&] {
    if (domain == nullptr) {
      Check(custom_ops::api->CreateCustomOpDomain("test.custom", &domain));
      custom_ops::AddBasicOps(domain);
      if (std::getenv("CUSTOM_OPS_MORE") != nullptr) {  // operators that ONNX Runtime refuses
        custom_ops::AddOldestOps(domain);
        custom_ops::AddSequenceOps(domain);
      }
      custom_ops::AddInfoOps(domain);
      custom_ops::AddInvokeOps(domain);
      custom_ops::AddFaultyOps(domain);
    }
    Check(custom_ops::api->AddCustomOpDomain(options, domain));
    if (std::getenv("CUSTOM_OPS_REPLACE") == nullptr) return;
    if (onnx == nullptr) {  // operators that have the names of built-in ones
      Check(custom_ops::api->CreateCustomOpDomain("", &onnx));
      Check(custom_ops::api->CreateCustomOpDomain("com.microsoft", &microsoft));
      custom_ops::AddReplacingOps(onnx, microsoft);
    }
    Check(custom_ops::api->AddCustomOpDomain(options, onnx));
    Check(custom_ops::api->AddCustomOpDomain(options, microsoft));
  });
}

// The number of kernels made and destroyed since the library was opened.
int CustomOpsKernelsMade() { return custom_ops::kernels_made; }
int CustomOpsKernelsDestroyed() { return custom_ops::kernels_destroyed; }
