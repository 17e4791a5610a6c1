// ops/contrib/expert_layer.h - one of the two matrices of every expert of MoE or QMoE, as floats or in 2, 4 or 8 bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/gemm/gemm.h"
#include "kernels/nbits/nbits.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"

namespace sardonyx::ops {

inline constexpr std::size_t kNoExpertInput = ~std::size_t{0};

// What the node says: which inputs hold the layer, and how. Weights are [experts, n, k], k of them in bytes of `bits`,
// scales [experts, n] or [experts, n, blocks], zero points the same in bytes of `bits`.
struct ExpertLayerDef {
  std::size_t weights = 0, scales = kNoExpertInput, zeros = kNoExpertInput, bias = 0;
  int bits = 0;            // 0: floats
  std::int64_t block = 0;  // weights that share a scale; 0: those of a row
  bool int8_activations = false;
};

// A layer with its packed weights, if they are constant. All runs share it.
struct ExpertLayer {
  ExpertLayerDef def;
  Shape shape;               // [experts, n, k], if packed
  Tensor packed;             // [experts, bytes]
  bool half_scales = false;  // see NBitsShape
  bool same_rows = false;    // see GemmF32Args
};

// Packs constant weights.
ExpertLayer PrepareExpertLayer(PrepareContext& c, const ExpertLayerDef& def);

// A layer in one run.
class ExpertMatrices {
 public:
  // Fails unless the inputs of the layer fit each other.
  ExpertMatrices(KernelContext& c, const ExpertLayer& layer);

  std::int64_t experts() const { return shape_[0]; }
  std::int64_t n() const { return shape_[1]; }
  std::int64_t k() const { return shape_[2]; }
  // Of products of up to `m` rows.
  std::size_t ScratchBytes(std::int64_t m, int threads) const;
  // y [m, n] = a [m, k] times the transposed weights of an expert, plus bias [n] (or null).
  void Multiply(std::int64_t expert, std::int64_t m, const float* a, const float* bias, float* y, Parallel& parallel,
                std::byte* scratch) const;

 private:
  kernels::GemmF32Args FloatArgs(std::int64_t m) const;
  kernels::NBitsArgs BitsArgs(std::int64_t m) const;
  struct Places {
    std::size_t product, packed, bytes, scales, zeros, total;
  };
  Places Layout(std::int64_t m, int threads) const;

  KernelContext& c_;
  const ExpertLayer& layer_;
  Shape shape_;
};

}  // namespace sardonyx::ops
