// ops/contrib/expert_layer.cpp - packs the matrices of experts for the kernels of products and multiplies with them.
//
// Bits are packed for kernels/nbits, with a scale for each block of 32 where rows have one scale. Weights that are not
// constant are packed for each expert that a run uses.
#include "ops/contrib/expert_layer.h"

#include <algorithm>
#include <cstring>

#include "kernels/elementwise/convert.h"
#include "ops/operands.h"
#include "ops/same_rows.h"
#include "ops/tensor_ref.h"
#include "tensor/shared_bytes.h"

namespace sardonyx::ops {
namespace {

constexpr std::int64_t kRowBlock = 32;

// The tensors of a layer, constant or not.
struct Parts {
  TensorRef weights, scales, zeros;
};

kernels::NBitsShape BitsShape(const ExpertLayerDef& def, Dims shape, bool half_scales = false) {
  kernels::NBitsShape s;
  s.n = shape[1], s.k = shape[2];
  s.block = def.block > 0 ? def.block : kRowBlock;
  s.bits = def.bits;
  s.has_zeros = def.zeros != kNoExpertInput;
  s.half_scales = half_scales;
  return s;
}

// Scales of a row, and bytes of its zero points.
std::int64_t ScalesOfRow(const ExpertLayerDef& def, Dims shape) {
  return def.block > 0 ? (shape[2] + def.block - 1) / def.block : 1;
}
// Zero points of rows with one scale lie one after the other; others begin with a byte for each row.
std::int64_t ZeroBytes(const ExpertLayerDef& def, Dims shape) {
  if (def.block == 0) return (shape[1] * def.bits + 7) / 8;
  return shape[1] * ((ScalesOfRow(def, shape) * def.bits + 7) / 8);
}

void CheckCount(std::size_t input, const TensorRef& part, std::int64_t expected, Dims shape) {
  if (part.present() && part.count != expected) {
    Fail(Code::kInvalidArgument, "input ", input, ": expected ", expected, " elements for weights ", ToText(shape),
         ", found shape ", ToText(part.shape));
  }
}

// [experts, n, k] of the weights, after everything else is found to fit them.
Shape CheckedShape(const ExpertLayerDef& def, const Parts& p) {
  if (p.weights.rank() != 3) {
    Fail(Code::kInvalidArgument, "input ", def.weights, ": expected weights [experts, rows, columns], found shape ",
         ToText(p.weights.shape));
  }
  Shape shape(p.weights.shape);
  if (def.bits == 0) return shape;
  shape[2] = shape[2] * 8 / def.bits;
  if (def.block > 0 && shape[2] % def.block != 0) {
    Fail(Code::kInvalidArgument, "input ", def.weights, ": expected rows of a multiple of 'block_size', ", def.block,
         ", found ", shape[2]);
  }
  CheckCount(def.scales, p.scales, shape[0] * shape[1] * ScalesOfRow(def, shape), shape);
  CheckCount(def.zeros, p.zeros, shape[0] * ZeroBytes(def, shape), shape);
  return shape;
}

std::size_t PackedBytes(const ExpertLayerDef& def, Dims shape, bool half_scales = false) {
  const std::size_t bytes = def.bits == 0 ? kernels::GemmF32PackedCount(shape[2], shape[1]) * sizeof(float)
                                          : kernels::NBitsPackedBytes(BitsShape(def, shape, half_scales));
  return (bytes + 63) / 64 * 64;
}

// Memory in which an expert is brought into the form that the packing wants.
struct Workspace {
  std::byte* bytes;       // quantized rows, whole blocks each; or float copies of weights of 16 bits
  float *scales, *zeros;  // one for each block
};
std::size_t WorkBytes(const ExpertLayerDef& def, Dims shape) {
  if (def.bits == 0) return static_cast<std::size_t>(shape[1] * shape[2]) * sizeof(float);
  const kernels::NBitsShape s = BitsShape(def, shape);
  return static_cast<std::size_t>(s.n * s.blocks() * s.block * s.bits / 8);
}
std::size_t WorkBlocks(const ExpertLayerDef& def, Dims shape) {
  return def.bits == 0 ? 0 : static_cast<std::size_t>(shape[1] * BitsShape(def, shape).blocks());
}

// The scales and zero points of an expert's blocks as floats.
void WidenScales(const ExpertLayerDef& def, const Parts& p, Dims shape, std::int64_t expert, const Workspace& work) {
  const kernels::NBitsShape s = BitsShape(def, shape);
  const std::int64_t each = ScalesOfRow(def, shape), zero_bytes = ZeroBytes(def, shape);
  const auto* zeros = s.has_zeros ? p.zeros.As<std::uint8_t>() + expert * zero_bytes : nullptr;
  const std::int64_t zero_row = def.block > 0 ? zero_bytes / s.n * (8 / s.bits) : 1;  // zero points, with their padding
  kernels::ToFloatsFn* const load = kernels::ToFloats(p.scales.dtype);
  for (std::int64_t n = 0; n < s.n; ++n) {
    for (std::int64_t b = 0; b < s.blocks(); ++b) {
      const std::int64_t own = def.block > 0 ? b : 0, at = n * s.blocks() + b;
      load(p.scales.data, (expert * s.n + n) * each + own, 1, work.scales + at);
      const std::int64_t place = n * zero_row + own, per_byte = 8 / s.bits;
      const int mask = (1 << s.bits) - 1;
      work.zeros[at] = s.has_zeros ? static_cast<float>(zeros[place / per_byte] >> (place % per_byte * s.bits) & mask)
                                   : static_cast<float>(1 << (s.bits - 1));
    }
  }
}

// Whether scales of 16 bits change no expert.
bool ScalesFitHalf(const ExpertLayerDef& def, const Parts& p, Dims shape, const Workspace& work, Parallel& parallel) {
  if (def.bits == 0) return false;
  for (std::int64_t expert = 0; expert < shape[0]; ++expert) {
    WidenScales(def, p, shape, expert, work);
    if (!kernels::NBitsScalesFitHalf(BitsShape(def, shape), {nullptr, work.scales, work.zeros}, parallel)) return false;
  }
  return true;
}

void PackBits(const ExpertLayerDef& def, const Parts& p, Dims shape, std::int64_t expert, bool half_scales,
              const Workspace& work, std::byte* to, Parallel& parallel) {
  const kernels::NBitsShape s = BitsShape(def, shape, half_scales);
  const std::int64_t row = s.k * s.bits / 8, whole = s.blocks() * s.block * s.bits / 8;
  const auto* from = p.weights.As<std::uint8_t>() + expert * s.n * row;
  for (std::int64_t n = 0; n < s.n; ++n) {
    std::memset(work.bytes + n * whole, 0, static_cast<std::size_t>(whole));
    std::memcpy(work.bytes + n * whole, from + n * row, static_cast<std::size_t>(row));
  }
  WidenScales(def, p, shape, expert, work);
  const auto* bytes = static_cast<const std::uint8_t*>(static_cast<const void*>(work.bytes));
  kernels::PackNBits(s, {bytes, work.scales, work.zeros}, to, parallel);
}

void PackExpert(const ExpertLayerDef& def, const Parts& p, Dims shape, std::int64_t expert, bool half_scales,
                const Workspace& work, std::byte* to, Parallel& parallel) {
  if (def.bits > 0) return PackBits(def, p, shape, expert, half_scales, work, to, parallel);
  const std::int64_t count = shape[1] * shape[2];
  auto* floats = static_cast<float*>(static_cast<void*>(work.bytes));
  kernels::ToFloats(p.weights.dtype)(p.weights.data, expert * count, static_cast<std::size_t>(count), floats);
  kernels::PackGemmF32B(shape[2], shape[1], floats, shape[2], true, static_cast<float*>(static_cast<void*>(to)),
                        parallel);
}

}  // namespace

ExpertLayer PrepareExpertLayer(PrepareContext& c, const ExpertLayerDef& def) {
  ExpertLayer layer = {.def = def, .shape = {}, .packed = {}, .same_rows = WantsSameRows()};
  const auto constant = [&](std::size_t i) { return i == kNoExpertInput || c.Constant(i) != nullptr; };
  if (!constant(def.weights) || !constant(def.scales) || !constant(def.zeros)) return layer;
  const auto part = [&](std::size_t i) { return i == kNoExpertInput ? TensorRef{} : RefOf(*c.Constant(i)); };
  const Parts p = {part(def.weights), part(def.scales), part(def.zeros)};
  layer.shape = CheckedShape(def, p);
  if (p.weights.count == 0) return layer;
  std::vector<std::byte> bytes(WorkBytes(def, layer.shape));
  std::vector<float> scales(2 * WorkBlocks(def, layer.shape));
  const Workspace work = {bytes.data(), scales.data(), scales.data() + scales.size() / 2};
  layer.half_scales = ScalesFitHalf(def, p, layer.shape, work, c.parallel());
  const auto each = static_cast<std::int64_t>(PackedBytes(def, layer.shape, layer.half_scales));
  layer.packed = ZeroedToShare(DType::kUInt8, Shape{layer.shape[0], each});
  auto* to = static_cast<std::byte*>(layer.packed.raw());
  for (std::int64_t e = 0; e < layer.shape[0]; ++e, to += each)
    PackExpert(def, p, layer.shape, e, layer.half_scales, work, to, c.parallel());
  layer.packed = Shared(std::move(layer.packed));
  for (const std::size_t i : {def.weights, def.scales, def.zeros})
    if (i != kNoExpertInput) c.MarkPacked(i);
  return layer;
}

ExpertMatrices::ExpertMatrices(KernelContext& c, const ExpertLayer& layer) : c_(c), layer_(layer) {
  const auto part = [&](std::size_t i) { return i == kNoExpertInput ? TensorRef{} : c.Input(i); };
  const ExpertLayerDef& def = layer.def;
  if (layer.packed.defined())
    shape_ = layer.shape;
  else
    shape_ = CheckedShape(def, {part(def.weights), part(def.scales), part(def.zeros)});
  if (c.HasInput(def.bias)) CheckCount(def.bias, c.Input(def.bias), shape_[0] * shape_[1], shape_);
}

kernels::GemmF32Args ExpertMatrices::FloatArgs(std::int64_t m) const {
  static constexpr float kGiven = 0;
  kernels::GemmF32Args args;
  args.m = m, args.n = n(), args.k = k();
  args.lda = args.k, args.ldc = args.n;
  args.packed_b = &kGiven;
  args.same_rows = layer_.same_rows;
  return args;
}

kernels::NBitsArgs ExpertMatrices::BitsArgs(std::int64_t m) const {
  kernels::NBitsArgs args;
  args.shape = BitsShape(layer_.def, shape_, layer_.half_scales);
  args.m = m;
  args.lda = k(), args.ldy = n();
  args.int8_activations = layer_.def.int8_activations;
  args.same_rows = layer_.same_rows;
  return args;
}

ExpertMatrices::Places ExpertMatrices::Layout(std::int64_t m, int threads) const {
  const bool floats = layer_.def.bits == 0, is_packed = layer_.packed.defined();
  ScratchLayout layout;
  Places at = {};
  at.product = layout.Add(floats ? kernels::GemmF32ScratchBytes(FloatArgs(m), threads)
                                 : kernels::NBitsScratchBytes(BitsArgs(m), threads));
  at.packed = layout.Add(is_packed ? 0 : PackedBytes(layer_.def, shape_));
  at.bytes = layout.Add(is_packed ? 0 : WorkBytes(layer_.def, shape_));
  at.scales = layout.Add<float>(is_packed ? 0 : WorkBlocks(layer_.def, shape_));
  at.zeros = layout.Add<float>(is_packed ? 0 : WorkBlocks(layer_.def, shape_));
  at.total = layout.bytes();
  return at;
}

std::size_t ExpertMatrices::ScratchBytes(std::int64_t m, int threads) const { return Layout(m, threads).total; }

void ExpertMatrices::Multiply(std::int64_t expert, std::int64_t m, const float* a, const float* bias, float* y,
                              Parallel& parallel, std::byte* scratch) const {
  const Places at = Layout(m, parallel.ThreadCount());
  const ExpertLayerDef& def = layer_.def;
  const std::byte* packed = scratch + at.packed;
  if (layer_.packed.defined()) {
    packed = static_cast<const std::byte*>(layer_.packed.raw()) + expert * layer_.packed.shape()[1];
  } else {
    const auto part = [&](std::size_t i) { return i == kNoExpertInput ? TensorRef{} : c_.Input(i); };
    const auto floats = [&](std::size_t offset) { return static_cast<float*>(static_cast<void*>(scratch + offset)); };
    PackExpert(def, {part(def.weights), part(def.scales), part(def.zeros)}, shape_, expert, false,
               {scratch + at.bytes, floats(at.scales), floats(at.zeros)}, scratch + at.packed, parallel);
  }
  if (def.bits == 0) {
    kernels::GemmF32Args args = FloatArgs(m);
    args.a = a, args.c = y;
    args.packed_b = static_cast<const float*>(static_cast<const void*>(packed));
    args.epilogue.bias_n = bias;
    return kernels::GemmF32(args, parallel, scratch + at.product);
  }
  kernels::NBitsArgs args = BitsArgs(m);
  args.packed = packed;
  args.a = a, args.y = y, args.bias = bias;
  kernels::MultiplyNBits(args, parallel, scratch + at.product);
}

}  // namespace sardonyx::ops
