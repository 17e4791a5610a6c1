// kernels/gemm/tile_f32.cpp - which tiles this process uses, and what a tile call shares between GEMM and convolutions.
#include "kernels/gemm/tile_f32.h"

namespace sardonyx::kernels {

using TileSetFn = const TileF32Set&();

const TileF32Set& TilesF32(Isa isa) {
  static constexpr Variant<TileSetFn> kVariants[] = SDX_VARIANTS(TileSetF32);
  for (const Variant<TileSetFn>& variant : kVariants)
    if (variant.isa == isa) return variant.run();
  return baseline::TileSetF32();
}

const TileF32Set& BestTilesF32() {
  for (const Isa isa : {Isa::avx512, Isa::avx2})
    if (Supported(isa)) return TilesF32(isa);
  return TilesF32(Isa::baseline);
}

bool NeedsPass(const Activation& activation) {
  return activation.kind != ActivationKind::kNone && activation.kind != ActivationKind::kRelu &&
         activation.kind != ActivationKind::kClip;
}

void SetClamp(const Activation& activation, TileF32Args* args) {
  args->low = -std::numeric_limits<float>::infinity();
  args->high = std::numeric_limits<float>::infinity();
  if (activation.kind == ActivationKind::kRelu) args->low = 0;
  if (activation.kind == ActivationKind::kClip) args->low = activation.alpha, args->high = activation.beta;
}

void RunTileF32(const TileF32Set& tiles, const TileF32Args& args, std::int64_t rows, const Activation& activation) {
  (args.columns * 2 <= tiles.columns ? tiles.narrow : tiles.wide)[rows - 1](args);
  if (!NeedsPass(activation)) return;
  const std::int64_t first = (rows + 1) / 2;
  tiles.activate(args.c0, first, args.columns, args.c_row_stride, activation);
  tiles.activate(args.c1, rows - first, args.columns, args.c_row_stride, activation);
}

}  // namespace sardonyx::kernels
