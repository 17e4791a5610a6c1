// kernels/conv/strips.h - how the output positions of a convolution (f32 or 8-bit) are cut into strips and tiles.
//
// A strip is up to 128 pixels: part of a row of positions, or several short rows. A tile computes some of its pixels
// for one panel of output channels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/conv/implicit_gemm.h"

namespace sardonyx::kernels {

inline constexpr std::int64_t kStripPixels = 128;
inline constexpr std::int64_t kLeastPixels = 28;  // of a strip, where smaller ones would help the threads
inline constexpr std::int64_t kUnitsPerThread = 8;
inline constexpr std::int64_t kMostColumns = 32;  // nr of the widest tile

struct Strip {
  std::int64_t row, rows, column, columns;  // first row and column of positions, and how many
};

// The positions of a tile: `count` from (row, column) on, and as many from (second, column) on if that is not negative.
struct TilePositions {
  std::int64_t row, second, column, count;
  std::int64_t pixel;  // of the strip, where they begin
};

// `rows` rows of `width` positions for tiles of `tile_rows`, in at least `wanted` strips if they do not get too short
// by it; rows longer than half a strip only where `cuts_rows`.
class StripCut {
 public:
  StripCut(std::int64_t rows, std::int64_t width, std::int64_t tile_rows, std::int64_t wanted, bool cuts_rows)
      : rows_(rows), width_(width) {
    if (width > kStripPixels / 2) {
      segments_ = CeilDivide(width, kStripPixels);
      count_ = rows * segments_;
      while (cuts_rows && count_ < wanted && width / segments_ >= 2 * kLeastPixels) count_ = rows * ++segments_;
    } else {
      const std::int64_t together = 2 * width <= tile_rows ? 2 : 1;  // rows of a tile
      const std::int64_t share = CeilDivide(rows, wanted * together) * together;
      rows_per_strip_ = std::min(kStripPixels / width, std::max(share, CeilDivide(kLeastPixels, width)));
      count_ = CeilDivide(rows, rows_per_strip_);
    }
  }

  std::int64_t count() const { return count_; }

  Strip At(std::int64_t index) const {
    if (segments_ == 0) {
      const std::int64_t row = index * rows_per_strip_;
      return {row, std::min(rows_per_strip_, rows_ - row), 0, width_};
    }
    const std::int64_t s = index % segments_, first = width_ * s / segments_;
    return {index / segments_, 1, first, width_ * (s + 1) / segments_ - first};
  }

 private:
  std::int64_t rows_, width_;
  std::int64_t segments_ = 0;  // of a row; 0: a strip has several rows
  std::int64_t rows_per_strip_ = 1;
  std::int64_t count_ = 0;
};

// run(positions) for tiles of two rows each; false, and nothing done, where the strip's rows are too long for that.
template <typename Run>
bool ForTilesOfTwoRows(const Strip& strip, std::int64_t tile_rows, const Run& run) {
  if (2 * strip.columns > tile_rows) return false;
  std::int64_t pixel = 0;
  for (std::int64_t r = 0; r < strip.rows; r += 2) {
    const bool two = r + 1 < strip.rows;
    run(TilePositions{strip.row + r, two ? strip.row + r + 1 : -1, strip.column, strip.columns, pixel});
    pixel += two ? 2 * strip.columns : strip.columns;
  }
  return true;
}

// The next panel of weights, a part of which each of a unit's first tiles brings to the cache.
struct PanelFetch {
  const char* next = nullptr;
  std::int64_t fetchers = 0;  // tiles that fetch a part of it
  std::int64_t bytes = 0;     // of a part, per step of the sum
  std::int64_t tile = 0;      // tiles so far

  // For about `tiles` tiles; `step_bytes` of the panel for each step.
  static PanelFetch Plan(const void* next, std::int64_t tiles, std::int64_t step_bytes) {
    const std::int64_t fetchers = tiles >= 8 ? 8 : tiles >= 4 ? 4 : tiles >= 2 ? 2 : 0;
    return {static_cast<const char*>(next), fetchers, fetchers != 0 ? step_bytes / fetchers : 0, 0};
  }
  // What the next tile over `steps` fetches, step by step; `own`, which is there, where it is nothing.
  template <typename TileArgs>
  void Give(std::int64_t steps, const void* own, TileArgs* t) {
    const bool fetch = tile < fetchers;
    t->prefetch_step = fetch ? bytes : 0;
    t->prefetch = fetch ? next + tile * bytes * steps : static_cast<const char*>(own);
    ++tile;
  }
};

}  // namespace sardonyx::kernels
