// ops/quantized/joined_nbits.cpp - com.microsoft MatMulNBitsMlp and MatMulNBitsQkv: a normalization and the products
// behind it. The pass expand_joined_operators makes them of MatMulNBits.
#include "ops/infer_context.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::size_t kA = 0, kSkip = 1, kNorm = 2;

// The input with its last size changed to n.
void SetProduct(InferContext& c, std::size_t output, std::int64_t n) {
  if (!c.HasOutput(output)) return;
  if (!c.HasRank(kA)) return c.SetOutput(output, c.InputDType(kA));
  std::vector<Dim> dims = c.InputDims(kA);
  if (dims.empty()) c.Fail(Code::kInvalidArgument, c.InputText(kA), ": expected at least rank 1, found a scalar");
  const std::int64_t k = c.Int("K");
  if (dims.back().known() && dims.back().number() != k)
    c.Fail(Code::kInvalidArgument, c.InputText(kA), ": expected ", k, " columns, found ", c.InputType(kA).ToText());
  dims.back() = Dim(n);
  c.SetOutput(output, c.InputDType(kA), std::move(dims));
}

void SetSum(InferContext& c, std::size_t output) {
  if (!c.HasOutput(output)) return;
  if (!c.HasInput(kSkip))
    c.Fail(Code::kInvalidArgument, "expected input 'skip' with the output of the sum, found none");
  c.SetOutputType(output, c.InputType(kA));
}

void InferMlp(InferContext& c) {
  const std::string activation = c.String("activation");
  if (activation != "silu")
    c.Fail(Code::kNotImplemented, "attribute 'activation': expected silu, found '", activation, "'");
  if (c.HasInput(kSkip) && !c.HasInput(kNorm))
    c.Fail(Code::kInvalidArgument, "expected input 'norm_scale' with input 'skip', found none");
  SetProduct(c, 0, c.Int("N"));
  SetSum(c, 1);
}

void InferQkv(InferContext& c) {
  SetProduct(c, 0, c.Int("Nq"));
  SetProduct(c, 1, c.Int("Nkv"));
  SetProduct(c, 2, c.Int("Nkv"));
  SetSum(c, 3);
}

Prepared PrepareJoined(PrepareContext& c) {
  c.Fail(Code::kNotImplemented,
         "expected the pass expand_joined_operators to have replaced this node; is it disabled?");
}

constexpr OpDef Row(std::string_view name, InferFn* infer) {
  return {.domain = "com.microsoft",
          .name = name,
          .since = {1},
          .types = {DType::kFloat, DType::kFloat16, DType::kBFloat16},
          .infer = infer,
          .prepare = PrepareJoined};
}

constexpr OpDef kJoinedNBitsOps[] = {Row("MatMulNBitsMlp", InferMlp), Row("MatMulNBitsQkv", InferQkv)};

}  // namespace

std::span<const OpDef> JoinedNBitsOps() { return kJoinedNBitsOps; }

}  // namespace sardonyx::ops
