// capi/custom_op/kernel.cpp - infers, creates and runs the kernels of custom operators.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "capi/api_table.h"
#include "capi/custom_op/operators.h"
#include "capi/handles/call_out.h"
#include "capi/handles/call_release.h"
#include "capi/handles/element_type.h"
#include "capi/handles/kernel_context.h"
#include "capi/handles/shape_infer_context.h"
#include "ir/node_error.h"
#include "ops/infer_context.h"
#include "ops/prepare_context.h"

namespace sardonyx::capi {
namespace {

const CustomOperator& OperatorOf(const ops::OpDef& row) { return static_cast<const CustomOperator&>(row); }

template <typename Context>
NodeTypes TypesOf(const Context& c) {
  NodeTypes types;
  for (std::size_t i = 0; i < c.InputCount(); ++i)
    types.inputs.push_back(c.HasInput(i) ? std::optional<Type>(c.InputType(i)) : std::nullopt);
  for (std::size_t i = 0; i < c.OutputCount(); ++i) types.outputs.push_back(c.HasOutput(i));
  return types;
}

bool IsForCpu(const Signature& signature) {
  return signature.provider.empty() || signature.provider == "CPUExecutionProvider";
}

// The overloads that the node may mean, those with a kernel for the CPU if there are some; never none.
template <typename Context>
std::vector<const Signature*> Choose(const Context& c, const CustomOperator& op) {
  const NodeTypes types = TypesOf(c);
  std::vector<const Signature*> fitting;
  std::string why;
  for (const Signature& overload : op.overloads) {
    why = WhyNot(overload, types);
    if (why.empty()) fitting.push_back(&overload);
  }
  const auto foreign = std::stable_partition(fitting.begin(), fitting.end(),
                                             [](const Signature* signature) { return IsForCpu(*signature); });
  if (foreign != fitting.begin()) fitting.erase(foreign, fitting.end());
  if (!fitting.empty()) return fitting;
  if (op.overloads.size() == 1) c.Fail(Code::kInvalidGraph, "custom operator ", op.overloads[0].ToText(), ": ", why);
  std::string found, known;
  for (const auto& input : types.inputs) found += (found.empty() ? "" : ", ") + (input ? input->ToText() : "nothing");
  for (const Signature& overload : op.overloads) known += (known.empty() ? "" : "; ") + overload.ToText();
  c.Fail(Code::kInvalidGraph, "expected inputs that one of the operator's kernels takes, ", known, "; found (", found,
         ")");
}

bool IsKnown(const Type& type) { return !type.is_none() && (!type.is_tensor() || type.dtype != DType::kUndefined); }

// An output of any type has the type that the model declares, or else that of the first input of any type.
Type TypeOfAny(const ops::InferContext& c, const Signature& signature, std::size_t output) {
  const Type& declared = c.graph().value(c.node().outputs[output]).type;
  if (IsKnown(declared)) return declared.is_tensor() ? Type::TensorOf(declared.dtype) : declared;
  for (std::size_t i = 0; i < c.InputCount(); ++i) {
    if (!c.HasInput(i) || signature.inputs.At(i)->dtype != DType::kUndefined || c.InputType(i).is_none()) continue;
    return c.InputType(i).is_tensor() ? Type::TensorOf(c.InputDType(i)) : c.InputType(i);
  }
  return {};
}

// The types that the library's function predicts.
void InferShapes(ops::InferContext& c, const CustomOperator& op, const Signature& signature, std::vector<Type>& types) {
  for (std::size_t i = 0; i < c.InputCount(); ++i)
    if (c.HasInput(i) && !c.InputType(i).is_tensor()) return;
  OrtShapeInferContext context(c);
  const std::string callee = "custom operator " + signature.name + ": InferOutputShapeFn";
  try {
    const StatusWatch watch;
    OrtStatus* status = nullptr;
    CallOut(callee.c_str(), [&] { status = signature.op->InferOutputShapeFn(signature.op, &context); });
    if (watch.Lives(status)) ThrowIfError(status, callee.c_str());
    if (status != nullptr) Fail(Code::kFail, callee, ": it failed, and freed the status that says why");
  } catch (const Error& error) {  // the kernel knows its shapes all the same
    return op.session->WarnOfShapes(signature, AtNode(c.graph(), c.node(), error));
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (context.outputs[i] == nullptr) continue;
    const OrtTensorTypeAndShapeInfo& info = *context.outputs[i];
    DType dtype = signature.outputs.At(i)->dtype;
    if (dtype == DType::kUndefined && info.element_type != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED)
      dtype = FromElementType(info.element_type);
    if (dtype == DType::kUndefined) dtype = types[i].dtype;
    std::vector<Dim> dims;
    for (std::size_t d = 0; d < info.dims.size(); ++d)
      dims.push_back(info.dims[d] >= 0 ? Dim(info.dims[d]) : Dim::Symbol(info.symbols[d]));
    types[i] = Type::TensorOf(dtype, std::move(dims));
  }
}

// A kernel of the library, destroyed with the last program that runs it.
class CustomKernel {
 public:
  CustomKernel(const ops::PrepareContext& c, const Signature& signature, CustomOperators& session)
      : session_(session.shared_from_this()),
        signature_(signature),
        info_{{}, FactsOf(c, session.kernel_session())},
        compute_(Callee(signature.HasV2Compute() ? "KernelComputeV2" : "KernelCompute")) {
    const OrtApi* api = ApiBase().GetApi(signature_.version);
    const OrtCustomOp* op = signature_.op;
    if (signature_.HasV2Create()) {
      Create(api);
    } else {
      handle_ = CallOut<Code::kRuntimeException>(Callee("CreateKernel").c_str(), op->CreateKernel, op, api, &info_);
    }
  }  // nothing that can fail comes after the kernel is made: it would not be destroyed
  CustomKernel(const CustomKernel&) = delete;
  CustomKernel& operator=(const CustomKernel&) = delete;
  ~CustomKernel() {
    if (signature_.op->KernelDestroy == nullptr) return;
    CallRelease(session_->logger(), Callee("KernelDestroy"), signature_.op->KernelDestroy, handle_);
  }

  void Run(ops::KernelContext& c) const {
    OrtKernelContext context(c, *info_.facts, signature_.aliases, &spare_);
    const OrtCustomOp* op = signature_.op;
    if (signature_.HasV2Compute()) {
      CallOut<Code::kRuntimeException>(compute_.c_str(), op->KernelComputeV2, handle_, &context);
    } else {
      CallOut<Code::kRuntimeException>(compute_.c_str(), op->KernelCompute, handle_, &context);
    }
    for (std::size_t i = 0; i < c.OutputCount(); ++i) {
      if (!c.HasOutput(i) || context.HasMade(i) || signature_.outputs.At(i)->option == INPUT_OUTPUT_OPTIONAL) continue;
      Fail(Code::kRuntimeException, compute_, ": expected a call of KernelContext_GetOutput for output ", i,
           ", found none");
    }
    context.Finish();
  }

 private:
  // Whatever code the library gives, a session that cannot be created for want of a kernel has this one.
  void Create(const OrtApi* api) {
    try {
      CallOut(Callee("CreateKernelV2").c_str(), signature_.op->CreateKernelV2, signature_.op, api, &info_, &handle_);
    } catch (const Error& error) {
      throw Error(Code::kRuntimeException, error.what());
    }
  }

  std::string Callee(const char* function) const { return "custom operator " + signature_.name + ": " + function; }

  std::shared_ptr<CustomOperators> session_;  // shared by the session's kernels; keeps the library open
  const Signature& signature_;
  OrtKernelInfo info_;   // the library may keep a pointer to it
  std::string compute_;  // of error messages
  void* handle_ = nullptr;
  mutable SpareValues spare_;
};

void RunCustom(ops::KernelContext& c) { c.state<CustomKernel>().Run(c); }

}  // namespace

void InferCustom(ops::InferContext& c) {
  const CustomOperator& op = OperatorOf(c.op());
  const std::vector<const Signature*> fitting = Choose(c, op);
  bool all_known = true;
  for (std::size_t i = 0; i < c.InputCount(); ++i) all_known = all_known && (!c.HasInput(i) || IsKnown(c.InputType(i)));
  if (fitting.size() > 1 && !all_known) return;
  const Signature& signature = *fitting[0];
  std::vector<Type> types(c.OutputCount());
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (!c.HasOutput(i)) continue;
    const DType dtype = signature.outputs.At(i)->dtype;
    types[i] = dtype != DType::kUndefined ? Type::TensorOf(dtype) : TypeOfAny(c, signature, i);
  }
  if (all_known && signature.infers_shapes) InferShapes(c, op, signature, types);
  for (std::size_t i = 0; i < types.size(); ++i)
    if (c.HasOutput(i) && !types[i].is_none()) c.SetOutputType(i, std::move(types[i]));
}

ops::Prepared PrepareCustom(ops::PrepareContext& c) {
  const CustomOperator& op = OperatorOf(c.op());
  const Signature& signature = *Choose(c, op)[0];
  if (!IsForCpu(signature)) {
    c.Fail(Code::kNotImplemented, "custom operator ", signature.ToText(), ": its kernel is for provider '",
           signature.provider, "', which does not run this node");
  }
  for (std::size_t i = 0; i < c.OutputCount(); ++i) {
    if (c.HasOutput(i) && !IsKnown(c.OutputType(i)))
      c.Fail(Code::kInvalidGraph, "output ", i, ": its element type does not follow from custom operator ",
             signature.ToText(), "; declare it in the model");
  }
  return {RunCustom, std::make_shared<const CustomKernel>(c, signature, *op.session)};
}

}  // namespace sardonyx::capi
