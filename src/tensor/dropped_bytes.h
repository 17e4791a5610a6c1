// tensor/dropped_bytes.h - tensors whose bytes were dropped because nobody needs them any more; type and shape stay.
#pragma once

#include "tensor/value.h"

namespace sardonyx {

// A tensor of this type and shape whose bytes are gone: raw() is null.
inline Tensor WithoutData(const Tensor& tensor) {
  return Tensor(tensor.dtype(), tensor.shape(), Buffer::View(nullptr, tensor.byte_size()));
}

inline bool HasData(const Tensor& tensor) { return tensor.raw() != nullptr || tensor.byte_size() == 0; }

}  // namespace sardonyx
