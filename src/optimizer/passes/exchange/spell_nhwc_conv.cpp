// optimizer/passes/exchange/spell_nhwc_conv.cpp - convolutions of images become com.microsoft NhwcConv, which reads and
// writes channels last, between two transpositions. Those between neighbours cancel (merge_views). It runs only where a
// model is made for it.
#include "optimizer/passes/exchange/exchange_passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

bool ConvolvesImages(Match& m) {
  const Type &x = m.type("x"), &w = m.type("w");
  if (m.constant("w") == nullptr || !w.has_rank || w.rank() != 4)
    return m.No("expected constant weights [M, C, H, W], found ", w.ToText());
  if (x.dtype != DType::kFloat && x.dtype != DType::kFloat16)
    return m.No("ONNX Runtime's operator takes float and float16, found ", Name(x.dtype));
  return true;
}

// What the weights' transposition is folded to are the weights [M, H, W, C].
constexpr Rule kNhwcConv[] = {
    {.name = "images",
     .match = "y:Conv(x, w, ?bias)",
     .replace = "Transpose(com.microsoft.NhwcConv(Transpose(x; perm=[0, 2, 3, 1]), Transpose(w; perm=[0, 2, 3, 1]), "
                "?bias; $y); perm=[0, 3, 1, 2])",
     .when = ConvolvesImages},
};

// merge_views looks at whole chains, which may have sizes that only a run knows; these two it leaves then.
constexpr Rule kNeighbours[] = {
    {.name = "there and back",
     .match = "Transpose(Transpose(x; perm=[0, 3, 1, 2]); perm=[0, 2, 3, 1])",
     .replace = "x"},
};

}  // namespace

constinit const Pass kSpellNhwcConv = {.name = "spell_nhwc_conv", .level = Level::kExtended, .rules = kNhwcConv};
constinit const Pass kConnectNhwcConv = {.name = "spell_nhwc_conv", .level = Level::kExtended, .rules = kNeighbours};

}  // namespace sardonyx::optimizer
