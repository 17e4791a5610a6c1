// kernels/softmax/softmax_u8.cpp - the dispatch of the softmax of bytes.
#include "kernels/softmax/softmax_u8.h"

namespace sardonyx::kernels {

static constexpr Variant<SoftmaxBytesFn> kVariants[] = {SDX_VARIANTS(SoftmaxBytes)};

std::span<const Variant<SoftmaxBytesFn>> SoftmaxBytesVariants() { return kVariants; }

SoftmaxBytesFn* SoftmaxBytesFunction() {
  static SoftmaxBytesFn* const best = Best(kVariants);
  return best;
}

static constexpr Variant<SoftmaxBytesColumnsFn> kColumnsVariants[] = {SDX_VARIANTS(SoftmaxBytesColumns)};

std::span<const Variant<SoftmaxBytesColumnsFn>> SoftmaxBytesColumnsVariants() { return kColumnsVariants; }

SoftmaxBytesColumnsFn* SoftmaxBytesColumnsFunction() {
  static SoftmaxBytesColumnsFn* const best = Best(kColumnsVariants);
  return best;
}

}  // namespace sardonyx::kernels
