// kernels/gemm/paired_tile_int8.h - the integer tile for weights within -64..64
// on CPUs that have no exact dot product of bytes.
//
// Sums of two products of bytes fit into 16 bits then. So do sums of four
// wherever four weights that meet in one are together small enough, as most
// are: their products are added before they are widened, which saves an
// instruction in four. Flags say so of each pair of groups next to each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/gemm/tile_int8.h"

namespace sardonyx::kernels {

// `count` tiles, each of the rows that follow those of the one before. fits:
// [taps][k_groups / 2] of the panel.
using PairedTilesInt8Fn = void(const TileInt8Args& first, std::int64_t count, const std::uint8_t* fits);

struct PairedTilesInt8 {
  PairedTilesInt8Fn* const* wide;  // as those of TileInt8Set
  PairedTilesInt8Fn* const* narrow;
  void Run(const TileInt8Args& t, std::int64_t columns, std::int64_t rows, std::int64_t count,
           const std::uint8_t* fits) const {
    (2 * t.columns <= columns ? narrow : wide)[rows - 1](t, count, fits);
  }
};

// Those of tiles with `clipped`, else null.
const PairedTilesInt8* PairedTilesOf(const TileInt8Set& tiles);

// Flags of a run: whether the products of any bytes by the weights of groups 2
// i and 2 i + 1 fit together. groups: of a panel of `columns` columns, in
// packed form.
void FindPairsThatFit(const std::byte* groups, std::int64_t count, std::int64_t columns, std::uint8_t* fits);

using PairedTileSetFn = const PairedTilesInt8*();
#define SDX_DECLARE(isa)         \
  namespace isa {                \
  PairedTileSetFn PairedTileSet; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

}  // namespace sardonyx::kernels
