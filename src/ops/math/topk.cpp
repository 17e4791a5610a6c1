// ops/math/topk.cpp - TopK: the k largest or smallest elements of an axis with their indices; among equal ones the
// first.
#include <algorithm>
#include <bit>
#include <type_traits>

#include "base/sort_by_upper_half.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

constexpr std::int64_t kFew = 16;    // elements that are ranked by counting
constexpr std::int64_t kMany = 128;  // from here on digits are sorted sooner than numbers are compared

struct TopKState {
  std::int64_t axis = -1;
  bool largest = true, sorted = true;
};

void InferTopK(InferContext& c) {
  if (!c.HasRank(0)) {
    c.SetOutput(0, c.InputDType(0));
    return c.SetOutput(1, DType::kInt64);
  }
  std::vector<Dim> dims = c.InputDims(0);
  const std::size_t axis = AxisOf(c, c.Int("axis", -1), dims.size());
  const auto k = c.ShapeData(1);
  if (c.Constant(1) != nullptr && c.Constant(1)->count() != 1)
    c.Fail(Code::kInvalidArgument, "expected one k, found ", ToText(c.Constant(1)->shape()));
  const Dim count = k && k->size() == 1 ? (*k)[0] : Dim();
  if (count.known() && (count.number() < 0 || (dims[axis].known() && count.number() > dims[axis].number()))) {
    c.Fail(Code::kInvalidArgument, "expected k in [0, ", dims[axis].ToText(), "], found ", count.number());
  }
  dims[axis] = count;
  c.SetOutput(1, DType::kInt64, dims);
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

// Elements are ranked by keys: smaller is better, equal elements go by their places. An element of up to 32 bits and
// its place share a number, so that one comparison does both.
using PackedKey = std::uint64_t;
struct WideKey {
  std::uint64_t rank;
  std::int64_t place;
  bool operator<(const WideKey& other) const { return rank != other.rank ? rank < other.rank : place < other.place; }
};
std::int64_t PlaceOf(PackedKey key) { return static_cast<std::int64_t>(key & 0xffffffffu); }
std::int64_t PlaceOf(const WideKey& key) { return key.place; }

// An unsigned number that orders elements of T as they are ordered; NaN is greater than all others, -0 is 0.
template <typename T>
auto Ascending(T x) {
  using U =
      typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                         std::type_identity<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>::type;
  constexpr U kSign = static_cast<U>(U(1) << (8 * sizeof(T) - 1));
  if constexpr (std::is_floating_point_v<T>) {
    const U bits = std::bit_cast<U>(x + T(0));
    return x != x ? static_cast<U>(~U(0)) : (bits & kSign) != 0 ? static_cast<U>(~bits) : static_cast<U>(bits | kSign);
  } else {
    return std::is_signed_v<T> ? static_cast<U>(static_cast<U>(x) ^ kSign) : static_cast<U>(x);
  }
}

template <typename Key, typename T>
Key KeyOf(T x, std::int64_t place, bool largest) {
  auto rank = Ascending(x);
  if (largest) rank = static_cast<decltype(rank)>(~rank);
  if constexpr (std::is_same_v<Key, PackedKey>) {
    return static_cast<std::uint64_t>(rank) << 32 | static_cast<std::uint64_t>(place);
  } else {
    return {rank, place};
  }
}

// The k best of a few keys, best first: the rank of each is the number of smaller ones, which no branch has to guess.
template <typename Key>
void SelectOfFew(Key* keys, std::int64_t n, std::int64_t k) {
  Key ordered[kFew];
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t rank = 0;
    for (std::int64_t j = 0; j < n; ++j) rank += keys[j] < keys[i] ? 1 : 0;
    ordered[rank] = keys[i];
  }
  std::copy_n(ordered, k, keys);
}

// The k best of n keys, best first unless all are wanted unsorted, into keys[0, k). other: room for n keys.
template <typename Key>
void Select(Key* keys, Key* other, std::int64_t n, std::int64_t k, bool sorted) {
  if (!sorted && k == n) return;
  if (n <= kFew) return SelectOfFew(keys, n, k);
  if (k * 8 < n) {  // few of many: a heap of the best with the worst on top
    std::make_heap(keys, keys + k);
    for (std::int64_t i = k; i < n; ++i) {
      if (!(keys[i] < keys[0])) continue;
      std::pop_heap(keys, keys + k);
      keys[k - 1] = keys[i];
      std::push_heap(keys, keys + k);
    }
    std::sort_heap(keys, keys + k);
    return;
  }
  if constexpr (std::is_same_v<Key, PackedKey>) {
    if (n >= kMany) return SortByUpperHalf(keys, other, static_cast<std::size_t>(n));
  }
  if (k < n) std::nth_element(keys, keys + k, keys + n);
  std::sort(keys, keys + k);
}

struct TopKJob {
  std::int64_t outer, n, inner, k, columns;  // columns: neighbours that are read together, in the order of memory
  bool largest, sorted;
  std::int64_t blocks() const { return (inner + columns - 1) / columns; }
};

// Block `i` of columns; keys: room for n of each column, and for n more.
template <typename Key, typename T>
void SelectBlock(const TopKJob& job, std::int64_t i, const T* x, Key* keys, T* y, std::int64_t* indices) {
  const std::int64_t first = i % job.blocks() * job.columns, columns = std::min(job.columns, job.inner - first);
  const T* from = x + i / job.blocks() * job.n * job.inner + first;
  for (std::int64_t row = 0; row < job.n; ++row)
    for (std::int64_t j = 0; j < columns; ++j)
      keys[j * job.n + row] = KeyOf<Key>(from[row * job.inner + j], row, job.largest);
  for (std::int64_t j = 0; j < columns; ++j) Select(keys + j * job.n, keys + columns * job.n, job.n, job.k, job.sorted);
  const std::int64_t to = i / job.blocks() * job.k * job.inner + first;
  for (std::int64_t row = 0; row < job.k; ++row) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::int64_t place = PlaceOf(keys[j * job.n + row]), at = to + row * job.inner + j;
      y[at] = from[place * job.inner + j];
      if (indices != nullptr) indices[at] = place;
    }
  }
}

template <typename Key, typename T>
void RunJob(KernelContext& c, TopKJob job, std::int64_t* indices) {
  constexpr std::int64_t kColumns = 16, kMostKeys = 65536;
  job.columns = std::min(job.inner, std::clamp<std::int64_t>(kMostKeys / job.n, 1, kColumns));
  const std::int64_t units = job.outer * job.blocks();
  // Every piece of work has room for the keys of one block.
  const std::int64_t pieces = std::min<std::int64_t>(units, 4 * std::int64_t{c.parallel().ThreadCount()});
  Operands io(c, kDTypeOf<T>, 2, 2);
  const std::size_t room = io.Add<Key>(static_cast<std::size_t>(CheckedMul(
      CheckedMul(pieces, job.columns + 1, "the size of scratch memory"), job.n, "the size of scratch memory")));
  const Operands::Computing computing(io);
  const T* from = io.In<T>(0);
  T* to = io.Out<T>(0);
  c.parallel().For(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      Key* keys = io.At<Key>(room) + piece * (job.columns + 1) * job.n;
      for (std::int64_t i = units * piece / pieces; i < units * (piece + 1) / pieces; ++i)
        SelectBlock(job, i, from, keys, to, indices);
    }
  });
}

template <typename T>
void RunTopK(KernelContext& c) {
  const auto& state = c.state<TopKState>();
  const TensorRef& x = c.Input(0);
  const std::size_t axis = NormalizeAxis(state.axis, x.rank());
  const std::int64_t n = x.dim(axis);
  if (c.Input(1).count != 1) Fail(Code::kInvalidArgument, "expected one k, found ", ToText(c.Input(1).shape));
  const std::int64_t k = *c.Input(1).As<std::int64_t>();
  if (k < 0 || k > n) Fail(Code::kInvalidArgument, "expected k in [0, ", n, "], found ", k);
  Shape shape(x.shape);
  shape[axis] = k;
  const OutputRef y = c.Output(0, shape);
  std::int64_t* indices = c.HasOutput(1) ? c.Output(1, shape).As<std::int64_t>() : nullptr;
  if (y.count == 0) return;
  const TopKJob job = {
      ElementCount(x.shape, 0, axis), n, ElementCount(x.shape, axis + 1, x.rank()), k, 1, state.largest, state.sorted};
  if constexpr (sizeof(T) <= 4) {
    if (n <= std::int64_t{1} << 32) return RunJob<PackedKey, T>(c, job, indices);
  }
  RunJob<WideKey, T>(c, job, indices);
}

Prepared PrepareTopK(PrepareContext& c) {
  const TopKState state = {c.Int("axis", -1), c.Int("largest", 1) == 1, c.Flag("sorted", true)};
  const DType dtype = c.InputDType(0);
  if (dtype == DType::kFloat16 || dtype == DType::kBFloat16) return WithState(RunTopK<float>, state);
  Prepared prepared;
  const bool found =
      VisitDType<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                 std::uint32_t, std::uint64_t>(dtype, [&]<typename T>() { prepared = WithState(RunTopK<T>, state); });
  if (!found) c.Unsupported(c.InputText(0), dtype);
  return prepared;
}

void UpgradeTopK(UpgradeContext& c) {
  if (c.version() > 1) return;
  const auto k = c.Take("k");
  if (!k) c.attributes().Fail(Code::kInvalidGraph, "attribute 'k' is required and missing");
  c.SetConstantInput(1, Tensor::Of<std::int64_t>({std::get<std::int64_t>(*k)}, Shape{1}));
}

constexpr OpDef kTopKOps[] = {
    {.name = "TopK",
     .since = {1, 10, 11, 24},
     .types = kNumbers,
     .infer = InferTopK,
     .prepare = PrepareTopK,
     .upgrade = UpgradeTopK,
     .cost = CountOncePerInput},
};

}  // namespace

std::span<const OpDef> TopKOps() { return kTopKOps; }

}  // namespace sardonyx::ops
