// ops/ml_features.cpp - ai.onnx.ml: ArrayFeatureExtractor, Binarizer, FeatureVectorizer, Imputer, LabelEncoder,
// Normalizer, Scaler.
#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>

#include "kernels/copy/strided_copy.h"
#include "kernels/elementwise/convert.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::string_view kMl = "ai.onnx.ml";
constexpr DTypeSet kFourNumbers = {DType::kFloat, DType::kDouble, DType::kInt64, DType::kInt32};

double NumberAt(const TensorRef& t, std::int64_t i) {
  double value = 0;
  kernels::ToDoubles(t.dtype)(t.data, i, 1, &value);
  return value;
}

void InferFloatsLikeInput(InferContext& c) {
  if (!c.HasRank(0)) return c.SetOutput(0, DType::kFloat);
  c.SetOutput(0, DType::kFloat, c.InputDims(0));
}

// ---- ArrayFeatureExtractor: columns of the last dimension

void InferExtractor(InferContext& c) {
  if (!c.HasRank(0) || !c.HasRank(1)) return c.SetOutput(0, c.InputDType(0));
  std::vector<Dim> dims = c.InputDims(0);
  Dim count(1);
  for (const Dim& d : c.InputDims(1)) count = count * d;
  if (dims.size() <= 1) {
    dims = {Dim(1), count};
  } else {
    dims.back() = count;
  }
  c.SetOutput(0, c.InputDType(0), std::move(dims));
}

void RunExtractor(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const TensorRef& columns = c.Input(1);
  if (x.rank() == 0) Fail(Code::kInvalidArgument, "expected an input of rank 1 or more, found a scalar");
  Shape shape(x.shape);
  if (x.rank() == 1) shape = Shape{1, 1};
  shape[shape.size() - 1] = columns.count;
  const TensorRef& y = c.Output(0, shape);
  const std::int64_t width = x.shape.back(), rows = ElementCount(x.shape, 0, x.rank() - 1);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t k = 0; k < columns.count; ++k) {
      const std::int64_t column = IntAt(columns, k);
      if (column < 0 || column >= width)
        Fail(Code::kInvalidArgument, "index ", column, " is outside of [0, ", width - 1, "]");
      kernels::CopyElements(x.dtype, x.data, r * width + column, y.data, r * columns.count + k, 1);
    }
  }
}

Prepared PrepareExtractor(PrepareContext&) { return {RunExtractor, nullptr}; }

// ---- Binarizer

struct BinarizerState {
  float threshold;
};

void RunBinarizer(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const TensorRef& y = c.Output(0, x.shape);
  const auto threshold = static_cast<double>(c.state<BinarizerState>().threshold);
  for (std::int64_t i = 0; i < x.count; ++i) {
    const double value = NumberAt(x, i) > threshold ? 1 : 0;
    kernels::FromDoubles(y.dtype)(&value, 1, y.data, i);
  }
}

Prepared PrepareBinarizer(PrepareContext& c) {
  return WithState(RunBinarizer, BinarizerState{c.Float("threshold", 0)});
}

// ---- Scaler: (x - offset) * scale, one of each or one per feature (the last dimension)

struct ScalerState {
  std::vector<float> offset, scale;
};

void RunScaler(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const ScalerState& state = c.state<ScalerState>();
  const std::int64_t width = x.rank() == 0 ? 1 : x.shape.back();
  const auto fits = [&](const std::vector<float>& v) {
    return v.size() == 1 || static_cast<std::int64_t>(v.size()) == width;
  };
  if (!fits(state.offset) || !fits(state.scale)) {
    Fail(Code::kInvalidArgument, "expected 1 or ", width, " offsets and scales, found ", state.offset.size(), " and ",
         state.scale.size());
  }
  const TensorRef& y = c.Output(0, x.shape);
  for (std::int64_t i = 0; i < x.count; ++i) {
    const auto k = static_cast<std::size_t>(i % width);
    const double offset = state.offset[state.offset.size() == 1 ? 0 : k],
                 scale = state.scale[state.scale.size() == 1 ? 0 : k];
    y.As<float>()[i] = static_cast<float>((NumberAt(x, i) - offset) * scale);
  }
}

Prepared PrepareScaler(PrepareContext& c) {
  ScalerState state{c.Floats("offset"), c.Floats("scale")};
  if (state.offset.empty()) state.offset = {0};
  if (state.scale.empty()) state.scale = {1};
  return WithState(RunScaler, std::move(state));
}

// ---- Normalizer: each row of [N, C] or [C] divided by its norm

enum class Norm { kMax, kL1, kL2 };
struct NormalizerState {
  Norm norm;
};

void RunNormalizer(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const TensorRef& y = c.Output(0, x.shape);
  const Norm norm = c.state<NormalizerState>().norm;
  const std::int64_t width = x.rank() == 0 ? 1 : x.shape.back();
  for (std::int64_t row = 0; row < (width == 0 ? 0 : x.count / width); ++row) {
    double sum = 0, most = 0;
    for (std::int64_t k = 0; k < width; ++k) {
      const double value = NumberAt(x, row * width + k);
      sum += norm == Norm::kL1 ? std::abs(value) : value * value;
      most = k == 0 ? value : std::max(most, value);
    }
    double divisor = norm == Norm::kMax ? most : norm == Norm::kL1 ? sum : std::sqrt(sum);
    if (divisor == 0) divisor = 1;
    for (std::int64_t k = 0; k < width; ++k) {
      y.As<float>()[row * width + k] = static_cast<float>(NumberAt(x, row * width + k) / divisor);
    }
  }
}

Prepared PrepareNormalizer(PrepareContext& c) {
  const std::string norm = c.String("norm", "MAX");
  if (norm == "MAX") return WithState(RunNormalizer, NormalizerState{Norm::kMax});
  if (norm == "L1") return WithState(RunNormalizer, NormalizerState{Norm::kL1});
  if (norm == "L2") return WithState(RunNormalizer, NormalizerState{Norm::kL2});
  c.Fail(Code::kInvalidGraph, "attribute 'norm': expected MAX, L1 or L2, found '", norm, "'");
}

// ---- Imputer: one value takes the place of NaN or of a given number

struct ImputerState {
  std::vector<double> imputed;  // one, or one per feature
  double replaced;
};

void RunImputer(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const ImputerState& state = c.state<ImputerState>();
  const std::int64_t width = x.rank() == 0 ? 1 : x.shape.back();
  if (state.imputed.size() != 1 && static_cast<std::int64_t>(state.imputed.size()) != width) {
    Fail(Code::kInvalidArgument, "expected 1 or ", width, " imputed values, found ", state.imputed.size());
  }
  const TensorRef& y = c.Output(0, x.shape);
  for (std::int64_t i = 0; i < x.count; ++i) {
    double value = NumberAt(x, i);
    if (value == state.replaced || (std::isnan(value) && std::isnan(state.replaced))) {
      value = state.imputed[state.imputed.size() == 1 ? 0 : static_cast<std::size_t>(i % width)];
      kernels::FromDoubles(y.dtype)(&value, 1, y.data, i);
    } else {
      kernels::CopyElements(x.dtype, x.data, i, y.data, i, 1);
    }
  }
}

Prepared PrepareImputer(PrepareContext& c) {
  ImputerState state;
  if (IsInteger(c.InputDType(0))) {
    for (const std::int64_t v : c.Ints("imputed_value_int64s")) state.imputed.push_back(static_cast<double>(v));
    state.replaced = static_cast<double>(c.Int("replaced_value_int64", 0));
  } else {
    for (const float v : c.Floats("imputed_value_floats")) state.imputed.push_back(static_cast<double>(v));
    state.replaced = static_cast<double>(c.Float("replaced_value_float", 0));
  }
  if (state.imputed.empty()) c.Fail(Code::kInvalidGraph, "expected imputed values of the input's type, found none");
  return WithState(RunImputer, std::move(state));
}

// ---- FeatureVectorizer: the inputs side by side, as floats

void InferVectorizer(InferContext& c) {
  Dim rows, columns(0);
  for (std::size_t i = 0; i < c.InputCount(); ++i) {
    const bool ranked = c.HasRank(i) && c.Rank(i) >= 1;
    columns = ranked ? columns + c.InputDims(i).back() : Dim();
    if (ranked) rows = c.Rank(i) == 1 ? Dim(1) : c.InputDims(i)[0];
  }
  c.SetOutput(0, DType::kFloat, {rows, columns});
}

void RunVectorizer(KernelContext& c) {
  const auto rows_of = [&](std::size_t i) { return c.Input(i).rank() < 2 ? 1 : c.Input(i).shape[0]; };
  const std::int64_t rows = rows_of(0);
  std::int64_t columns = 0;
  for (std::size_t i = 0; i < c.InputCount(); ++i) {
    if (rows_of(i) != rows || c.Input(i).rank() > 2) {
      Fail(Code::kInvalidArgument, "expected inputs of ", rows, " rows, found ", ToText(c.Input(i).shape), " in input ",
           i);
    }
    columns += rows == 0 ? 0 : c.Input(i).count / rows;
  }
  const std::int64_t shape[] = {rows, columns};
  const TensorRef& y = c.Output(0, shape);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < c.InputCount() && rows > 0; ++i) {
    const TensorRef& x = c.Input(i);
    const std::int64_t width = x.count / rows;
    for (std::int64_t row = 0; row < rows; ++row) {
      kernels::ToFloats(x.dtype)(x.data, row * width, static_cast<std::size_t>(width),
                                 y.As<float>() + row * columns + at);
    }
    at += width;
  }
}

Prepared PrepareVectorizer(PrepareContext&) { return {RunVectorizer, nullptr}; }

// ---- LabelEncoder

// The numbers or strings of keys or values: `prefix`_tensor, _strings, _int64s or _floats.
Tensor ReadList(const AttributeReader& c, const std::string& prefix) {
  if (const Tensor* tensor = c.TensorAttribute(prefix + "_tensor")) return *tensor;
  if (c.Has(prefix + "_strings")) return Tensor::Vector<std::string>(c.Strings(prefix + "_strings"));
  if (c.Has(prefix + "_int64s")) return Tensor::Vector<std::int64_t>(c.Ints(prefix + "_int64s"));
  if (c.Has(prefix + "_floats")) return Tensor::Vector<float>(c.Floats(prefix + "_floats"));
  c.Fail(Code::kInvalidGraph, "expected ", prefix, "_tensor, ", prefix, "_strings, ", prefix, "_int64s or ", prefix,
         "_floats");
}

// What takes the place of an unknown key, of the type of the values.
Tensor ReadDefault(const AttributeReader& c, DType dtype) {
  if (const Tensor* tensor = c.TensorAttribute("default_tensor")) return *tensor;
  if (dtype == DType::kString) return Tensor::Scalar<std::string>(c.String("default_string", "_Unused"));
  Tensor value(dtype, Shape{});
  const double number = dtype == DType::kFloat || dtype == DType::kDouble
                            ? static_cast<double>(c.Float("default_float", -0.0f))
                            : static_cast<double>(c.Int("default_int64", -1));
  kernels::FromDoubles(dtype)(&number, 1, value.raw(), 0);
  return value;
}

struct EncoderState {
  std::unordered_map<std::string, std::int64_t> words;
  std::unordered_map<std::uint64_t, std::int64_t> numbers;  // by KeyOf
  Tensor values, otherwise;
};

// Equal numbers have equal keys; NaN equals NaN.
std::uint64_t KeyOf(const TensorRef& t, std::int64_t i) {
  if (IsInteger(t.dtype)) return static_cast<std::uint64_t>(IntAt(t, i));
  const double value = NumberAt(t, i);
  return value != value ? ~std::uint64_t{0} : std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value);
}

EncoderState ReadEncoder(const AttributeReader& c, DType input) {
  EncoderState state;
  Tensor keys;
  if (c.Has("classes_strings")) {  // version 1: strings to their indices, and back
    const std::vector<std::string> words = c.Strings("classes_strings");
    keys = Tensor(DType::kInt64, Shape{static_cast<std::int64_t>(words.size())});
    for (std::size_t i = 0; i < words.size(); ++i) keys.data<std::int64_t>()[i] = static_cast<std::int64_t>(i);
    state.values = Tensor::Vector<std::string>(words);
    if (input == DType::kString) std::swap(keys, state.values);
  } else {
    keys = ReadList(c, "keys");
    state.values = ReadList(c, "values");
  }
  if (keys.count() != state.values.count()) {
    c.Fail(Code::kInvalidGraph, "expected as many values as keys, found ", state.values.count(), " and ", keys.count());
  }
  state.otherwise = ReadDefault(c, state.values.dtype());
  if (state.otherwise.dtype() != state.values.dtype() || state.otherwise.count() != 1) {
    c.Fail(Code::kInvalidGraph, "expected a default of one ", Name(state.values.dtype()), ", found ",
           Name(state.otherwise.dtype()), ToText(state.otherwise.shape()));
  }
  if (input != DType::kUndefined && keys.dtype() != input) {
    c.Fail(Code::kInvalidGraph, "expected keys of the input's type, ", Name(input), ", found ", Name(keys.dtype()));
  }
  const TensorRef view{keys.dtype(), keys.raw(), keys.shape(), keys.count()};
  for (std::int64_t i = 0; i < keys.count(); ++i) {
    if (keys.dtype() == DType::kString) {
      state.words.emplace(keys.data<std::string>()[i], i);
    } else {
      state.numbers.emplace(KeyOf(view, i), i);
    }
  }
  return state;
}

void InferEncoder(InferContext& c) {
  const DType dtype = ReadEncoder(c, c.InputDType(0)).values.dtype();
  if (!c.HasRank(0)) return c.SetOutput(0, dtype);
  c.SetOutput(0, dtype, c.InputDims(0));
}

void RunEncoder(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const EncoderState& state = c.state<EncoderState>();
  const TensorRef& y = c.Output(0, x.shape);
  for (std::int64_t i = 0; i < x.count; ++i) {
    std::int64_t found = -1;
    if (x.dtype == DType::kString) {
      const auto at = state.words.find(x.As<std::string>()[i]);
      if (at != state.words.end()) found = at->second;
    } else {
      const auto at = state.numbers.find(KeyOf(x, i));
      if (at != state.numbers.end()) found = at->second;
    }
    const Tensor& source = found < 0 ? state.otherwise : state.values;
    kernels::CopyElements(y.dtype, source.raw(), std::max<std::int64_t>(found, 0), y.data, i, 1);
  }
}

Prepared PrepareEncoder(PrepareContext& c) { return WithState(RunEncoder, ReadEncoder(c, c.InputDType(0))); }

constexpr OpDef kMlFeaturesOps[] = {
    {.domain = kMl,
     .name = "ArrayFeatureExtractor",
     .since = {1},
     .infer = InferExtractor,
     .prepare = PrepareExtractor},
    {.domain = kMl,
     .name = "Binarizer",
     .since = {1},
     .types = kFourNumbers,
     .infer = InferSameAsInput,
     .prepare = PrepareBinarizer},
    {.domain = kMl,
     .name = "FeatureVectorizer",
     .since = {1},
     .types = kFourNumbers,
     .infer = InferVectorizer,
     .prepare = PrepareVectorizer},
    {.domain = kMl,
     .name = "Imputer",
     .since = {1},
     .types = kFourNumbers,
     .infer = InferSameAsInput,
     .prepare = PrepareImputer},
    {.domain = kMl, .name = "LabelEncoder", .since = {1, 2, 4}, .infer = InferEncoder, .prepare = PrepareEncoder},
    {.domain = kMl,
     .name = "Normalizer",
     .since = {1},
     .types = kFourNumbers,
     .infer = InferFloatsLikeInput,
     .prepare = PrepareNormalizer},
    {.domain = kMl,
     .name = "Scaler",
     .since = {1},
     .types = kFourNumbers,
     .infer = InferFloatsLikeInput,
     .prepare = PrepareScaler},
};

}  // namespace

std::span<const OpDef> MlFeaturesOps() { return kMlFeaturesOps; }

}  // namespace sardonyx::ops
