// kernels/region/overlap.isa.cpp - compares one box with blocks of sixteen, compiled once per ISA.
#include "kernels/region/overlap.h"

#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

// All bits of a lane are set where the boxes share more than `threshold` of their union.
inline IntVec Near(const BoxBlock& b, ptrdiff_t lane, const SearchedBox& box, Vec threshold) {
  const Vec zero = Broadcast(0.0f);
  const Vec height = Min(Load(b.y2 + lane), Broadcast(box.y2)) - Max(Load(b.y1 + lane), Broadcast(box.y1));
  const Vec width = Min(Load(b.x2 + lane), Broadcast(box.x2)) - Max(Load(b.x1 + lane), Broadcast(box.x1));
  const Vec common = height * width;
  const Vec both = Load(b.area + lane) + Broadcast(box.area) - common;
  return (height > zero) & (width > zero) & (common > threshold * both);
}

}  // namespace

std::int64_t FindOverlap(const BoxBlock* blocks, std::int64_t begin, std::int64_t end, const SearchedBox& box,
                         float threshold, std::int32_t* near) {
  const Vec limit = Broadcast(threshold);
  for (std::int64_t i = begin; i < end; ++i) {
    std::int32_t any = 0;
    for (ptrdiff_t lane = 0; lane < kBlockBoxes; lane += kLanes) {
      const IntVec found = Near(blocks[i], lane, box, limit);
      std::memcpy(near + lane, &found, sizeof found);
    }
    for (ptrdiff_t lane = 0; lane < kBlockBoxes; ++lane) any |= near[lane];
    if (any != 0) return i;
  }
  return end;
}

}  // namespace sardonyx::kernels::SDX_ISA
