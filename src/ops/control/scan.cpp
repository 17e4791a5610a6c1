// ops/control/scan.cpp - Scan (9 and later) and Scan 8, which has a batch dimension.
#include "kernels/copy/strided_copy.h"
#include "ops/control/scan_output.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

struct ScanState {
  std::size_t body;
  std::size_t states, scans, outputs;  // state variables, scan inputs, scan outputs
  std::vector<std::int64_t> input_axes, output_axes;
  std::vector<bool> input_reversed, output_reversed;
  std::vector<Type> output_types;  // of the body
};

// `values` of the attribute, or `count` zeros. Fails if there are more or fewer.
std::vector<std::int64_t> PerScan(const AttributeReader& c, std::string_view name, std::size_t count) {
  std::vector<std::int64_t> values = c.Ints(name);
  if (values.empty()) values.assign(count, 0);
  if (values.size() != count) {
    c.Fail(Code::kInvalidGraph, "attribute '", name, "': expected ", count, " values, found ", values.size());
  }
  return values;
}

std::vector<bool> Directions(const AttributeReader& c, std::string_view name, std::size_t count) {
  std::vector<bool> reversed;
  for (const std::int64_t d : PerScan(c, name, count)) {
    if (d != 0 && d != 1) c.Fail(Code::kInvalidGraph, "attribute '", name, "': expected 0 or 1, found ", d);
    reversed.push_back(d == 1);
  }
  return reversed;
}

ScanState ReadScan(const AttributeReader& c, std::size_t first_input) {
  const Graph* body = c.GraphAttribute("body");
  if (body == nullptr) c.Fail(Code::kInvalidGraph, "attribute 'body' (a graph) is required and missing");
  const std::size_t inputs = c.InputCount() - first_input;
  const std::int64_t scans = c.Int("num_scan_inputs");
  if (scans < 1 || static_cast<std::size_t>(scans) > inputs || body->inputs.size() != inputs ||
      body->outputs.size() + static_cast<std::size_t>(scans) < inputs) {
    c.Fail(Code::kInvalidGraph, "expected num_scan_inputs (", scans, ") of at most ", inputs,
           " inputs and a body with ", inputs, " inputs and its state variables as first outputs, found ",
           body->inputs.size(), " inputs and ", body->outputs.size(), " outputs");
  }
  ScanState state;
  state.scans = static_cast<std::size_t>(scans);
  state.states = inputs - state.scans;
  state.outputs = body->outputs.size() - state.states;
  for (const ValueId id : body->outputs) state.output_types.push_back(body->value(id).type);
  return state;
}

ScanState ReadScan9(const AttributeReader& c) {
  ScanState state = ReadScan(c, 0);
  state.input_axes = PerScan(c, "scan_input_axes", state.scans);
  state.output_axes = PerScan(c, "scan_output_axes", state.outputs);
  state.input_reversed = Directions(c, "scan_input_directions", state.scans);
  state.output_reversed = Directions(c, "scan_output_directions", state.outputs);
  return state;
}

ScanState ReadScan8(const AttributeReader& c) {
  ScanState state = ReadScan(c, 1);
  state.input_axes.assign(state.scans, 0);
  state.input_reversed = Directions(c, "directions", state.scans);
  state.output_axes.assign(state.outputs, 0);
  state.output_reversed.assign(state.outputs, false);
  return state;
}

// ---- Inference

// Without one dimension; unknown stays unknown.
Type WithoutAxis(Type type, std::int64_t axis) {
  if (!type.is_tensor() || !type.has_rank) return type;
  type.dims.erase(type.dims.begin() + static_cast<std::ptrdiff_t>(NormalizeAxis(axis, type.rank())));
  return type;
}

Type WithAxis(Type type, std::int64_t axis, Dim size) {
  if (!type.is_tensor() || !type.has_rank) return type;
  const std::size_t at = NormalizeAxis(axis, type.rank() + 1);
  type.dims.insert(type.dims.begin() + static_cast<std::ptrdiff_t>(at), std::move(size));
  return type;
}

// `first` is the node's first state variable; with `batch`, all values have a batch dimension in front.
void InferScanFrom(InferContext& c, const ScanState& state, std::size_t first, bool batch) {
  std::vector<Type> inputs;
  Dim length, batches;
  for (std::size_t i = 0; i < state.states + state.scans; ++i) {
    Type type = c.InputType(first + i);
    if (batch) {
      if (type.has_rank && !type.dims.empty() && (i == 0 || type.dims[0].known())) batches = type.dims[0];
      type = WithoutAxis(std::move(type), 0);
    }
    if (i >= state.states) {
      const std::int64_t axis = state.input_axes[i - state.states];
      if (type.has_rank) {
        const Dim& d = type.dims[NormalizeAxis(axis, type.rank())];
        if (length.unknown() || d.known()) length = d;
      }
      type = WithoutAxis(std::move(type), axis);
    }
    inputs.push_back(std::move(type));
  }
  const std::vector<Type> outputs = c.InferSubgraph("body", inputs);
  if (outputs.size() != c.OutputCount()) {
    c.Fail(Code::kInvalidGraph, "expected a body with ", c.OutputCount(), " outputs, found ", outputs.size());
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Type type = outputs[i];
    if (i < state.states) {
      if (!inputs[i].is_none() && !type.is_none()) type = Union(inputs[i], type);
    } else {
      type = WithAxis(std::move(type), state.output_axes[i - state.states], length);
    }
    if (batch) type = WithAxis(std::move(type), 0, batches);
    c.SetOutputType(i, std::move(type));
  }
}

void InferScan(InferContext& c) { InferScanFrom(c, ReadScan9(c), 0, false); }
void InferScan8(InferContext& c) { InferScanFrom(c, ReadScan8(c), 1, true); }

// ---- Run

// The tensor with `axis` in front: itself for axis 0, else a copy.
Tensor AxisFirst(KernelContext& c, const Tensor& x, std::int64_t axis_attribute) {
  const std::size_t axis = NormalizeAxis(axis_attribute, x.shape().rank());
  if (axis == 0) return x;
  Shape shape{x.shape()[axis]};
  for (std::size_t i = 0; i < x.shape().rank(); ++i)
    if (i != axis) shape.Append(x.shape()[i]);
  Tensor y(x.dtype(), shape);
  const std::int64_t outer = ElementCount(x.shape(), 0, axis), n = shape[0];
  const std::int64_t inner = ElementCount(x.shape(), axis + 1, x.shape().rank());
  kernels::StridedLoops loops;
  loops.Add(n, inner, outer * inner);
  loops.Add(outer, n * inner, inner);
  loops.Add(inner, 1, 1);
  kernels::StridedCopy(x.dtype(), loops, x.raw(), 0, y.raw(), 0, c.parallel());
  return y;
}

// x[i]: a view where elements are whole bytes, else a copy.
Tensor SliceAt(const Tensor& x, std::int64_t i) {
  const Shape shape{Dims(x.shape()).subspan(1)};
  const std::int64_t count = ElementCount(shape);
  if (!IsString(x.dtype()) && !IsSubByte(x.dtype()) && x.buffer() != nullptr) {
    const auto base =
        static_cast<std::size_t>(static_cast<const char*>(x.raw()) - static_cast<const char*>(x.buffer()->data()));
    return Tensor(x.dtype(), shape, x.buffer(), base + static_cast<std::size_t>(i) * ByteSize(x.dtype(), count));
  }
  Tensor y(x.dtype(), shape);
  kernels::CopyElements(x.dtype(), x.raw(), i * count, y.raw(), 0, count);
  return y;
}

// Runs the body `length` times. `values` holds the state variables, updated in place; `scans` are [length, ...].
void ScanSteps(KernelContext& c, const ScanState& state, std::span<Value> states, std::span<const Tensor> scans,
               std::int64_t length, std::span<ScanOutput> collected) {
  std::vector<Value> inputs(state.states + state.scans), outputs(state.states + state.outputs);
  for (std::size_t i = 0; i < state.states; ++i) inputs[i] = std::move(states[i]);
  for (std::int64_t t = 0; t < length; ++t) {
    c.CheckCancelled();
    for (std::size_t i = 0; i < state.scans; ++i) {
      inputs[state.states + i] = SliceAt(scans[i], state.input_reversed[i] ? length - 1 - t : t);
    }
    c.RunSubgraph(state.body, inputs, outputs);
    for (std::size_t i = 0; i < state.states; ++i) std::swap(inputs[i], outputs[i]);
    for (std::size_t i = 0; i < state.outputs; ++i) collected[i].Append(outputs[state.states + i], i);
  }
  for (std::size_t i = 0; i < state.states; ++i) states[i] = std::move(inputs[i]);
}

// The common size of dimension `axis` of the scan inputs.
void CheckLength(std::int64_t size, std::int64_t& length, std::size_t index) {
  if (length >= 0 && size != length) {
    Fail(Code::kInvalidArgument, "expected scan inputs of one length, found ", length, " and ", size, " (scan input ",
         index, ")");
  }
  length = size;
}

void RunScan(KernelContext& c) {
  const ScanState& state = c.state<ScanState>();
  std::vector<Value> states(state.states);
  std::vector<Tensor> scans(state.scans);
  std::int64_t length = -1;
  for (std::size_t i = 0; i < state.states; ++i) states[i] = c.InputValue(i);
  for (std::size_t i = 0; i < state.scans; ++i) {
    const Value value = c.InputValue(state.states + i);
    scans[i] = AxisFirst(c, value.tensor(), state.input_axes[i]);
    CheckLength(scans[i].shape()[0], length, i);
  }
  std::vector<ScanOutput> collected(state.outputs);
  for (ScanOutput& output : collected) output.Reserve(length);
  ScanSteps(c, state, states, scans, length, collected);
  for (std::size_t i = 0; i < state.states; ++i)
    if (c.HasOutput(i)) c.SetOutput(i, std::move(states[i]));
  for (std::size_t i = 0; i < state.outputs; ++i) {
    collected[i].Write(c, state.states + i, state.output_axes[i], state.output_reversed[i],
                       state.output_types[state.states + i]);
  }
}

void RunScan8(KernelContext& c) {
  const ScanState& state = c.state<ScanState>();
  std::vector<Tensor> inputs(state.states + state.scans);
  std::int64_t batches = -1, length = -1;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = c.InputValue(i + 1).tensor();
    const Shape& shape = inputs[i].shape();
    if (shape.rank() < (i < state.states ? 1u : 2u)) {
      Fail(Code::kInvalidArgument, "expected a batch dimension", i < state.states ? "" : " and a scan dimension",
           " in input ", i + 1, ", found ", ToText(shape));
    }
    if (batches >= 0 && shape[0] != batches)
      Fail(Code::kInvalidArgument, "expected a batch of ", batches, " in input ", i + 1, ", found ", shape[0]);
    batches = shape[0];
    if (i >= state.states) CheckLength(shape[1], length, i - state.states);
  }
  std::vector<ScanOutput> all(state.states + state.outputs);
  for (std::int64_t b = 0; b < batches; ++b) {
    c.CheckCancelled();
    const std::int64_t steps = c.HasInput(0) ? IntAt(c.Input(0), b) : length;
    if (steps < 0 || steps > length)
      Fail(Code::kInvalidArgument, "expected sequence lengths in [0, ", length, "], found ", steps);
    std::vector<Value> states(state.states);
    std::vector<Tensor> scans(state.scans);
    for (std::size_t i = 0; i < state.states; ++i) states[i] = SliceAt(inputs[i], b);
    for (std::size_t i = 0; i < state.scans; ++i) scans[i] = SliceAt(inputs[state.states + i], b);
    std::vector<ScanOutput> collected(state.outputs);
    ScanSteps(c, state, states, scans, steps, collected);
    for (std::size_t i = 0; i < state.states; ++i) all[i].Append(states[i], i);
    for (std::size_t i = 0; i < state.outputs; ++i) {
      while (collected[i].count() > 0 && collected[i].count() < length) collected[i].AppendZero();
      if (const Tensor stack = collected[i].Stacked(); stack.defined()) all[state.states + i].Append(stack, i);
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    Type type = state.output_types[i];
    if (i >= state.states) type = WithAxis(std::move(type), 0, Dim(length));
    all[i].Write(c, i, 0, false, type);
  }
}

Prepared PrepareScan(PrepareContext& c) {
  ScanState state = ReadScan9(c);
  state.body = c.SubgraphIndex("body");
  return WithState(RunScan, std::move(state));
}

Prepared PrepareScan8(PrepareContext& c) {
  ScanState state = ReadScan8(c);
  state.body = c.SubgraphIndex("body");
  return WithState(RunScan8, std::move(state));
}

constexpr OpDef kScanOps[] = {
    {.name = "Scan", .since = {8}, .infer = InferScan8, .prepare = PrepareScan8},
    {.name = "Scan", .since = {9, 11, 16, 19, 21, 23, 24, 25}, .infer = InferScan, .prepare = PrepareScan},
};

}  // namespace

std::span<const OpDef> ScanOps() { return kScanOps; }

}  // namespace sardonyx::ops
