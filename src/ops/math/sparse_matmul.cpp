// ops/math/sparse_matmul.cpp - com.microsoft.SparseToDenseMatMul: a sparse matrix (coordinates or compressed rows)
// times a dense one.
#include <algorithm>
#include <type_traits>

#include "base/dtype.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

struct SparseState {
  bool trans_a = false, trans_b = false;
  float alpha = 1;
};

void InferSparse(InferContext& c) {
  if (!c.HasRank(1)) return c.SetOutput(0, c.InputDType(1), {Dim(), Dim()});
  if (c.Rank(1) != 2)
    c.Fail(Code::kInvalidArgument, c.InputText(1), ": expected a matrix, found ", c.InputType(1).ToText());
  c.SetOutput(0, c.InputDType(1), {Dim(), c.InputDims(1)[c.Flag("transB") ? 0 : 1]});
}

// Calls element(row, column, index of the value) for every value of a matrix; false if it has another format. Fails for
// places outside the matrix.
template <typename Element>
bool ForEachValue(const SparseTensor& a, Element element) {
  const std::int64_t rows = a.dense_shape[0], columns = a.dense_shape[1], count = a.values.count();
  const auto place = [&](std::int64_t row, std::int64_t column, std::int64_t i) {
    if (row < 0 || row >= rows || column < 0 || column >= columns) {
      Fail(Code::kInvalidArgument, "input 0 ('A'): expected places inside ", ToText(a.dense_shape), ", found row ", row,
           " and column ", column);
    }
    element(row, column, i);
  };
  const std::int64_t* indices = a.indices.defined() ? a.indices.data<std::int64_t>() : nullptr;
  if (a.format == SparseFormat::kCoo) {
    const bool linear = a.indices.shape().rank() == 1;
    for (std::int64_t i = 0; i < count; ++i) {
      if (linear)
        place(columns == 0 ? -1 : indices[i] / columns, columns == 0 ? -1 : indices[i] % columns, i);
      else
        place(indices[2 * i], indices[2 * i + 1], i);
    }
    return true;
  }
  if (a.format != SparseFormat::kCsr) return false;
  const std::int64_t* starts = a.row_starts.data<std::int64_t>();
  for (std::int64_t row = 0; row < rows && count > 0; ++row) {
    if (starts[row] < 0 || starts[row + 1] > count) {
      Fail(Code::kInvalidArgument, "input 0 ('A'): expected rows that begin at [0, ", count, "], found ", starts[row],
           " to ", starts[row + 1]);
    }
    for (std::int64_t i = starts[row]; i < starts[row + 1]; ++i) place(row, indices[i], i);
  }
  return true;
}

template <typename T>
void RunSparse(KernelContext& c) {
  const SparseState& state = c.state<SparseState>();
  const Value value = c.InputValue(0);
  if (!value.is_sparse())
    Fail(Code::kInvalidArgument, "input 0 ('A'): expected a sparse tensor, found ", value.KindName());
  const SparseTensor& a = value.sparse();
  const TensorRef& b = c.Input(1);
  if (a.dense_shape.rank() != 2 || b.rank() != 2) {
    Fail(Code::kInvalidArgument, "expected matrices, found ", ToText(a.dense_shape), " and ", ToText(b.shape));
  }
  if (a.values.dtype() != b.dtype) {
    Fail(Code::kInvalidArgument, "input 0 ('A'): expected the type of B, ", Name(b.dtype), ", found ",
         Name(a.values.dtype()));
  }
  const std::int64_t m = a.dense_shape[state.trans_a ? 1 : 0], inner = a.dense_shape[state.trans_a ? 0 : 1];
  const std::int64_t n = b.dim(state.trans_b ? 0 : 1), found = b.dim(state.trans_b ? 1 : 0);
  if (inner != found)
    Fail(Code::kInvalidArgument, "inner dimensions differ: [", m, ", ", inner, "] x [", found, ", ", n, "]");
  const std::int64_t shape[] = {m, n};
  const OutputRef out = c.Output(0, shape);
  T* y = out.As<T>();
  std::fill_n(y, out.count, T(0));
  const T* values = a.values.data<T>();
  const std::int64_t row_step = state.trans_b ? 1 : n, column_step = state.trans_b ? inner : 1;
  const bool known = ForEachValue(a, [&](std::int64_t row, std::int64_t column, std::int64_t i) {
    if (state.trans_a) std::swap(row, column);
    T factor = values[i];
    if constexpr (std::is_floating_point_v<T>) factor *= static_cast<T>(state.alpha);
    const T* from = b.As<T>() + column * row_step;
    using Sum = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
    for (std::int64_t j = 0; j < n; ++j) {  // integers wrap
      T& to = y[row * n + j];
      to = static_cast<T>(static_cast<Sum>(to) + static_cast<Sum>(factor) * static_cast<Sum>(from[j * column_step]));
    }
  });
  if (!known) Fail(Code::kNotImplemented, "a sparse matrix in blocks is not implemented in this operator");
}

Prepared PrepareSparse(PrepareContext& c) {
  const SparseState state = {c.Flag("transA"), c.Flag("transB"), c.Float("alpha", 1)};
  const DType dtype = c.InputDType(1);
  if (IsInteger(dtype) && state.alpha != 1) c.Unsupported("attribute 'alpha' other than 1 of integers");
  switch (dtype) {
    case DType::kFloat:
      return WithState(RunSparse<float>, state);
    case DType::kDouble:
      return WithState(RunSparse<double>, state);
    case DType::kInt32:
      return WithState(RunSparse<std::int32_t>, state);
    case DType::kInt64:
      return WithState(RunSparse<std::int64_t>, state);
    case DType::kUInt32:
      return WithState(RunSparse<std::uint32_t>, state);
    default:
      return WithState(RunSparse<std::uint64_t>, state);
  }
}

constexpr OpDef kSparseMatMulOps[] = {
    {.domain = "com.microsoft",
     .name = "SparseToDenseMatMul",
     .since = {1},
     .types = {DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64, DType::kUInt32, DType::kUInt64},
     .typed_input = 1,
     .infer = InferSparse,
     .prepare = PrepareSparse,
     .traits = kSizedByElements},
};

}  // namespace

std::span<const OpDef> SparseMatMulOps() { return kSparseMatMulOps; }

}  // namespace sardonyx::ops
