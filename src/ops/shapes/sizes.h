// ops/shapes/sizes.h - checked arithmetic on sizes given by a model or by a run. A tensor without elements may have any
// other dimensions, however large.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace sardonyx::ops {

// a * b; fails with kInvalidArgument naming both where that is beyond all numbers.
inline std::int64_t Times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product))
    Fail(Code::kInvalidArgument, "expected sizes below 2^63, found ", a, " * ", b);
  return product;
}

}  // namespace sardonyx::ops
