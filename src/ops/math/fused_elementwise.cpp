// ops/math/fused_elementwise.cpp - ai.sardonyx.FusedElementwise: several elementwise nodes run block by block.
//
// clang-format off
//   inputs         tensors that broadcast to the output: float, float16 and bfloat16 (widened as they are read) or
//                  8-bit integers (dequantized as they are read)
//   steps          the function of each step: "Mul", "Sigmoid" ...
//   operands       two for each step: i for input i, -1 - j for the result of step j; functions of one operand ignore
//                  the second
//   parameters     two floats for each step (alpha, beta ...)
//   input_scales,  of each input, if any input has 8 bits
//   input_zeros
//   to             the result's element type if it is not float: float16 and bfloat16 are rounded, 8-bit integers are
//                  quantized with output_scale and output_zero
// clang-format on
//
// The output is the last step's result; every step's result has the output's shape, once all inputs are broadcast. A
// block of each result stays in the first cache level. The functions are those of the single operators, so the bits are
// theirs, too: every row of ops/math/unary.cpp that has a function, the activations, and kFunctions. The operator's own
// row is in variadic.cpp.
#include "ops/fused_elementwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/copy/stream.h"
#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/quantize.h"
#include "kernels/elementwise/quantized_binary.h"
#include "kernels/elementwise/unary.h"
#include "ops/activation.h"
#include "ops/infer.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/math/tape_walk.h"
#include "ops/prepare_context.h"

namespace sardonyx::ops {
namespace {

using kernels::BinaryKind;
using kernels::UnaryKind;

constexpr std::int64_t kBlock = kTapeBlock;
constexpr std::int64_t kGrain = 8192;  // elements that are worth a thread
constexpr int kMaxResults = 16;        // blocks that are alive at once: 32 KiB, mostly far fewer

// A step's function; the operators of ops/math/unary.cpp and the activations are found by their names.
struct Function {
  std::string_view name;
  bool binary = false;
  UnaryKind unary = UnaryKind::kNone;
  BinaryKind kind = BinaryKind::kAdd;
};
constexpr Function Binary(std::string_view name, BinaryKind kind) {
  return {.name = name, .binary = true, .kind = kind};
}
constexpr Function kFunctions[] = {
    Binary("Add", BinaryKind::kAdd),       Binary("Sub", BinaryKind::kSub),   Binary("Mul", BinaryKind::kMul),
    Binary("Div", BinaryKind::kDiv),       Binary("Max", BinaryKind::kMax),   Binary("Min", BinaryKind::kMin),
    {"Square", false, UnaryKind::kSquare}, {"Cube", false, UnaryKind::kCube},
};

bool IsHalf(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

// What QuantizeLinear and DequantizeLinear make of x, with scale a and zero point b.
template <typename T>
void Quantize(const float* x, float* y, std::size_t n, float a, float b) {
  constexpr float kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  std::uint8_t bytes[kBlock];
  const kernels::QuantizedTable& table = kernels::Quantized8();
  kernels::QuantizeFn* const quantize = kernels::Quantization().quantize(kDTypeOf<T>, true);
  for (std::size_t i = 0; i < n; i += sizeof bytes) {
    const std::size_t count = std::min(n - i, sizeof bytes);
    quantize(x + i, &a, &b, kLow, kHigh, count, bytes);
    (std::is_signed_v<T> ? table.dequantize_signed : table.dequantize_unsigned)(bytes, a, b, count, y + i);
  }
}

kernels::UnaryF32Fn* QuantizingFunction(std::string_view name) {
  if (name == "QuantizeInt8") return Quantize<std::int8_t>;
  return name == "QuantizeUInt8" ? Quantize<std::uint8_t> : nullptr;
}

std::optional<Function> FindFunction(std::string_view name) {
  for (const Function& function : kFunctions)
    if (function.name == name) return function;
  if (const FloatOperator* op = FindFloatOperator("", name)) return Function{.name = name, .unary = op->function.kind};
  if (const ActivationDef* def = FindActivation(name)) return Function{.name = name, .unary = def->function.kind};
  return std::nullopt;
}

}  // namespace

std::vector<std::string_view> TapeFunctions() {
  std::vector<std::string_view> names;
  for (const Function& function : kFunctions) names.push_back(function.name);
  for (const ActivationDef& def : Activations()) names.push_back(def.name);
  return names;
}

std::optional<TapeStep> TapeStepOf(const Graph& graph, const Node& node) {
  for (const Function& function : kFunctions)
    if (function.binary && node.domain.empty() && function.name == node.op_type)
      return node.inputs.size() == 2 ? std::optional(TapeStep{function.name, true}) : std::nullopt;
  if (const auto function = FunctionOf(node)) {
    if (node.inputs.size() != 1) return std::nullopt;
    return TapeStep{function->name, false, function->a, function->b};
  }
  if (!node.domain.empty()) return std::nullopt;
  if (const auto activation = ActivationOf(graph, node))
    return TapeStep{activation->def->name, false, activation->a, activation->b};
  if (node.op_type == "Pow" && node.inputs.size() == 2) {
    const auto exponent = ScalarConstant(graph, node.inputs[1]);
    if (exponent == 2.0f) return TapeStep{"Square"};
    if (exponent == 3.0f) return TapeStep{"Cube"};
  }
  return std::nullopt;
}

namespace {

// Where a step finds an operand and leaves its result.
struct Operand {
  int input = -1;  // else a block
  int block = -1;
};
struct Step {
  kernels::UnaryF32Fn* unary = nullptr;  // null: binary
  kernels::BinaryLoops loops;
  float a = 0, b = 0;
  Operand x, y;
  int block = -1;  // -1: the output
};
struct Tape {
  std::vector<Step> steps;
  std::size_t inputs = 0;
  std::vector<float> input_scales, input_zeros;  // empty if all inputs are floats
  DType to = DType::kFloat;
  float output_scale = 1, output_zero = 0;
};

class TapeRunner {
 public:
  TapeRunner(KernelContext& c, const Tape& tape) : tape_(tape), walk_(PlanTapeWalk(c, tape.inputs)) {
    for (std::size_t k = 0; k < tape.inputs; ++k) {
      const TensorRef& x = c.Input(k);
      if (x.dtype == DType::kFloat) {
        inputs_[k] = x.As<const float>();
      } else if (IsHalf(x.dtype)) {
        halves_[k] = x.data;
        widen_[k] = kernels::ToFloats(x.dtype);
      } else {
        bytes_[k] = x.As<const std::uint8_t>();
        is_signed_[k] = x.dtype == DType::kInt8;
      }
    }
    if (tape.to == DType::kFloat) {
      output_ = c.Output(0).As<float>();
    } else if (IsHalf(tape.to)) {
      output_halves_ = c.Output(0).data;
      narrow_ = kernels::FromFloats(tape.to);
    } else {
      output_bytes_ = c.Output(0).As<std::uint8_t>();
    }
    streamed_ = output_bytes_ == nullptr && c.Output(0).byte_size() >= kernels::kStreamedBytes;
    for (std::size_t k = 0; k < tape.inputs; ++k) streamed_ = streamed_ && c.Input(k).data != c.Output(0).data;
  }

  void Run(std::int64_t begin, std::int64_t end) const {
    if (walk_.period == 0) return RunRows(begin, end, {});
    alignas(64) float repeated[kMostPeriodic][2 * kBlock];
    Rows rows;
    for (std::size_t i = 0; i < kMostPeriodic; ++i) rows[i] = repeated[i];
    RunRows(begin, end, rows);
  }

 private:
  // Of each periodic input, its short row again and again, for as long as a block is.
  using Rows = std::array<float*, kMostPeriodic>;

  void RunRows(std::int64_t begin, std::int64_t end, const Rows& rows) const {
    while (begin < end) {
      std::int64_t rest = begin;
      Places at = {};
      for (std::size_t axis = 0; axis < walk_.rank; ++axis) {
        const std::int64_t index = rest % walk_.sizes[axis];
        rest /= walk_.sizes[axis];
        for (std::size_t k = 0; k <= tape_.inputs; ++k)
          if (axis != 0 || !IsPeriodic(k)) at[k] += index * walk_.strides[axis][k];
      }
      if (walk_.period != 0) WriteOut(at, rows);
      const std::int64_t row_end = std::min(end, begin - begin % walk_.sizes[0] + walk_.sizes[0]);
      for (; begin < row_end; begin += kBlock) {
        const std::int64_t n = std::min(kBlock, row_end - begin);
        Rows from = rows;
        if (walk_.period != 0)
          for (float*& row : from) row += begin % walk_.period;
        if (streamed_) {
          StreamBlock(at, from, static_cast<std::size_t>(n));
        } else if (output_ != nullptr) {
          RunBlock(at, from, output_ + at[tape_.inputs], static_cast<std::size_t>(n));
        } else if (narrow_ != nullptr) {
          alignas(64) float block[kBlock];
          RunBlock(at, from, block, static_cast<std::size_t>(n));
          narrow_(block, static_cast<std::size_t>(n), output_halves_, begin);
        } else {
          RunQuantized(at, from, output_bytes_ + begin, static_cast<std::size_t>(n));
        }
        for (std::size_t k = 0; k <= tape_.inputs; ++k)
          if (!IsPeriodic(k)) at[k] += n * walk_.strides[0][k];
      }
      begin = row_end;
    }
    if (streamed_) kernels::FinishStreaming();
  }

  bool IsPeriodic(std::size_t k) const { return walk_.periodic[k] >= 0; }

  void WriteOut(const Places& at, const Rows& rows) const {
    const auto period = static_cast<std::size_t>(walk_.period);
    const std::size_t size = static_cast<std::size_t>(std::min(kBlock, walk_.sizes[0])) + period;
    for (std::size_t k = 0; k < tape_.inputs; ++k) {
      if (!IsPeriodic(k)) continue;
      float* const row = rows[static_cast<std::size_t>(walk_.periodic[k])];
      if (inputs_[k] != nullptr) {
        std::copy_n(inputs_[k] + at[k], period, row);
      } else {
        LoadInput(k, at[k], period, row);
      }
      for (std::size_t done = period; done < size; done *= 2) std::copy_n(row, std::min(done, size - done), row + done);
    }
  }

  // A block of floats or halves, past the caches.
  void StreamBlock(const Places& at, const Rows& rows, std::size_t n) const {
    const std::int64_t begin = at[tape_.inputs];
    alignas(64) float block[kBlock];
    RunBlock(at, rows, block, n);
    if (output_ != nullptr) return kernels::Stream()(block, output_ + begin, n * sizeof(float));
    alignas(64) std::uint16_t halves[kBlock];
    narrow_(block, n, halves, 0);
    kernels::Stream()(halves, static_cast<std::uint16_t*>(output_halves_) + begin, n * sizeof(std::uint16_t));
  }

  void RunQuantized(const Places& at, const Rows& rows, std::uint8_t* y, std::size_t n) const {
    alignas(64) float block[kBlock];
    RunBlock(at, rows, block, n);
    const float low = tape_.to == DType::kInt8 ? -128.0f : 0.0f;
    kernels::Quantization().quantize(tape_.to, true)(block, &tape_.output_scale, &tape_.output_zero, low, low + 255, n,
                                                     y);
  }

  // The elements of a half or 8-bit input as floats.
  void LoadInput(std::size_t k, std::int64_t at, std::size_t count, float* to) const {
    if (halves_[k] != nullptr) widen_[k](halves_[k], at, count, to);
    if (bytes_[k] == nullptr) return;
    const kernels::QuantizedTable& table = kernels::Quantized8();
    (is_signed_[k] ? table.dequantize_signed : table.dequantize_unsigned)(bytes_[k] + at, tape_.input_scales[k],
                                                                          tape_.input_zeros[k], count, to);
  }

  void RunBlock(const Places& at, const Rows& rows, float* y, std::size_t n) const {
    alignas(64) float blocks[kMaxResults][kBlock], loaded[kMaxTapeInputs][kBlock];
    for (std::size_t k = 0; k < tape_.inputs; ++k)
      if (!IsPeriodic(k)) LoadInput(k, at[k], walk_.strides[0][k] == 0 ? 1 : n, loaded[k]);
    const auto find = [&](const Operand& operand) -> const float* {
      if (operand.block >= 0) return blocks[operand.block];
      const auto k = static_cast<std::size_t>(operand.input);
      if (IsPeriodic(k)) return rows[static_cast<std::size_t>(walk_.periodic[k])];
      return inputs_[k] == nullptr ? loaded[k] : inputs_[k] + at[k];
    };
    const auto repeats = [&](const Operand& operand) {
      return operand.block < 0 && walk_.strides[0][static_cast<std::size_t>(operand.input)] == 0;
    };
    for (const Step& step : tape_.steps) {
      float* to = step.block < 0 ? y : blocks[step.block];
      const float* x = find(step.x);
      const bool repeats_x = repeats(step.x);
      if (step.unary != nullptr) {
        step.unary(x, to, repeats_x ? 1 : n, step.a, step.b);
        if (repeats_x) std::fill_n(to + 1, n - 1, *to);
        continue;
      }
      const bool repeats_y = repeats(step.y);
      if (repeats_x && repeats_y) {
        step.loops.both(x, find(step.y), to, 1);
        std::fill_n(to + 1, n - 1, *to);
        continue;
      }
      const auto loop = repeats_y ? step.loops.repeated_y : (repeats_x ? step.loops.repeated_x : step.loops.both);
      loop(x, find(step.y), to, n);
    }
  }

  const Tape& tape_;
  TapeWalk walk_;
  std::array<const float*, kMaxTapeInputs> inputs_ = {};
  std::array<const std::uint8_t*, kMaxTapeInputs> bytes_ = {};  // of 8-bit inputs
  std::array<bool, kMaxTapeInputs> is_signed_ = {};
  std::array<const void*, kMaxTapeInputs> halves_ = {};  // of float16 and bfloat16 inputs
  std::array<kernels::ToFloatsFn*, kMaxTapeInputs> widen_ = {};
  float* output_ = nullptr;
  void* output_halves_ = nullptr;
  kernels::FromFloatsFn* narrow_ = nullptr;
  std::uint8_t* output_bytes_ = nullptr;
  bool streamed_ = false;
};

void RunTape(KernelContext& c) {
  const std::int64_t count = c.Output(0).count;
  if (count == 0) return;
  const TapeRunner runner(c, c.state<Tape>());
  c.parallel().For(count, kGrain, [&](std::int64_t begin, std::int64_t end) { runner.Run(begin, end); });
}

// Gives every result a block that is free by then.
void PlaceResults(const PrepareContext& c, const std::vector<std::int64_t>& operands, Tape* tape) {
  const std::size_t count = tape->steps.size();
  std::vector<std::size_t> last(count, 0);
  const auto source = [&](std::int64_t operand) { return static_cast<std::size_t>(-1 - operand); };
  for (std::size_t i = 0; i < count; ++i)
    for (const std::size_t side : {0u, 1u})
      if (const std::int64_t operand = operands[2 * i + side]; operand < 0) last[source(operand)] = i;
  std::array<std::size_t, kMaxResults> free_from = {};  // the step behind which a block is free
  for (std::size_t i = 0; i < count; ++i) {
    Step& step = tape->steps[i];
    const auto place = [&](std::int64_t operand) {
      return operand < 0 ? Operand{-1, tape->steps[source(operand)].block} : Operand{static_cast<int>(operand), -1};
    };
    step.x = place(operands[2 * i]);
    step.y = place(operands[2 * i + 1]);
    if (i + 1 == count) break;
    for (int block = 0; block < kMaxResults && step.block < 0; ++block) {
      if (free_from[static_cast<std::size_t>(block)] > i) continue;
      step.block = block;
      free_from[static_cast<std::size_t>(block)] = last[i];  // its last reader may overwrite it: all are elementwise
    }
    if (step.block < 0) c.Unsupported("more than " + std::to_string(kMaxResults) + " results at once");
  }
}

}  // namespace

// Scales and zero points of 8-bit inputs and of the result.
static void ReadQuantization(const PrepareContext& c, Tape* tape) {
  tape->input_scales = c.Floats("input_scales");
  tape->input_zeros = c.Floats("input_zeros");
  for (std::size_t k = 0; k < tape->inputs; ++k) {
    const DType dtype = c.InputDType(k);
    if (dtype == DType::kFloat || IsHalf(dtype)) continue;
    if (dtype != DType::kInt8 && dtype != DType::kUInt8) c.Unsupported(c.InputText(k), dtype);
    if (tape->input_scales.size() != tape->inputs || tape->input_zeros.size() != tape->inputs)
      c.Fail(Code::kInvalidArgument, "expected ", tape->inputs, " input_scales and input_zeros, found ",
             tape->input_scales.size(), " and ", tape->input_zeros.size());
  }
  tape->to = c.DTypeAttribute("to", DType::kFloat);
  if (tape->to != DType::kFloat && !IsHalf(tape->to) && tape->to != DType::kInt8 && tape->to != DType::kUInt8)
    c.Unsupported("an output", tape->to);
  tape->output_scale = c.Float("output_scale", 1);
  tape->output_zero = c.Float("output_zero", 0);
  if (tape->to != DType::kInt8 && tape->to != DType::kUInt8) return;
  const float low = tape->to == DType::kInt8 ? -128.0f : 0.0f;
  if (!(tape->output_zero >= low && tape->output_zero <= low + 255))
    c.Fail(Code::kInvalidArgument, "attribute 'output_zero': expected ", low, " to ", low + 255, ", found ",
           tape->output_zero);
}

void InferFusedElementwise(InferContext& c) {
  const DType to = c.DTypeAttribute("to", DType::kFloat);
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < c.InputCount(); ++i) {
    if (!c.HasRank(i)) return c.SetOutput(0, to);
    dims = i == 0 ? c.InputDims(0) : BroadcastDims(c, dims, c.InputDims(i));
  }
  c.SetOutput(0, to, std::move(dims));
}

Prepared PrepareFusedElementwise(PrepareContext& c) {
  const std::vector<std::string> names = c.Strings("steps");
  const std::vector<std::int64_t> operands = c.Ints("operands");
  const std::vector<float> parameters = c.Floats("parameters");
  if (names.empty() || operands.size() != 2 * names.size() || parameters.size() != 2 * names.size()) {
    c.Fail(Code::kInvalidArgument, "expected steps with two operands and two parameters each, found ", names.size(),
           ", ", operands.size(), " and ", parameters.size());
  }
  if (c.InputCount() > kMaxTapeInputs) c.Unsupported("more than " + std::to_string(kMaxTapeInputs) + " inputs");
  Tape tape;
  tape.inputs = c.InputCount();
  ReadQuantization(c, &tape);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::optional<Function> function = FindFunction(names[i]);
    kernels::UnaryF32Fn* const quantizing = QuantizingFunction(names[i]);
    if (!function && quantizing == nullptr)
      c.Fail(Code::kNotImplemented, "step ", i, ": expected a known function, found '", names[i], "'");
    for (const std::size_t side : {0u, 1u}) {
      const std::int64_t operand = operands[2 * i + side];
      if (operand >= static_cast<std::int64_t>(tape.inputs) || -1 - operand >= static_cast<std::int64_t>(i)) {
        c.Fail(Code::kInvalidArgument, "step ", i, ": expected an input or an earlier step, found operand ", operand);
      }
    }
    Step step;
    if (quantizing != nullptr) {
      step.unary = quantizing;
    } else if (function->binary) {
      step.loops = kernels::Binary(function->kind, DType::kFloat);
    } else {
      step.unary = kernels::UnaryF32(function->unary);
    }
    step.a = parameters[2 * i];
    step.b = parameters[2 * i + 1];
    tape.steps.push_back(step);
  }
  PlaceResults(c, operands, &tape);
  return WithState(RunTape, std::move(tape));
}

}  // namespace sardonyx::ops
