// kernels/conv/winograd_int8.cpp - the loops of integer Winograd convolutions around transforms and tiles.
//
// A block of image tiles is transformed for all channels into V [position][tile][channel], which stays in the second
// cache level; then, for each panel of output channels, every position is multiplied by its weights, and the output
// transform finishes the panel. Threads take blocks. Where there are too few image tiles for that, V of the whole image
// is made first and threads take panels.
#include "kernels/conv/winograd_int8.h"

#include <algorithm>
#include <cstdlib>

#include "kernels/conv/implicit_gemm.h"
#include "kernels/gemm/tile_f32.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

constexpr int64_t kOutputs = kWinogradInt8Outputs, kPositions = kWinogradInt8Positions;
constexpr int64_t kChannelStep = 32;                 // whole vectors and panels on every ISA
constexpr int64_t kBlockBytes = int64_t{192} << 10;  // of V that shall stay in the second cache level
constexpr int64_t kPlaneGap = 96;                    // words, so that planes do not share sets of the cache
constexpr int64_t kMostBlockParts = 8;               // tiles of the product in a block
constexpr int64_t kSumLimit = int64_t{1} << 25;      // of sums that the transforms give back
constexpr int64_t kLargestInput = 255;               // less its zero point
// Packed, a pair of channels takes 72 bytes instead of 9. Five layers of 256 channels would double the time in which a
// ResNet-50 of bytes is created and take 24 MB, for 4 % of its runs' time: more than these pairs are for images that
// are large beside their weights.
constexpr int64_t kMostPairs = int64_t{128} * 128, kPairBytes = 72;
constexpr int64_t kWeightsPerImage = 10;    // bytes of weights for one of input and output, at most
constexpr int64_t kTransposedPixels = 256;  // at a time, where channels come first

constexpr Variant<WinogradInt8InFn> kIn[] = {SDX_VARIANTS(WinogradInt8In)};
constexpr Variant<WinogradInt8OutFn> kOut[] = {SDX_VARIANTS(WinogradInt8Out)};
constexpr Variant<WinogradInt8WeightsFn> kWeights[] = {SDX_VARIANTS(WinogradInt8Weight)};

std::size_t RoundUp64(int64_t bytes) { return (static_cast<std::size_t>(bytes) + 63) & ~std::size_t{63}; }

// How an image is cut, and where things lie in scratch.
struct Plan {
  Plan(const ConvShape& s, int threads, const TileInt8Set& tiles)
      : nr(tiles.columns), panels(s.out_channels / tiles.columns), tile_columns(CeilDivide(s.out[2], kOutputs)) {
    image_tiles = CeilDivide(s.out[1], kOutputs) * tile_columns;
    v_row = s.in_channels;
    const int64_t fit = kBlockBytes / (kPositions * v_row * 2) / tiles.rows;
    block = std::min(image_tiles, std::clamp<int64_t>(fit, 1, kMostBlockParts) * tiles.rows);
    by_panels = threads > 1 && panels >= threads && s.batch == 1 && image_tiles < 4 * threads * tiles.rows;
    blocks = CeilDivide(image_tiles, block);
    if (threads > 1 && !by_panels && s.batch == 1 && blocks < int64_t{4} * threads)
      blocks = std::min(CeilDivide(blocks, threads) * threads, image_tiles);
    v_tiles = by_panels ? image_tiles : CeilDivide(image_tiles, blocks);
    v_plane = v_tiles * v_row + kPlaneGap;
    m_tiles = by_panels ? block : v_tiles;
    m_plane = m_tiles * nr + kPlaneGap;
    const std::size_t v_bytes = RoundUp64(kPositions * v_plane * 2);
    m_bytes = RoundUp64(kPositions * m_plane * 4);
    slot = m_bytes + (by_panels ? 0 : v_bytes);
    shared = by_panels ? v_bytes : 0;
  }

  int64_t nr, panels, tile_columns, image_tiles = 0;
  int64_t block = 0, blocks = 0;  // tiles of a block at most (panels: of a pass), blocks of an image
  int64_t v_row = 0, v_tiles = 0, v_plane = 0, m_tiles = 0, m_plane = 0;  // elements
  bool by_panels = false;
  std::size_t m_bytes = 0, slot = 0, shared = 0;  // of M, of what a thread has for itself, of V of the whole image
};

// Tiles [begin, end) of an image.
struct TileSpan {
  int64_t image, begin, end;
};

class WinogradTask {
 public:
  WinogradTask(const ConvInt8Args& args, const Plan& plan, const TileInt8Set& tiles)
      : args_(args), s_(args.shape), p_(plan), tiles_(tiles), in_(Best(kIn, tiles.isa)), out_(Best(kOut, tiles.isa)) {
    finish_.result = args.result;
    finish_.c_row_stride = s_.out_channels;
    finish_.columns = plan.nr;
    finish_.SetBytes(args.y_signed, args.y_zero);
    finish_.sum = &args.sum;
  }

  // V of the tiles [begin, end) of an image; v: that of tile `first`.
  void Transform(int64_t image, int64_t begin, int64_t end, int64_t first, std::int16_t* v) const {
    WinogradInt8InArgs in;
    in.x = static_cast<const std::uint8_t*>(args_.x) + image * Product(s_.in) * s_.in_channels;
    in.x_signed = args_.x_signed, in.x_zero = args_.x_zero;
    in.in_rows = s_.in[1], in.in_columns = s_.in[2], in.channels = s_.in_channels;
    in.v_plane = p_.v_plane, in.v_row = p_.v_row;
    ForRuns(begin, end, [&](int64_t tile, int64_t count) {
      in.row = tile / p_.tile_columns * kOutputs - s_.pad_begin[1];
      in.column = tile % p_.tile_columns * kOutputs - s_.pad_begin[2];
      in.tiles = count;
      in.v = v + (tile - first) * p_.v_row;
      in_(in);
    });
  }

  // Outputs of the tiles of a span, whose V begins at v, of one panel. last: nothing follows in the weights that would
  // be worth fetching.
  void Panel(const TileSpan& span, const std::int16_t* v, int64_t panel, bool last, std::uint32_t* m) const {
    static constexpr std::ptrdiff_t kNoOffset = 0;
    const int64_t count = span.end - span.begin, chunk = s_.in_channels * p_.nr * 2;  // bytes
    const int64_t parts = CeilDivide(count, tiles_.rows), least = count / parts, longer = count % parts;
    const int64_t fetchers = parts >= 8 ? 8 : parts >= 4 ? 4 : parts >= 2 ? 2 : 1;
    TileInt8Args t{};
    t.result = Int8Result::kSums;
    t.a_row_bytes = p_.v_row * 2;
    t.tap_offsets = &kNoOffset, t.taps = 1, t.k_groups = s_.in_channels / 2;
    t.columns = t.c_row_stride = p_.nr;
    t.b = args_.packed_weights + panel * kPositions * chunk;
    for (int64_t position = 0; position < kPositions; ++position, t.b += chunk) {
      const bool fetch = !last || position + 1 < kPositions;
      const std::int16_t* a = v + position * p_.v_plane;
      std::uint32_t* c = m + position * p_.m_plane;
      for (int64_t part = 0; part < parts; ++part) {
        const int64_t rows = least + (part < longer ? 1 : 0), half = (rows + 1) / 2;
        t.a0 = reinterpret_cast<const std::byte*>(a), t.a1 = t.a0 + half * t.a_row_bytes;
        t.c0 = c, t.c1 = c + half * p_.nr;
        const bool fetches = fetch && part < fetchers;
        t.prefetch_step = fetches ? p_.nr * 4 / fetchers : 0;
        t.prefetch = reinterpret_cast<const char*>(t.b) + (fetches ? chunk + part * chunk / fetchers : 0);
        tiles_.Run(t, rows);
        a += rows * p_.v_row, c += rows * p_.nr;
      }
    }
    ForRuns(span.begin, span.end, [&](int64_t tile, int64_t tiles) {
      Finish({span.image, tile, tile + tiles}, m + (tile - span.begin) * p_.nr, panel);
    });
  }

 private:
  // f(first tile, how many) for the pieces of [begin, end) that lie in one row of tiles.
  template <typename F>
  void ForRuns(int64_t begin, int64_t end, F f) const {
    for (int64_t tile = begin; tile < end;) {
      const int64_t count = std::min(end - tile, p_.tile_columns - tile % p_.tile_columns);
      f(tile, count);
      tile += count;
    }
  }

  // The output transform of a run of tiles of one row.
  void Finish(const TileSpan& span, const std::uint32_t* m, int64_t panel) const {
    const int64_t tiles = span.end - span.begin, channel = panel * p_.nr;
    const int64_t row = span.begin / p_.tile_columns * kOutputs, column = span.begin % p_.tile_columns * kOutputs;
    WinogradInt8OutArgs out{};
    out.m = m, out.m_plane = p_.m_plane;
    out.tiles = tiles;
    out.rows = std::min(kOutputs, s_.out[1] - row), out.columns = std::min(tiles * kOutputs, s_.out[2] - column);
    out.bias = args_.bias != nullptr ? args_.bias + channel : nullptr;
    out.result = finish_;
    out.result.scales = args_.scales != nullptr ? args_.scales + channel : nullptr;
    const int64_t at = ((span.image * s_.out[1] + row) * s_.out[2] + column) * s_.out_channels + channel;
    out.result.c0 = static_cast<std::byte*>(args_.y) + at * (args_.result == Int8Result::kBytes ? 1 : 4);
    if (args_.sum.z != nullptr) out.result.z0 = static_cast<const std::uint8_t*>(args_.sum.z) + at;
    out.row_stride = s_.out[2] * s_.out_channels;
    out_(out);
  }

  const ConvInt8Args& args_;
  const ConvShape& s_;
  const Plan& p_;
  const TileInt8Set& tiles_;
  WinogradInt8InFn* in_;
  WinogradInt8OutFn* out_;
  TileInt8Args finish_{};
};

// Threads take blocks.
void RunBlocks(const WinogradTask& task, const Plan& p, int64_t images, Parallel& parallel, std::byte* slots) {
  const int64_t units = images * p.blocks, parts = std::min<int64_t>(parallel.ThreadCount(), units);
  parallel.For(parts, 1, [&](int64_t part_begin, int64_t part_end) {
    for (int64_t part = part_begin; part < part_end; ++part) {
      std::byte* own = slots + static_cast<std::size_t>(part) * p.slot;
      auto* m = reinterpret_cast<std::uint32_t*>(own);
      auto* v = reinterpret_cast<std::int16_t*>(own + p.m_bytes);
      for (int64_t unit = units * part / parts; unit < units * (part + 1) / parts; ++unit) {
        const int64_t image = unit / p.blocks, block = unit % p.blocks;
        const TileSpan span = {image, p.image_tiles * block / p.blocks, p.image_tiles * (block + 1) / p.blocks};
        task.Transform(image, span.begin, span.end, span.begin, v);
        for (int64_t panel = 0; panel < p.panels; ++panel) task.Panel(span, v, panel, panel + 1 == p.panels, m);
      }
    }
  });
}

// Threads take panels of the one image.
void RunPanels(const WinogradTask& task, const Plan& p, Parallel& parallel, std::byte* shared) {
  auto* v = reinterpret_cast<std::int16_t*>(shared);
  std::byte* slots = shared + p.shared;
  parallel.For(p.image_tiles, std::max<int64_t>(1, p.image_tiles / (int64_t{2} * parallel.ThreadCount())),
               [&](int64_t begin, int64_t end) { task.Transform(0, begin, end, 0, v); });
  const int64_t parts = std::min<int64_t>(parallel.ThreadCount(), p.panels);
  parallel.For(parts, 1, [&](int64_t part_begin, int64_t part_end) {
    for (int64_t part = part_begin; part < part_end; ++part) {
      auto* m = reinterpret_cast<std::uint32_t*>(slots + static_cast<std::size_t>(part) * p.slot);
      const int64_t end_panel = p.panels * (part + 1) / parts;
      for (int64_t panel = p.panels * part / parts; panel < end_panel; ++panel)
        for (int64_t begin = 0; begin < p.image_tiles; begin += p.m_tiles) {
          const int64_t end = std::min(begin + p.m_tiles, p.image_tiles);
          const bool last = panel + 1 == end_panel || end < p.image_tiles;
          task.Panel({0, begin, end}, v + begin * p.v_row, panel, last, m);
        }
    }
  });
}

void RunChannelsLast(const ConvInt8Args& args, const TileInt8Set& tiles, Parallel& parallel, std::byte* scratch) {
  const Plan plan(args.shape, parallel.ThreadCount(), tiles);
  const WinogradTask task(args, plan, tiles);
  if (plan.by_panels) return RunPanels(task, plan, parallel, scratch);
  RunBlocks(task, plan, args.shape.batch, parallel, scratch);
}

bool IsFirst(ImageLayout layout) { return layout == ImageLayout::kChannelsFirst; }
bool IsLast(const ConvShape& s) { return !IsFirst(s.in_layout) && !IsFirst(s.out_layout); }

// One image, channels last on both sides.
ConvShape OneImage(const ConvShape& s) {
  ConvShape one = s;
  one.batch = 1;
  one.in_layout = one.out_layout = ImageLayout::kChannelsLast;
  return one;
}

int64_t SizeOf(Int8Result result) { return result == Int8Result::kBytes ? 1 : 4; }

// Of the copy of an image, and of its results, that have their channels last where x and y have not.
std::size_t InputBytes(const ConvInt8Args& args) {
  const ConvShape& s = args.shape;
  return IsFirst(s.in_layout) ? RoundUp64(Product(s.in) * s.in_channels) : 0;
}
std::size_t ResultBytes(const ConvInt8Args& args) {
  const ConvShape& s = args.shape;
  return IsFirst(s.out_layout) ? RoundUp64(Product(s.out) * s.out_channels * SizeOf(args.result)) : 0;
}

// f(first, last) for parts of the pixels.
template <typename F>
void ForPixels(int64_t pixels, Parallel& parallel, F f) {
  parallel.For(CeilDivide(pixels, kTransposedPixels), 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part)
      f(part * kTransposedPixels, std::min((part + 1) * kTransposedPixels, pixels));
  });
}

// Pixels [first, last) of [pixels][channels] elements of `size` bytes.
struct Pixels {
  int64_t first, last, pixels, channels, size;
};

// Writes them to y [channels][pixels].
void StoreChannelsFirst(const TileInt8Set& tiles, const Pixels& p, const std::byte* from, std::byte* y) {
  const std::byte* const source = from + p.first * p.channels * p.size;
  std::byte* const to = y + p.first * p.size;
  if (p.size == 1) {
    tiles.transpose(p.last - p.first, p.channels, reinterpret_cast<const std::uint8_t*>(source), p.channels,
                    reinterpret_cast<std::uint8_t*>(to), p.pixels);
  } else {  // moves bits, whatever they mean
    BestTilesF32().transpose(p.last - p.first, p.channels, reinterpret_cast<const float*>(source), p.channels,
                             reinterpret_cast<float*>(to), p.pixels);
  }
}

int ZeroOf(const ConvInt8Weights& w, int64_t channel) {
  if (w.zero_count == 0) return 0;
  const int64_t i = w.zero_count == 1 ? 0 : channel;
  return w.w_signed ? static_cast<const std::int8_t*>(w.zeros)[i] : static_cast<const std::uint8_t*>(w.zeros)[i];
}

}  // namespace

bool WinogradInt8Pays(const ConvShape& s, const TileInt8Set& tiles) {
  const auto ones = [](const Index3& v) { return v == Index3{1, 1, 1}; };
  const bool is_kind = s.groups == 1 && s.kernel == Index3{1, 3, 3} && ones(s.stride) && ones(s.dilation) &&
                       s.pad_begin[0] == 0 && s.out[0] == 1;
  const bool is_whole = s.in_channels % kChannelStep == 0 && s.out_channels % kChannelStep == 0;
  // Exact products of bytes are faster than a quarter as many of words.
  if (!is_kind || !is_whole || (tiles.bytes && tiles.clipped == nullptr)) return false;
  const int64_t pairs = s.in_channels * s.out_channels;
  if (pairs > kMostPairs &&
      pairs * kPairBytes > kWeightsPerImage * s.out[1] * s.out[2] * (s.in_channels + s.out_channels))
    return false;
  if (s.out[1] == 0 || s.out[2] == 0) return true;
  // A multiplication of a tile takes as long as a fifteenth of what fetching a weight does.
  const int64_t batch = std::max<int64_t>(1, s.batch), pixels = batch * s.out[1] * s.out[2];
  const int64_t image_tiles = batch * CeilDivide(s.out[1], kOutputs) * CeilDivide(s.out[2], kOutputs);
  const double direct = 9 * (2 * static_cast<double>(pixels) / 0.9 + 15);
  return kPositions * (2 * static_cast<double>(image_tiles) / 0.7 + 29) < 0.85 * direct;
}

bool WinogradInt8Fits(const ConvShape& s, const ConvInt8Weights& weights) {
  const int64_t count = s.in_channels * Product(s.kernel);
  for (int64_t m = 0; m < s.out_channels; ++m) {
    const int zero = ZeroOf(weights, m);
    int64_t sum = 0;
    if (weights.w_signed) {
      const auto* w = static_cast<const std::int8_t*>(weights.w) + m * count;
      for (int64_t i = 0; i < count; ++i) sum += std::abs(w[i] - zero);
    } else {
      const auto* w = static_cast<const std::uint8_t*>(weights.w) + m * count;
      for (int64_t i = 0; i < count; ++i) sum += std::abs(w[i] - zero);
    }
    if (kLargestInput * sum >= kSumLimit) return false;
  }
  return true;
}

std::size_t WinogradInt8PackedBytes(const ConvShape& s) {
  return static_cast<std::size_t>(kPositions * s.in_channels * s.out_channels) * sizeof(std::int16_t);
}

void PackWinogradInt8(const ConvShape& s, const ConvInt8Weights& weights, std::byte* packed, Parallel& parallel,
                      const TileInt8Set& tiles) {
  const int64_t nr = tiles.columns, panel = nr * s.in_channels;
  WinogradInt8WeightsFn* const transform = Best(kWeights, tiles.isa);
  parallel.For(s.out_channels / nr, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      int zeros[kChannelStep];
      for (int64_t j = 0; j < nr; ++j) zeros[j] = ZeroOf(weights, p * nr + j);
      WinogradInt8WeightsArgs d;
      d.w = static_cast<const std::uint8_t*>(weights.w) + p * panel * 9;
      d.w_signed = weights.w_signed, d.zeros = zeros, d.channels = s.in_channels;
      d.u = reinterpret_cast<std::int16_t*>(packed) + p * panel * kPositions;
      transform(d);
    }
  });
}

std::size_t WinogradInt8ScratchBytes(const ConvInt8Args& args, int threads, const TileInt8Set& tiles) {
  const ConvShape& s = args.shape;
  const Plan plan(IsLast(s) ? s : OneImage(s), threads, tiles);
  return InputBytes(args) + ResultBytes(args) + plan.shared + static_cast<std::size_t>(threads) * plan.slot;
}

void WinogradInt8(const ConvInt8Args& args, const TileInt8Set& tiles, Parallel& parallel, std::byte* scratch) {
  const ConvShape& s = args.shape;
  if (IsLast(s)) return RunChannelsLast(args, tiles, parallel, scratch);
  const int64_t in_pixels = Product(s.in), pixels = Product(s.out), size = SizeOf(args.result);
  std::byte *const input = scratch, *const result = input + InputBytes(args), *const rest = result + ResultBytes(args);
  ConvInt8Args image = args;
  image.shape = OneImage(s);
  for (int64_t n = 0; n < s.batch; ++n) {
    image.x = static_cast<const std::byte*>(args.x) + n * in_pixels * s.in_channels;
    if (args.sum.z != nullptr) image.sum.z = static_cast<const std::byte*>(args.sum.z) + n * pixels * s.out_channels;
    auto* y = static_cast<std::byte*>(args.y) + n * pixels * s.out_channels * size;
    image.y = IsFirst(s.out_layout) ? result : y;
    if (IsFirst(s.in_layout)) {
      const auto* x = static_cast<const std::uint8_t*>(image.x);
      ForPixels(in_pixels, parallel, [&](int64_t first, int64_t last) {
        tiles.transpose(s.in_channels, last - first, x + first, in_pixels,
                        reinterpret_cast<std::uint8_t*>(input) + first * s.in_channels, s.in_channels);
      });
      image.x = input;
    }
    RunChannelsLast(image, tiles, parallel, rest);
    if (!IsFirst(s.out_layout)) continue;
    ForPixels(pixels, parallel, [&](int64_t first, int64_t last) {
      StoreChannelsFirst(tiles, {first, last, pixels, s.out_channels, size}, result, y);
    });
  }
}

}  // namespace sardonyx::kernels
