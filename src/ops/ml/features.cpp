// ops/ml/features.cpp - ai.onnx.ml: ArrayFeatureExtractor, Binarizer, FeatureVectorizer, Imputer, LabelEncoder,
// Normalizer, Scaler; and the row of com.microsoft.CDist.
#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>

#include "kernels/copy/strided_copy.h"
#include "kernels/elementwise/convert.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/integers.h"
#include "ops/kernel_context.h"
#include "ops/ml/distance.h"
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
  const OutputRef y = c.Output(0, shape);
  const std::int64_t width = x.shape.back(), rows = ElementCount(x.shape, 0, x.rank() - 1);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t k = 0; k < columns.count; ++k) {
      const std::int64_t column = IntAt(columns, k);
      if (column < 0 || column >= width)
        Fail(Code::kInvalidArgument, "expected indices in [0, ", width - 1, "], found ", column);
      kernels::CopyElements(x.dtype, x.data, r * width + column, y.data, r * columns.count + k, 1);
    }
  }
}

Prepared PrepareExtractor(PrepareContext&) { return {RunExtractor, nullptr}; }

// ---- Binarizer, Scaler, Normalizer, Imputer: rows of numbers of one type T

constexpr std::int64_t kGrain = 16384;  // elements that are worth a thread

// body(begin, end) over rows of `width` elements.
template <typename Body>
void ForRows(KernelContext& c, std::int64_t rows, std::int64_t width, Body body) {
  c.parallel().For(rows, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, width)), body);
}

// One per feature, or the same for all.
std::vector<float> PerFeature(const std::vector<float>& values, std::int64_t width) {
  return values.size() == 1 ? std::vector<float>(static_cast<std::size_t>(width), values[0]) : values;
}

std::int64_t WidthOf(const TensorRef& x) { return x.rank() == 0 ? 1 : x.shape.back(); }
std::int64_t RowsIn(const TensorRef& x) { return WidthOf(x) == 0 ? 0 : x.count / WidthOf(x); }

// make<T>() with the type of input 0.
template <typename Make>
Prepared ForNumbers(const PrepareContext& c, Make make) {
  Prepared prepared;
  VisitDType<float, double, std::int64_t, std::int32_t>(
      c.InputDType(0), [&]<typename T>() { prepared = make.template operator()<T>(); });
  return prepared;
}

struct BinarizerState {
  float threshold;
};

template <typename T>
void RunBinarizer(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const T* from = x.As<T>();
  T* to = c.Output(0, x.shape).As<T>();
  const auto threshold = static_cast<double>(c.state<BinarizerState>().threshold);
  ForRows(c, x.count, 1, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = static_cast<double>(from[i]) > threshold ? T{1} : T{0};
  });
}

Prepared PrepareBinarizer(PrepareContext& c) {
  BinarizerState state{c.Float("threshold", 0)};
  return ForNumbers(c, [&]<typename T>() { return WithState(RunBinarizer<T>, state); });
}

// ---- Scaler: (x - offset) * scale, one of each or one per feature (the last dimension)

struct ScalerState {
  std::vector<float> offset, scale;  // both of one length: 1 or that of the features
};

template <typename T>
void RunScaler(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const ScalerState& state = c.state<ScalerState>();
  const std::int64_t width = WidthOf(x), count = static_cast<std::int64_t>(state.offset.size());
  if (count != 1 && count != width)
    Fail(Code::kInvalidArgument, "expected 1 or ", width, " offsets and scales, found ", count);
  const T* from = x.As<T>();
  float* to = c.Output(0, x.shape).As<float>();
  const float *offset = state.offset.data(), *scale = state.scale.data();
  ForRows(c, RowsIn(x), width, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin * width; count != 1 && at < end * width; at += width)
      for (std::int64_t k = 0; k < width; ++k) to[at + k] = (static_cast<float>(from[at + k]) - offset[k]) * scale[k];
    for (std::int64_t i = begin * width; count == 1 && i < end * width; ++i)
      to[i] = (static_cast<float>(from[i]) - offset[0]) * scale[0];
  });
}

Prepared PrepareScaler(PrepareContext& c) {
  ScalerState state{c.Floats("offset"), c.Floats("scale")};
  if (state.offset.empty()) state.offset = {0};
  if (state.scale.empty()) state.scale = {1};
  const std::size_t count = std::max(state.offset.size(), state.scale.size());
  if (std::min(state.offset.size(), state.scale.size()) != count &&
      std::min(state.offset.size(), state.scale.size()) != 1) {
    c.Fail(Code::kInvalidGraph, "expected as many values in 'scale' as in 'offset', or one, found ", state.scale.size(),
           " and ", state.offset.size());
  }
  state.offset = PerFeature(state.offset, static_cast<std::int64_t>(count));
  state.scale = PerFeature(state.scale, static_cast<std::int64_t>(count));
  return ForNumbers(c, [&]<typename T>() { return WithState(RunScaler<T>, state); });
}

// ---- Normalizer: each row of [N, C] or [C] divided by its norm

enum class Norm { kMax, kL1, kL2 };
struct NormalizerState {
  Norm norm;
};

// Eight sums side by side: the compiler makes vectors of them, and their rounding errors stay small.
template <typename T, typename Term>
float SumOfTerms(const T* x, std::int64_t n, Term term) {
  constexpr std::int64_t kParts = 8;
  float parts[kParts] = {};
  std::int64_t i = 0;
  for (; i + kParts <= n; i += kParts)
    for (std::int64_t k = 0; k < kParts; ++k) parts[k] += term(static_cast<float>(x[i + k]));
  for (; i < n; ++i) parts[0] += term(static_cast<float>(x[i]));
  return ((parts[0] + parts[4]) + (parts[1] + parts[5])) + ((parts[2] + parts[6]) + (parts[3] + parts[7]));
}

template <typename T>
float NormOf(Norm norm, const T* x, std::int64_t n) {
  if (norm == Norm::kL1) return SumOfTerms(x, n, [](float v) { return std::abs(v); });
  if (norm == Norm::kL2) return std::sqrt(SumOfTerms(x, n, [](float v) { return v * v; }));
  float most = n == 0 ? 0 : static_cast<float>(x[0]);
  for (std::int64_t k = 1; k < n; ++k) most = std::max(most, static_cast<float>(x[k]));
  return most;
}

template <typename T>
void RunNormalizer(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const T* from = x.As<T>();
  float* to = c.Output(0, x.shape).As<float>();
  const Norm norm = c.state<NormalizerState>().norm;
  const std::int64_t width = WidthOf(x);
  ForRows(c, RowsIn(x), width, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const T* in = from + row * width;
      const float divisor = NormOf(norm, in, width);
      for (std::int64_t k = 0; k < width; ++k)
        to[row * width + k] = divisor == 0 ? static_cast<float>(in[k]) : static_cast<float>(in[k]) / divisor;
    }
  });
}

Prepared PrepareNormalizer(PrepareContext& c) {
  const std::string norm = c.String("norm", "MAX");
  if (norm != "MAX" && norm != "L1" && norm != "L2")
    c.Fail(Code::kInvalidGraph, "attribute 'norm': expected MAX, L1 or L2, found '", norm, "'");
  NormalizerState state{norm == "MAX" ? Norm::kMax : norm == "L1" ? Norm::kL1 : Norm::kL2};
  return ForNumbers(c, [&]<typename T>() { return WithState(RunNormalizer<T>, state); });
}

// ---- Imputer: one value takes the place of NaN or of a given number

struct ImputerState {
  std::vector<double> imputed;  // one, or one per feature
  double replaced;
};

template <typename T>
void RunImputer(KernelContext& c) {
  const TensorRef& x = c.Input(0);
  const ImputerState& state = c.state<ImputerState>();
  const std::int64_t width = WidthOf(x);
  if (state.imputed.size() != 1 && static_cast<std::int64_t>(state.imputed.size()) != width) {
    Fail(Code::kInvalidArgument, "expected 1 or ", width, " imputed values, found ", state.imputed.size());
  }
  const T* from = x.As<T>();
  T* to = c.Output(0, x.shape).As<T>();
  const double replaced = state.replaced;
  const bool nan = std::isnan(replaced), same = state.imputed.size() == 1;
  ForRows(c, RowsIn(x), width, [&, from, to](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t k = 0; k < width; ++k) {
        const T value = from[row * width + k];
        const auto number = static_cast<double>(value);
        const bool gone = nan ? number != number : number == replaced;
        to[row * width + k] = gone ? static_cast<T>(state.imputed[same ? 0 : static_cast<std::size_t>(k)]) : value;
      }
    }
  });
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
  return ForNumbers(c, [&]<typename T>() { return WithState(RunImputer<T>, state); });
}

// ---- FeatureVectorizer: the inputs side by side, as floats. With inputdimensions each has as many columns as this
// says: more are left out, and zeros take the place of missing ones, as in ONNX Runtime.

using Columns = std::vector<std::int64_t>;  // of each input; empty: as many as it has

Columns ReadColumns(const AttributeReader& c) {
  Columns columns = c.Ints("inputdimensions");
  if (!columns.empty() && columns.size() != c.InputCount()) {
    c.Fail(Code::kInvalidGraph, "attribute 'inputdimensions': expected ", c.InputCount(), " values, found ",
           columns.size());
  }
  for (const std::int64_t count : columns) {
    constexpr std::int64_t kMost = std::int64_t{1} << 40;  // so that the sum is a number
    if (count < 0 || count > kMost)
      c.Fail(Code::kInvalidArgument, "attribute 'inputdimensions': expected 0 to ", kMost, ", found ", count);
  }
  return columns;
}

void InferVectorizer(InferContext& c) {
  const Columns given = ReadColumns(c);
  Dim rows, columns(0);
  for (std::size_t i = 0; i < c.InputCount(); ++i) {
    const bool ranked = c.HasRank(i) && c.Rank(i) >= 1;
    Dim width = ranked ? c.InputDims(i)[0] : Dim();
    if (ranked) rows = c.Rank(i) == 1 ? Dim(1) : c.InputDims(i)[0];
    for (std::size_t axis = 1; ranked && axis < c.Rank(i); ++axis)
      width = axis == 1 ? c.InputDims(i)[1] : width * c.InputDims(i)[axis];
    columns = columns + (given.empty() ? width : Dim(given[i]));
  }
  c.SetOutput(0, DType::kFloat, {rows, columns});
}

void RunVectorizer(KernelContext& c) {
  const Columns& given = c.state<Columns>();
  const auto rows_of = [&](std::size_t i) { return c.Input(i).rank() < 2 ? 1 : c.Input(i).shape[0]; };
  const std::int64_t rows = rows_of(0);
  const auto width_of = [&](std::size_t i) { return rows == 0 ? 0 : c.Input(i).count / rows; };
  const auto columns_of = [&](std::size_t i) { return given.empty() ? width_of(i) : given[i]; };
  std::int64_t columns = 0;
  for (std::size_t i = 0; i < c.InputCount(); ++i) {
    if (rows_of(i) != rows) {
      Fail(Code::kInvalidArgument, "expected inputs of ", rows, " rows, found ", ToText(c.Input(i).shape), " in input ",
           i);
    }
    columns += columns_of(i);
  }
  const std::int64_t shape[] = {rows, columns};
  const OutputRef y = c.Output(0, shape);
  std::fill_n(y.As<float>(), y.count, 0.0f);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < c.InputCount() && rows > 0; ++i) {
    const TensorRef& x = c.Input(i);
    const auto kept = static_cast<std::size_t>(std::min(width_of(i), columns_of(i)));
    for (std::int64_t row = 0; row < rows; ++row)
      kernels::ToFloats(x.dtype)(x.data, row * width_of(i), kept, y.As<float>() + row * columns + at);
    at += columns_of(i);
  }
}

Prepared PrepareVectorizer(PrepareContext& c) { return WithState(RunVectorizer, ReadColumns(c)); }

// ---- LabelEncoder

// The numbers or strings of keys or values: `prefix`_tensor, _strings, _int64s or _floats.
Tensor ReadList(const AttributeReader& c, const std::string& prefix) {
  if (const Tensor* tensor = c.TensorAttribute(prefix + "_tensor")) return *tensor;
  if (c.Has(prefix + "_strings")) return Tensor::Vector<std::string>(c.Strings(prefix + "_strings"));
  if (c.Has(prefix + "_int64s")) return Tensor::Vector<std::int64_t>(c.Ints(prefix + "_int64s"));
  if (c.Has(prefix + "_floats")) return Tensor::Vector<float>(c.Floats(prefix + "_floats"));
  c.Fail(Code::kInvalidGraph, "expected one of the attributes ", prefix, "_tensor, ", prefix, "_strings, ", prefix,
         "_int64s and ", prefix, "_floats, found none");
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
  const OutputRef y = c.Output(0, x.shape);
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
    {.domain = "com.microsoft",
     .name = "CDist",
     .since = {1},
     .types = {DType::kFloat, DType::kDouble},
     .infer = InferDistance,
     .prepare = PrepareDistance,
     .cost = CountProduct},
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
     .prepare = PrepareScaler,
     .cost = CountTwicePerOutput},
};

}  // namespace

std::span<const OpDef> MlFeaturesOps() { return kMlFeaturesOps; }

}  // namespace sardonyx::ops
