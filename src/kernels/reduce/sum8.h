// kernels/reduce/sum8.h - exact sums of int8 and uint8 columns and rows.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

inline constexpr std::int64_t kSum8MaxRows = std::int64_t{1} << 22;  // more could overflow 32 bits

// acc[k] += x[i * stride + k] for i in [0, rows), k in [0, columns); at most kSum8MaxRows rows from acc = 0.
using Sum8Fn = void(const std::uint8_t* x, bool is_signed, std::int64_t rows, std::int64_t stride, std::int64_t columns,
                    std::int32_t* acc);
Sum8Fn* Sum8Function();  // of the best ISA
std::span<const Variant<Sum8Fn>> Sum8Variants();

#define SDX_DECLARE(isa) \
  namespace isa {        \
  Sum8Fn Sum8;           \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

}  // namespace sardonyx::kernels
