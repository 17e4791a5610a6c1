// ops/math/variadic.cpp - Max, Mean, Min, Sum of any number of inputs that broadcast, and the row of FusedElementwise.
#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/copy/stream.h"
#include "kernels/elementwise/binary.h"
#include "ops/copy_elements.h"
#include "ops/cost_context.h"
#include "ops/elementwise.h"
#include "ops/fused_elementwise.h"
#include "ops/math/binary.h"
#include "ops/registry.h"
#include "ops/shapes/broadcast.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

using kernels::BinaryKind;

// Elements of the output are made block by block in a buffer, input after input in their order; so an output that
// overwrites an input, whichever it is, never destroys what is still to be read.
struct Fold {
  kernels::BinaryLoops loops;
  std::size_t size = 0;                 // bytes of an element of the buffer
  kernels::ToFloatsFn* load = nullptr;  // types other than float, double and integers: the buffer holds floats
  kernels::FromFloatsFn* store = nullptr;
  DType dtype = DType::kUndefined;
  bool mean = false;
};

constexpr std::int64_t kBlock = 1024;

class Folding {
 public:
  Folding(const Fold& fold, KernelContext& c) : fold_(fold), c_(c), out_(c.Output(0)) {
    // Where it overwrites an input its lines are in the caches anyway.
    streamed_ = out_.byte_size() >= kernels::kStreamedBytes;
    for (std::size_t k = 0; k < c.InputCount(); ++k) streamed_ = streamed_ && c.Input(k).data != out_.data;
  }

  void Run(std::int64_t begin, std::int64_t end) {
    bool same = fold_.load == nullptr;
    for (std::size_t k = 0; k < c_.InputCount(); ++k) same = same && c_.Input(k).count == out_.count;
    for (std::int64_t i = begin; i < end; i += kBlock) {
      same ? BlockOfSame(i, std::min(end, i + kBlock)) : Block(i, std::min(end, i + kBlock));
    }
    if (streamed_) kernels::FinishStreaming();
  }

 private:
  void Block(std::int64_t begin, std::int64_t end) {
    for (std::size_t k = 0; k < c_.InputCount(); ++k) {
      const TensorRef& x = c_.Input(k);
      const Dims shape[] = {x.shape};
      const BroadcastPlan plan(out_.shape, shape);
      plan.ForRange(begin, end, [&](const BroadcastRun& r) { Take(x, k == 0, plan.repeats(0), r, begin); });
    }
    const auto n = static_cast<std::size_t>(end - begin);
    if (fold_.mean) Divide(n, sums_);
    if (fold_.load != nullptr) {
      fold_.store(reinterpret_cast<const float*>(sums_), n, out_.data, begin);
    } else {
      std::memcpy(out_.As<char>() + begin * static_cast<std::int64_t>(fold_.size), sums_, n * fold_.size);
    }
  }

  // Inputs of the output's shape: the last step writes the output.
  void BlockOfSame(std::int64_t begin, std::int64_t end) {
    const auto n = static_cast<std::size_t>(end - begin);
    const std::int64_t at = begin * static_cast<std::int64_t>(fold_.size);
    const std::size_t count = c_.InputCount();
    std::byte* const out = out_.As<std::byte>() + at;
    const void* sums = c_.Input(0).As<std::byte>() + at;
    for (std::size_t k = 1; k < count; ++k) {
      std::byte* to = k + 1 == count && !fold_.mean && !streamed_ ? out : sums_;
      fold_.loops.both(sums, c_.Input(k).As<std::byte>() + at, to, n);
      sums = to;
    }
    if (fold_.mean) Divide(n, streamed_ ? sums_ : out);
    if (streamed_) kernels::Stream()(sums_, out, n * fold_.size);
  }

  // One run of input x joins the sums.
  void Take(const TensorRef& x, bool first, bool repeats, const BroadcastRun& r, std::int64_t begin) {
    const auto n = static_cast<std::size_t>(r.count);
    std::byte* sums = sums_ + static_cast<std::size_t>(r.out - begin) * fold_.size;
    const void* from = x.As<const char>() + r.in[0] * static_cast<std::int64_t>(fold_.size);
    alignas(64) float floats[kBlock];
    if (fold_.load != nullptr) {
      fold_.load(x.data, r.in[0], repeats ? 1 : n, floats);
      from = floats;
    }
    if (!first) {
      (repeats ? fold_.loops.repeated_y : fold_.loops.both)(sums, from, sums, n);
    } else if (!repeats) {
      std::memcpy(sums, from, n * fold_.size);
    } else {
      for (std::size_t i = 0; i < n; ++i) std::memcpy(sums + i * fold_.size, from, fold_.size);
    }
  }

  // The sums over the number of inputs; that of a power of two is a product, which is faster.
  void Divide(std::size_t n, void* to) {
    const std::size_t inputs = c_.InputCount();
    const bool exact = std::has_single_bit(inputs);
    const double by = exact ? 1 / static_cast<double>(inputs) : static_cast<double>(inputs);
    const auto narrow = static_cast<float>(by);
    const bool wide = fold_.size == sizeof(double);
    const auto loops =
        kernels::Binary(exact ? BinaryKind::kMul : BinaryKind::kDiv, wide ? DType::kDouble : DType::kFloat);
    loops.repeated_y(sums_, wide ? static_cast<const void*>(&by) : &narrow, to, n);
  }

  const Fold& fold_;
  KernelContext& c_;
  const OutputRef out_;
  bool streamed_ = false;
  alignas(64) std::byte sums_[kBlock * 8];
};

void RunFold(KernelContext& c) {
  const auto& fold = c.state<Fold>();
  const OutputRef out = c.Output(0);
  if (c.InputCount() == 1) return CopyElements(fold.dtype, c.Input(0).data, out.data, out.count, c.parallel());
  c.parallel().For(out.count, kGrain, [&](std::int64_t begin, std::int64_t end) { Folding(fold, c).Run(begin, end); });
}

Prepared PrepareFold(PrepareContext& c, BinaryKind kind, bool mean = false) {
  Fold fold;
  fold.dtype = c.InputDType(0);
  fold.mean = mean;
  for (std::size_t i = 1; i < c.InputCount(); ++i)
    if (c.InputDType(i) != DType::kUndefined && c.InputDType(i) != fold.dtype)
      c.Fail(Code::kInvalidGraph, "input ", i, ": expected type ", Name(fold.dtype), " as input 0 has, found ",
             Name(c.InputDType(i)));
  if (c.InputCount() == 2 && !mean) return PrepareBinary(c, kind);
  fold.loops = kernels::Binary(kind, fold.dtype);
  fold.size = static_cast<std::size_t>(Bits(fold.dtype) / 8);
  if (fold.loops.both == nullptr && IsFloating(fold.dtype)) {
    fold.loops = kernels::Binary(kind, DType::kFloat);
    fold.load = kernels::ToFloats(fold.dtype);
    fold.store = kernels::FromFloats(fold.dtype);
    fold.size = sizeof(float);
  }
  if (fold.loops.both == nullptr) c.Unsupported(c.InputText(0), fold.dtype);
  return WithState(RunFold, fold);
}
Prepared PrepareMax(PrepareContext& c) { return PrepareFold(c, BinaryKind::kMax); }
Prepared PrepareMean(PrepareContext& c) { return PrepareFold(c, BinaryKind::kAdd, true); }
Prepared PrepareMin(PrepareContext& c) { return PrepareFold(c, BinaryKind::kMin); }
Prepared PrepareSum(PrepareContext& c) { return PrepareFold(c, BinaryKind::kAdd); }

template <Dim (*kCombine)(const Dim&, const Dim&)>
void InferExtreme(InferContext& c) {
  InferBroadcast(c);
  if (c.InputCount() == 2) InferShapeDataOf(c, kCombine);
}

void DropConsumed(UpgradeContext& c) { c.Take("consumed_inputs"); }

constexpr std::uint16_t kTraits = kMayAlias | kElementwise;

void CountSteps(CostContext& c) {
  const auto* steps = AttributeAs<std::vector<std::string>>(c.node(), "steps");
  c.SetOperations(c.CountOut(0) * static_cast<double>(steps != nullptr ? steps->size() : 1));
}

constexpr OpDef kVariadicOps[] = {
    {.name = "Max",
     .since = {1, 6, 8, 12, 13},
     .types = kNumbers,
     .infer = InferExtreme<Max>,
     .prepare = PrepareMax,
     .upgrade = DropConsumed,
     .traits = kTraits},
    {.name = "Mean",
     .since = {1, 6, 8, 13},
     .types = kIeeeFloats,
     .infer = InferBroadcast,
     .prepare = PrepareMean,
     .upgrade = DropConsumed,
     .traits = kTraits},
    {.name = "Min",
     .since = {1, 6, 8, 12, 13},
     .types = kNumbers,
     .infer = InferExtreme<Min>,
     .prepare = PrepareMin,
     .upgrade = DropConsumed,
     .traits = kTraits},
    {.name = "Sum",
     .since = {1, 6, 8, 13},
     .types = kIeeeFloats,
     .infer = InferBroadcast,
     .prepare = PrepareSum,
     .upgrade = DropConsumed,
     .traits = kTraits},
    {.domain = "ai.sardonyx",
     .name = "FusedElementwise",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16, DType::kBFloat16, DType::kInt8, DType::kUInt8},
     .infer = InferFusedElementwise,
     .prepare = PrepareFusedElementwise,
     .cost = CountSteps,
     .pitch = [](const Node&, Port) { return true; },
     .traits = kTraits},
};

}  // namespace

std::span<const OpDef> VariadicOps() { return kVariadicOps; }

}  // namespace sardonyx::ops
