// kernels/conv/winograd.isa.cpp - input and output transforms of Winograd F(2x2, 3x3) and F(4x4, 3x3), channels-last.
//
// F(2, 3) interpolates at 0, 1, -1, inf, F(4, 3) at 0, +-5/8, +-3/2, inf: all their constants are exact in float, and
// the error of F(4, 3) is a quarter of that of the textbook points 0, +-1, +-2, inf. winograd_weights.isa.cpp holds
// the transform of the weights, which fits these.
#include "kernels/conv/conv_kernels.h"
#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

// The transforms of one row or column: kSpan = M + 2 inputs.
template <int M>
struct Points;

template <>
struct Points<2> {
  static void In(const Vec* x, Vec* v) {
    v[0] = x[0] - x[2];
    v[1] = x[1] + x[2];
    v[2] = x[2] - x[1];
    v[3] = x[3] - x[1];
  }
  static void Out(const Vec* m, Vec* y) {
    const Vec s = m[1] + m[2];
    y[0] = m[0] + s;
    y[1] = m[1] - m[2] + m[3];
  }
};

template <>
struct Points<4> {
  static constexpr float a = 0.625f, b = 1.5f, a2 = a * a, b2 = b * b;

  static void In(const Vec* x, Vec* v) {
    const Vec t1 = x[4] - Broadcast(b2) * x[2], u1 = x[3] - Broadcast(b2) * x[1];
    const Vec t2 = x[4] - Broadcast(a2) * x[2], u2 = x[3] - Broadcast(a2) * x[1];
    v[0] = Broadcast(a2 * b2) * x[0] + (x[4] - Broadcast(a2 + b2) * x[2]);
    v[1] = t1 + Broadcast(a) * u1;
    v[2] = t1 - Broadcast(a) * u1;
    v[3] = t2 + Broadcast(b) * u2;
    v[4] = t2 - Broadcast(b) * u2;
    v[5] = Broadcast(a2 * b2) * x[1] + (x[5] - Broadcast(a2 + b2) * x[3]);
  }
  static void Out(const Vec* m, Vec* y) {
    const Vec s1 = m[1] + m[2], d1 = m[1] - m[2], s2 = m[3] + m[4], d2 = m[3] - m[4];
    y[0] = m[0] + s1 + s2;
    y[1] = Broadcast(a) * d1 + Broadcast(b) * d2;
    y[2] = Broadcast(a2) * s1 + Broadcast(b2) * s2;
    y[3] = Broadcast(a * a2) * d1 + (Broadcast(b * b2) * d2 + m[5]);
  }
};

// One tile, one vector of channels: x, v at its channel. kMasked: some positions or lanes do not exist.
template <int M, bool kMasked>
void InputTile(const WinogradInArgs& d, const float* x, int64_t row, int64_t column, Lanes lanes, float* v) {
  constexpr int kSpan = M + 2;
  Vec t[kSpan][kSpan];
#pragma GCC unroll 8
  for (int j = 0; j < kSpan; ++j) {
    const bool column_exists = column + j >= 0 && column + j < d.in_columns;
    Vec in[kSpan], out[kSpan];
#pragma GCC unroll 8
    for (int i = 0; i < kSpan; ++i) {
      const float* from = x + i * d.x_row_stride + j * d.x_pixel_stride;
      if (kMasked) {
        const bool exists = column_exists && row + i >= 0 && row + i < d.in_rows;
        in[i] = exists ? Load(from, lanes) : Broadcast(0);
      } else {
        in[i] = Load(from);
      }
    }
    Points<M>::In(in, out);
#pragma GCC unroll 8
    for (int i = 0; i < kSpan; ++i) t[i][j] = out[i];
  }
#pragma GCC unroll 8
  for (int i = 0; i < kSpan; ++i) {
    Vec out[kSpan];
    Points<M>::In(t[i], out);
#pragma GCC unroll 8
    for (int j = 0; j < kSpan; ++j) {
      float* to = v + (i * kSpan + j) * d.v_plane;
      if (kMasked)
        Store(to, out[j], lanes);
      else
        Store(to, out[j]);
    }
  }
}

template <int M>
void Input(const WinogradInArgs& d) {
  constexpr int kSpan = M + 2;
  const bool rows_exist = d.row >= 0 && d.row + kSpan <= d.in_rows;
  for (int64_t tile = 0; tile < d.tiles; ++tile) {
    const int64_t column = d.column + tile * M;
    const float* x = d.x + d.row * d.x_row_stride + column * d.x_pixel_stride;
    float* v = d.v + tile * d.v_row;
    const bool inside = rows_exist && column >= 0 && column + kSpan <= d.in_columns;
    const int64_t whole = inside ? d.channels / kLanes * kLanes : 0;
    for (int64_t c = 0; c < whole; c += kLanes) InputTile<M, false>(d, x + c, d.row, column, FirstLanes(kLanes), v + c);
    for (int64_t c = whole; c < d.channels; c += kLanes)
      InputTile<M, true>(d, x + c, d.row, column, FirstLanes(d.channels - c), v + c);
  }
}

// One tile, one vector of channels: m, y at its channel.
template <int M>
void OutputTile(const WinogradOutArgs& d, const float* m, int64_t columns, int64_t channel, ptrdiff_t at) {
  constexpr int kSpan = M + 2;
  const LinearEpilogue& e = d.epilogue;
  const Lanes lanes = FirstLanes(d.channels - channel);
  Vec t[M][kSpan];
#pragma GCC unroll 8
  for (int j = 0; j < kSpan; ++j) {
    Vec in[kSpan], out[M];
#pragma GCC unroll 8
    for (int i = 0; i < kSpan; ++i) in[i] = Load(m + (i * kSpan + j) * d.m_plane);
    Points<M>::Out(in, out);
#pragma GCC unroll 8
    for (int i = 0; i < M; ++i) t[i][j] = out[i];
  }
  Vec bias = Broadcast(e.bias);
  if (e.bias_n != nullptr) bias += Load(e.bias_n + channel, lanes);
  bias *= Broadcast(e.bias_scale);
#pragma GCC unroll 8
  for (int i = 0; i < M; ++i) {
    if (i >= d.rows) break;
    Vec out[M];
    Points<M>::Out(t[i], out);
    const ptrdiff_t row = at + i * d.y_row_stride;
#pragma GCC unroll 8
    for (int j = 0; j < M; ++j) {
      if (j >= columns) break;
      const ptrdiff_t to = row + j * d.y_pixel_stride;
      Vec y = Broadcast(e.alpha) * out[j] + bias;
      if (e.residual != nullptr) y += Broadcast(e.beta) * Load(e.residual + to, lanes);
      Store(d.y + to, Min(Broadcast(e.high), Max(Broadcast(e.low), y)), lanes);
    }
  }
}

template <int M>
void Output(const WinogradOutArgs& d) {
  for (int64_t tile = 0; tile < d.tiles; ++tile) {
    const int64_t left = d.columns - tile * M;
    for (int64_t c = 0; c < d.channels; c += kLanes)
      OutputTile<M>(d, d.m + tile * d.m_row + c, left, c, tile * M * d.y_pixel_stride + c);
  }
}

}  // namespace

void WinogradIn2(const WinogradInArgs& args) { Input<2>(args); }
void WinogradIn4(const WinogradInArgs& args) { Input<4>(args); }
void WinogradOut2(const WinogradOutArgs& args) { Output<2>(args); }
void WinogradOut4(const WinogradOutArgs& args) { Output<4>(args); }

}  // namespace sardonyx::kernels::SDX_ISA
