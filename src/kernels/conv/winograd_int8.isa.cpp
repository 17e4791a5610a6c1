// kernels/conv/winograd_int8.isa.cpp - the transforms of integer Winograd F(4x4, 3x3) at 0, 1, -1, 2, -2 and infinity,
// channels-last. Unsigned vectors wrap where sums are meant modulo 2^32; 16-bit values never leave their range.
#include "kernels/conv/winograd_int8.h"

#include "kernels/gemm/tile_int8_finish.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr ptrdiff_t kOutputs = kWinogradInt8Outputs, kSpan = kOutputs + 2;
constexpr ptrdiff_t kWords = 2 * kLanes;  // of a vector; as many as output channels of a panel
using WordVec = std::int16_t __attribute__((vector_size(4 * kLanes)));

// The transforms of one row or column.
template <typename V>
void In(const V* x, V* v) {
  const V even = x[4] - x[2], odd = x[3] - x[1];
  const V even4 = x[4] - x[2] * 4, odd4 = x[3] - x[1] * 4;
  v[0] = (x[0] - x[2]) * 4 + even;
  v[1] = even4 + odd4;
  v[2] = even4 - odd4;
  v[3] = even + odd * 2;
  v[4] = even - odd * 2;
  v[5] = x[5] - x[3] - odd * 4;
}

template <typename V>
void Weights(const V* w, V* u) {
  const V ends = w[0] + w[2], far = w[0] + w[2] * 4;
  u[0] = w[0];
  u[1] = -(ends + w[1]);
  u[2] = w[1] - ends;
  u[3] = far + w[1] * 2;
  u[4] = far - w[1] * 2;
  u[5] = w[2];
}

// Outputs times 24, 12, 6 and 6.
void Out(const UintVec* m, UintVec* y) {
  const UintVec s1 = m[1] + m[2], d1 = m[1] - m[2], s2 = m[3] + m[4], d2 = m[3] - m[4];
  y[0] = (m[0] + s1) * 4 + (m[0] * 2 + s2);
  y[1] = d1 * 2 + d2;
  y[2] = s1 + s2;
  y[3] = d1 + d2 * 2 + m[5] * 6;
}
constexpr int kShifts[kOutputs] = {3, 2, 1, 1};  // the twos in these factors; each has one 3
constexpr std::uint32_t kNinth = 0x38E38E39;     // 9 * kNinth = 1 modulo 2^32
static_assert(static_cast<std::uint32_t>(9 * std::uint64_t{kNinth}) == 1);

// A vector of values less the zero point.
template <typename Byte>
WordVec LoadWords(const std::uint8_t* p, WordVec zero) {
  using Half __attribute__((vector_size(2 * kLanes))) = Byte;
  Half bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  return __builtin_convertvector(bytes, WordVec) - zero;
}

// One tile, one vector of channels: x, v at its channel. kMasked: some positions do not exist.
template <typename Byte, bool kMasked>
void InputTile(const WinogradInt8InArgs& d, const std::uint8_t* x, int64_t column, std::int16_t* v) {
  const WordVec zero = WordVec{} + static_cast<std::int16_t>(d.x_zero);
  WordVec t[kSpan][kSpan];
#pragma GCC unroll 8
  for (ptrdiff_t j = 0; j < kSpan; ++j) {
    WordVec in[kSpan], out[kSpan];
#pragma GCC unroll 8
    for (ptrdiff_t i = 0; i < kSpan; ++i) {
      const std::uint8_t* from = x + (i * d.in_columns + j) * d.channels;
      const bool exists =
          !kMasked || (column + j >= 0 && column + j < d.in_columns && d.row + i >= 0 && d.row + i < d.in_rows);
      in[i] = exists ? LoadWords<Byte>(from, zero) : WordVec{};
    }
    In(in, out);
#pragma GCC unroll 8
    for (ptrdiff_t i = 0; i < kSpan; ++i) t[i][j] = out[i];
  }
#pragma GCC unroll 8
  for (ptrdiff_t i = 0; i < kSpan; ++i) {
    WordVec out[kSpan];
    In(t[i], out);
#pragma GCC unroll 8
    for (ptrdiff_t j = 0; j < kSpan; ++j) std::memcpy(v + (i * kSpan + j) * d.v_plane, &out[j], sizeof out[j]);
  }
}

template <typename Byte>
void Input(const WinogradInt8InArgs& d) {
  const bool rows_exist = d.row >= 0 && d.row + kSpan <= d.in_rows;
  for (int64_t tile = 0; tile < d.tiles; ++tile) {
    const int64_t column = d.column + tile * kOutputs;
    const std::uint8_t* x = d.x + (d.row * d.in_columns + column) * d.channels;
    std::int16_t* v = d.v + tile * d.v_row;
    const bool inside = rows_exist && column >= 0 && column + kSpan <= d.in_columns;
    for (int64_t c = 0; c < d.channels; c += kWords)
      inside ? InputTile<Byte, false>(d, x + c, column, v + c) : InputTile<Byte, true>(d, x + c, column, v + c);
  }
}

// The first R outputs of a row of a tile.
template <int R>
void StoreRow(TileInt8Args t, const UintVec (&sums)[kOutputs][2]) {
  UintVec acc[R][2];
  for (int r = 0; r < R; ++r) acc[r][0] = sums[r][0], acc[r][1] = sums[r][1];
  const ptrdiff_t second = (R + 1) / 2 * t.c_row_stride;
  t.c1 = static_cast<std::byte*>(t.c0) + second * (t.result == Int8Result::kBytes ? 1 : 4);
  if (t.z0 != nullptr) t.z1 = t.z0 + second;
  Finish(t, acc);
}

void OutputTile(const WinogradInt8OutArgs& d, const std::uint32_t* m, int64_t columns, ptrdiff_t at) {
  UintVec t[kOutputs][2][kSpan];
#pragma GCC unroll 2
  for (ptrdiff_t v = 0; v < 2; ++v)
#pragma GCC unroll 8
    for (ptrdiff_t j = 0; j < kSpan; ++j) {
      UintVec in[kSpan], out[kOutputs];
#pragma GCC unroll 8
      for (ptrdiff_t i = 0; i < kSpan; ++i) in[i] = LoadInt(m + (i * kSpan + j) * d.m_plane + v * kLanes);
      Out(in, out);
#pragma GCC unroll 4
      for (ptrdiff_t i = 0; i < kOutputs; ++i) t[i][v][j] = out[i];
    }
  UintVec bias[2] = {};
  if (d.bias != nullptr) bias[0] = LoadInt(d.bias), bias[1] = LoadInt(d.bias + kLanes);
  TileInt8Args result = d.result;
  const ptrdiff_t size = result.result == Int8Result::kBytes ? 1 : 4;
#pragma GCC unroll 4
  for (ptrdiff_t i = 0; i < kOutputs; ++i) {
    if (i >= d.rows) break;
    UintVec sums[kOutputs][2];
#pragma GCC unroll 2
    for (ptrdiff_t v = 0; v < 2; ++v) {
      UintVec out[kOutputs];
      Out(t[i][v], out);
#pragma GCC unroll 4
      for (ptrdiff_t j = 0; j < kOutputs; ++j)
        sums[j][v] = (UintVec)((IntVec)(out[j] * BroadcastInt(kNinth)) >> (kShifts[i] + kShifts[j])) + bias[v];
    }
    const ptrdiff_t to = at + i * d.row_stride;
    result.c0 = static_cast<std::byte*>(d.result.c0) + to * size;
    if (d.result.z0 != nullptr) result.z0 = d.result.z0 + to;
    if (columns >= 4)
      StoreRow<4>(result, sums);
    else if (columns == 3)
      StoreRow<3>(result, sums);
    else if (columns == 2)
      StoreRow<2>(result, sums);
    else
      StoreRow<1>(result, sums);
  }
}

}  // namespace

void WinogradInt8In(const WinogradInt8InArgs& args) {
  args.x_signed ? Input<std::int8_t>(args) : Input<std::uint8_t>(args);
}

void WinogradInt8Out(const WinogradInt8OutArgs& d) {
  for (int64_t tile = 0; tile < d.tiles; ++tile)
    OutputTile(d, d.m + tile * kWords, d.columns - tile * kOutputs, tile * kOutputs * d.result.c_row_stride);
}

void WinogradInt8Weight(const WinogradInt8WeightsArgs& d) {
  constexpr ptrdiff_t kPlane = 2 * kWords;  // words of two channels
  for (int64_t c = 0; c < d.channels; ++c) {
    WordVec w[9], columns[3][kSpan];
    for (ptrdiff_t j = 0; j < kWords; ++j) {
      const std::uint8_t* from = d.w + (j * d.channels + c) * 9;
      for (ptrdiff_t i = 0; i < 9; ++i)
        w[i][j] = static_cast<std::int16_t>((d.w_signed ? static_cast<std::int8_t>(from[i]) : from[i]) - d.zeros[j]);
    }
    for (ptrdiff_t x = 0; x < 3; ++x) {
      const WordVec column[3] = {w[x], w[3 + x], w[6 + x]};
      Weights(column, columns[x]);
    }
    for (ptrdiff_t i = 0; i < kSpan; ++i) {
      const WordVec row[3] = {columns[0][i], columns[1][i], columns[2][i]};
      WordVec u[kSpan];
      Weights(row, u);
      for (ptrdiff_t j = 0; j < kSpan; ++j) {
        std::int16_t* to = d.u + ((i * kSpan + j) * (d.channels / 2) + c / 2) * kPlane + c % 2;
        for (ptrdiff_t k = 0; k < kWords; ++k) to[2 * k] = u[j][k];
      }
    }
  }
}

}  // namespace sardonyx::kernels::SDX_ISA
