// ops/recurrent/recurrent_state.h - what a node of RNN, GRU, LSTM or DynamicQuantizeLSTM says:
// attributes, packed weights, and the sizes of a run.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"
#include "ops/recurrent/quantized_gates.h"
#include "ops/recurrent/recurrent_activation.h"

namespace sardonyx::ops {

// The inputs.
inline constexpr std::size_t kX = 0, kW = 1, kR = 2, kB = 3, kLens = 4, kH = 5, kC = 6, kP = 7;

enum class CellKind : std::uint8_t { kRnn, kGru, kLstm };

struct RecurrentState {
  CellKind cell = CellKind::kLstm;
  std::int64_t gates = 4;
  std::int64_t directions = 1;
  bool reverse = false;      // of direction 0
  bool batch_first = false;  // layout = 1
  bool linear_before_reset = false, input_forget = false;
  float clip = -1;                               // below 0: none
  std::vector<RecurrentActivation> activations;  // for each direction
  std::size_t activations_each = 3;
  // Packed weights of each direction, undefined unless W and R are constants: W^T; R^T (of a GRU without
  // linear_before_reset only z and r); that GRU's hidden gate. Columns come in blocks of units, so that a thread that
  // computes some units of a step needs only its own columns, one after the other.
  Tensor packed;
  std::int64_t block = 0;
  std::int64_t hidden = 0, input = 0;
  std::int64_t packed_w = 0, packed_r = 0, packed_h = 0;

  bool quantized = false;  // DynamicQuantizeLSTM
  QuantizedWeights quantized_w, quantized_r;

  bool HasPacked() const { return packed.defined() || quantized_r.packed.defined(); }
  bool TwoProducts() const { return cell == CellKind::kGru && !linear_before_reset; }
  std::int64_t FirstGates() const { return TwoProducts() ? 2 : gates; }
  std::int64_t PackedEach() const { return packed_w + packed_r + packed_h; }
  // Bits of the inputs that no run takes as floats.
  std::uint32_t SkippedInputs() const;
};

struct RecurrentSizes {
  std::int64_t seq, batch, input, hidden, gates;
  std::int64_t block;  // units whose gates lie together, see kernels/recurrent/cell_f32.h
};

RecurrentState ReadRecurrent(const AttributeReader& c);
void InferRecurrent(InferContext& c);
// Packs W and R if they are constant.
void PackRecurrentWeights(PrepareContext& c, RecurrentState& state);
// Fails for inputs whose sizes do not fit each other.
RecurrentSizes MakeRecurrentSizes(KernelContext& c, const RecurrentState& state);
// The kernel, for float and double.
template <typename T>
void RunRecurrent(KernelContext& c);

}  // namespace sardonyx::ops
