// ops/tensor/depth_space.cpp - DepthToSpace and SpaceToDepth: channels to blocks of pixels and back, as transposed
// copies.
#include <limits>

#include "kernels/copy/strided_copy.h"
#include "ops/channels_last.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"
#include "ops/shapes/layout_images.h"
#include "ops/shapes/sizes.h"

namespace sardonyx::ops {
namespace {

struct BlockState {
  std::int64_t block;
  bool column_row;  // mode CRD: the channel comes before the position in the block
  bool channels_last;
};

BlockState ReadBlock(const AttributeReader& c) {
  const std::int64_t block = c.Int("blocksize");
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();  // its square is a number of channels
  if (block < 1 || block > kMost)
    c.Fail(Code::kInvalidGraph, "attribute 'blocksize': expected 1 to ", kMost, ", found ", block);
  const std::string mode = c.String("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") {
    c.Fail(Code::kInvalidGraph, "attribute 'mode': expected DCR or CRD, found '", mode, "'");
  }
  return {block, mode == "CRD", IsChannelsLast(c)};
}

void CheckRank(std::size_t rank) {
  if (rank != 4) Fail(Code::kInvalidArgument, "expected an input [N, C, H, W], found rank ", rank);
}

void CheckDivides(std::int64_t size, std::int64_t by, const char* what) {
  if (size % by != 0) Fail(Code::kInvalidArgument, "expected ", what, " divisible by ", by, ", found ", size);
}

void InferDepthToSpace(InferContext& c) {
  const BlockState state = ReadBlock(c);
  const std::int64_t b = state.block;
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0), std::vector<Dim>(4));
  CheckRank(c.Rank(0));
  const std::vector<Dim> x = ToChannelsFirst(c.InputType(0), state.channels_last).dims;
  if (x[1].known()) CheckDivides(x[1].number(), b * b, "channels");
  std::vector<Dim> dims = {x[0], FloorDiv(x[1], Dim(b * b)), x[2] * Dim(b), x[3] * Dim(b)};
  c.SetOutput(0, c.InputDType(0), FromChannelsFirst(std::move(dims), state.channels_last));
}

// Channel strides, in channels of the deep image, of the flat image's channel and of the row and column in a block.
struct BlockStrides {
  BlockStrides(const BlockState& state, std::int64_t channels)
      : channel(state.column_row ? state.block * state.block : 1),
        row(state.column_row ? state.block : state.block * channels),
        column(state.column_row ? 1 : channels) {}
  std::int64_t channel, row, column;
};

void RunDepthToSpace(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const auto& state = c.state<BlockState>();
  const std::int64_t b = state.block;
  CheckRank(x.rank());
  const Shape in = ToChannelsFirst(x.shape, state.channels_last);
  CheckDivides(in[1], b * b, "channels");
  const std::int64_t n = in[0], channels = in[1] / (b * b), h = in[2], w = in[3];
  const std::int64_t rows = Times(h, b), columns = Times(w, b);
  const std::int64_t first[] = {n, channels, rows, columns}, last[] = {n, rows, columns, channels};
  const OutputRef y = c.Output(0, state.channels_last ? last : first);
  if (y.count == 0) return;
  const std::int64_t plane = h * w;
  const BlockStrides deep(state, channels);
  kernels::StridedLoops loops;
  if (state.channels_last) {
    loops.Add(n * h, w * in[1], b * w * b * channels);
    loops.Add(b, deep.row, w * b * channels);
    loops.Add(w, in[1], b * channels);
    loops.Add(b, deep.column, channels);
    loops.Add(channels, deep.channel, 1);
  } else {
    loops.Add(n, in[1] * plane, channels * h * b * w * b);
    loops.Add(channels, deep.channel * plane, h * b * w * b);
    loops.Add(h, w, b * w * b);
    loops.Add(b, deep.row * plane, w * b);
    loops.Add(w, 1, b);
    loops.Add(b, deep.column * plane, 1);
  }
  kernels::StridedCopy(x.dtype, loops, x.data, 0, y.data, 0, c.parallel());
}

void InferSpaceToDepth(InferContext& c) {
  const BlockState state = ReadBlock(c);
  const std::int64_t b = state.block;
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0), std::vector<Dim>(4));
  CheckRank(c.Rank(0));
  const std::vector<Dim> x = ToChannelsFirst(c.InputType(0), state.channels_last).dims;
  if (x[2].known()) CheckDivides(x[2].number(), b, "height");
  if (x[3].known()) CheckDivides(x[3].number(), b, "width");
  std::vector<Dim> dims = {x[0], x[1] * Dim(b * b), FloorDiv(x[2], Dim(b)), FloorDiv(x[3], Dim(b))};
  c.SetOutput(0, c.InputDType(0), FromChannelsFirst(std::move(dims), state.channels_last));
}

void RunSpaceToDepth(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const auto& state = c.state<BlockState>();
  const std::int64_t b = state.block;
  CheckRank(x.rank());
  const Shape in = ToChannelsFirst(x.shape, state.channels_last);
  CheckDivides(in[2], b, "height");
  CheckDivides(in[3], b, "width");
  const std::int64_t n = in[0], channels = in[1], h = in[2] / b, w = in[3] / b;
  const std::int64_t deep_channels = Times(channels, b * b);
  const std::int64_t first[] = {n, deep_channels, h, w}, last[] = {n, h, w, deep_channels};
  const OutputRef y = c.Output(0, state.channels_last ? last : first);
  if (y.count == 0) return;
  const std::int64_t plane = h * w, in_plane = in[2] * in[3];
  const BlockStrides deep(state, channels);
  kernels::StridedLoops loops;
  if (state.channels_last) {
    loops.Add(n * h, b * in[3] * channels, w * deep_channels);
    loops.Add(w, b * channels, deep_channels);
    loops.Add(b, in[3] * channels, deep.row);
    loops.Add(b, channels, deep.column);
    loops.Add(channels, 1, deep.channel);
  } else {
    loops.Add(n, channels * in_plane, deep_channels * plane);
    loops.Add(b, in[3], deep.row * plane);
    loops.Add(b, 1, deep.column * plane);
    loops.Add(channels, in_plane, deep.channel * plane);
    loops.Add(h, b * in[3], w);
    loops.Add(w, b, 1);
  }
  kernels::StridedCopy(x.dtype, loops, x.data, 0, y.data, 0, c.parallel());
}

Prepared PrepareDepthToSpace(PrepareContext& c) { return WithState(RunDepthToSpace, ReadBlock(c)); }
Prepared PrepareSpaceToDepth(PrepareContext& c) { return WithState(RunSpaceToDepth, ReadBlock(c)); }

constexpr OpDef Row(std::string_view domain, std::string_view name, Few<int> since, InferFn* infer, PrepareFn* prepare,
                    const LayoutDef* layout = nullptr) {
  return {.domain = domain,
          .name = name,
          .since = since,
          .types = kAllTypes,
          .infer = infer,
          .prepare = prepare,
          .cost = CountNothing,
          .layout = layout,
          .traits = kMovesElements};
}

constexpr OpDef kDepthSpaceOps[] = {
    Row("", "DepthToSpace", {1, 11, 13, 28}, InferDepthToSpace, PrepareDepthToSpace, &kMovedLayout),
    Row("", "SpaceToDepth", {1, 13, 28}, InferSpaceToDepth, PrepareSpaceToDepth, &kMovedLayout),
    Row(kChannelsLastDomain, "DepthToSpace", {1}, InferDepthToSpace, PrepareDepthToSpace),
    Row(kChannelsLastDomain, "SpaceToDepth", {1}, InferSpaceToDepth, PrepareSpaceToDepth),
};

}  // namespace

std::span<const OpDef> DepthSpaceOps() { return kDepthSpaceOps; }

}  // namespace sardonyx::ops
