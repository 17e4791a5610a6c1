// kernels/elementwise/simple.h - functions of a few instructions on contiguous elements: of one integer, tests of
// floats by their bits, the choice between two elements, and ramps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "kernels/dispatch.h"

namespace sardonyx::kernels {

enum class SimpleKind : std::uint8_t {
  kAbs,  // of integers, like the next four; the smallest one's absolute value and negative are itself
  kNeg,
  kRelu,
  kSign,
  kClip,        // to [low, high]; high where low is above high
  kBitwiseNot,  // of any type by its bytes
  kNot,         // of bools
  kIsNaN,       // of float, double, float16 and bfloat16, like the next three; these write bools
  kIsInf,
  kIsPositiveInf,
  kIsNegativeInf,
};

// y[i] = f(x[i]); y may be x where their elements are of one size. low, high: one element each, for kClip.
using SimpleFn = void(const void* x, void* y, std::size_t n, const void* low, const void* high);

// Null where a kind has no meaning for the type.
SimpleFn* Simple(SimpleKind kind, DType dtype);

// z[i] = condition[i] ? x[i] : y[i], where z may be x or y; a repeated operand is read at its first element only.
using SelectFn = void(const bool* condition, const void* x, const void* y, void* z, std::size_t n);
struct SelectLoops {
  SelectFn* both = nullptr;
  SelectFn* repeated_x = nullptr;
  SelectFn* repeated_y = nullptr;
  SelectFn* repeated_both = nullptr;
};
// For elements of 1, 2, 4 or 8 bytes.
SelectLoops Select(std::size_t bytes);

// y[i] = start + i * step of integers, which wrap.
using RampFn = void(std::uint64_t start, std::uint64_t step, void* y, std::size_t n);
// For elements of 2, 4 or 8 bytes.
RampFn* Ramp(std::size_t bytes);

// The vector forms of one ISA.
struct SimpleTable {
  SimpleFn* (*simple)(SimpleKind kind, DType dtype) = nullptr;
  SelectLoops (*select)(std::size_t bytes) = nullptr;
  RampFn* (*ramp)(std::size_t bytes) = nullptr;
};
using SimpleTableFn = SimpleTable();
std::span<const Variant<SimpleTableFn>> SimpleVariants();

#define SDX_DECLARE(isa)       \
  namespace isa {              \
  SimpleTableFn SimpleKernels; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

}  // namespace sardonyx::kernels
