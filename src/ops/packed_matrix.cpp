// ops/packed_matrix.cpp - a constant right operand of products, packed once.
#include "ops/packed_matrix.h"

namespace sardonyx::ops {

PackedMatrix PackMatrix(const Tensor& b, const MatrixLayout& l) {
  Serial serial;
  const bool is_float = b.dtype() == DType::kFloat;
  const std::size_t count = is_float ? kernels::GemmF32PackedCount(l.k, l.n) : kernels::GemmHalfPackedCount(l.k, l.n);
  PackedMatrix packed;
  packed.count = static_cast<std::int64_t>((count + 31) / 32 * 32);  // whole cache lines
  packed.data = Tensor(b.dtype(), Shape{l.batch, packed.count});
  for (std::int64_t i = 0; i < l.batch; ++i) {
    const std::int64_t from = i * l.unit, to = i * packed.count;
    if (is_float) {
      kernels::PackGemmF32B(l.k, l.n, b.data<float>() + from, l.ld, l.trans, packed.data.data<float>() + to, serial);
    } else {
      kernels::PackGemmHalfB(l.k, l.n, static_cast<const std::uint16_t*>(b.raw()) + from, l.ld, l.trans,
                             static_cast<std::uint16_t*>(packed.data.raw()) + to, serial);
    }
  }
  return packed;
}

}  // namespace sardonyx::ops
