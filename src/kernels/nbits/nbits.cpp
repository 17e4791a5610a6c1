// kernels/nbits/nbits.cpp - packs weights of few bits, and loops over their panels.
//
// With 8-bit activations (where allowed, and the CPU has VNNI or AVX2), or with at most kNBitsRows rows of floats,
// the panels are streamed once per group of rows. With more rows of floats, blocks of two panels are unpacked to floats
// for the f32 tile.
#include "kernels/nbits/nbits.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "base/small_float.h"
#include "kernels/gemm/tile_f32.h"
#include "kernels/nbits/nbits_tile.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

constexpr int64_t kSerialWork = 1 << 18;  // multiplications below which threads cost more than they give
constexpr int64_t kPairRows = 64;         // with fewer rows one stream of weights is faster than two
constexpr int64_t kWideK = 1024;          // about as many rows of widened weights at a time

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t RoundUp(int64_t a, int64_t b) { return CeilDiv(a, b) * b; }

const NBitsSet& SetOf(const NBitsSet* set) { return set != nullptr ? *set : NBitsOf(); }

int64_t GroupsOf(const NBitsShape& s) { return s.block * s.bits / 32; }
// Scales of a block, and offsets.
int64_t ScaleBytes(const NBitsShape& s, int64_t lanes) {
  return (s.has_zeros ? 2 : 1) * (s.half_scales ? 2 : 4) * lanes;
}
int64_t BlockBytes(const NBitsShape& s, int64_t lanes) { return ScaleBytes(s, lanes) + GroupsOf(s) * 4 * lanes; }
int64_t PanelBytes(const NBitsShape& s, int64_t lanes) { return s.blocks() * BlockBytes(s, lanes); }

// A group of a column: 32 / bits weights that follow each other from the low bits of `q`, spread over the bytes of a
// word: weight 4 i + j goes to the bits from bits * i of byte j.
template <int kBits>
std::uint32_t GroupWord(std::uint32_t q) {
  if constexpr (kBits == 4) {
    const auto bytes = [](std::uint32_t four) {  // of four weights in 16 bits
      four = (four | four << 8) & 0x00FF00FFu;
      return (four | four << 4) & 0x0F0F0F0Fu;
    };
    return bytes(q & 0xFFFFu) | bytes(q >> 16) << 4;
  } else if constexpr (kBits == 2) {  // i and j change places: pairs of weights, then pairs of pairs
    std::uint32_t swap = (q ^ q >> 6) & 0x00CC00CCu;
    q ^= swap ^ swap << 6;
    swap = (q ^ q >> 12) & 0x0000F0F0u;
    return q ^ swap ^ swap << 12;
  } else {
    return q;
  }
}

// The groups of one block of a column, to every `lanes`th word.
template <int kBits>
void SpreadBlock(const std::uint8_t* q, int64_t groups, int64_t lanes, std::uint32_t* words) {
  for (int64_t g = 0; g < groups; ++g) {
    const std::uint8_t* four = q + g * 4;
    const std::uint32_t low_first = static_cast<std::uint32_t>(four[0]) | static_cast<std::uint32_t>(four[1]) << 8 |
                                    static_cast<std::uint32_t>(four[2]) << 16 |
                                    static_cast<std::uint32_t>(four[3]) << 24;
    words[g * lanes] = GroupWord<kBits>(low_first);
  }
}

// The distance of a zero point from the middle of the range.
float Distance(const NBitsShape& s, const NBitsWeights& w, int64_t i) {
  return w.zeros[i] - static_cast<float>(1 << (s.bits - 1));
}

bool FitsHalf(float value) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(Half(value))) == std::bit_cast<std::uint32_t>(value);
}

// Writes the scale and the offset of block i, counted over all columns, to one lane.
void PackScale(const NBitsShape& s, const NBitsWeights& w, int64_t i, int64_t lanes, int64_t lane, std::byte* to) {
  if (s.half_scales) {
    auto* halves = reinterpret_cast<std::uint16_t*>(to);
    halves[lane] = Half::FromFloat(w.scales[i]);
    if (s.has_zeros) halves[lanes + lane] = Half::FromFloat(Distance(s, w, i));
    return;
  }
  auto* floats = reinterpret_cast<float*>(to);
  floats[lane] = w.scales[i];
  if (s.has_zeros) floats[lanes + lane] = Distance(s, w, i) * w.scales[i];
}

struct Plan {
  bool int8 = false;
  bool widen = false;
  int64_t side_by_side = 1;  // panels of one unit of work
  int64_t panels = 0;
  int64_t threads = 1;
  int64_t a_row_bytes = 0;     // of a row of bytes
  int64_t prepared_bytes = 0;  // rows of bytes, scales, sums and starts
  int64_t wide_blocks = 0;     // blocks of K that are widened at a time
  int64_t slot_floats = 0;     // widened weights of one thread
};

Plan MakePlan(const NBitsArgs& g, int threads) {
  const NBitsSet& set = SetOf(g.set);
  Plan p;
  p.panels = CeilDiv(g.shape.n, set.lanes);
  p.int8 = g.int8_activations && set.has_int8;
  if (p.int8 && set.has_pairs && g.m >= kPairRows) p.side_by_side = 2;
  p.widen = !p.int8 && g.m > kNBitsRows && !g.same_rows;
  p.threads = g.m * g.shape.n * g.shape.k < kSerialWork ? 1 : std::max(1, threads);
  const int64_t blocks = g.shape.blocks();
  // Loads of whole vectors may read past the last block.
  p.a_row_bytes = RoundUp(blocks * g.shape.block * (p.int8 ? 1 : 4), 64) + 64;
  if (!p.widen) p.prepared_bytes = RoundUp(g.m * (p.a_row_bytes + 12 * blocks), 64);
  if (p.widen) {
    p.wide_blocks = std::clamp<int64_t>(kWideK / g.shape.block, 1, std::max<int64_t>(1, blocks));
    p.slot_floats = p.wide_blocks * g.shape.block * 2 * set.lanes;
  }
  return p;
}

class Product {
 public:
  Product(const NBitsArgs& g, const Plan& plan, std::byte* scratch)
      : g_(g),
        plan_(plan),
        set_(SetOf(g.set)),
        blocks_(g.shape.blocks()),
        panel_bytes_(PanelBytes(g.shape, set_.lanes)),
        scratch_(scratch) {
    a_ = scratch;
    scales_ = reinterpret_cast<float*>(scratch + g.m * plan.a_row_bytes);
    sums_ = scales_ + g.m * blocks_;
    starts_ = reinterpret_cast<std::int32_t*>(sums_ + g.m * blocks_);
  }

  void Run(Parallel& parallel) {
    if (!plan_.widen) {
      ForRange(parallel, g_.m, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, g_.shape.k)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t m = begin; m < end; ++m) PrepareRow(m);
               });
      const int64_t units = CeilDiv(plan_.panels, plan_.side_by_side);
      return ForRange(parallel, units, std::max<int64_t>(1, units / (4 * plan_.threads)),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t unit = begin; unit < end; ++unit) {
                          const int64_t panel = unit * plan_.side_by_side;
                          RunPanels(panel, std::min(plan_.side_by_side, plan_.panels - panel));
                        }
                      });
    }
    const int64_t pairs = CeilDiv(plan_.panels, 2), slots = std::min(pairs, plan_.threads);
    ForRange(parallel, slots, 1, [&](int64_t begin, int64_t end) {
      for (int64_t s = begin; s < end; ++s) {
        float* wide = reinterpret_cast<float*>(scratch_) + s * plan_.slot_floats;
        for (int64_t pair = pairs * s / slots; pair < pairs * (s + 1) / slots; ++pair) RunWide(pair, wide);
      }
    });
  }

 private:
  template <typename F>
  void ForRange(Parallel& parallel, int64_t count, int64_t grain, F body) {
    plan_.threads == 1 ? body(int64_t{0}, count) : parallel.For(count, grain, body);
  }

  void PrepareRow(int64_t m) {
    const float* a = g_.a + m * g_.lda;
    std::byte* row = a_ + m * plan_.a_row_bytes;
    if (plan_.int8) {
      set_.round_row(a, g_.shape.k, g_.shape.block, set_.middle[NBitsIndex(g_.shape.bits)],
                     reinterpret_cast<std::int8_t*>(row), scales_ + m, sums_ + m, starts_ + m, g_.m);
      return;
    }
    std::memcpy(row, a, static_cast<std::size_t>(g_.shape.k) * sizeof(float));
    std::memset(row + g_.shape.k * 4, 0, static_cast<std::size_t>(blocks_ * g_.shape.block - g_.shape.k) * 4);
    if (g_.shape.has_zeros) set_.sum_row(a, g_.shape.k, g_.shape.block, sums_ + m, g_.m);
  }

  // One panel or two.
  void RunPanels(int64_t panel, int64_t count) const {
    const int index = NBitsIndex(g_.shape.bits);
    NBitsTileArgs t;
    t.panel = g_.packed + panel * panel_bytes_;
    t.blocks = blocks_, t.groups = GroupsOf(g_.shape);
    t.has_offsets = g_.shape.has_zeros, t.half_scales = g_.shape.half_scales;
    t.a_row_bytes = plan_.a_row_bytes, t.a_block_stride = g_.m;
    t.y_stride = g_.ldy;
    t.panel_bytes = panel_bytes_;
    t.columns = std::min(count * set_.lanes, g_.shape.n - panel * set_.lanes);
    t.bias = g_.bias != nullptr ? g_.bias + panel * set_.lanes : nullptr;
    const int64_t most = count == 2 ? kNBitsRowsOfPairs : plan_.int8 ? kNBitsRows : set_.f32_rows;
    NBitsTileFn* const* functions = set_.f32[index];
    if (plan_.int8) functions = count == 2 ? set_.pairs[index] : set_.int8[index];
    const int64_t parts = CeilDiv(g_.m, most);
    for (int64_t i = 0; i < parts; ++i) {
      const int64_t m = g_.m * i / parts, rows = g_.m * (i + 1) / parts - m;
      t.a = a_ + m * plan_.a_row_bytes;
      t.a_scales = scales_ + m, t.a_sums = sums_ + m, t.a_starts = starts_ + m;
      t.y = g_.y + m * g_.ldy + panel * set_.lanes;
      functions[rows - 1](t);
    }
  }

  void RunWide(int64_t pair, float* wide) const {
    const TileF32Set& tiles = g_.tiles != nullptr ? *g_.tiles : BestTilesF32();
    const int64_t nr = 2 * set_.lanes, column = pair * nr, groups = GroupsOf(g_.shape);
    for (int64_t block = 0; block < blocks_; block += plan_.wide_blocks) {
      const int64_t count = std::min(plan_.wide_blocks, blocks_ - block), k0 = block * g_.shape.block;
      for (int64_t side = 0; side < 2; ++side) {
        const int64_t panel = std::min(2 * pair + side, plan_.panels - 1);
        set_.widen[NBitsIndex(g_.shape.bits)](
            g_.packed + panel * panel_bytes_ + block * BlockBytes(g_.shape, set_.lanes), count, groups,
            g_.shape.has_zeros, g_.shape.half_scales, wide + side * set_.lanes, nr);
      }
      TileF32Args t;
      t.k = std::min(count * g_.shape.block, g_.shape.k - k0);
      t.a_row_stride = g_.lda, t.b = wide, t.b_stride = nr;
      t.c_row_stride = t.residual_row_stride = g_.ldy;
      t.columns = std::min(nr, g_.shape.n - column);
      t.prefetch = reinterpret_cast<const char*>(wide);
      if (block == 0 && g_.bias != nullptr) t.bias_n = g_.bias + column;
      const int64_t parts = CeilDiv(g_.m, tiles.rows);
      for (int64_t i = 0; i < parts; ++i) {
        const int64_t m = g_.m * i / parts, rows = g_.m * (i + 1) / parts - m, half = (rows + 1) / 2;
        t.a0 = g_.a + m * g_.lda + k0, t.a1 = t.a0 + half * g_.lda;
        t.c0 = g_.y + m * g_.ldy + column, t.c1 = t.c0 + half * g_.ldy;
        if (block > 0) t.residual0 = t.c0, t.residual1 = t.c1;
        RunTileF32(tiles, t, rows, {});
      }
    }
  }

  const NBitsArgs& g_;
  const Plan& plan_;
  const NBitsSet& set_;
  int64_t blocks_, panel_bytes_;
  std::byte *scratch_, *a_;
  float *scales_, *sums_;
  std::int32_t* starts_;
};

}  // namespace

bool NBitsScalesFitHalf(const NBitsShape& shape, const NBitsWeights& weights, Parallel& parallel) {
  std::atomic<bool> fit{true};
  parallel.For(shape.n * shape.blocks(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && fit.load(std::memory_order_relaxed); ++i)
      if (!FitsHalf(weights.scales[i]) || (shape.has_zeros && !FitsHalf(Distance(shape, weights, i)))) fit = false;
  });
  return fit;
}

std::size_t NBitsPackedBytes(const NBitsShape& shape, const NBitsSet* set) {
  const int64_t lanes = SetOf(set).lanes;
  return static_cast<std::size_t>(CeilDiv(shape.n, lanes) * PanelBytes(shape, lanes));
}

void PackNBits(const NBitsShape& shape, const NBitsWeights& weights, std::byte* packed, Parallel& parallel,
               const NBitsSet* set) {
  const int64_t lanes = SetOf(set).lanes, blocks = shape.blocks(), groups = GroupsOf(shape);
  const int64_t blob = shape.block * shape.bits / 8;
  const auto spread = shape.bits == 2 ? SpreadBlock<2> : shape.bits == 4 ? SpreadBlock<4> : SpreadBlock<8>;
  parallel.For(CeilDiv(shape.n, lanes), 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      std::byte* to = packed + panel * PanelBytes(shape, lanes);
      for (int64_t i = 0; i < blocks; ++i, to += BlockBytes(shape, lanes)) {
        auto* words = reinterpret_cast<std::uint32_t*>(to + ScaleBytes(shape, lanes));
        const int64_t columns = std::min(lanes, shape.n - panel * lanes);
        if (columns < lanes) std::memset(to, 0, static_cast<std::size_t>(BlockBytes(shape, lanes)));
        for (int64_t lane = 0; lane < columns; ++lane) {
          const int64_t at = (panel * lanes + lane) * blocks + i;
          PackScale(shape, weights, at, lanes, lane, to);
          spread(weights.q + at * blob, groups, lanes, words + lane);
        }
      }
    }
  });
}

// Few rows, which are copied, may need more than many, for which weights are widened.
std::size_t NBitsScratchBytes(const NBitsArgs& args, int threads) {
  const auto bytes = [&](int64_t m) {
    NBitsArgs of = args;
    of.m = m;
    const Plan plan = MakePlan(of, threads);
    return static_cast<std::size_t>(plan.prepared_bytes + plan.threads * plan.slot_floats * 4);
  };
  return std::max(bytes(args.m), bytes(std::min<int64_t>(args.m, kNBitsRows)));
}

void MultiplyNBits(const NBitsArgs& args, Parallel& parallel, std::byte* scratch) {
  if (args.m == 0 || args.shape.n == 0) return;
  const Plan plan = MakePlan(args, parallel.ThreadCount());
  Product(args, plan, scratch).Run(parallel);
}

}  // namespace sardonyx::kernels
