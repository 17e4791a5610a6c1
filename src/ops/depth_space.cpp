// ops/depth_space.cpp - DepthToSpace and SpaceToDepth: channels to blocks of pixels and back, as transposed copies.
#include "kernels/copy/strided_copy.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

struct BlockState {
  std::int64_t block;
  bool column_row;  // mode CRD: the channel comes before the position in the block
};

BlockState ReadBlock(const AttributeReader& c) {
  const std::int64_t block = c.Int("blocksize");
  if (block < 1) c.Fail(Code::kInvalidGraph, "attribute 'blocksize': expected at least 1, found ", block);
  const std::string mode = c.String("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") {
    c.Fail(Code::kInvalidGraph, "attribute 'mode': expected DCR or CRD, found '", mode, "'");
  }
  return {block, mode == "CRD"};
}

void CheckRank(std::size_t rank) {
  if (rank != 4) Fail(Code::kInvalidArgument, "expected an input [N, C, H, W], found rank ", rank);
}

void CheckDivides(std::int64_t size, std::int64_t by, const char* what) {
  if (size % by != 0) Fail(Code::kInvalidArgument, "expected ", what, " divisible by ", by, ", found ", size);
}

void InferDepthToSpace(InferContext& c) {
  const std::int64_t b = ReadBlock(c).block;
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0), std::vector<Dim>(4));
  CheckRank(c.Rank(0));
  const std::vector<Dim>& x = c.InputDims(0);
  if (x[1].known()) CheckDivides(x[1].number(), b * b, "channels");
  c.SetOutput(0, c.InputDType(0), {x[0], FloorDiv(x[1], Dim(b * b)), x[2] * Dim(b), x[3] * Dim(b)});
}

void RunDepthToSpace(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const auto [b, column_row] = c.state<BlockState>();
  CheckRank(x.rank());
  CheckDivides(x.shape[1], b * b, "channels");
  const std::int64_t n = x.shape[0], channels = x.shape[1] / (b * b), h = x.shape[2], w = x.shape[3], plane = h * w;
  const std::int64_t shape[] = {n, channels, h * b, w * b};
  const TensorRef& y = c.Output(0, shape);
  // The strides, in planes of the input, of the output's channel and of the row and column inside a block.
  const std::int64_t channel = column_row ? b * b : 1, row = column_row ? b : b * channels,
                     column = column_row ? 1 : channels;
  kernels::StridedLoops loops;
  loops.Add(n, x.shape[1] * plane, channels * h * b * w * b);
  loops.Add(channels, channel * plane, h * b * w * b);
  loops.Add(h, w, b * w * b);
  loops.Add(b, row * plane, w * b);
  loops.Add(w, 1, b);
  loops.Add(b, column * plane, 1);
  kernels::StridedCopy(x.dtype, loops, x.data, 0, y.data, 0, c.parallel());
}

void InferSpaceToDepth(InferContext& c) {
  const std::int64_t b = ReadBlock(c).block;
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0), std::vector<Dim>(4));
  CheckRank(c.Rank(0));
  const std::vector<Dim>& x = c.InputDims(0);
  if (x[2].known()) CheckDivides(x[2].number(), b, "height");
  if (x[3].known()) CheckDivides(x[3].number(), b, "width");
  c.SetOutput(0, c.InputDType(0), {x[0], x[1] * Dim(b * b), FloorDiv(x[2], Dim(b)), FloorDiv(x[3], Dim(b))});
}

void RunSpaceToDepth(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const auto [b, column_row] = c.state<BlockState>();
  CheckRank(x.rank());
  CheckDivides(x.shape[2], b, "height");
  CheckDivides(x.shape[3], b, "width");
  const std::int64_t n = x.shape[0], channels = x.shape[1], h = x.shape[2] / b, w = x.shape[3] / b, plane = h * w;
  const std::int64_t shape[] = {n, channels * b * b, h, w};
  const TensorRef& y = c.Output(0, shape);
  const std::int64_t in_plane = x.shape[2] * x.shape[3];
  const std::int64_t channel = column_row ? b * b : 1, row = column_row ? b : b * channels,
                     column = column_row ? 1 : channels;
  kernels::StridedLoops loops;
  loops.Add(n, channels * in_plane, channels * b * b * plane);
  loops.Add(b, x.shape[3], row * plane);
  loops.Add(b, 1, column * plane);
  loops.Add(channels, in_plane, channel * plane);
  loops.Add(h, b * x.shape[3], w);
  loops.Add(w, b, 1);
  kernels::StridedCopy(x.dtype, loops, x.data, 0, y.data, 0, c.parallel());
}

Prepared PrepareDepthToSpace(PrepareContext& c) { return WithState(RunDepthToSpace, ReadBlock(c)); }
Prepared PrepareSpaceToDepth(PrepareContext& c) { return WithState(RunSpaceToDepth, ReadBlock(c)); }

constexpr OpDef kDepthSpaceOps[] = {
    {.name = "DepthToSpace",
     .since = {1, 11, 13, 28},
     .types = kAllTypes,
     .infer = InferDepthToSpace,
     .prepare = PrepareDepthToSpace},
    {.name = "SpaceToDepth",
     .since = {1, 13, 28},
     .types = kAllTypes,
     .infer = InferSpaceToDepth,
     .prepare = PrepareSpaceToDepth},
};

}  // namespace

std::span<const OpDef> DepthSpaceOps() { return kDepthSpaceOps; }

}  // namespace sardonyx::ops
