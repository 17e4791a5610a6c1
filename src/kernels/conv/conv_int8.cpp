// kernels/conv/conv_int8.cpp - prepares the image, the packed weights and the scratch memory of an 8-bit convolution.
//
// With A' = x + s, B' = w - t (tile_int8.h), za = x_zero + s and zb = w_zero - t, a sum over a window of K values is
//   sum (x - x_zero)(w - w_zero) = sum A' B' - za * sum B' - zb * (sum A' - K * za)
// where the first correction belongs to the channel and the second one, which is rare, to channel and pixel.
#include "kernels/conv/conv_int8.h"

#include <algorithm>
#include <cstring>

#include "kernels/conv/conv_int8_image.h"
#include "kernels/conv/conv_int8_loops.h"
#include "kernels/conv/depthwise_int8.h"
#include "kernels/conv/window_bands.h"
#include "kernels/conv/window_reader.h"
#include "kernels/conv/winograd_int8.h"
#include "kernels/gemm/clipped_product.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;
using std::ptrdiff_t;
using std::uint32_t;

constexpr int64_t kMostColumns = 32;      // nr of the widest tile
constexpr int64_t kMergedChannels = 256;  // input channels of a merged group, at most
constexpr int64_t kPackBlock = 256;       // values of a channel packed at a time; whole groups

std::size_t RoundUp64(std::size_t bytes) { return (bytes + 63) & ~std::size_t{63}; }
bool IsFirst(ImageLayout layout) { return layout == ImageLayout::kChannelsFirst; }

bool IsDepthwise(const ConvShape& s) { return s.in_channels == s.groups && s.out_channels == s.groups && s.groups > 1; }

// Clipping windows pays where their runs are long and each is multiplied by enough weights.
constexpr int64_t kFewestClippedInputs = 128;
constexpr int64_t kFewestClippedOutputs = 64;
// As many as pay if products of two groups are merged by it.
constexpr int64_t kFewestMergedOutputs = 128;
constexpr int kSmallWeight = 64;

bool MayClip(const ConvShape& s, int64_t fewest_outputs) {
  return s.groups == 1 && s.in_channels >= kFewestClippedInputs && s.out_channels >= fewest_outputs;
}

// The given tiles, or the best for weights of this shape.
const TileInt8Set& Tiles(const ConvShape& s, const TileInt8Set* tiles, ConvInt8Way way) {
  if (way == ConvInt8Way::kWinograd) return WordTilesInt8(tiles != nullptr ? tiles->isa : BestIsa());
  if (tiles != nullptr) return *tiles;
  const bool bytes = way == ConvInt8Way::kSmallWeights || MayClip(s, kFewestClippedOutputs) || IsDepthwise(s);
  return bytes ? BestTilesInt8() : BestTilesWithoutClipping();
}

// Groups too narrow for a tile are taken together: as many multiplications in fewer and longer sums.
ConvShape MergedGroups(const ConvShape& s, const TileInt8Set& tiles) {
  ConvShape merged = s;
  while (s.groups > 1 && merged.groups % 2 == 0 && 2 * s.out_channels <= tiles.columns * merged.groups &&
         2 * s.in_channels <= kMergedChannels * merged.groups)
    merged.groups /= 2;
  return merged;
}

// A 1x1 convolution that reads in order has its pixels in one row, of all images if the layouts allow it.
ConvShape OneRow(const ConvShape& shape) {
  ConvShape s = shape;
  if (Product(s.kernel) != 1 || s.in != s.out || Product(s.stride) != 1 || s.pad_begin != Index3{0, 0, 0}) return s;
  s.in = s.out = {1, 1, Product(s.in)};
  if (!IsFirst(s.in_layout) && !IsFirst(s.out_layout)) {
    s.in[2] = s.out[2] = s.in[2] * s.batch;
    s.batch = 1;
  }
  return s;
}

// ---- Weights: [header][zb of each channel][sum B' of each channel][the same up to each run][panels], and by sets with
// `clipped` the limits of values of each group or, of small weights, flags of pairs of groups.

struct Header {
  uint32_t any_zero;  // 1 if a zb is not 0
};

struct PackedLayout {
  PackedLayout(const ConvShape& shape, const TileInt8Set& t, ConvInt8Way way) {
    depthwise = IsDepthwise(shape);
    const ConvShape s = depthwise ? shape : MergedGroups(shape, t);
    group_in = s.in_channels / s.groups, group_out = s.out_channels / s.groups;
    const std::size_t terms = RoundUp64(static_cast<std::size_t>(s.out_channels) * 4);
    zeros = 64;
    sums = zeros + terms;
    panels = sums + terms;
    const int64_t taps = Product(s.kernel);
    clips = t.clipped != nullptr && way == ConvInt8Way::kAnyWeights && !depthwise;
    if (clips && Product(s.dilation) != 1) {
      run_sums = panels, run_sums_bytes = terms;
      panels += static_cast<std::size_t>(taps) * terms;
    }
    if (depthwise) {
      total = panels + DepthwiseInt8PackedBytes(s.out_channels, taps);
      return;
    }
    merged_taps = s.groups == 1 && s.dilation[2] == 1;
    runs = merged_taps ? s.kernel[0] * s.kernel[1] : taps;
    k = merged_taps ? s.kernel[2] * group_in : group_in;
    panel_count = CeilDivide(group_out, t.columns);
    panel_bytes = runs * t.GroupCount(k) * t.columns * 4;
    limits = panels + static_cast<std::size_t>(s.groups * panel_count * panel_bytes);
    row_groups = runs * t.GroupCount(k);
    if (clips) limit_bytes = ClippedLimits::Bytes(row_groups);
    total = limits + static_cast<std::size_t>(s.groups) * limit_bytes;
    if (t.clipped == nullptr || clips) return;
    fits = total, run_pairs = t.GroupCount(k) / 2;
    total = RoundUp64(fits + static_cast<std::size_t>(s.groups * panel_count * runs * run_pairs));
  }
  ConvInt8Image::Reader reader() const {
    using Reader = ConvInt8Image::Reader;
    return depthwise ? Reader::kDepthwise : clips ? Reader::kClipping : Reader::kTiles;
  }
  std::size_t run_sums = 0, run_sums_bytes = 0;  // sums of a channel up to each run, where dilations are wide; 0: none
  std::size_t zeros, sums, panels, limits = 0, limit_bytes = 0, total;
  bool depthwise;
  bool clips = false;
  std::size_t fits = 0;      // flags of pairs of groups (paired_tile_int8.h), where weights are small; 0: none
  int64_t run_pairs = 0;     // of groups in a run
  bool merged_taps = false;  // the taps of a kernel row are one long sum
  int64_t group_in, group_out;
  int64_t runs = 0, k = 0;  // sums of a window: how many and how long
  int64_t panel_count = 0, panel_bytes = 0, row_groups = 0;
};

const uint32_t* Terms(const std::byte* packed, std::size_t at) {
  return reinterpret_cast<const uint32_t*>(packed + at);
}

int ValueAt(const void* p, int64_t i, bool is_signed) {
  return is_signed ? static_cast<const std::int8_t*>(p)[i] : static_cast<const std::uint8_t*>(p)[i];
}

class WeightPacker {
 public:
  WeightPacker(const ConvShape& shape, const ConvInt8Weights& weights, std::byte* packed, const TileInt8Set& t,
               ConvInt8Way way)
      : s_(shape), w_(weights), packed_(packed), t_(t), layout_(shape, t, way), taps_(Product(shape.kernel)) {}

  void PackZeros() {
    Header header = {0};
    auto* zeros = reinterpret_cast<uint32_t*>(packed_ + layout_.zeros);
    for (int64_t m = 0; m < s_.out_channels; ++m) {
      const int zero = w_.zero_count == 0 ? 0 : ValueAt(w_.zeros, w_.zero_count == 1 ? 0 : m, w_.w_signed);
      zeros[m] = static_cast<uint32_t>(zero - t_.BShift(w_.w_signed));
      if (zeros[m] != 0) header.any_zero = 1;
    }
    std::memcpy(packed_, &header, sizeof header);
  }

  // Panel `unit` of all groups.
  void PackPanel(int64_t unit) const {
    const int64_t nr = t_.columns,
                  first = unit / layout_.panel_count * layout_.group_out + unit % layout_.panel_count * nr;
    const int64_t columns = std::min(nr, (unit / layout_.panel_count + 1) * layout_.group_out - first);
    std::byte* out = packed_ + layout_.panels + unit * layout_.panel_bytes;
    uint32_t sums[kMostColumns] = {};
    std::uint8_t values[kMostColumns * kPackBlock], rows[kPackBlock * kMostColumns];
    for (int64_t run = 0; run < layout_.runs; ++run) {
      for (int64_t k = 0; k < layout_.k; k += kPackBlock) {
        const int64_t count = std::min(kPackBlock, layout_.k - k);
        const int64_t whole = t_.GroupCount(count) * t_.GroupValues();
        if (columns < nr || count < whole) std::memset(values, t_.BShift(w_.w_signed), sizeof values);
        for (int64_t j = 0; j < columns; ++j) Gather(first + j, run, k, count, values + j * kPackBlock);
        t_.transpose(nr, whole, values, kPackBlock, rows, nr);
        for (int64_t i = 0; i < whole; i += t_.GroupValues(), out += nr * 4) {
          const std::uint8_t* starts[4];
          for (int64_t r = 0; r < t_.GroupValues(); ++r) starts[r] = rows + (i + r) * nr;
          t_.pack_group(starts, w_.w_signed, out, sums);
        }
      }
      if (layout_.run_sums == 0) continue;
      std::memcpy(packed_ + layout_.run_sums + static_cast<std::size_t>(run) * layout_.run_sums_bytes + first * 4, sums,
                  static_cast<std::size_t>(columns) * 4);
    }
    std::memcpy(packed_ + layout_.sums + first * 4, sums, static_cast<std::size_t>(columns) * 4);
    if (layout_.fits != 0) FindPairs(unit);
  }

  void FindPairs(int64_t unit) const {
    const std::byte* panel = packed_ + layout_.panels + unit * layout_.panel_bytes;
    auto* fits = reinterpret_cast<std::uint8_t*>(packed_ + layout_.fits) + unit * layout_.runs * layout_.run_pairs;
    const int64_t groups = t_.GroupCount(layout_.k);
    for (int64_t run = 0; run < layout_.runs; ++run)
      FindPairsThatFit(panel + run * groups * t_.columns * 4, groups, t_.columns, fits + run * layout_.run_pairs);
  }

  void PackLimits(int64_t groups, Parallel& parallel) const {
    if (!layout_.clips) return;
    for (int64_t g = 0; g < groups; ++g)
      ClippedLimits::Write(*t_.clipped, packed_ + layout_.panels + g * layout_.panel_count * layout_.panel_bytes,
                           layout_.panel_count, layout_.panel_bytes, layout_.row_groups,
                           packed_ + layout_.limits + static_cast<std::size_t>(g) * layout_.limit_bytes, parallel);
  }

  void PackDepthwise() {
    auto* sums = reinterpret_cast<uint32_t*>(packed_ + layout_.sums);
    auto* out = reinterpret_cast<std::int16_t*>(packed_ + layout_.panels);
    const auto* zeros = Terms(packed_, layout_.zeros);
    const int64_t rows = s_.kernel[0] * s_.kernel[1];
    std::memset(out, 0, DepthwiseInt8PackedBytes(s_.out_channels, taps_));
    for (int64_t m = 0; m < s_.out_channels; ++m) {
      const int zero = static_cast<int>(zeros[m]) + t_.BShift(w_.w_signed);
      int sum = 0;
      for (int64_t tap = 0; tap < taps_; ++tap) {
        const int value = ValueAt(w_.w, m * taps_ + tap, w_.w_signed) - zero;
        out[DepthwiseInt8Index(rows, s_.kernel[2], tap, m)] = static_cast<std::int16_t>(value);
        sum += value;
      }
      sums[m] = static_cast<uint32_t>(sum);
    }
  }

  const PackedLayout& layout() const { return layout_; }

 private:
  // Values [k, k + count) of a run of channel m; its zero point, which counts as nothing, where it does not read.
  void Gather(int64_t m, int64_t run, int64_t k, int64_t count, std::uint8_t* to) const {
    const int64_t group_in = s_.in_channels / s_.groups, group_out = s_.out_channels / s_.groups;
    const auto* w = static_cast<const std::uint8_t*>(w_.w) + m * group_in * taps_;
    // The channels of the merged group that are this one's.
    const int64_t own = (m / group_out * group_in) % layout_.group_in;
    const auto* zeros = static_cast<const std::uint8_t*>(w_.zeros);
    const std::uint8_t nothing = w_.zero_count == 0 ? std::uint8_t{0} : zeros[w_.zero_count == 1 ? 0 : m];
    const int64_t end = k + count;
    while (k < end) {
      const int64_t tap = layout_.merged_taps ? run * s_.kernel[2] + k / layout_.group_in : run;
      const int64_t c = k % layout_.group_in, stop = c + std::min(layout_.group_in - c, end - k);
      for (int64_t i = c; i < stop; ++i) *to++ = i >= own && i < own + group_in ? w[(i - own) * taps_ + tap] : nothing;
      k += stop - c;
    }
  }

  const ConvShape& s_;
  const ConvInt8Weights& w_;
  std::byte* packed_;
  const TileInt8Set& t_;
  PackedLayout layout_;
  int64_t taps_;
};

// ---- Runs

struct ScratchLayout {
  ScratchLayout(const ConvShape& s, const PackedLayout& packed, const ConvInt8Image& input) {
    const auto words = [](int64_t count) { return RoundUp64(static_cast<std::size_t>(count) * 4); };
    offsets = 0;
    terms = offsets + 2 * words(Product(s.kernel));
    row_terms = terms + words(s.out_channels);
    image = row_terms + (packed.depthwise ? 0 : words(s.groups * Product(s.out)));
    loops = image + input.Bytes();
  }
  std::size_t offsets, terms, row_terms, image, loops;
};

// Where the runs of a window begin.
void SetOffsets(const ConvShape& s, const PackedLayout& packed, const Index3& pitch, ptrdiff_t* offsets) {
  for (int64_t d = 0; d < s.kernel[0]; ++d)
    for (int64_t h = 0; h < s.kernel[1]; ++h)
      for (int64_t w = 0; w < (packed.merged_taps ? 1 : s.kernel[2]); ++w)
        *offsets++ = d * s.dilation[0] * pitch[0] + h * s.dilation[1] * pitch[1] + w * s.dilation[2] * pitch[2];
}

class Runner {
 public:
  Runner(const ConvInt8Args& args, const ConvShape& normalized, const TileInt8Set& t, std::byte* scratch)
      : args_(args),
        s_(IsDepthwise(normalized) ? normalized : MergedGroups(normalized, t)),
        t_(t),
        packed_(normalized, t, args.way),
        input_(args, s_, packed_.reader(), packed_.k, t),
        layout_(s_, packed_, input_),
        scratch_(scratch),
        bands_(s_, packed_.merged_taps, packed_.run_sums != 0 && t.GroupCount(packed_.k) % 2 == 0) {}

  std::size_t ScratchBytes(int threads) const {
    if (packed_.depthwise) return layout_.loops + DepthwiseInt8ScratchBytes(s_, threads);
    return layout_.loops + (packed_.clips ? ClippedScratchBytes(Product(s_.out), packed_.row_groups, threads) : 0);
  }

  void Run(Parallel& parallel) {
    Header header;
    std::memcpy(&header, args_.packed_weights, sizeof header);
    auto* offsets = reinterpret_cast<ptrdiff_t*>(scratch_ + layout_.offsets);
    if (!packed_.depthwise) SetOffsets(s_, packed_, input_.Pitch(), offsets);
    auto* terms = reinterpret_cast<uint32_t*>(scratch_ + layout_.terms);
    const auto* sums = Terms(args_.packed_weights, packed_.sums);
    // Depthwise loops take x as it is.
    const int shift = packed_.depthwise ? 0 : t_.AShift(args_.x_signed);
    const auto a_zero = static_cast<uint32_t>(args_.x_zero + shift);
    for (int64_t m = 0; m < s_.out_channels; ++m)
      terms[m] = (args_.bias != nullptr ? static_cast<uint32_t>(args_.bias[m]) : 0) - a_zero * sums[m];
    IntegerConvolution g = Describe(offsets, terms);
    const auto* x = static_cast<const std::uint8_t*>(args_.x);
    const int64_t y_image = g.out_pixels * s_.out_channels * (g.result == Int8Result::kBytes ? 1 : 4);
    for (int64_t n = 0; n < s_.batch; ++n, x += Product(s_.in) * s_.in_channels) {
      if (input_.in_place) {
        g.x = reinterpret_cast<const std::byte*>(x);
      } else {
        input_.Fill(args_, s_, t_, x, scratch_ + layout_.image, parallel);
        g.x = scratch_ + layout_.image;
      }
      g.y = static_cast<std::byte*>(args_.y) + n * y_image;
      if (g.sum.z != nullptr) g.sum.z = static_cast<const std::byte*>(args_.sum.z) + n * y_image;
      if (packed_.clips) {
        RunClipped(g, header.any_zero != 0, parallel);
        continue;
      }
      if (packed_.depthwise) {
        RunDepthwiseInt8(s_, args_.x_signed, args_.x_zero, g, parallel, scratch_ + layout_.loops);
        continue;
      }
      if (header.any_zero != 0) g.row_terms = SumRows(g, a_zero, parallel);
      RunIntegerConvolution(g, parallel);
    }
  }

 private:
  IntegerConvolution Describe(const ptrdiff_t* offsets, const uint32_t* terms) const {
    IntegerConvolution g{};
    g.tiles = &t_;
    const Index3 pitch = input_.Pitch();
    g.x_bytes = Product(input_.size) * pitch[2];
    for (int i = 0; i < 3; ++i) g.x_step[i] = s_.stride[i] * pitch[i];
    g.run_offsets = offsets;
    g.runs = packed_.runs;
    g.k = packed_.k;
    g.groups = s_.groups;
    g.group_in_bytes = packed_.group_in * t_.ValueBytes();
    g.group_out = packed_.depthwise ? 1 : packed_.group_out;
    g.panels = args_.packed_weights + packed_.panels;
    if (packed_.fits != 0) {
      g.paired = PairedTilesOf(t_);
      g.fits = reinterpret_cast<const std::uint8_t*>(args_.packed_weights + packed_.fits);
    }
    g.zeros = Terms(args_.packed_weights, packed_.zeros);
    g.terms = terms;
    g.count = s_.out;
    g.out_layout = s_.out_layout;
    g.out_pixels = Product(s_.out);
    g.result = args_.result;
    g.scales = args_.scales;
    g.y_zero = args_.y_zero;
    g.y_signed = args_.y_signed;
    g.sum = args_.sum;
    return g;
  }

  void RunClipped(const IntegerConvolution& g, bool any_zero, Parallel& parallel) const {
    for (int64_t group = 0; group < s_.groups; ++group)
      for (int64_t row = 0; row < s_.out[0] * s_.out[1];) {
        const WindowBands::Band band = bands_.Next(row);
        RunBand(g, group, band, any_zero, parallel);
        row = band.last;
      }
  }

  // The sums of B' over the runs of a band.
  const uint32_t* SumsOf(const WindowBands::Band& band) const {
    const auto* sums = Terms(args_.packed_weights, packed_.sums);
    if (band.last_run - band.first_run == packed_.runs) return sums;
    auto* parts = reinterpret_cast<uint32_t*>(scratch_ + layout_.terms);
    const auto until = [&](int64_t run) {
      return Terms(args_.packed_weights, packed_.run_sums + static_cast<std::size_t>(run) * packed_.run_sums_bytes);
    };
    for (int64_t m = 0; m < s_.out_channels; ++m)
      parts[m] = until(band.last_run - 1)[m] - (band.first_run > 0 ? until(band.first_run - 1)[m] : 0);
    return parts;
  }

  void RunBand(const IntegerConvolution& g, int64_t group, const WindowBands::Band& band, bool any_zero,
               Parallel& parallel) const {
    // A transposed image has its signs flipped already.
    const WindowReader reader(
        s_, packed_.k, packed_.merged_taps, args_.x_zero + (input_.in_place ? 0 : t_.AShift(args_.x_signed)),
        reinterpret_cast<const std::uint8_t*>(g.x) + group * packed_.group_in, band.first_run, band.last_run);
    const int64_t position = band.first * s_.out[2], runs = band.last_run - band.first_run;
    const auto read = [&](int64_t row, ClippedRow& out) { reader.Read(position + row, out); };
    const int64_t first = group * packed_.group_out, run_groups = t_.GroupCount(packed_.k);
    ClippedProduct p{.read = read};
    p.tiles = &t_;
    p.rows = (band.last - band.first) * s_.out[2], p.columns = packed_.group_out;
    p.k = runs * packed_.k, p.groups = runs * run_groups;
    p.panel_groups = packed_.row_groups, p.first_group = band.first_run * run_groups;
    p.a_signed = args_.x_signed && input_.in_place;
    p.a_zero = static_cast<uint32_t>(args_.x_zero + t_.AShift(args_.x_signed));
    p.panels = g.panels + group * packed_.panel_count * packed_.panel_bytes + p.first_group * t_.columns * 4;
    p.limits = args_.packed_weights + packed_.limits + static_cast<std::size_t>(group) * packed_.limit_bytes;
    p.b_sums = SumsOf(band) + first;
    p.b_zero = any_zero ? g.zeros + first : nullptr;
    p.bias = args_.bias != nullptr ? args_.bias + first : nullptr;
    p.common.result = g.result, p.common.sum = &g.sum;
    p.common.SetBytes(g.y_signed, g.y_zero);
    p.common.c_row_stride = s_.out_channels;
    p.plane = IsFirst(g.out_layout) ? g.out_pixels : 0;
    const int64_t at = p.plane != 0 ? first * p.plane + position : position * s_.out_channels + first;
    p.c = static_cast<std::byte*>(g.y) + at * g.ResultBytes();
    if (g.sum.z != nullptr) p.z = static_cast<const std::uint8_t*>(g.sum.z) + at;
    p.scales = g.scales != nullptr ? g.scales + first : nullptr;
    p.is_wide = args_.is_wide;
    RunClippedProduct(p, parallel, scratch_ + layout_.loops);
  }

  // sum A' - K * za of every group and position.
  const uint32_t* SumRows(const IntegerConvolution& g, uint32_t a_zero, Parallel& parallel) const {
    auto* terms = reinterpret_cast<uint32_t*>(scratch_ + layout_.row_terms);
    const int64_t rows = s_.out[0] * s_.out[1], width = s_.out[2];
    parallel.For(s_.groups * rows, std::max<int64_t>(1, 32768 / (width * g.runs * g.k)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i)
                     for (int64_t w = 0; w < width; ++w) {
                       const std::byte* x = g.x + i / rows * g.group_in_bytes + g.InputOffset(i % rows, w);
                       uint32_t sum = 0;
                       for (int64_t run = 0; run < g.runs; ++run) sum += t_.sum_row(x + g.run_offsets[run], g.k);
                       terms[i * width + w] = sum - static_cast<uint32_t>(g.runs * g.k) * a_zero;
                     }
                 });
    return terms;
  }

  const ConvInt8Args& args_;
  ConvShape s_;
  const TileInt8Set& t_;
  PackedLayout packed_;
  ConvInt8Image input_;
  ScratchLayout layout_;
  std::byte* scratch_;
  WindowBands bands_;  // of clipped products, whose groups are merged in pairs: runs of an odd number would part them
};

}  // namespace

ConvInt8Way ChooseConvInt8Way(const ConvShape& shape) {
  const TileInt8Set& best = BestTilesInt8();
  if (WinogradInt8Pays(shape, best)) return ConvInt8Way::kWinograd;
  const bool is_small = best.clipped != nullptr && !IsDepthwise(shape) && !MayClip(shape, kFewestMergedOutputs);
  return is_small ? ConvInt8Way::kSmallWeights : ConvInt8Way::kAnyWeights;
}

bool ConvInt8WeightsFit(const ConvShape& shape, const ConvInt8Weights& weights, ConvInt8Way way) {
  if (way == ConvInt8Way::kWinograd) return WinogradInt8Fits(shape, weights);
  if (way == ConvInt8Way::kAnyWeights) return true;
  if (!weights.w_signed) return false;
  // Zero points stand where groups that are taken together do not read.
  const auto are_small = [](const void* values, int64_t count) {
    const auto* v = static_cast<const std::int8_t*>(values);
    return std::all_of(v, v + count, [](int value) { return value >= -kSmallWeight && value <= kSmallWeight; });
  };
  const int64_t count = shape.out_channels * (shape.in_channels / shape.groups) * Product(shape.kernel);
  return are_small(weights.zeros, weights.zero_count) && are_small(weights.w, count);
}

std::size_t ConvInt8PackedBytes(const ConvShape& shape, const TileInt8Set* tiles, ConvInt8Way way) {
  if (way == ConvInt8Way::kWinograd) return WinogradInt8PackedBytes(shape);
  return PackedLayout(OneRow(shape), Tiles(shape, tiles, way), way).total;
}

void PackConvInt8Weights(const ConvShape& shape, const ConvInt8Weights& weights, std::byte* packed, Parallel& parallel,
                         const TileInt8Set* tiles, ConvInt8Way way) {
  const TileInt8Set& t = Tiles(shape, tiles, way);
  if (way == ConvInt8Way::kWinograd) return PackWinogradInt8(shape, weights, packed, parallel, t);
  const ConvShape s = OneRow(shape);
  WeightPacker packer(s, weights, packed, t, way);
  packer.PackZeros();
  if (packer.layout().depthwise) return packer.PackDepthwise();
  const int64_t groups = s.out_channels / packer.layout().group_out;
  parallel.For(groups * packer.layout().panel_count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) packer.PackPanel(unit);
  });
  packer.PackLimits(groups, parallel);
}

bool ConvInt8Adds(const ConvShape& shape) { return !IsFirst(shape.out_layout) && !IsDepthwise(shape); }

std::size_t ConvInt8ScratchBytes(const ConvInt8Args& args, int threads) {
  const TileInt8Set& t = Tiles(args.shape, args.tiles, args.way);
  if (args.way == ConvInt8Way::kWinograd) return WinogradInt8ScratchBytes(args, threads, t);
  return Runner(args, OneRow(args.shape), t, nullptr).ScratchBytes(threads);
}

void ConvInt8(const ConvInt8Args& args, Parallel& parallel, std::byte* scratch) {
  const TileInt8Set& t = Tiles(args.shape, args.tiles, args.way);
  if (args.way == ConvInt8Way::kWinograd) return WinogradInt8(args, t, parallel, scratch);
  Runner(args, OneRow(args.shape), t, scratch).Run(parallel);
}

}  // namespace sardonyx::kernels
