// optimizer/passes/quantization/fuse_conv_quantized_sum.cpp - a channels-last QLinearConv and the QLinearAdd that is
// its only reader become ai.sardonyx QLinearConvAdd: the sum is computed while the convolution's results are at hand,
// without another pass over memory.
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

// Constants of one element with the same value.
bool SameScalar(const Match& m, std::string_view a, std::string_view b) {
  if (m.constant(a) == nullptr || m.constant(b) == nullptr) return m.value(a) == m.value(b);
  const auto first = m.scalar(a), second = m.scalar(b);
  return first && second && *first == *second && m.type(a).dtype == m.type(b).dtype;
}

// The kernels that can add: channels last on both sides, more than one channel a group.
bool Adds(Match& m) {
  const Node& conv = m.node("y");
  if (IntAttribute(conv, "channels_first_input", 0) != 0 || IntAttribute(conv, "channels_first_output", 0) != 0)
    return m.No("the convolution has its channels first");
  const Type &w = m.type("w"), &y = m.type("y"), &z = m.type("z");
  const bool grouped = IntAttribute(conv, "group", 1) != 1;
  if (grouped && !(w.has_rank && w.rank() > 2 && w.dims[1].known() && w.dims[1].number() > 1)) return false;
  if (m.value("z") == m.value("y") || y.dtype != z.dtype || !SameDims(y, z))
    return m.No("expected another summand ", y.ToText(), ", found ", z.ToText());
  return (SameScalar(m, "own_scale", "y_scale") && SameScalar(m, "own_zero", "y_zero")) ||
         m.No("the QLinearAdd reads it with another scale or zero point than it is made with");
}

constexpr char kConv[] =
    "conv = y:com.ms.internal.nhwc.QLinearConv(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, ?b)";

// In the order of the summands: another one rounds otherwise.
constexpr Rule kRules[] = {
    {.name = "second summand",
     .match = {"com.microsoft.QLinearAdd(z, z_scale, z_zero, conv, own_scale, own_zero, scale, zero)", kConv},
     .replace = "ai.sardonyx.QLinearConvAdd(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, ?b, "
                "z, z_scale, z_zero, scale, zero; $y, z_first=1)",
     .when = Adds},
    {.name = "first summand",
     .match = {"com.microsoft.QLinearAdd(conv, own_scale, own_zero, z, z_scale, z_zero, scale, zero)", kConv},
     .replace = "ai.sardonyx.QLinearConvAdd(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, ?b, "
                "z, z_scale, z_zero, scale, zero; $y)",
     .when = Adds},
};

}  // namespace

constinit const Pass kFuseConvQuantizedSum = {
    .name = "fuse_conv_quantized_sum", .level = Level::kLayout, .rules = kRules};

}  // namespace sardonyx::optimizer
