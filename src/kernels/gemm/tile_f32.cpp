// kernels/gemm/tile_f32.cpp - chooses the f32 tiles for this process, and calls them in the same way for GEMM and
// convolutions.
#include "kernels/gemm/tile_f32.h"

namespace sardonyx::kernels {

static constexpr Variant<const TileF32Set&()> kVariants[] = {SDX_VARIANTS(TileSetF32)};

const TileF32Set& TilesF32(Isa isa) { return Best(kVariants, isa)(); }

bool NeedsPass(const Activation& activation) {
  return activation.kind != UnaryKind::kNone && activation.kind != UnaryKind::kRelu &&
         activation.kind != UnaryKind::kClip;
}

void SetClamp(const Activation& activation, TileF32Args* args) {
  args->low = -std::numeric_limits<float>::infinity();
  args->high = std::numeric_limits<float>::infinity();
  if (activation.kind == UnaryKind::kRelu) args->low = 0;
  if (activation.kind == UnaryKind::kClip) args->low = activation.alpha, args->high = activation.beta;
}

void RunTileF32(const TileF32Set& tiles, const TileF32Args& args, std::int64_t rows, const Activation& activation) {
  (args.columns * 2 <= tiles.columns ? tiles.narrow : tiles.wide)[rows - 1](args);
  ActivateTile(tiles, args, rows, activation);
}

void ActivateTile(const TileF32Set& tiles, const TileF32Args& args, std::int64_t rows, const Activation& activation) {
  if (!NeedsPass(activation)) return;
  const std::int64_t first = (rows + 1) / 2;
  if (args.c1 == args.c0 + first * args.c_row_stride)
    return tiles.activate(args.c0, rows, args.columns, args.c_row_stride, activation);
  tiles.activate(args.c0, first, args.columns, args.c_row_stride, activation);
  tiles.activate(args.c1, rows - first, args.columns, args.c_row_stride, activation);
}

}  // namespace sardonyx::kernels
