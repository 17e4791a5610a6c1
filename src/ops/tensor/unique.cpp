// ops/tensor/unique.cpp - Unique: the distinct elements of a tensor, or its distinct slices along an axis.
#include <algorithm>
#include <array>
#include <bit>
#include <complex>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "kernels/copy/strided_copy.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

struct UniqueState {
  std::optional<std::int64_t> axis;  // none: the input is flattened
  bool sorted;
};

void InferUnique(InferContext& c) {
  std::vector<Dim> dims = {Dim()};
  if (c.Has("axis")) {
    if (c.HasRank(0)) {
      dims = c.InputDims(0);
      dims[AxisOf(c, c.Int("axis"), dims.size())] = Dim();
      c.SetOutput(0, c.InputDType(0), std::move(dims));
    } else {
      c.SetOutput(0, c.InputDType(0));
    }
  } else {
    c.SetOutput(0, c.InputDType(0), std::move(dims));
  }
  for (std::size_t i = 1; i < c.OutputCount(); ++i) c.SetOutput(i, DType::kInt64, {Dim()});
}

// -1, 0 or 1; NaN is above all and equal to itself, so that the order is total.
template <typename T>
int Compare(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    const int real = Compare(a.real(), b.real());
    return real != 0 ? real : Compare(a.imag(), b.imag());
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return Compare(static_cast<float>(a), static_cast<float>(b));
  } else {
    if (a < b) return -1;
    if (b < a) return 1;
    if constexpr (std::is_floating_point_v<T>) return static_cast<int>(a != a) - static_cast<int>(b != b);
    return 0;
  }
}

// Slice i of x [outer, size, inner].
struct Slices {
  std::int64_t outer, size, inner;
};

template <typename T>
int CompareSlices(const T* x, const Slices& s, std::int64_t a, std::int64_t b) {
  for (std::int64_t o = 0; o < s.outer; ++o) {
    for (std::int64_t k = 0; k < s.inner; ++k) {
      const std::int64_t base = o * s.size * s.inner + k;
      const int order = Compare(x[base + a * s.inner], x[base + b * s.inner]);
      if (order != 0) return order;
    }
  }
  return 0;
}

struct Groups {
  std::vector<std::int64_t> first, inverse,
      counts;  // first[g]: the first slice of group g; inverse[i]: the group of slice i
};

// Bits that are ordered as the numbers are: equal for equal numbers, all NaN one and above all others.
template <typename T>
std::uint64_t OrderedBits(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr Bits kSign = Bits(1) << (8 * sizeof(T) - 1);
    if (x != x) return static_cast<Bits>(~Bits(0));
    const auto bits = std::bit_cast<Bits>(x == 0 ? T(0) : x);
    return static_cast<Bits>((bits & kSign) != 0 ? ~bits : bits | kSign);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<std::uint64_t>(x) ^ std::uint64_t(1) << 63;
  } else {
    return static_cast<std::uint64_t>(x);
  }
}

// The places of numbers in ascending order, equal ones in the order in which they occur: by one byte after the other,
// the lowest first; bytes in which all agree are passed over.
template <typename T>
std::vector<std::int64_t> SortedPlaces(const T* x, std::size_t n) {
  struct Element {
    std::uint64_t bits;
    std::int64_t place;
  };
  std::vector<Element> elements(n), sorted(n);
  std::array<std::array<std::size_t, 256>, 8> counts = {};
  for (std::size_t i = 0; i < n; ++i) {
    elements[i] = {OrderedBits(x[i]), static_cast<std::int64_t>(i)};
    for (std::size_t byte = 0; byte < 8; ++byte) ++counts[byte][elements[i].bits >> (8 * byte) & 255];
  }
  for (std::size_t byte = 0; byte < 8; ++byte) {
    if (counts[byte][elements[0].bits >> (8 * byte) & 255] == n) continue;
    std::size_t at = 0;
    for (std::size_t& count : counts[byte]) at += std::exchange(count, at);
    for (const Element& e : elements) sorted[counts[byte][e.bits >> (8 * byte) & 255]++] = e;
    elements.swap(sorted);
  }
  std::vector<std::int64_t> places(n);
  for (std::size_t i = 0; i < n; ++i) places[i] = elements[i].place;
  return places;
}

// Slices in ascending order, equal ones in the order in which they occur.
template <typename T>
std::vector<std::int64_t> SortedSlices(const T* x, const Slices& s) {
  constexpr std::int64_t kFew = 512;  // fewer are not worth the counts
  if constexpr (std::is_arithmetic_v<T>)
    if (s.outer == 1 && s.inner == 1 && s.size >= kFew) return SortedPlaces(x, static_cast<std::size_t>(s.size));
  std::vector<std::int64_t> order(static_cast<std::size_t>(s.size));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return CompareSlices(x, s, a, b) < 0; });
  return order;
}

// Numbers of up to 16 bits as the index of a table, in their order.
template <typename T>
std::size_t TableKey(T x) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    const auto value = static_cast<float>(x);
    if (value != value) return 0xFFFF;
    const auto bits = value == 0 ? std::uint16_t(0) : std::bit_cast<std::uint16_t>(x);
    return (bits & 0x8000) != 0 ? static_cast<std::uint16_t>(~bits) : bits | 0x8000u;
  } else {
    return static_cast<std::size_t>(std::int64_t{x} - std::numeric_limits<T>::min());
  }
}

// The groups of many elements that have few values, in ascending order: by a table of what was seen.
template <typename T>
Groups CountValues(const T* x, std::size_t n) {
  struct Seen {
    std::int64_t first = 0, count = 0, group = 0;
  };
  std::vector<Seen> seen(std::size_t(1) << (8 * sizeof(T)));
  for (std::size_t i = 0; i < n; ++i) {
    Seen& value = seen[TableKey(x[i])];
    if (value.count++ == 0) value.first = static_cast<std::int64_t>(i);
  }
  Groups groups;
  for (Seen& value : seen) {
    if (value.count == 0) continue;
    value.group = static_cast<std::int64_t>(groups.first.size());
    groups.first.push_back(value.first);
    groups.counts.push_back(value.count);
  }
  groups.inverse.resize(n);
  for (std::size_t i = 0; i < n; ++i) groups.inverse[i] = seen[TableKey(x[i])].group;
  return groups;
}

// The groups in ascending order.
template <typename T>
Groups SortedGroups(const T* x, const Slices& s) {
  if constexpr (sizeof(T) <= 2) {
    constexpr std::int64_t kMany = 1 << (8 * sizeof(T) - 3);  // enough for a table
    if (s.outer == 1 && s.inner == 1 && s.size >= kMany) return CountValues(x, static_cast<std::size_t>(s.size));
  }
  const std::vector<std::int64_t> order = SortedSlices(x, s);
  Groups groups;
  groups.inverse.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || CompareSlices(x, s, order[i - 1], order[i]) != 0) {
      groups.first.push_back(order[i]);
      groups.counts.push_back(0);
    }
    ++groups.counts.back();
    groups.inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(groups.first.size()) - 1;
  }
  return groups;
}

template <typename T>
Groups FindGroups(const T* x, const Slices& s, bool sorted) {
  Groups groups = SortedGroups(x, s);
  if (sorted) return groups;
  // By first occurrence: rank the groups by their first slice.
  std::vector<std::int64_t> by_first(groups.first.size()), place(groups.first.size());
  std::iota(by_first.begin(), by_first.end(), std::int64_t{0});
  std::sort(by_first.begin(), by_first.end(), [&](std::int64_t a, std::int64_t b) {
    return groups.first[static_cast<std::size_t>(a)] < groups.first[static_cast<std::size_t>(b)];
  });
  Groups result;
  for (std::size_t i = 0; i < by_first.size(); ++i) {
    const auto group = static_cast<std::size_t>(by_first[i]);
    place[group] = static_cast<std::int64_t>(i);
    result.first.push_back(groups.first[group]);
    result.counts.push_back(groups.counts[group]);
  }
  for (const std::int64_t group : groups.inverse) result.inverse.push_back(place[static_cast<std::size_t>(group)]);
  return result;
}

void WriteInts(KernelContext& c, std::size_t i, const std::vector<std::int64_t>& values) {
  if (!c.HasOutput(i)) return;
  const std::int64_t shape[] = {static_cast<std::int64_t>(values.size())};
  std::copy(values.begin(), values.end(), c.Output(i, shape).As<std::int64_t>());
}

template <typename F>
bool VisitOrdered(DType dtype, F&& f) {
  return VisitDType<float, double, Half, BFloat16, bool, std::string, std::int8_t, std::int16_t, std::int32_t,
                    std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, std::complex<float>,
                    std::complex<double>>(dtype, f);
}

// No elements, but perhaps any number of slices: they are all equal.
void RunEmpty(KernelContext& c, std::int64_t slices, std::optional<std::size_t> axis) {
  const std::int64_t found[] = {slices > 0 ? 1 : 0}, all[] = {slices};
  Shape shape{found[0]};
  if (axis) {
    shape.Assign(c.Input(0).shape);
    shape[*axis] = found[0];
  }
  c.Output(0, shape);
  if (c.HasOutput(1)) std::fill_n(c.Output(1, found).As<std::int64_t>(), found[0], std::int64_t{0});
  if (c.HasOutput(2)) std::fill_n(c.Output(2, all).As<std::int64_t>(), slices, std::int64_t{0});
  if (c.HasOutput(3)) std::fill_n(c.Output(3, found).As<std::int64_t>(), found[0], slices);
}

void RunUnique(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const UniqueState& state = c.state<UniqueState>();
  Slices slices{1, x.count, 1};
  std::size_t axis = 0;
  if (state.axis) {
    axis = NormalizeAxis(*state.axis, x.rank());
    slices = {ElementCount(x.shape, 0, axis), x.shape[axis], ElementCount(x.shape, axis + 1, x.rank())};
  }
  if (x.count == 0) return RunEmpty(c, slices.size, state.axis ? std::optional(axis) : std::nullopt);
  Groups groups;
  VisitOrdered(x.dtype, [&]<typename T>() { groups = FindGroups(x.As<T>(), slices, state.sorted); });
  const auto found = static_cast<std::int64_t>(groups.first.size());
  Shape shape{found};
  if (state.axis) {
    shape.Assign(x.shape);
    shape[axis] = found;
  }
  const OutputRef y = c.Output(0, shape);
  for (std::int64_t o = 0; o < slices.outer; ++o) {
    for (std::int64_t g = 0; g < found; ++g) {
      kernels::CopyElements(x.dtype, x.data,
                            (o * slices.size + groups.first[static_cast<std::size_t>(g)]) * slices.inner, y.data,
                            (o * found + g) * slices.inner, slices.inner);
    }
  }
  WriteInts(c, 1, groups.first);
  WriteInts(c, 2, groups.inverse);
  WriteInts(c, 3, groups.counts);
}

Prepared PrepareUnique(PrepareContext& c) {
  if (!VisitOrdered(c.InputDType(0), []<typename T>() {})) c.Unsupported("input 'X'", c.InputDType(0));
  UniqueState state{std::nullopt, c.Flag("sorted", true)};
  if (c.Has("axis")) state.axis = c.Int("axis");
  return WithState(RunUnique, state);
}

// com.microsoft's form, of vectors: the elements in the order in which they first occur; no output of where that is.
void InferUniqueInOrder(InferContext& c) {
  if (c.HasRank(0) && c.Rank(0) != 1)
    c.Fail(Code::kInvalidArgument, c.InputText(0), ": expected a vector, found ", c.InputType(0).ToText());
  c.SetOutput(0, c.InputDType(0), {Dim()});
  const std::vector<Dim> each = c.HasRank(0) ? c.InputDims(0) : std::vector<Dim>{Dim()};
  if (c.HasOutput(1)) c.SetOutput(1, DType::kInt64, each);
  if (c.HasOutput(2)) c.SetOutput(2, DType::kInt64, {Dim()});
}

void RunUniqueInOrder(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  if (x.rank() != 1) Fail(Code::kInvalidArgument, "expected a vector, found shape ", ToText(x.shape));
  Groups groups;
  if (x.count > 0) VisitOrdered(x.dtype, [&]<typename T>() { groups = FindGroups(x.As<T>(), {1, x.count, 1}, false); });
  const std::int64_t shape[] = {static_cast<std::int64_t>(groups.first.size())};
  const OutputRef y = c.Output(0, shape);
  for (std::size_t g = 0; g < groups.first.size(); ++g)
    kernels::CopyElements(x.dtype, x.data, groups.first[g], y.data, static_cast<std::int64_t>(g), 1);
  WriteInts(c, 1, groups.inverse);
  WriteInts(c, 2, groups.counts);
}

Prepared PrepareUniqueInOrder(PrepareContext& c) {
  if (!VisitOrdered(c.InputDType(0), []<typename T>() {})) c.Unsupported(c.InputText(0), c.InputDType(0));
  return {RunUniqueInOrder, nullptr};
}

constexpr OpDef kUniqueOps[] = {
    {.domain = "com.microsoft",
     .name = "Unique",
     .since = {1},
     .infer = InferUniqueInOrder,
     .prepare = PrepareUniqueInOrder,
     .cost = CountNothing,
     .traits = kSizedByElements},
    {.name = "Unique",
     .since = {11, 28},
     .infer = InferUnique,
     .prepare = PrepareUnique,
     .cost = CountNothing,
     .traits = kSizedByElements},
};

}  // namespace

std::span<const OpDef> UniqueOps() { return kUniqueOps; }

}  // namespace sardonyx::ops
