// ops/tensor_ref.h - tensors that own their bytes, as kernels see them.
#pragma once

#include "ops/kernel_context.h"

namespace sardonyx::ops {

// Valid while `tensor` is there, whose bytes and shape it borrows.
TensorRef RefOf(const Tensor& tensor);

// Points a slot's reference at the tensor in its value, if it is one.
void ShowTensor(Slot& slot);

// Copies the elements to `to`, which has room for them: strings are assigned, not moved as bytes.
void CopyTensor(const TensorRef& from, void* to);

}  // namespace sardonyx::ops
