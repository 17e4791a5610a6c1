// kernels/copy/stream.cpp - the dispatch of the writes past the caches.
#include "kernels/copy/stream.h"

namespace sardonyx::kernels {

static constexpr Variant<StreamFn> kVariants[] = {SDX_VARIANTS(StreamMemory)};

std::span<const Variant<StreamFn>> StreamVariants() { return kVariants; }

StreamFn* Stream() {
  static StreamFn* const best = Best(kVariants);
  return best;
}

}  // namespace sardonyx::kernels
