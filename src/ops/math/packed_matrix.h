// ops/math/packed_matrix.h - a constant right operand of products, packed once into the layout that the kernels read.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/gemm/gemm.h"
#include "tensor/value.h"

namespace sardonyx::ops {

struct PackedMatrix {
  Tensor data;                  // of B's type, or of 16 bits (narrow_weights.h); undefined if B is no constant
  std::int64_t count = 0;       // elements of one packed matrix: the stride of a batch
  bool rounds_to_bf16 = false;  // products with it may be computed in bf16
  bool same_rows = false;       // see GemmF32Args

  bool defined() const { return data.defined(); }
  // Sets packed_b or packed_half of Args, the arguments of a product that computes in T: float also for 16-bit types;
  // and how it is computed.
  template <typename T, typename Args>
  void GiveTo(Args& args) const {
    if constexpr (std::is_same_v<T, float>) args.same_rows = same_rows;
    if (!defined()) return;
    if (data.dtype() == kDTypeOf<T>) {
      args.packed_b = data.data<T>();
      return;
    }
    if constexpr (std::is_same_v<T, float>) {
      args.rounds_to_bf16 = rounds_to_bf16;
      args.packed_half = static_cast<const std::uint16_t*>(data.raw());
      args.half_kind = data.dtype() == DType::kBFloat16 ? kernels::HalfKind::kBFloat16 : kernels::HalfKind::kFloat16;
    }
  }
};

// How matrices B [K, N] (trans: [N, K]) lie in a tensor: row stride ld, `unit` elements between them.
struct MatrixLayout {
  std::int64_t k, n, ld;
  bool trans;
  std::int64_t batch = 1, unit = 0;
};

// Packs B, a tensor of any type that products take, for an A of type `a`: B's, or float beside a B of float16
// (optimizer/rules/half_weights.h). 16-bit floats keep their size, and floats that are such numbers, or that may be
// rounded to bf16, take it. rounds_to_bf16 counts where A is float.
PackedMatrix PackMatrix(const Tensor& b, DType a, const MatrixLayout& layout, Parallel& parallel,
                        bool rounds_to_bf16 = false);

// Whether a product that always has `one_row` reads the constant B where it lies, with the arguments of PackMatrix:
// such a run is as long as reading B takes, from either place, and a first run would have to wait for the copy.
bool ReadsInPlace(const Tensor& b, DType a, bool one_row, Parallel& parallel, bool rounds_to_bf16 = false);

}  // namespace sardonyx::ops
