// ops/tensor/selection.cpp - Compress, NonZero, OneHot, Range, ReverseSequence, Trilu: parts of a tensor chosen by
// position or value.
#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/copy/storage.h"
#include "kernels/copy/stream.h"
#include "kernels/copy/strided_copy.h"
#include "kernels/elementwise/simple.h"
#include "ops/cost_context.h"
#include "ops/dim_facts.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/tensor_ref.h"

namespace sardonyx::ops {
namespace {

using kernels::StorageAt;
using kernels::VisitStorage;

template <RunFn* kRun>
Prepared Stateless(PrepareContext&) {
  return {kRun, nullptr};
}

// ---- NonZero

// A scalar has no axes, so that its indices have no rows: [0, N].
void InferNonZero(InferContext& c) {
  c.SetOutput(0, DType::kInt64, {c.HasRank(0) ? Dim(static_cast<std::int64_t>(c.Rank(0))) : Dim(), Dim()});
}

// Calls f(is_set), where is_set(i) says whether element i is not zero (not "" for strings).
template <typename F>
void VisitNonZero(const TensorRef& x, F&& f) {
  const bool typed = VisitDType<float, double, Half, BFloat16, std::string>(x.dtype, [&]<typename T>() {
    const T* data = x.As<T>();
    f([data](std::int64_t i) { return !(data[i] == T()); });
  });
  if (typed) return;
  VisitStorage(x.dtype, [&]<typename S>() {
    const typename S::Source data = StorageAt<S>(x.data);
    f([data](std::int64_t i) { return !(data.Get(i) == typename S::Element{}); });
  });
}

// Where which elements are zero is random, a branch would often be wrong.
template <typename IsSet>
void PlacesOf(const IsSet& is_set, std::int64_t found, std::int64_t* y) {
  std::int64_t at = 0;
  for (std::int64_t i = 0; at < found; ++i) {
    y[at] = i;
    at += is_set(i) ? 1 : 0;
  }
}

template <typename IsSet>
void IndicesOf(Dims shape, std::int64_t count, const IsSet& is_set, std::int64_t found, std::int64_t* y) {
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!is_set(i)) continue;
    std::int64_t rest = i;
    for (std::size_t d = shape.size(); d-- > 0;) {
      y[static_cast<std::int64_t>(d) * found + at] = rest % shape[d];
      rest /= shape[d];
    }
    ++at;
  }
}

void RunNonZero(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  VisitNonZero(x, [&](const auto& is_set) {
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < x.count; ++i) found += is_set(i) ? 1 : 0;
    const std::int64_t shape[] = {static_cast<std::int64_t>(x.rank()), found};
    auto* y = c.Output(0, shape).As<std::int64_t>();
    x.rank() == 1 ? PlacesOf(is_set, found, y) : IndicesOf(x.shape, x.count, is_set, found, y);
  });
}

// ---- Compress

struct CompressState {
  std::optional<std::int64_t> axis;  // none: the input is flattened
};

void InferCompress(InferContext& c) {
  if (!c.Has("axis")) return c.SetOutput(0, c.InputDType(0), {Dim()});
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = c.InputDims(0);
  dims[AxisOf(c, c.Int("axis"), dims.size())] = Dim();
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

void RunCompress(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const TensorRef& condition = c.Input(1);
  const CompressState& state = c.state<CompressState>();
  const std::size_t axis = state.axis ? NormalizeAxis(*state.axis, x.rank()) : 0;
  const std::int64_t size = state.axis ? x.shape[axis] : x.count;
  // What is missing counts as false; ONNX Runtime does not look at what is too much.
  const std::int64_t length = std::min(condition.count, size);
  const bool* keep = condition.As<bool>();
  const std::int64_t kept = std::count(keep, keep + length, true);
  Shape shape(x.shape);
  if (state.axis) {
    shape[axis] = kept;
  } else {
    shape = Shape{kept};
  }
  const OutputRef y = c.Output(0, shape);
  if (y.count == 0) return;
  const std::int64_t inner = state.axis ? ElementCount(x.shape, axis + 1, x.rank()) : 1;
  const std::int64_t outer = state.axis ? ElementCount(x.shape, 0, axis) : 1;
  std::int64_t at = 0;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < length; ++i) {
      if (!keep[i]) continue;
      kernels::CopyElements(x.dtype, x.data, (o * size + i) * inner, y.data, at, inner);
      at += inner;
    }
  }
}

Prepared PrepareCompress(PrepareContext& c) {
  CompressState state;
  if (c.Has("axis")) state.axis = c.Int("axis");
  return WithState(RunCompress, state);
}

// ---- Trilu

struct TriluState {
  bool upper;
};

void InferTrilu(InferContext& c) {
  if (c.HasRank(0) && c.Rank(0) < 2)
    c.Fail(Code::kInvalidArgument, "expected an input of rank 2 or more, found ", c.InputType(0).ToText());
  c.SetOutputType(0, c.InputType(0));
}

void RunTrilu(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  if (x.rank() < 2) Fail(Code::kInvalidArgument, "expected an input of rank 2 or more, found shape ", ToText(x.shape));
  const bool upper = c.state<TriluState>().upper;
  const std::int64_t rows = x.shape[x.rank() - 2], columns = x.shape[x.rank() - 1];
  const std::int64_t k = c.HasInput(1) ? std::clamp(IntAt(c.Input(1), 0), -rows - columns, rows + columns) : 0;
  const OutputRef y = c.Output(0, x.shape);
  if (x.count == 0) return;
  VisitStorage(x.dtype, [&]<typename S>() {
    const typename S::Source from = StorageAt<S>(x.data);
    const S to = StorageAt<S>(y.data);
    const std::int64_t count = x.count / columns;
    c.parallel().For(count, S::kPacked ? count : std::max<std::int64_t>(1, 8192 / columns),
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t row = begin; row < end; ++row) {
                         const std::int64_t i = row % rows, at = row * columns;
                         // Upper: columns from i + k on are kept; lower: those up to i + k.
                         const std::int64_t cut = std::clamp<std::int64_t>(i + k + (upper ? 0 : 1), 0, columns);
                         const std::int64_t first = upper ? cut : 0, last = upper ? columns : cut;
                         if (x.data != y.data) to.CopyRun(at + first, from, at + first, last - first);
                         to.Fill(at + (upper ? 0 : cut), upper ? cut : columns - cut, typename S::Element{});
                       }
                     });
  });
}

Prepared PrepareTrilu(PrepareContext& c) { return WithState(RunTrilu, TriluState{c.Flag("upper", true)}); }

// ---- Range

template <typename T>
std::int64_t RangeCount(T start, T limit, T delta) {
  if constexpr (std::is_integral_v<T>) {
    if (delta == 0) Fail(Code::kInvalidArgument, "expected a delta other than 0, found 0");
    if (delta > 0 ? start >= limit : start <= limit) return 0;
    const std::uint64_t span = delta > 0 ? static_cast<std::uint64_t>(limit) - static_cast<std::uint64_t>(start)
                                         : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(limit);
    const std::uint64_t step = delta > 0 ? static_cast<std::uint64_t>(delta) : 0 - static_cast<std::uint64_t>(delta);
    return static_cast<std::int64_t>((span - 1) / step + 1);
  } else {
    const double count =
        std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
    if (!(std::abs(count) < 9e15)) {
      Fail(Code::kInvalidArgument, "expected a range with a finite number of elements, found one from ", start, " to ",
           limit, " by ", delta);
    }
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(count));
  }
}

// start + i * delta. Integers wrap: the sum fits where it is an element, the product need not.
template <typename T>
T RangeElement(T start, T delta, std::int64_t i) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(start) +
                          static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(delta));
  } else {
    return start + static_cast<T>(i) * delta;
  }
}

// Of the integers from start to limit, of which one at least has symbols. Decoders count their positions from `past` to
// `past + seq`.
Dim CountOfSteps(const Dim& start, const Dim& limit) {
  const Dim count = limit - start;
  const bool from_zero = start.known() && start.number() == 0;
  return from_zero || NeverNegative(count) ? count : Max(count, 0);
}

void InferRange(InferContext& c) {
  const DType dtype = c.InputDType(0);
  const bool small = dtype == DType::kInt32 || dtype == DType::kInt64;
  std::optional<std::vector<Dim>> data[3];
  for (std::size_t i = 0; i < 3 && small; ++i) data[i] = c.ShapeData(i);
  const auto one = [&](std::size_t i) { return data[i] && data[i]->size() == 1 ? data[i]->front() : Dim(); };
  const Dim start = one(0), limit = one(1), delta = c.HasInput(2) ? one(2) : Dim(1);
  if (small && start.known() && limit.known() && delta.known()) {
    const std::int64_t n = RangeCount(start.number(), limit.number(), delta.number());
    c.SetOutput(0, dtype, {Dim(n)});
    std::vector<Dim> elements;
    for (std::int64_t i = 0; i < n && n <= 64; ++i)
      elements.emplace_back(RangeElement(start.number(), delta.number(), i));
    if (n <= 64) c.SetShapeData(0, std::move(elements));
    return;
  }
  if (small && delta.known() && delta.number() == 1 && !start.unknown() && !limit.unknown()) {
    return c.SetOutput(0, dtype, {CountOfSteps(start, limit)});
  }
  Dim n;
  const auto is_number = [&](std::size_t i) {
    return c.Constant(i) != nullptr && c.Constant(i)->count() == 1 && c.Constant(i)->dtype() == dtype;
  };
  if (is_number(0) && is_number(1) && is_number(2)) {
    VisitDType<float, double, std::int16_t>(dtype, [&]<typename T>() {
      n = RangeCount(*c.Constant(0)->data<T>(), *c.Constant(1)->data<T>(), *c.Constant(2)->data<T>());
    });
  }
  c.SetOutput(0, dtype, {n});
}

// Computed in `C` from the start, so that errors do not add up.
template <typename T, typename C>
void FillRange(KernelContext& c) {
  const auto number = [&](std::size_t i) {
    if (c.Input(i).count != 1)
      Fail(Code::kInvalidArgument, "expected one number in input ", i, ", found shape ", ToText(c.Input(i).shape));
    return static_cast<C>(*c.Input(i).As<T>());
  };
  const C start = number(0), limit = number(1), delta = c.HasInput(2) ? number(2) : C(1);
  const std::int64_t shape[] = {RangeCount(start, limit, delta)};
  T* y = c.Output(0, shape).template As<T>();
  if constexpr (std::is_integral_v<T>) {
    kernels::RampFn* const ramp = kernels::Ramp(sizeof(T));
    const bool streamed = static_cast<std::size_t>(shape[0]) >= kernels::kStreamedBytes / sizeof(T);
    c.parallel().For(shape[0], 1 << 16, [&](std::int64_t begin, std::int64_t end) {
      const auto fill = [&](std::size_t at, std::size_t n, void* to) {
        const auto first =
            static_cast<std::uint64_t>(RangeElement(start, delta, begin + static_cast<std::int64_t>(at)));
        ramp(first, static_cast<std::uint64_t>(delta), to, n);
        return n;
      };
      const auto count = static_cast<std::size_t>(end - begin);
      if (!streamed) return static_cast<void>(fill(0, count, y + begin));
      kernels::StreamBlocks(count, sizeof(T), reinterpret_cast<std::byte*>(y + begin), fill);
    });
  } else {
    for (std::int64_t i = 0; i < shape[0]; ++i) y[i] = static_cast<T>(RangeElement(start, delta, i));
  }
}

Prepared PrepareRange(PrepareContext& c) {
  switch (c.InputDType(0)) {
    case DType::kFloat:
      return {FillRange<float, float>, nullptr};
    case DType::kDouble:
      return {FillRange<double, double>, nullptr};
    case DType::kFloat16:
      return {FillRange<Half, float>, nullptr};
    case DType::kBFloat16:
      return {FillRange<BFloat16, float>, nullptr};
    case DType::kInt16:
      return {FillRange<std::int16_t, std::int64_t>, nullptr};
    case DType::kInt32:
      return {FillRange<std::int32_t, std::int64_t>, nullptr};
    case DType::kInt64:
      return {FillRange<std::int64_t, std::int64_t>, nullptr};
    default:
      c.Unsupported("input 'start'", c.InputDType(0));
  }
}

// ---- ReverseSequence

struct ReverseState {
  std::int64_t batch_axis, time_axis;
};

void InferReverseSequence(InferContext& c) { c.SetOutputType(0, c.InputType(0)); }

// Sequences of single elements that lie side by side, x of shape [times, batches]. Each reads rows of its own, so they
// are walked in strips: what a strip fetches is used by all its columns before it leaves the cache.
void ReverseColumns(KernelContext& c, const TensorRef& x, const OutputRef& y, const Shape& until) {
  constexpr std::int64_t kStrip = 16;
  const std::int64_t times = x.shape[0], batches = x.shape[1];
  const std::int64_t grain = std::max<std::int64_t>(1, 8192 / (kStrip * times));
  kernels::VisitStorage(x.dtype, [&]<typename S>() {
    const typename S::Source from = kernels::StorageAt<S>(x.data);
    const S to = kernels::StorageAt<S>(y.data);
    c.parallel().For((batches + kStrip - 1) / kStrip, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t strip = begin; strip < end; ++strip) {
        const std::int64_t first = strip * kStrip, last = std::min(batches, first + kStrip);
        for (std::int64_t t = 0; t < times; ++t) {
          for (std::int64_t b = first; b < last; ++b) {
            const std::int64_t length = until[static_cast<std::size_t>(b)];
            to.Set(t * batches + b, from.Get((t < length ? length - 1 - t : t) * batches + b));
          }
        }
      }
    });
  });
}

void RunReverseSequence(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const TensorRef& lengths = c.Input(1);
  const ReverseState& state = c.state<ReverseState>();
  if (x.rank() < 2) Fail(Code::kInvalidArgument, "expected an input of rank 2 or more, found shape ", ToText(x.shape));
  const bool batch_first = state.batch_axis == 0;
  const std::int64_t batches = x.shape[batch_first ? 0 : 1], times = x.shape[batch_first ? 1 : 0];
  if (lengths.count != batches)
    Fail(Code::kInvalidArgument, "expected ", batches, " sequence lengths, found ", lengths.count);
  const std::int64_t run = ElementCount(x.shape, 2, x.rank());
  const OutputRef y = c.Output(0, x.shape);
  if (y.count == 0) return;  // the other dimensions may be any number
  const Shape until = IntsOf(lengths);
  for (std::size_t b = 0; b < until.size(); ++b) {
    if (until[b] < 0 || until[b] > times) {
      Fail(Code::kInvalidArgument, "expected sequence lengths in [0, ", times, "], found ", until[b], " for batch ", b);
    }
  }
  if (!batch_first && run == 1 && !IsSubByte(x.dtype)) return ReverseColumns(c, x, y, until);
  // In the order of the memory: sequence by sequence, or step by step.
  const std::int64_t outer = batch_first ? batches : times, inner = batch_first ? times : batches;
  const std::int64_t grain = IsSubByte(x.dtype) ? outer : std::max<std::int64_t>(1, 8192 / (inner * run));
  kernels::VisitStorage(x.dtype, [&]<typename S>() {
    const typename S::Source from = kernels::StorageAt<S>(x.data);
    const S to = kernels::StorageAt<S>(y.data);
    c.parallel().For(outer, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        for (std::int64_t j = 0; j < inner; ++j) {
          const std::int64_t t = batch_first ? j : i, length = until[static_cast<std::size_t>(batch_first ? i : j)];
          const std::int64_t source = t < length ? length - 1 - t : t;
          const std::int64_t place = batch_first ? i * times + source : source * batches + j;
          if (run == 1) {
            to.Set(i * inner + j, from.Get(place));
          } else {
            to.CopyRun((i * inner + j) * run, from, place * run, run);
          }
        }
      }
    });
  });
}

Prepared PrepareReverseSequence(PrepareContext& c) {
  const ReverseState state{c.Int("batch_axis", 1), c.Int("time_axis", 0)};
  const bool batch_first = state.batch_axis == 0 && state.time_axis == 1;
  if (!batch_first && !(state.batch_axis == 1 && state.time_axis == 0)) {
    c.Fail(Code::kInvalidGraph, "expected batch_axis and time_axis to be 0 and 1, found ", state.batch_axis, " and ",
           state.time_axis);
  }
  return WithState(RunReverseSequence, state);
}

// ---- OneHot

struct OneHotState {
  std::int64_t axis;
};

void InferOneHot(InferContext& c) {
  if (c.HasRank(2) && (c.Rank(2) != 1 || (c.InputDims(2)[0].known() && c.InputDims(2)[0].number() != 2)))
    c.Fail(Code::kInvalidArgument, "expected two values, found ", c.InputType(2).ToText());
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(2));
  std::vector<Dim> dims = c.InputDims(0);
  const std::size_t axis = AxisOf(c, c.Int("axis", -1), dims.size() + 1);
  Dim depth;
  if (const Tensor* t = c.Constant(1); t != nullptr && t->count() == 1) {
    depth = IntAt(RefOf(*t), 0);
  } else if (const auto data = c.ShapeData(1); data && data->size() == 1 && IsInteger(c.InputDType(1))) {
    depth = data->front();
  }
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  c.SetOutput(0, c.InputDType(2), std::move(dims));
}

void RunOneHot(KernelContext& c) {
  const TensorRef& indices = c.Input(0);
  const TensorRef& values = c.Input(2);
  if (c.Input(1).count != 1) Fail(Code::kInvalidArgument, "expected one depth, found shape ", ToText(c.Input(1).shape));
  if (values.count != 2) Fail(Code::kInvalidArgument, "expected two values, found shape ", ToText(values.shape));
  const std::int64_t depth = IntAt(c.Input(1), 0);
  if (depth < 1) Fail(Code::kInvalidArgument, "expected a depth of at least 1, found ", depth);
  const std::size_t axis = NormalizeAxis(c.state<OneHotState>().axis, indices.rank() + 1);
  Shape shape;
  for (std::size_t i = 0; i <= indices.rank(); ++i) {
    if (i == axis) shape.Append(depth);
    if (i < indices.rank()) shape.Append(indices.shape[i]);
  }
  const OutputRef y = c.Output(0, shape);
  const std::int64_t inner = ElementCount(indices.shape, axis, indices.rank());
  VisitStorage(values.dtype, [&]<typename S>() {
    const S to = StorageAt<S>(y.data);
    const typename S::Source pair = StorageAt<S>(values.data);
    to.Fill(0, y.count, pair.Get(0));
    for (std::int64_t i = 0; i < indices.count; ++i) {
      std::int64_t index = IntAt(indices, i);
      if (index < -depth || index >= depth) continue;  // all off, says the specification
      if (index < 0) index += depth;
      to.Set((i / inner * depth + index) * inner + i % inner, pair.Get(1));
    }
  });
}

Prepared PrepareOneHot(PrepareContext& c) { return WithState(RunOneHot, OneHotState{c.Int("axis", -1)}); }

constexpr OpDef kSelectionOps[] = {
    {.name = "Compress",
     .since = {9, 11, 28},
     .types = kAllTypes,
     .infer = InferCompress,
     .prepare = PrepareCompress,
     .cost = CountPicked,
     .traits = kSizedByElements},
    {.name = "NonZero",
     .since = {9, 13},
     .types = kAllTypes,
     .infer = InferNonZero,
     .prepare = Stateless<RunNonZero>,
     .cost = CountNothing,
     .traits = kSizedByElements},
    {.name = "OneHot", .since = {9, 11, 28}, .infer = InferOneHot, .prepare = PrepareOneHot, .cost = CountNothing},
    {.domain = "com.microsoft",
     .name = "Range",
     .since = {1},
     .infer = InferRange,
     .prepare = PrepareRange,
     .cost = CountNothing},
    {.name = "Range", .since = {11, 27}, .infer = InferRange, .prepare = PrepareRange, .cost = CountNothing},
    {.name = "ReverseSequence",
     .since = {10, 28},
     .types = kAllTypes,
     .infer = InferReverseSequence,
     .prepare = PrepareReverseSequence,
     .cost = CountNothing},
    {.domain = "com.microsoft",
     .name = "Trilu",
     .since = {1},
     .types = kAllTypes,
     .infer = InferTrilu,
     .prepare = PrepareTrilu,
     .cost = CountNothing,
     .traits = kMayAlias},
    {.name = "Trilu",
     .since = {14},
     .types = kAllTypes,
     .infer = InferTrilu,
     .prepare = PrepareTrilu,
     .cost = CountNothing,
     .traits = kMayAlias},
};

}  // namespace

std::span<const OpDef> SelectionOps() { return kSelectionOps; }

}  // namespace sardonyx::ops
