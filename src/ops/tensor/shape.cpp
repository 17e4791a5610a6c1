// ops/tensor/shape.cpp - Shape, Size, Reshape, Flatten, Squeeze, Unsqueeze: operators that only look at or change a
// shape.
#include <algorithm>
#include <optional>

#include "kernels/copy/strided_copy.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/tensor/shape_layout.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

// The bytes of input 0, unless the plan made output 0 a view of them.
void CopyBytes(KernelContext& c, const OutputRef& y) {
  const TensorRef& x = c.Input(0);
  if (c.outputs()[0]->ref.data == x.data) return;
  kernels::CopyAll(x.dtype, x.data, y.data, x.count, c.parallel());
}

// A view keeps the contents known of a small integer tensor, if it stays 0-D or 1-D.
void KeepShapeData(InferContext& c, std::size_t rank) {
  if (rank > 1 || !IsInteger(c.InputDType(0))) return;
  if (auto data = c.ShapeData(0)) c.SetShapeData(0, std::move(*data));
}

// ---- Shape, Size

struct ShapeState {
  std::int64_t start = 0;
  std::optional<std::int64_t> end;
};

ShapeState ReadShapeState(const AttributeReader& c) {
  ShapeState state;
  state.start = c.Int("start", 0);
  if (c.Has("end")) state.end = c.Int("end");
  return state;
}

std::pair<std::int64_t, std::int64_t> ShapeRange(const ShapeState& state, std::int64_t rank) {
  const auto clamp = [&](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t begin = clamp(state.start), end = clamp(state.end.value_or(rank));
  return {begin, std::max(begin, end)};
}

void InferShape(InferContext& c) {
  if (!c.HasRank(0)) {
    c.SetOutput(0, DType::kInt64, {Dim()});
    return;
  }
  const auto [begin, end] = ShapeRange(ReadShapeState(c), static_cast<std::int64_t>(c.Rank(0)));
  c.SetOutput(0, DType::kInt64, {Dim(end - begin)});
  c.SetShapeData(0, {c.InputDims(0).begin() + begin, c.InputDims(0).begin() + end});
}

void RunShape(KernelContext& c) {
  const Dims dims = c.Input(0).shape;
  const auto [begin, end] = ShapeRange(c.state<ShapeState>(), static_cast<std::int64_t>(dims.size()));
  const std::int64_t count[] = {end - begin};
  std::int64_t* y = c.Output(0, count).As<std::int64_t>();
  std::copy(dims.begin() + begin, dims.begin() + end, y);
}

Prepared PrepareShape(PrepareContext& c) { return WithState(RunShape, ReadShapeState(c)); }

void InferSize(InferContext& c) {
  c.SetOutput(0, DType::kInt64, {});
  if (!c.HasRank(0)) return;
  Dim count(1);
  for (const Dim& d : c.InputDims(0)) count = count * d;
  c.SetShapeData(0, {count});
}

void RunSize(KernelContext& c) { *c.Output(0, {}).As<std::int64_t>() = c.Input(0).count; }
Prepared PrepareSize(PrepareContext&) { return {RunSize, nullptr}; }

// ---- Reshape

// The product of the dimensions that are not 0.
std::int64_t NonZeroCount(Dims dims) {
  Shape others;
  for (const std::int64_t dim : dims)
    if (dim != 0) others.Append(dim);
  return ElementCount(others);
}

// The target with 0 and -1 resolved. Fails where the counts do not fit.
Shape ResolveReshape(Dims from, Shape target, bool allow_zero) {
  const std::int64_t count = ElementCount(from);
  const Shape asked = target;
  std::optional<std::size_t> inferred;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == -1) {
      if (inferred) Fail(Code::kInvalidArgument, "expected at most one -1 in the shape, found ", ToText(asked));
      inferred = i;
      target[i] = 1;
    } else if (target[i] == 0 && !allow_zero) {
      if (i >= from.size()) {
        Fail(Code::kInvalidArgument, "expected dimensions that the input ", ToText(from),
             " has where the shape is 0, found shape ", ToText(asked));
      }
      target[i] = from[i];
    } else if (target[i] < 0) {
      Fail(Code::kInvalidArgument, "expected dimensions of at least -1 in the shape, found ", ToText(asked));
    }
  }
  const std::int64_t rest = ElementCount(target);
  if (inferred) {
    // Beside a 0 that is meant, ONNX Runtime infers the -1 from the other dimensions of both; the text forbids it.
    // Beside a 0 that is copied from the input, the -1 becomes 0.
    const bool meant = allow_zero && rest == 0;
    const std::int64_t left = meant ? NonZeroCount(from) : count;
    const std::int64_t divisor = meant ? NonZeroCount(target) : std::max<std::int64_t>(rest, 1);
    if ((rest == 0 && count != 0) || left % divisor != 0) {
      Fail(Code::kInvalidArgument, "cannot infer the -1 of shape ", ToText(asked), " for an input of shape ",
           ToText(from), " (", count, " elements)");
    }
    target[*inferred] = left / divisor;
  } else if (rest != count) {
    Fail(Code::kInvalidArgument, "expected a shape of ", count, " elements for an input of shape ", ToText(from),
         ", found ", ToText(asked), " (", rest, " elements)");
  }
  return target;
}

// Where all numbers are known, the strict form; else one unknown dimension follows from the element count.
std::vector<Dim> ReshapedDims(const InferContext& c, const std::vector<Dim>& target, bool allow_zero) {
  const Type& x = c.InputType(0);
  bool numbers = x.HasStaticShape();
  for (const Dim& d : target) numbers = numbers && d.known();
  if (numbers) {
    Shape shape;
    for (const Dim& d : target) shape.Append(d.number());
    const Shape resolved = ResolveReshape(x.StaticShape(), shape, allow_zero);
    return {resolved.begin(), resolved.end()};
  }
  std::vector<Dim> dims;
  std::optional<std::size_t> open;
  int open_count = 0;
  // Dimensions on both sides cancel before anything is multiplied: (past + seq) * 12 / (past + seq) is 12.
  std::vector<Dim> left = c.HasRank(0) ? c.InputDims(0) : std::vector<Dim>();
  Dim rest(1);
  for (std::size_t i = 0; i < target.size(); ++i) {
    Dim d = target[i];
    if (d.known() && d.number() == 0 && !allow_zero) {
      d = c.HasRank(0) && i < c.Rank(0) ? c.InputDims(0)[i] : Dim();
    } else if (d.known() && d.number() < 0) {
      d = Dim();
    }
    if (d.unknown()) {
      open = i;
      ++open_count;
    } else if (const auto same = std::find_if(left.begin(), left.end(), [&](const Dim& e) { return SameDim(d, e); });
               same != left.end() && !(d.known() && d.number() == 0)) {
      left.erase(same);
    } else {
      rest = rest * d;
    }
    dims.push_back(d);
  }
  if (open_count == 1 && c.HasRank(0)) {
    Dim count(1);
    for (const Dim& d : left) count = count * d;
    if (!count.unknown() && !(rest.known() && rest.number() == 0)) dims[*open] = FloorDiv(count, rest);
  }
  return dims;
}

void InferReshape(InferContext& c) {
  const auto target = c.ShapeData(1);
  if (!target) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = ReshapedDims(c, *target, c.Int("allowzero", 0) == 1);
  const std::size_t rank = dims.size();
  c.SetOutput(0, c.InputDType(0), std::move(dims));
  KeepShapeData(c, rank);
}

struct ReshapeState {
  bool allow_zero;
};

void RunReshape(KernelContext& c) {
  const Shape shape = ResolveReshape(c.Input(0).shape, IntsOf(c.Input(1)), c.state<ReshapeState>().allow_zero);
  CopyBytes(c, c.Output(0, shape));
}

Prepared PrepareReshape(PrepareContext& c) { return WithState(RunReshape, ReshapeState{c.Int("allowzero", 0) == 1}); }

void UpgradeReshape(UpgradeContext& c) {
  c.Take("consumed_inputs");
  if (c.version() == 1) c.AttributeToInput("shape", 1);
}

// ---- Flatten

void InferFlatten(InferContext& c) {
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0), {Dim(), Dim()});
  const std::vector<Dim>& x = c.InputDims(0);
  const auto rank = static_cast<std::int64_t>(x.size());
  std::int64_t axis = c.Int("axis", 1);
  if (axis < -rank || axis > rank) {
    c.Fail(Code::kInvalidGraph, "expected an axis in [", -rank, ", ", rank, "] for rank ", rank, ", found ", axis);
  }
  if (axis < 0) axis += rank;
  Dim rows(1), columns(1);
  for (std::int64_t i = 0; i < rank; ++i) {
    Dim& part = i < axis ? rows : columns;
    part = part * x[static_cast<std::size_t>(i)];
  }
  c.SetOutput(0, c.InputDType(0), {rows, columns});
}

struct FlattenState {
  std::int64_t axis;
};

void RunFlatten(KernelContext& c) {
  const Dims x = c.Input(0).shape;
  const std::int64_t axis = c.state<FlattenState>().axis;
  const std::size_t split =
      axis < 0 ? static_cast<std::size_t>(axis + static_cast<std::int64_t>(x.size())) : static_cast<std::size_t>(axis);
  const std::int64_t shape[] = {ElementCount(x, 0, split), ElementCount(x, split, x.size())};
  CopyBytes(c, c.Output(0, shape));
}

Prepared PrepareFlatten(PrepareContext& c) { return WithState(RunFlatten, FlattenState{c.Int("axis", 1)}); }

// ---- Squeeze, Unsqueeze

constexpr std::size_t kMaxRank = 64;

// A bit per axis. Fails on an axis out of range, or given twice unless `again`.
template <typename Ints>
std::uint64_t AxisMask(const Ints& axes, std::size_t rank, bool again = false) {
  if (rank > kMaxRank) Fail(Code::kNotImplemented, "expected a rank of at most ", kMaxRank, ", found rank ", rank);
  std::uint64_t mask = 0;
  for (const std::int64_t axis : axes) {
    const std::uint64_t bit = std::uint64_t{1} << NormalizeAxis(axis, rank);
    if ((mask & bit) != 0 && !again)
      Fail(Code::kInvalidArgument, "expected each axis once, found axis ", axis, " twice");
    mask |= bit;
  }
  return mask;
}

void InferSqueeze(InferContext& c) {
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  const std::vector<Dim>& x = c.InputDims(0);
  std::vector<Dim> dims;
  const auto axes = c.HasInput(1) ? c.ConstantInts(1) : std::vector<std::int64_t>();
  if (!axes) return c.SetOutput(0, c.InputDType(0));
  if (axes->empty()) {  // to ONNX Runtime, no axes are all axes
    for (const Dim& d : x) {
      if (!d.known()) return c.SetOutput(0, c.InputDType(0));  // it may or may not be 1
      if (d.number() != 1) dims.push_back(d);
    }
  } else {
    const std::uint64_t mask = AxisMask(*axes, x.size(), true);  // ONNX Runtime takes them twice
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!(mask >> i & 1)) {
        dims.push_back(x[i]);
      } else if (x[i].known() && x[i].number() != 1) {
        c.Fail(Code::kInvalidArgument, "expected dimension 1 at axis ", i, ", found ", x[i].number(), " in ",
               c.InputType(0).ToText());
      }
    }
  }
  const std::size_t rank = dims.size();
  c.SetOutput(0, c.InputDType(0), std::move(dims));
  KeepShapeData(c, rank);
}

void RunSqueeze(KernelContext& c) {
  const Dims x = c.Input(0).shape;
  Shape shape;
  const bool all = !c.HasInput(1) || c.Input(1).count == 0;
  const std::uint64_t mask = all ? 0 : AxisMask(IntsOf(c.Input(1)), x.size(), true);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool drop = all ? x[i] == 1 : (mask >> i & 1) != 0;
    if (drop && x[i] != 1) {
      Fail(Code::kInvalidArgument, "expected dimension 1 at axis ", i, ", found shape ", ToText(x));
    }
    if (!drop) shape.Append(x[i]);
  }
  CopyBytes(c, c.Output(0, shape));
}

Prepared PrepareSqueeze(PrepareContext&) { return {RunSqueeze, nullptr}; }

void InferUnsqueeze(InferContext& c) {
  const auto axes = c.ConstantInts(1);
  if (!axes || !c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  const std::size_t rank = c.Rank(0) + axes->size();
  const std::uint64_t mask = AxisMask(*axes, rank);
  std::vector<Dim> dims;
  for (std::size_t i = 0, from = 0; i < rank; ++i) dims.push_back(mask >> i & 1 ? Dim(1) : c.InputDims(0)[from++]);
  c.SetOutput(0, c.InputDType(0), std::move(dims));
  KeepShapeData(c, rank);
}

void RunUnsqueeze(KernelContext& c) {
  const Dims x = c.Input(0).shape;
  const Shape axes = IntsOf(c.Input(1));
  const std::size_t rank = x.size() + axes.size();
  const std::uint64_t mask = AxisMask(axes, rank);
  Shape shape;
  for (std::size_t i = 0, from = 0; i < rank; ++i) shape.Append(mask >> i & 1 ? 1 : x[from++]);
  CopyBytes(c, c.Output(0, shape));
}

Prepared PrepareUnsqueeze(PrepareContext&) { return {RunUnsqueeze, nullptr}; }

// com.microsoft's form: one axis, an int32.
void RunExpandDims(KernelContext& c) {
  if (c.Input(1).count != 1) Fail(Code::kInvalidArgument, "expected one axis, found shape ", ToText(c.Input(1).shape));
  RunUnsqueeze(c);
}

Prepared PrepareExpandDims(PrepareContext&) { return {RunExpandDims, nullptr}; }

void UpgradeAxes(UpgradeContext& c) { c.AttributeToInput("axes", 1); }

constexpr OpDef kShapeOps[] = {
    {.domain = "com.microsoft",
     .name = "ExpandDims",
     .since = {1},
     .types = kAllTypes,
     .infer = InferUnsqueeze,
     .prepare = PrepareExpandDims,
     .traits = kView | kMovesElements},
    {.name = "Flatten",
     .since = {1, 9, 11, 13, 21, 23, 24, 25},
     .types = kAllTypes,
     .infer = InferFlatten,
     .prepare = PrepareFlatten,
     .traits = kView | kMovesElements},
    {.name = "Reshape",
     .since = {1, 5, 13, 14, 19, 21, 23, 24, 25},
     .types = kAllTypes,
     .infer = InferReshape,
     .prepare = PrepareReshape,
     .upgrade = UpgradeReshape,
     .layout = &kReshapeLayout,
     .traits = kView | kMovesElements},
    {.name = "Shape",
     .since = {1, 13, 15, 19, 21, 23, 24, 25},
     .types = kAllTypes,
     .infer = InferShape,
     .prepare = PrepareShape,
     .cost = CountNothing,
     .layout = &kShapeLayout,
     .traits = kShapeOnly},
    {.name = "Size",
     .since = {1, 13, 19, 21, 23, 24, 25},
     .types = kAllTypes,
     .infer = InferSize,
     .prepare = PrepareSize,
     .cost = CountNothing,
     .traits = kShapeOnly},
    {.name = "Squeeze",
     .since = {1, 11, 13, 21, 23, 24, 25},
     .types = kAllTypes,
     .infer = InferSqueeze,
     .prepare = PrepareSqueeze,
     .upgrade = UpgradeAxes,
     .traits = kView | kMovesElements},
    {.name = "Unsqueeze",
     .since = {1, 11, 13, 21, 23, 24, 25},
     .types = kAllTypes,
     .infer = InferUnsqueeze,
     .prepare = PrepareUnsqueeze,
     .upgrade = UpgradeAxes,
     .traits = kView | kMovesElements},
};

}  // namespace

std::span<const OpDef> ShapeOps() { return kShapeOps; }

}  // namespace sardonyx::ops
