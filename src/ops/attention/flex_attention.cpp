// ops/attention/flex_attention.cpp - ai.onnx.preview.FlexAttention: attention whose scores and probabilities go through
// graphs that the model brings. It has no kernel: the pass expand_flex_attention turns it into products, Softmax and
// the nodes of these graphs, which other passes fuse where they know them.
#include "ops/shapes/flex_attention.h"

#include "ops/infer_context.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

// Two dimensions that must be the same.
void CheckSame(const InferContext& c, std::size_t a, std::size_t b, std::size_t axis, const char* what) {
  if (!c.HasRank(a) || !c.HasRank(b)) return;
  const Dim &x = c.InputDims(a)[axis], &y = c.InputDims(b)[axis];
  if (x.known() && y.known() && x.number() != y.number())
    c.Fail(Code::kInvalidArgument, "expected inputs ", a, " and ", b, " with the same ", what, " (axis ", axis,
           "), found ", x.number(), " and ", y.number());
}

void Check(const InferContext& c) {
  for (std::size_t i = 0; i < 3; ++i)
    if (c.HasRank(i) && c.Rank(i) != 4)
      c.Fail(Code::kInvalidArgument, "input ", i, ": expected rank 4 (batch, heads, length, size), found ",
             c.InputType(i).ToText());
  CheckSame(c, 0, 1, 0, "batch");
  CheckSame(c, 1, 2, 0, "batch");
  CheckSame(c, 0, 1, 3, "head size");
  CheckSame(c, 1, 2, 1, "heads");
  CheckSame(c, 1, 2, 2, "length");
  if (!c.HasRank(0) || !c.HasRank(1)) return;
  const Dim &heads = c.InputDims(0)[1], &kv_heads = c.InputDims(1)[1];
  if (heads.known() && kv_heads.known() && (kv_heads.number() == 0 || heads.number() % kv_heads.number() != 0))
    c.Fail(Code::kInvalidArgument, "expected heads of input 0 that the heads of input 1 divide, found ", heads.number(),
           " and ", kv_heads.number());
}

void InferFlexAttention(InferContext& c) {
  Check(c);
  const DType dtype = c.InputDType(0);
  std::vector<Dim> sizes(4);
  for (std::size_t i = 0; i < 3; ++i)
    if (c.HasRank(0)) sizes[i] = c.InputDims(0)[i];
  if (c.HasRank(1)) sizes[3] = c.InputDims(1)[2];
  Type scores;
  if (dtype != DType::kUndefined) scores = Type::TensorOf(FlexAttentionPrecision(c, dtype), std::move(sizes));
  for (const char* name : {"score_mod", "prob_mod"}) {
    if (!c.Has(name)) continue;
    const std::vector<Type> results = c.InferSubgraph(name, std::span(&scores, 1));
    if (results.size() != 1)
      c.Fail(Code::kInvalidGraph, "attribute '", name, "': expected a graph with one output, found ", results.size());
    if (results[0].is_none()) continue;
    if (!results[0].is_tensor() || results[0].dtype != scores.dtype)
      c.Fail(Code::kInvalidGraph, "attribute '", name, "': expected an output of type ", scores.ToText(), ", found ",
             results[0].ToText());
  }
  std::vector<Dim> dims(4);
  for (std::size_t i = 0; i < 3; ++i)
    if (c.HasRank(0)) dims[i] = c.InputDims(0)[i];
  if (c.HasRank(2)) dims[3] = c.InputDims(2)[3];
  c.SetOutput(0, dtype, std::move(dims));
}

Prepared PrepareFlexAttention(PrepareContext& c) {
  c.Fail(Code::kNotImplemented, "expected the pass expand_flex_attention to have replaced this node; is it disabled?");
}

constexpr OpDef kFlexAttentionOps[] = {
    {.domain = "ai.onnx.preview",
     .name = "FlexAttention",
     .since = {1},
     .types = kIeeeFloats,
     .infer = InferFlexAttention,
     .prepare = PrepareFlexAttention},
};

}  // namespace

std::span<const OpDef> FlexAttentionOps() { return kFlexAttentionOps; }

}  // namespace sardonyx::ops
