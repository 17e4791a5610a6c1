// kernels/gemm/split_f32.cpp - whether f32 products run on bf16 units: on this CPU, and for given numbers.
#include "kernels/gemm/split_f32.h"

namespace sardonyx::kernels {
namespace {

constexpr int kBias = 127;
constexpr int kMostExponent = 126;   // rounding to bf16 must not overflow
constexpr int kLeastExponent = -80;  // of a product: its third parts are 2^-18 of it, and the smallest number is 2^-126

constexpr std::int64_t kLeastRows = 32;  // fewer do not pay for the parts of B
constexpr std::int64_t kLeastColumns = 48;
constexpr std::int64_t kLeastLength = 32;

int Exponent(std::uint32_t bits) { return static_cast<int>(bits >> 23) - kBias; }

// clang-format off
constexpr Variant<SplitF32SetFn> kVariants[] = {
    SDX_X86_VARIANT(avx512, SplitSetAmx, amx_bf16)
    SDX_VARIANT(baseline, SplitSetAmx)
};
// clang-format on

}  // namespace

const SplitF32Set* BestSplitF32() { return Best(kVariants)(); }

bool PaysToSplit(const TileF32Set& tiles, std::int64_t rows, std::int64_t columns, std::int64_t k) {
  return tiles.split != nullptr && rows >= kLeastRows && columns >= kLeastColumns && k >= kLeastLength;
}

void RunTileSplit(const TileF32Set& tiles, const SplitF32Args& args, std::int64_t rows, const Activation& activation) {
  tiles.split->run(args, rows);
  ActivateTile(tiles, args.tile, rows, activation);
}

bool MayMultiplyParts(const SplitFacts& a, const SplitFacts& b) {
  const int a_exponent = Exponent(a.largest), b_exponent = Exponent(b.largest);
  if (a_exponent > kMostExponent || b_exponent > kMostExponent) return false;
  if (a.largest == 0 || b.largest == 0) return true;
  return a_exponent >= kLeastExponent && b_exponent >= kLeastExponent && a_exponent + b_exponent >= kLeastExponent;
}

}  // namespace sardonyx::kernels
