// ops/shapes/memory_order.h - the memory orders of cuBLASLt, in which com.microsoft's QOrdered operators keep 8-bit
// matrices.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/parallel.h"
#include "base/shape.h"
#include "ops/node_view.h"

namespace sardonyx::ops {

// As the attributes number them. kColumn32: groups of 32 columns, each row by row. The other two are made of tiles of
// 32 columns and 8 or 32 rows, within which rows are interleaved for the tensor cores.
enum class Order : std::uint8_t { kColumn, kRow, kColumn32, kTiles8, kTiles32 };

std::string_view Name(Order order);
// An attribute that must be an order; fails naming the node.
Order ReadOrder(const AttributeReader& c, std::string_view attribute);
// Fails unless the attribute is row-major, the only order that the operator reads or writes.
void ExpectRows(const AttributeReader& c, std::string_view attribute);

// A tensor as matrices: its last two dimensions, and all before as a batch.
struct Matrices {
  std::int64_t batch = 1, rows = 1, columns = 1;

  static Matrices Of(Dims shape);
  std::int64_t count() const { return batch * rows * columns; }
};
// Fails, naming `what`, unless the matrices are whole tiles of the order.
void CheckTiles(Order order, const Matrices& matrices, std::string_view what);
// y, in order `to`, has the elements of x, in order `from`. Both are checked already; they do not overlap.
void Reorder(const Matrices& matrices, Order from, Order to, const std::int8_t* x, std::int8_t* y, Parallel& parallel);

// y = x / scale, rounded with halves to even and limited to [-128, 127].
void QuantizeBytes(const float* x, std::int64_t count, float scale, std::int8_t* y, Parallel& parallel);
// y = x * scale.
void DequantizeBytes(const std::int8_t* x, std::int64_t count, float scale, float* y, Parallel& parallel);

}  // namespace sardonyx::ops
