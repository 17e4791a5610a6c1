// optimizer/passes/exchange/spell_operators.cpp - activations and normalizations as ONNX Runtime's operators.
#include "optimizer/passes/exchange/exchange_passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

// A vector along the last axis that no node makes.
bool IsBias(Match& m) {
  const Type &x = m.type("x"), &bias = m.type("bias");
  if (!x.has_rank || x.rank() < 1 || !bias.has_rank || bias.rank() != 1 || !SameDim(bias.dims[0], x.dims.back()))
    return m.No("expected a vector along the last axis of ", x.ToText(), ", found ", bias.ToText());
  return m.graph().value(m.value("bias")).producer == kNoNode || m.No("its bias is computed");
}

bool IsBiasOfHalfOrFloat(Match& m) {
  const DType dtype = m.type("x").dtype;
  if (dtype != DType::kFloat && dtype != DType::kFloat16)
    return m.No("ONNX Runtime's operator takes float and float16, found ", Name(dtype));
  return IsBias(m);
}

constexpr Rule kBiasGelu[] = {
    {.name = "Gelu",
     .match = "Gelu(Add(x, bias); approximate=\"none\") | com.microsoft.Gelu(Add(x, bias))",
     .replace = "com.microsoft.BiasGelu(x, bias)",
     .when = IsBiasOfHalfOrFloat},
    {.name = "tanh",
     .match = "Gelu(Add(x, bias); approximate=\"tanh\") | com.microsoft.FastGelu(Add(x, bias))",
     .replace = "com.microsoft.FastGelu(x, bias)",
     .when = IsBiasOfHalfOrFloat},
};

constexpr Rule kGelu[] = {
    {.name = "Gelu", .match = "Gelu(x; approximate=\"none\")", .replace = "com.microsoft.Gelu(x)"},
    {.name = "tanh", .match = "Gelu(x; approximate=\"tanh\")", .replace = "com.microsoft.FastGelu(x)"},
};

constexpr Rule kGemmFastGelu[] = {
    {.name = "product",
     .match = "com.microsoft.FastGelu(MatMul(x, w), ?bias)",
     .replace = "com.microsoft.GemmFastGelu(x, w, ?bias)"},
};

constexpr Rule kNormalization[] = {
    {.name = "root mean square",
     .match = "RMSNormalization(x, scale; axis=$axis, epsilon=$epsilon, stash_type=1)",
     .replace = "SimplifiedLayerNormalization(x, scale; axis=$axis, epsilon=$epsilon, stash_type=1)"},
};

}  // namespace

constinit const Pass kFuseBiasGelu = {.name = "fuse_bias_gelu", .level = Level::kExtended, .rules = kBiasGelu};
constinit const Pass kSpellGelu = {.name = "spell_gelu", .level = Level::kExtended, .rules = kGelu};
constinit const Pass kFuseGemmFastGelu = {
    .name = "fuse_gemm_fast_gelu", .level = Level::kExtended, .rules = kGemmFastGelu};
constinit const Pass kSpellNormalization = {
    .name = "spell_normalization", .level = Level::kExtended, .rules = kNormalization};

}  // namespace sardonyx::optimizer
