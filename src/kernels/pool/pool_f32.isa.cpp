// kernels/pool/pool_f32.isa.cpp - one output row of a pool, one source for every ISA.
#include "kernels/pool/pool_f32.h"

#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

struct Greatest {
  static constexpr float kStart = -__builtin_inff();
  static Vec Join(Vec a, Vec b) { return b != b ? b : Max(b, a); }  // a NaN stays: Max keeps its second operand
  static float Join(float a, float b) { return b > a || b != b ? b : a; }
};
struct Total {
  static constexpr float kStart = 0;
  static Vec Join(Vec a, Vec b) { return a + b; }
  static float Join(float a, float b) { return a + b; }
};

// buffer = start, then the rows joined, then start.
template <typename Op>
void JoinRows(const PoolRow& p) {
  const Vec start = Broadcast(Op::kStart);
  for (int64_t i = 0; i < p.pad; i += kLanes) Store(p.buffer + i, start, FirstLanes(p.pad - i));
  float* to = p.buffer + p.pad;
  for (int64_t i = 0; i < p.width; i += kLanes) {
    const Lanes lanes = FirstLanes(p.width - i);
    Vec v = start;
    for (int64_t r = 0; r < p.row_count; ++r) v = Op::Join(v, Load(p.rows[r] + i, lanes));
    Store(to + i, v, lanes);
  }
  const int64_t end = p.buffer_size - p.pad;
  for (int64_t i = p.width; i < end; i += kLanes) Store(to + i, start, FirstLanes(end - i));
}

template <typename Op, int kStride>
Vec JoinColumns(const PoolRow& p, int64_t out) {
  Vec v = Broadcast(Op::kStart);
  const float* from = p.buffer + out * kStride;
  for (int64_t k = 0; k < p.kernel; ++k, from += p.dilation) {
    v = Op::Join(v, kStride == 1 ? Load(from) : Evens(Load(from), Load(from + kLanes)));
  }
  return v;
}

template <typename Op>
void RunRow(const PoolRow& p) {
  JoinRows<Op>(p);
  if (p.stride <= 2) {
    for (int64_t i = 0; i < p.out_width; i += kLanes) {
      const Vec v = p.stride == 1 ? JoinColumns<Op, 1>(p, i) : JoinColumns<Op, 2>(p, i);
      Store(p.y + i, v, FirstLanes(p.out_width - i));
    }
    return;
  }
  for (int64_t i = 0; i < p.out_width; ++i) {
    float v = Op::kStart;
    for (int64_t k = 0; k < p.kernel; ++k) v = Op::Join(v, p.buffer[i * p.stride + k * p.dilation]);
    p.y[i] = v;
  }
}

}  // namespace

void MaxPoolRow(const PoolRow& row) { RunRow<Greatest>(row); }

void AveragePoolRow(const PoolRow& row) {
  RunRow<Total>(row);
  const Vec rows = Broadcast(row.row_divisor);
  for (int64_t i = 0; i < row.out_width; i += kLanes) {
    const Lanes lanes = FirstLanes(row.out_width - i);
    Store(row.y + i, Load(row.y + i, lanes) / (Load(row.divisors + i, lanes) * rows), lanes);
  }
}

}  // namespace sardonyx::kernels::SDX_ISA
