// ops/tensor/expand.cpp - Expand and Tile: repeat the elements of a tensor.
#include "kernels/copy/strided_copy.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/shapes/layout_axes.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

using kernels::StridedLoops;

void AddLoop(StridedLoops& loops, std::int64_t size, std::int64_t from, std::int64_t to) {
  if (!loops.Add(size, from, to)) {
    Fail(Code::kNotImplemented, "expected at most ", StridedLoops::kMaxRank, " dimensions, found more");
  }
}

// ---- Expand

void InferExpand(InferContext& c) {
  const auto target = c.ShapeData(1);
  if (!target || !c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = BroadcastDims(c, c.InputDims(0), *target);
  for (Dim& d : dims)
    if (d.known() && d.number() < 0) d = Dim();  // the run will say so
  const bool scalar =
      c.Rank(0) == 0 || (c.Rank(0) == 1 && c.InputDims(0)[0].known() && c.InputDims(0)[0].number() == 1);
  if (dims.size() == 1 && dims[0].known() && dims[0].number() <= 64 && scalar && IsInteger(c.InputDType(0))) {
    if (const auto value = c.ShapeData(0); value && value->size() == 1) {
      c.SetShapeData(0, std::vector<Dim>(static_cast<std::size_t>(dims[0].number()), value->front()));
    }
  }
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

void RunExpand(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  Shape target, shape;
  // Of any rank, its elements in order, as in ONNX Runtime.
  for (std::int64_t i = 0; i < c.Input(1).count; ++i) target.Append(IntAt(c.Input(1), i));
  for (const std::int64_t d : target) {
    if (d < 0) Fail(Code::kInvalidArgument, "expected a shape without negative dimensions, found ", ToText(target));
  }
  if (!Broadcast(x.shape, target, &shape)) {
    Fail(Code::kInvalidArgument, "shape ", ToText(x.shape), " does not broadcast to ", ToText(target));
  }
  const OutputRef y = c.Output(0, shape);
  StridedLoops loops;
  const std::size_t lead = shape.size() - x.rank();
  std::int64_t to = y.count, from = x.count;
  if (y.count == 0) return;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    to /= shape[i];
    if (i < lead) {
      AddLoop(loops, shape[i], 0, to);
    } else {
      from /= x.shape[i - lead];
      AddLoop(loops, shape[i], x.shape[i - lead] == 1 ? 0 : from, to);
    }
  }
  kernels::StridedCopy(x.dtype, loops, x.data, 0, y.data, 0, c.parallel());
}

Prepared PrepareExpand(PrepareContext&) { return {RunExpand, nullptr}; }

// ---- Tile

void InferTile(InferContext& c) {
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = c.InputDims(0);
  const auto repeats = c.ShapeData(1);
  if (repeats && repeats->size() != dims.size()) {
    c.Fail(Code::kInvalidArgument, "expected one repeat per dimension of ", c.InputType(0).ToText(), ", found ",
           repeats->size());
  }
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (repeats && (*repeats)[i].known() && (*repeats)[i].number() < 0) {
      std::string text;
      for (const Dim& repeat : *repeats) text += (text.empty() ? "[" : ", ") + repeat.ToText();
      c.Fail(Code::kInvalidArgument, "expected repeats of at least 0, found ", text, "]");
    }
    dims[i] = repeats ? dims[i] * (*repeats)[i] : Dim();
  }
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

void RunTile(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const Shape repeats = IntsOf(c.Input(1));
  if (repeats.size() != x.rank()) {
    Fail(Code::kInvalidArgument, "expected one repeat per dimension of shape ", ToText(x.shape), ", found ",
         ToText(repeats));
  }
  Shape shape(x.shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (repeats[i] < 0) Fail(Code::kInvalidArgument, "expected repeats of at least 0, found ", ToText(repeats));
    shape[i] = static_cast<std::int64_t>(CheckedMul(static_cast<std::size_t>(shape[i]),
                                                    static_cast<std::size_t>(repeats[i]), "a dimension of the output"));
  }
  const OutputRef y = c.Output(0, shape);
  if (y.count == 0) return;
  StridedLoops loops;
  std::int64_t to = y.count, from = x.count;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    to /= shape[i];
    from /= x.shape[i];
    AddLoop(loops, repeats[i], 0, to * x.shape[i]);
    AddLoop(loops, x.shape[i], from, to);
  }
  kernels::StridedCopy(x.dtype, loops, x.data, 0, y.data, 0, c.parallel());
}

Prepared PrepareTile(PrepareContext&) { return {RunTile, nullptr}; }

// ---- Tile 1: the number of repeats and the axis, as numbers of any type

std::int64_t AsInt(const Tensor& t) {
  std::int64_t value = 0;
  const bool known =
      t.count() == 1 &&
      VisitDType<float, double, Half, BFloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                 std::uint16_t, std::uint32_t, std::uint64_t>(t.dtype(), [&]<typename T>() {
        if constexpr (std::is_arithmetic_v<T>) {
          value = static_cast<std::int64_t>(t.data<T>()[0]);
        } else {
          value = static_cast<std::int64_t>(static_cast<float>(t.data<T>()[0]));
        }
      });
  if (!known) Fail(Code::kInvalidArgument, "expected one number, found ", Name(t.dtype()), ToText(t.shape()));
  return value;
}

std::int64_t AsInt(const TensorRef& t) {
  if (t.count != 1) Fail(Code::kInvalidArgument, "expected one number, found shape ", ToText(t.shape));
  return IntAt(t, 0);
}

void InferTile1(InferContext& c) {
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = c.InputDims(0);
  const Tensor* tiles = c.Constant(1);
  const Tensor* axis = c.Constant(2);
  if (axis == nullptr) {
    dims.assign(dims.size(), Dim());
  } else {
    Dim& d = dims[NormalizeAxis(AsInt(*axis), dims.size())];
    d = tiles == nullptr ? Dim() : d * Dim(AsInt(*tiles));
  }
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

void RunTile1(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const std::int64_t tiles = AsInt(c.Input(1));
  const std::size_t axis = NormalizeAxis(AsInt(c.Input(2)), x.rank());
  if (tiles < 0) Fail(Code::kInvalidArgument, "expected at least 0 tiles, found ", tiles);
  Shape shape(x.shape);
  shape[axis] = static_cast<std::int64_t>(
      CheckedMul(static_cast<std::size_t>(shape[axis]), static_cast<std::size_t>(tiles), "a dimension of the output"));
  const OutputRef y = c.Output(0, shape);
  if (y.count == 0) return;
  const std::int64_t run = ElementCount(x.shape, axis, x.rank());
  StridedLoops loops;
  AddLoop(loops, x.count / run, run, run * tiles);
  AddLoop(loops, tiles, 0, run);
  AddLoop(loops, run, 1, 1);
  kernels::StridedCopy(x.dtype, loops, x.data, 0, y.data, 0, c.parallel());
}

Prepared PrepareTile1(PrepareContext&) { return {RunTile1, nullptr}; }

constexpr OpDef kExpandOps[] = {
    {.name = "Expand",
     .since = {8, 13},
     .types = kAllTypes,
     .infer = InferExpand,
     .prepare = PrepareExpand,
     .cost = CountNothing,
     .layout = &kSizedLayout,
     .traits = kNoFold | kMovesElements},
    {.name = "Tile",
     .since = {6, 13},
     .types = kAllTypes,
     .infer = InferTile,
     .prepare = PrepareTile,
     .cost = CountNothing,
     .layout = &kSizedLayout,
     .traits = kNoFold | kMovesElements},
    {.name = "Tile",
     .since = {1},
     .types = kAllTypes,
     .infer = InferTile1,
     .prepare = PrepareTile1,
     .cost = CountNothing,
     .traits = kNoFold | kMovesElements},
};

}  // namespace

std::span<const OpDef> ExpandOps() { return kExpandOps; }

}  // namespace sardonyx::ops
