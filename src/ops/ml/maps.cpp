// ops/ml/maps.cpp - ai.onnx.ml: CastMap, DictVectorizer and ZipMap, the operators that read or make maps.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/ml/scores.h"
#include "ops/op_def.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::string_view kMl = "ai.onnx.ml";

// The element type of a map's values; kUndefined if the type is not known.
DType ValueDType(const Type& type) {
  return type.kind == TypeKind::kMap && type.element != nullptr ? type.element->dtype : DType::kUndefined;
}

// Kept alive by the caller, so that the map may be read.
Value MapInput(KernelContext& c) {
  Value value = c.HasInput(0) ? c.InputValue(0) : Value();
  if (!value.is_map()) Fail(Code::kInvalidArgument, "expected a map, found ", value.KindName());
  return value;
}

// ---- CastMap: the values of a map in the order of its keys, or at the places that they name

enum class CastTo : std::uint8_t { kFloat, kString, kInt64 };

CastTo ReadCast(const AttributeReader& c) {
  static constexpr std::string_view kTexts[] = {"TO_FLOAT", "TO_STRING", "TO_INT64"};
  return static_cast<CastTo>(OneOf(c, "cast_to", c.String("cast_to", "TO_FLOAT"), kTexts));
}

bool IsSparse(const AttributeReader& c) {
  static constexpr std::string_view kTexts[] = {"DENSE", "SPARSE"};
  return OneOf(c, "map_form", c.String("map_form", "DENSE"), kTexts) == 1;
}

DType CastDType(CastTo to) {
  return to == CastTo::kFloat ? DType::kFloat : to == CastTo::kInt64 ? DType::kInt64 : DType::kString;
}

struct CastMapState {
  CastTo to;
  bool sparse;
  std::int64_t size;  // sparse: columns
};

void InferCastMap(InferContext& c) {
  c.SetOutput(0, CastDType(ReadCast(c)), {Dim(1), IsSparse(c) ? Dim(c.Int("max_map", 1)) : Dim()});
}

// The number that `text` begins with after white space, as ONNX Runtime reads it (by std::stof and std::stoll).
template <typename T>
T Parse(const std::string& text) {
  std::size_t at = text.find_first_not_of(" \t\n\v\f\r");
  if (at != std::string::npos && text[at] == '+') ++at;
  T value{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data() + std::min(at, text.size()), end, value);
  if (result.ec != std::errc())
    Fail(Code::kInvalidArgument, "expected a value that begins with a number of the output's type, found '", text, "'");
  return value;
}

std::int64_t Truncated(float x) {
  if (!(x >= -0x1p63f && x < 0x1p63f)) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(x);
}

void CastOne(const Tensor& values, std::int64_t i, const OutputRef& y, std::int64_t at) {
  const bool words = values.dtype() == DType::kString;
  switch (y.dtype) {
    case DType::kFloat:
      y.As<float>()[at] = words ? Parse<float>(values.data<std::string>()[i]) : values.data<float>()[i];
      break;
    case DType::kInt64:
      y.As<std::int64_t>()[at] =
          words ? Parse<std::int64_t>(values.data<std::string>()[i]) : Truncated(values.data<float>()[i]);
      break;
    default:
      y.As<std::string>()[at] = words ? values.data<std::string>()[i] : std::to_string(values.data<float>()[i]);
  }
}

void RunCastMap(KernelContext& c) {
  const CastMapState& state = c.state<CastMapState>();
  const Value input = MapInput(c);
  const Map& map = input.map();
  if (map.keys.dtype() != DType::kInt64 ||
      (map.values.dtype() != DType::kFloat && map.values.dtype() != DType::kString)) {
    Fail(Code::kInvalidArgument, "expected a map from int64 to float or string, found one from ",
         Name(map.keys.dtype()), " to ", Name(map.values.dtype()));
  }
  const std::int64_t count = map.keys.count();
  const std::int64_t shape[] = {1, state.sparse ? state.size : count};
  const OutputRef y = c.Output(0, shape);
  const std::int64_t* keys = map.keys.data<std::int64_t>();
  if (state.sparse && count > 0 && keys[0] < 0)
    Fail(Code::kInvalidArgument, "expected keys of 0 or more, found ", keys[0]);
  if (!state.sparse) {
    for (std::int64_t i = 0; i < count; ++i) CastOne(map.values, i, y, i);
    return;
  }
  for (std::int64_t at = 0, i = 0; at < state.size; ++at) {
    if (i < count && keys[i] == at) {
      CastOne(map.values, i++, y, at);
    } else if (y.dtype == DType::kFloat) {
      y.As<float>()[at] = 0;
    } else if (y.dtype == DType::kInt64) {
      y.As<std::int64_t>()[at] = 0;
    } else {
      y.As<std::string>()[at] = "0.f";  // ONNX Runtime's text for a missing value
    }
  }
}

Prepared PrepareCastMap(PrepareContext& c) {
  const CastMapState state{ReadCast(c), IsSparse(c), c.Int("max_map", 1)};
  if (state.sparse && state.size < 1)
    c.Fail(Code::kInvalidGraph, "attribute 'max_map': expected 1 or more, found ", state.size);
  return WithState(RunCastMap, state);
}

// ---- DictVectorizer: the values of the keys in the vocabulary, 0 or "" for those that are not there

struct VocabularyState {
  std::vector<std::string> words;
  std::vector<std::int64_t> numbers;
};

VocabularyState ReadVocabulary(const AttributeReader& c) {
  VocabularyState state{c.Strings("string_vocabulary"), c.Ints("int64_vocabulary")};
  if (state.words.empty() == state.numbers.empty()) {
    c.Fail(Code::kInvalidGraph, "expected a vocabulary in one of 'string_vocabulary' and 'int64_vocabulary', found ",
           state.words.size(), " and ", state.numbers.size());
  }
  return state;
}

void InferVectorizer(InferContext& c) {
  const VocabularyState state = ReadVocabulary(c);
  const DType dtype = ValueDType(c.InputType(0));
  if (dtype == DType::kUndefined) return;
  c.SetOutput(0, dtype, {Dim(1), Dim(static_cast<std::int64_t>(state.words.size() + state.numbers.size()))});
}

template <typename Key, typename T>
void Vectorize(const Map& map, const std::vector<Key>& vocabulary, T* y) {
  const std::span<const Key> keys = map.keys.span<Key>();
  for (const Key& key : vocabulary) {
    const auto found = std::lower_bound(keys.begin(), keys.end(), key);
    *y++ = found != keys.end() && *found == key ? map.values.data<T>()[found - keys.begin()] : T{};
  }
}

void RunVectorizer(KernelContext& c) {
  const VocabularyState& state = c.state<VocabularyState>();
  const Value input = MapInput(c);
  const Map& map = input.map();
  const DType expected = state.words.empty() ? DType::kInt64 : DType::kString;
  if (map.keys.dtype() != expected) {
    Fail(Code::kInvalidArgument, "expected a map with keys of the vocabulary's type, ", Name(expected), ", found ",
         Name(map.keys.dtype()));
  }
  const std::int64_t shape[] = {1, static_cast<std::int64_t>(state.words.size() + state.numbers.size())};
  const OutputRef y = c.Output(0, shape, map.values.dtype());
  const bool known = VisitDType<float, double, std::int64_t, std::string>(map.values.dtype(), [&]<typename T>() {
    if (state.words.empty()) {
      Vectorize(map, state.numbers, y.As<T>());
    } else {
      Vectorize(map, state.words, y.As<T>());
    }
  });
  if (!known)
    Fail(Code::kNotImplemented, "a map to ", Name(map.values.dtype()),
         " is not implemented in DictVectorizer version 1");
}

Prepared PrepareVectorizer(PrepareContext& c) { return WithState(RunVectorizer, ReadVocabulary(c)); }

// ---- ZipMap: each row of scores [N, C] or [C] as a map from its label

struct ZipState {
  Tensor keys;                      // ascending, each once
  std::vector<std::int64_t> order;  // the column of each key
  std::int64_t columns = 0;
};

void InferZipMap(InferContext& c) {
  const bool words = c.Has("classlabels_strings");
  c.SetOutputType(0, Type::SequenceOf(Type::MapOf(words ? DType::kString : DType::kInt64,
                                                  Type::TensorOf(DType::kFloat, std::vector<Dim>{}))));
}

template <typename Key>
ZipState MakeZip(const std::vector<Key>& labels) {
  ZipState state;
  state.columns = static_cast<std::int64_t>(labels.size());
  std::vector<std::int64_t> order(labels.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return labels[a] < labels[b]; });
  std::vector<Key> keys;
  for (const std::int64_t column : order) {
    if (!keys.empty() && keys.back() == labels[column]) {
      state.order.back() = column;  // of equal labels the last one counts
    } else {
      keys.push_back(labels[column]);
      state.order.push_back(column);
    }
  }
  state.keys = Tensor::Vector<Key>(keys);
  return state;
}

void RunZipMap(KernelContext& c) {
  const ZipState& state = c.state<ZipState>();
  const TensorRef& x = c.Input(0);
  const RowsOf rows(x);
  if (rows.width != state.columns)
    Fail(Code::kInvalidArgument, "expected ", state.columns, " columns, as there are labels, found ", ToText(x.shape));
  const auto count = static_cast<std::int64_t>(state.order.size());
  // All maps share one block of values and the keys.
  Tensor all(DType::kFloat, Shape{rows.rows * count});
  float* to = all.data<float>();
  const float* from = x.As<float>();
  Sequence sequence;
  sequence.items.reserve(static_cast<std::size_t>(rows.rows));
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    for (std::int64_t k = 0; k < count; ++k) to[row * count + k] = from[row * state.columns + state.order[k]];
    const auto offset = static_cast<std::size_t>(row * count) * sizeof(float);
    sequence.items.emplace_back(Map{state.keys, Tensor(DType::kFloat, Shape{count}, all.buffer(), offset)});
  }
  c.SetOutput(0, std::move(sequence));
}

Prepared PrepareZipMap(PrepareContext& c) {
  const std::vector<std::string> words = c.Strings("classlabels_strings");
  const std::vector<std::int64_t> numbers = c.Ints("classlabels_int64s");
  if (words.empty() == numbers.empty()) {
    c.Fail(Code::kInvalidGraph, "expected labels in one of 'classlabels_strings' and 'classlabels_int64s', found ",
           words.size(), " and ", numbers.size());
  }
  return WithState(RunZipMap, words.empty() ? MakeZip(numbers) : MakeZip(words));
}

constexpr OpDef kMlMapsOps[] = {
    {.domain = kMl, .name = "CastMap", .since = {1}, .infer = InferCastMap, .prepare = PrepareCastMap},
    {.domain = kMl, .name = "DictVectorizer", .since = {1}, .infer = InferVectorizer, .prepare = PrepareVectorizer},
    {.domain = kMl,
     .name = "ZipMap",
     .since = {1},
     .types = {DType::kFloat},
     .infer = InferZipMap,
     .prepare = PrepareZipMap},
};

}  // namespace

std::span<const OpDef> MlMapsOps() { return kMlMapsOps; }

}  // namespace sardonyx::ops
