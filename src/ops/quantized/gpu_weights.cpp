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

// The plain row whose number is at `row` in the permuted column.
std::int64_t PlainRow(std::int64_t row, int bits) {
  const std::int64_t tile = 128 / bits, quarter = tile / 4, at = row % tile;
  return row - at + at / quarter * 2 + at % quarter / 2 * 8 + at % 2;
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
  const std::int64_t in_word = 32 / w.bits, words = w.k / in_word, row_bytes = w.k * w.bits / 8;
  const std::int64_t columns = w.layout == 1 ? 16 / w.bits : 1;
  const std::int64_t turn = w.layout == 1 ? kRowsPerTurn / in_word : words;  // words of a column side by side
  const unsigned mask = (1u << w.bits) - 1;
  parallel.For(w.n, kGrain / w.k + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const std::uint8_t* group = from + n / columns * columns * row_bytes;
      std::uint8_t* row = to + n * row_bytes;
      for (std::int64_t i = 0; i < row_bytes; ++i) row[i] = 0;
      for (std::int64_t k = 0; k < w.k; ++k) {
        const std::int64_t word = k / in_word, place = k % in_word;
        const std::int64_t word_at = (word / turn * columns + n % columns) * turn + word % turn;
        const std::int64_t bit = (place / 2 + place % 2 * (in_word / 2)) * w.bits;  // even places first
        const unsigned value = (group[word_at * 4 + bit / 8] >> (bit % 8)) & mask;
        const std::int64_t plain = PlainRow(k, w.bits) * w.bits;
        row[plain / 8] = static_cast<std::uint8_t>(row[plain / 8] | value << (plain % 8));
      }
    }
  });
}

}  // namespace sardonyx::ops
