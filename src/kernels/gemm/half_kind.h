// kernels/gemm/half_kind.h - the 16-bit formats that packed matrices may have.
#pragma once

#include <cstdint>

namespace sardonyx::kernels {

// Widened on the way into the registers or a panel at a time: half the memory of float.
enum class HalfKind : std::uint8_t { kFloat16, kBFloat16 };

}  // namespace sardonyx::kernels
