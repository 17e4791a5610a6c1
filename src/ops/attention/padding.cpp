// ops/attention/padding.cpp - com.microsoft RemovePadding and RestorePadding: the tokens of padded sequences one behind
// the other, and back.
//
// token_offset [batch, sequence] counts positions of the padded batch: first those of all tokens in order, then those
// of the padding.
#include <algorithm>

#include "kernels/copy/strided_copy.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

void ExpectRank(const InferContext& c, std::size_t i, std::size_t rank, std::string_view shape) {
  if (c.HasRank(i) && c.Rank(i) != rank)
    c.Fail(Code::kInvalidArgument, c.InputText(i), ": expected ", shape, ", found ", c.InputType(i).ToText());
}

void InferRemovePadding(InferContext& c) {
  ExpectRank(c, 0, 3, "[batch, sequence, hidden]");
  ExpectRank(c, 1, 1, "[batch]");
  const std::vector<Dim> x = c.HasRank(0) ? c.InputDims(0) : std::vector<Dim>(3);
  c.SetOutput(0, c.InputDType(0), {Dim(), x[2]});
  if (c.HasOutput(1)) c.SetOutput(1, DType::kInt32, {x[0], x[1]});
  if (c.HasOutput(2)) c.SetOutput(2, DType::kInt32, {x[0] + Dim(1)});
  if (c.HasOutput(3)) c.SetOutput(3, DType::kInt32, {Dim(1)});
}

void RunRemovePadding(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  if (x.rank() != 3 || c.Input(1).count != x.shape[0]) {
    Fail(Code::kInvalidArgument,
         "expected an input [batch, sequence, hidden] and a number of tokens for each sequence,", " found ",
         ToText(x.shape), " and ", ToText(c.Input(1).shape));
  }
  const std::int64_t batch = x.shape[0], length = x.shape[1], hidden = x.shape[2];
  const Shape counts = IntsOf(c.Input(1));
  std::int64_t total = 0, most = 0;
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t count = counts[static_cast<std::size_t>(b)];
    if (count < 0 || count > length)
      Fail(Code::kInvalidArgument, "expected 0 to ", length, " tokens in a sequence, found ", count, " in sequence ",
           b);
    total += count;
    most = std::max(most, count);
  }
  const std::int64_t shape[] = {total, hidden}, offsets_shape[] = {batch, length}, sums_shape[] = {batch + 1},
                     one[] = {1};
  const OutputRef y = c.Output(0, shape);
  std::int32_t* offsets = c.HasOutput(1) ? c.Output(1, offsets_shape).As<std::int32_t>() : nullptr;
  std::int32_t* sums = c.HasOutput(2) ? c.Output(2, sums_shape).As<std::int32_t>() : nullptr;
  if (c.HasOutput(3)) *c.Output(3, one).As<std::int32_t>() = static_cast<std::int32_t>(most);
  std::int64_t token = 0, padding = total;
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t count = counts[static_cast<std::size_t>(b)];
    kernels::CopyElements(x.dtype, x.data, b * length * hidden, y.data, token * hidden, count * hidden);
    if (sums != nullptr) sums[b] = static_cast<std::int32_t>(token);
    for (std::int64_t i = 0; offsets != nullptr && i < length; ++i)
      offsets[i < count ? token + i : padding + i - count] = static_cast<std::int32_t>(b * length + i);
    token += count;
    padding += length - count;
  }
  if (sums != nullptr) sums[batch] = static_cast<std::int32_t>(total);
}

Prepared PrepareRemovePadding(PrepareContext&) { return {RunRemovePadding, nullptr}; }

void InferRestorePadding(InferContext& c) {
  ExpectRank(c, 0, 2, "[tokens, hidden]");
  ExpectRank(c, 1, 2, "[batch, sequence]");
  const std::vector<Dim> x = c.HasRank(0) ? c.InputDims(0) : std::vector<Dim>(2);
  const std::vector<Dim> offsets = c.HasRank(1) ? c.InputDims(1) : std::vector<Dim>(2);
  c.SetOutput(0, c.InputDType(0), {offsets[0], offsets[1], x[1]});
}

void RunRestorePadding(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const TensorRef& offsets = c.Input(1);
  if (x.rank() != 2 || offsets.rank() != 2 || x.shape[0] > offsets.count) {
    Fail(Code::kInvalidArgument, "expected tokens [tokens, hidden] and token_offset [batch, sequence] of at least as ",
         "many, found ", ToText(x.shape), " and ", ToText(offsets.shape));
  }
  const std::int64_t tokens = x.shape[0], hidden = x.shape[1];
  const std::int64_t shape[] = {offsets.shape[0], offsets.shape[1], hidden};
  const OutputRef y = c.Output(0, shape);
  std::fill_n(y.As<char>(), y.byte_size(), char{0});
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::int64_t at = offsets.As<std::int32_t>()[t];
    if (at < 0 || at >= offsets.count)
      Fail(Code::kInvalidArgument, "expected offsets in [0, ", offsets.count, "), found ", at, " for token ", t);
    kernels::CopyElements(x.dtype, x.data, t * hidden, y.data, at * hidden, hidden);
  }
}

Prepared PrepareRestorePadding(PrepareContext&) { return {RunRestorePadding, nullptr}; }

constexpr OpDef kPaddingOps[] = {
    {.domain = "com.microsoft",
     .name = "RemovePadding",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16},
     .infer = InferRemovePadding,
     .prepare = PrepareRemovePadding,
     .cost = CountNothing,
     .traits = kSizedByElements},
    {.domain = "com.microsoft",
     .name = "RestorePadding",
     .since = {1},
     .types = {DType::kFloat, DType::kFloat16},
     .infer = InferRestorePadding,
     .prepare = PrepareRestorePadding,
     .cost = CountNothing},
};

}  // namespace

std::span<const OpDef> PaddingOps() { return kPaddingOps; }

}  // namespace sardonyx::ops
