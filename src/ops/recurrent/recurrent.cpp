// ops/recurrent/recurrent.cpp - runs RNN, GRU, LSTM and DynamicQuantizeLSTM: one product for the inputs of all steps,
// then a small product for each step.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "kernels/gemm/tile_f32.h"
#include "ops/kernel_context.h"
#include "ops/operands.h"
#include "ops/product.h"
#include "ops/recurrent/recurrent_cell.h"
#include "ops/recurrent/recurrent_state.h"

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
    const std::int64_t columns = kernels::BestTilesF32().columns;
    direct_ = state.packed.defined() && s_.batch <= kernels::RowPanelsArgs::kRows && s_.batch > 0 &&
              state.FirstGates() * s_.hidden % columns == 0 && (!state.TwoProducts() || s_.hidden % columns == 0);
    for (Offsets& at : at_) {
      at.input_gates = io_.template Add<T>(count(rows, all));
      at.recurrent = io_.template Add<T>(count(s_.batch, all));
      for (std::size_t* state_at : {&at.h, &at.new_h, &at.c, &at.reset})
        *state_at = io_.template Add<T>(count(s_.batch, s_.hidden));
      if (!both_at_once_) break;
    }
    bias_at_ = io_.template Add<T>(static_cast<std::size_t>(all));
    const int threads = c.parallel().ThreadCount();
    gemm_bytes_ = (ScratchOfProducts(threads) + 63) / 64 * 64;
    const auto slots = static_cast<std::size_t>(std::max(2, threads));
    gemm_at_ = io_.Add(CheckedMul(gemm_bytes_, slots, "scratch"));
    works_at_ = io_.template Add<Work>(slots);
  }

  void Run() {
    if (s_.batch == 0) return;  // outputs without elements, whatever the number of steps is
    const Operands::Computing computing(io_);
    if (c_.HasOutput(0)) y_ = io_.template Out<T>(0);
    if (c_.HasInput(kLens)) lengths_ = c_.Input(kLens).As<std::int32_t>();
    if (lengths_ != nullptr && y_ != nullptr) std::fill_n(y_, c_.Output(0).count, T(0));
    if (both_at_once_) {
      for (std::int64_t d = 0; d < 2; ++d) MultiplyInputs(d, MemoryOf(d));
      c_.parallel().For(2, 1, [&](std::int64_t begin, std::int64_t end) {
        Serial serial;
        for (std::int64_t d = begin; d < end; ++d) RunSteps(d, MemoryOf(d), serial);
      });
      return;
    }
    Serial serial;
    const std::int64_t between_waits = RowsAlone(c_.parallel().ThreadCount()) ? s_.seq : 1;
    const bool small = StepWork() < kSerialWork / between_waits;
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
  static constexpr std::int64_t kLeastRows = 4;  // fewer rows take as long: they wait for the weights
  static constexpr int kFewThreads = 4;

  struct Offsets {
    std::size_t input_gates, recurrent, h, new_h, c, reset;
  };
  // What one thread computes of each step: some units of some sequences.
  struct Work {
    std::int64_t unit, row;    // the first ones; the unit begins a block
    Product<T> first, second;  // as RecurrentProduct and HiddenProduct
    CellStep<T> cell;
    std::byte* scratch;
  };
  static_assert(std::is_trivially_destructible_v<Product<T>> && std::is_trivially_destructible_v<CellStep<T>>);
  // What one direction computes in.
  struct Memory {
    T *input_gates, *recurrent, *h, *new_h, *c, *reset;
    std::byte* gemm;
    Work* works;  // room for one of each thread
  };
  Memory MemoryOf(std::int64_t slot) const {
    const Offsets& at = at_[slot];
    std::byte* gemm = gemm_bytes_ == 0 ? nullptr : io_.At(gemm_at_) + static_cast<std::size_t>(slot) * gemm_bytes_;
    return {io_.template At<T>(at.input_gates),
            io_.template At<T>(at.recurrent),
            io_.template At<T>(at.h),
            io_.template At<T>(at.new_h),
            io_.template At<T>(at.c),
            io_.template At<T>(at.reset),
            gemm,
            io_.template At<Work>(works_at_) + slot};
  }

  std::int64_t StepWork() const { return std::max(s_.batch, kLeastRows) * s_.gates * s_.hidden * s_.hidden; }

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
  // h R^T: all gates that need no second product.
  Product<T> RecurrentProduct(std::int64_t d) const {
    Product<T> p;
    p.m = s_.batch, p.n = state_.FirstGates() * s_.hidden, p.k = s_.hidden;
    p.lda = s_.hidden, p.ldb = s_.hidden, p.trans_b = true, p.ldc = p.n;
    if (state_.packed.defined())
      SetPacked(p, Packed(d) + state_.packed_w);
    else if (io_.template In<T>(kR))
      p.b = io_.template In<T>(kR) + d * s_.gates * s_.hidden * s_.hidden;
    return p;
  }
  Product<T> HiddenProduct(std::int64_t d) const {  // (r * h) R^T of the hidden gate
    Product<T> p = RecurrentProduct(d);
    p.n = p.ldc = s_.hidden;
    if (state_.packed.defined())
      SetPacked(p, Packed(d) + state_.packed_w + state_.packed_r);
    else if (p.b != nullptr)
      p.b += 2 * s_.hidden * s_.hidden;
    return p;
  }
  // Rows of a work that is not alone: more than make another kernel of few rows, so that the bits do not depend on the
  // number of threads. Those of a direct product never do; there it is what hides the reading of all weights.
  std::int64_t LeastRows() const { return direct_ ? 4 : 16; }

  // Sequences do not wait for each other: with some for each thread, no thread waits for others at each step. Long
  // steps are divided by units still, which reads each weight once.
  bool RowsAlone(std::int64_t threads) const {
    constexpr std::int64_t kLongWork = std::int64_t{1} << 23;  // multiplications of one thread
    return !state_.quantized && threads > 1 && s_.seq > 1 && s_.batch >= threads * LeastRows() &&
           StepWork() / threads < kLongWork;
  }

  // The works of a step for this many threads; unless W and R are packed, one work has all units.
  std::span<Work> Divide(std::int64_t d, const Memory& memory, std::int64_t threads) const {
    const std::int64_t blocks = RowsAlone(threads) ? 1 : std::max<std::int64_t>(1, s_.hidden / s_.block);
    const std::int64_t across = std::min(threads, blocks);
    const std::int64_t down = std::clamp<std::int64_t>(s_.batch / LeastRows(), 1, threads / across);
    std::size_t count = 0;
    for (std::int64_t x = 0; x < across; ++x) {
      const std::int64_t unit = blocks * x / across * s_.block;
      const std::int64_t end = x + 1 == across ? s_.hidden : blocks * (x + 1) / across * s_.block;
      for (std::int64_t y = 0; y < down; ++y) {
        const std::int64_t row = s_.batch * y / down, rows = s_.batch * (y + 1) / down - row;
        Work work = {unit, row, RecurrentProduct(d), HiddenProduct(d), MakeStep(d, unit, end - unit), memory.gemm};
        if (memory.gemm != nullptr) work.scratch += count * gemm_bytes_;
        work.first.c = memory.recurrent;
        work.second.c = memory.recurrent + s_.batch * s_.hidden * state_.FirstGates();
        Cut(work.first, work, rows, state_.FirstGates());
        Cut(work.second, work, rows, 1);
        std::construct_at(memory.works + count++, work);
      }
    }
    return {memory.works, count};
  }
  // The rows and columns of a work, of a product that has `gates` columns for each unit.
  static void Cut(Product<T>& p, const Work& work, std::int64_t rows, std::int64_t gates) {
    p.m = rows, p.n = work.cell.units * gates;
    p.c += work.row * p.ldc + work.unit * gates;
    if (p.packed_b != nullptr) p.packed_b += work.unit * gates * p.k;
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
    for (std::int64_t first = 0; first < s_.hidden; first += s_.block) {
      const std::int64_t units = std::min(s_.block, s_.hidden - first);
      T* to = bias + first * s_.gates;
      for (std::int64_t g = 0; g < s_.gates; ++g)
        for (std::int64_t i = g * s_.hidden + first; i < g * s_.hidden + first + units; ++i)
          *to++ = from[i] + (i < both ? from[all + i] : T(0));
    }
    return bias;
  }

  CellStep<T> MakeStep(std::int64_t d, std::int64_t unit, std::int64_t units) const {
    CellStep<T> step;
    step.units = units, step.block = s_.block, step.hidden = s_.hidden;
    step.activations = state_.activations.data() + static_cast<std::size_t>(d) * state_.activations_each;
    step.clip = state_.clip;
    step.input_forget = state_.input_forget;
    if (state_.cell == CellKind::kLstm && c_.HasInput(kP))
      step.peephole = io_.template In<T>(kP) + d * 3 * s_.hidden + unit;
    if (state_.cell == CellKind::kGru && c_.HasInput(kB))
      step.recurrent_bias = io_.template In<T>(kB) + (d * 2 + 1) * s_.gates * s_.hidden + 2 * s_.hidden + unit;
    return step;
  }

  // The time of a sequence at a step, or -1 beyond its end.
  std::int64_t TimeOf(bool reverse, std::int64_t step, std::int64_t b) const {
    const std::int64_t length = lengths_ != nullptr ? lengths_[b] : s_.seq;
    if (step >= length) return -1;
    return reverse ? length - 1 - step : step;
  }

  void SetRow(Work& work, const Memory& memory, std::int64_t time, std::int64_t b) const {
    const std::int64_t all = s_.gates * s_.hidden, first_gates = state_.FirstGates(), unit = b * s_.hidden + work.unit;
    const std::int64_t row = state_.batch_first ? b * s_.seq + time : time * s_.batch + b;
    CellStep<T>& step = work.cell;
    step.gates = memory.input_gates + row * all + work.unit * s_.gates;
    step.recurrent = memory.recurrent + b * s_.hidden * first_gates + work.unit * first_gates;
    step.product = memory.recurrent + s_.batch * s_.hidden * first_gates + unit;
    step.h = memory.h + unit;
    step.new_h = memory.new_h + unit;
    step.c = memory.c + unit;
    step.reset_hidden = state_.TwoProducts() ? memory.reset + unit : nullptr;
  }

  void StoreOutput(std::int64_t d, std::int64_t time, std::int64_t b, const Work& work, const T* h) const {
    if (y_ == nullptr) return;
    const std::int64_t row = state_.batch_first ? (b * s_.seq + time) * state_.directions + d
                                                : (time * state_.directions + d) * s_.batch + b;
    std::copy_n(h, work.cell.units, y_ + row * s_.hidden + work.unit);
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
  void MultiplyHidden(std::int64_t d, bool reverse, std::int64_t step, const Memory& memory, Parallel& parallel) const {
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

  void RunSteps(std::int64_t d, const Memory& memory, Parallel& parallel) const {
    LoadState(kH, d, memory.h);
    if (state_.cell == CellKind::kLstm) LoadState(kC, d, memory.c);
    if (state_.TwoProducts()) std::fill_n(memory.reset, s_.batch * s_.hidden, T(0));
    const std::span<Work> works = Divide(d, memory, parallel.ThreadCount());
    if (RowsAlone(parallel.ThreadCount())) {
      ForEachWork(works, parallel, [&](Work& work, Parallel& inner) { RunWorks({&work, 1}, d, memory, inner); });
    } else {
      RunWorks(works, d, memory, parallel);
    }
    const T* h = s_.seq % 2 == 0 ? memory.h : memory.new_h;
    StoreState(1, d, h);
    if (state_.cell == CellKind::kLstm) StoreState(2, d, memory.c);
  }

  // All steps of these works; h and new_h take turns.
  void RunWorks(std::span<Work> works, std::int64_t d, Memory memory, Parallel& parallel) const {
    const bool reverse = d == 1 || state_.reverse;
    for (std::int64_t step = 0; step < s_.seq; ++step) {
      if (state_.quantized) MultiplyHidden(d, reverse, step, memory, parallel);
      if (state_.TwoProducts()) {
        ForEachWork(works, parallel, [&](Work& work, Parallel& inner) {
          Multiply(work, work.first, memory.h, inner);
          ForEachRow(reverse, step, work, memory,
                     [](const CellStep<T>& s, std::int64_t, std::int64_t) { GruGates(s); });
        });
      }
      ForEachWork(works, parallel, [&](Work& work, Parallel& inner) {
        if (state_.TwoProducts())
          Multiply(work, work.second, memory.reset, inner);
        else if (!state_.quantized)
          Multiply(work, work.first, memory.h, inner);
        if (lengths_ != nullptr) KeepEnded(reverse, step, work, memory);
        ForEachRow(reverse, step, work, memory, [&](const CellStep<T>& s, std::int64_t time, std::int64_t b) {
          Finish(s);
          StoreOutput(d, time, b, work, s.new_h);
        });
      });
      std::swap(memory.h, memory.new_h);
    }
  }

  // One work may use threads itself, several have one each.
  template <typename Run>
  static void ForEachWork(std::span<Work> works, Parallel& parallel, Run run) {
    if (works.size() == 1) return run(works[0], parallel);
    parallel.For(static_cast<std::int64_t>(works.size()), 1, [&](std::int64_t begin, std::int64_t end) {
      Serial serial;
      for (std::int64_t i = begin; i < end; ++i) run(works[static_cast<std::size_t>(i)], serial);
    });
  }

  void Multiply(const Work& work, Product<T>& p, const T* a, Parallel& parallel) const {
    p.a = a + work.row * p.lda;
    if constexpr (std::is_same_v<T, float>) {
      if (direct_) {
        const kernels::TileF32Set& tiles = kernels::BestTilesF32();
        return tiles.row_panels({p.k, p.m, p.n / tiles.columns, p.a, p.lda, 1, p.c, p.ldc}, p.packed_b);
      }
    }
    RunProduct(p, parallel, work.scratch);
  }

  // Sequences that have ended keep their state.
  void KeepEnded(bool reverse, std::int64_t step, const Work& work, const Memory& memory) const {
    for (std::int64_t b = work.row; b < work.row + work.first.m; ++b) {
      const std::int64_t at = b * s_.hidden + work.unit;
      if (TimeOf(reverse, step, b) < 0) std::copy_n(memory.h + at, work.cell.units, memory.new_h + at);
    }
  }

  void Finish(const CellStep<T>& s) const {
    if (state_.cell == CellKind::kLstm)
      LstmStep(s);
    else if (state_.cell == CellKind::kRnn)
      RnnStep(s);
    else if (state_.TwoProducts())
      GruState(s);
    else
      GruStep(s);
  }

  template <typename Step>
  void ForEachRow(bool reverse, std::int64_t step, Work& work, const Memory& memory, Step run) const {
    for (std::int64_t b = work.row; b < work.row + work.first.m; ++b) {
      const std::int64_t time = TimeOf(reverse, step, b);
      if (time < 0) continue;
      SetRow(work, memory, time, b);
      run(work.cell, time, b);
    }
  }

  KernelContext& c_;
  const RecurrentState& state_;
  RecurrentSizes s_;
  Operands io_;
  std::optional<QuantizedGates> input_gates_, hidden_gates_;  // DynamicQuantizeLSTM
  const std::int32_t* lengths_ = nullptr;
  T* y_ = nullptr;
  bool both_at_once_ = false;
  bool direct_ = false;  // a few rows times whole panels: sums go where they are wanted, with no plan for each step
  std::array<Offsets, 2> at_ = {};
  std::size_t bias_at_, gemm_at_, works_at_, gemm_bytes_;
};

}  // namespace

template <typename T>
void RunRecurrent(KernelContext& c) {
  Runner<T>(c, c.state<RecurrentState>()).Run();
}

template void RunRecurrent<float>(KernelContext& c);
template void RunRecurrent<double>(KernelContext& c);

}  // namespace sardonyx::ops
