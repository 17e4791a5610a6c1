// kernels/gemm/clipped_rows.h - bytes of A' made small enough for sums of two products in 16 bits, and a list of what
// was taken from them.
//
// CPUs without VNNI multiply bytes fastest by an instruction that sums two products in 16 bits and saturates. If two
// weights of one sign that meet in such a sum reach P together, sums of values up to 32767 / P are exact: 127 at least,
// whatever the weights are. So each pair of values has a limit, given by the weights of all columns, A' is
// clip(a - shift) within [0, limit], and the few values outside that window (a shift is chosen for each block of rows)
// leave a remainder, above or below, that is multiplied on its own: again four bytes at a time, none above 128. All
// sums stay exact.
//
// Where all weights are small (7 bits: no pair reaches more than 128), no value would be too large. Then the products
// of two groups are added in 16 bits before they are widened, which saves an instruction in four, and limits are those
// of four weights that meet in a sum.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/dispatch.h"

namespace sardonyx::kernels {

inline constexpr std::int64_t kClippedRows = 64;     // of a block, at most
inline constexpr std::int64_t kClippedColumns = 16;  // of a panel

// Remainders of one group of four values: where = group * kClippedRows | row of the block, which is at once the offset
// of the group in a panel.
struct ClippedGroup {
  std::uint32_t where;
  std::uint32_t values;
};

struct ClippedList {
  ClippedGroup* next;
  const ClippedGroup* end;
};

struct ClippedWindow {
  int shift;                   // 0..128
  const std::uint8_t* limits;  // of all values of a row, 31 bytes more are read; null: nothing is too large
  std::uint8_t flip;           // exclusive-ored to values first: 128 for signed ones
  ClippedList above;           // remainders to be added
  ClippedList below;           // remainders to be subtracted
  bool is_full;                // set where a list had no room: the rows are of no use
};

struct ClippedRowsSet {
  // Writes A' of n values from `group` on, zeros up to the end of a vector (`out` has room for n + 31 bytes), and
  // returns the sum of the n values before clipping.
  std::uint32_t (*clip)(const std::uint8_t* x, std::int64_t n, std::int64_t group, std::int64_t row, std::uint8_t* out,
                        ClippedWindow* window);
  // Adds the products of remainders with one panel to sums[row][kClippedColumns], or subtracts them.
  void (*add)(const ClippedGroup* first, const ClippedGroup* last, const std::byte* panel, std::uint32_t* sums);
  void (*subtract)(const ClippedGroup* first, const ClippedGroup* last, const std::byte* panel, std::uint32_t* sums);
  // Writes the limits of the values of `groups` groups, given `count` panels of that many bytes each, where `merged` (1
  // or 2) groups next to each other share sums.
  void (*find_limits)(const std::byte* panels, std::int64_t count, std::int64_t panel_bytes, std::int64_t groups,
                      std::int64_t merged, std::uint8_t* limits);
};

// The limits of the values of a row as they follow packed weights: their mean, whether groups 2i and 2i + 1 share sums,
// then one a value.
class ClippedLimits {
 public:
  static constexpr std::int64_t kHead = 64;
  static std::size_t Bytes(std::int64_t groups) {
    return static_cast<std::size_t>((kHead + 4 * groups + 32 + 63) / 64 * 64);
  }
  explicit ClippedLimits(const std::byte* at) : at_(at) {}
  int mean() const { return static_cast<int>(*reinterpret_cast<const std::uint32_t*>(at_)); }
  // Then values of any size need no limits where groups do not share sums.
  bool merges() const { return reinterpret_cast<const std::uint32_t*>(at_)[1] != 0; }
  const std::uint8_t* values() const { return reinterpret_cast<const std::uint8_t*>(at_ + kHead); }
  static void Write(const ClippedRowsSet& loops, const std::byte* panels, std::int64_t count, std::int64_t panel_bytes,
                    std::int64_t groups, std::byte* at, Parallel& parallel);

 private:
  const std::byte* at_;
};

#define SDX_DECLARE(isa)                        \
  namespace isa {                               \
  extern const ClippedRowsSet kClippedRowLoops; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

}  // namespace sardonyx::kernels
