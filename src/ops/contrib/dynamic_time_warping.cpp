// ops/contrib/dynamic_time_warping.cpp - com.microsoft.DynamicTimeWarping: the cheapest path through a matrix of costs,
// from its first element to its last.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

void InferWarping(InferContext& c) {
  if (c.HasRank(0)) {
    const std::vector<Dim>& dims = c.InputDims(0);
    const bool one = dims.size() == 3 && (!dims[0].known() || dims[0].number() == 1);
    if (dims.size() != 2 && !one)
      c.Fail(Code::kInvalidArgument, c.InputText(0), ": expected [M, N] or [1, M, N], found ", c.InputType(0).ToText());
  }
  c.SetOutput(0, DType::kInt32, {Dim(2), Dim()});
}

enum Step : std::uint8_t { kBoth, kRow, kColumn };  // what goes back by one

// Where the path came from for each element. Of equal costs the step along the row wins, as in ONNX Runtime.
void FindSteps(const float* cost, std::int64_t rows, std::int64_t columns, float* sums, Step* steps) {
  constexpr float kNever = std::numeric_limits<float>::infinity();
  float *above = sums, *here = sums + columns + 1;
  std::fill_n(above, columns + 1, kNever);
  above[0] = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    here[0] = kNever;
    for (std::int64_t j = 0; j < columns; ++j) {
      const float both = above[j], row = above[j + 1], column = here[j];
      const Step step = both < row && both < column ? kBoth : row < both && row < column ? kRow : kColumn;
      here[j + 1] = (step == kBoth ? both : step == kRow ? row : column) + cost[i * columns + j];
      steps[i * columns + j] = step;
    }
    std::swap(above, here);
  }
}

void RunWarping(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  if (x.rank() != 2 && !(x.rank() == 3 && x.dim(0) == 1))
    Fail(Code::kInvalidArgument, "expected [M, N] or [1, M, N], found shape ", ToText(x.shape));
  const std::int64_t rows = x.dim(x.rank() - 2), columns = x.dim(x.rank() - 1);
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (rows > kMost || columns > kMost)
    Fail(Code::kInvalidArgument, "expected indices that fit into int32, found shape ", ToText(x.shape));
  ScratchLayout layout;
  const std::size_t sums_at = layout.Add<float>(2 * static_cast<std::size_t>(columns + 1));
  const std::size_t steps_at = layout.Add(static_cast<std::size_t>(x.count));
  const std::size_t path_at = layout.Add<std::int32_t>(2 * static_cast<std::size_t>(rows + columns));
  std::byte* block = c.Scratch(layout.bytes());
  auto* steps = static_cast<Step*>(static_cast<void*>(block + steps_at));
  auto* path = static_cast<std::int32_t*>(static_cast<void*>(block + path_at));
  FindSteps(x.As<float>(), rows, columns, static_cast<float*>(static_cast<void*>(block + sums_at)), steps);
  std::int64_t length = 0;
  for (std::int64_t i = rows - 1, j = columns - 1; i >= 0 && j >= 0; ++length) {
    path[2 * length] = static_cast<std::int32_t>(i), path[2 * length + 1] = static_cast<std::int32_t>(j);
    const Step step = steps[i * columns + j];
    if (step != kColumn) --i;
    if (step != kRow) --j;
  }
  const std::int64_t shape[] = {2, length};
  std::int32_t* y = c.Output(0, shape).As<std::int32_t>();
  for (std::int64_t k = 0; k < 2 * length; ++k) y[k] = path[2 * (length - 1 - k % length) + k / length];
}

Prepared PrepareWarping(PrepareContext&) { return {RunWarping, nullptr}; }

constexpr OpDef kDynamicTimeWarpingOps[] = {
    {.domain = "com.microsoft",
     .name = "DynamicTimeWarping",
     .since = {1},
     .types = {DType::kFloat},
     .infer = InferWarping,
     .prepare = PrepareWarping},
};

}  // namespace

std::span<const OpDef> DynamicTimeWarpingOps() { return kDynamicTimeWarpingOps; }

}  // namespace sardonyx::ops
