// kernels/gemm/gemm_any.cpp - the loops around the register tile of gemm_any.h.
//
// Each unit of work (element of the batch, panel of columns, chunk of rows) packs its panel of B into the scratch of
// its thread, runs tiles over its rows and finishes their sums.
#include "kernels/gemm/gemm_any.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/gemm/tile_any.h"

namespace sardonyx::kernels {
namespace {

using std::int64_t;

constexpr int64_t kRowsInPlace = 2;  // of A, that B is not packed for
constexpr int64_t kSerialWork = int64_t{1} << 17;
constexpr int64_t kMostSums = int64_t{12} * 32;  // of a tile
constexpr int64_t kAliasBytes = 4096;            // rows of A this far apart fall into one set of the first cache level
constexpr int64_t kAliasRows = 8, kAliasColumns = 64;  // copying such an A pays from this size of the product on

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The type whose tile computes T.
template <typename T>
using TileType = std::conditional_t<std::is_same_v<T, double>, double,
                                    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;

constexpr Variant<const TilesAny&()> kVariants[] = {SDX_VARIANTS(TileSetAny)};

template <typename T>
const TileAny<TileType<T>>& Tile(Isa isa) {
  const TilesAny& tiles = Best(kVariants, isa)();
  if constexpr (std::is_same_v<T, double>)
    return tiles.f64;
  else if constexpr (sizeof(T) == 4)
    return tiles.u32;
  else
    return tiles.u64;
}

// panel[i * nr + j] = element i, j of the panel of B [K, N] that starts at `b`; zeros beyond `columns`.
template <typename T, typename U>
void PackPanel(int64_t k, int64_t columns, int64_t width, const T* b, int64_t k_stride, int64_t column_stride,
               U* panel) {
  for (int64_t i = 0; i < k; ++i, panel += width) {
    if (column_stride == 1) {
      static_assert(sizeof(T) == sizeof(U));
      std::memcpy(panel, b + i * k_stride, static_cast<std::size_t>(columns) * sizeof(U));
    } else {
      for (int64_t j = 0; j < columns; ++j) panel[j] = static_cast<U>(b[i * k_stride + j * column_stride]);
    }
    for (int64_t j = columns; j < width; ++j) panel[j] = U{};
  }
}

template <typename T>
class Loop {
 public:
  using U = TileType<T>;

  Loop(const GemmAnyArgs<T>& g, int64_t threads) : g_(g), tile_(Tile<T>(g.isa)) {
    in_place_ = g.m <= kRowsInPlace && g.packed_b == nullptr && !g.trans_b;
    panels_ = CeilDiv(g.n, Width());
    if (threads > 1 && !in_place_)
      chunks_ = std::clamp<int64_t>(CeilDiv(4 * threads, std::max<int64_t>(1, g.batch * panels_)), 1,
                                    std::max<int64_t>(1, CeilDiv(g.m, 4 * tile_.rows)));
  }
  int64_t UnitCount() const { return g_.m == 0 ? 0 : g_.batch * panels_ * chunks_; }
  int64_t SlotElements() const { return g_.packed_b != nullptr || in_place_ ? 0 : g_.k * tile_.columns; }
  // Elements of a copy of A whose rows do not alias; 0 if A is read where it lies.
  int64_t CopyElements() const {
    const bool aliases = g_.lda * static_cast<int64_t>(sizeof(T)) % kAliasBytes == 0;
    const bool copies =
        aliases && !g_.trans_a && g_.batch == 1 && g_.m >= kAliasRows && g_.n >= kAliasColumns && g_.k > 0;
    return copies ? g_.m * CopyStride() : 0;
  }
  // Lets the loop read A from `copy`, which it fills.
  void UseCopy(T* copy) {
    for (int64_t row = 0; row < g_.m; ++row) std::copy_n(g_.a + row * g_.lda, g_.k, copy + row * CopyStride());
    g_.a = copy;
    g_.lda = CopyStride();
  }

  void Run(int64_t begin, int64_t end, U* slot) const {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t chunk = unit % chunks_, column = unit / chunks_ % panels_ * Width();
      const int64_t item = unit / chunks_ / panels_;
      const int64_t columns = std::min<int64_t>(Width(), g_.n - column);
      if (in_place_) {
        RunInPlace(item, column, columns);
        continue;
      }
      const U* panel = slot;
      if (g_.packed_b != nullptr) {
        panel = reinterpret_cast<const U*>(g_.packed_b + BOffset(item) + column * g_.k);
      } else {
        const int64_t k_stride = g_.trans_b ? 1 : g_.ldb, column_stride = g_.trans_b ? g_.ldb : 1;
        PackPanel(g_.k, columns, tile_.columns, g_.b + BOffset(item) + column * column_stride, k_stride, column_stride,
                  slot);
      }
      const int64_t end_row = g_.m * (chunk + 1) / chunks_;
      const U* a = A(item);
      const int64_t row_stride = g_.trans_a ? 1 : g_.lda, k_stride = g_.trans_a ? g_.lda : 1;
      const int64_t first_row = g_.m * chunk / chunks_;
      if (columns == tile_.columns && g_.c0 == nullptr && g_.alpha == T{1}) {  // sums are results
        U* c = reinterpret_cast<U*>(g_.c) + item * g_.c_batch_stride + first_row * g_.ldc + column;
        if (end_row > first_row)
          tile_.run({end_row - first_row, a + first_row * row_stride, row_stride, k_stride, g_.k, panel, c, g_.ldc});
        continue;
      }
      for (int64_t row = first_row; row < end_row; row += tile_.rows) {
        U sums[kMostSums];
        const int64_t count = std::min<int64_t>(tile_.rows, end_row - row);
        tile_.run({count, a + row * row_stride, row_stride, k_stride, g_.k, panel, sums, tile_.columns});
        for (int64_t r = 0; r < count; ++r) Finish(sums + r * tile_.columns, item, row + r, column, columns);
      }
    }
  }

 private:
  // So few rows use an element of B too rarely to pay for a copy of it.
  void RunInPlace(int64_t item, int64_t column, int64_t columns) const {
    const auto* b = reinterpret_cast<const U*>(g_.b + BOffset(item) + column);
    const int64_t row_stride = g_.trans_a ? 1 : g_.lda, k_stride = g_.trans_a ? g_.lda : 1;
    for (int64_t row = 0; row < g_.m; ++row) {
      U sums[kMostSums] = {};
      tile_.add_rows(g_.k, A(item) + row * row_stride, k_stride, b, g_.ldb, columns, sums);
      Finish(sums, item, row, column, columns);
    }
  }
  int64_t Width() const { return in_place_ ? kMostSums : tile_.columns; }
  const U* A(int64_t item) const {
    return reinterpret_cast<const U*>(
        g_.a + (g_.a_batch_offsets != nullptr ? g_.a_batch_offsets[item] : item * g_.a_batch_stride));
  }
  int64_t CopyStride() const { return g_.k + 64 / static_cast<int64_t>(sizeof(T)); }
  int64_t BOffset(int64_t item) const {
    return g_.b_batch_offsets != nullptr ? g_.b_batch_offsets[item] : item * g_.b_batch_stride;
  }

  void Finish(const U* sums, int64_t item, int64_t row, int64_t column, int64_t columns) const {
    T* c = g_.c + item * g_.c_batch_stride + row * g_.ldc + column;
    const U alpha = static_cast<U>(g_.alpha), beta = static_cast<U>(g_.beta);
    if (g_.c0 == nullptr && alpha == U{1}) {
      std::copy_n(reinterpret_cast<const T*>(sums), columns, c);
      return;
    }
    if (g_.c0 == nullptr) {
      for (int64_t j = 0; j < columns; ++j) c[j] = static_cast<T>(alpha * sums[j]);
      return;
    }
    const T* c0 = g_.c0 + item * g_.c0_batch_stride + row * g_.c0_row_stride + column * g_.c0_column_stride;
    for (int64_t j = 0; j < columns; ++j)
      c[j] = static_cast<T>(alpha * sums[j] + beta * static_cast<U>(c0[j * g_.c0_column_stride]));
  }

  GemmAnyArgs<T> g_;
  const TileAny<U>& tile_;
  int64_t panels_ = 0;
  int64_t chunks_ = 1;
  bool in_place_ = false;
};

template <typename T>
std::size_t SlotBytes(const Loop<T>& loop) {
  return (static_cast<std::size_t>(loop.SlotElements()) * sizeof(T) + 63) & ~std::size_t{63};
}

template <typename T>
std::size_t CopyBytes(const Loop<T>& loop) {
  return (static_cast<std::size_t>(loop.CopyElements()) * sizeof(T) + 63) & ~std::size_t{63};
}

}  // namespace

template <typename T>
std::size_t GemmAnyPackedCount(int64_t k, int64_t n, Isa isa) {
  const int64_t columns = Tile<T>(isa).columns;
  return static_cast<std::size_t>(CeilDiv(n, columns) * columns * k);
}

// NOLINTNEXTLINE(readability-function-size): the parameters of BLAS
template <typename T>
void PackGemmAnyB(int64_t k, int64_t n, const T* b, int64_t ldb, bool trans_b, T* packed, Isa isa) {
  const int64_t width = Tile<T>(isa).columns, k_stride = trans_b ? 1 : ldb, column_stride = trans_b ? ldb : 1;
  for (int64_t j = 0; j < n; j += width)
    PackPanel(k, std::min(width, n - j), width, b + j * column_stride, k_stride, column_stride, packed + j * k);
}

template <typename T>
std::size_t GemmAnyScratchBytes(const GemmAnyArgs<T>& args, int threads) {
  const Loop<T> loop(args, threads);
  return CopyBytes(loop) + SlotBytes(loop) * static_cast<std::size_t>(std::max(1, threads));
}

template <typename T>
void GemmAny(const GemmAnyArgs<T>& g, Parallel& parallel, std::byte* scratch) {
  const int64_t threads = parallel.ThreadCount();
  Loop<T> loop(g, threads);
  if (const std::size_t bytes = CopyBytes(loop); bytes > 0) {
    loop.UseCopy(reinterpret_cast<T*>(scratch));
    scratch += bytes;
  }
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

#define SDX_INSTANTIATE(T)                                                        \
  template std::size_t GemmAnyPackedCount<T>(int64_t, int64_t, Isa);              \
  template void PackGemmAnyB(int64_t, int64_t, const T*, int64_t, bool, T*, Isa); \
  template std::size_t GemmAnyScratchBytes(const GemmAnyArgs<T>&, int);           \
  template void GemmAny(const GemmAnyArgs<T>&, Parallel&, std::byte*);
SDX_INSTANTIATE(double)
SDX_INSTANTIATE(std::int32_t)
SDX_INSTANTIATE(std::int64_t)
SDX_INSTANTIATE(std::uint32_t)
SDX_INSTANTIATE(std::uint64_t)
#undef SDX_INSTANTIATE

}  // namespace sardonyx::kernels
