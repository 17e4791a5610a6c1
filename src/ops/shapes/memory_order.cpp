// ops/shapes/memory_order.cpp - where elements lie in the memory orders of cuBLASLt.
#include "ops/shapes/memory_order.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/quantize.h"
#include "kernels/gemm/tile_int8.h"

namespace sardonyx::ops {
namespace {

constexpr std::int64_t kGrain = 16384;
constexpr float kZero = 0;

// Where element (row, column) of a matrix lies, by the text of cublasLtOrder_t.
std::int64_t PlaceOf(Order order, const Matrices& m, std::int64_t row, std::int64_t column) {
  const std::int64_t group = column / 32 * 32 * m.rows, in_group = column % 32;  // the columns before this group of 32
  switch (order) {
    case Order::kColumn:
      return column * m.rows + row;
    case Order::kRow:
      return row * m.columns + column;
    case Order::kColumn32:
      return group + row * 32 + in_group;
    case Order::kTiles8:  // in a tile, rows of one parity; in these, four columns of four rows
      return group + row / 8 * 256 + row % 2 * 128 + in_group / 4 * 16 + row % 8 / 2 * 4 + column % 4;
    case Order::kTiles32:
      return group + row / 32 * 1024 + ((row % 8 / 2 * 4 + row % 32 / 8) * 2 + row % 2) * 32 + in_group;
  }
  return 0;
}

// Columns that follow each other in memory, beginning at a multiple of their number.
std::int64_t RunOf(Order order, const Matrices& m) {
  if (order == Order::kColumn) return 1;
  if (order == Order::kTiles8) return 4;
  return order == Order::kRow ? m.columns : 32;
}

// Rows of x as columns of y, or the other way round: the same bytes turned.
void Transpose(const Matrices& m, Order from, const std::int8_t* x, std::int8_t* y, Parallel& parallel) {
  const std::int64_t rows = from == Order::kRow ? m.rows : m.columns, columns = m.rows * m.columns / rows;
  constexpr std::int64_t kRows = 64;  // of one task
  const std::int64_t tasks = (rows + kRows - 1) / kRows;
  parallel.For(m.batch * tasks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t matrix = i / tasks * rows * columns, row = i % tasks * kRows;
      kernels::BestTilesInt8().transpose(std::min(kRows, rows - row), columns,
                                         reinterpret_cast<const std::uint8_t*>(x) + matrix + row * columns, columns,
                                         reinterpret_cast<std::uint8_t*>(y) + matrix + row, rows);
    }
  });
}

}  // namespace

std::string_view Name(Order order) {
  constexpr std::string_view kNames[] = {"0 (COL)", "1 (ROW)", "2 (COL32)", "3 (COL4_4R2_8C)", "4 (COL32_2R_4R4)"};
  return kNames[static_cast<std::size_t>(order)];
}

Order ReadOrder(const AttributeReader& c, std::string_view attribute) {
  const std::int64_t order = c.Int(attribute);
  if (order < 0 || order > 4)
    c.Fail(Code::kInvalidArgument, "attribute '", attribute, "': expected an order in [0, 4], found ", order);
  return static_cast<Order>(order);
}

void ExpectRows(const AttributeReader& c, std::string_view attribute) {
  if (!c.Has(attribute)) return;
  const Order order = ReadOrder(c, attribute);
  if (order != Order::kRow)
    c.Fail(Code::kNotImplemented, "attribute '", attribute, "': expected ", Name(Order::kRow), ", found ", Name(order));
}

Matrices Matrices::Of(Dims shape) {
  Matrices m;
  const std::size_t rank = shape.size();
  if (rank > 0) m.columns = shape[rank - 1];
  if (rank > 1) m.rows = shape[rank - 2];
  if (rank > 2) m.batch = ElementCount(shape, 0, rank - 2);
  return m;
}

void CheckTiles(Order order, const Matrices& matrices, std::string_view what) {
  const std::int64_t columns = order == Order::kColumn || order == Order::kRow ? 1 : 32;
  const std::int64_t rows = order == Order::kTiles8 ? 8 : order == Order::kTiles32 ? 32 : 1;
  if (matrices.rows % rows != 0 || matrices.columns % columns != 0) {
    Fail(Code::kInvalidArgument, what, ": expected multiples of ", rows, " rows and ", columns, " columns in order ",
         Name(order), ", found ", matrices.rows, " and ", matrices.columns);
  }
}

void Reorder(const Matrices& matrices, Order from, Order to, const std::int8_t* x, std::int8_t* y, Parallel& parallel) {
  const std::int64_t unit = matrices.rows * matrices.columns;
  if (matrices.count() == 0) return;
  if (from == to) return static_cast<void>(std::copy_n(x, matrices.count(), y));
  const bool turns = (from == Order::kRow && to == Order::kColumn) || (from == Order::kColumn && to == Order::kRow);
  if (turns) return Transpose(matrices, from, x, y, parallel);
  const std::int64_t run = std::min(RunOf(from, matrices), RunOf(to, matrices));
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / matrices.columns);
  parallel.For(matrices.batch * matrices.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t matrix = i / matrices.rows * unit, row = i % matrices.rows;
      for (std::int64_t column = 0; column < matrices.columns; column += run) {
        std::copy_n(x + matrix + PlaceOf(from, matrices, row, column), run,
                    y + matrix + PlaceOf(to, matrices, row, column));
      }
    }
  });
}

void QuantizeBytes(const float* x, std::int64_t count, float scale, std::int8_t* y, Parallel& parallel) {
  kernels::QuantizeFn* const quantize = kernels::Quantization().quantize(DType::kInt8, true);
  parallel.For(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    quantize(x + begin, &scale, &kZero, -128, 127, static_cast<std::size_t>(end - begin), y + begin);
  });
}

void DequantizeBytes(const std::int8_t* x, std::int64_t count, float scale, float* y, Parallel& parallel) {
  parallel.For(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    const auto n = static_cast<std::size_t>(end - begin);
    kernels::ToFloats(DType::kInt8)(x, begin, n, y + begin);
    kernels::Quantization().repeated_dequantize(y + begin, &scale, &kZero, n, y + begin);
  });
}

}  // namespace sardonyx::ops
