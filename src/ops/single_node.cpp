// ops/single_node.cpp - infers, allocates, runs and checks.
#include "ops/single_node.h"

#include <algorithm>
#include <string>

#include "base/limits.h"
#include "ops/infer.h"
#include "ops/tensor_ref.h"

namespace sardonyx::ops {

std::vector<InferContext::Output> InferSingle(const Graph& graph, const Node& node, const OpDef& op,
                                              std::span<const SeenInput> inputs,
                                              const InferContext::SubgraphFn& bodies) {
  std::vector<InferContext::Known> known(inputs.size());
  std::vector<Tensor> contents(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const SeenInput& input = inputs[i];
    known[i].present = input.present;
    if (input.slot == nullptr || !input.slot->ref.present()) {
      if (input.type != nullptr) known[i].type = *input.type;
      continue;
    }
    const TensorRef& ref = input.slot->ref;
    known[i].type = Type::TensorOf(ref.dtype, ref.shape);
    if (!input.with_contents) continue;
    if (input.slot->value.is_tensor() && input.slot->value.tensor().raw() == ref.data) {
      known[i].constant = &input.slot->value.tensor();
    } else {
      contents[i] = Tensor(ref.dtype, Shape(ref.shape), Buffer::ReadOnly(ref.data, ref.byte_size(), nullptr));
      known[i].constant = &contents[i];
    }
  }
  std::vector<InferContext::Output> outputs(node.outputs.size());
  InferNode(graph, node, op, known, outputs, &bodies);
  return outputs;
}

OutputShape OutputShapeOf(const Type& type) {
  if (!type.is_tensor() || type.dtype == DType::kUndefined || !type.HasStaticShape()) return {};
  return {true, type.dtype, type.StaticShape()};
}

void AllocateDynamic(Slot& slot, DType dtype, Dims shape, const std::shared_ptr<Allocator>& allocator) {
  slot.value = Value();
  if (shape.size() > kMostDimensions)
    Fail(Code::kNotImplemented, "expected a rank of at most ", kMostDimensions, ", found rank ", shape.size());
  const std::int64_t count = ElementCount(shape);
  if (IsString(dtype)) {
    slot.value = Tensor(dtype, Shape(shape));
    ShowTensor(slot);
    return slot.PlaceAt(slot.value.tensor().raw());
  }
  const std::size_t bytes = ByteSize(dtype, count);
  if (!slot.retained || slot.retained.use_count() != 1 || slot.retained->size() < bytes)
    slot.retained = Buffer::Allocate(std::max<std::size_t>(bytes, 1), allocator);
  slot.value = Tensor(dtype, Shape(shape), slot.retained);
  ShowTensor(slot);
  slot.PlaceAt(slot.value.tensor().raw());
}

// The longest text given may come out in each element. Operators on strings alone (StringSplit) cut texts to pieces, or
// count what they make (StringConcat).
void CheckTexts(const KernelContext& c, const OpDef& op, Dims shape) {
  if (!IsLimited() || (op.types.Has(DType::kString) && !op.types.Has(DType::kInt8))) return;
  std::size_t longest = 0;
  for (const Slot* input : c.inputs()) {
    if (input == nullptr || !input->ref.present() || !IsString(input->ref.dtype)) continue;
    for (const std::string& text : input->ref.Span<const std::string>())
      longest = std::max(longest, text.size() < sizeof(std::string) ? 0 : text.size());
  }
  const std::size_t bytes = CheckedMul(longest, static_cast<std::size_t>(ElementCount(shape)), "texts");
  ChargeMemory(bytes);
  ReturnMemory(bytes);
}

void CheckPromised(const KernelContext& c, PromisedFn promised) {
  for (std::size_t i = 0; i < c.OutputCount(); ++i) {
    const Shape* expected = c.HasOutput(i) ? promised(i) : nullptr;
    if (expected == nullptr || Shape::Equal(*expected, c.outputs()[i]->ref.shape)) continue;
    Fail(Code::kInvalidArgument, "output ", i, ": expected shape ", ToText(*expected),
         ", as the types of its inputs imply, found ", ToText(c.outputs()[i]->ref.shape));
  }
}

void RunSingle(const KernelContext& c, const OpDef& op, std::span<const OutputShape> shapes, const SingleRun& how) {
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (!c.HasOutput(i) || !shapes[i].known) continue;
    if (IsString(shapes[i].dtype)) CheckTexts(c, op, shapes[i].shape);
    how.allocate(i, shapes[i].dtype, shapes[i].shape);
  }
  how.run();
  CheckPromised(c, how.promised);
}

}  // namespace sardonyx::ops
