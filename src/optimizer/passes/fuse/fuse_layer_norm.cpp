// optimizer/passes/fuse/fuse_layer_norm.cpp - LayerNormalization and RMSNormalization that are spelled out become one
// node.
//
// The core is (x - mean) / sqrt(variance + epsilon) or x / sqrt(mean(x^2) + epsilon) over the last axes. A factor and a
// summand behind it may be missing. There may be Casts around the core, with factor and summand outside of them: in
// half precision the operator computes in float by itself (stash_type 1).
//
// A Transpose of other axes than the last one moves behind the node: Gemma 3 normalizes the heads of queries and keys
// after it has put them before the rows, and attention reads them as their projections write them.
#include <algorithm>

#include "ir/attributes.h"
#include "optimizer/fusion/conv_weights.h"
#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {
namespace {

constexpr std::int64_t kMaxScale = 1 << 20;  // elements of a scale of ones

// The first of the axes, which must be the last ones of x and of known sizes; nullopt if they are others.
std::optional<std::size_t> FirstAxis(const Type& x, const std::vector<std::int64_t>& axes) {
  const auto rank = static_cast<std::int64_t>(x.rank());
  std::vector<bool> seen(x.rank(), false);
  std::size_t first = x.rank();
  for (std::int64_t axis : axes) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank || seen[static_cast<std::size_t>(axis)]) return std::nullopt;
    seen[static_cast<std::size_t>(axis)] = true;
    first = std::min(first, static_cast<std::size_t>(axis));
  }
  std::int64_t count = 1;
  for (std::size_t i = first; i < x.rank(); ++i) {
    const Dim& d = x.dims[i];
    if (!d.known() || d.number() < 1 || d.number() > kMaxScale / count) return std::nullopt;
    count *= d.number();
  }
  return axes.empty() || axes.size() != x.rank() - first ? std::nullopt : std::optional(first);
}

// A factor or summand with the normalised axes and no others, or none.
bool FitsAxes(const Match& m, std::string_view name, const Type& x, std::size_t first) {
  if (!m.Has(name)) return true;
  const Type& type = m.type(name);
  if (!type.HasStaticShape() || type.rank() != x.rank() - first || type.dtype != x.dtype) return false;
  for (std::size_t i = first; i < x.rank(); ++i)
    if (!SameDim(type.dims[i - first], x.dims[i])) return false;
  return true;
}

bool NormalizesLastAxes(Match& m) {
  const Type &x = m.type("x"), &y = m.type("y");
  const auto axes = m.ints("axes");
  const auto epsilon = m.scalar("e");
  if (!axes || !epsilon || *epsilon < 0)
    return m.No("expected an epsilon added to the mean of a square over constant axes that are kept");
  const bool floats = x.is_tensor() && x.has_rank && IsFloating(x.dtype);
  const auto first = floats ? FirstAxis(x, *axes) : std::nullopt;
  if (!first) return m.No("expected a mean over the last axes, of known sizes, of ", x.ToText());
  if (!y.has_rank || y.rank() != x.rank()) return false;  // an epsilon of more axes
  if (!FitsAxes(m, "scale", x, *first) || !FitsAxes(m, "bias", x, *first)) return false;
  m.SetAttribute("axis", static_cast<std::int64_t>(*first) - static_cast<std::int64_t>(x.rank()));
  m.SetAttribute("epsilon", static_cast<float>(*epsilon));
  if (m.Has("scale")) return true;
  Shape shape;
  for (std::size_t i = *first; i < x.rank(); ++i) shape.Append(x.dims[i].number());
  const std::vector<double> ones(static_cast<std::size_t>(ElementCount(shape, 0, shape.rank())), 1.0);
  m.SetConstant("scale", TensorOfFloats(x.dtype, shape, ones), "ones");
  return true;
}

// The core alone, or between a Cast that widens half precision and one back.
bool Normalizes(Match& m) {
  if (m.Has("narrowed") != m.Has("widened")) return false;
  const DType dtype = m.type("x").dtype;
  const bool half = (dtype == DType::kFloat16 || dtype == DType::kBFloat16) && m.type("narrowed").dtype == dtype;
  return (half || !m.Has("widened")) && NormalizesLastAxes(m);
}

bool KeepsLastAxis(Match& m) {
  const AttributeValue* attribute = m.node("t").FindAttribute("perm");
  const auto* perm = attribute == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(attribute);
  if (perm == nullptr || perm->empty() || perm->back() + 1 != static_cast<std::int64_t>(perm->size()))
    return m.No("the Transpose before it moves the last axis");
  const std::int64_t axis = IntAttribute(m.node("n"), "axis", -1);
  return axis == -1 || axis == perm->back() || m.No("expected only the last axis to be normalized, found axis ", axis);
}

// `z` is what is normalized, `d` what is divided.
constexpr char kParts[] =
    "core = narrowed:Cast?(quotient), z = widened:Cast?(x; to=1), "
    "quotient = y:(Div(d, root) | Mul(d, Pow(sum, -0.5) | Reciprocal(root) | Div(1, root))), "
    "root = Sqrt(sum) | Pow(sum, 0.5), "
    "sum = Add(e, ReduceMean(Pow(d, 2) | Mul(d, d), axes; keepdims=1))";

constexpr Rule kRules[] = {
    {.name = "LayerNormalization",
     .match = {"Add?(Mul?(core, scale), bias) where d = Sub(z, ReduceMean(z, axes; keepdims=1))", kParts},
     .replace = "LayerNormalization(x, scale, ?bias; axis=$axis, epsilon=$epsilon)",
     .when = Normalizes,
     .shares = true},
    {.name = "RMSNormalization",
     .match = {"Mul?(core, scale) where d = z", kParts},
     .replace = "RMSNormalization(x, scale; axis=$axis, epsilon=$epsilon)",
     .when = Normalizes,
     .shares = true},
    {.name = "Transpose before RMSNormalization",
     .match = "n:RMSNormalization(t:Transpose(x), scale)",
     .replace = "Transpose(RMSNormalization(x, scale; $n); $t)",
     .when = KeepsLastAxis},
    {.name = "Transpose before LayerNormalization",
     .match = "n:LayerNormalization(t:Transpose(x), scale, ?bias)",
     .replace = "Transpose(LayerNormalization(x, scale, ?bias; $n); $t)",
     .when = KeepsLastAxis},
};

}  // namespace

constinit const Pass kFuseLayerNorm = {.name = "fuse_layer_norm", .level = Level::kExtended, .rules = kRules};

}  // namespace sardonyx::optimizer
