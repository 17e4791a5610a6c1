// kernels/copy/pick.h - rows of elements picked one by one by indices, as GatherElements does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

// Where a row of picked elements comes from: element j is x[i * stride + j * next], where i is the j-th index, counted
// from the end of `size` elements where it is negative.
struct PickedRow {
  std::int64_t size, stride, next;
};

// y[j] = the picked element, for n indices. Returns n, or the place of an index outside of [-size, size); nothing is
// read there, and the elements from the beginning of its block of indices on are not written.
template <typename Index>
using PickFn = std::int64_t(const PickedRow& row, const void* x, const Index* indices, std::int64_t n, void* y);

// For one size of elements.
struct PickLoops {
  PickFn<std::int32_t>* by_int32 = nullptr;
  PickFn<std::int64_t>* by_int64 = nullptr;
};
// For elements of 1, 2, 4 or 8 bytes, else empty.
PickLoops Pick(std::size_t bytes);

// The vector forms of one ISA.
using FindPickFn = PickLoops(std::size_t bytes);
std::span<const Variant<FindPickFn>> PickVariants();

#define SDX_DECLARE(isa) \
  namespace isa {        \
  FindPickFn FindPick;   \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

}  // namespace sardonyx::kernels
