// ops/tensor_ref.h - how kernels see tensors that own their bytes.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "ops/kernel_context.h"

namespace sardonyx::ops {

// Valid while `tensor` is there, whose bytes and shape it borrows.
inline TensorRef RefOf(const Tensor& tensor) {
  return {tensor.dtype(), tensor.raw(), tensor.shape(), tensor.count()};
}

// Points a slot's reference at the tensor in its value, if it is one; for reading only.
inline void ShowTensor(Slot& slot) {
  slot.Clear();
  if (!slot.value.is_tensor()) return;
  slot.shape = slot.value.tensor().shape();
  slot.ref = RefOf(slot.value.tensor());
  slot.ref.shape = slot.shape;
}

// Copies the elements to `to`, which has room for them: strings are assigned, not moved as bytes.
inline void CopyTensor(const TensorRef& from, void* to) {
  if (from.count == 0) return;
  if (IsString(from.dtype)) {
    std::copy_n(from.As<std::string>(), from.count, static_cast<std::string*>(to));
  } else {
    std::memcpy(to, from.data, from.byte_size());
  }
}

}  // namespace sardonyx::ops
