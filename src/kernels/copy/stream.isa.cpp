// kernels/copy/stream.isa.cpp - writes whole lines of memory past the caches; compiled once per ISA.
#include "kernels/copy/stream.h"

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

namespace sardonyx::kernels::SDX_ISA {

namespace hn = hwy::HWY_NAMESPACE;

// The parts of the first and the last line are written as usual.
void StreamMemory(const void* from, void* to, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  const hn::CappedTag<std::uint8_t, kLine> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto* x = static_cast<const std::uint8_t*>(from);
  auto* y = static_cast<std::uint8_t*>(to);
  std::size_t i = (kLine - reinterpret_cast<std::uintptr_t>(y) % kLine) % kLine;
  if (bytes < i + kLine) i = bytes;
  if (i > 0) std::memcpy(y, x, i);
  for (; i + kLine <= bytes; i += kLine)
    for (std::size_t k = 0; k < kLine; k += lanes) hn::Stream(hn::LoadU(d, x + i + k), d, y + i + k);
  if (i < bytes) std::memcpy(y + i, x + i, bytes - i);
}

}  // namespace sardonyx::kernels::SDX_ISA
