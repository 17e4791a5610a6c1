// ops/image/resize.cpp - Resize (10 and later) and Upsample: attributes, shapes and axes (the kernels are in
// resize_run.cpp).
#include <algorithm>
#include <cmath>

#include "kernels/copy/storage.h"
#include "ops/cost_context.h"
#include "ops/image/resize_axis.h"
#include "ops/image/resize_run.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/shapes/layout_axes.h"
#include "ops/spell_context.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {
namespace {

enum class Aspect { kStretch, kNotLarger, kNotSmaller };

struct ResizeState {
  ResizeOptions options;
  Aspect aspect = Aspect::kStretch;
  std::vector<std::int64_t> axes;  // empty: all
  std::size_t scales_input = 2;    // 1 for Upsample and Resize 10
};

// ---- Attributes

template <typename E, std::size_t N>
E OneOf(const AttributeReader& c, std::string_view name, std::string_view otherwise,
        const std::pair<std::string_view, E> (&choices)[N]) {
  const std::string value = c.String(name, otherwise);
  for (const auto& [text, choice] : choices)
    if (text == value) return choice;
  std::string all;
  for (const auto& entry : choices) all += (all.empty() ? "" : ", ") + std::string(entry.first);
  c.Fail(Code::kInvalidGraph, "attribute '", name, "': expected one of ", all, "; found '", value, "'");
}

ResizeMode ReadMode(const AttributeReader& c) {
  static constexpr std::pair<std::string_view, ResizeMode> kModes[] = {{"nearest", ResizeMode::kNearest},
                                                                       {"linear", ResizeMode::kLinear},
                                                                       {"bilinear", ResizeMode::kLinear},  // Upsample 1
                                                                       {"cubic", ResizeMode::kCubic}};
  return OneOf(c, "mode", "nearest", kModes);
}

ResizeState ReadResize(const AttributeReader& c) {
  using RC = ResizeCoordinates;
  static constexpr std::pair<std::string_view, RC> kCoordinates[] = {{"half_pixel", RC::kHalfPixel},
                                                                     {"half_pixel_symmetric", RC::kHalfPixelSymmetric},
                                                                     {"pytorch_half_pixel", RC::kPytorchHalfPixel},
                                                                     {"align_corners", RC::kAlignCorners},
                                                                     {"asymmetric", RC::kAsymmetric},
                                                                     {"tf_half_pixel_for_nn", RC::kTfHalfPixelForNn},
                                                                     {"tf_crop_and_resize", RC::kTfCropAndResize}};
  static constexpr std::pair<std::string_view, ResizeNearest> kNearest[] = {
      {"round_prefer_floor", ResizeNearest::kRoundPreferFloor},
      {"round_prefer_ceil", ResizeNearest::kRoundPreferCeil},
      {"floor", ResizeNearest::kFloor},
      {"ceil", ResizeNearest::kCeil}};
  static constexpr std::pair<std::string_view, Aspect> kAspects[] = {
      {"stretch", Aspect::kStretch}, {"not_larger", Aspect::kNotLarger}, {"not_smaller", Aspect::kNotSmaller}};
  ResizeState state;
  state.options.mode = ReadMode(c);
  state.options.coordinates = OneOf(c, "coordinate_transformation_mode", "half_pixel", kCoordinates);
  state.options.nearest = OneOf(c, "nearest_mode", "round_prefer_floor", kNearest);
  state.options.cubic_a = c.Float("cubic_coeff_a", -0.75f);
  state.options.exclude_outside = c.Flag("exclude_outside");
  state.options.antialias = c.Flag("antialias");
  state.options.extrapolation_value = c.Float("extrapolation_value", 0);
  state.aspect = OneOf(c, "keep_aspect_ratio_policy", "stretch", kAspects);
  state.axes = c.Ints("axes");
  return state;
}

ResizeState ReadUpsample(const AttributeReader& c) {
  ResizeState state;
  state.options.mode = ReadMode(c);
  state.options.coordinates = ResizeCoordinates::kAsymmetric;
  state.options.nearest = ResizeNearest::kSimple;
  state.scales_input = 1;
  return state;
}

// ---- Shapes

// The axis that entry `i` of scales, sizes or roi is for.
std::size_t AxisAt(const ResizeState& state, std::size_t i, std::size_t rank) {
  return state.axes.empty() ? i : NormalizeAxis(state.axes[i], rank);
}

std::size_t AxisCount(const ResizeState& state, std::size_t rank) {
  return state.axes.empty() ? rank : state.axes.size();
}

void CheckEntries(std::size_t found, std::size_t expected, const char* what) {
  if (found != expected) Fail(Code::kInvalidArgument, "expected ", expected, " ", what, ", found ", found);
}

void CheckScale(float scale) {
  if (!(scale > 0) || scale > 1e9f)
    Fail(Code::kInvalidArgument, "expected scales above 0 and at most 1e9, found ", scale);
}

constexpr auto kTooLarge = static_cast<float>(std::int64_t{1} << 62);

std::int64_t ScaledSize(std::int64_t size, float scale) {
  const float scaled = std::floor(static_cast<float>(size) * scale);
  if (!(scaled >= 0 && scaled < kTooLarge))
    Fail(Code::kInvalidArgument, "expected a scale to a size that can be allocated, found ", scale, " for size ", size);
  return static_cast<std::int64_t>(scaled);
}

// Sizes that keep the aspect ratio: one scale for all axes; returns it.
float KeepAspect(const ResizeState& state, Dims in, std::span<std::int64_t> sizes) {
  const bool smaller = state.aspect == Aspect::kNotLarger;
  float scale = smaller ? std::numeric_limits<float>::max() : 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t size = in[AxisAt(state, i, in.size())];
    if (size == 0) continue;
    const float s = static_cast<float>(sizes[i]) / static_cast<float>(size);
    scale = smaller ? std::min(scale, s) : std::max(scale, s);
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto size = static_cast<float>(in[AxisAt(state, i, in.size())]);
    const float scaled = std::floor(scale * size + 0.5f);
    if (!(scaled >= 0 && scaled < kTooLarge)) {
      Fail(Code::kInvalidArgument, "expected sizes that can be allocated, found ", sizes[i], " for axis ",
           AxisAt(state, i, in.size()), ", which makes the scale ", scale);
    }
    sizes[i] = static_cast<std::int64_t>(scaled);
  }
  return scale;
}

Dim ScaledDim(const Dim& d, float scale) {
  if (d.known()) return ScaledSize(d.number(), scale);
  if (!(scale < kTooLarge && scale > 1 / kTooLarge)) return {};
  if (scale == std::floor(scale)) return d * Dim(static_cast<std::int64_t>(scale));
  const float inverse = 1 / scale;
  return inverse == std::floor(inverse) ? FloorDiv(d, Dim(static_cast<std::int64_t>(inverse))) : Dim();
}

// Output dimensions from the sizes input; unknown where it is.
void InferSizes(InferContext& c, const ResizeState& state, std::vector<Dim>& dims) {
  const std::size_t rank = dims.size(), count = AxisCount(state, rank);
  const auto sizes = c.ShapeData(3);
  if (sizes) CheckEntries(sizes->size(), count, "sizes");
  bool known = sizes.has_value();
  Shape in, wanted;
  for (std::size_t i = 0; i < count; ++i) known = known && (*sizes)[i].known() && dims[AxisAt(state, i, rank)].known();
  if (known && state.aspect != Aspect::kStretch) {
    for (const Dim& d : dims) in.Append(d.known() ? d.number() : 0);
    for (const Dim& d : *sizes) wanted.Append(d.number());
    KeepAspect(state, in, {wanted.data(), wanted.size()});
  }
  for (std::size_t i = 0; i < count; ++i) {
    Dim& d = dims[AxisAt(state, i, rank)];
    if (state.aspect == Aspect::kStretch) {
      d = sizes ? (*sizes)[i] : Dim();
    } else {
      d = known ? Dim(wanted[i]) : Dim();
    }
  }
}

void InferResizeWith(InferContext& c, const ResizeState& state) {
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = c.InputDims(0);
  const std::size_t rank = dims.size(), count = AxisCount(state, rank);
  const Tensor* scales = c.Constant(state.scales_input);
  const bool no_scales = !c.HasInput(state.scales_input) || (scales != nullptr && scales->count() == 0);
  if (scales != nullptr && !no_scales) {
    CheckEntries(static_cast<std::size_t>(scales->count()), count, "scales");
    for (std::size_t i = 0; i < count; ++i) {
      Dim& d = dims[AxisAt(state, i, rank)];
      CheckScale(scales->data<float>()[i]);
      d = ScaledDim(d, scales->data<float>()[i]);
    }
  } else if (no_scales && c.HasInput(3) && state.scales_input == 2) {
    InferSizes(c, state, dims);
  } else {
    for (std::size_t i = 0; i < count; ++i) dims[AxisAt(state, i, rank)] = Dim();
  }
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

void InferResize(InferContext& c) { InferResizeWith(c, ReadResize(c)); }
void InferUpsample(InferContext& c) { InferResizeWith(c, ReadUpsample(c)); }

// All axes from the inputs of a run.
void ReadAxes(KernelContext& c, const ResizeState& state, ResizeAxis (&axes)[kMaxResizeRank]) {
  const Dims in = c.Input(0).shape;
  const std::size_t rank = in.size(), count = AxisCount(state, rank);
  if (rank > kMaxResizeRank)
    Fail(Code::kNotImplemented, "expected a rank of at most ", kMaxResizeRank, ", found rank ", rank);
  for (std::size_t i = 0; i < rank; ++i) axes[i].in = axes[i].out = in[i];
  const bool by_scale = c.HasInput(state.scales_input) && c.Input(state.scales_input).count > 0;
  if (by_scale) {
    const TensorRef& scales = c.Input(state.scales_input);
    CheckEntries(static_cast<std::size_t>(scales.count), count, "scales");
    for (std::size_t i = 0; i < count; ++i) {
      ResizeAxis& axis = axes[AxisAt(state, i, rank)];
      axis.scale = scales.As<float>()[i];
      CheckScale(axis.scale);
      axis.out = ScaledSize(axis.in, axis.scale);
    }
  } else {
    if (!c.HasInput(3)) Fail(Code::kInvalidArgument, "expected scales or sizes, found neither");
    Shape sizes = IntsOf(c.Input(3));
    CheckEntries(sizes.size(), count, "sizes");
    float common = 0;
    if (state.aspect != Aspect::kStretch) common = KeepAspect(state, in, {sizes.data(), sizes.size()});
    for (std::size_t i = 0; i < count; ++i) {
      ResizeAxis& axis = axes[AxisAt(state, i, rank)];
      if (sizes[i] < 0) Fail(Code::kInvalidArgument, "expected sizes of at least 0, found ", ToText(sizes));
      axis.out = sizes[i];
      axis.scale = common != 0 ? common : static_cast<float>(sizes[i]) / static_cast<float>(axis.in);
    }
  }
  if (state.options.coordinates != ResizeCoordinates::kTfCropAndResize) return;
  if (!c.HasInput(1)) return;  // the whole image, as in ONNX Runtime; an empty one is an error there too
  const TensorRef& roi = c.Input(1);
  CheckEntries(static_cast<std::size_t>(roi.count), 2 * count, "values of roi");
  const auto at = [&](std::size_t i) {
    float value = 0;
    VisitDType<float, double, Half, BFloat16>(roi.dtype,
                                              [&]<typename T>() { value = static_cast<float>(roi.As<T>()[i]); });
    return value;
  };
  for (std::size_t i = 0; i < count; ++i) {
    ResizeAxis& axis = axes[AxisAt(state, i, rank)];
    axis.roi_start = at(i);
    axis.roi_end = at(count + i);
  }
}

void RunResize(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const ResizeState& state = c.state<ResizeState>();
  ResizeAxis axes[kMaxResizeRank];
  ReadAxes(c, state, axes);
  Shape shape(x.shape);
  for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = axes[i].out;
  const OutputRef y = c.Output(0, shape);
  if (y.count == 0) return;
  if (x.count == 0)
    Fail(Code::kInvalidArgument, "expected an input with elements for the output ", ToText(shape), ", found shape ",
         ToText(x.shape));
  if (x.rank() == 0) {
    kernels::VisitStorage(
        x.dtype, [&]<typename S>() { kernels::StorageAt<S>(y.data).Set(0, kernels::StorageAt<S>(x.data).Get(0)); });
  } else if (state.options.mode == ResizeMode::kNearest) {
    RunNearest(c, y, axes, state.options);
  } else {
    RunInterpolated(c, y, axes, state.options);
  }
}

Prepared PrepareWith(PrepareContext& c, ResizeState state) {
  const DType dtype = c.InputDType(0);
  if (state.options.mode != ResizeMode::kNearest && !CanInterpolate(dtype)) {
    c.Unsupported("attribute 'mode' linear or cubic and input 'X'", dtype);
  }
  const DType scales = c.InputDType(state.scales_input);
  if (c.HasInput(state.scales_input) && scales != DType::kFloat && scales != DType::kUndefined) {
    c.Unsupported("input 'scales'", scales);
  }
  return WithState(RunResize, std::move(state));
}

Prepared PrepareResize(PrepareContext& c) { return PrepareWith(c, ReadResize(c)); }
Prepared PrepareUpsample(PrepareContext& c) { return PrepareWith(c, ReadUpsample(c)); }

void UpgradeUpsample(UpgradeContext& c) {
  if (c.version() == 1) {
    const AttributeReader attributes = c.attributes();
    const float scales[] = {1, 1, attributes.Float("height_scale"), attributes.Float("width_scale")};
    c.Take("height_scale");
    c.Take("width_scale");
    c.SetConstantInput(1, Tensor::Vector<float>(scales));
  } else if (c.version() == 7) {
    if (const auto scales = c.Take("scales"))
      c.SetConstantInput(1, Tensor::Vector<float>(std::get<std::vector<float>>(*scales)));
  }
}

bool AllOf(const Tensor* scales, bool (*holds)(float)) {
  if (scales == nullptr || scales->dtype() != DType::kFloat) return false;
  const float* first = scales->data<float>();
  return std::all_of(first, first + scales->count(), holds);
}

// Resize (X, scales) and Upsample (X, scales) to Resize (X, roi, scales).
void SetResize(const SpellContext& c, ValueId scales, const char* nearest_mode) {
  if (nearest_mode != nullptr) c.node().SetAttribute("nearest_mode", std::string(nearest_mode));
  c.node().SetAttribute("coordinate_transformation_mode", std::string("asymmetric"));
  // Required, though not read, before version 13.
  const bool needs_roi = c.opset() < 13;
  c.graph().SetInput(c.id(), 1, needs_roi ? c.graph().AddConstant("roi", Tensor(DType::kFloat, Shape{0})) : kNoValue);
  c.graph().SetInput(c.id(), 2, scales);
}

// Before opset 11 the nearest pixel was the one below on axes that grow and the one above on those that shrink. One
// node for each where both may be.
void SpellResize(SpellContext& c) {
  const bool upsample = c.node().op_type == "Upsample";  // lets images grow only
  c.node().op_type = "Resize";
  if (c.opset() < 11) return;
  const ValueId scales = c.node().inputs[1], y = c.node().outputs[0];
  const Tensor* known = c.graph().value(scales).constant();
  if (TextAttribute(c.node(), "mode", "nearest") != "nearest") return SetResize(c, scales, nullptr);
  if (upsample || AllOf(known, [](float scale) { return scale >= 1; })) return SetResize(c, scales, "floor");
  if (AllOf(known, [](float scale) { return scale <= 1; })) return SetResize(c, scales, "ceil");
  const Type type = c.graph().value(scales).type;
  const ValueId one = c.graph().AddConstant("one", Tensor::Scalar<float>(1));
  const ValueId more = c.Add("Max", {scales, one}, {}, type), less = c.Add("Min", {scales, one}, {}, type);
  SetResize(c, more, "floor");
  const Type image = c.graph().value(y).type;
  const ValueId grown = c.graph().AddValue("", Type::TensorOf(image.dtype));
  c.graph().MoveOutput(c.id(), 0, grown);
  const ValueId shrunk = c.Add("Resize", {grown}, c.node().attributes, image);
  const NodeId second = c.graph().value(shrunk).producer;
  SetResize(c.At(second), less, "ceil");
  c.graph().MoveOutput(second, 0, y);
}

// Resize since version 18 may name its axes.
bool DescribeResize(const Graph& graph, const Node& node, NodeLayout& layout) {
  if (node.since_version < 18 || !DescribeMain(graph, node, layout)) return false;
  if (const AttributeValue* axes = node.FindAttribute("axes")) {
    std::vector<std::int64_t> given = std::get<std::vector<std::int64_t>>(*axes);
    if (!NormalizeAxes(given, InputType(graph, node, 0).rank())) return false;
  }
  layout.variables[0].first_cost = MovingCost(OutputType(graph, node));
  return true;
}

void ChangeResize(const LayoutChange& c) {
  const std::size_t rank = c.input_types[0].rank();
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (const AttributeValue* given = c.node().FindAttribute("axes")) axes = std::get<std::vector<std::int64_t>>(*given);
  NormalizeAxes(axes, rank);
  for (std::int64_t& axis : axes) axis = AxisToLast(axis, rank);
  c.node().SetAttribute("axes", axes);
}

bool DescribeUpsample(const Graph& graph, const Node& node, NodeLayout& layout) {
  if (!DescribeSized(graph, node, layout)) return false;
  layout.variables[0].first_cost = MovingCost(OutputType(graph, node));
  return true;
}

constexpr LayoutDef kResizeLayout = {"its axes are mapped", DescribeResize, ChangeResize};
constexpr LayoutDef kUpsampleLayout = {"its scales in its order", DescribeUpsample, ChangeSized};

bool TakesPitch(const Node& node, Port port) {
  return TextAttribute(node, "mode", "nearest") == "nearest" && (port.output || port.index == 0);
}

constexpr OpDef kResizeOps[] = {
    {.name = "Resize",
     .since = {10},
     .types = kAllTypes,
     .infer = InferUpsample,
     .prepare = PrepareUpsample,
     .cost = CountTwicePerOutput,
     .spell = {11, SpellResize}},
    {.name = "Resize",
     .since = {11, 13, 18, 19},
     .types = kAllTypes,
     .infer = InferResize,
     .prepare = PrepareResize,
     .cost = CountTwicePerOutput,
     .layout = &kResizeLayout,
     .pitch = TakesPitch},
    {.name = "Upsample",
     .since = {1, 7, 9, 10},
     .types = kAllTypes,
     .infer = InferUpsample,
     .prepare = PrepareUpsample,
     .upgrade = UpgradeUpsample,
     .cost = CountTwicePerOutput,
     .layout = &kUpsampleLayout,
     .spell = {10, SpellResize}},
};

}  // namespace

std::span<const OpDef> ResizeOps() { return kResizeOps; }

}  // namespace sardonyx::ops
