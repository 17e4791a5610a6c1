// ops/math/bias_softmax.cpp - com.microsoft BiasSoftmax: softmax of the rows of data + bias.
//
// A row is everything from `axis` on. A bias of fewer rows than data has is repeated: with is_inner_broadcast each of
// its rows serves a run of neighbours (a mask for each image, over all heads), else they follow each other again and
// again.
#include "kernels/norm/affine_f32.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/math/softmax_any.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

struct State {
  std::int64_t axis = 1;
  bool inner = false;
};

void InferBiasSoftmax(InferContext& c) {
  if (c.HasRank(0)) AxisOf(c, c.Int("axis", 1), c.Rank(0));
  c.SetOutputType(0, c.InputType(0));
}

void AddRow(const float* x, const float* bias, std::int64_t n, float* sum) {
  kernels::AffineF32().add(x, bias, nullptr, n, sum);
}
void AddRow(const double* x, const double* bias, std::int64_t n, double* sum) {
  for (std::int64_t i = 0; i < n; ++i) sum[i] = x[i] + bias[i];
}

template <typename T>
void RunBiasSoftmax(KernelContext& c) {
  const State& state = c.state<State>();
  const Dims shape = c.Input(0).shape;
  if (c.Output(0).count == 0) return;
  const std::size_t axis = NormalizeAxis(state.axis, shape.size());
  const std::int64_t rows = ElementCount(shape, 0, axis), n = ElementCount(shape, axis, shape.size());
  const std::int64_t given = c.Input(1).count / n;
  if (given < 1 || c.Input(1).count % n != 0 || rows % given != 0) {
    Fail(Code::kInvalidArgument, "input 1 ('bias'): expected rows of ", n, " elements, and a divisor of ", rows,
         " of them, found shape ", ToText(c.Input(1).shape));
  }
  Operands io(c, kDTypeOf<T>);
  const Operands::Computing computing(io);
  T* y = io.Out<T>(0);
  const std::int64_t block = std::max<std::int64_t>(1, 4096 / n);  // rows that stay in the cache between the steps
  c.parallel().For((rows + block - 1) / block, 2, [&](std::int64_t begin, std::int64_t end) {
    Serial serial;
    for (std::int64_t first = begin * block; first < std::min(rows, end * block); first += block) {
      const std::int64_t count = std::min(block, rows - first);
      for (std::int64_t row = first; row < first + count; ++row) {
        const std::int64_t from = state.inner ? row / (rows / given) : row % given;
        AddRow(io.In<T>(0) + row * n, io.In<T>(1) + from * n, n, y + row * n);
      }
      SoftmaxAny(y + first * n, count, n, 1, false, y + first * n, serial);
    }
  });
}

Prepared PrepareBiasSoftmax(PrepareContext& c) {
  const State state{c.Int("axis", 1), c.Int("is_inner_broadcast") != 0};
  return WithState(c.InputDType(0) == DType::kDouble ? RunBiasSoftmax<double> : RunBiasSoftmax<float>, state);
}

void CountBiasSoftmax(CostContext& c) { c.SetOperations(6 * c.CountOut(0)); }

constexpr OpDef kBiasSoftmaxOps[] = {{.domain = "com.microsoft",
                                      .name = "BiasSoftmax",
                                      .since = {1},
                                      .types = {DType::kFloat, DType::kFloat16, DType::kDouble},
                                      .infer = InferBiasSoftmax,
                                      .prepare = PrepareBiasSoftmax,
                                      .cost = CountBiasSoftmax}};

}  // namespace

std::span<const OpDef> BiasSoftmaxOps() { return kBiasSoftmaxOps; }

}  // namespace sardonyx::ops
