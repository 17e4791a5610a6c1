// kernels/gemm/tile_bf16.cpp - which CPUs multiply bf16 faster than f32, and which products are worth it.
#include "kernels/gemm/tile_bf16.h"

#include <string_view>

#include "base/cpu_info.h"

namespace sardonyx::kernels {
namespace {

constexpr std::int64_t kLeastRows = 16;  // fewer do not pay for the pairs of B
constexpr std::int64_t kLeastColumns = 96;
constexpr std::int64_t kLeastLength = 32;

// clang-format off
constexpr Variant<TileBf16SetFn> kWithAmx[] = {
    SDX_X86_VARIANT(avx512, Bf16SetAmx, amx_bf16)
    SDX_VARIANT(baseline, Bf16SetAmx)
};
constexpr Variant<TileBf16SetFn> kWithDots[] = {
    SDX_X86_VARIANT(avx512, Bf16SetDots, avx512_bf16)
    SDX_VARIANT(baseline, Bf16SetDots)
};
// clang-format on

// VDPBF16PS does twice the work of an f32 multiply-add in the same time on AMD's cores (270 against 135 GFLOP/s on a
// busy Zen 5), and half of it on Intel's (111 against 229 on Sapphire Rapids, 74 against 179 on Emerald Rapids).
bool DotsAreFast() { return std::string_view(Cpu().vendor) == "AuthenticAMD"; }

}  // namespace

const TileBf16Set* BestTilesBf16() {
  const TileBf16Set* amx = Best(kWithAmx)();
  if (amx != nullptr) return amx;
  return DotsAreFast() ? Best(kWithDots)() : nullptr;
}

std::vector<const TileBf16Set*> RunnableTilesBf16() {
  static constexpr Variant<TileBf16SetFn> kStandIn[] = {SDX_X86_VARIANT(avx512, Bf16SetAmxStandIn, avx512)
                                                            SDX_VARIANT(baseline, Bf16SetAmxStandIn)};
  std::vector<const TileBf16Set*> sets;
  for (const TileBf16Set* set : {Best(kWithAmx)(), Best(kWithDots)(), Best(kStandIn)()})
    if (set != nullptr) sets.push_back(set);
  return sets;
}

// Here, so that the f32 tiles need not know of these.
const TileF32Set& BestTilesF32() {
  static const TileF32Set best = [] {
    TileF32Set set = TilesF32(BestIsa());
    set.bf16 = BestTilesBf16();
    return set;
  }();
  return best;
}

bool PaysInBf16(const TileF32Set& tiles, std::int64_t rows, std::int64_t columns, std::int64_t k) {
  return tiles.bf16 != nullptr && rows >= kLeastRows && columns >= kLeastColumns && k >= kLeastLength;
}

void RunTileBf16(const TileF32Set& tiles, const TileBf16Args& args, std::int64_t rows, const Activation& activation) {
  tiles.bf16->run(args, rows);
  ActivateTile(tiles, args.tile, rows, activation);
}

}  // namespace sardonyx::kernels
