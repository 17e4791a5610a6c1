// ops/generator/constant.cpp - operators that make a tensor from their attributes: Constant, ConstantOfShape, EyeLike.
#include <cstring>

#include "ops/copy_elements.h"
#include "ops/cost_context.h"
#include "ops/infer_context.h"
#include "ops/kernel_context.h"
#include "ops/prepare_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

// ---- Constant

Tensor Dense(const AttributeReader& c, const SparseTensor& sparse) {
  const DType dtype = sparse.values.dtype();
  const int bits = Bits(dtype);
  if (bits < 8) c.Fail(Code::kNotImplemented, "attribute 'sparse_value' is not implemented for type ", Name(dtype));
  const auto size = static_cast<std::size_t>(bits / 8);
  Tensor dense(dtype, sparse.dense_shape);
  if (dense.byte_size() > 0) std::memset(dense.raw(), 0, dense.byte_size());
  const std::size_t rank = dense.shape().rank();
  const bool linear = sparse.indices.shape().rank() == 1;
  const std::int64_t* index = sparse.indices.data<std::int64_t>();
  for (std::int64_t i = 0; i < sparse.values.count(); ++i) {
    std::int64_t at = 0;
    if (linear) {
      at = index[i];
    } else {
      for (std::size_t d = 0; d < rank; ++d)
        at = at * dense.shape()[d] + index[i * static_cast<std::int64_t>(rank) + static_cast<std::int64_t>(d)];
    }
    if (at < 0 || at >= dense.count())
      c.Fail(Code::kInvalidArgument, "attribute 'sparse_value': expected indices in [0, ", dense.count() - 1,
             "], found ", at);
    std::memcpy(static_cast<char*>(dense.raw()) + static_cast<std::size_t>(at) * size,
                static_cast<const char*>(sparse.values.raw()) + static_cast<std::size_t>(i) * size, size);
  }
  return dense;
}

// The tensor of an attribute `name`, if it is one that Constant knows.
Tensor TensorOf(const AttributeReader& c, std::string_view name) {
  if (name == "value" && c.TensorAttribute(name) != nullptr) return *c.TensorAttribute(name);
  if (name == "value_float") return Tensor::Scalar(c.Float(name));
  if (name == "value_floats") return Tensor::Vector<float>(c.Floats(name));
  if (name == "value_int") return Tensor::Scalar(c.Int(name));
  if (name == "value_ints") return Tensor::Vector<std::int64_t>(c.Ints(name));
  if (name == "value_string") return Tensor::Scalar(c.String(name));
  if (name == "value_strings") return Tensor::Vector<std::string>(c.Strings(name));
  const AttributeValue* value = c.node().FindAttribute(name);
  if (name == "sparse_value" && value != nullptr)
    if (const auto* sparse = std::get_if<SparseTensor>(value)) return Dense(c, *sparse);
  return {};
}

Tensor ConstantTensor(const AttributeReader& c) {
  for (const Attribute& attribute : c.node().attributes)
    if (Tensor t = TensorOf(c, attribute.name); t.defined()) return t;
  c.Fail(
      Code::kInvalidGraph,
      "expected one of the attributes value, sparse_value, value_float(s), value_int(s), value_string(s), found none");
}

// The contents of a small integer tensor of rank 0 or 1.
void SetContents(InferContext& c, const Tensor& t) {
  if (t.shape().rank() > 1 || t.count() > 64) return;
  std::vector<Dim> elements;
  VisitDType<std::int32_t, std::int64_t>(t.dtype(), [&]<typename T>() {
    for (const T element : t.span<T>()) elements.emplace_back(element);
    c.SetShapeData(0, elements);
  });
}

void InferConstant(InferContext& c) {
  const Tensor t = ConstantTensor(c);
  c.SetOutputType(0, Type::TensorOf(t.dtype(), t.shape()));
  SetContents(c, t);
}

void RunConstant(KernelContext& c) {
  const auto& t = c.state<Tensor>();
  CopyElements(t.dtype(), t.raw(), c.Output(0).data, t.count(), c.parallel());
}
Prepared PrepareConstant(PrepareContext& c) { return WithState(RunConstant, ConstantTensor(c)); }

// ---- ConstantOfShape

// Float 0 unless the node says otherwise.
Tensor FillValue(const AttributeReader& c) {
  const Tensor* value = c.TensorAttribute("value");
  if (value == nullptr) return Tensor::Scalar(0.0f);
  if (value->count() != 1)
    c.Fail(Code::kInvalidArgument, "attribute 'value': expected a tensor of one element, found ",
           ToText(value->shape()));
  return *value;
}

void InferConstantOfShape(InferContext& c) {
  const Tensor value = FillValue(c);
  const auto dims = c.ShapeData(0);
  if (!dims) return c.SetOutput(0, value.dtype());
  for (const Dim& d : *dims)
    if (d.known() && d.number() < 0)
      c.Fail(Code::kInvalidArgument, c.InputText(0), ": expected dimensions of at least 0, found ", d.number());
  c.SetOutput(0, value.dtype(), *dims);
  if (dims->size() > 1 || (!dims->empty() && !((*dims)[0].known() && (*dims)[0].number() <= 64))) return;
  VisitDType<std::int32_t, std::int64_t>(value.dtype(), [&]<typename T>() {
    const auto count = static_cast<std::size_t>(dims->empty() ? 1 : (*dims)[0].number());
    c.SetShapeData(0, std::vector<Dim>(count, Dim(*value.data<T>())));
  });
}

template <typename T>
void FillWith(const OutputRef& y, const void* value, Parallel& parallel) {
  T element;
  std::memcpy(&element, value, sizeof(T));
  parallel.For(y.count, 1 << 16,
               [&](std::int64_t begin, std::int64_t end) { std::fill(y.As<T>() + begin, y.As<T>() + end, element); });
}

// A packed type: the value in every place of a byte.
void FillPacked(const OutputRef& y, std::uint8_t first, int bits) {
  unsigned byte = first & ((1u << bits) - 1);
  for (int filled = bits; filled < 8; filled *= 2) byte |= byte << filled;
  const std::size_t size = y.byte_size();
  if (size == 0) return;
  std::memset(y.data, static_cast<int>(byte), size);
  const int used = static_cast<int>(y.count * bits % 8);
  if (used != 0) y.As<std::uint8_t>()[size - 1] = static_cast<std::uint8_t>(byte & ((1u << used) - 1));
}

void Fill(const OutputRef& y, const Tensor& value, Parallel& parallel) {
  switch (Bits(y.dtype)) {
    case 8:
      return FillWith<std::uint8_t>(y, value.raw(), parallel);
    case 16:
      return FillWith<std::uint16_t>(y, value.raw(), parallel);
    case 32:
      return FillWith<std::uint32_t>(y, value.raw(), parallel);
    case 64:
      return FillWith<std::uint64_t>(y, value.raw(), parallel);
    case 128:
      return FillWith<std::complex<double>>(y, value.raw(), parallel);
    case 0:
      std::fill_n(y.As<std::string>(), y.count, *value.data<std::string>());
      return;
    default:
      return FillPacked(y, *value.data<std::uint8_t>(), Bits(y.dtype));
  }
}

void RunConstantOfShape(KernelContext& c) {
  const auto& value = c.state<Tensor>();
  // Of any rank, its elements in order, as in ONNX Runtime.
  const TensorRef& dims = c.Input(0);
  const Shape shape(Dims(dims.As<const std::int64_t>(), static_cast<std::size_t>(dims.count)));
  Fill(c.Output(0, shape), value, c.parallel());
}
Prepared PrepareConstantOfShape(PrepareContext& c) { return WithState(RunConstantOfShape, FillValue(c)); }

// ---- EyeLike

void InferEyeLike(InferContext& c) {
  const DType dtype = c.DTypeAttribute("dtype", c.InputDType(0));
  if (!c.HasRank(0)) return c.SetOutput(0, dtype);
  if (c.Rank(0) != 2)
    c.Fail(Code::kInvalidArgument, c.InputText(0), ": expected a 2-D tensor, found ", c.InputType(0).ToText());
  c.SetOutput(0, dtype, c.InputDims(0));
}

struct Eye {
  std::int64_t k;
  std::size_t size;  // bytes of an element
  std::uint8_t one[8];
};

void RunEyeLike(KernelContext& c) {
  const auto& eye = c.state<Eye>();
  const OutputRef y = c.Output(0);
  if (y.count == 0) return;
  std::memset(y.data, 0, y.byte_size());
  for (std::int64_t row = 0; row < y.dim(0); ++row) {
    const std::int64_t column = row + eye.k;
    if (column < 0 || column >= y.dim(1)) continue;
    std::memcpy(y.As<char>() + static_cast<std::size_t>(row * y.dim(1) + column) * eye.size, eye.one, eye.size);
  }
}

Prepared PrepareEyeLike(PrepareContext& c) {
  const DType dtype = c.DTypeAttribute("dtype", c.InputDType(0));
  // Beyond any dimension nothing is left, so far values need not be exact.
  Eye eye = {.k = std::clamp<std::int64_t>(c.Int("k", 0), INT32_MIN, INT32_MAX), .size = 0, .one = {}};
  const bool known =
      VisitDType<float, double, Half, BFloat16, bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                 std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(dtype, [&]<typename T>() {
        const T one = static_cast<T>(1.0f);
        eye.size = sizeof(T);
        std::memcpy(eye.one, &one, sizeof(T));
      });
  if (!known) c.Unsupported("an output", dtype);
  return WithState(RunEyeLike, eye);
}

constexpr OpDef kConstantOps[] = {
    {.name = "Constant",
     .since = {1, 9, 11, 12, 13, 19, 21, 23, 24, 25},
     .infer = InferConstant,
     .prepare = PrepareConstant,
     .cost = CountNothing},
    {.name = "ConstantOfShape",
     .since = {9, 20, 21, 23, 24, 25},
     .types = {DType::kInt64},
     .infer = InferConstantOfShape,
     .prepare = PrepareConstantOfShape,
     .cost = CountNothing,
     .traits = kNoFold},
    {.name = "EyeLike",
     .since = {9, 22},
     .types = kNumbers | DTypeSet{DType::kBool},
     .infer = InferEyeLike,
     .prepare = PrepareEyeLike,
     .cost = CountNothing,
     .traits = kShapeOnly},
};

}  // namespace

std::span<const OpDef> ConstantOps() { return kConstantOps; }

}  // namespace sardonyx::ops
