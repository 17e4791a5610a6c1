// ops/tensor_ref.cpp - references to tensors, and copies of what they refer to.
#include "ops/tensor_ref.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace sardonyx::ops {

TensorRef RefOf(const Tensor& tensor) {
  return {tensor.dtype(), const_cast<void*>(tensor.raw()), tensor.shape(), tensor.count()};
}

void ShowTensor(Slot& slot) {
  slot.ref = {};
  if (!slot.value.is_tensor()) return;
  slot.shape = slot.value.tensor().shape();
  slot.ref = RefOf(slot.value.tensor());
  slot.ref.shape = slot.shape;
}

void CopyTensor(const TensorRef& from, void* to) {
  if (from.count == 0) return;
  if (IsString(from.dtype)) {
    std::copy_n(from.As<std::string>(), from.count, static_cast<std::string*>(to));
  } else {
    std::memcpy(to, from.data, from.byte_size());
  }
}

}  // namespace sardonyx::ops
