// ops/nn/nchwc.cpp - com.microsoft.nchwc: ONNX Runtime's operators on images in blocks of channels, which models have
// that it saved at optimization level `all`.
//
// Blocked tensors [N, C / block, H, W, block] say that their shape is [N, C, H, W]. A session replaces these operators
// by those of ONNX when it loads the model (planner/layout/channel_blocks.h), so they have shapes here and no kernels.
#include "ops/infer_context.h"
#include "ops/nn/infer_images.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

void CheckImage(const InferContext& c) {
  if (c.HasRank(0) && c.Rank(0) != 4)
    c.Fail(Code::kInvalidArgument, c.InputText(0), ": expected 4 dimensions, found ", c.InputType(0).ToText());
}

// How many channels fill the last block, the size of the blocks alone would tell.
void InferReorderInput(InferContext& c) {
  CheckImage(c);
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  const std::vector<Dim>& x = c.InputDims(0);
  const std::size_t first = c.Flag("channels_last") ? 1 : 2;
  c.SetOutput(0, c.InputDType(0), {x[0], Dim(), x[first], x[first + 1]});
}

void InferReorderOutput(InferContext& c) {
  CheckImage(c);
  const std::int64_t channels = c.Int("channels", 0);
  if (channels < 1) c.Fail(Code::kInvalidArgument, "attribute 'channels': expected at least 1, found ", channels);
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  const std::vector<Dim>& x = c.InputDims(0);
  if (c.Flag("channels_last")) return c.SetOutput(0, c.InputDType(0), {x[0], x[2], x[3], Dim(channels)});
  c.SetOutput(0, c.InputDType(0), {x[0], Dim(channels), x[2], x[3]});
}

void InferUpsample(InferContext& c) {
  CheckImage(c);
  const std::vector<std::int64_t> scales = c.Ints("scales");
  if (!scales.empty() && scales.size() != 4)
    c.Fail(Code::kInvalidArgument, "attribute 'scales': expected 4 values, found ", scales.size());
  for (const std::int64_t scale : scales)
    if (scale < 1) c.Fail(Code::kInvalidArgument, "attribute 'scales': expected numbers of at least 1, found ", scale);
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = c.InputDims(0);
  for (std::size_t i = 0; i < scales.size(); ++i) dims[i] = dims[i] * Dim(scales[i]);
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

Prepared PrepareBlocked(PrepareContext& c) {
  c.Fail(Code::kNotImplemented, "expected the node in a model, where loading replaces it; it has no kernel of its own");
}

constexpr OpDef Row(std::string_view name, InferFn* infer) {
  return {.domain = "com.microsoft.nchwc",
          .name = name,
          .since = {1},
          .types = {DType::kFloat},
          .infer = infer,
          .prepare = PrepareBlocked,
          .traits = kNoFold};
}

constexpr OpDef kNchwcOps[] = {
    Row("AveragePool", InferPool),
    Row("Conv", InferConv),
    Row("GlobalAveragePool", InferGlobalPool),
    Row("GlobalMaxPool", InferGlobalPool),
    Row("MaxPool", InferPool),
    Row("ReorderInput", InferReorderInput),
    Row("ReorderOutput", InferReorderOutput),
    Row("Upsample", InferUpsample),
};

}  // namespace

std::span<const OpDef> NchwcOps() { return kNchwcOps; }

}  // namespace sardonyx::ops
