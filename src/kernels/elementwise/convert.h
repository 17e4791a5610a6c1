// kernels/elementwise/convert.h - converts blocks of any element type to and from float, double and int64, for
// operators that compute in one of these whatever types their tensors have.
//
// A block is elements [begin, begin + n) of a tensor's data, so that packed types work. `y` must not overlap `x`.
// Writers of packed types share bytes with their neighbours: blocks that run in parallel must begin at multiples of 8
// elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "kernels/dispatch.h"

namespace sardonyx::kernels {

using ToFloatsFn = void(const void* x, std::int64_t begin, std::size_t n, float* y);
using ToDoublesFn = void(const void* x, std::int64_t begin, std::size_t n, double* y);
using ToIntsFn = void(const void* x, std::int64_t begin, std::size_t n, std::int64_t* y);
using FromFloatsFn = void(const float* x, std::size_t n, void* y, std::int64_t begin);
using FromDoublesFn = void(const double* x, std::size_t n, void* y, std::int64_t begin);
using FromIntsFn = void(const std::int64_t* x, std::size_t n, void* y, std::int64_t begin);

// How floats that an 8-bit float type cannot hold are written: `saturate` to the largest finite value, else as ONNX's
// Cast with saturate = 0; float8e8m0 also takes ONNX's round_mode.
enum class Rounding8 : std::uint8_t { kUp, kDown, kNearest };
struct Float8Rules {
  bool saturate = true;
  Rounding8 e8m0 = Rounding8::kUp;
};

// Null for types without a conversion: strings, complex. ToInts takes integers and bool only (uint64 keeps its bits),
// the others every number. Float to integer truncates; what is out of range becomes what x86 gives: INT32_MIN (for up
// to 32 bits, then cut to size) or INT64_MIN. Integer to narrower integer keeps the low bits. To bool: x != 0. To float
// types: rounds once, ties to even. Float to integers of 4 and 2 bits is cut to size, too.
ToFloatsFn* ToFloats(DType from);
ToDoublesFn* ToDoubles(DType from);
ToIntsFn* ToInts(DType from);
FromFloatsFn* FromFloats(DType to, Float8Rules rules = {});
FromDoublesFn* FromDoubles(DType to, Float8Rules rules = {});
FromIntsFn* FromInts(DType to);

// The vector forms of one ISA; null where there is none.
struct ConvertTable {
  ToFloatsFn* (*to_floats)(DType);
  FromFloatsFn* (*from_floats)(DType);
  ToIntsFn* (*to_ints)(DType);
  FromIntsFn* (*from_ints)(DType);
};
using ConvertTableFn = ConvertTable();
std::span<const Variant<ConvertTableFn>> ConvertVariants();

#define SDX_DECLARE(isa)      \
  namespace isa {             \
  ConvertTableFn Conversions; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

}  // namespace sardonyx::kernels
