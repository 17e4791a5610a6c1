// optimizer/passes/quantization/fuse_block_quantized_product.cpp - a product with constant weights that
// DequantizeLinear makes of blocks of 4- or 8-bit integers becomes com.microsoft MatMulNBits, which reads the integers.
//
// As in ONNX Runtime, the weights [K, N] are in blocks along K, and the session's config entry
// session.qdq_matmulnbits_accuracy_level gives the accuracy_level (by default 4, activations in 8 bits).
#include <algorithm>

#include "optimizer/passes/passes.h"
#include "optimizer/quantization/quantization.h"

namespace sardonyx::optimizer {
namespace {

// Element i of a tensor of 4- or 8-bit integers, as an unsigned number whose middle stands for 0 if they are signed.
std::uint8_t Element(const Tensor& tensor, std::int64_t i, int bits, bool is_signed) {
  const auto* bytes = static_cast<const std::uint8_t*>(tensor.raw());
  const unsigned value = bits == 8 ? bytes[i] : (bytes[i / 2] >> (i % 2 * 4)) & 15u;
  return static_cast<std::uint8_t>(is_signed ? value ^ (1u << (bits - 1)) : value);
}

void Put(std::uint8_t* row, std::int64_t i, int bits, std::uint8_t value) {
  if (bits == 8) {
    row[i] = value;
  } else {
    row[i / 2] = static_cast<std::uint8_t>(row[i / 2] | (value << (i % 2 * 4)));
  }
}

class BlockFuser {
 public:
  BlockFuser(Graph& graph, const PassContext& context, NodeId id) : graph_(graph), context_(context), id_(id) {}

  bool Try() {
    const Node& product = graph_.node(id_);
    if (!product.domain.empty() || product.op_type != "MatMul") return false;
    const auto weight = BlockWeightFrom(graph_, product.inputs[1]);
    if (!weight || !HasOperator(context_.registry, "com.microsoft", "MatMulNBits"))
      return context_.FarFrom(graph_, id_, "its weights are not blocks of integers");
    if (graph_.node(weight->node).provider != product.provider)
      return context_.No(graph_, id_, "its weights are made on another provider");
    const ValueId old = product.outputs[0], x = product.inputs[0];
    const std::string name = graph_.value(weight->data).name;
    Rewrite rewrite(graph_, context_.registry, id_);
    const ValueId integers = graph_.AddConstant(name, Integers(*weight));
    const ValueId scales = graph_.AddConstant(name + "_scales", Scales(*weight));
    const ValueId zeros = HasDefaultZeros(*weight) ? kNoValue : graph_.AddConstant(name + "_zeros", Zeros(*weight));
    const ValueId y = rewrite.Add("com.microsoft", "MatMulNBits", {x, integers, scales, zeros},
                                  {{"K", weight->k},
                                   {"N", weight->n},
                                   {"bits", std::int64_t{weight->bits}},
                                   {"block_size", weight->block},
                                   {"accuracy_level", context_.block_product_accuracy}});
    rewrite.Replace(old, y);
    return context_.Yes(graph_, graph_.value(integers).consumers[0], "reads the integers of '", name, "'");
  }

 private:
  const Tensor& Constant(ValueId value) const { return *graph_.value(value).constant(); }

  // [N, blocks, bytes of a block]; what is behind K is 0. Columns go together, so that each row of K is read in pieces
  // of a cache line.
  Tensor Integers(const BlockWeight& w) const {
    constexpr std::int64_t kColumns = 64;
    const std::int64_t bytes = w.block * w.bits / 8, row = w.blocks() * bytes;
    Tensor packed(DType::kUInt8, Shape{w.n, w.blocks(), bytes});
    auto* to = packed.data<std::uint8_t>();
    std::fill_n(to, packed.count(), std::uint8_t{0});
    const Tensor& from = Constant(w.data);
    for (std::int64_t begin = 0; begin < w.n; begin += kColumns) {
      const std::int64_t end = std::min(w.n, begin + kColumns);
      for (std::int64_t k = 0; k < w.k; ++k)
        for (std::int64_t n = begin; n < end; ++n)
          Put(to + n * row, k, w.bits, Element(from, k * w.n + n, w.bits, w.is_signed));
    }
    return packed;
  }
  // [N, blocks] of [blocks, N].
  Tensor Scales(const BlockWeight& w) const {
    Tensor scales(DType::kFloat, Shape{w.n, w.blocks()});
    const float* from = Constant(w.scale).data<float>();
    for (std::int64_t i = 0; i < w.blocks(); ++i)
      for (std::int64_t n = 0; n < w.n; ++n) scales.data<float>()[n * w.blocks() + i] = from[i * w.n + n];
    return scales;
  }
  // The operator takes the middle where there are no zero points.
  bool HasDefaultZeros(const BlockWeight& w) const {
    if (w.zero == kNoValue) return w.is_signed;
    const Tensor& zero = Constant(w.zero);
    for (std::int64_t i = 0; i < zero.count(); ++i)
      if (Element(zero, i, w.bits, w.is_signed) != 1 << (w.bits - 1)) return false;
    return true;
  }
  Tensor Zeros(const BlockWeight& w) const {
    const std::int64_t bytes = (w.blocks() * w.bits + 7) / 8;
    Tensor zeros(DType::kUInt8, Shape{w.n, bytes});
    auto* to = zeros.data<std::uint8_t>();
    std::fill_n(to, zeros.count(), std::uint8_t{0});
    for (std::int64_t i = 0; w.zero != kNoValue && i < w.blocks(); ++i)
      for (std::int64_t n = 0; n < w.n; ++n)
        Put(to + n * bytes, i, w.bits, Element(Constant(w.zero), i * w.n + n, w.bits, w.is_signed));
    return zeros;
  }

  Graph& graph_;
  const PassContext& context_;
  NodeId id_;
};

bool FuseBlockQuantizedProduct(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) { return BlockFuser(each, context, id).Try(); });
}

}  // namespace

constinit const Pass kFuseBlockQuantizedProduct = {
    .name = "fuse_block_quantized_product", .level = Level::kExtended, .run = FuseBlockQuantizedProduct};

}  // namespace sardonyx::optimizer
