// ops/ml/categories.cpp - ai.onnx.ml: CategoryMapper and OneHotEncoder.
#include <algorithm>
#include <unordered_map>

#include "kernels/elementwise/convert.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::string_view kMl = "ai.onnx.ml";

// ---- CategoryMapper: strings to integers or back, by two lists of the same length

struct MapperState {
  std::unordered_map<std::string, std::int64_t> numbers;
  std::unordered_map<std::int64_t, std::string> words;
  std::int64_t default_number = -1;
  std::string default_word;
};

void InferMapper(InferContext& c) {
  const DType input = c.InputDType(0);
  const DType output = input == DType::kString ? DType::kInt64 : DType::kString;
  if (input == DType::kUndefined) return;
  if (!c.HasRank(0)) return c.SetOutput(0, output);
  c.SetOutput(0, output, c.InputDims(0));
}

void RunMapper(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const MapperState& state = c.state<MapperState>();
  const OutputRef y = c.Output(0, x.shape);
  for (std::int64_t i = 0; i < x.count; ++i) {
    if (x.dtype == DType::kString) {
      const auto found = state.numbers.find(x.As<std::string>()[i]);
      y.As<std::int64_t>()[i] = found == state.numbers.end() ? state.default_number : found->second;
    } else {
      const auto found = state.words.find(x.As<std::int64_t>()[i]);
      y.As<std::string>()[i] = found == state.words.end() ? state.default_word : found->second;
    }
  }
}

Prepared PrepareMapper(PrepareContext& c) {
  const std::span<const std::string> words = c.StringsView("cats_strings");
  const std::span<const std::int64_t> numbers = c.IntsView("cats_int64s");
  if (words.size() != numbers.size() || words.empty()) {
    c.Fail(Code::kInvalidGraph,
           "expected as many values in 'cats_int64s' as in 'cats_strings', and at least one, found ", numbers.size(),
           " and ", words.size());
  }
  MapperState state;
  state.default_number = c.Int("default_int64", -1);
  state.default_word = c.String("default_string", "_Unused");
  for (std::size_t i = 0; i < words.size(); ++i) {  // the last of equals wins, as in ONNX Runtime
    state.numbers.insert_or_assign(words[i], numbers[i]);
    state.words.insert_or_assign(numbers[i], words[i]);
  }
  return WithState(RunMapper, std::move(state));
}

// ---- OneHotEncoder: y[..., k] = 1 where x is category k

struct OneHotState {
  std::unordered_map<std::string, std::int64_t> words;
  std::unordered_map<std::int64_t, std::int64_t> numbers;
  std::int64_t count = 0;
  bool zeros = true;  // an unknown category is a row of zeros, not an error
};

std::int64_t CategoryCount(const AttributeReader& c) {
  const std::size_t words = c.StringsView("cats_strings").size(), numbers = c.IntsView("cats_int64s").size();
  if ((words == 0) == (numbers == 0)) {
    c.Fail(Code::kInvalidGraph, "expected categories in one of 'cats_strings' and 'cats_int64s', found ", words,
           " and ", numbers);
  }
  return static_cast<std::int64_t>(words + numbers);
}

void InferOneHot(InferContext& c) {
  if (!c.HasRank(0)) return c.SetOutput(0, DType::kFloat);
  std::vector<Dim> dims = c.InputDims(0);
  dims.emplace_back(CategoryCount(c));
  c.SetOutput(0, DType::kFloat, std::move(dims));
}

// The category of element i, -1 if it is none.
std::int64_t CategoryOf(const OneHotState& state, const TensorRef& x, std::int64_t i) {
  if (x.dtype == DType::kString) {
    const auto found = state.words.find(x.As<std::string>()[i]);
    return found == state.words.end() ? -1 : found->second;
  }
  double number = 0;  // floats are truncated to integers; NaN and what is out of range is none
  if (x.dtype == DType::kInt64) {
    const auto found = state.numbers.find(x.As<std::int64_t>()[i]);
    return found == state.numbers.end() ? -1 : found->second;
  }
  kernels::ToDoubles(x.dtype)(x.data, i, 1, &number);
  if (!(number > -0x1p63 && number < 0x1p63)) return -1;
  const auto found = state.numbers.find(static_cast<std::int64_t>(number));
  return found == state.numbers.end() ? -1 : found->second;
}

void RunOneHot(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const OneHotState& state = c.state<OneHotState>();
  Shape shape(x.shape);
  shape.Append(state.count);
  const OutputRef y = c.Output(0, shape);
  std::fill_n(y.As<float>(), y.count, 0.0f);
  for (std::int64_t i = 0; i < x.count; ++i) {
    const std::int64_t category = CategoryOf(state, x, i);
    if (category >= 0) {
      y.As<float>()[i * state.count + category] = 1;
    } else if (!state.zeros) {
      Fail(Code::kInvalidArgument, "expected one of the ", state.count, " categories as element ", i,
           ", because attribute 'zeros' is 0, found another value");
    }
  }
}

Prepared PrepareOneHot(PrepareContext& c) {
  OneHotState state;
  state.count = CategoryCount(c);
  state.zeros = c.Flag("zeros", true);
  const std::span<const std::string> words = c.StringsView("cats_strings");
  const std::span<const std::int64_t> numbers = c.IntsView("cats_int64s");
  if (!words.empty() != (c.InputDType(0) == DType::kString)) {
    c.Fail(Code::kInvalidGraph, "expected categories of the input's kind, found ", words.size(), " strings and ",
           numbers.size(), " integers for an input of ", Name(c.InputDType(0)));
  }
  for (std::size_t i = 0; i < words.size(); ++i) state.words.insert_or_assign(words[i], static_cast<std::int64_t>(i));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    state.numbers.insert_or_assign(numbers[i], static_cast<std::int64_t>(i));
  return WithState(RunOneHot, std::move(state));
}

constexpr OpDef kMlCategoriesOps[] = {
    {.domain = kMl,
     .name = "CategoryMapper",
     .since = {1},
     .types = {DType::kString, DType::kInt64},
     .infer = InferMapper,
     .prepare = PrepareMapper},
    {.domain = kMl,
     .name = "OneHotEncoder",
     .since = {1},
     .types = {DType::kString, DType::kInt64, DType::kInt32, DType::kFloat, DType::kDouble},
     .infer = InferOneHot,
     .prepare = PrepareOneHot},
};

}  // namespace

std::span<const OpDef> MlCategoriesOps() { return kMlCategoriesOps; }

}  // namespace sardonyx::ops
