// ops/integers.h - reads conditions, and small integer inputs (shapes, axes, counts, indices) of any width.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "ops/kernel_context.h"

namespace sardonyx::ops {

// Element i of a tensor of numbers; floats are truncated. Fails with kInvalidArgument where there is no such element
// and with kNotImplemented for other element types.
std::int64_t IntAt(const TensorRef& tensor, std::int64_t i);

// The one bool of a condition, true for any byte but 0. Fails with kInvalidArgument where it is something else.
bool ConditionOf(const TensorRef& tensor);

// All elements, appended to a shape (so that up to eight need no heap). 0-D counts as one element.
Shape IntsOf(const TensorRef& tensor);

// Index `index` of an axis of `size` elements, counted from the end if negative. Fails naming both.
inline std::int64_t CheckedIndex(std::int64_t index, std::int64_t size) {
  if (index < -size || index >= size) {
    Fail(Code::kInvalidArgument, "expected indices in [", -size, ", ", size - 1, "] along the axis, found ", index);
  }
  return index < 0 ? index + size : index;
}

}  // namespace sardonyx::ops
