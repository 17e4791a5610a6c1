// kernels/elementwise/simple.cpp - the dispatch of the simple functions.
#include "kernels/elementwise/simple.h"

namespace sardonyx::kernels {
namespace {

constexpr Variant<SimpleTableFn> kVariants[] = {SDX_VARIANTS(SimpleKernels)};

const SimpleTable& Table() {
  static const SimpleTable best = Best(kVariants)();
  return best;
}

}  // namespace

std::span<const Variant<SimpleTableFn>> SimpleVariants() { return kVariants; }

SimpleFn* Simple(SimpleKind kind, DType dtype) { return Table().simple(kind, dtype); }
SelectLoops Select(std::size_t bytes) { return Table().select(bytes); }
RampFn* Ramp(std::size_t bytes) { return Table().ramp(bytes); }

}  // namespace sardonyx::kernels
