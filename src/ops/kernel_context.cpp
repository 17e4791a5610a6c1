// ops/kernel_context.cpp - input values that may outlive the run.
#include "ops/kernel_context.h"

#include <cstring>
#include <type_traits>
#include <utility>

namespace sardonyx::ops {

// A kernel that writes to an input does not compile, nor one that passes an input where an output is wanted.
static_assert(std::is_same_v<decltype(std::declval<TensorRef>().As<float>()), const float*>);
static_assert(std::is_same_v<decltype(std::declval<OutputRef>().As<float>()), float*>);
static_assert(std::is_convertible_v<OutputRef, TensorRef> && !std::is_convertible_v<TensorRef, OutputRef>);

Value KernelContext::InputValue(std::size_t i) const {
  if (!HasInput(i)) return {};
  const Slot& slot = *inputs_[i];
  if (!slot.ref.present()) return slot.value;
  // A tensor owned by its slot is replaced, never overwritten, by the next run only if somebody else holds it, too.
  if (slot.value.is_tensor() && slot.value.tensor().raw() == slot.ref.data) return slot.value;
  Tensor copy(slot.ref.dtype, Shape(slot.ref.shape));
  if (slot.ref.dtype == DType::kString) {
    std::copy_n(slot.ref.As<std::string>(), slot.ref.count, copy.data<std::string>());
  } else if (copy.byte_size() != 0) {
    std::memcpy(copy.raw(), slot.ref.data, copy.byte_size());
  }
  return copy;
}

}  // namespace sardonyx::ops
