// optimizer/passes/exchange/pack_projections.cpp - the projections of queries, keys and values of one source become one
// product [batch, row, head, 3, size], which MultiHeadAttention reads as it is; keys and values of another source than
// the queries' become [batch, row, head, 2, size]. They run only where a model is made for it.
#include <cstring>

#include "ir/attributes.h"
#include "optimizer/passes/exchange/exchange_passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

// The columns of each head of all `weights` [inner, heads * size] side by side, and the shape that parts them again.
bool PacksWeights(Match& m, std::string_view source, std::span<const std::string_view> weights) {
  const std::int64_t heads = IntAttribute(m.node("y"), "num_heads", 0);
  const Type& x = m.type(source);
  if (!x.has_rank || x.rank() != 3) return m.No("expected a source [batch, row, hidden], found ", x.ToText());
  const Tensor* first = m.constant(weights[0]);
  for (const std::string_view name : weights) {
    const Tensor* weight = m.constant(name);
    if (weight == nullptr || weight->shape().size() != 2 || weight->dtype() != first->dtype() ||
        !std::ranges::equal(weight->shape(), first->shape()))
      return m.No("expected constant matrices of one size, found ", m.type(name).ToText());
  }
  const std::int64_t inner = first->shape()[0], width = first->shape()[1];
  if (heads < 1 || width < heads || width % heads != 0)
    return m.No("expected a width that ", heads, " heads share equally, found ", width);
  const std::int64_t size = width / heads, parts = static_cast<std::int64_t>(weights.size());
  std::int64_t whole = 0;
  if (__builtin_mul_overflow(width, parts, &whole)) return m.No("its weights are too large");
  Tensor packed(first->dtype(), Shape{inner, whole});
  const std::size_t bytes = first->count() == 0 ? 0 : first->byte_size() / static_cast<std::size_t>(inner * heads);
  auto* to = static_cast<std::byte*>(packed.raw());
  for (std::int64_t at = 0; at < inner * heads; ++at) {
    for (const std::string_view name : weights) {
      const auto* from = static_cast<const std::byte*>(m.constant(name)->raw());
      std::memcpy(to, from + static_cast<std::size_t>(at) * bytes, bytes);
      to += bytes;
    }
  }
  Tensor shape(DType::kInt64, Shape{5});
  const std::int64_t sizes[] = {0, 0, heads, parts, size};
  std::memcpy(shape.raw(), sizes, sizeof(sizes));
  m.SetConstant("weights", std::move(packed), m.graph().value(m.value(weights[0])).name + "_packed");
  m.SetConstant("shape", std::move(shape), "packed_shape");
  return true;
}

bool PacksAll(Match& m) {
  static constexpr std::string_view kWeights[] = {"wq", "wk", "wv"};
  return PacksWeights(m, "x", kWeights);
}

// Not where the queries are of the same source: all three are one product then, or none are.
bool PacksKeysAndValues(Match& m) {
  static constexpr std::string_view kWeights[] = {"wk", "wv"};
  const Node* product = ProducerOf(m.graph(), m.value("q"), "MatMul");
  if (product != nullptr && product->inputs[0] == m.value("c")) return m.No("queries have the same source");
  return PacksWeights(m, "c", kWeights);
}

constexpr Rule kAll[] = {
    {.name = "one source",
     .match = "y:com.microsoft.MultiHeadAttention(MatMul(x, wq), MatMul(x, wk), MatMul(x, wv))",
     .replace = "com.microsoft.MultiHeadAttention(Reshape(MatMul(x, weights), shape); $y)",
     .when = PacksAll},
};

constexpr Rule kKeysAndValues[] = {
    {.name = "two sources",
     .match = "y:com.microsoft.MultiHeadAttention(q, MatMul(c, wk), MatMul(c, wv))",
     .replace = "com.microsoft.MultiHeadAttention(q, Reshape(MatMul(c, weights), shape); $y)",
     .when = PacksKeysAndValues},
};

}  // namespace

constinit const Pass kPackProjections = {.name = "pack_projections", .level = Level::kExtended, .rules = kAll};
constinit const Pass kPackKeysAndValues = {
    .name = "pack_keys_and_values", .level = Level::kExtended, .rules = kKeysAndValues};

}  // namespace sardonyx::optimizer
