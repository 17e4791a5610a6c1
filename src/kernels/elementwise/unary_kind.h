// kernels/elementwise/unary_kind.h - names the functions of one float: kRelu, kTanh ...; kNone is x itself.
#pragma once

#include <cstdint>

namespace sardonyx::kernels {

#define SDX_UNARY(name, ...) k##name,
enum class UnaryKind : std::uint8_t {
#include "kernels/elementwise/unary_functions.inc"
  kCount
};
#undef SDX_UNARY

}  // namespace sardonyx::kernels
