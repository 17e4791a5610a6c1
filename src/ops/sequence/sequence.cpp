// ops/sequence/sequence.cpp - operators that make, change and read sequences, map a body over them, split tensors into
// them and join them.
#include "kernels/copy/strided_copy.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

Type ElementOf(const Type& type) {
  return type.kind == TypeKind::kSequence && type.element != nullptr ? *type.element : Type{};
}

// Kept alive by the caller, so that `items` may be read.
Value SequenceInput(KernelContext& c, std::size_t i) {
  Value value = c.HasInput(i) ? c.InputValue(i) : Value();
  if (!value.is_sequence())
    Fail(Code::kInvalidArgument, "input ", i, ": expected a sequence, found ", value.KindName());
  return value;
}

DType ElementDType(const Value& value) { return value.is_tensor() ? value.tensor().dtype() : DType::kUndefined; }

// The position in input `i` within [-size, size) or, where one more is allowed, [-size, size]; `missing` if it is not
// there.
std::size_t Position(KernelContext& c, std::size_t i, std::size_t size, bool one_more, std::int64_t missing) {
  const auto n = static_cast<std::int64_t>(size);
  const std::int64_t position = c.HasInput(i) ? IntAt(c.Input(i), 0) : missing;
  if (position < -n || position > n - (one_more ? 0 : 1)) {
    Fail(Code::kInvalidArgument, "expected a position in [", -n, ", ", n - (one_more ? 0 : 1), "] in a sequence of ", n,
         " elements, found ", position);
  }
  return static_cast<std::size_t>(position < 0 ? position + n : position);
}

// ---- Made and changed

void InferSequenceEmpty(InferContext& c) {
  c.SetOutputType(0, Type::SequenceOf(Type::TensorOf(c.DTypeAttribute("dtype", DType::kFloat))));
}

struct EmptyState {
  DType dtype;
};

void RunSequenceEmpty(KernelContext& c) { c.SetOutput(0, Sequence{c.state<EmptyState>().dtype, {}}); }

Prepared PrepareSequenceEmpty(PrepareContext& c) {
  return WithState(RunSequenceEmpty, EmptyState{c.DTypeAttribute("dtype", DType::kFloat)});
}

void InferSequenceConstruct(InferContext& c) {
  Type element = c.InputType(0);
  for (std::size_t i = 1; i < c.InputCount(); ++i) {
    const Type& type = c.InputType(i);
    element = type.is_none() || element.is_none() ? Type::TensorOf(element.dtype) : Union(element, type);
  }
  if (!element.is_none()) c.SetOutputType(0, Type::SequenceOf(std::move(element)));
}

void RunSequenceConstruct(KernelContext& c) {
  Sequence sequence;
  for (std::size_t i = 0; i < c.InputCount(); ++i) sequence.items.push_back(c.InputValue(i));
  if (!sequence.items.empty()) sequence.element_dtype = ElementDType(sequence.items[0]);
  c.SetOutput(0, std::move(sequence));
}

void InferSequenceInsert(InferContext& c) {
  Type element = ElementOf(c.InputType(0));
  const Type& added = c.InputType(1);
  const bool known = !added.is_none() && added.dtype != DType::kUndefined;
  if (element.is_none() || element.dtype == DType::kUndefined || !known) {
    element = known ? Type::TensorOf(added.dtype) : Type{};
  } else if (element.kind == added.kind && element.dtype == added.dtype) {
    element = Union(element, added);
  } else {
    c.Fail(Code::kInvalidArgument, "expected an element of type ", element.ToText(), ", found ", added.ToText());
  }
  c.SetOutputType(0, element.is_none() ? c.InputType(0) : Type::SequenceOf(std::move(element)));
}

void RunSequenceInsert(KernelContext& c) {
  const Value value = SequenceInput(c, 0);
  Sequence sequence = value.sequence();
  const std::size_t n = sequence.items.size();
  Value element = c.InputValue(1);
  const DType dtype = ElementDType(element);
  if (sequence.element_dtype != DType::kUndefined && dtype != sequence.element_dtype) {
    Fail(Code::kInvalidArgument, "expected an element of type ", Name(sequence.element_dtype), ", found ", Name(dtype));
  }
  sequence.element_dtype = dtype;
  const std::size_t at = Position(c, 2, n, true, static_cast<std::int64_t>(n));
  sequence.items.insert(sequence.items.begin() + static_cast<std::ptrdiff_t>(at), std::move(element));
  c.SetOutput(0, std::move(sequence));
}

void InferSameSequence(InferContext& c) { c.SetOutputType(0, c.InputType(0)); }

void RunSequenceErase(KernelContext& c) {
  const Value value = SequenceInput(c, 0);
  Sequence sequence = value.sequence();
  const std::size_t at = Position(c, 1, sequence.items.size(), false, -1);
  sequence.items.erase(sequence.items.begin() + static_cast<std::ptrdiff_t>(at));
  c.SetOutput(0, std::move(sequence));
}

// ---- Read

void InferSequenceAt(InferContext& c) { c.SetOutputType(0, ElementOf(c.InputType(0))); }

void RunSequenceAt(KernelContext& c) {
  const Value value = SequenceInput(c, 0);
  const std::vector<Value>& items = value.sequence().items;
  c.SetOutput(0, items[Position(c, 1, items.size(), false, -1)]);
}

void InferSequenceLength(InferContext& c) { c.SetOutput(0, DType::kInt64, {}); }

void RunSequenceLength(KernelContext& c) {
  *c.Output(0, {}).As<std::int64_t>() = static_cast<std::int64_t>(SequenceInput(c, 0).sequence().items.size());
}

// ---- SequenceMap

struct MapState {
  std::size_t body;
  std::vector<DType> dtypes;  // of the outputs, as declared
};

void InferSequenceMap(InferContext& c) {
  std::vector<Type> inputs;
  for (std::size_t i = 0; i < c.InputCount(); ++i) {
    const Type& type = c.InputType(i);
    inputs.push_back(type.kind == TypeKind::kSequence ? ElementOf(type) : type);
  }
  const std::vector<Type> outputs = c.InferSubgraph("body", inputs);
  if (outputs.size() != c.OutputCount()) {
    c.Fail(Code::kInvalidGraph, "expected a body with ", c.OutputCount(), " outputs, found ", outputs.size());
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (!outputs[i].is_none()) c.SetOutputType(i, Type::SequenceOf(outputs[i]));
}

void RunSequenceMap(KernelContext& c) {
  const MapState& state = c.state<MapState>();
  const std::size_t n = SequenceInput(c, 0).sequence().items.size();
  std::vector<Value> given(c.InputCount()), inputs(c.InputCount());
  for (std::size_t i = 0; i < given.size(); ++i) {
    given[i] = c.InputValue(i);
    if (given[i].is_sequence() && given[i].sequence().items.size() != n) {
      Fail(Code::kInvalidArgument, "expected sequences of ", n, " elements, found ", given[i].sequence().items.size(),
           " in input ", i);
    }
  }
  std::vector<Sequence> results(state.dtypes.size());
  for (std::size_t k = 0; k < results.size(); ++k) results[k].element_dtype = state.dtypes[k];
  for (std::size_t i = 0; i < n; ++i) {
    c.CheckCancelled();
    for (std::size_t k = 0; k < given.size(); ++k)
      inputs[k] = given[k].is_sequence() ? given[k].sequence().items[i] : given[k];
    std::vector<Value> outputs(results.size());
    c.RunSubgraph(state.body, inputs, outputs);
    for (std::size_t k = 0; k < results.size(); ++k) {
      results[k].element_dtype = ElementDType(outputs[k]);
      results[k].items.push_back(std::move(outputs[k]));
    }
  }
  for (std::size_t k = 0; k < results.size(); ++k)
    if (c.HasOutput(k)) c.SetOutput(k, std::move(results[k]));
}

Prepared PrepareSequenceMap(PrepareContext& c) {
  const Graph* body = c.GraphAttribute("body");
  if (body == nullptr) c.Fail(Code::kInvalidGraph, "attribute 'body' (a graph) is required and missing");
  MapState state{c.SubgraphIndex("body"), {}};
  for (const ValueId id : body->outputs) state.dtypes.push_back(body->value(id).type.dtype);
  return WithState(RunSequenceMap, std::move(state));
}

// ---- ConcatFromSequence

struct JoinState {
  std::int64_t axis;
  bool new_axis;
};

void InferConcatFromSequence(InferContext& c) {
  const Type element = ElementOf(c.InputType(0));
  if (!element.is_tensor()) return;
  if (!element.has_rank) return c.SetOutput(0, element.dtype);
  std::vector<Dim> dims = element.dims;
  const bool new_axis = c.Flag("new_axis");
  const std::size_t axis = AxisOf(c, c.Int("axis"), dims.size() + (new_axis ? 1 : 0));
  if (new_axis) {
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), Dim());
  } else {
    dims[axis] = Dim();
  }
  c.SetOutput(0, element.dtype, std::move(dims));
}

void RunConcatFromSequence(KernelContext& c) {
  const Value value = SequenceInput(c, 0);
  const std::vector<Value>& items = value.sequence().items;
  const JoinState& state = c.state<JoinState>();
  if (items.empty()) Fail(Code::kInvalidArgument, "expected a sequence with at least one tensor, found none");
  const Shape& first = items[0].tensor().shape();
  const std::size_t axis = NormalizeAxis(state.axis, first.rank() + (state.new_axis ? 1 : 0));
  std::int64_t size = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Shape& x = items[i].tensor().shape();
    bool fits = x.rank() == first.rank() && items[i].tensor().dtype() == items[0].tensor().dtype();
    for (std::size_t d = 0; fits && d < x.rank(); ++d) fits = x[d] == first[d] || (d == axis && !state.new_axis);
    if (!fits) {
      Fail(Code::kInvalidArgument, "expected tensors that can be joined along axis ", axis, ", found shapes ",
           ToText(first), " and ", ToText(x), " (element ", i, ")");
    }
    size += state.new_axis ? 1 : x[axis];
  }
  Shape shape;
  for (std::size_t d = 0; d < first.rank(); ++d) {
    if (d == axis) shape.Append(size);
    if (d != axis || state.new_axis) shape.Append(first[d]);
  }
  if (shape.rank() < first.rank() + (state.new_axis ? 1 : 0)) shape.Append(size);
  const OutputRef y = c.Output(0, shape, items[0].tensor().dtype());
  const std::int64_t outer = ElementCount(shape, 0, axis), inner = ElementCount(shape, axis + 1, shape.rank());
  std::int64_t at = 0;
  for (const Value& item : items) {
    const Tensor& x = item.tensor();
    const std::int64_t run = (state.new_axis ? 1 : x.shape()[axis]) * inner;
    kernels::StridedLoops loops;
    loops.Add(outer, run, size * inner);
    loops.Add(run, 1, 1);
    kernels::StridedCopy(x.dtype(), loops, x.raw(), 0, y.data, at, c.parallel());
    at += run;
  }
}

Prepared PrepareConcatFromSequence(PrepareContext& c) {
  return WithState(RunConcatFromSequence, JoinState{c.Int("axis"), c.Flag("new_axis")});
}

// ---- SplitToSequence

struct CutState {
  std::int64_t axis;
  bool keep_dims;
};

void InferSplitToSequence(InferContext& c) {
  if (!c.HasRank(0)) return c.SetOutputType(0, Type::SequenceOf(Type::TensorOf(c.InputDType(0))));
  std::vector<Dim> dims = c.InputDims(0);
  const std::size_t axis = AxisOf(c, c.Int("axis", 0), dims.size());
  if (!c.HasInput(1) && !c.Flag("keepdims", true)) {
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  } else {
    dims[axis] = c.HasInput(1) ? Dim() : Dim(1);
  }
  c.SetOutputType(0, Type::SequenceOf(Type::TensorOf(c.InputDType(0), std::move(dims))));
}

// The sizes of the parts of an axis of `size` elements.
std::vector<std::int64_t> PartSizes(KernelContext& c, std::int64_t size) {
  std::vector<std::int64_t> sizes;
  if (c.HasInput(1) && c.Input(1).rank() > 0) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < c.Input(1).count; ++i) {
      sizes.push_back(IntAt(c.Input(1), i));
      if (sizes.back() < 0 || sizes.back() > size)
        Fail(Code::kInvalidArgument, "expected split sizes in [0, ", size, "], found ", sizes.back());
      sum += sizes.back();
    }
    if (sum != size)
      Fail(Code::kInvalidArgument, "expected split sizes with the sum ", size, ", found ", ToText(Dims(sizes)));
    return sizes;
  }
  const std::int64_t part = c.HasInput(1) ? IntAt(c.Input(1), 0) : 1;
  if (part < 1) Fail(Code::kInvalidArgument, "expected a split size of at least 1, found ", part);
  constexpr std::int64_t kMostParts = 1 << 24;  // an empty tensor may have any size along the axis
  if (size / part >= kMostParts)
    Fail(Code::kInvalidArgument, "expected fewer than ", kMostParts, " parts, found ", size, " elements in parts of ",
         part);
  for (std::int64_t at = 0; at < size; at += part) sizes.push_back(std::min(part, size - at));
  return sizes;
}

void RunSplitToSequence(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const CutState& state = c.state<CutState>();
  const std::size_t axis = NormalizeAxis(state.axis, x.rank());
  const std::int64_t size = x.shape[axis];
  const std::int64_t outer = ElementCount(x.shape, 0, axis), inner = ElementCount(x.shape, axis + 1, x.rank());
  Sequence sequence{x.dtype, {}};
  std::int64_t at = 0;
  for (const std::int64_t part : PartSizes(c, size)) {
    Shape shape;
    for (std::size_t d = 0; d < x.rank(); ++d) {
      if (d != axis) shape.Append(x.shape[d]);
      if (d == axis && (c.HasInput(1) || state.keep_dims)) shape.Append(part);
    }
    Tensor y(x.dtype, std::move(shape));
    kernels::StridedLoops loops;
    loops.Add(outer, size * inner, part * inner);
    loops.Add(part * inner, 1, 1);
    kernels::StridedCopy(x.dtype, loops, x.data, at, y.raw(), 0, c.parallel());
    sequence.items.emplace_back(std::move(y));
    at += part * inner;
  }
  c.SetOutput(0, std::move(sequence));
}

Prepared PrepareSplitToSequence(PrepareContext& c) {
  return WithState(RunSplitToSequence, CutState{c.Int("axis", 0), c.Flag("keepdims", true)});
}

template <RunFn* kRun>
Prepared Stateless(PrepareContext&) {
  return {kRun, nullptr};
}

constexpr OpDef kSequenceOps[] = {
    {.name = "ConcatFromSequence",
     .since = {11},
     .infer = InferConcatFromSequence,
     .prepare = PrepareConcatFromSequence,
     .cost = CountNothing},
    {.name = "SequenceAt",
     .since = {11},
     .infer = InferSequenceAt,
     .prepare = Stateless<RunSequenceAt>,
     .cost = CountNothing},
    {.name = "SequenceConstruct",
     .since = {11},
     .infer = InferSequenceConstruct,
     .prepare = Stateless<RunSequenceConstruct>,
     .cost = CountNothing},
    {.name = "SequenceEmpty",
     .since = {11},
     .infer = InferSequenceEmpty,
     .prepare = PrepareSequenceEmpty,
     .cost = CountNothing},
    {.name = "SequenceErase",
     .since = {11},
     .infer = InferSameSequence,
     .prepare = Stateless<RunSequenceErase>,
     .cost = CountNothing},
    {.name = "SequenceInsert",
     .since = {11},
     .infer = InferSequenceInsert,
     .prepare = Stateless<RunSequenceInsert>,
     .cost = CountNothing},
    {.name = "SequenceLength",
     .since = {11},
     .infer = InferSequenceLength,
     .prepare = Stateless<RunSequenceLength>,
     .cost = CountNothing},
    {.name = "SequenceMap", .since = {17}, .infer = InferSequenceMap, .prepare = PrepareSequenceMap},
    {.name = "SplitToSequence",
     .since = {11, 24},
     .infer = InferSplitToSequence,
     .prepare = PrepareSplitToSequence,
     .cost = CountNothing},
};

}  // namespace

std::span<const OpDef> SequenceOps() { return kSequenceOps; }

}  // namespace sardonyx::ops
