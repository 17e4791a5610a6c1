// kernels/gemm/clipped_product.cpp - blocks of rows, their windows, and the panels that they are multiplied by.
#include "kernels/gemm/clipped_product.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "kernels/gemm/tile_f32.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;
using std::uint32_t;

constexpr int64_t kPanelsAhead = 5;  // that a tile fetches where a panel has no other
constexpr int64_t kBlockRows = kClippedRows;
constexpr int64_t kShortestBlock = 12;  // rows of a block, where more blocks would help the threads
constexpr int64_t kFewestPanels = 4;    // of a unit: a block may be clipped anew for each
constexpr int64_t kUnitsPerThread = 8;
constexpr int64_t kSerialWork = int64_t{1} << 20;
constexpr int64_t kMostThreads = 63;
constexpr int64_t kRemainderShare = 4;      // one in so many groups may have a remainder
constexpr int64_t kMergedShare = 16;        // ... where groups are merged, which saves less
constexpr int64_t kFewestMergedPanels = 8;  // fewer save less than clipping the rows costs
constexpr int64_t kSampledRows = 2;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t RoundUp64(int64_t bytes) { return (bytes + 63) & ~int64_t{63}; }

// A block of rows as A', ready to be multiplied.
struct Block {
  int64_t index = -1, first = 0, rows = 0;
  bool is_clipped = true;
  uint32_t shift = 0;
  const ClippedGroup *above[kClippedRows + 1], *below[kClippedRows + 1];
  uint32_t zeros[kClippedRows], terms[kClippedRows];
};

// The memory of a worker: the block that it has read, its A', remainders above and below.
struct Slot {
  Slot(int64_t rows, int64_t groups) {
    block_rows = std::min(rows, kBlockRows);
    capacity = block_rows * groups / kRemainderShare + 8;
    const int64_t list = RoundUp64(capacity * static_cast<int64_t>(sizeof(ClippedGroup)));
    a = RoundUp64(sizeof(Block));
    above = a + RoundUp64(block_rows * groups * 4 + 64);
    below = above + list;
    total = below + list;
  }
  int64_t block_rows, capacity, a, above, below, total;
};

class Loops {
 public:
  Loops(const ClippedProduct& p, std::byte* scratch, int64_t threads)
      : p_(p),
        t_(*p.tiles),
        scratch_(scratch),
        slot_(p.rows, p.groups),
        panels_(CeilDiv(p.columns, t_.columns)),
        row_bytes_(p.groups * 4),
        panel_bytes_((p.panel_groups != 0 ? p.panel_groups : p.groups) * t_.columns * 4),
        merges_(ClippedLimits(p.limits).merges()),
        element_(p.common.result == Int8Result::kBytes ? 1 : 4),
        is_wide_(merges_ && (p.is_wide == nullptr || panels_ < kFewestMergedPanels ||
                             p.is_wide->load(std::memory_order_relaxed))) {
    const int64_t wanted = threads > 1 ? kUnitsPerThread * threads : 1;
    blocks_ = CeilDiv(p.rows, kBlockRows);
    chunks_ = std::clamp<int64_t>(CeilDiv(wanted, blocks_), 1, CeilDiv(panels_, kFewestPanels));
    if (blocks_ * chunks_ < wanted)
      blocks_ = std::max(blocks_, std::min(CeilDiv(wanted, chunks_), CeilDiv(p.rows, kShortestBlock)));
  }

  int64_t UnitCount() const { return blocks_ * chunks_; }

  // To be called before the first Run with a slot.
  void Clear(int64_t slot) const { new (scratch_ + slot * slot_.total) Block; }

  void Run(int64_t begin, int64_t end, int64_t slot) const {
    std::byte* memory = scratch_ + slot * slot_.total;
    Block& block = *reinterpret_cast<Block*>(memory);
    for (int64_t unit = begin; unit < end; ++unit) {
      if (block.index != unit / chunks_) Read(unit / chunks_, memory, &block);
      const int64_t chunk = unit % chunks_;
      const int64_t first = panels_ * chunk / chunks_, last = panels_ * (chunk + 1) / chunks_;
      for (int64_t panel = first; panel < last; ++panel) RunPanel(block, memory, panel, panel + 1 < panels_);
    }
  }

 private:
  void Read(int64_t index, std::byte* memory, Block* block) const {
    block->index = index;
    block->first = p_.rows * index / blocks_;
    block->rows = p_.rows * (index + 1) / blocks_ - block->first;
    block->is_clipped = !is_wide_.load(std::memory_order_relaxed);
    if (block->is_clipped && !Clip(Shift(memory, *block), Limits(), memory, block)) {
      block->is_clipped = false;
      is_wide_.store(true, std::memory_order_relaxed);
      if (merges_) p_.is_wide->store(true, std::memory_order_relaxed);
    }
    if (block->is_clipped) return;
    Clip(0, nullptr, memory, block);
  }

  const std::uint8_t* Limits() const { return ClippedLimits(p_.limits).values() + 4 * p_.first_group; }

  // The lower end of the window: the mean of some rows lies in its middle.
  int Shift(std::byte* memory, const Block& block) const {
    const int limit = ClippedLimits(p_.limits).mean();
    if (limit == 255) return 0;
    ClippedWindow window = Window(0, nullptr, memory);
    uint32_t sum = 0;
    int64_t sampled = 0;
    for (; sampled < std::min(kSampledRows, block.rows); ++sampled)
      sum += ReadRow(block.first + block.rows * sampled / kSampledRows, 0, memory, &window);
    const int64_t values = std::max<int64_t>(1, sampled * p_.k);
    return static_cast<int>(std::clamp<int64_t>(sum / values - limit / 2, 0, std::min(128, 255 - limit)));
  }

  ClippedWindow Window(int shift, const std::uint8_t* limits, std::byte* memory) const {
    auto* above = reinterpret_cast<ClippedGroup*>(memory + slot_.above);
    auto* below = reinterpret_cast<ClippedGroup*>(memory + slot_.below);
    const std::uint8_t flip = p_.a_signed ? 0x80 : 0;
    const int64_t room =
        merges_ ? std::max<int64_t>(8, slot_.capacity * kRemainderShare / kMergedShare) : slot_.capacity;
    return {shift, limits, flip, {above, above + room}, {below, below + room}, false};
  }

  uint32_t ReadRow(int64_t row, int64_t in_block, std::byte* memory, ClippedWindow* window) const {
    ClippedRow out(*t_.clipped, reinterpret_cast<std::uint8_t*>(memory + slot_.a) + in_block * row_bytes_, in_block,
                   window);
    p_.read(row, out);
    return out.sum();
  }

  // False where too many values lie outside the window.
  bool Clip(int shift, const std::uint8_t* limits, std::byte* memory, Block* block) const {
    ClippedWindow window = Window(shift, limits, memory);
    block->shift = static_cast<uint32_t>(shift);
    for (int64_t r = 0; r < block->rows; ++r) {
      block->above[r] = window.above.next, block->below[r] = window.below.next;
      const uint32_t sum = ReadRow(block->first + r, r, memory, &window);
      if (window.is_full) return false;
      const uint32_t zero = p_.row_zeros != nullptr ? p_.row_zeros[block->first + r] : p_.a_zero;
      block->zeros[r] = zero - block->shift;
      block->terms[r] = sum - static_cast<uint32_t>(p_.k) * zero;
    }
    block->above[block->rows] = window.above.next, block->below[block->rows] = window.below.next;
    return true;
  }

  void RunPanel(const Block& block, const std::byte* memory, int64_t panel, bool has_next) const {
    const int64_t column = panel * t_.columns, parts = CeilDiv(block.rows, t_.rows);
    alignas(64) uint32_t terms[kClippedColumns] = {};
    alignas(64) std::byte strip[kClippedRows * kClippedColumns * 4];
    TileInt8Args t = p_.common;
    t.a_row_bytes = row_bytes_;
    static constexpr std::ptrdiff_t kNoOffset = 0;
    t.tap_offsets = &kNoOffset, t.taps = 1, t.k_groups = p_.groups;
    t.b = p_.panels + panel * panel_bytes_;
    t.columns = std::min<int64_t>(t_.columns, p_.columns - column);
    const uint32_t zero = p_.row_zeros != nullptr ? 0 : p_.a_zero - block.shift;
    for (int64_t j = 0; j < t.columns; ++j)
      terms[j] = (p_.bias != nullptr ? static_cast<uint32_t>(p_.bias[column + j]) : 0) - zero * p_.b_sums[column + j];
    t.column_terms = terms;
    t.b_sums = p_.b_sums + column;
    t.b_zero = p_.b_zero != nullptr ? p_.b_zero + column : nullptr;
    t.scales = p_.scales != nullptr ? p_.scales + column : nullptr;
    t.bias = p_.float_bias != nullptr ? p_.float_bias + column : nullptr;
    if (p_.plane != 0) t.c_row_stride = kClippedColumns;
    // The first tiles fetch the next panel, each a part of every group; a single one is done long before the memory
    // answers, and fetches one further ahead.
    const int64_t fetchers = !has_next ? 0 : parts >= 8 ? 8 : parts >= 4 ? 4 : parts >= 2 ? 2 : 1;
    const int64_t ahead = std::min(parts == 1 ? kPanelsAhead : 1, panels_ - 1 - panel);
    const auto* own = reinterpret_cast<const char*>(t.b);
    for (int64_t i = 0; i < parts; ++i) {
      const int64_t row = block.rows * i / parts, count = block.rows * (i + 1) / parts - row;
      t.prefetch_step = i < fetchers ? t_.columns * 4 / fetchers : 0;
      t.prefetch = i < fetchers ? own + ahead * panel_bytes_ + i * t.prefetch_step * t.k_groups : own;
      RunTile(block, memory, row, count, column, strip, &t);
    }
    if (p_.plane != 0) StoreColumns(block, strip, column, t.columns);
  }

  void RunTile(const Block& block, const std::byte* memory, int64_t row, int64_t count, int64_t column,
               std::byte* strip, TileInt8Args* t) const {
    const int64_t half = (count + 1) / 2;
    t->a0 = memory + slot_.a + row * row_bytes_;
    t->a1 = t->a0 + half * row_bytes_;
    const int64_t at = (block.first + row) * t->c_row_stride + column;
    t->c0 = p_.plane != 0 ? strip + row * kClippedColumns * element_ : p_.c + at * element_;
    t->c1 = static_cast<std::byte*>(t->c0) + half * t->c_row_stride * element_;
    if (p_.z != nullptr) t->z0 = p_.z + at, t->z1 = t->z0 + half * t->c_row_stride;
    t->a_zero = p_.row_zeros != nullptr ? block.zeros + row : nullptr;
    t->row_terms0 = block.terms + row, t->row_terms1 = t->row_terms0 + half;
    t->row_scales = p_.row_scales != nullptr ? p_.row_scales + block.first + row : nullptr;
    t->start = nullptr;
    if (!block.is_clipped) return merges_ ? t_.Run(*t, count) : t_.RunAny(*t, count);
    const ClippedGroup *above = block.above[row], *above_end = block.above[row + count];
    const ClippedGroup *below = block.below[row], *below_end = block.below[row + count];
    alignas(64) uint32_t start[kClippedRows * kClippedColumns];  // by rows of the block
    if (above != above_end || below != below_end) {
      uint32_t* first = start + row * kClippedColumns;
      for (int64_t r = 0; r < count; ++r)
        std::memcpy(first + r * kClippedColumns, t->column_terms, 4 * kClippedColumns);
      t_.clipped->add(above, above_end, t->b, start);
      t_.clipped->subtract(below, below_end, t->b, start);
      t->start = first;
    }
    merges_ ? t_.RunMerged(*t, count) : t_.Run(*t, count);
  }

  void StoreColumns(const Block& block, const std::byte* strip, int64_t column, int64_t columns) const {
    std::byte* c = p_.c + (column * p_.plane + block.first) * element_;
    if (element_ == 1) {
      t_.transpose(block.rows, columns, reinterpret_cast<const std::uint8_t*>(strip), kClippedColumns,
                   reinterpret_cast<std::uint8_t*>(c), p_.plane);
    } else {  // moves bits, whatever they mean
      BestTilesF32().transpose(block.rows, columns, reinterpret_cast<const float*>(strip), kClippedColumns,
                               reinterpret_cast<float*>(c), p_.plane);
    }
  }

  const ClippedProduct& p_;
  const TileInt8Set& t_;
  std::byte* scratch_;
  Slot slot_;
  int64_t panels_, row_bytes_, panel_bytes_;
  bool merges_;  // products of two groups (clipped_rows.h)
  int64_t element_;
  int64_t blocks_ = 1, chunks_ = 1;
  // A block had too many values outside its window: later ones need not try. Sums are the same either way.
  mutable std::atomic<bool> is_wide_;
};

}  // namespace

void ClippedLimits::Write(const ClippedRowsSet& loops, const std::byte* panels, int64_t count, int64_t panel_bytes,
                          int64_t groups, std::byte* at, Parallel& parallel) {
  auto* limits = reinterpret_cast<std::uint8_t*>(at + kHead);
  std::memset(at, 0, Bytes(groups));
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 16) / std::max<int64_t>(1, count * 64));
  const auto find = [&](int64_t merged) {
    parallel.For(CeilDiv(groups, merged), grain, [&](int64_t begin, int64_t end) {
      const int64_t first = begin * merged, last = std::min(end * merged, groups);
      loops.find_limits(panels + first * 4 * kClippedColumns, count, panel_bytes, last - first, merged,
                        limits + 4 * first);
    });
  };
  find(1);
  const bool merges = groups > 1 && std::all_of(limits, limits + 4 * groups, [](int limit) { return limit == 255; });
  if (merges) find(2);
  int64_t sum = 0;
  for (int64_t i = 0; i < 4 * groups; ++i) sum += limits[i];
  const uint32_t head[] = {static_cast<uint32_t>(groups == 0 ? 255 : sum / (4 * groups)), merges ? 1u : 0u};
  std::memcpy(at, head, sizeof head);
}

std::size_t ClippedScratchBytes(int64_t rows, int64_t groups, int threads) {
  const int64_t slots = std::clamp<int64_t>(threads, 1, kMostThreads);
  return static_cast<std::size_t>(slots * Slot(rows, groups).total);
}

void RunClippedProduct(const ClippedProduct& p, Parallel& parallel, std::byte* scratch) {
  if (p.rows == 0 || p.columns == 0) return;
  const int64_t threads = std::min<int64_t>(parallel.ThreadCount(), kMostThreads);
  const bool small = std::max<int64_t>(p.rows, 4) * p.columns * p.groups * 4 < kSerialWork;
  const Loops loops(p, scratch, small ? 1 : threads);
  const int64_t units = loops.UnitCount();
  if (threads == 1 || small) {
    loops.Clear(0);
    return loops.Run(0, units, 0);
  }
  for (int64_t slot = 0; slot < threads; ++slot) loops.Clear(slot);
  std::atomic<std::uint64_t> used = 0;  // a bit for each slot
  const auto claim = [&] {
    std::uint64_t now = used.load(std::memory_order_relaxed);
    while (true) {
      const std::uint64_t free = ~now & (now + 1);  // the lowest bit that is not set
      if (free == 0 || free >> threads != 0) {      // more callers than slots
        now = used.load(std::memory_order_relaxed);
        continue;
      }
      if (used.compare_exchange_weak(now, now | free, std::memory_order_acquire)) return free;
    }
  };
  parallel.For(units, 1, [&](int64_t begin, int64_t end) {
    const std::uint64_t slot = claim();
    loops.Run(begin, end, __builtin_ctzll(slot));
    used.fetch_and(~slot, std::memory_order_release);
  });
}

}  // namespace sardonyx::kernels
