// ops/math/binary.cpp - ONNX operators of the form z[i] = f(x[i], y[i]) with NumPy's broadcasting.
//
// To add one: its kind in kernels/elementwise/binary.h and its row here, its cases in binary_test.cpp.
#include "ops/math/binary.h"

#include <algorithm>

#include "kernels/copy/stream.h"
#include "ops/dim_facts.h"
#include "ops/elementwise.h"
#include "ops/math/legacy_broadcast.h"
#include "ops/registry.h"
#include "ops/shapes/broadcast.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

using kernels::BinaryFn;
using kernels::BinaryKind;

// How a node computes: `loops` on the elements themselves, or, where load is set, on blocks of floats.
struct BinaryMap {
  kernels::BinaryLoops loops;
  std::size_t in_size = 0, out_size = 0;  // bytes of an element
  kernels::ToFloatsFn* load = nullptr;
  kernels::FromFloatsFn* store = nullptr;  // null with load: the result is a bool
  LegacyAxis axis;
  std::int64_t grain = kGrain;
  bool swap = false;  // f(y, x): Greater is Less the other way round
};

// One run of a BinaryMap: pointers at its first elements.
class BinaryRunner {
 public:
  BinaryRunner(const BinaryMap& map, const BroadcastPlan& plan, const TensorRef& x, const TensorRef& y,
               const OutputRef& z)
      : map_(map),
        x_(x),
        y_(y),
        z_(z),
        repeats_x_(plan.repeats(0)),
        repeats_y_(plan.repeats(1)),
        streamed_(IsStreamed(z, x.data, y.data)) {
    fn_ = repeats_y_ ? map.loops.repeated_y : (repeats_x_ ? map.loops.repeated_x : map.loops.both);
  }

  void Run(const BroadcastRun& r) const {
    if (map_.load != nullptr) return RunBlocks(r);
    const auto n = static_cast<std::size_t>(r.count);
    const std::byte *const x = At(x_, r.in[0]), *const y = At(y_, r.in[1]);
    std::byte* const z = z_.As<std::byte>() + r.out * Signed(map_.out_size);
    const std::size_t step_x = repeats_x_ ? 0 : map_.in_size, step_y = repeats_y_ ? 0 : map_.in_size;
    const std::size_t done =
        !streamed_ || n < kFloatBlock
            ? fn_(x, y, z, n)
            : kernels::StreamBlocks(n, map_.out_size, z, [&](std::size_t i, std::size_t count, std::byte* block) {
                return fn_(x + i * step_x, y + i * step_y, block, count);
              });
    if (done != n) FailDivision(r, done);
  }

 private:
  static std::int64_t Signed(std::size_t size) { return static_cast<std::int64_t>(size); }
  const std::byte* At(const TensorRef& t, std::int64_t i) const {
    return t.As<const std::byte>() + i * Signed(map_.in_size);
  }

  void RunBlocks(const BroadcastRun& r) const {
    alignas(64) float x[kFloatBlock], y[kFloatBlock], z[kFloatBlock];
    if (repeats_x_) map_.load(x_.data, r.in[0], 1, x);
    if (repeats_y_) map_.load(y_.data, r.in[1], 1, y);
    for (std::int64_t i = 0; i < r.count; i += kFloatBlock) {
      const std::size_t n = std::min(kFloatBlock, static_cast<std::size_t>(r.count - i));
      if (!repeats_x_) map_.load(x_.data, r.in[0] + i, n, x);
      if (!repeats_y_) map_.load(y_.data, r.in[1] + i, n, y);
      if (map_.store == nullptr) {
        fn_(x, y, z_.As<std::byte>() + r.out + i, n);
      } else {
        fn_(x, y, z, n);
        map_.store(z, n, z_.data, r.out + i);
      }
    }
  }

  [[noreturn]] void FailDivision(const BroadcastRun& r, std::size_t done) const {
    Fail(Code::kInvalidArgument, "expected divisors other than 0, found 0 for element ",
         r.out + static_cast<std::int64_t>(done), " of the output");
  }

  const BinaryMap& map_;
  const TensorRef &x_, &y_;
  const OutputRef z_;
  bool repeats_x_, repeats_y_, streamed_;
  BinaryFn* fn_;
};

// Runs of tensors whose rows lie apart: row by row, from where they are.
class RowsApart {
 public:
  RowsApart(const TensorRef& x, const TensorRef& y, const OutputRef& z, const BroadcastPlan& plan)
      : x_(x), y_(y), z_(z), step_x_(plan.repeats(0) ? 0 : 1), step_y_(plan.repeats(1) ? 0 : 1) {}

  void Run(const BroadcastRun& r, const BinaryRunner& runner) const {
    const std::int64_t row = z_.rank() == 0 ? 1 : z_.shape[z_.rank() - 1];
    for (std::int64_t i = 0; i < r.count;) {
      const std::int64_t count = std::min(r.count - i, row - (r.out + i) % row);
      runner.Run({Place(z_, r.out + i), {Place(x_, r.in[0] + i * step_x_), Place(y_, r.in[1] + i * step_y_)}, count});
      i += count;
    }
  }

 private:
  template <typename Ref>
  static std::int64_t Place(const Ref& t, std::int64_t i) {
    if (t.pitch == 0) return i;
    const std::int64_t row = t.shape[t.rank() - 1];
    return i / row * t.pitch + i % row;
  }

  const TensorRef &x_, &y_;
  const OutputRef& z_;
  std::int64_t step_x_, step_y_;
};

void RunBinary(KernelContext& c) {
  const auto& map = c.state<BinaryMap>();
  const OutputRef z = c.Output(0);
  if (z.count == 0) return;
  const Shape aligned = map.axis.Align(c.Input(0).rank(), c.Input(1).shape);
  const Dims shapes[] = {c.Input(0).shape, aligned};
  const Dims ordered[] = {shapes[map.swap ? 1 : 0], shapes[map.swap ? 0 : 1]};
  const BroadcastPlan plan(z.shape, ordered);
  const BinaryRunner runner(map, plan, c.Input(map.swap ? 1 : 0), c.Input(map.swap ? 0 : 1), z);
  const TensorRef &x = c.Input(0), &y = c.Input(1);
  const bool apart = z.pitch != 0 || x.pitch != 0 || y.pitch != 0;
  const RowsApart rows(c.Input(map.swap ? 1 : 0), c.Input(map.swap ? 0 : 1), z, plan);
  c.parallel().For(z.count, map.grain, [&](std::int64_t begin, std::int64_t end) {
    plan.ForRange(begin, end, [&](const BroadcastRun& r) {
      if (apart)
        rows.Run(r, runner);
      else
        runner.Run(r);
    });
  });
}

bool IsHeavy(BinaryKind kind) {
  return kind == BinaryKind::kPow || kind == BinaryKind::kMod || kind == BinaryKind::kFMod;
}

}  // namespace

namespace {

// A constant divisor of integers: no run could give a result, and ONNX Runtime says so when the model is loaded.
void CheckDivisors(const PrepareContext& c, BinaryKind kind) {
  const Tensor* divisors = c.Constant(1);
  if (divisors == nullptr || (kind != BinaryKind::kDiv && kind != BinaryKind::kMod && kind != BinaryKind::kFMod))
    return;
  VisitDType<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
             std::uint64_t>(divisors->dtype(), [&]<typename T>() {
    const auto all = divisors->span<T>();
    if (const auto at = std::find(all.begin(), all.end(), T(0)); at != all.end())
      c.Fail(Code::kInvalidArgument, "expected divisors other than 0, found 0 as element ", at - all.begin(),
             " of input 1");
  });
}

}  // namespace

Prepared PrepareBinary(PrepareContext& c, BinaryKind kind, bool to_bool, bool swap) {
  CheckDivisors(c, kind);
  const DType dtype = c.InputDType(0);
  if (c.InputDType(1) != DType::kUndefined && dtype != c.InputDType(1))
    c.Fail(Code::kInvalidGraph, "expected inputs of one type, found ", Name(dtype), " and ", Name(c.InputDType(1)));
  BinaryMap map = {.axis = LegacyAxis::Of(c), .swap = swap};
  map.loops = kernels::Binary(kind, dtype);
  if (map.loops.both == nullptr && IsFloating(dtype)) {
    map.loops = kernels::Binary(kind, DType::kFloat);
    map.load = kernels::ToFloats(dtype);
    if (!to_bool) map.store = kernels::FromFloats(dtype);
  }
  if (map.loops.both == nullptr) c.Unsupported("input 'A'", dtype);
  map.in_size = static_cast<std::size_t>(Bits(dtype) / 8);
  map.out_size = to_bool ? 1 : map.in_size;
  if (IsHeavy(kind)) map.grain = kHeavyGrain;
  return WithState(RunBinary, map);
}

namespace {

template <BinaryKind kKind>
Prepared Arithmetic(PrepareContext& c) {
  return PrepareBinary(c, kKind);
}
template <BinaryKind kKind, bool kSwap = false>
Prepared Comparison(PrepareContext& c) {
  return PrepareBinary(c, kKind, true, kSwap);
}
Prepared PrepareMod(PrepareContext& c) {
  const std::int64_t fmod = c.Int("fmod", 0);
  if (fmod != 0 && fmod != 1) c.Fail(Code::kInvalidArgument, "attribute 'fmod': expected 0 or 1, found ", fmod);
  return PrepareBinary(c, fmod == 1 ? BinaryKind::kFMod : BinaryKind::kMod);
}
Prepared PrepareBitShift(PrepareContext& c) {
  const std::string& direction = c.String("direction");
  if (direction == "LEFT") return PrepareBinary(c, BinaryKind::kShiftLeft);
  if (direction == "RIGHT") return PrepareBinary(c, BinaryKind::kShiftRight);
  c.Fail(Code::kInvalidArgument, "attribute 'direction': expected 'LEFT' or 'RIGHT', found '", direction, "'");
}

void RunEqualStrings(KernelContext& c) {
  const OutputRef z = c.Output(0);
  if (z.count == 0) return;
  const auto* x = c.Input(0).As<const std::string>();
  const auto* y = c.Input(1).As<const std::string>();
  const Dims shapes[] = {c.Input(0).shape, c.Input(1).shape};
  const BroadcastPlan plan(z.shape, shapes);
  const std::int64_t step_x = plan.repeats(0) ? 0 : 1, step_y = plan.repeats(1) ? 0 : 1;
  c.parallel().For(z.count, kHeavyGrain, [&](std::int64_t begin, std::int64_t end) {
    plan.ForRange(begin, end, [&](const BroadcastRun& r) {
      for (std::int64_t i = 0; i < r.count; ++i)
        z.As<bool>()[r.out + i] = x[r.in[0] + i * step_x] == y[r.in[1] + i * step_y];
    });
  });
}
Prepared PrepareEqual(PrepareContext& c) {
  if (c.InputDType(0) == DType::kString) return {.run = RunEqualStrings, .state = nullptr};
  return PrepareBinary(c, BinaryKind::kEqual, true);
}

// Contents of integer results.
template <Dim (*kCombine)(const Dim&, const Dim&)>
void InferArithmetic(InferContext& c) {
  InferLegacyBroadcast(c, c.InputDType(0));
  InferShapeDataOf(c, kCombine);
}
Dim DimAdd(const Dim& a, const Dim& b) { return a + b; }
Dim DimSub(const Dim& a, const Dim& b) { return a - b; }
Dim DimMul(const Dim& a, const Dim& b) { return a * b; }
// Towards zero; for symbols, which are never negative, that is the floor, and for one behind a minus the ceiling.
Dim DimDiv(const Dim& a, const Dim& b) {
  if (a.symbolic() && NeverNegative(b) && NeverNegative(Dim(0) - a)) return Dim(0) - FloorDiv(Dim(0) - a, b);
  if (!a.known() || !b.known()) return FloorDiv(a, b);
  if (b.number() == 0) return Dim();
  return b.number() == -1 ? Dim(0) - a : Dim(a.number() / b.number());
}
Dim DimMod(const Dim& a, const Dim& b) {
  if (!a.known() || !b.known() || b.number() <= 0) return Dim();
  const std::int64_t r = a.number() % b.number();
  return Dim(r < 0 ? r + b.number() : r);
}
void InferMod(InferContext& c) {
  InferLegacyBroadcast(c, c.InputDType(0));
  if (c.Int("fmod", 0) == 0) InferShapeDataOf(c, DimMod);
}
void InferSame(InferContext& c) { InferLegacyBroadcast(c, c.InputDType(0)); }
void InferBool(InferContext& c) { InferLegacyBroadcast(c, DType::kBool); }

// 0 or 1 where that does not depend on the sizes of symbols: exporters compare shapes with -1.
Dim DimEqual(const Dim& a, const Dim& b) {
  if (SameDim(a, b)) return 1;
  if (a.known() && b.known()) return 0;
  const bool differ =
      (a.known() && a.number() < 0 && NeverNegative(b)) || (b.known() && b.number() < 0 && NeverNegative(a));
  return differ ? Dim(0) : Dim();
}
void InferEqual(InferContext& c) {
  InferBool(c);
  InferShapeDataOf(c, DimEqual);
}

constexpr std::uint16_t kTraits = kMayAlias | kElementwise;
constexpr DTypeSet kBools = {DType::kBool};

constexpr OpDef Row(std::string_view name, Few<int> since, DTypeSet types, InferFn* infer, PrepareFn* prepare,
                    bool commutative = false) {
  return {.name = name,
          .since = since,
          .types = types,
          .infer = infer,
          .prepare = prepare,
          .upgrade = since.Has(1) ? UpgradeLegacyBroadcast : nullptr,
          .pitch = [](const Node&, Port) { return true; },
          .traits = static_cast<std::uint16_t>(kTraits | (commutative ? kCommutative : kNone))};
}

constexpr OpDef kBinaryOps[] = {
    Row("Add", {1, 6, 7, 13, 14}, kNumbers, InferArithmetic<DimAdd>, Arithmetic<BinaryKind::kAdd>, true),
    Row("And", {1, 7}, kBools, InferBool, Arithmetic<BinaryKind::kAnd>, true),
    Row("BitShift", {11, 28}, kIntegers, InferSame, PrepareBitShift),
    Row("BitwiseAnd", {18}, kIntegers, InferSame, Arithmetic<BinaryKind::kAnd>, true),
    Row("BitwiseOr", {18}, kIntegers, InferSame, Arithmetic<BinaryKind::kOr>, true),
    Row("BitwiseXor", {18}, kIntegers, InferSame, Arithmetic<BinaryKind::kXor>, true),
    Row("Div", {1, 6, 7, 13, 14}, kNumbers, InferArithmetic<DimDiv>, Arithmetic<BinaryKind::kDiv>),
    Row("Equal", {1, 7, 11, 13, 19}, kNumbers | kBools | DTypeSet{DType::kString}, InferEqual, PrepareEqual, true),
    Row("Greater", {1, 7, 9, 13}, kNumbers, InferBool, Comparison<BinaryKind::kLess, true>),
    Row("GreaterOrEqual", {12, 16}, kNumbers, InferBool, Comparison<BinaryKind::kLessOrEqual, true>),
    Row("Less", {1, 7, 9, 13}, kNumbers, InferBool, Comparison<BinaryKind::kLess>),
    Row("LessOrEqual", {12, 16}, kNumbers, InferBool, Comparison<BinaryKind::kLessOrEqual>),
    Row("Mod", {10, 13, 28}, kNumbers, InferMod, PrepareMod),
    Row("Mul", {1, 6, 7, 13, 14}, kNumbers, InferArithmetic<DimMul>, Arithmetic<BinaryKind::kMul>, true),
    Row("Or", {1, 7}, kBools, InferBool, Arithmetic<BinaryKind::kOr>, true),
    Row("Sub", {1, 6, 7, 13, 14}, kNumbers, InferArithmetic<DimSub>, Arithmetic<BinaryKind::kSub>),
    Row("Xor", {1, 7}, kBools, InferBool, Arithmetic<BinaryKind::kXor>, true),
    {.name = "PRelu",
     .since = {1, 6, 7, 9, 16},
     .types = kIeeeFloats | DTypeSet{DType::kInt32, DType::kInt64, DType::kUInt32, DType::kUInt64},
     .infer = InferPRelu,
     .prepare = Arithmetic<BinaryKind::kPRelu>,
     .upgrade = UpgradePRelu,
     .traits = kTraits},
};

}  // namespace

std::span<const OpDef> BinaryOps() { return kBinaryOps; }

}  // namespace sardonyx::ops
