// kernels/gemm/gemm_any.cpp - the loops around the tile of the other element types.
//
// Each unit of work (element of the batch, panel of columns, chunk of rows) packs its panel of B into the scratch of
// its thread, runs tiles over its rows and finishes their sums.
#include "kernels/gemm/gemm_any.h"

#include <algorithm>
#include <type_traits>

#include "kernels/gemm/tile_any.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

constexpr int64_t kSerialWork = int64_t{1} << 17;
constexpr int64_t kMostSums = int64_t{12} * 32;  // of a tile

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The type whose tile computes T.
template <typename T>
using TileType = std::conditional_t<std::is_same_v<T, double>, double,
                                    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;

const TilesAny& Set(const Isa* isa) {
  using SetFn = const TilesAny&();
  static constexpr Variant<SetFn> kVariants[] = SDX_VARIANTS(TileSetAny);
  for (const Variant<SetFn>& variant : kVariants)
    if (isa != nullptr ? variant.isa == *isa : Supported(variant.isa)) return variant.run();
  return baseline::TileSetAny();
}

template <typename T>
const TileAny<TileType<T>>& Tile(const Isa* isa) {
  if constexpr (std::is_same_v<T, double>)
    return Set(isa).f64;
  else if constexpr (sizeof(T) == 4)
    return Set(isa).u32;
  else
    return Set(isa).u64;
}

template <typename T>
class Loop {
 public:
  using U = TileType<T>;

  Loop(const GemmAnyArgs<T>& g, int64_t threads) : g_(g), tile_(Tile<T>(g.isa)) {
    panels_ = CeilDiv(g.n, tile_.columns);
    if (threads > 1)
      chunks_ = std::clamp<int64_t>(CeilDiv(4 * threads, std::max<int64_t>(1, g.batch * panels_)), 1,
                                    std::max<int64_t>(1, CeilDiv(g.m, 4 * tile_.rows)));
  }
  int64_t UnitCount() const { return g_.m == 0 ? 0 : g_.batch * panels_ * chunks_; }
  int64_t SlotElements() const { return g_.k * tile_.columns; }

  void Run(int64_t begin, int64_t end, U* panel) const {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t chunk = unit % chunks_, column = unit / chunks_ % panels_ * tile_.columns;
      const int64_t item = unit / chunks_ / panels_;
      const int64_t columns = std::min<int64_t>(tile_.columns, g_.n - column);
      Pack(item, column, columns, panel);
      const int64_t end_row = g_.m * (chunk + 1) / chunks_;
      for (int64_t row = g_.m * chunk / chunks_; row < end_row; row += tile_.rows) {
        U sums[kMostSums];
        const int64_t count = std::min<int64_t>(tile_.rows, end_row - row);
        const auto* a = reinterpret_cast<const U*>(
            g_.a + (g_.a_batch_offsets != nullptr ? g_.a_batch_offsets[item] : item * g_.a_batch_stride));
        const int64_t row_stride = g_.trans_a ? 1 : g_.lda, k_stride = g_.trans_a ? g_.lda : 1;
        tile_.run({count, a + row * row_stride, row_stride, k_stride, g_.k, panel, sums});
        for (int64_t r = 0; r < count; ++r) Finish(sums + r * tile_.columns, item, row + r, column, columns);
      }
    }
  }

 private:
  void Pack(int64_t item, int64_t column, int64_t columns, U* panel) const {
    const T* b = g_.b + (g_.b_batch_offsets != nullptr ? g_.b_batch_offsets[item] : item * g_.b_batch_stride);
    const int64_t k_stride = g_.trans_b ? 1 : g_.ldb, column_stride = g_.trans_b ? g_.ldb : 1;
    b += column * column_stride;
    for (int64_t i = 0; i < g_.k; ++i)
      for (int64_t j = 0; j < tile_.columns; ++j)
        panel[i * tile_.columns + j] = j < columns ? static_cast<U>(b[i * k_stride + j * column_stride]) : U{};
  }

  void Finish(const U* sums, int64_t item, int64_t row, int64_t column, int64_t columns) const {
    T* c = g_.c + item * g_.c_batch_stride + row * g_.ldc + column;
    const U alpha = static_cast<U>(g_.alpha), beta = static_cast<U>(g_.beta);
    if (g_.c0 == nullptr) {
      for (int64_t j = 0; j < columns; ++j) c[j] = static_cast<T>(alpha * sums[j]);
      return;
    }
    const T* c0 = g_.c0 + item * g_.c0_batch_stride + row * g_.c0_row_stride + column * g_.c0_column_stride;
    for (int64_t j = 0; j < columns; ++j)
      c[j] = static_cast<T>(alpha * sums[j] + beta * static_cast<U>(c0[j * g_.c0_column_stride]));
  }

  const GemmAnyArgs<T>& g_;
  const TileAny<U>& tile_;
  int64_t panels_ = 0;
  int64_t chunks_ = 1;
};

template <typename T>
std::size_t SlotBytes(const Loop<T>& loop) {
  return (static_cast<std::size_t>(loop.SlotElements()) * sizeof(T) + 63) & ~std::size_t{63};
}

}  // namespace

template <typename T>
std::size_t GemmAnyScratchBytes(const GemmAnyArgs<T>& args, int threads) {
  return SlotBytes(Loop<T>(args, threads)) * static_cast<std::size_t>(std::max(1, threads));
}

template <typename T>
void GemmAny(const GemmAnyArgs<T>& g, Parallel& parallel, std::byte* scratch) {
  const int64_t threads = parallel.ThreadCount();
  const Loop<T> loop(g, threads);
  const int64_t units = loop.UnitCount();
  const std::size_t slot = SlotBytes(loop);
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s)
      loop.Run(units * s / threads, units * (s + 1) / threads,
               reinterpret_cast<TileType<T>*>(scratch + static_cast<std::size_t>(s) * slot));
  };
  if (threads == 1 || g.batch * g.m * g.n * g.k < kSerialWork) return run(0, threads);
  parallel.For(threads, 1, run);
}

template std::size_t GemmAnyScratchBytes(const GemmAnyArgs<double>&, int);
template std::size_t GemmAnyScratchBytes(const GemmAnyArgs<std::int32_t>&, int);
template std::size_t GemmAnyScratchBytes(const GemmAnyArgs<std::int64_t>&, int);
template std::size_t GemmAnyScratchBytes(const GemmAnyArgs<std::uint32_t>&, int);
template std::size_t GemmAnyScratchBytes(const GemmAnyArgs<std::uint64_t>&, int);
template void GemmAny(const GemmAnyArgs<double>&, Parallel&, std::byte*);
template void GemmAny(const GemmAnyArgs<std::int32_t>&, Parallel&, std::byte*);
template void GemmAny(const GemmAnyArgs<std::int64_t>&, Parallel&, std::byte*);
template void GemmAny(const GemmAnyArgs<std::uint32_t>&, Parallel&, std::byte*);
template void GemmAny(const GemmAnyArgs<std::uint64_t>&, Parallel&, std::byte*);

}  // namespace sardonyx::kernels
