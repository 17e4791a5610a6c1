// kernels/gemm/clipped_rows.isa.cpp - clips rows of bytes and multiplies what was clipped.
#include "kernels/gemm/clipped_rows.h"

#include "kernels/simd/clipped_bytes.h"

namespace sardonyx::kernels::SDX_ISA {

constexpr ClippedRowsSet kClippedRowLoops = kClippedLoops;

}  // namespace sardonyx::kernels::SDX_ISA
