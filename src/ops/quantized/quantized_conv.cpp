// ops/quantized/quantized_conv.cpp - ConvInteger and QLinearConv, channels first and last, on the 8-bit convolution
// kernels.
//
// ai.sardonyx QLinearConvAdd is QLinearConv on channels-last images followed by com.microsoft QLinearAdd of its result
// and Z: inputs 9 to 13 are Z, Z_scale, Z_zero_point, C_scale and C_zero_point. With z_first = 1, Z is the first
// summand.
#include <algorithm>
#include <cmath>

#include "kernels/conv/conv_int8.h"
#include "ops/cost_context.h"
#include "ops/operands.h"
#include "ops/quantized_operators.h"
#include "ops/registry.h"
#include "ops/shapes/conv_attributes.h"
#include "ops/shapes/layout_images.h"
#include "tensor/packing.h"

namespace sardonyx::ops {
namespace {

constexpr DTypeSet kInt8s = {DType::kInt8, DType::kUInt8};

// Where an operator of the family has its inputs; QLinearConv, too: x_scale 1, w_scale 4, y_scale 6, y_zero 7, bias 8.
struct Inputs {
  std::size_t x, w, x_zero, w_zero;
};
constexpr Inputs kInteger = {0, 1, 2, 3};
constexpr Inputs kQLinear = {0, 3, 2, 5};
constexpr std::size_t kXScale = 1, kWScale = 4, kYScale = 6, kYZero = 7, kBias = 8;
constexpr std::size_t kZ = 9, kZScale = 10, kZZero = 11, kSumScale = 12, kSumZero = 13;
constexpr std::string_view kOwnDomain = "ai.sardonyx";

// The domain of channels-last operators, or com.microsoft's own attribute.
ImageLayouts LayoutsOf(const AttributeReader& c) {
  if (c.node().domain == "com.microsoft") return {c.Flag("channels_last"), c.Flag("channels_last")};
  if (c.node().domain == kOwnDomain) return {true, true};
  return ImageLayouts::Of(c);
}

ConvState Read(const AttributeReader& c, const Type& x, const Type& w) {
  ConvState state = ReadConv(c, x, w);
  state.layouts = LayoutsOf(c);
  return state;
}

void Infer(InferContext& c, const Inputs& in, DType result) {
  const ImageLayouts layouts = LayoutsOf(c);
  const Type x = ToChannelsFirst(c.InputType(in.x), layouts.input_last);
  const ConvState state = Read(c, x, c.InputType(in.w));
  if (!c.HasRank(in.x)) return c.SetOutput(0, result);
  c.SetOutput(0, result, FromChannelsFirst(ConvOutputDims(c, state, x, c.InputType(in.w)), layouts.output_last));
}
void InferInteger(InferContext& c) { Infer(c, kInteger, DType::kInt32); }
void InferQLinear(InferContext& c) { Infer(c, kQLinear, c.InputDType(kYZero)); }

bool IsSignedInput(const KernelContext& c, std::size_t i) { return c.Input(i).dtype == DType::kInt8; }

// The one value of a zero point, 0 if there is none.
int ZeroOf(const KernelContext& c, std::size_t i, const char* of) {
  if (!c.HasInput(i)) return 0;
  if (c.Input(i).count != 1) {
    Fail(Code::kInvalidArgument, "expected one zero point of the ", of, ", found ", ToText(c.Input(i).shape));
  }
  return IsSignedInput(c, i) ? *c.Input(i).As<std::int8_t>() : *c.Input(i).As<std::uint8_t>();
}

// Packed weights are bytes whatever the way; their type says which one they are for.
DType TypeOf(kernels::ConvInt8Way way) {
  using kernels::ConvInt8Way;
  return way == ConvInt8Way::kWinograd       ? DType::kInt16
         : way == ConvInt8Way::kSmallWeights ? DType::kInt8
                                             : DType::kUInt8;
}
kernels::ConvInt8Way WayOf(DType packed) {
  using kernels::ConvInt8Way;
  return packed == DType::kInt16  ? ConvInt8Way::kWinograd
         : packed == DType::kInt8 ? ConvInt8Way::kSmallWeights
                                  : ConvInt8Way::kAnyWeights;
}

// The sizes of a run, and where its weights are packed.
class IntegerConv {
 public:
  IntegerConv(KernelContext& c, const Inputs& in) : c_(c), in_(in), state_(c.state<ConvState>()) {
    const Shape x = ToChannelsFirst(c.Input(in.x).shape, state_.layouts.input_last);
    const Shape y = ToChannelsFirst(c.Output(0).shape, state_.layouts.output_last);
    const Dims w = state_.packed.defined() ? Dims(state_.weights) : c.Input(in.w).shape;
    CheckConvShapes(state_.window, state_.group, x, w, false);
    const Window3 window = MakeWindow(state_.window, x, y, w.subspan(2));
    args_.shape = MakeConvShape(window, x[0], x[1], w[0], state_, false);
    if (state_.packed.defined()) args_.way = WayOf(state_.packed.dtype());
    per_output_ = ElementCount(w, 1, w.size());
    args_.x = c.Input(in.x).data;
    args_.x_signed = IsSignedInput(c, in.x);
    args_.x_zero = ZeroOf(c, in.x_zero, "input");
    args_.y = c.Output(0).data;
    args_.result = c.Output(0).dtype == DType::kInt32 ? kernels::Int8Result::kSums : kernels::Int8Result::kBytes;
    const std::int64_t zeros = c.HasInput(in.w_zero) ? c.Input(in.w_zero).count : 1;
    if (zeros != 1 && zeros != w[0]) {
      Fail(Code::kInvalidArgument, "expected 1 or ", w[0], " zero points of the weights, found ", zeros);
    }
    if (Computes()) {
      scratch_ = layout_.Add(kernels::ConvInt8ScratchBytes(args_, c.parallel().ThreadCount()));
      if (!state_.packed.defined()) packed_ = layout_.Add(kernels::ConvInt8PackedBytes(args_.shape));
    }
  }

  // False if there is nothing to sum.
  bool Computes() const { return c_.Output(0).count > 0 && c_.Input(in_.x).count > 0 && per_output_ > 0; }
  kernels::ConvInt8Args& args() { return args_; }
  ScratchLayout& layout() { return layout_; }
  std::byte* Begin() { return block_ = c_.Scratch(layout_.bytes()); }

  void Run() {
    if (state_.packed.defined()) {
      args_.packed_weights = static_cast<const std::byte*>(state_.packed.raw());
      args_.is_wide = state_.is_wide.get();
    } else {
      kernels::ConvInt8Weights weights;
      weights.w = c_.Input(in_.w).data;
      weights.w_signed = IsSignedInput(c_, in_.w);
      if (c_.HasInput(in_.w_zero)) {
        weights.zeros = c_.Input(in_.w_zero).data;
        weights.zero_count = c_.Input(in_.w_zero).count;
      }
      kernels::PackConvInt8Weights(args_.shape, weights, block_ + packed_, c_.parallel());
      args_.packed_weights = block_ + packed_;
    }
    kernels::ConvInt8(args_, c_.parallel(), block_ + scratch_);
  }

 private:
  KernelContext& c_;
  Inputs in_;
  const ConvState& state_;
  kernels::ConvInt8Args args_;
  std::int64_t per_output_ = 0;  // weights
  ScratchLayout layout_;
  std::size_t scratch_ = 0, packed_ = 0;
  std::byte* block_ = nullptr;
};

void RunInteger(KernelContext& c) {
  IntegerConv conv(c, kInteger);
  const OutputRef y = c.Output(0);
  if (!conv.Computes()) {
    std::fill_n(y.As<std::int32_t>(), y.count, 0);
    return;
  }
  conv.Begin();
  conv.Run();
}

// What sums become: y = round(sum * scale[channel]) + zero, as ONNX Runtime computes it in float.
void SetScales(KernelContext& c, std::int64_t channels, float* scales) {
  const TensorRef& w_scale = c.Input(kWScale);
  for (const std::size_t scale : {kXScale, kYScale}) {
    if (c.Input(scale).count != 1)
      Fail(Code::kInvalidArgument, "expected one scale in input ", scale, ", found shape ",
           ToText(c.Input(scale).shape));
  }
  if (w_scale.count != 1 && w_scale.count < channels) {
    Fail(Code::kInvalidArgument, "expected one scale or ", channels, " in input ", kWScale, ", found shape ",
         ToText(w_scale.shape));
  }
  const float x_scale = *c.Input(kXScale).As<float>(), y_scale = *c.Input(kYScale).As<float>();
  for (std::int64_t m = 0; m < channels; ++m)
    scales[m] = x_scale * w_scale.As<float>()[w_scale.count == 1 ? 0 : m] / y_scale;
}

// What QLinearConvAdd adds.
kernels::Int8Sum SumOf(KernelContext& c, const OutputRef& y, bool z_first) {
  const TensorRef& z = c.Input(kZ);
  if (!std::equal(z.shape.begin(), z.shape.end(), y.shape.begin(), y.shape.end())) {
    Fail(Code::kInvalidArgument, "expected an input Z of the shape ", ToText(y.shape), ", found ", ToText(z.shape));
  }
  for (const std::size_t i : {kZScale, kSumScale})
    if (c.Input(i).count != 1)
      Fail(Code::kInvalidArgument, "expected one scale as input ", i, ", found ", ToText(c.Input(i).shape));
  const float y_scale = *c.Input(kSumScale).As<float>();
  kernels::Int8Sum sum;
  sum.z = z.data;
  sum.scale = *c.Input(kYScale).As<float>() / y_scale;
  sum.z_scale = *c.Input(kZScale).As<float>() / y_scale;
  sum.z_first = z_first;
  const QuantizedScale q{sum.scale, static_cast<float>(ZeroOf(c, kYZero, "output"))};
  const QuantizedScale added{sum.z_scale, static_cast<float>(ZeroOf(c, kZZero, "summand"))};
  const auto zero = static_cast<float>(ZeroOf(c, kSumZero, "sum"));
  sum.constant = z_first ? SumConstant(added, q, zero) : SumConstant(q, added, zero);
  return sum;
}

// The convolution over no channels or of nothing but padding.
void FillWithQuantizedBias(const kernels::ConvInt8Args& a, const OutputRef& y) {
  const std::int64_t channels = a.shape.out_channels, pixels = a.shape.out[0] * a.shape.out[1] * a.shape.out[2];
  const int low = kernels::LowestByte(a.y_signed), high = kernels::HighestByte(a.y_signed);
  for (std::int64_t i = 0; i < y.count; ++i) {
    const bool last = a.shape.out_layout == kernels::ImageLayout::kChannelsLast;
    const std::int64_t m = last ? i % channels : i / pixels % channels;
    const float value = a.bias != nullptr ? static_cast<float>(a.bias[m]) * a.scales[m] : 0.0f;
    const auto whole = [&](float x, int zero) {
      return std::nearbyint(std::fmin(std::fmax(x, static_cast<float>(low - zero)), static_cast<float>(high - zero)));
    };
    float result = whole(value, a.y_zero) + static_cast<float>(a.y_zero);
    if (a.sum.z != nullptr) {
      const float z =
          a.y_signed ? static_cast<const std::int8_t*>(a.sum.z)[i] : static_cast<const std::uint8_t*>(a.sum.z)[i];
      result = whole(a.sum.z_first ? std::fma(z, a.sum.z_scale, std::fma(result, a.sum.scale, a.sum.constant))
                                   : std::fma(result, a.sum.scale, std::fma(z, a.sum.z_scale, a.sum.constant)),
                     0);
    }
    y.As<std::uint8_t>()[i] = static_cast<std::uint8_t>(static_cast<int>(result));
  }
}

void RunQLinear(KernelContext& c) {
  IntegerConv conv(c, kQLinear);
  const OutputRef y = c.Output(0);
  if (y.count == 0) return;
  kernels::ConvInt8Args& args = conv.args();
  const std::int64_t channels = args.shape.out_channels;
  if (c.Input(kWScale).count != 1 && c.Input(kWScale).count != channels) {
    Fail(Code::kInvalidArgument, "expected 1 or ", channels, " scales of the weights, found ",
         ToText(c.Input(kWScale).shape));
  }
  if (c.HasInput(kBias) && c.Input(kBias).count != channels) {
    Fail(Code::kInvalidArgument, "expected a bias of ", channels, " values, found ", ToText(c.Input(kBias).shape));
  }
  const std::size_t scales_at = conv.layout().Add<float>(static_cast<std::size_t>(channels));
  auto* scales = static_cast<float*>(static_cast<void*>(conv.Begin() + scales_at));
  SetScales(c, channels, scales);
  args.scales = scales;
  args.y_zero = ZeroOf(c, kYZero, "output");
  args.y_signed = y.dtype == DType::kInt8;
  if (c.HasInput(kBias)) args.bias = c.Input(kBias).As<std::int32_t>();
  if (c.HasInput(kZ)) {
    args.sum = SumOf(c, y, c.state<ConvState>().z_first);
    if (!kernels::ConvInt8Adds(args.shape))
      Fail(Code::kNotImplemented, "a sum with a depthwise convolution of ", channels, " channels is not implemented");
  }
  if (!conv.Computes()) return FillWithQuantizedBias(args, y);
  conv.Run();
}

// Packs for the given way if the weights fit it, or else for any.
void PackFor(PrepareContext& c, kernels::ConvInt8Way way, const kernels::ConvShape& shape,
             const kernels::ConvInt8Weights& weights, ConvState& state) {
  const auto form = [&](kernels::ConvInt8Way each) {
    const auto bytes = static_cast<std::int64_t>(kernels::ConvInt8PackedBytes(shape, nullptr, each));
    return PackedForm{TypeOf(each), Shape{bytes / (Bits(TypeOf(each)) / 8)}};
  };
  std::vector<PackedForm> forms = {form(kernels::ConvInt8Way::kAnyWeights)};
  if (way != kernels::ConvInt8Way::kAnyWeights) forms.push_back(form(way));
  const auto choose = [&] {
    return kernels::ConvInt8WeightsFit(shape, weights, way) ? forms.size() - 1 : std::size_t{0};
  };
  state.packed = Packed(forms, choose, [&](Tensor& packed) {
    kernels::PackConvInt8Weights(shape, weights, static_cast<std::byte*>(packed.raw()), c.parallel(), nullptr,
                                 WayOf(packed.dtype()));
  });
}

// Packs constant weights whose zero points are constant, too.
void PackWeights(PrepareContext& c, const Inputs& in, ConvState& state) {
  const Tensor* w = c.Constant(in.w);
  if (w == nullptr || w->count() == 0 || w->shape().rank() < 3 || w->shape().rank() > 5) return;
  const Shape& dims = w->shape();
  if (dims[0] % state.group != 0) {
    c.Fail(Code::kInvalidArgument, "expected output channels divisible by group ", state.group, ", found weights ",
           ToText(dims));
  }
  kernels::ConvInt8Weights weights;
  weights.w = w->raw();
  weights.w_signed = w->dtype() == DType::kInt8;
  if (c.HasInput(in.w_zero)) {
    const Tensor* zeros = c.Constant(in.w_zero);
    if (zeros == nullptr || zeros->dtype() != w->dtype()) return;
    if (zeros->count() != 1 && zeros->count() != dims[0]) return;
    weights.zeros = zeros->raw();
    weights.zero_count = zeros->count();
  }
  Shape unknown = dims;  // in the place of x and y, whose sizes do not matter
  for (std::int64_t& dim : unknown) dim = 1;
  const Window3 window = MakeWindow(state.window, unknown, unknown, Dims(dims).subspan(2));
  kernels::ConvShape shape = MakeConvShape(window, 1, dims[1] * state.group, dims[0], state, false);
  const Type x = ToChannelsFirst(c.InputType(in.x), state.layouts.input_last);
  SetKnownOutput(ConvOutputDims(c, state, x, c.InputType(in.w)), &shape);
  PackFor(c, kernels::ChooseConvInt8Way(shape), shape, weights, state);
  state.weights = dims;
  state.is_wide = std::make_shared<std::atomic<bool>>(false);
  c.MarkPacked(in.w);
}

Prepared Prepare(PrepareContext& c, const Inputs& in, RunFn* run) {
  const ImageLayouts layouts = LayoutsOf(c);
  ConvState state = Read(c, ToChannelsFirst(c.InputType(in.x), layouts.input_last), c.InputType(in.w));
  if (!kInt8s.Has(c.InputDType(in.w))) c.Unsupported(c.InputText(in.w), c.InputDType(in.w));
  const auto same = [&](std::size_t zero, std::size_t as, const char* what) {
    if (c.HasInput(zero) && c.InputDType(zero) != c.InputDType(as))
      c.Fail(Code::kInvalidGraph, "zero point of the ", what, ": expected type ", Name(c.InputDType(as)), ", found ",
             Name(c.InputDType(zero)));
  };
  same(in.x_zero, in.x, "input");
  same(in.w_zero, in.w, "weights");
  state.z_first = c.Flag("z_first");
  PackWeights(c, in, state);
  return WithState(run, std::move(state));
}
Prepared PrepareInteger(PrepareContext& c) { return Prepare(c, kInteger, RunInteger); }
Prepared PrepareQLinear(PrepareContext& c) {
  const DType y = c.InputDType(kYZero);
  if (!kInt8s.Has(y)) c.Unsupported("an output", y);
  const auto expect = [&](std::size_t i, DType dtype, const char* why) {
    if (!c.HasInput(i) || c.InputDType(i) == dtype) return;
    c.Fail(Code::kInvalidGraph, "input ", i, ": expected type ", Name(dtype), why, ", found ", Name(c.InputDType(i)));
  };
  for (const std::size_t i : {kZ, kZZero, kSumZero}) expect(i, y, " as the convolution's result has");
  for (const std::size_t i : {kXScale, kWScale, kYScale, kZScale, kSumScale}) expect(i, DType::kFloat, "");
  expect(kBias, DType::kInt32, "");
  return Prepare(c, kQLinear, RunQLinear);
}

// Winograd's algorithm needs fewer multiplications than the definition has.
template <void (*kCount)(CostContext&)>
void CountConv(CostContext& c) {
  kCount(c);
  const Prepared* prepared = c.prepared();
  if (prepared == nullptr || (prepared->run != RunInteger && prepared->run != RunQLinear)) return;
  const Tensor& packed = static_cast<const ConvState*>(prepared->state.get())->packed;
  if (packed.defined() && WayOf(packed.dtype()) == kernels::ConvInt8Way::kWinograd) c.SetArithmetic(36.0 / 144);
}

bool DescribeConvInteger(const Graph& graph, const Node& node, NodeLayout& layout) {
  return IsQuantizedImage(InputType(graph, node, 0)) && DescribeConv(graph, node, 1, layout);
}
bool DescribeQLinearConv(const Graph& graph, const Node& node, NodeLayout& layout) {
  return IsQuantizedImage(InputType(graph, node, 0)) && DescribeConv(graph, node, 3, layout);
}

constexpr LayoutDef kConvIntegerLayout = {"images either way, best last", DescribeConvInteger, ChangeConv};
constexpr LayoutDef kQLinearConvLayout = {"images either way, best last", DescribeQLinearConv, ChangeConv};

constexpr OpDef QLinearRow(std::string_view domain, int since, std::string_view name = "QLinearConv",
                           const LayoutDef* layout = nullptr) {
  return {.domain = domain,
          .name = name,
          .since = {since},
          .types = kInt8s,
          .infer = InferQLinear,
          .prepare = PrepareQLinear,
          .cost = CountConv<CountQuantizedConvolution>,
          .layout = layout};
}

constexpr OpDef IntegerRow(std::string_view domain, int since, const LayoutDef* layout = nullptr) {
  return {.domain = domain,
          .name = "ConvInteger",
          .since = {since},
          .types = kInt8s,
          .infer = InferInteger,
          .prepare = PrepareInteger,
          .cost = CountConv<CountConvolution>,
          .layout = layout};
}

constexpr OpDef kQuantizedConvOps[] = {
    IntegerRow("", 10, &kConvIntegerLayout),
    IntegerRow(kChannelsLastDomain, 1),
    QLinearRow("", 10, "QLinearConv", &kQLinearConvLayout),
    QLinearRow("com.microsoft", 1),
    QLinearRow(kChannelsLastDomain, 1),
    QLinearRow(kOwnDomain, 1, "QLinearConvAdd"),
};

}  // namespace

std::span<const OpDef> QuantizedConvOps() { return kQuantizedConvOps; }

}  // namespace sardonyx::ops
