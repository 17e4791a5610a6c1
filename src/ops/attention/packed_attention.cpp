// ops/attention/packed_attention.cpp - com.microsoft PackedAttention and PackedMultiHeadAttention: attention over
// sequences whose padding was removed. The pass expand_joined_operators makes them of padded attention. And the row of
// PagedAttention, which never had padding.
#include "ops/attention/paged_attention.h"
#include "ops/infer_context.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

void ExpectRank(const InferContext& c, std::size_t i, std::size_t rank, std::string_view shape) {
  if (c.HasRank(i) && c.Rank(i) != rank)
    c.Fail(Code::kInvalidArgument, c.InputText(i), ": expected ", shape, ", found ", c.InputType(i).ToText());
}

void CheckHeads(const InferContext& c) {
  if (c.Int("num_heads") < 1)
    c.Fail(Code::kInvalidArgument, "attribute 'num_heads': expected at least 1, found ", c.Int("num_heads"));
}

void InferPackedAttention(InferContext& c) {
  CheckHeads(c);
  ExpectRank(c, 0, 2, "[tokens, hidden]");
  ExpectRank(c, 1, 2, "[hidden, 3 * hidden]");
  ExpectRank(c, 3, 2, "[batch, sequence]");
  ExpectRank(c, 4, 1, "[batch + 1]");
  const std::vector<std::int64_t> sizes = c.Ints("qkv_hidden_sizes");
  if (!sizes.empty() && sizes.size() != 3) {
    c.Fail(Code::kInvalidArgument, "attribute 'qkv_hidden_sizes': expected 3 sizes, found ", sizes.size());
  }
  const Dim tokens = c.HasRank(0) ? c.InputDims(0)[0] : Dim();
  Dim hidden;
  if (!sizes.empty()) {
    hidden = Dim(sizes[2]);
  } else if (c.HasRank(1)) {
    hidden = FloorDiv(c.InputDims(1)[1], Dim(3));
  }
  c.SetOutput(0, c.InputDType(0), {tokens, hidden});
}

void InferPackedMultiHead(InferContext& c) {
  CheckHeads(c);
  ExpectRank(c, 4, 2, "[batch, sequence]");
  ExpectRank(c, 5, 1, "[batch + 1]");
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  const std::vector<Dim>& query = c.InputDims(0);
  const bool packed = !c.HasInput(1) && !c.HasInput(2);
  if (packed ? query.size() != 4 : query.size() != 2) {
    c.Fail(Code::kInvalidArgument, c.InputText(0), ": expected ",
           packed ? "[tokens, heads, 3, size] without a key and a value" : "[tokens, hidden] with a key and a value",
           ", found ", c.InputType(0).ToText());
  }
  if (!packed && (!c.HasInput(1) || !c.HasInput(2)))
    c.Fail(Code::kInvalidArgument, "expected a key and a value together, found only one");
  for (const std::size_t i : {1, 2})
    if (!packed) ExpectRank(c, i, 2, "[tokens, hidden]");
  const Dim hidden = packed ? query[1] * query[3] : c.HasRank(2) ? c.InputDims(2)[1] : Dim();
  c.SetOutput(0, c.InputDType(0), {query[0], hidden});
}

Prepared PreparePacked(PrepareContext& c) {
  c.Fail(Code::kNotImplemented,
         "expected the pass expand_joined_operators to have replaced this node; is it disabled, or does the model not "
         "say its inputs' ranks?");
}

constexpr OpDef Row(std::string_view name, InferFn* infer) {
  return {.domain = "com.microsoft",
          .name = name,
          .since = {1},
          .types = {DType::kFloat, DType::kFloat16},
          .infer = infer,
          .prepare = PreparePacked};
}

constexpr OpDef kPackedAttentionOps[] = {
    Row("PackedAttention", InferPackedAttention),
    Row("PackedMultiHeadAttention", InferPackedMultiHead),
    {.domain = "com.microsoft",
     .name = "PagedAttention",
     .since = {1},
     .types = {DType::kFloat16, DType::kBFloat16},
     .infer = InferPagedAttention,
     .prepare = PreparePagedAttention},
};

}  // namespace

std::span<const OpDef> PackedAttentionOps() { return kPackedAttentionOps; }

}  // namespace sardonyx::ops
