// kernels/softmax/softmax_u8.cpp - the dispatch of the softmax of bytes.
#include "kernels/softmax/softmax_u8.h"

namespace sardonyx::kernels {

static constexpr Variant<SoftmaxBytesFn> kVariants[] = SDX_VARIANTS(SoftmaxBytes);

std::span<const Variant<SoftmaxBytesFn>> SoftmaxBytesVariants() { return kVariants; }

SoftmaxBytesFn* SoftmaxBytesFunction() {
  static SoftmaxBytesFn* const best = Best(kVariants);
  return best;
}

}  // namespace sardonyx::kernels
