// kernels/gemm/few_rows_int8.cpp - the loops around the tile of few rows.
#include "kernels/gemm/few_rows_int8.h"

#include <algorithm>
#include <cstring>

namespace sardonyx::kernels {
namespace {

using std::int64_t;

constexpr int64_t kMostRows = 8, kTileRows = 4;
constexpr int64_t kLeastWork = int64_t{1} << 18;  // of a thread

constexpr Variant<FewRowsInt8Fn> kTiles[] = {SDX_VARIANTS(FewRowsInt8Tile)};
constexpr Variant<FewRowsInt8Fn> kTransposed[] = {SDX_VARIANTS(FewRowsInt8Transposed)};

std::size_t RoundUp64(int64_t bytes) { return (static_cast<std::size_t>(bytes) + 63) & ~std::size_t{63}; }

int ValueAt(const void* p, int64_t i, bool is_signed) {
  return is_signed ? static_cast<const std::int8_t*>(p)[i] : static_cast<const std::uint8_t*>(p)[i];
}

struct Layout {
  explicit Layout(const GemmInt8Args& g) : a_stride((g.k + kFewRowsValues - 1) / kFewRowsValues * kFewRowsValues) {
    row_sums = RoundUp64(g.m * a_stride * 2);
    b_zero = row_sums + RoundUp64(g.m * 4);
    scales = b_zero + RoundUp64(g.n * 4);
    total = scales + RoundUp64(g.n * 4);
  }
  int64_t a_stride;
  std::size_t row_sums, b_zero, scales, total;
};

class Product {
 public:
  Product(const GemmInt8Args& g, Isa isa, std::byte* scratch)
      : g_(g), layout_(g), tile_(g.b_transposed ? Best(kTransposed, isa) : Best(kTiles, isa)) {
    a_ = reinterpret_cast<std::int16_t*>(scratch);
    row_sums_ = reinterpret_cast<std::uint32_t*>(scratch + layout_.row_sums);
    PrepareRows();
    if (g.b_zero != nullptr) {
      auto* zeros = reinterpret_cast<std::uint32_t*>(scratch + layout_.b_zero);
      for (int64_t j = 0; j < g.n; ++j)
        zeros[j] = static_cast<std::uint32_t>(ValueAt(g.b_zero, g.b_zero_per_column ? j : 0, g.b_signed));
      b_zero_ = zeros;
    }
    scales_ = g.scales;
    if (g.result != Int8Result::kSums && !g.scale_per_column) {
      auto* scales = reinterpret_cast<float*>(scratch + layout_.scales);
      std::fill_n(scales, g.n, *g.scales);
      scales_ = scales;
    }
  }

  // Blocks [begin, end) of 16 columns. The last one begins earlier where 16 does not divide N, so that some columns are
  // computed twice.
  void Run(int64_t begin, int64_t end) const {
    FewRowsInt8Args args{};
    args.a_stride = layout_.a_stride, args.k = g_.k;
    TileInt8Args& t = args.t;
    t.result = g_.result, t.c_row_stride = g_.ldc;
    t.SetBytes(g_.c_signed, g_.c_zero);
    for (int64_t block = begin; block < end; ++block) {
      const int64_t column = std::min(block * kFewRowsColumns, g_.n - kFewRowsColumns);
      t.columns = kFewRowsColumns;
      args.b = static_cast<const std::uint8_t*>(g_.b) + column * (g_.b_transposed ? g_.ldb : 1), args.b_stride = g_.ldb;
      t.column_terms = g_.bias != nullptr ? reinterpret_cast<const std::uint32_t*>(g_.bias) + column : nullptr;
      t.b_zero = b_zero_ != nullptr ? b_zero_ + column : nullptr;
      t.scales = scales_ != nullptr ? scales_ + column : nullptr;
      t.bias = g_.float_bias != nullptr ? g_.float_bias + column : nullptr;
      for (int64_t row = 0; row < g_.m; row += kTileRows) RunTile(row, column, &args);
    }
  }

 private:
  void PrepareRows() {
    const auto* values = static_cast<const std::uint8_t*>(g_.a);
    for (int64_t r = 0; r < g_.m; ++r) {
      const int zero = g_.a_zero == nullptr ? 0 : ValueAt(g_.a_zero, g_.a_zero_per_row ? r : 0, g_.a_signed);
      std::int16_t* to = a_ + r * layout_.a_stride;
      std::uint32_t sum = 0;
      for (int64_t k = 0; k < g_.k; ++k) {
        const int value = ValueAt(values + r * g_.lda, k, g_.a_signed) - zero;
        to[k] = static_cast<std::int16_t>(value);
        sum += static_cast<std::uint32_t>(value);
      }
      std::fill(to + g_.k, to + layout_.a_stride, std::int16_t{0});
      row_sums_[r] = sum;
    }
  }

  void RunTile(int64_t row, int64_t column, FewRowsInt8Args* args) const {
    const int64_t rows = std::min(kTileRows, g_.m - row), half = (rows + 1) / 2;
    const int64_t size = g_.result == Int8Result::kBytes ? 1 : 4;
    TileInt8Args& t = args->t;
    args->a = a_ + row * layout_.a_stride;
    t.c0 = static_cast<std::byte*>(g_.c) + (row * g_.ldc + column) * size;
    t.c1 = static_cast<std::byte*>(t.c0) + half * g_.ldc * size;
    t.row_terms0 = row_sums_ + row, t.row_terms1 = t.row_terms0 + half;
    t.row_scales = g_.row_scales != nullptr ? g_.row_scales + row : nullptr;
    tile_(*args, rows, g_.b_signed);
  }

  const GemmInt8Args& g_;
  Layout layout_;
  FewRowsInt8Fn* tile_;
  std::int16_t* a_;
  std::uint32_t* row_sums_;
  const std::uint32_t* b_zero_ = nullptr;
  const float* scales_;
};

}  // namespace

bool IsOfFewRows(const GemmInt8Args& g) {
  return g.packed_b == nullptr && g.m <= kMostRows && g.n >= kFewRowsColumns && g.k > 0;
}

std::size_t FewRowsInt8ScratchBytes(const GemmInt8Args& g) { return Layout(g).total; }

void RunFewRowsInt8(const GemmInt8Args& g, Isa isa, std::byte* scratch, Parallel& parallel) {
  const Product product(g, isa, scratch);
  const int64_t blocks = (g.n + kFewRowsColumns - 1) / kFewRowsColumns;
  const int64_t of_block = std::max<int64_t>(1, g.m * g.k * kFewRowsColumns);
  parallel.For(blocks, std::max<int64_t>(1, kLeastWork / of_block),
               [&](int64_t begin, int64_t end) { product.Run(begin, end); });
}

}  // namespace sardonyx::kernels
