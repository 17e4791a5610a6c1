// kernels/region/overlap.h - finds which of many boxes may overlap one box: the inner loop of non-maximum suppression.
#pragma once

#include <cstdint>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

constexpr std::int64_t kBlockBoxes = 16;

// Sixteen boxes, one coordinate after the other; places that hold no box have y1 = x1 = +infinity.
struct BoxBlock {
  float y1[kBlockBoxes], x1[kBlockBoxes], y2[kBlockBoxes], x2[kBlockBoxes], area[kBlockBoxes];
};

struct SearchedBox {
  float y1, x1, y2, x2, area;
};

// The first block of [begin, end) with a box that shares more than `threshold` of the union with `box`, or `end`. In
// `near`, lane i says whether box i of that block does. Rounding is not the caller's: for a sharp limit give a
// threshold a little lower (1e-5 of it covers the difference) and test the boxes found.
using FindOverlapFn = std::int64_t(const BoxBlock* blocks, std::int64_t begin, std::int64_t end, const SearchedBox& box,
                                   float threshold, std::int32_t* near);

#define SDX_DECLARE(isa)     \
  namespace isa {            \
  FindOverlapFn FindOverlap; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

FindOverlapFn* FindOverlapFunction(Isa isa = BestIsa());

}  // namespace sardonyx::kernels
