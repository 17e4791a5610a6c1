// ops/packed_matrix.h - a constant right operand of products, packed once into the layout that the kernels read.
#pragma once

#include <cstdint>

#include "kernels/gemm/gemm.h"
#include "tensor/value.h"

namespace sardonyx::ops {

struct PackedMatrix {
  Tensor data;             // float, or the 16-bit type of the original; undefined if B is no constant
  std::int64_t count = 0;  // elements of one packed matrix: the stride of a batch

  bool defined() const { return data.defined(); }
  // Sets packed_b or packed_half of Args: GemmF32Args or Product<float>.
  template <typename Args>
  void GiveTo(Args& args) const {
    if (!defined()) return;
    if (data.dtype() == DType::kFloat) {
      args.packed_b = data.data<float>();
      return;
    }
    args.packed_half = static_cast<const std::uint16_t*>(data.raw());
    args.half_kind = data.dtype() == DType::kBFloat16 ? kernels::HalfKind::kBFloat16 : kernels::HalfKind::kFloat16;
  }
};

// How matrices B [K, N] (trans: [N, K]) lie in a tensor: row stride ld, `unit` elements between them.
struct MatrixLayout {
  std::int64_t k, n, ld;
  bool trans;
  std::int64_t batch = 1, unit = 0;
};

// Packs a tensor of float, float16 or bfloat16; the 16-bit types keep their size.
PackedMatrix PackMatrix(const Tensor& b, const MatrixLayout& layout);

}  // namespace sardonyx::ops
