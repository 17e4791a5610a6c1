// plugins/onednn/matmul.cpp - MatMul and Gemm.
#include <algorithm>
#include <cstring>

#include "binary.h"
#include "product.h"

namespace sardonyx_onednn {
namespace {

using Tag = dnnl::memory::format_tag;

auto DescribeMatMul = [](const Desc& from, const Desc& by, const Desc* bias, const Desc& to) {
  return bias == nullptr ? dnnl::matmul::desc(from, by, to) : dnnl::matmul::desc(from, by, *bias, to);
};

// A sum of no products.
void SetZero(Builder& builder, const Node& node, const Dims& dims) {
  const Tensor result = builder.NewPlain(dims);
  const auto size = static_cast<std::size_t>(CountOf(dims)) * sizeof(float);
  builder.Native([size](std::span<void* const> places) { std::memset(places[0], 0, size); }, {result});
  builder.Set(node.outputs[0], result);
}

std::string MatMulRefusal(const Graph& graph, const Node& node) {
  if (const std::string refusal = FloatsRefusal(graph, node); !refusal.empty()) return refusal;
  return HasRank(graph, node.inputs[0], 1) && HasRank(graph, node.inputs[1], 1) ? "" : "a scalar";
}

Dims DimsOf(Builder& builder, int value) {
  const auto quantized = builder.Quantized(value);
  return quantized ? quantized->integers->dims : builder.Raw(value).dims;
}

struct MatMulShapes {
  Dims a, b, result;  // as the primitive sees them, all of one rank
  Dims dims;          // of the result in the model
};

MatMulShapes ShapesOf(const Builder& builder, const Node& node, const Dims& a_dims, const Dims& b_dims) {
  MatMulShapes shapes;
  const bool row = a_dims.size() == 1, column = b_dims.size() == 1;
  const Dims a = row ? Dims{1, a_dims[0]} : a_dims, b = column ? Dims{b_dims[0], 1} : b_dims;
  const std::int64_t m = a[a.size() - 2], k = a.back(), n = b.back();
  if (b[b.size() - 2] != k)
    builder.Fail(node, "expected inner dimensions that are equal, found " + Show(a_dims) + " x " + Show(b_dims));
  const std::size_t batch = std::max(a.size(), b.size()) - 2;
  Dims a_batch(batch + 2 - a.size(), 1), b_batch(batch + 2 - b.size(), 1);
  a_batch.insert(a_batch.end(), a.begin(), a.end() - 2);
  b_batch.insert(b_batch.end(), b.begin(), b.end() - 2);
  for (std::size_t i = 0; i < batch; ++i) {
    if (a_batch[i] != b_batch[i] && a_batch[i] != 1 && b_batch[i] != 1)
      builder.Fail(node, "expected shapes that broadcast, found " + Show(a_dims) + " x " + Show(b_dims));
    shapes.dims.push_back(a_batch[i] == 1 ? b_batch[i] : a_batch[i]);
  }
  shapes.result = shapes.dims;
  if (!row) shapes.dims.push_back(m);
  if (!column) shapes.dims.push_back(n);
  if (CountOf(b_batch) == 1) {  // one matrix for all rows
    const std::int64_t rows = CountOf(a_batch) * m;
    shapes.a = {rows, k};
    shapes.b = {k, n};
    shapes.result = {rows, n};
    return shapes;
  }
  shapes.result.insert(shapes.result.end(), {m, n});
  shapes.a = a_batch;
  shapes.a.insert(shapes.a.end(), {m, k});
  shapes.b = b_batch;
  shapes.b.insert(shapes.b.end(), {k, n});
  return shapes;
}

void BuildMatMul(Builder& builder, const Node& node) {
  const Dims a = DimsOf(builder, node.inputs[0]), b = DimsOf(builder, node.inputs[1]);
  const MatMulShapes shapes = ShapesOf(builder, node, a, b);
  if (CountOf(shapes.dims) == 0) return builder.Set(node.outputs[0], builder.NewPlain(shapes.dims));
  if (shapes.a.back() == 0) return SetZero(builder, node, shapes.dims);
  Product product;
  product.input = node.inputs[0];
  product.weights = node.inputs[1];
  product.output = node.outputs[0];
  product.dims = shapes.dims;
  product.channel = shapes.result.size() - 1;
  product.weights_axis = static_cast<std::int64_t>(b.size()) - 1;
  product.plain = true;
  product.fuse = a.size() > 1 && b.size() > 1;
  product.input_desc = Builder::PlainDesc(shapes.a);
  product.result_desc = Builder::PlainDesc(shapes.result);
  product.bias_dims = Dims(shapes.result.size(), 1);
  product.bias_dims.back() = shapes.result.back();
  const bool constant = builder.graph().ConstantOf(node.inputs[1]) != nullptr || builder.Quantized(node.inputs[1]);
  product.weights_desc = constant ? Desc(shapes.b, DataType::f32, Tag::any) : Builder::PlainDesc(shapes.b);
  product.view_input = [&](const Tensor& tensor) { return builder.View(builder.Plain(tensor), shapes.a); };
  product.view_weights = [&](const Tensor& tensor) { return builder.View(builder.Plain(tensor), shapes.b); };
  // A matrix that is a transposed view is multiplied as it lies.
  for (const bool first : {true, false}) {
    const int value = node.inputs[first ? 0 : 1];
    if (constant && !first) continue;
    const Tensor& raw = builder.Raw(value);
    const Dims& wanted = first ? shapes.a : shapes.b;
    if (Builder::IsPlain(raw.desc) || raw.desc.dims() != wanted || wanted.size() < 2) continue;
    const auto& strides = raw.desc.data.format_desc.blocking.strides;
    if (raw.desc.data.format_desc.blocking.inner_nblks != 0 ||
        (strides[wanted.size() - 1] != 1 && strides[wanted.size() - 2] != 1))
      continue;
    (first ? product.input_desc : product.weights_desc) = WithType(raw.desc, DataType::f32);
    (first ? product.view_input : product.view_weights) = [](const Tensor& tensor) { return tensor; };
  }
  RunProduct<dnnl::matmul>(builder, node, product, DescribeMatMul);
}

std::string GemmRefusal(const Graph& graph, const Node& node) {
  if (const std::string refusal = FloatsRefusal(graph, node); !refusal.empty()) return refusal;
  return HasRank(graph, node.inputs[0], 2, 2) && HasRank(graph, node.inputs[1], 2, 2) ? "" : "not matrices";
}

// A matrix read with its axes exchanged, where it lies.
Tensor Transposed(Builder& builder, const Tensor& tensor) {
  Tensor view = builder.Plain(tensor);
  view.dims = {view.dims[1], view.dims[0]};
  view.desc =
      Desc(view.dims, static_cast<DataType>(view.desc.data.data_type), {1, std::max<std::int64_t>(view.dims[0], 1)});
  return view;
}

void BuildGemm(Builder& builder, const Node& node) {
  Dims a = DimsOf(builder, node.inputs[0]), b = DimsOf(builder, node.inputs[1]);
  const bool a_transposed = node.Int("transA", 0) != 0, b_transposed = node.Int("transB", 0) != 0;
  if (a_transposed) std::swap(a[0], a[1]);
  if (b_transposed) std::swap(b[0], b[1]);
  const Dims dims{a[0], b[1]};
  if (a[1] != b[0]) builder.Fail(node, "expected inner dimensions that are equal, found " + Show(a) + " x " + Show(b));
  const float alpha = node.Float("alpha", 1), beta = node.Float("beta", 1);
  const int addend = node.Input(2);
  Dims addend_dims;
  if (addend >= 0) addend_dims = DimsOf(builder, addend);
  const bool is_bias = alpha == 1 && beta == 1 && addend >= 0 && !addend_dims.empty() && addend_dims.back() == b[1] &&
                       CountOf(addend_dims) == b[1];
  const bool simple = alpha == 1 && (addend < 0 || is_bias);
  if (CountOf(dims) == 0) return builder.Set(node.outputs[0], builder.NewPlain(dims));
  if (a[1] == 0) {
    SetZero(builder, node, dims);
  } else {
    Product product;
    product.input = node.inputs[0];
    product.weights = node.inputs[1];
    product.bias = is_bias ? addend : -1;
    product.output = node.outputs[0];
    product.dims = dims;
    product.weights_axis = b_transposed ? 0 : 1;
    product.plain = true;
    product.fuse = simple;
    product.input_desc = Builder::PlainDesc(a);
    product.weights_desc = {b, DataType::f32, Tag::any};
    product.result_desc = Builder::PlainDesc(dims);
    product.bias_dims = {1, b[1]};
    product.view_input = [&](const Tensor& tensor) {
      return a_transposed ? Transposed(builder, tensor) : builder.Plain(tensor);
    };
    product.view_weights = [&](const Tensor& tensor) {
      return b_transposed ? Transposed(builder, tensor) : builder.Plain(tensor);
    };
    RunProduct<dnnl::matmul>(builder, node, product, DescribeMatMul);
    if (simple) return;
  }
  Tensor result = builder.Float(node.outputs[0]);
  const auto scaled = [&](const Tensor& tensor, float factor) {
    if (factor == 1) return tensor;
    const Tensor product = builder.New(tensor.desc, tensor.dims);
    RunEltwise(builder, tensor, product, {dnnl::algorithm::eltwise_linear, factor, 0});
    return product;
  };
  result = scaled(result, alpha);
  if (addend >= 0 && beta != 0)
    result = RunBinary(builder, node, dnnl::algorithm::binary_add, result, scaled(builder.Float(addend), beta), dims);
  builder.Set(node.outputs[0], result);
}

constexpr Operator kOperators[] = {
    {"MatMul", 1, 13, true, MatMulRefusal, BuildMatMul},
    {"Gemm", 7, 13, true, GemmRefusal, BuildGemm},
};

}  // namespace

std::span<const Operator> MatMulOperators() { return kOperators; }

}  // namespace sardonyx_onednn
