// kernels/gemm/paired_tile_int8.cpp - finds the pairs of groups whose products
// fit into 16 bits together.
#include "kernels/gemm/paired_tile_int8.h"

#include <algorithm>

namespace sardonyx::kernels {
namespace {

using std::int64_t;

constexpr int kMostTogether = 32767 / 255;  // weights of one sign that meet in a sum

constexpr Variant<PairedTileSetFn> kVariants[] = {SDX_VARIANTS(PairedTileSet)};

}  // namespace

const PairedTilesInt8* PairedTilesOf(const TileInt8Set& tiles) {
  return tiles.clipped != nullptr ? Best(kVariants, tiles.isa)() : nullptr;
}

void FindPairsThatFit(const std::byte* groups, int64_t count, int64_t columns, std::uint8_t* fits) {
  const auto* weights = reinterpret_cast<const std::int8_t*>(groups);
  for (int64_t pair = 0; pair < count / 2; ++pair) {
    const std::int8_t* first = weights + pair * 8 * columns;
    int most = 0;
    for (int64_t i = 0; i < 4 * columns; i += 2) {
      int above = 0, below = 0;
      for (const int64_t at : {i, i + 1, 4 * columns + i, 4 * columns + i + 1}) {
        above += std::max<int>(first[at], 0);
        below -= std::min<int>(first[at], 0);
      }
      most = std::max({most, above, below});
    }
    fits[pair] = most <= kMostTogether ? 1 : 0;
  }
}

}  // namespace sardonyx::kernels
