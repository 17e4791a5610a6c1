// tests/custom_ops/faulty_ops.cpp - operators that fail, as attribute `where` says.
#include "test_op.h"

namespace custom_ops {
namespace {

// Fails with ORT_NOT_FOUND, or throws from a function that should have returned a status.
class Faulty final : public Kernel {
 public:
  explicit Faulty(std::string where) : where_(std::move(where)) {}
  static Kernel* Make(const OrtKernelInfo* info) {
    const std::string where = TextAttribute(info, "where", "");
    if (where == "create") throw Failure(ORT_NOT_FOUND, "the words file is missing");
    return new Faulty(where);
  }
  void Compute(OrtKernelContext* context) override {
    if (where_ == "compute") throw Failure(ORT_NOT_FOUND, "the word is missing");
    if (where_ == "no output") return;
    *Output<float>(context, 0, {}) = 1;
  }

 private:
  std::string where_;
};

OrtStatus* ORT_API_CALL FailToInfer(const OrtCustomOp*, OrtShapeInferContext* context) {
  const OrtOpAttr* attribute = nullptr;
  OrtStatus* missing = api->ShapeInferContext_GetAttribute(context, "infer", &attribute);
  if (missing != nullptr) {
    api->ReleaseStatus(missing);
    return nullptr;
  }
  OrtStatus* status = api->CreateStatus(ORT_INVALID_ARGUMENT, "no shape can be told");
  std::int64_t form = 0;
  std::size_t size = 0;
  api->ReleaseStatus(api->ReadOpAttr(attribute, ORT_OP_ATTR_INT, &form, sizeof form, &size));
  // 2: as the functions of ONNX Runtime's C++ header, which return what a destroyed Ort::Status held
  if (form == 2) api->ReleaseStatus(status);
  return status;
}

}  // namespace

void AddFaultyOps(OrtCustomOpDomain* domain) {
  static TestOp faulty("Faulty", {{kFloat}}, {{kFloat}}, Faulty::Make);
  faulty.Shapes(FailToInfer);
  static TestOp faulty_old("FaultyOld", {{kFloat}}, {{kFloat}}, Faulty::Make);
  faulty_old.OldForm(8);  // its exceptions go through the C interface
  static TestOp elsewhere("OnGpu", {{kFloat}}, {{kFloat}}, Faulty::Make);
  elsewhere.GetExecutionProviderType = [](const OrtCustomOp*) { return "CUDAExecutionProvider"; };
  for (TestOp* op : {&faulty, &faulty_old, &elsewhere}) Check(api->CustomOpDomain_Add(domain, op));
}

}  // namespace custom_ops
