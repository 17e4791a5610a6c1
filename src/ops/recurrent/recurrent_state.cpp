// ops/recurrent/recurrent_state.cpp - reads the attributes of recurrent operators, infers their shapes, checks their
// sizes.
#include "ops/recurrent/recurrent_state.h"

#include <string>

namespace sardonyx::ops {
namespace {

void CheckDim(const AttributeReader& c, const char* what, const Dim& dim, std::int64_t expected) {
  if (dim.known() && dim.number() != expected) {
    c.Fail(Code::kInvalidArgument, "expected ", expected, " as ", what, ", found ", dim.number());
  }
}

void CheckCount(KernelContext& c, std::size_t i, std::int64_t expected) {
  if (c.HasInput(i) && c.Input(i).count != expected) {
    Fail(Code::kInvalidArgument, "expected ", expected, " elements as input ", i, ", found ", ToText(c.Input(i).shape));
  }
}

}  // namespace

std::uint32_t RecurrentState::SkippedInputs() const {
  std::uint32_t skipped = 1u << kLens;
  if (HasPacked() || quantized) skipped |= (1u << kW) | (1u << kR);
  for (const QuantizedWeights* weights : {&quantized_w, &quantized_r})
    if (quantized) skipped |= (1u << weights->scale) | (1u << weights->zero);
  return skipped;
}

RecurrentState ReadRecurrent(const AttributeReader& c) {
  RecurrentState s;
  s.quantized = c.op_type() == "DynamicQuantizeLSTM";
  s.cell = c.op_type().ends_with("LSTM") ? CellKind::kLstm : c.op_type() == "GRU" ? CellKind::kGru : CellKind::kRnn;
  s.gates = s.cell == CellKind::kLstm ? 4 : s.cell == CellKind::kGru ? 3 : 1;
  s.activations_each = s.cell == CellKind::kLstm ? 3 : s.cell == CellKind::kGru ? 2 : 1;
  const std::string direction = c.String("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    c.Fail(Code::kInvalidArgument, "attribute 'direction': expected forward, reverse or bidirectional, found '",
           direction, "'");
  }
  s.directions = direction == "bidirectional" ? 2 : 1;
  s.reverse = direction == "reverse";
  s.batch_first = c.Flag("layout");
  s.linear_before_reset = c.Flag("linear_before_reset");
  s.input_forget = c.Flag("input_forget");
  s.clip = c.Float("clip", -1);
  // ONNX Runtime's RNN clips to 0, and does not clip below that; its others refuse both.
  if (s.cell != CellKind::kRnn && s.clip <= 0) {
    if (c.Has("clip") && s.clip < 0)
      c.Fail(Code::kInvalidArgument, "attribute 'clip': expected at least 0, found ", s.clip);
    s.clip = -1;
  }
  if (c.Has("hidden_size") && c.Int("hidden_size") <= 0)
    c.Fail(Code::kInvalidArgument, "attribute 'hidden_size': expected at least 1, found ", c.Int("hidden_size"));
  std::vector<std::string_view> defaults(s.activations_each, "Tanh");
  if (s.cell != CellKind::kRnn) defaults[0] = "Sigmoid";
  s.activations = ReadActivations(c, s.activations_each * static_cast<std::size_t>(s.directions), defaults);
  return s;
}

void InferRecurrent(InferContext& c) {
  const RecurrentState s = ReadRecurrent(c);
  for (const std::size_t i : {kX, kW, kR}) {
    if (c.HasRank(i) && c.Rank(i) != 3) {
      c.Fail(Code::kInvalidArgument, c.InputText(i), ": expected rank 3, found ", c.InputType(i).ToText());
    }
  }
  Dim seq, batch, hidden;
  if (c.HasRank(kX)) {
    seq = c.InputDims(kX)[s.batch_first ? 1 : 0];
    batch = c.InputDims(kX)[s.batch_first ? 0 : 1];
  }
  if (c.Has("hidden_size")) hidden = Dim(c.Int("hidden_size"));
  // Quantized weights are stored transposed: [directions, input, gates * hidden].
  const std::size_t columns = s.quantized ? 1 : 2, rows = s.quantized ? 2 : 1;
  if (c.HasRank(kR)) {
    const Dim& found = c.InputDims(kR)[columns];
    if (found.known() && hidden.known()) CheckDim(c, "the hidden size of R", found, hidden.number());
    if (!found.unknown()) hidden = found;
    CheckDim(c, "the first size of R (the directions)", c.InputDims(kR)[0], s.directions);
    if (hidden.known()) CheckDim(c, "gates * hidden in R", c.InputDims(kR)[rows], s.gates * hidden.number());
  }
  if (c.HasRank(kW)) {
    CheckDim(c, "the first size of W (the directions)", c.InputDims(kW)[0], s.directions);
    if (hidden.known()) CheckDim(c, "gates * hidden in W", c.InputDims(kW)[rows], s.gates * hidden.number());
    if (c.HasRank(kX) && c.InputDims(kX)[2].known())
      CheckDim(c, "the input size of W", c.InputDims(kW)[columns], c.InputDims(kX)[2].number());
  }
  const Dim directions(s.directions);
  const DType dtype = c.InputDType(kX);
  if (c.HasOutput(0)) {
    c.SetOutput(0, dtype,
                s.batch_first ? std::vector<Dim>{batch, seq, directions, hidden}
                              : std::vector<Dim>{seq, directions, batch, hidden});
  }
  for (const std::size_t i : {1u, 2u}) {
    if (!c.HasOutput(i)) continue;
    c.SetOutput(
        i, dtype,
        s.batch_first ? std::vector<Dim>{batch, directions, hidden} : std::vector<Dim>{directions, batch, hidden});
  }
}

RecurrentSizes MakeRecurrentSizes(KernelContext& c, const RecurrentState& state) {
  const Dims x = c.Input(kX).shape;
  RecurrentSizes s{x[state.batch_first ? 1 : 0], x[state.batch_first ? 0 : 1], x[2], state.hidden, state.gates, 0};
  if (!state.HasPacked()) {
    s.hidden = c.Input(kR).dim(state.quantized ? 1 : 2);
    CheckCount(c, kW, state.directions * s.gates * s.hidden * s.input);
    CheckCount(c, kR, state.directions * s.gates * s.hidden * s.hidden);
  } else if (state.input != s.input) {
    Fail(Code::kInvalidArgument, "expected an input size of ", state.input, ", found ", ToText(x));
  }
  s.block = state.packed.defined() ? state.block : s.hidden;
  CheckCount(c, kB, state.directions * 2 * s.gates * s.hidden);
  CheckCount(c, kLens, s.batch);
  CheckCount(c, kH, state.directions * s.batch * s.hidden);
  if (state.cell == CellKind::kLstm) {
    CheckCount(c, kC, state.directions * s.batch * s.hidden);
    CheckCount(c, kP, state.directions * 3 * s.hidden);
  }
  if (c.HasInput(kLens)) {
    for (const std::int32_t length : c.Input(kLens).Span<const std::int32_t>()) {
      if (length < 0 || length > s.seq) {
        Fail(Code::kInvalidArgument, "expected sequence_lens in [0, ", s.seq, "], found ", length);
      }
    }
  }
  return s;
}

}  // namespace sardonyx::ops
