// ops/recurrent/recurrent_packing.cpp - constant weights of RNN, GRU and LSTM in the order that a step reads them in.
#include <algorithm>
#include <vector>

#include "base/mapped_file.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/tile_f32.h"
#include "ops/operands.h"
#include "ops/recurrent/recurrent_state.h"
#include "tensor/packing.h"

namespace sardonyx::ops {
namespace {

std::int64_t Rounded(std::size_t floats) { return static_cast<std::int64_t>((floats + 15) / 16 * 16); }

// The gates of `hidden` units, [gates * hidden, k], as columns in blocks of units.
// NOLINTNEXTLINE(readability-function-size): sizes of a matrix
void PackBlocks(std::int64_t gates, std::int64_t hidden, std::int64_t block, std::int64_t k, const float* from,
                float* to, Parallel& parallel) {
  if (block == hidden) return kernels::PackGemmF32B(k, gates * hidden, from, k, true, to, parallel);
  const std::int64_t whole = hidden / block * block, rest = hidden - whole;
  parallel.For(whole / block * gates, 1, [&](std::int64_t begin, std::int64_t end) {
    Serial serial;
    for (std::int64_t i = begin; i < end; ++i) {
      const float* rows = from + (i % gates * hidden + i / gates * block) * k;
      kernels::PackGemmF32B(k, block, rows, k, true, to + i * block * k, serial);
    }
  });
  if (rest == 0) return;
  std::vector<float> rows(static_cast<std::size_t>(gates * rest * k));
  for (std::int64_t g = 0; g < gates; ++g)
    std::copy_n(from + (g * hidden + whole) * k, rest * k, rows.data() + g * rest * k);
  kernels::PackGemmF32B(k, gates * rest, rows.data(), k, true, to + whole * gates * k, parallel);
}

// Of weights of a mapped file: the pages of one direction are given back when it is packed.
void ReleaseDirection(const Tensor& weights, std::int64_t direction, std::int64_t directions) {
  if (weights.buffer() == nullptr) return;
  const std::size_t bytes = weights.byte_size() / static_cast<std::size_t>(directions);
  const auto* first = static_cast<const std::byte*>(weights.raw()) + static_cast<std::size_t>(direction) * bytes;
  MappedFile::ReleaseBehind(weights.buffer()->owner(), first, bytes);
}

}  // namespace

void PackRecurrentWeights(PrepareContext& c, RecurrentState& s) {
  const Tensor *w = c.Constant(kW), *r = c.Constant(kR);
  if (w == nullptr || r == nullptr || w->shape().rank() != 3 || r->shape().rank() != 3) return;
  s.hidden = r->shape()[2];
  s.input = w->shape()[2];
  if (w->count() == 0 || r->count() == 0) return;
  const std::int64_t all = s.gates * s.hidden, first = s.FirstGates() * s.hidden;
  if (w->shape()[0] != s.directions || w->shape()[1] != all || r->shape()[0] != s.directions || r->shape()[1] != all) {
    c.Fail(Code::kInvalidArgument, "expected W [", s.directions, ", ", all, ", input] and R [", s.directions, ", ", all,
           ", ", s.hidden, "], found ", ToText(w->shape()), " and ", ToText(r->shape()));
  }
  s.block = std::min(s.hidden, kernels::BestTilesF32().columns);
  s.packed_w = Rounded(kernels::GemmF32PackedCount(s.input, all));
  s.packed_r = Rounded(kernels::GemmF32PackedCount(s.hidden, first));
  s.packed_h = s.TwoProducts() ? Rounded(kernels::GemmF32PackedCount(s.hidden, s.hidden)) : 0;
  s.packed = Packed(DType::kFloat, Shape{s.directions, s.PackedEach()}, [&](Tensor& packed) {
    const auto as_floats = [&](const Tensor& weights) {
      if (weights.dtype() == DType::kFloat) return weights;
      Tensor floats(DType::kFloat, weights.shape());
      Convert(weights.dtype(), weights.raw(), DType::kFloat, floats.raw(), weights.count(), c.parallel());
      return floats;
    };
    const Tensor wf = as_floats(*w), rf = as_floats(*r);
    for (std::int64_t d = 0; d < s.directions; ++d) {
      float* to = packed.data<float>() + d * s.PackedEach();
      const float* rd = rf.data<float>() + d * all * s.hidden;
      PackBlocks(s.gates, s.hidden, s.block, s.input, wf.data<float>() + d * all * s.input, to, c.parallel());
      ReleaseDirection(*w, d, s.directions);
      PackBlocks(s.FirstGates(), s.hidden, s.block, s.hidden, rd, to + s.packed_w, c.parallel());
      if (s.TwoProducts())
        kernels::PackGemmF32B(s.hidden, s.hidden, rd + first * s.hidden, s.hidden, true, to + s.packed_w + s.packed_r,
                              c.parallel());
      ReleaseDirection(*r, d, s.directions);
    }
  });
  c.MarkPacked(kW);
  c.MarkPacked(kR);
}

}  // namespace sardonyx::ops
