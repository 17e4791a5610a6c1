// tests/custom_ops/test_op.h - a small frame for custom operators, on the C interface alone.
#pragma once

#include <climits>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "onnxruntime_c_api.h"

namespace custom_ops {

extern const OrtApi* api;  // set when the library is registered
extern int kernels_made, kernels_destroyed;

// A status becomes an exception, so that the kernels read well; each callback turns it back (Guarded).
struct Failure : std::runtime_error {
  Failure(OrtErrorCode c, const std::string& text) : std::runtime_error(text), code(c) {}
  OrtErrorCode code;
};
inline void Check(OrtStatus* status) {
  if (status == nullptr) return;
  const Failure failure(api->GetErrorCode(status), api->GetErrorMessage(status));
  api->ReleaseStatus(status);
  throw failure;
}
template <typename Body>
OrtStatus* Guarded(Body&& body) {
  try {
    body();
    return nullptr;
  } catch (const Failure& failure) {
    return api->CreateStatus(failure.code, failure.what());
  } catch (const std::exception& error) {
    return api->CreateStatus(ORT_RUNTIME_EXCEPTION, error.what());
  }
}

using Type = ONNXTensorElementDataType;
using Option = OrtCustomOpInputOutputCharacteristic;
inline constexpr Type kAny = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED, kFloat = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                      kDouble = ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, kInt64 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,
                      kString = ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void Compute(OrtKernelContext* context) = 0;
};

struct Formal {
  Type type;
  Option option = INPUT_OUTPUT_REQUIRED;
};

// An operator whose facts are data. `make` creates a kernel.
struct TestOp : OrtCustomOp {
  using Make = Kernel* (*)(const OrtKernelInfo* info);

  TestOp(const char* op_name, std::vector<Formal> in, std::vector<Formal> out, Make make_kernel);
  // The form of ONNX Runtime before 1.16: without statuses. All fields that a struct of `struct_version` does not have
  // lead nowhere, so that reading one crashes.
  TestOp& OldForm(std::uint32_t struct_version);
  TestOp& Versions(int first, int last = INT_MAX);
  TestOp& Shapes(OrtStatus* (*infer)(const OrtCustomOp*, OrtShapeInferContext*));
  TestOp& Variadic(int least, bool homogeneous);

  const char* name;
  std::vector<Formal> inputs, outputs;
  Make make;
  int first_version = 1, last_version = INT_MAX;
  int variadic_least = 1;
  bool variadic_homogeneous = true;
};

// ---- What kernels need of the interface

struct Tensor {
  Type type = kAny;
  std::vector<std::int64_t> shape;
  std::size_t count = 0;
  const void* data = nullptr;  // of numbers
  template <typename T>
  const T* As() const {
    return static_cast<const T*>(data);
  }
};
const OrtValue* InputValue(OrtKernelContext* context, std::size_t i);  // NULL where the node has none
Tensor Look(const OrtValue* value);
Tensor Input(OrtKernelContext* context, std::size_t i);
OrtValue* OutputValue(OrtKernelContext* context, std::size_t i, const std::vector<std::int64_t>& shape);
template <typename T>
T* Output(OrtKernelContext* context, std::size_t i, const std::vector<std::int64_t>& shape) {
  OrtValue* value = OutputValue(context, i, shape);
  if (value == nullptr) return nullptr;
  void* data = nullptr;
  Check(api->GetTensorMutableData(value, &data));
  return static_cast<T*>(data);
}
std::vector<std::string> Texts(const OrtValue* value);
void GiveTexts(OrtKernelContext* context, std::size_t i, const std::vector<std::int64_t>& shape,
               const std::vector<std::string>& texts);
// The attribute, or `otherwise` where the node has none.
float FloatAttribute(const OrtKernelInfo* info, const char* name, float otherwise);
std::string TextAttribute(const OrtKernelInfo* info, const char* name, const std::string& otherwise);
// "code: " and, for success, "ok"; for comparing what calls answer.
std::string Outcome(OrtStatus* status);

// The operators of each file.
void AddBasicOps(OrtCustomOpDomain* domain);
void AddOldestOps(OrtCustomOpDomain* domain);  // structs of version 1, of which ONNX Runtime reads fields they lack
void AddReplacingOps(OrtCustomOpDomain* onnx, OrtCustomOpDomain* microsoft);
void AddInfoOps(OrtCustomOpDomain* domain);
void AddSequenceOps(OrtCustomOpDomain* domain);  // an output whose type follows from the model alone
void AddInvokeOps(OrtCustomOpDomain* domain);
void AddFaultyOps(OrtCustomOpDomain* domain);

}  // namespace custom_ops

// What tests call by name.
extern "C" {
ORT_EXPORT OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base);
ORT_EXPORT int CustomOpsKernelsMade();
ORT_EXPORT int CustomOpsKernelsDestroyed();
ORT_EXPORT int CustomOpsTicks();
ORT_EXPORT int CustomOpsKeptName(char* out, std::size_t size);
}
