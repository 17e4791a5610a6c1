// ops/shapes/matmul_shape.cpp - the shapes of a broadcast matrix product.
#include "ops/shapes/matmul_shape.h"

namespace sardonyx::ops {
namespace {

// The dims as [batch..., rows, cols] for the flags.
std::vector<Dim> Straighten(std::vector<Dim> dims, bool trans, bool trans_batch) {
  const std::size_t rank = dims.size();
  if (rank < 2) return dims;
  if (trans_batch) {
    const Dim first = dims[0];
    dims.erase(dims.begin());
    dims.insert(dims.end() - 1, first);
  }
  if (trans) std::swap(dims[rank - 2], dims[rank - 1]);
  return dims;
}

}  // namespace

std::vector<Dim> MatMulDims(const InferContext& c, const std::vector<Dim>& a_dims, const std::vector<Dim>& b_dims,
                            const MatMulFlags& flags) {
  if (a_dims.empty() || b_dims.empty()) {
    c.Fail(Code::kInvalidArgument, "expected operands of rank 1 or more, found a scalar");
  }
  const std::vector<Dim> a = Straighten(a_dims, flags.trans_a, flags.trans_batch_a);
  const std::vector<Dim> b = Straighten(b_dims, flags.trans_b, flags.trans_batch_b);
  const Dim& a_inner = a.back();
  const Dim& b_inner = b.size() == 1 ? b[0] : b[b.size() - 2];
  if (a_inner.known() && b_inner.known() && a_inner.number() != b_inner.number()) {
    c.Fail(Code::kInvalidArgument, "inner dimensions differ: ", Type::TensorOf(DType::kFloat, a_dims).ToText(), " x ",
           Type::TensorOf(DType::kFloat, b_dims).ToText());
  }
  std::vector<Dim> a_batch, b_batch;
  if (a.size() > 2) a_batch.assign(a.begin(), a.end() - 2);
  if (b.size() > 2) b_batch.assign(b.begin(), b.end() - 2);
  std::vector<Dim> dims = BroadcastDims(c, a_batch, b_batch);
  if (a.size() > 1) dims.push_back(a[a.size() - 2]);
  if (b.size() > 1) dims.push_back(b.back());
  return dims;
}

MatMulOperand ViewOperand(Dims x, bool is_b, bool trans, bool trans_batch) {
  MatMulOperand o;
  const std::size_t rank = x.size();
  if (rank == 0) Fail(Code::kInvalidArgument, "expected an operand of rank 1 or more, found a scalar");
  if (rank == 1) {
    (is_b ? o.rows : o.cols) = x[0];
    o.ld = o.cols;
    return o;
  }
  o.cols = x[rank - 1];
  o.trans = trans;
  if (trans_batch) {
    o.rows = x[0];
    o.batch = x.subspan(1, rank - 2);
    o.batch_count = ElementCount(o.batch);
    o.ld = o.batch_count * o.cols;
    o.unit = o.cols;
  } else {
    o.rows = x[rank - 2];
    o.batch = x.first(rank - 2);
    o.batch_count = ElementCount(o.batch);
    o.ld = o.cols;
    o.unit = o.rows * o.cols;
  }
  return o;
}

std::int64_t MatMulBatch(const MatMulOperand& a, const MatMulOperand& b, Shape* batch) {
  if (a.inner(false) != b.inner(true)) {
    Fail(Code::kInvalidArgument, "inner dimensions differ: [", a.outer(false), ", ", a.inner(false), "] x [",
         b.inner(true), ", ", b.outer(true), "]");
  }
  if (!Broadcast(a.batch, b.batch, batch)) {
    Fail(Code::kInvalidArgument, "expected batch dimensions that broadcast, found ", ToText(a.batch), " and ",
         ToText(b.batch));
  }
  return ElementCount(*batch);
}

void BatchOffsets(const MatMulOperand& x, Dims batch, std::int64_t unit, std::int64_t* offsets) {
  const std::int64_t count = ElementCount(batch);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, at = 0, step = 1;
    for (std::size_t axis = 0; axis < batch.size(); ++axis) {  // from the last axis
      const std::int64_t size = batch[batch.size() - 1 - axis];
      const std::int64_t index = rest % size;
      rest /= size;
      if (axis >= x.batch.size()) continue;
      const std::int64_t mine = x.batch[x.batch.size() - 1 - axis];
      if (mine != 1) at += index * step;
      step *= mine;
    }
    offsets[i] = at * unit;
  }
}

bool RegularBatch(const MatMulOperand& x, std::int64_t batch_count, std::int64_t unit, std::int64_t* stride) {
  *stride = x.batch_count == 1 ? 0 : unit;
  return x.batch_count == 1 || x.batch_count == batch_count;
}

}  // namespace sardonyx::ops
