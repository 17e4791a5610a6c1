// kernels/conv/winograd.cpp - the loops of Winograd convolutions around transforms and tiles.
//
// A block of image tiles is transformed for all channels into V [position][tile][channel], which stays in the second
// cache level; then, for each panel of output channels, every position is multiplied by its weights, and the output
// transform finishes the panel. Threads take blocks. Where there are too few image tiles for that, V of the whole image
// is made first and threads take panels.
#include "kernels/conv/winograd.h"

#include <algorithm>

#include "kernels/conv/conv_kernels.h"
#include "kernels/conv/implicit_gemm.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

constexpr int64_t kBlockFloats = int64_t{128} << 10;  // of V that shall stay in the second cache level
constexpr int64_t kPlaneGap = 48;                     // floats, so that planes do not share sets of the cache

std::size_t FloatBytes(int64_t count) {
  return (static_cast<std::size_t>(count) * sizeof(float) + 63) & ~std::size_t{63};
}

int64_t Outputs(const ConvShape& s) { return s.algorithm == ConvAlgorithm::kWinograd4 ? 4 : 2; }
int64_t Positions(const ConvShape& s) { return (Outputs(s) + 2) * (Outputs(s) + 2); }

// How an image is cut, and where things lie in scratch.
struct Plan {
  Plan(const ConvShape& s, int threads, const TileF32Set& tiles)
      : m(Outputs(s)), positions(Positions(s)), nr(tiles.columns), panels(CeilDivide(s.out_channels, nr)) {
    tile_columns = CeilDivide(s.out[2], m);
    image_tiles = CeilDivide(s.out[1], m) * tile_columns;
    v_row = CeilDivide(s.in_channels, 16) * 16 + (s.in_channels % 256 == 0 ? 16 : 0);
    const int64_t fit = kBlockFloats / (positions * v_row) / tiles.rows;
    block = std::min(image_tiles, std::clamp<int64_t>(fit, 1, 4) * tiles.rows);
    by_panels = threads > 1 && panels >= threads && s.batch == 1 && image_tiles < threads * tiles.rows;
    blocks = CeilDivide(image_tiles, block);
    if (threads > 1 && !by_panels && s.batch == 1 && blocks < int64_t{4} * threads)
      blocks = std::min(CeilDivide(blocks, threads) * threads, image_tiles);
    v_tiles = by_panels ? image_tiles : CeilDivide(image_tiles, blocks);
    v_plane = v_tiles * v_row + kPlaneGap;
    m_tiles = by_panels ? block : v_tiles;
    m_plane = m_tiles * nr + kPlaneGap;
    to_last = s.in_layout == ImageLayout::kChannelsFirst;
    to_first = s.out_layout == ImageLayout::kChannelsFirst;
    run_pixels = to_first ? std::min(m_tiles, tile_columns) * m : 0;
    slot = FloatBytes(positions * m_plane) + 2 * FloatBytes(m * run_pixels * nr);
    if (!by_panels) slot += FloatBytes(positions * v_plane);
    image = to_last ? FloatBytes(Product(s.in) * s.in_channels) : 0;
    shared = by_panels ? FloatBytes(positions * v_plane) : 0;
  }

  int64_t m, positions, nr, panels;
  int64_t tile_columns, image_tiles;
  int64_t block, blocks;  // tiles of a block at most (panels: of a pass), blocks of an image
  int64_t v_row, v_tiles, v_plane, m_tiles, m_plane;
  int64_t run_pixels;  // of an image row of outputs that a block may hold
  bool by_panels, to_last, to_first;
  std::size_t image, shared, slot;  // bytes: the image channels-last, V of an image, what a thread has for itself
};

// Tiles [begin, end) of an image.
struct TileSpan {
  int64_t image, begin, end;
};

class WinogradTask {
 public:
  WinogradTask(const ConvF32Args& args, const Plan& plan, const TileF32Set& tiles)
      : args_(args), s_(args.shape), p_(plan), tiles_(tiles), kernels_(ConvKernelsOf(tiles.isa)) {
    const Epilogue& e = args.epilogue;
    linear_.alpha = e.alpha, linear_.bias_scale = e.bias_scale, linear_.bias = e.bias;
    if (p_.to_first) return;
    linear_.beta = e.beta;
    TileF32Args clamp;
    SetClamp(e.activation, &clamp);
    linear_.low = clamp.low, linear_.high = clamp.high;
  }

  // V of the tiles [begin, end) of a channels-last image; v: that of tile `first`.
  void Transform(const float* image, int64_t begin, int64_t end, int64_t first, float* v) const {
    WinogradInArgs in;
    in.x = image;
    in.in_rows = s_.in[1], in.in_columns = s_.in[2];
    const int64_t pixel = p_.to_last ? s_.in_channels : s_.InPixel();
    in.x_row_stride = s_.in[2] * pixel, in.x_pixel_stride = pixel;
    in.channels = s_.in_channels;
    in.v_plane = p_.v_plane, in.v_row = p_.v_row;
    ForRuns(begin, end, [&](int64_t tile, int64_t count) {
      in.row = tile / p_.tile_columns * p_.m - s_.pad_begin[1];
      in.column = tile % p_.tile_columns * p_.m - s_.pad_begin[2];
      in.tiles = count;
      in.v = v + (tile - first) * p_.v_row;
      (p_.m == 4 ? kernels_.winograd_in4 : kernels_.winograd_in2)(in);
    });
  }

  // Outputs of the tiles of a span, whose V begins at v, of one panel. `own`: what the thread has for M and rows of
  // outputs. last: nothing follows in the weights that would be worth fetching.
  void Panel(const TileSpan& span, const float* v, int64_t panel, bool last, std::byte* own) const {
    auto* m = reinterpret_cast<float*>(own);
    const int64_t count = span.end - span.begin, columns = Columns(panel);
    const int64_t chunk = s_.in_channels * p_.nr, parts = CeilDivide(count, tiles_.rows);
    const int64_t fetchers = parts >= 8 ? 8 : parts >= 4 ? 4 : parts >= 2 ? 2 : 1;
    const int64_t least = count / parts, longer = count % parts;  // tiles of each part, parts of one more
    const bool narrow = columns * 2 <= p_.nr;
    TileF32Fn* const* run = narrow ? tiles_.narrow : tiles_.wide;
    TileF32Args t;
    t.a_row_stride = p_.v_row;
    t.k = s_.in_channels;
    t.b_stride = p_.nr;
    t.c_row_stride = p_.nr;
    t.columns = narrow ? p_.nr / 2 : p_.nr;  // whole vectors are stored fastest
    t.b = args_.packed_weights + panel * p_.positions * chunk;
    for (int64_t position = 0; position < p_.positions; ++position, t.b += chunk) {
      const bool fetch = !last || position + 1 < p_.positions;
      t.a0 = v + position * p_.v_plane;
      t.c0 = m + position * p_.m_plane;
      for (int64_t part = 0; part < parts; ++part) {
        const int64_t rows = least + (part < longer ? 1 : 0), half = (rows + 1) / 2;
        t.a1 = t.a0 + half * p_.v_row;
        t.c1 = t.c0 + half * p_.nr;
        t.prefetch = reinterpret_cast<const char*>(t.b);
        t.prefetch_step = 0;
        if (fetch && part < fetchers) {
          t.prefetch += (chunk + part * chunk / fetchers) * 4;
          t.prefetch_step = p_.nr * 4 / fetchers;
        }
        run[rows - 1](t);
        t.a0 += rows * p_.v_row;
        t.c0 += rows * p_.nr;
      }
    }
    std::byte* rows = own + FloatBytes(p_.positions * p_.m_plane);
    ForRuns(span.begin, span.end, [&](int64_t tile, int64_t tiles) {
      Finish({span.image, tile, tile + tiles}, m + (tile - span.begin) * p_.nr, panel, rows);
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

  int64_t Columns(int64_t panel) const { return std::min(p_.nr, s_.out_channels - panel * p_.nr); }

  // The output transform of a run of tiles of one row. rows: where channels-first outputs are turned.
  void Finish(const TileSpan& span, const float* m, int64_t panel, std::byte* rows) const {
    const int64_t tile = span.begin, tiles = span.end - span.begin, image = span.image, columns = Columns(panel);
    const int64_t row = tile / p_.tile_columns * p_.m, column = tile % p_.tile_columns * p_.m;
    const int64_t channel = panel * p_.nr, pixel = row * s_.out[2] + column;
    WinogradOutArgs out;
    out.m = m;
    out.m_plane = p_.m_plane, out.m_row = p_.nr;
    out.tiles = tiles;
    out.rows = std::min(p_.m, s_.out[1] - row);
    out.columns = std::min(tiles * p_.m, s_.out[2] - column);
    out.channels = columns;
    out.epilogue = linear_;
    if (args_.epilogue.bias_n != nullptr) out.epilogue.bias_n = args_.epilogue.bias_n + channel;
    const auto run = p_.m == 4 ? kernels_.winograd_out4 : kernels_.winograd_out2;
    if (p_.to_first) {
      out.y = reinterpret_cast<float*>(rows);
      out.y_row_stride = p_.run_pixels * p_.nr, out.y_pixel_stride = p_.nr;
      run(out);
      return StoreChannelsFirst(out, image * s_.out_channels + channel, pixel,
                                reinterpret_cast<float*>(rows + FloatBytes(p_.m * p_.run_pixels * p_.nr)));
    }
    const int64_t at = (image * Product(s_.out) + pixel) * s_.OutPixel() + channel;
    out.y = args_.y + at;
    out.y_row_stride = s_.out[2] * s_.OutPixel(), out.y_pixel_stride = s_.OutPixel();
    if (args_.epilogue.residual != nullptr) out.epilogue.residual = args_.epilogue.residual + at;
    run(out);
    if (!NeedsPass(args_.epilogue.activation)) return;
    for (int64_t r = 0; r < out.rows; ++r)
      tiles_.activate(out.y + r * out.y_row_stride, out.columns, columns, s_.OutPixel(), args_.epilogue.activation);
  }

  // Transposes rows of outputs to one per channel and finishes them in y. plane: that of the first channel.
  void StoreChannelsFirst(const WinogradOutArgs& out, int64_t plane, int64_t pixel, float* planes) const {
    RowEpilogue e;
    e.beta = args_.epilogue.beta;
    e.activation = args_.epilogue.activation;
    for (int64_t r = 0; r < out.rows; ++r) {
      tiles_.transpose(out.columns, out.channels, out.y + r * out.y_row_stride, p_.nr, planes, p_.run_pixels);
      for (int64_t c = 0; c < out.channels; ++c) {
        const int64_t at = (plane + c) * Product(s_.out) + pixel + r * s_.out[2];
        if (args_.epilogue.residual != nullptr) e.residual = args_.epilogue.residual + at;
        tiles_.finish_row(planes + c * p_.run_pixels, out.columns, e, args_.y + at);
      }
    }
  }

  const ConvF32Args& args_;
  const ConvShape& s_;
  const Plan& p_;
  const TileF32Set& tiles_;
  const ConvKernels& kernels_;
  LinearEpilogue linear_;
};

// Channels-last images [first, last); x: that of `first`.
struct Images {
  const float* x;
  int64_t floats;  // of an image
  int64_t first, last;
};

// Threads take blocks.
void RunBlocks(const WinogradTask& task, const Plan& p, const Images& images, Parallel& parallel, std::byte* slots) {
  const int64_t units = (images.last - images.first) * p.blocks;
  const int64_t parts = std::min<int64_t>(parallel.ThreadCount(), units);
  const auto run = [&](int64_t part_begin, int64_t part_end) {
    for (int64_t part = part_begin; part < part_end; ++part) {
      std::byte* own = slots + static_cast<std::size_t>(part) * p.slot;
      auto* v = reinterpret_cast<float*>(own + p.slot - FloatBytes(p.positions * p.v_plane));
      for (int64_t unit = units * part / parts; unit < units * (part + 1) / parts; ++unit) {
        const int64_t image = unit / p.blocks, block = unit % p.blocks;
        const TileSpan span = {images.first + image, p.image_tiles * block / p.blocks,
                               p.image_tiles * (block + 1) / p.blocks};
        task.Transform(images.x + image * images.floats, span.begin, span.end, span.begin, v);
        for (int64_t panel = 0; panel < p.panels; ++panel) task.Panel(span, v, panel, panel + 1 == p.panels, own);
      }
    }
  };
  if (parts == 1) return run(0, 1);
  parallel.For(parts, 1, run);
}

// Threads take panels of one image.
void RunPanels(const WinogradTask& task, const Plan& p, const float* x, int64_t image, Parallel& parallel,
               std::byte* shared) {
  auto* v = reinterpret_cast<float*>(shared);
  std::byte* slots = shared + p.shared;
  parallel.For(p.image_tiles, std::max<int64_t>(1, p.image_tiles / (int64_t{2} * parallel.ThreadCount())),
               [&](int64_t begin, int64_t end) { task.Transform(x, begin, end, 0, v); });
  const int64_t parts = std::min<int64_t>(parallel.ThreadCount(), p.panels);
  parallel.For(parts, 1, [&](int64_t part_begin, int64_t part_end) {
    for (int64_t part = part_begin; part < part_end; ++part) {
      const int64_t end_panel = p.panels * (part + 1) / parts;
      for (int64_t panel = p.panels * part / parts; panel < end_panel; ++panel)
        for (int64_t begin = 0; begin < p.image_tiles; begin += p.m_tiles) {
          const int64_t end = std::min(begin + p.m_tiles, p.image_tiles);
          const bool last = panel + 1 == end_panel || end < p.image_tiles;
          task.Panel({image, begin, end}, v + begin * p.v_row, panel, last,
                     slots + static_cast<std::size_t>(part) * p.slot);
        }
    }
  });
}

}  // namespace

bool WinogradFits(const ConvShape& s) {
  const auto ones = [](const Index3& v) { return v == Index3{1, 1, 1}; };
  return s.groups == 1 && s.kernel == Index3{1, 3, 3} && ones(s.stride) && ones(s.dilation) && s.pad_begin[0] == 0;
}

std::size_t WinogradPackedCount(const ConvShape& s, const TileF32Set& tiles) {
  return static_cast<std::size_t>(PanelWeightFloats(tiles, 1, s.in_channels, s.out_channels, Positions(s)));
}

void PackWinograd(const ConvShape& s, const float* w, float* packed, Parallel& parallel, const TileF32Set& tiles) {
  const int64_t nr = tiles.columns, channels = s.in_channels, positions = Positions(s);
  const ConvKernels& kernels = ConvKernelsOf(tiles.isa);
  parallel.For(CeilDivide(s.out_channels, nr), 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      WinogradWeightsArgs d;
      d.w = w + panel * nr * channels * 9;
      d.columns = std::min(nr, s.out_channels - panel * nr), d.channels = channels;
      d.u = packed + panel * positions * channels * nr;
      (Outputs(s) == 4 ? kernels.winograd_weights4 : kernels.winograd_weights2)(d);
    }
  });
}

std::size_t WinogradScratchBytes(const ConvShape& s, int threads, const TileF32Set& tiles) {
  const Plan plan(s, threads, tiles);
  return plan.image + plan.shared + static_cast<std::size_t>(threads) * plan.slot;
}

void Winograd(const ConvF32Args& args, const TileF32Set& tiles, Parallel& parallel, std::byte* scratch) {
  const ConvShape& s = args.shape;
  const Plan plan(s, parallel.ThreadCount(), tiles);
  const WinogradTask task(args, plan, tiles);
  const int64_t image_floats = Product(s.in) * s.InPixel();
  if (!plan.to_last && !plan.by_panels)
    return RunBlocks(task, plan, {args.x, image_floats, 0, s.batch}, parallel, scratch);
  auto* last = reinterpret_cast<float*>(scratch);
  const HaloedImage halo{s.in, {0, 0, 0}, s.in_channels, s.in_channels};
  for (int64_t n = 0; n < s.batch; ++n) {
    const float* x = args.x + n * image_floats;
    if (plan.to_last) {
      FillHalo(tiles, halo, {x, s.in, s.in_layout}, last, parallel);
      x = last;
    }
    if (plan.by_panels)
      RunPanels(task, plan, x, n, parallel, scratch + plan.image);
    else
      RunBlocks(task, plan, {x, image_floats, n, n + 1}, parallel, scratch + plan.image);
  }
}

}  // namespace sardonyx::kernels
