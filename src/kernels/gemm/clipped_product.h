// kernels/gemm/clipped_product.h - the loops around the integer tile for CPUs that have no exact dot product of bytes:
// blocks of rows of A are clipped (clipped_rows.h) into the second cache level and multiplied by panel after panel.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/function_ref.h"
#include "base/parallel.h"
#include "kernels/gemm/clipped_rows.h"
#include "kernels/gemm/tile_int8.h"

namespace sardonyx::kernels {

// Takes the values of a row, run after run; every run begins with a group of its own.
class ClippedRow {
 public:
  ClippedRow(const ClippedRowsSet& loops, std::uint8_t* out, std::int64_t row, ClippedWindow* window)
      : loops_(loops), out_(out), row_(row), window_(window) {}
  void Take(const std::uint8_t* x, std::int64_t n) {
    sum_ += loops_.clip(x, n, at_ / 4, row_, out_ + at_, window_);
    at_ += (n + 3) & ~std::int64_t{3};
  }
  std::uint32_t sum() const { return sum_; }

 private:
  const ClippedRowsSet& loops_;
  std::uint8_t* out_;
  std::int64_t row_, at_ = 0;
  std::uint32_t sum_ = 0;
  ClippedWindow* window_;
};

// sum[row, column] = bias[column] + sum over k of (a + flip - a_zero[row]) * (B' - b_zero[column]), where `flip` makes
// unsigned values of signed ones by adding 128.
struct ClippedProduct {
  const TileInt8Set* tiles = nullptr;  // one with `clipped`
  std::int64_t rows = 0, columns = 0;
  std::int64_t k = 0;       // values of a row
  std::int64_t groups = 0;  // of four values in a row of A'
  FunctionRef<void(std::int64_t row, ClippedRow& out)> read;
  bool a_signed = false;
  std::uint32_t a_zero = 0;                  // with 128 added if a_signed
  const std::uint32_t* row_zeros = nullptr;  // [rows] of them, or null
  const std::byte* panels = nullptr;         // [columns / nr][groups][nr]
  const std::byte* limits = nullptr;         // ClippedLimits of these panels
  // Where the rows are a part of what was packed: groups from one panel to the next (0: `groups`), and the first group,
  // an even one, that `panels` points to.
  std::int64_t panel_groups = 0, first_group = 0;
  const std::uint32_t* b_sums = nullptr;     // [columns]
  const std::uint32_t* b_zero = nullptr;     // [columns], or null: no such term
  const std::int32_t* bias = nullptr;        // [columns]; null: 0
  // What all tiles share: result, low, high, zero, sum. c_row_stride counts elements of a row of C.
  TileInt8Args common{};
  std::byte* c = nullptr;
  const std::uint8_t* z = nullptr;
  std::int64_t plane = 0;             // C lies column by column, so many elements apart; 0: row by row
  const float* scales = nullptr;      // [columns]
  const float* float_bias = nullptr;  // [columns]
  const float* row_scales = nullptr;  // [rows]
  // Groups are merged where there are limits for it and enough columns, until a block has too many values outside its
  // window. That is remembered here from one product to the next. Null: never merged.
  std::atomic<bool>* is_wide = nullptr;
};

std::size_t ClippedScratchBytes(std::int64_t rows, std::int64_t groups, int threads);
void RunClippedProduct(const ClippedProduct& product, Parallel& parallel, std::byte* scratch);

}  // namespace sardonyx::kernels
