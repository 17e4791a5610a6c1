// ops/tensor/identity.cpp - operators that pass their input on: Identity, BitCast (the same bytes as another type) and
// copies between devices.
#include "ops/copy_elements.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

void RunIdentity(KernelContext& c) {
  if (!c.IsTensor(0)) return c.SetOutput(0, c.HasInput(0) ? c.InputValue(0) : Value());
  const TensorRef& x = c.Input(0);
  CopyElements(x.dtype, x.data, c.Output(0, x.shape).data, x.count, c.parallel());
}
Prepared PrepareIdentity(PrepareContext&) { return {.run = RunIdentity, .state = nullptr}; }

void InferBitCast(InferContext& c) {
  const DType from = c.InputDType(0), to = c.DTypeAttribute("to", DType::kUndefined);
  if (from != DType::kUndefined && Bits(from) != Bits(to))
    c.Fail(Code::kInvalidArgument, "attribute 'to': expected a type of ", Bits(from), " bits as ", Name(from),
           " has, found ", Name(to), " of ", Bits(to));
  if (c.HasRank(0)) return c.SetOutput(0, to, c.InputDims(0));
  c.SetOutput(0, to);
}
void RunBitCast(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  CopyElements(x.dtype, x.data, c.Output(0).data, x.count, c.parallel());
}
Prepared PrepareBitCast(PrepareContext&) { return {.run = RunBitCast, .state = nullptr}; }

constexpr DTypeSet kCastable = kNumbers | kFloat8s | kSubBytes | kComplexes | DTypeSet{DType::kBool};

// ONNX Runtime's copies between the memory of devices, which files have that it saved for a GPU: on one device there is
// nothing to do.
constexpr OpDef CopyRow(std::string_view name) {
  return {.name = name,
          .since = {1},
          .infer = InferSameAsInput,
          .prepare = PrepareIdentity,
          .traits = kView | kMovesElements};
}

constexpr OpDef kIdentityOps[] = {
    CopyRow("MemcpyFromHost"),
    CopyRow("MemcpyToHost"),
    {.name = "BitCast",
     .since = {26},
     .types = kCastable,
     .infer = InferBitCast,
     .prepare = PrepareBitCast,
     .traits = kView},
    {.domain = "com.microsoft",
     .name = "SampleOp",
     .since = {1},
     .infer = InferSameAsInput,
     .prepare = PrepareIdentity,
     .traits = kView | kMovesElements},
    {.name = "Identity",
     .since = {1, 13, 14, 16, 19, 21, 23, 24, 25},
     .infer = InferSameAsInput,
     .prepare = PrepareIdentity,
     .traits = kView | kMovesElements},
};

}  // namespace

std::span<const OpDef> IdentityOps() { return kIdentityOps; }

}  // namespace sardonyx::ops
