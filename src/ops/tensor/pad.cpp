// ops/tensor/pad.cpp - Pad: constant, edge, reflect and wrap; negative pads cut.
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

enum class PadMode { kConstant, kEdge, kReflect, kWrap };

struct PadState {
  PadMode mode;
};

void InferPad(InferContext& c) {
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = c.InputDims(0);
  const auto pads = c.HasRank(1) && c.Rank(1) > 1 ? std::nullopt : c.ShapeData(1);  // com.microsoft: [1, 2 * rank], too
  const auto axes = c.HasInput(3) ? c.ConstantInts(3) : std::nullopt;
  if (!pads || (c.HasInput(3) && !axes)) {
    dims.assign(dims.size(), Dim());
    return c.SetOutput(0, c.InputDType(0), std::move(dims));
  }
  const std::size_t n = axes ? axes->size() : dims.size();
  if (pads->size() != 2 * n) {
    c.Fail(Code::kInvalidArgument, "expected two pads for each of ", n, " axes, found ", pads->size());
  }
  std::vector<bool> seen(dims.size());
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t at = axes ? AxisOf(c, (*axes)[i], dims.size()) : i;
    if (seen[at]) c.Fail(Code::kInvalidArgument, "expected each axis once, found axis ", at, " twice");
    seen[at] = true;
    dims[at] = dims[at] + (*pads)[i] + (*pads)[n + i];
    if (dims[at].known() && dims[at].number() < 0) {
      c.Fail(Code::kInvalidArgument, "pads ", (*pads)[i].ToText(), " and ", (*pads)[n + i].ToText(),
             " do not fit dimension ", at, " of ", c.InputType(0).ToText());
    }
  }
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

// One axis: where the elements of the output come from.
struct Axis {
  std::int64_t out = 0;    // elements of the output
  std::int64_t cut = 0;    // elements of the input cut off at its beginning
  std::int64_t size = 0;   // elements left of the input
  std::int64_t begin = 0;  // elements put in front of them

  bool padded() const { return begin != 0 || cut != 0 || out != size; }

  // The element of the input at `at` of the output; -1: the constant.
  std::int64_t Source(std::int64_t at, PadMode mode) const {
    std::int64_t i = at - begin;
    if (i < 0 || i >= size) {
      switch (mode) {
        case PadMode::kConstant:
          return -1;
        case PadMode::kEdge:
          i = i < 0 ? 0 : size - 1;
          break;
        case PadMode::kWrap:
          i = ((i % size) + size) % size;
          break;
        case PadMode::kReflect: {
          const std::int64_t period = std::max<std::int64_t>(1, 2 * (size - 1));
          i = ((i % period) + period) % period;
          if (i >= size) i = period - i;
          break;
        }
      }
    }
    return cut + i;
  }
};

constexpr std::size_t kMaxRank = 32;

// The axes of the padding; pads that cut more than there is leave nothing.
void ReadAxes(KernelContext& c, Axis (&axes)[kMaxRank]) {
  const Dims x = c.Input(0).shape;
  if (x.size() > kMaxRank)
    Fail(Code::kNotImplemented, "expected a rank of at most ", kMaxRank, ", found rank ", x.size());
  const TensorRef& pads = c.Input(1);
  const bool chosen = c.HasInput(3);
  const auto n = static_cast<std::int64_t>(chosen ? static_cast<std::size_t>(c.Input(3).count) : x.size());
  if (pads.count != 2 * n)
    Fail(Code::kInvalidArgument, "expected two pads for each of ", n, " axes, found ", pads.count);
  for (std::size_t i = 0; i < x.size(); ++i) axes[i] = {x[i], 0, x[i], 0};
  for (std::int64_t i = 0; i < n; ++i) {
    const std::size_t at = chosen ? NormalizeAxis(IntAt(c.Input(3), i), x.size()) : static_cast<std::size_t>(i);
    const std::int64_t before = IntAt(pads, i), after = IntAt(pads, n + i);
    constexpr std::int64_t kMost = std::int64_t{1} << 48;
    if (std::max(before, after) > kMost || std::min(before, after) < -kMost || x[at] + before + after < 0) {
      Fail(Code::kInvalidArgument, "pads ", before, " and ", after, " do not fit dimension ", at, " of ", ToText(x));
    }
    Axis& a = axes[at];
    a.cut = std::min(std::max<std::int64_t>(0, -before), x[at]);
    a.size = std::max<std::int64_t>(0, x[at] - a.cut - std::max<std::int64_t>(0, -after));
    a.begin = std::max<std::int64_t>(0, before);
    a.out = x[at] + before + after;
  }
}

// The padded rows of the innermost padded axis; `run` elements (the unpadded axes after it) move at once.
class RowPadder {
 public:
  RowPadder(const TensorRef& x, const OutputRef& y, const Axis* axes, std::size_t inner, PadMode mode,
            const void* value)
      : x_(x),
        y_(y),
        axes_(axes),
        inner_(inner),
        mode_(mode),
        value_(value),
        run_(ElementCount(x.shape, inner + 1, x.rank())) {}

  std::int64_t row_size() const { return axes_[inner_].out * run_; }

  void Row(std::int64_t row) const {
    std::int64_t from = 0, stride = x_.shape[inner_] * run_, rest = row;
    bool constant = false;
    for (std::size_t d = inner_; d-- > 0;) {
      const std::int64_t i = axes_[d].Source(rest % axes_[d].out, mode_);
      rest /= axes_[d].out;
      constant = constant || i < 0;
      from += i * stride;
      stride *= x_.shape[d];
    }
    const std::int64_t to = row * row_size();
    if (constant) return FillFrom(to, row_size());
    const Axis& a = axes_[inner_];
    // Of a row that is cut so far that only padding is left, nothing is copied.
    const std::int64_t left = std::min(a.begin, a.out), middle = std::min(a.size, a.out - left);
    Border(from, to, 0, left);
    kernels::CopyElements(x_.dtype, x_.data, from + a.cut * run_, y_.data, to + left * run_, middle * run_);
    Border(from, to, left + middle, a.out);
  }

 private:
  void Border(std::int64_t from, std::int64_t to, std::int64_t begin, std::int64_t end) const {
    if (mode_ == PadMode::kConstant) return FillFrom(to + begin * run_, (end - begin) * run_);
    for (std::int64_t i = begin; i < end; ++i) {
      kernels::CopyElements(x_.dtype, x_.data, from + axes_[inner_].Source(i, mode_) * run_, y_.data, to + i * run_,
                            run_);
    }
  }
  void FillFrom(std::int64_t at, std::int64_t n) const {
    if (n > 0) kernels::FillElements(x_.dtype, value_, 0, y_.data, at, n);
  }

  const TensorRef& x_;
  const OutputRef y_;
  const Axis* axes_;
  std::size_t inner_;
  PadMode mode_;
  const void* value_;
  std::int64_t run_;
};

// Its limit is ONNX Runtime's: NumPy goes on, and reflects what is reflected.
void CheckReflection(const TensorRef& x, const Axis* axes) {
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const Axis& a = axes[i];
    const std::int64_t behind = std::max<std::int64_t>(0, a.out - a.begin - a.size);
    if (std::max(a.begin, behind) < std::max<std::int64_t>(1, a.size)) continue;
    Fail(Code::kInvalidArgument, "mode 'reflect': expected pads smaller than the ", a.size, " elements of dimension ",
         i, " of shape ", ToText(x.shape), ", found ", a.begin, " and ", behind);
  }
}

void RunPad(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const PadMode mode = c.state<PadState>().mode;
  Axis axes[kMaxRank];
  ReadAxes(c, axes);
  Shape shape(x.shape);
  std::size_t inner = 0;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    shape[i] = axes[i].out;
    if (axes[i].padded() || axes[i].size != x.shape[i]) inner = i;
    if (mode != PadMode::kConstant && axes[i].size == 0 && axes[i].out > 0) {
      Fail(Code::kInvalidArgument, "attribute 'mode': expected constant, because dimension ", i, " of shape ",
           ToText(x.shape), " is empty, found another mode");
    }
  }
  const OutputRef y = c.Output(0, shape);
  if (y.count == 0) return;
  if (mode == PadMode::kReflect) CheckReflection(x, axes);
  if (x.rank() == 0) return kernels::CopyElements(x.dtype, x.data, 0, y.data, 0, 1);
  const std::string empty;
  const std::uint64_t zero[2] = {};
  const bool given = c.HasInput(2) && c.Input(2).count == 1;
  if (c.HasInput(2) && c.Input(2).count > 1) {
    Fail(Code::kInvalidArgument, "expected one constant value, found shape ", ToText(c.Input(2).shape));
  }
  const void* value = given ? c.Input(2).data : IsString(x.dtype) ? static_cast<const void*>(&empty) : zero;
  const RowPadder padder(x, y, axes, inner, mode, value);
  const std::int64_t rows = y.count / padder.row_size();
  const std::int64_t grain = IsSubByte(x.dtype) ? rows : std::max<std::int64_t>(1, 8192 / padder.row_size());
  c.parallel().For(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) padder.Row(row);
  });
}

Prepared PreparePad(PrepareContext& c) {
  const std::string mode = c.String("mode", "constant");
  if (mode == "constant") return WithState(RunPad, PadState{PadMode::kConstant});
  if (mode == "edge") return WithState(RunPad, PadState{PadMode::kEdge});
  if (mode == "reflect") return WithState(RunPad, PadState{PadMode::kReflect});
  if (mode == "wrap") return WithState(RunPad, PadState{PadMode::kWrap});
  c.Fail(Code::kInvalidGraph, "attribute 'mode': expected constant, edge, reflect or wrap, found '", mode, "'");
}

void UpgradePad(UpgradeContext& c) {
  c.AttributeToInput("paddings", 1);  // version 1
  c.AttributeToInput("pads", 1);
  c.AttributeToInput("value", 2, true);
}

bool DescribePad(const Graph& graph, const Node& node, NodeLayout& layout) {
  return DescribeMain(graph, node, layout) &&
         AxesInput(graph, node, 3, InputType(graph, node, 0).rank(), InputType(graph, node, 0).rank()).has_value();
}

void ChangePad(const LayoutChange& c) { MapAxesInput(c, 3, c.input_types[0].rank()); }

constexpr LayoutDef kPadLayout = {"its axes are mapped", DescribePad, ChangePad};

constexpr OpDef kPadOps[] = {
    {.domain = "com.microsoft",
     .name = "Pad",
     .since = {1},
     .types = {DType::kFloat, DType::kDouble, DType::kFloat16},
     .infer = InferPad,
     .prepare = PreparePad,
     .cost = CountNothing},
    {.name = "Pad",
     .since = {1, 2, 11, 13, 18, 19, 21, 23, 24, 25},
     .types = kAllTypes,
     .infer = InferPad,
     .prepare = PreparePad,
     .upgrade = UpgradePad,
     .cost = CountNothing,
     .layout = &kPadLayout},
};

}  // namespace

std::span<const OpDef> PadOps() { return kPadOps; }

}  // namespace sardonyx::ops
