// ops/recurrent/recurrent.cpp - RNN, GRU, LSTM and DynamicQuantizeLSTM: one product for the inputs of all steps, then a
// small product for each step.
#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>

#include "ops/cost_context.h"
#include "ops/operands.h"
#include "ops/prepare_context.h"
#include "ops/product.h"
#include "ops/recurrent/recurrent_cell.h"
#include "ops/recurrent/recurrent_state.h"
#include "ops/registry.h"
#include "ops/upgrade_context.h"
#include "tensor/packing.h"

namespace sardonyx::ops {
namespace {

void AddBias(const Product<float>& p, const float* bias, Parallel& parallel, std::byte* scratch) {
  kernels::GemmF32Args args = GemmArgs(p);
  args.epilogue.bias_n = bias;
  kernels::GemmF32(args, parallel, scratch);
}
void AddBias(const Product<double>& p, const double* bias, Parallel& parallel, std::byte* scratch) {
  RunProduct(p, parallel, scratch);
  for (std::int64_t i = 0; i < p.m * p.n; ++i) p.c[i] += bias[i % p.n];
}
void SetPacked(Product<float>& p, const float* packed) { p.packed_b = packed; }
void SetPacked(Product<double>&, const float*) {}

// One run: memory, and the loop over steps of one direction.
template <typename T>
class Runner {
 public:
  Runner(KernelContext& c, const RecurrentState& state)
      : c_(c), state_(state), s_(MakeRecurrentSizes(c, state)), io_(c, kDTypeOf<T>, SkippedInputs(state)) {
    if (state.quantized) {
      input_gates_.emplace(c, state.quantized_w, state.directions, s_.input, s_.gates * s_.hidden);
      hidden_gates_.emplace(c, state.quantized_r, state.directions, s_.hidden, s_.gates * s_.hidden);
    }
    const auto count = [](std::int64_t a, std::int64_t b) {
      return CheckedMul(std::size_t(a), std::size_t(b), "gates");
    };
    const std::int64_t all = s_.gates * s_.hidden;
    const std::size_t rows = CheckedMul(std::size_t(s_.seq), std::size_t(s_.batch), "gates");
    both_at_once_ = BothAtOnce();
    for (Offsets& at : at_) {
      at.input_gates = io_.template Add<T>(count(rows, all));
      at.recurrent = io_.template Add<T>(count(s_.batch, all));
      for (std::size_t* state_at : {&at.h, &at.c, &at.reset})
        *state_at = io_.template Add<T>(count(s_.batch, s_.hidden));
      if (!both_at_once_) break;
    }
    bias_at_ = io_.template Add<T>(static_cast<std::size_t>(all));
    const int threads = c.parallel().ThreadCount();
    gemm_bytes_ = (ScratchOfProducts(threads) + 63) / 64 * 64;
    gemm_at_ = io_.Add(gemm_bytes_ * (both_at_once_ ? 2 : 1));
  }

  void Run() {
    if (s_.batch == 0) return;  // outputs without elements, whatever the number of steps is
    const Operands::Computing computing(io_);
    if (c_.HasInput(kLens) && c_.HasOutput(0)) std::fill_n(io_.template Out<T>(0), c_.Output(0).count, T(0));
    Serial serial;
    if (both_at_once_) {
      for (std::int64_t d = 0; d < 2; ++d) MultiplyInputs(d, MemoryOf(d));
      c_.parallel().For(2, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t d = begin; d < end; ++d) RunSteps(d, MemoryOf(d), serial);
      });
      return;
    }
    const bool small = StepWork() < kSerialWork;
    for (std::int64_t d = 0; d < state_.directions; ++d) {
      MultiplyInputs(d, MemoryOf(0));
      RunSteps(d, MemoryOf(0), small ? static_cast<Parallel&>(serial) : c_.parallel());
    }
  }

 private:
  static std::uint32_t SkippedInputs(const RecurrentState& state) {
    std::uint32_t skipped = 1u << kLens;
    if (state.HasPacked() || state.quantized) skipped |= (1u << kW) | (1u << kR);
    for (const QuantizedWeights* weights : {&state.quantized_w, &state.quantized_r})
      if (state.quantized) skipped |= (1u << weights->scale) | (1u << weights->zero);
    return skipped;
  }

  std::size_t ScratchOfProducts(int threads) const {
    if (state_.quantized) {
      return std::max(input_gates_->ScratchBytes(s_.seq * s_.batch, threads),
                      hidden_gates_->ScratchBytes(s_.batch, threads));
    }
    std::size_t bytes = ProductScratch(InputProduct(0), threads);
    bytes = std::max(bytes, ProductScratch(RecurrentProduct(0), threads));
    if (state_.TwoProducts()) bytes = std::max(bytes, ProductScratch(HiddenProduct(0), threads));
    return bytes;
  }

  static constexpr std::int64_t kSerialWork = std::int64_t{1} << 19;  // multiplications that do not pay threads
  static constexpr int kFewThreads = 4;

  struct Offsets {
    std::size_t input_gates, recurrent, h, c, reset;
  };
  // What one direction computes in.
  struct Memory {
    T *input_gates, *recurrent, *h, *c, *reset;
    std::byte* gemm;
  };
  Memory MemoryOf(std::int64_t slot) const {
    const Offsets& at = at_[slot];
    std::byte* gemm = gemm_bytes_ == 0 ? nullptr : io_.At(gemm_at_) + static_cast<std::size_t>(slot) * gemm_bytes_;
    return {io_.template At<T>(at.input_gates), io_.template At<T>(at.recurrent), io_.template At<T>(at.h),
            io_.template At<T>(at.c),           io_.template At<T>(at.reset),     gemm};
  }

  std::int64_t StepWork() const { return s_.batch * s_.gates * s_.hidden * s_.hidden; }

  // Two directions on two threads need no thread to wait at each step. With many threads and large products the steps
  // themselves are split instead.
  bool BothAtOnce() const {
    const int threads = c_.parallel().ThreadCount();
    return state_.directions == 2 && threads > 1 && s_.seq > 1 && StepWork() >= kSerialWork / s_.seq &&
           (threads <= kFewThreads || StepWork() < kSerialWork);
  }

  const float* Packed(std::int64_t d) const {
    return state_.packed.defined() ? state_.packed.data<float>() + d * state_.PackedEach() : nullptr;
  }

  Product<T> InputProduct(std::int64_t d) const {
    Product<T> p;
    p.m = s_.seq * s_.batch, p.n = s_.gates * s_.hidden, p.k = s_.input;
    p.lda = s_.input, p.ldb = s_.input, p.trans_b = true, p.ldc = p.n;
    p.a = io_.template In<T>(kX);
    SetPacked(p, Packed(d));
    if (!state_.packed.defined() && io_.template In<T>(kW)) p.b = io_.template In<T>(kW) + d * p.n * p.k;
    return p;
  }
  Product<T> RecurrentProduct(std::int64_t d) const {
    Product<T> p;
    p.m = s_.batch, p.n = state_.FirstGates() * s_.hidden, p.k = s_.hidden;
    p.lda = s_.hidden, p.ldb = s_.hidden, p.trans_b = true, p.ldc = s_.gates * s_.hidden;
    if (state_.packed.defined())
      SetPacked(p, Packed(d) + state_.packed_w);
    else if (io_.template In<T>(kR))
      p.b = io_.template In<T>(kR) + d * s_.gates * s_.hidden * s_.hidden;
    return p;
  }
  Product<T> HiddenProduct(std::int64_t d) const {  // (r * h) R^T of the hidden gate
    Product<T> p = RecurrentProduct(d);
    p.n = s_.hidden;
    if (state_.packed.defined())
      SetPacked(p, Packed(d) + state_.packed_w + state_.packed_r);
    else if (p.b != nullptr)
      p.b += 2 * s_.hidden * s_.hidden;
    return p;
  }

  // Rows of [batch, hidden] states: their place in initial_h, Y_h and the like.
  std::int64_t StateRow(std::int64_t d, std::int64_t b) const {
    return (state_.batch_first ? b * state_.directions + d : d * s_.batch + b) * s_.hidden;
  }
  void LoadState(std::size_t input, std::int64_t d, T* state) const {
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      T* to = state + b * s_.hidden;
      const T* from = io_.template In<T>(input);
      if (c_.HasInput(input))
        std::copy_n(from + StateRow(d, b), s_.hidden, to);
      else
        std::fill_n(to, s_.hidden, T(0));
    }
  }
  void StoreState(std::size_t output, std::int64_t d, const T* state) const {
    if (!c_.HasOutput(output)) return;
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      std::copy_n(state + b * s_.hidden, s_.hidden, io_.template Out<T>(output) + StateRow(d, b));
    }
  }

  // Wb + Rb; a GRU with linear_before_reset adds Rb of its hidden gate later.
  const T* SumBiases(std::int64_t d) {
    const std::int64_t all = s_.gates * s_.hidden;
    T* bias = io_.template At<T>(bias_at_);
    if (!c_.HasInput(kB)) {
      std::fill_n(bias, all, T(0));
      return bias;
    }
    const T* from = io_.template In<T>(kB) + d * 2 * all;
    const std::int64_t both = state_.cell == CellKind::kGru && state_.linear_before_reset ? 2 * s_.hidden : all;
    for (std::int64_t i = 0; i < all; ++i) bias[i] = from[i] + (i < both ? from[all + i] : T(0));
    return bias;
  }

  CellStep<T> MakeStep(std::int64_t d) {
    CellStep<T> step;
    step.hidden = s_.hidden;
    step.activations = state_.activations.data() + static_cast<std::size_t>(d) * state_.activations_each;
    step.clip = state_.clip;
    step.input_forget = state_.input_forget;
    if (state_.cell == CellKind::kLstm && c_.HasInput(kP)) step.peephole = io_.template In<T>(kP) + d * 3 * s_.hidden;
    if (state_.cell == CellKind::kGru && c_.HasInput(kB)) {
      step.recurrent_bias = io_.template In<T>(kB) + (d * 2 + 1) * s_.gates * s_.hidden + 2 * s_.hidden;
    }
    return step;
  }

  // The time of a sequence at a step, or -1 beyond its end.
  std::int64_t TimeOf(bool reverse, std::int64_t step, std::int64_t b) const {
    const std::int64_t length = c_.HasInput(kLens) ? c_.Input(kLens).As<std::int32_t>()[b] : s_.seq;
    if (step >= length) return -1;
    return reverse ? length - 1 - step : step;
  }

  void SetRow(CellStep<T>& step, const Memory& memory, std::int64_t time, std::int64_t b) {
    const std::int64_t all = s_.gates * s_.hidden;
    const std::int64_t row = state_.batch_first ? b * s_.seq + time : time * s_.batch + b;
    step.gates = memory.input_gates + row * all;
    step.recurrent = memory.recurrent + b * all;
    step.h = memory.h + b * s_.hidden;
    step.c = memory.c + b * s_.hidden;
    step.reset_hidden = state_.TwoProducts() ? memory.reset + b * s_.hidden : nullptr;
  }

  void StoreOutput(std::int64_t d, std::int64_t time, std::int64_t b, const T* h) {
    if (!c_.HasOutput(0)) return;
    const std::int64_t row = state_.batch_first ? (b * s_.seq + time) * state_.directions + d
                                                : (time * state_.directions + d) * s_.batch + b;
    std::copy_n(h, s_.hidden, io_.template Out<T>(0) + row * s_.hidden);
  }

  // The gates of all steps as far as they come from X: one product.
  void MultiplyInputs(std::int64_t d, const Memory& memory) {
    Serial serial;
    Product<T> inputs = InputProduct(d);
    inputs.c = memory.input_gates;
    const bool small = inputs.m * inputs.n * inputs.k < kSerialWork;
    Parallel& parallel = small ? static_cast<Parallel&>(serial) : c_.parallel();
    if constexpr (std::is_same_v<T, float>) {
      if (state_.quantized) {
        return input_gates_->Multiply(d, LongestSequence() * s_.batch, inputs.a, SumBiases(d), inputs.c, parallel,
                                      memory.gemm);
      }
    }
    AddBias(inputs, SumBiases(d), parallel, memory.gemm);
  }

  // Steps beyond it have no part in the range of X that quantization finds, as in ONNX Runtime.
  std::int64_t LongestSequence() const {
    if (!c_.HasInput(kLens)) return s_.seq;
    return std::ranges::max(c_.Input(kLens).Span<const std::int32_t>());
  }

  // recurrent = h R^T, all gates.
  void MultiplyHidden(std::int64_t d, bool reverse, std::int64_t step, const Memory& memory, Parallel& parallel) {
    if constexpr (std::is_same_v<T, float>) {
      const T* h = memory.h;
      if (c_.HasInput(kLens)) {  // states of sequences that have ended do not widen the range
        for (std::int64_t b = 0; b < s_.batch; ++b) {
          T* row = memory.reset + b * s_.hidden;
          if (TimeOf(reverse, step, b) < 0)
            std::fill_n(row, s_.hidden, T(0));
          else
            std::copy_n(h + b * s_.hidden, s_.hidden, row);
        }
        h = memory.reset;
      }
      hidden_gates_->Multiply(d, s_.batch, h, nullptr, memory.recurrent, parallel, memory.gemm);
    }
  }

  void RunSteps(std::int64_t d, const Memory& memory, Parallel& parallel) {
    const bool reverse = d == 1 || state_.reverse;
    LoadState(kH, d, memory.h);
    if (state_.cell == CellKind::kLstm) LoadState(kC, d, memory.c);
    Product<T> recurrent = RecurrentProduct(d), hidden = HiddenProduct(d);
    recurrent.a = memory.h;
    recurrent.c = memory.recurrent;
    hidden.a = memory.reset;
    hidden.c = recurrent.c + 2 * s_.hidden;
    if (state_.TwoProducts()) std::fill_n(memory.reset, s_.batch * s_.hidden, T(0));
    CellStep<T> cell = MakeStep(d);
    for (std::int64_t step = 0; step < s_.seq; ++step) {
      if (state_.quantized)
        MultiplyHidden(d, reverse, step, memory, parallel);
      else
        RunProduct(recurrent, parallel, memory.gemm);
      if (state_.TwoProducts()) {
        ForEachRow(reverse, step, cell, memory, [](const CellStep<T>& s, std::int64_t, std::int64_t) { GruGates(s); });
        RunProduct(hidden, parallel, memory.gemm);
      }
      ForEachRow(reverse, step, cell, memory, [&](const CellStep<T>& s, std::int64_t time, std::int64_t b) {
        if (state_.cell == CellKind::kLstm)
          LstmStep(s);
        else if (state_.cell == CellKind::kRnn)
          RnnStep(s);
        else
          FinishGru(s);
        StoreOutput(d, time, b, s.h);
      });
    }
    StoreState(1, d, memory.h);
    if (state_.cell == CellKind::kLstm) StoreState(2, d, memory.c);
  }

  void FinishGru(const CellStep<T>& s) {
    if (!state_.TwoProducts()) GruGates(s);
    GruState(s, state_.linear_before_reset);
  }

  template <typename Step>
  void ForEachRow(bool reverse, std::int64_t step, CellStep<T>& cell, const Memory& memory, Step run) {
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      const std::int64_t time = TimeOf(reverse, step, b);
      if (time < 0) continue;
      SetRow(cell, memory, time, b);
      run(cell, time, b);
    }
  }

  KernelContext& c_;
  const RecurrentState& state_;
  RecurrentSizes s_;
  Operands io_;
  std::optional<QuantizedGates> input_gates_, hidden_gates_;  // DynamicQuantizeLSTM
  bool both_at_once_ = false;
  std::array<Offsets, 2> at_ = {};
  std::size_t bias_at_, gemm_at_, gemm_bytes_;
};

template <typename T>
void RunRecurrent(KernelContext& c) {
  Runner<T>(c, c.state<RecurrentState>()).Run();
}

std::int64_t Rounded(std::size_t floats) { return static_cast<std::int64_t>((floats + 15) / 16 * 16); }

void PackWeights(PrepareContext& c, RecurrentState& s) {
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
      kernels::PackGemmF32B(s.input, all, wf.data<float>() + d * all * s.input, s.input, true, to, c.parallel());
      kernels::PackGemmF32B(s.hidden, first, rd, s.hidden, true, to + s.packed_w, c.parallel());
      if (s.TwoProducts()) {
        kernels::PackGemmF32B(s.hidden, s.hidden, rd + first * s.hidden, s.hidden, true, to + s.packed_w + s.packed_r,
                              c.parallel());
      }
    }
  });
  c.MarkPacked(kW);
  c.MarkPacked(kR);
}

Prepared PrepareQuantized(PrepareContext& c) {
  RecurrentState state = ReadRecurrent(c);
  state.quantized_w = {.input = kW, .scale = 8, .zero = 9};
  state.quantized_r = {.input = kR, .scale = 10, .zero = 11};
  const Tensor *w = c.Constant(kW), *r = c.Constant(kR);
  for (const QuantizedWeights* weights : {&state.quantized_w, &state.quantized_r}) CheckQuantizedWeights(c, *weights);
  if (w != nullptr && r != nullptr && w->count() != 0 && r->count() != 0) {
    state.hidden = r->shape()[1];
    state.input = w->shape()[1];
    PackQuantizedWeights(c, state.quantized_w);
    PackQuantizedWeights(c, state.quantized_r);
  }
  return WithState(RunRecurrent<float>, std::move(state));
}

Prepared PrepareRecurrent(PrepareContext& c) {
  RecurrentState state = ReadRecurrent(c);
  if (c.InputDType(kX) == DType::kDouble) return WithState(RunRecurrent<double>, std::move(state));
  PackWeights(c, state);
  return WithState(RunRecurrent<float>, std::move(state));
}

// Version 1 says with output_sequence whether Y is wanted; the outputs say that, too.
void UpgradeRecurrent(UpgradeContext& c) { c.Take("output_sequence"); }

void CountRecurrent(CostContext& c) {
  const double steps = CostContext::DimOf(c.In(kX), 0), batch = CostContext::DimOf(c.In(kX), 1);
  c.SetOperations(2 * steps * batch * (c.CountIn(kW) + c.CountIn(kR)));
}

constexpr OpDef Row(std::string_view name, Few<int> since) {
  return {.name = name,
          .since = since,
          .types = kIeeeFloats,
          .infer = InferRecurrent,
          .prepare = PrepareRecurrent,
          .upgrade = UpgradeRecurrent,
          .cost = CountRecurrent};
}

constexpr OpDef kRecurrentOps[] = {
    {.domain = "com.microsoft",
     .name = "DynamicQuantizeLSTM",
     .since = {1},
     .types = {DType::kFloat},
     .infer = InferRecurrent,
     .prepare = PrepareQuantized,
     .cost = CountRecurrent},
    Row("GRU", {1, 3, 7, 14, 22}),
    Row("LSTM", {1, 7, 14, 22}),
    Row("RNN", {1, 7, 14, 22}),
};

}  // namespace

std::span<const OpDef> RecurrentOps() { return kRecurrentOps; }

}  // namespace sardonyx::ops
