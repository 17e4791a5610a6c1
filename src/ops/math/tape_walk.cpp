// ops/math/tape_walk.cpp - joins axes that all tensors go through alike.
#include "ops/math/tape_walk.h"

#include "base/error.h"

namespace sardonyx::ops {
namespace {

// Joins the innermost two axes where along the outer one each input goes on, stays at one number or begins again.
void JoinShortRows(std::size_t inputs, TapeWalk* walk) {
  if (walk->rank < 2 || 2 * walk->sizes[0] > kTapeBlock) return;
  std::array<std::int8_t, kMaxTapeInputs + 1> periodic;
  periodic.fill(-1);
  std::size_t count = 0;
  for (std::size_t k = 0; k <= inputs; ++k) {
    const std::int64_t inner = walk->strides[0][k], outer = walk->strides[1][k];
    if (outer == inner * walk->sizes[0]) continue;
    if (inner != 1 || outer != 0 || count == kMostPeriodic) return;
    periodic[k] = static_cast<std::int8_t>(count++);
  }
  walk->period = walk->sizes[0];
  walk->periodic = periodic;
  walk->sizes[0] *= walk->sizes[1];
  for (std::size_t axis = 1; axis + 1 < walk->rank; ++axis) {
    walk->sizes[axis] = walk->sizes[axis + 1];
    walk->strides[axis] = walk->strides[axis + 1];
  }
  --walk->rank;
}

}  // namespace

TapeWalk PlanTapeWalk(KernelContext& c, std::size_t inputs) {
  const Dims out = c.Output(0).shape;
  TapeWalk walk;
  walk.periodic.fill(-1);
  Places step;
  step.fill(1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t size = out[out.size() - 1 - i];
    Places stride = {};
    bool joins = walk.rank > 0;
    for (std::size_t k = 0; k <= inputs; ++k) {
      const Dims shape = k < inputs ? c.Input(k).shape : out;
      const std::int64_t pitch = k < inputs ? c.Input(k).pitch : c.Output(0).pitch;
      const std::int64_t mine = i < shape.size() ? shape[shape.size() - 1 - i] : 1;
      if (mine != 1 && mine != size)
        Fail(Code::kInvalidArgument, "expected inputs that broadcast to ", ToText(out), ", found ", ToText(shape));
      stride[k] = mine == 1 ? 0 : step[k];
      step[k] *= i == 0 && pitch != 0 ? pitch : mine;  // rows may lie apart
      joins = joins && stride[k] == walk.strides[walk.rank - 1][k] * walk.sizes[walk.rank - 1];
    }
    if (size == 1) continue;
    if (joins) {
      walk.sizes[walk.rank - 1] *= size;
      continue;
    }
    walk.sizes[walk.rank] = size;
    walk.strides[walk.rank++] = stride;
  }
  if (walk.rank == 0) {
    walk.sizes[0] = 1;
    walk.strides[0] = {};
    walk.rank = 1;
  }
  JoinShortRows(inputs, &walk);
  return walk;
}

}  // namespace sardonyx::ops
