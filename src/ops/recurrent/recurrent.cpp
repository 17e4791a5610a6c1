// ops/recurrent/recurrent.cpp - runs RNN, GRU, LSTM and DynamicQuantizeLSTM: a product for the inputs of some steps at
// once, whose results stay in a cache, then a small product for each of these steps.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "ops/kernel_context.h"
#include "ops/operands.h"
#include "ops/recurrent/parallel_phases.h"
#include "ops/recurrent/recurrent_cell.h"
#include "ops/recurrent/recurrent_products.h"
#include "ops/recurrent/recurrent_state.h"

namespace sardonyx::ops {
namespace {

// One run: memory, and the loop over steps of one direction.
template <typename T>
class Runner {
 public:
  Runner(KernelContext& c, const RecurrentState& state)
      : c_(c),
        state_(state),
        s_(MakeRecurrentSizes(c, state)),
        io_(c, kDTypeOf<T>, state.SkippedInputs()),
        products_(state, s_, io_) {
    if (state.quantized) {
      input_gates_.emplace(c, state.quantized_w, state.directions, s_.input, s_.gates * s_.hidden);
      hidden_gates_.emplace(c, state.quantized_r, state.directions, s_.hidden, s_.gates * s_.hidden);
    }
    const auto count = [](std::int64_t a, std::int64_t b) {
      return CheckedMul(std::size_t(a), std::size_t(b), "gates");
    };
    const std::int64_t all = s_.gates * s_.hidden;
    both_at_once_ = BothAtOnce();
    most_steps_ = MostSteps();
    const std::size_t rows = CheckedMul(std::size_t(most_steps_), std::size_t(s_.batch), "gates");
    for (Offsets& at : at_) {
      at.input_gates = io_.template Add<T>(CheckedMul(rows, std::size_t(all), "gates"));
      at.inputs = io_.template Add<T>(InSteps() ? CheckedMul(rows, std::size_t(s_.input), "inputs") : 0);
      at.recurrent = io_.template Add<T>(count(s_.batch, all));
      for (std::size_t* state_at : {&at.h, &at.new_h, &at.c, &at.reset})
        *state_at = io_.template Add<T>(count(s_.batch, s_.hidden));
      at.bias = io_.template Add<T>(std::size_t(all));
      if (!both_at_once_) break;
    }
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
      for (std::int64_t d = 0; d < 2 && !InSteps(); ++d) MultiplyAllInputs(d, MemoryOf(d));
      c_.parallel().For(2, 1, [&](std::int64_t begin, std::int64_t end) {
        Serial serial;
        for (std::int64_t d = begin; d < end; ++d) RunSteps(d, MemoryOf(d), serial, serial);
      });
      return;
    }
    Serial serial;
    const bool alone = RowsAlone(c_.parallel().ThreadCount());
    const std::int64_t least = alone ? kSerialWork / s_.seq : products_.direct() ? kSerialPhase : kSerialWork;
    const bool small = StepWork() < least;
    for (std::int64_t d = 0; d < state_.directions; ++d) {
      if (!InSteps()) MultiplyAllInputs(d, MemoryOf(0));
      RunSteps(d, MemoryOf(0), small ? static_cast<Parallel&>(serial) : c_.parallel(), c_.parallel());
    }
  }

 private:
  std::size_t ScratchOfProducts(int threads) const {
    if (state_.quantized) {
      return std::max(input_gates_->ScratchBytes(s_.seq * s_.batch, threads),
                      hidden_gates_->ScratchBytes(s_.batch, threads));
    }
    std::size_t bytes = ProductScratch(products_.Inputs(0, most_steps_ * s_.batch), threads);
    bytes = std::max(bytes, ProductScratch(products_.Recurrent(0), threads));
    if (state_.TwoProducts()) bytes = std::max(bytes, ProductScratch(products_.Hidden(0), threads));
    return bytes;
  }

  static constexpr std::int64_t kSerialWork = std::int64_t{1} << 19;   // multiplications that do not pay threads
  static constexpr std::int64_t kSerialPhase = std::int64_t{1} << 17;  // the same where threads only wait for others
  static constexpr std::int64_t kLeastRows = 4;  // fewer rows take as long: they wait for the weights
  static constexpr int kFewThreads = 4;

  struct Offsets {
    std::size_t input_gates, inputs, recurrent, h, new_h, c, reset, bias;
  };
  // What one thread computes of each step: some units of some sequences.
  struct Work {
    std::int64_t unit, row;    // the first ones; the unit begins a block
    Product<T> first, second;  // of products_.Recurrent and products_.Hidden
    CellStep<T> cell;
    std::byte* scratch;
  };
  static_assert(std::is_trivially_destructible_v<Product<T>> && std::is_trivially_destructible_v<CellStep<T>>);
  // What one direction computes in.
  struct Memory {
    T *input_gates, *inputs, *recurrent, *h, *new_h, *c, *reset, *bias;
    std::byte* gemm;
    Work* works;  // room for one of each thread
  };
  // Steps whose input gates are ready, of some sequences.
  struct Steps {
    std::int64_t begin, end;
    std::int64_t row, rows;
    bool backward;  // the gates lie in the order of X, and the steps go against it
  };
  Memory MemoryOf(std::int64_t slot) const {
    const Offsets& at = at_[slot];
    std::byte* gemm = gemm_bytes_ == 0 ? nullptr : io_.At(gemm_at_) + static_cast<std::size_t>(slot) * gemm_bytes_;
    return {io_.template At<T>(at.input_gates),
            io_.template At<T>(at.inputs),
            io_.template At<T>(at.recurrent),
            io_.template At<T>(at.h),
            io_.template At<T>(at.new_h),
            io_.template At<T>(at.c),
            io_.template At<T>(at.reset),
            io_.template At<T>(at.bias),
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

  // Input gates of all steps would go to memory and come back; those of some stay in the second cache level. Weights
  // that are not packed would be packed for each of these products, and quantization looks at all inputs first.
  bool InSteps() const { return state_.packed.defined(); }
  std::int64_t MostSteps() const {
    if (!InSteps() || s_.batch == 0) return s_.seq;
    constexpr std::int64_t kFloats = std::int64_t{1} << 15, kLeast = 64, kMost = 256;  // rows
    const std::int64_t threads = c_.parallel().ThreadCount();
    const std::int64_t groups = !both_at_once_ && RowsAlone(threads) ? threads : 1, rows = s_.batch / groups;
    const std::int64_t wanted = std::clamp(kFloats / (s_.gates * s_.hidden), kLeast, kMost);
    return std::clamp<std::int64_t>((wanted + rows - 1) / rows, 1, std::max<std::int64_t>(1, s_.seq));
  }

  // Rows of a work that is not alone: more than make another kernel of few rows, so that the bits do not depend on the
  // number of threads. Those of a direct product never do; there it is what hides the reading of all weights from
  // beyond the core's cache.
  std::int64_t LeastRows() const { return !products_.direct() ? 16 : products_.KeepsWeights() ? 1 : 4; }

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
        Work work = {unit,       row, products_.Recurrent(d), products_.Hidden(d), MakeStep(d, unit, end - unit),
                     memory.gemm};
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

  void SumBiases(std::int64_t d, T* bias) const {
    const std::int64_t all = s_.gates * s_.hidden;
    ops::SumBiases(state_, s_, c_.HasInput(kB) ? io_.template In<T>(kB) + d * 2 * all : nullptr, bias);
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

  bool Reverse(std::int64_t d) const { return d == 1 || state_.reverse; }

  // The time of a sequence at a step, or -1 beyond its end.
  std::int64_t TimeOf(bool reverse, std::int64_t step, std::int64_t b) const {
    const std::int64_t length = lengths_ != nullptr ? lengths_[b] : s_.seq;
    if (step >= length) return -1;
    return reverse ? length - 1 - step : step;
  }

  // Where the gates of a sequence are at a step.
  std::int64_t GateRow(const Steps& steps, std::int64_t step, std::int64_t time, std::int64_t b) const {
    if (!InSteps()) return state_.batch_first ? b * s_.seq + time : time * s_.batch + b;
    const std::int64_t before = most_steps_ * steps.row;  // rows of other threads
    return before + (steps.backward ? steps.end - 1 - step : step - steps.begin) * steps.rows + b - steps.row;
  }

  void SetRow(Work& work, const Memory& memory, std::int64_t row, std::int64_t b) const {
    const std::int64_t all = s_.gates * s_.hidden, first_gates = state_.FirstGates(), unit = b * s_.hidden + work.unit;
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
  void MultiplyAllInputs(std::int64_t d, const Memory& memory) const {
    Product<T> inputs = products_.Inputs(d, s_.seq * s_.batch);
    inputs.c = memory.input_gates;
    SumBiases(d, memory.bias);
    Serial serial;
    Parallel& parallel = ThreadsOf(inputs, c_.parallel(), serial);
    if constexpr (std::is_same_v<T, float>) {
      if (state_.quantized) {
        return input_gates_->Multiply(d, LongestSequence() * s_.batch, inputs.a, memory.bias, inputs.c, parallel,
                                      memory.gemm);
      }
    }
    products_.MultiplyInputs(inputs, memory.bias, parallel, memory.gemm);
  }
  static Parallel& ThreadsOf(const Product<T>& p, Parallel& parallel, Serial& serial) {
    return std::max(p.m, kLeastRows) * p.n * p.k < kSerialWork ? static_cast<Parallel&>(serial) : parallel;
  }

  // The gates of some steps of some sequences.
  Steps MultiplyInputs(std::int64_t d, bool reverse, Steps steps, const Memory& memory, std::byte* scratch,
                       Parallel& parallel) const {
    Product<T> inputs = products_.Inputs(d, (steps.end - steps.begin) * steps.rows);
    const bool in_order = lengths_ == nullptr && steps.rows == s_.batch && (!state_.batch_first || s_.batch == 1);
    steps.backward = in_order && reverse;
    if (in_order)
      inputs.a += (reverse ? s_.seq - steps.end : steps.begin) * s_.batch * s_.input;
    else
      inputs.a = GatherInputs(reverse, steps, inputs.a, memory.inputs + most_steps_ * steps.row * s_.input);
    inputs.c = memory.input_gates + most_steps_ * steps.row * inputs.n;
    Serial serial;
    products_.MultiplyInputs(inputs, memory.bias, ThreadsOf(inputs, parallel, serial), scratch);
    return steps;
  }
  // Sequences that have ended have zeros.
  const T* GatherInputs(bool reverse, const Steps& steps, const T* x, T* to) const {
    T* next = to;
    for (std::int64_t step = steps.begin; step < steps.end; ++step) {
      for (std::int64_t b = steps.row; b < steps.row + steps.rows; ++b, next += s_.input) {
        const std::int64_t time = TimeOf(reverse, step, b);
        if (time < 0)
          std::fill_n(next, s_.input, T(0));
        else
          std::copy_n(x + (state_.batch_first ? b * s_.seq + time : time * s_.batch + b) * s_.input, s_.input, next);
      }
    }
    return to;
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

  // for_inputs: the threads of a product for several steps, where all sequences are together.
  void RunSteps(std::int64_t d, const Memory& memory, Parallel& parallel, Parallel& for_inputs) const {
    LoadState(kH, d, memory.h);
    if (state_.cell == CellKind::kLstm) LoadState(kC, d, memory.c);
    if (state_.TwoProducts()) std::fill_n(memory.reset, s_.batch * s_.hidden, T(0));
    if (InSteps()) SumBiases(d, memory.bias);
    const std::span<Work> works = Divide(d, memory, parallel.ThreadCount());
    if (RowsAlone(parallel.ThreadCount())) {
      ForEachWork(works, parallel, [&](Work& work, Parallel& inner) {
        RunWorks({&work, 1}, d, memory, work.scratch, inner, inner);
      });
    } else {
      RunWorks(works, d, memory, memory.gemm, parallel, for_inputs);
    }
    const T* h = s_.seq % 2 == 0 ? memory.h : memory.new_h;
    StoreState(1, d, h);
    if (state_.cell == CellKind::kLstm) StoreState(2, d, memory.c);
  }

  // All steps of these works, which are all units of some sequences.
  void RunWorks(std::span<Work> works, std::int64_t d, const Memory& memory, std::byte* scratch, Parallel& parallel,
                Parallel& for_inputs) const {
    const std::int64_t row = works.front().row, rows = works.back().row + works.back().first.m - row;
    const std::int64_t times = most_steps_ == 0 ? 0 : (s_.seq + most_steps_ - 1) / most_steps_;
    for (std::int64_t i = 0; i < times; ++i) {
      Steps steps = {s_.seq * i / times, s_.seq * (i + 1) / times, row, rows, false};
      if (InSteps()) steps = MultiplyInputs(d, Reverse(d), steps, memory, scratch, for_inputs);
      RunSome(works, d, steps, memory, parallel);
    }
  }

  // Several works run at once, each on one thread, and wait for each other; one may use threads itself.
  void RunSome(std::span<Work> works, std::int64_t d, const Steps& steps, const Memory& memory,
               Parallel& parallel) const {
    const std::int64_t each = state_.TwoProducts() ? 2 : 1, phases = (steps.end - steps.begin) * each;
    const auto run = [&](std::int64_t phase, Work& work, Parallel& inner) {
      RunPhase(d, steps, steps.begin + phase / each, phase % each + 1 == each, work, memory, inner);
    };
    if (works.size() > 1 && !state_.quantized) {
      ForPhases(phases, static_cast<std::int64_t>(works.size()), parallel, [&](std::int64_t phase, std::int64_t i) {
        Serial serial;
        run(phase, works[static_cast<std::size_t>(i)], serial);
      });
      return;
    }
    for (std::int64_t phase = 0; phase < phases; ++phase) {
      if (state_.quantized)
        MultiplyHidden(d, Reverse(d), steps.begin + phase, AtStep(memory, steps.begin + phase), parallel);
      ForEachWork(works, parallel, [&](Work& work, Parallel& inner) { run(phase, work, inner); });
    }
  }

  // h and new_h take turns.
  static Memory AtStep(Memory memory, std::int64_t step) {
    if (step % 2 != 0) std::swap(memory.h, memory.new_h);
    return memory;
  }

  // A step of a work, or the first or last part of one whose products follow each other.
  void RunPhase(std::int64_t d, const Steps& steps, std::int64_t step, bool last, Work& work, const Memory& of_all,
                Parallel& parallel) const {
    const Memory memory = AtStep(of_all, step);
    const bool reverse = Reverse(d);
    if (!last) {
      Multiply(work, work.first, memory.h, parallel);
      ForEachRow(reverse, steps, step, work, memory,
                 [](const CellStep<T>& s, std::int64_t, std::int64_t) { GruGates(s); });
      return;
    }
    if (state_.TwoProducts())
      Multiply(work, work.second, memory.reset, parallel);
    else if (!state_.quantized)
      Multiply(work, work.first, memory.h, parallel);
    if (lengths_ != nullptr) KeepEnded(reverse, step, work, memory);
    ForEachRow(reverse, steps, step, work, memory, [&](const CellStep<T>& s, std::int64_t time, std::int64_t b) {
      Finish(s);
      StoreOutput(d, time, b, work, s.new_h);
    });
  }

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
    products_.Multiply(p, parallel, work.scratch);
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
  void ForEachRow(bool reverse, const Steps& steps, std::int64_t step, Work& work, const Memory& memory,
                  Step run) const {
    for (std::int64_t b = work.row; b < work.row + work.first.m; ++b) {
      const std::int64_t time = TimeOf(reverse, step, b);
      if (time < 0) continue;
      SetRow(work, memory, GateRow(steps, step, time, b), b);
      run(work.cell, time, b);
    }
  }

  KernelContext& c_;
  const RecurrentState& state_;
  RecurrentSizes s_;
  Operands io_;
  RecurrentProducts<T> products_;
  std::optional<QuantizedGates> input_gates_, hidden_gates_;  // DynamicQuantizeLSTM
  const std::int32_t* lengths_ = nullptr;
  T* y_ = nullptr;
  bool both_at_once_ = false;
  std::int64_t most_steps_ = 0;  // of which the input gates are made at once
  std::array<Offsets, 2> at_ = {};
  std::size_t gemm_at_, works_at_, gemm_bytes_;
};

}  // namespace

template <typename T>
void RunRecurrent(KernelContext& c) {
  Runner<T>(c, c.state<RecurrentState>()).Run();
}

template void RunRecurrent<float>(KernelContext& c);
template void RunRecurrent<double>(KernelContext& c);

}  // namespace sardonyx::ops
