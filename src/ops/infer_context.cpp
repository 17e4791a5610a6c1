// ops/infer_context.cpp - what inference functions share.
#include "ops/infer_context.h"

#include "ops/dim_facts.h"

namespace sardonyx::ops {
namespace {

constexpr std::int64_t kMaxShapeData = 64;

template <typename T>
std::vector<std::int64_t> Widen(const Tensor& t) {
  const auto values = t.span<T>();
  return {values.begin(), values.end()};
}

// Of dimensions that do broadcast.
Dim BroadcastDim(const Dim& x, const Dim& y) {
  if (x.known() && x.number() == 1) return y;
  if (y.known() && y.number() == 1) return x;
  if (SameDim(x, y)) return x;
  if (x.known() && x.number() > 1) return x;  // the symbol must be 1 or this number
  if (y.known() && y.number() > 1) return y;
  return BoundedBroadcast(x, y);
}

}  // namespace

const Type& InferContext::InputType(std::size_t i) const {
  static const Type none;
  return HasInput(i) ? inputs_[i].type : none;
}

DType InferContext::InputDType(std::size_t i) const {
  const Type& type = InputType(i);
  return type.kind == TypeKind::kTensor || type.kind == TypeKind::kSparseTensor ? type.dtype : DType::kUndefined;
}

std::optional<std::vector<std::int64_t>> InferContext::ConstantInts(std::size_t i) const {
  const Tensor* t = Constant(i);
  if (t == nullptr) return std::nullopt;
  if (t->dtype() == DType::kInt64) return Widen<std::int64_t>(*t);
  if (t->dtype() == DType::kInt32) return Widen<std::int32_t>(*t);
  return std::nullopt;
}

std::optional<std::vector<Dim>> InferContext::ShapeData(std::size_t i) const {
  if (!HasInput(i)) return std::nullopt;
  if (const Tensor* t = Constant(i); t != nullptr && t->count() > kMaxShapeData) return std::nullopt;
  if (const auto ints = ConstantInts(i)) return std::vector<Dim>(ints->begin(), ints->end());
  if (inputs_[i].shape_data != nullptr) return *inputs_[i].shape_data;
  const Type& type = inputs_[i].type;
  if (type.is_tensor() && type.has_rank && type.rank() == 1 && type.dims[0].known() && type.dims[0].number() >= 0 &&
      type.dims[0].number() <= kMaxShapeData)
    return std::vector<Dim>(static_cast<std::size_t>(type.dims[0].number()));
  return std::nullopt;
}

void InferContext::SetOutput(std::size_t i, DType dtype, std::vector<Dim> dims) {
  if (i < outputs_.size()) outputs_[i].type = Type::TensorOf(dtype, std::move(dims));
}
void InferContext::SetOutput(std::size_t i, DType dtype) {
  if (i < outputs_.size()) outputs_[i].type = Type::TensorOf(dtype);
}
void InferContext::SetOutputType(std::size_t i, Type type) {
  if (i < outputs_.size()) outputs_[i].type = std::move(type);
}
void InferContext::SetShapeData(std::size_t i, std::vector<Dim> elements) {
  if (i < outputs_.size() && elements.size() <= kMaxShapeData) outputs_[i].shape_data = std::move(elements);
}

std::vector<Type> InferContext::InferSubgraph(std::string_view attribute, std::span<const Type> inputs) const {
  if (GraphAttribute(attribute) == nullptr)
    Fail(Code::kInvalidGraph, "attribute '", attribute, "' (a graph) is required and missing");
  if (subgraph_ == nullptr) return std::vector<Type>(GraphAttribute(attribute)->outputs.size());
  return (*subgraph_)(attribute, inputs);
}

void InferSameAsInput(InferContext& c) {
  c.SetOutputType(0, c.InputType(0));
  if (auto data = c.ShapeData(0); data && c.InputType(0).is_tensor() && IsInteger(c.InputDType(0)))
    c.SetShapeData(0, std::move(*data));
}

std::vector<Dim> BroadcastDims(const InferContext& c, const std::vector<Dim>& a, const std::vector<Dim>& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  const auto filled = [rank](const std::vector<Dim>& dims) {
    std::vector<Dim> all(rank - dims.size(), Dim(1));
    all.insert(all.end(), dims.begin(), dims.end());
    return all;
  };
  const std::vector<Dim> xs = filled(a), ys = filled(b);
  std::vector<Dim> out(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const Dim &x = xs[i], &y = ys[i];
    if (x.known() && y.known() && x.number() != 1 && y.number() != 1 && x.number() != y.number()) {
      c.Fail(Code::kInvalidArgument,
             "shapes do not broadcast: ", Type::TensorOf(DType::kUndefined, a).ToText().substr(9), " and ",
             Type::TensorOf(DType::kUndefined, b).ToText().substr(9), " differ in dimension ",
             static_cast<std::int64_t>(i) - static_cast<std::int64_t>(rank), ": ", x.number(), " against ", y.number());
    }
    out[i] = BroadcastDim(x, y);
  }
  NameRowsOfSquare(xs, ys, out);
  return out;
}

static void InferBroadcastAs(InferContext& c, DType dtype) {
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < c.InputCount(); ++i) {
    if (!c.HasRank(i)) return c.SetOutput(0, dtype);
    dims = i == 0 ? c.InputDims(0) : BroadcastDims(c, dims, c.InputDims(i));
  }
  c.SetOutput(0, dtype, std::move(dims));
}

void InferBroadcast(InferContext& c) { InferBroadcastAs(c, c.InputDType(0)); }
void InferBroadcastBool(InferContext& c) { InferBroadcastAs(c, DType::kBool); }

std::size_t AxisOf(const AttributeReader& c, std::int64_t axis, std::size_t rank) {
  const auto r = static_cast<std::int64_t>(rank);
  if (axis < -r || axis >= r)
    c.Fail(Code::kInvalidArgument, "expected an axis in [", -r, ", ", r - 1, "] for rank ", r, ", found ", axis);
  return static_cast<std::size_t>(axis < 0 ? axis + r : axis);
}

}  // namespace sardonyx::ops
