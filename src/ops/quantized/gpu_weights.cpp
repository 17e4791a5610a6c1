// ops/quantized/gpu_weights.cpp - the layouts of weight_prepacked.
//
// From the plain layout, ONNX Runtime's packing for its GPU kernels
//  - permutes the rows (along K) in tiles of 128 / bits, so that a thread of the matrix instruction gets what it needs,
//  - in layout 1 lets 16 / bits columns take turns, each with 64 rows,
//  - and in every 32-bit word puts the numbers at even places before those at odd ones.
// It also moves the zero of the numbers and, at the end, moves it back.
#include "ops/quantized/gpu_weights.h"

#include <cstddef>

#include "base/error.h"

namespace sardonyx::ops {
namespace {

constexpr std::int64_t kRowsPerTurn = 64;
constexpr std::int64_t kGrain = 16384;  // a thread gets at least this many numbers

constexpr std::int64_t kTileBytes = 16;  // of the rows that are permuted together: in a column they lie side by side

// Where the numbers of a tile lie, by their plain rows: bits from its beginning.
template <int kBits>
struct Places {
  static constexpr int kTile = 128 / kBits, kInWord = 32 / kBits;
  std::uint8_t bit[kTile] = {};

  Places() {
    for (int row = 0; row < kTile; ++row) {
      const int quarter = kTile / 4, place = row % kInWord;
      const int plain = row / quarter * 2 + row % quarter / 2 * 8 + row % 2;
      const int from = row / kInWord * kInWord + place / 2 + place % 2 * (kInWord / 2);  // even places first
      bit[plain] = static_cast<std::uint8_t>(from * kBits);
    }
  }
};

template <int kBits>
void UnpackTile(const Places<kBits>& places, const std::uint8_t* from, std::uint8_t* to) {
  constexpr int kPerByte = 8 / kBits;
  for (int i = 0; i < kTileBytes; ++i) {
    unsigned byte = 0;
    for (int j = 0; j < kPerByte; ++j) {
      const int bit = places.bit[i * kPerByte + j];
      byte |= ((static_cast<unsigned>(from[bit / 8]) >> (bit % 8)) & ((1u << kBits) - 1)) << (j * kBits);
    }
    to[i] = static_cast<std::uint8_t>(byte);
  }
}

template <int kBits>
void Unpack(const GpuWeights& w, const std::uint8_t* from, std::uint8_t* to, Parallel& parallel) {
  const Places<kBits> places;
  const std::int64_t row_bytes = w.k * kBits / 8, tiles = row_bytes / kTileBytes;
  const std::int64_t columns = w.layout == 1 ? 16 / kBits : 1;
  const std::int64_t turn = w.layout == 1 ? kRowsPerTurn * kBits / 128 : tiles;  // tiles of a column side by side
  parallel.For(w.n, kGrain / w.k + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const std::uint8_t* group = from + n / columns * columns * row_bytes;
      for (std::int64_t tile = 0; tile < tiles; ++tile) {
        const std::int64_t at = (tile / turn * columns + n % columns) * turn + tile % turn;
        UnpackTile<kBits>(places, group + at * kTileBytes, to + n * row_bytes + tile * kTileBytes);
      }
    }
  });
}

}  // namespace

void CheckGpuWeights(const GpuWeights& w) {
  if (w.layout != 1 && w.layout != 2) {
    Fail(Code::kInvalidArgument, "attribute 'weight_prepacked': expected 0, 1 or 2, found ", w.layout);
  }
  if (w.layout == 2 && w.bits == 2)
    Fail(Code::kInvalidArgument, "attribute 'weight_prepacked': expected 0 or 1 with weights of 2 bits, found 2");
  if (w.block != 32 && w.block != 64 && w.block != 128) {
    Fail(Code::kInvalidArgument, "expected a block_size of 32, 64 or 128 for weights packed for a GPU, found ",
         w.block);
  }
  const std::int64_t columns = w.layout == 1 ? 16 / w.bits : 1;
  if (w.n % columns != 0 || w.k % kRowsPerTurn != 0) {
    Fail(Code::kInvalidArgument, "expected multiples of ", columns, " and ", kRowsPerTurn,
         " for N and K of weights of ", w.bits, " bits packed for a GPU, found ", w.n, " and ", w.k);
  }
}

void UnpackGpuWeights(const GpuWeights& w, const std::uint8_t* from, std::uint8_t* to, Parallel& parallel) {
  if (w.bits == 8) {
    Unpack<8>(w, from, to, parallel);
  } else if (w.bits == 4) {
    Unpack<4>(w, from, to, parallel);
  } else {
    Unpack<2>(w, from, to, parallel);
  }
}

}  // namespace sardonyx::ops
