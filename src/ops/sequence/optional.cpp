// ops/sequence/optional.cpp - Optional, OptionalHasElement, OptionalGetElement. An optional without an element is
// Value().
#include "kernels/copy/strided_copy.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

void InferOptional(InferContext& c) {
  if (c.HasInput(0)) {
    if (!c.InputType(0).is_none()) c.SetOutputType(0, Type::OptionalOf(c.InputType(0)));
    return;
  }
  const AttributeValue* value = c.node().FindAttribute("type");
  const Type* type = value == nullptr ? nullptr : std::get_if<Type>(value);
  if (type == nullptr) c.Fail(Code::kInvalidGraph, "expected an input or the attribute 'type', found neither");
  c.SetOutputType(0, Type::OptionalOf(*type));
}

void RunOptional(KernelContext& c) { c.SetOutput(0, c.HasInput(0) ? c.InputValue(0) : Value()); }

void InferOptionalHasElement(InferContext& c) { c.SetOutput(0, DType::kBool, {}); }

void RunOptionalHasElement(KernelContext& c) { *c.Output(0, {}).As<bool>() = c.HasInput(0); }

void InferOptionalGetElement(InferContext& c) {
  const Type& type = c.InputType(0);
  c.SetOutputType(0, type.kind == TypeKind::kOptional && type.element != nullptr ? *type.element : type);
}

void RunOptionalGetElement(KernelContext& c) {
  if (!c.HasInput(0)) Fail(Code::kInvalidArgument, "expected an optional with an element, found an empty one");
  if (!c.IsTensor(0)) return c.SetOutput(0, c.InputValue(0));
  const TensorRef& x = c.Input(0);
  const OutputRef y = c.Output(0, x.shape, x.dtype);
  kernels::CopyAll(x.dtype, x.data, y.data, x.count, c.parallel());
}

template <RunFn* kRun>
Prepared Stateless(PrepareContext&) {
  return {kRun, nullptr};
}

constexpr OpDef kOptionalOps[] = {
    {.name = "Optional",
     .since = {15, 28},
     .infer = InferOptional,
     .prepare = Stateless<RunOptional>,
     .cost = CountNothing},
    {.name = "OptionalGetElement",
     .since = {15, 18, 28},
     .infer = InferOptionalGetElement,
     .prepare = Stateless<RunOptionalGetElement>,
     .cost = CountNothing},
    {.name = "OptionalHasElement",
     .since = {15, 18, 28},
     .infer = InferOptionalHasElement,
     .prepare = Stateless<RunOptionalHasElement>,
     .cost = CountNothing},
};

}  // namespace

std::span<const OpDef> OptionalOps() { return kOptionalOps; }

}  // namespace sardonyx::ops
