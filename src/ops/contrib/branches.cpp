// ops/contrib/branches.cpp - com.microsoft's operators on streams of several branches: BranchwiseRMSNorm,
// HyperConnectionPreMix, HyperConnectionPostMix.
//
// Streams are grouped [..., branches, hidden], or flattened [..., branches * hidden] with the attribute num_branches.
#include <algorithm>
#include <cmath>

#include "kernels/reduce/reduce_f32.h"
#include "ops/elementwise.h"
#include "ops/operands.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr DTypeSet kBranchTypes = {DType::kFloat, DType::kFloat16, DType::kBFloat16};

struct BranchState {
  std::int64_t branches = 0;  // of flattened streams; 0: they are grouped
  float epsilon = 0;
  float reduction_scale = 1;
};

BranchState ReadBranches(const AttributeReader& c) {
  const BranchState state = {c.Int("num_branches", 0), c.Float("epsilon", 1e-5f), c.Float("reduction_scale", 1)};
  if (state.branches < 0)
    c.Fail(Code::kInvalidArgument, "attribute 'num_branches': expected at least 0, found ", state.branches);
  return state;
}

struct Streams {
  std::size_t prefix = 0;  // how many dimensions come before the branches
  std::int64_t rows = 0, branches = 0, hidden = 0;
};

Streams ViewStreams(const BranchState& state, Dims x) {
  Streams s;
  const bool flat = state.branches > 0;
  const std::size_t own = flat ? 1 : 2;
  if (x.size() >= own) {
    s.prefix = x.size() - own;
    s.branches = flat ? state.branches : x[s.prefix];
    s.hidden = flat ? x.back() / state.branches : x.back();
    s.rows = ElementCount(x, 0, s.prefix);
  }
  if (s.branches < 1 || s.hidden < 1 || (flat && x.back() % s.branches != 0)) {
    Fail(Code::kInvalidArgument, "input 0: expected streams of ",
         flat ? "a multiple of 'num_branches' elements" : "at least one branch and one element", ", found shape ",
         ToText(x));
  }
  return s;
}

// The shape of the streams before their branches, then `rest`.
bool HasShape(Dims found, Dims streams, std::size_t prefix, std::initializer_list<std::int64_t> rest) {
  return found.size() == prefix + rest.size() && std::ranges::equal(found.first(prefix), streams.first(prefix)) &&
         std::ranges::equal(found.subspan(prefix), rest);
}

// Which element of a gate belongs to a branch and a feature: strides.
struct Gate {
  std::int64_t branch = 1, feature = 0;
};

Gate ViewGate(const TensorRef& gate, std::size_t input, Dims streams, const Streams& s, bool may_be_flat) {
  const Dims found = gate.shape;
  if (HasShape(found, streams, s.prefix, {s.branches}) || HasShape(found, streams, s.prefix, {s.branches, 1}))
    return {1, 0};
  if (HasShape(found, streams, s.prefix, {s.branches, s.hidden}) ||
      (may_be_flat && HasShape(found, streams, s.prefix, {s.branches * s.hidden})))
    return {s.hidden, 1};
  Fail(Code::kInvalidArgument, "input ", input, ": expected the leading dimensions of the streams ", ToText(streams),
       " and then ", s.branches, ", or ", s.branches, " and ", s.hidden, ", found shape ", ToText(found));
}

std::int64_t Grain(const Streams& s) { return std::max<std::int64_t>(1, kGrain / (s.branches * s.hidden)); }

// ---- BranchwiseRMSNorm

void RunBranchNorm(KernelContext& c) {
  const BranchState& state = c.state<BranchState>();
  const Streams s = ViewStreams(state, c.Input(0).shape);
  bool by_branch = false;
  if (c.HasInput(1)) {
    const Dims scale = c.Input(1).shape;
    const bool flat = HasShape(scale, {}, 0, {s.hidden});
    by_branch = !flat;
    if (!flat && !HasShape(scale, {}, 0, {s.branches, s.hidden}) && !HasShape(scale, {}, 0, {s.branches * s.hidden})) {
      Fail(Code::kInvalidArgument, "input 1 ('scale'): expected [", s.hidden, "], [", s.branches, ", ", s.hidden,
           "] or [", s.branches * s.hidden, "], found ", ToText(scale));
    }
  }
  if (c.Input(0).count == 0) return;
  Operands io(c, DType::kFloat);
  const Operands::Computing computing(io);
  c.parallel().For(s.rows, Grain(s), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * s.branches; i < end * s.branches; ++i) {
      const float* x = io.In<float>(0) + i * s.hidden;
      float* y = io.Out<float>(0) + i * s.hidden;
      const double squares = kernels::ReduceF32().sum_squared_deviations(x, s.hidden, 0);
      const auto inverse = static_cast<float>(
          1 / std::sqrt(squares / static_cast<double>(s.hidden) + static_cast<double>(state.epsilon)));
      const float* scale = io.In<float>(1);
      if (by_branch) scale += i % s.branches * s.hidden;
      for (std::int64_t k = 0; k < s.hidden; ++k) y[k] = x[k] * inverse * (scale != nullptr ? scale[k] : 1.0f);
    }
  });
}

// ---- HyperConnectionPreMix: the sum over branches of streams * pre_mix

void InferPreMix(InferContext& c) {
  const BranchState state = ReadBranches(c);
  if (!c.HasRank(0)) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = c.InputDims(0);
  const std::size_t own = state.branches > 0 ? 1 : 2;
  if (dims.size() < own)
    c.Fail(Code::kInvalidArgument, c.InputText(0), ": expected a rank of at least ", own, ", found ",
           c.InputType(0).ToText());
  if (state.branches > 0)
    dims.back() = dims.back().known() ? Dim(dims.back().number() / state.branches) : Dim();
  else
    dims.erase(dims.end() - 2);
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

void RunPreMix(KernelContext& c) {
  const BranchState& state = c.state<BranchState>();
  const Dims dims = c.Input(0).shape;
  const Streams s = ViewStreams(state, dims);
  const Gate gate = ViewGate(c.Input(1), 1, dims, s, state.branches > 0);
  Shape shape(dims.first(s.prefix));
  shape.Append(s.hidden);
  if (c.Output(0, shape).count == 0) return;
  const std::int64_t gates = c.Input(1).count / s.rows;
  Operands io(c, DType::kFloat);
  const Operands::Computing computing(io);
  c.parallel().For(s.rows, Grain(s), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      float* y = io.Out<float>(0) + row * s.hidden;
      std::fill_n(y, s.hidden, 0.0f);
      for (std::int64_t b = 0; b < s.branches; ++b) {
        const float* x = io.In<float>(0) + (row * s.branches + b) * s.hidden;
        const float* mix = io.In<float>(1) + row * gates + b * gate.branch;
        for (std::int64_t k = 0; k < s.hidden; ++k) y[k] += x[k] * mix[k * gate.feature];
      }
      for (std::int64_t k = 0; k < s.hidden; ++k) y[k] *= state.reduction_scale;
    }
  });
}

// ---- HyperConnectionPostMix: stream_mix applied to the streams, plus post_mix * block_output

void RunPostMix(KernelContext& c) {
  const BranchState& state = c.state<BranchState>();
  const Dims dims = c.Input(0).shape;
  const Streams s = ViewStreams(state, dims);
  if (!HasShape(c.Input(1).shape, dims, s.prefix, {s.hidden})) {
    Fail(Code::kInvalidArgument, "input 1 ('block_output'): expected the leading dimensions of the streams ",
         ToText(dims), " and then ", s.hidden, ", found shape ", ToText(c.Input(1).shape));
  }
  const Gate gate = ViewGate(c.Input(2), 2, dims, s, false);
  if (c.HasInput(3) && !HasShape(c.Input(3).shape, dims, s.prefix, {s.branches, s.branches})) {
    Fail(Code::kInvalidArgument, "input 3 ('stream_mix'): expected the leading dimensions of the streams ",
         ToText(dims), " and then ", s.branches, ", ", s.branches, ", found shape ", ToText(c.Input(3).shape));
  }
  if (c.Output(0, dims).count == 0) return;
  const std::int64_t gates = c.Input(2).count / s.rows;
  Operands io(c, DType::kFloat);
  const Operands::Computing computing(io);
  c.parallel().For(s.rows, Grain(s), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * s.branches; i < end * s.branches; ++i) {
      const std::int64_t row = i / s.branches, to = i % s.branches;
      const float* streams = io.In<float>(0) + row * s.branches * s.hidden;
      const float* block = io.In<float>(1) + row * s.hidden;
      const float* post = io.In<float>(2) + row * gates + to * gate.branch;
      float* y = io.Out<float>(0) + i * s.hidden;
      if (c.HasInput(3)) {
        const float* mix = io.In<float>(3) + row * s.branches * s.branches;
        std::fill_n(y, s.hidden, 0.0f);
        for (std::int64_t from = 0; from < s.branches; ++from) {
          const float factor = mix[from * s.branches + to];
          for (std::int64_t k = 0; k < s.hidden; ++k) y[k] += factor * streams[from * s.hidden + k];
        }
      } else {
        std::copy_n(streams + to * s.hidden, s.hidden, y);
      }
      for (std::int64_t k = 0; k < s.hidden; ++k) y[k] += post[k * gate.feature] * block[k];
    }
  });
}

template <RunFn* Run>
Prepared PrepareBranches(PrepareContext& c) {
  return WithState(Run, ReadBranches(c));
}

constexpr OpDef Row(std::string_view name, InferFn* infer, PrepareFn* prepare) {
  return {
      .domain = "com.microsoft", .name = name, .since = {1}, .types = kBranchTypes, .infer = infer, .prepare = prepare};
}

constexpr OpDef kBranchesOps[] = {
    Row("BranchwiseRMSNorm", InferSameType, PrepareBranches<RunBranchNorm>),
    Row("HyperConnectionPostMix", InferSameType, PrepareBranches<RunPostMix>),
    Row("HyperConnectionPreMix", InferPreMix, PrepareBranches<RunPreMix>),
};

}  // namespace

std::span<const OpDef> BranchesOps() { return kBranchesOps; }

}  // namespace sardonyx::ops
