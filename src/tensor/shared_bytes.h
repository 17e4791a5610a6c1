// tensor/shared_bytes.h - constant bytes that several sessions need, kept once in the process.
//
// Weights are compared by their contents, not by name. So what one session packed serves another, whatever file, path
// or options they were created with; and if a file changed between two sessions, each gets its own weights.
#pragma once

#include "tensor/value.h"

namespace sardonyx {

inline constexpr std::size_t kSharedBytes = 1024;  // smaller tensors are not worth sharing

// If equal bytes were shared before and are still in use, a tensor like `own` that views those; otherwise `own`, whose
// bytes are shared from now on. The caller must never write to them again. Tensors that do not own all of a host
// buffer, strings and small tensors come back as they are. Thread-safe.
Tensor Shared(Tensor own);

// Memory to pack weights into: zeros, so that gaps in the packed form compare equal.
Tensor ZeroedToShare(DType dtype, Shape shape);

}  // namespace sardonyx
