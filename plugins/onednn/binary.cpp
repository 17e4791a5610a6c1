// plugins/onednn/binary.cpp - arithmetic of two tensors, with broadcasting.
#include "binary.h"

#include <algorithm>

namespace sardonyx_onednn {
namespace {

Dims Padded(const Dims& dims, std::size_t rank) {
  Dims padded(rank - dims.size(), 1);
  padded.insert(padded.end(), dims.begin(), dims.end());
  return padded;
}

// Neighbouring axes that broadcast alike, as one: oneDNN is fast for few axes.
void Merge(const Dims& dims, const Dims& other, Dims& merged, Dims& merged_other) {
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    const bool repeats = other[i] == 1;
    if (!merged.empty() && repeats == (merged_other.back() == 1)) {
      merged.back() *= dims[i];
      merged_other.back() *= other[i];
    } else {
      merged.push_back(dims[i]);
      merged_other.push_back(other[i]);
    }
  }
  if (merged.empty()) merged = merged_other = {1};
}

// True if only axis 1 of `other` is longer than 1: a vector along the channels, or a scalar.
bool IsAlongChannels(const Dims& other) {
  for (std::size_t i = 0; i < other.size(); ++i)
    if (i != 1 && other[i] != 1) return false;
  return true;
}

using Description = dnnl::binary::primitive_desc;

std::optional<Description> Find(Builder& builder, dnnl::algorithm algorithm, const Desc& a, const Desc& b,
                                const Fusion* fusion) {
  dnnl::primitive_attr attributes;
  if (fusion != nullptr) attributes.set_post_ops(fusion->PostOps(false));
  return Describe<dnnl::binary>({algorithm, a, b, a}, attributes, builder.engine());
}

std::string BinaryRefusal(const Graph& graph, const Node& node) { return FloatsRefusal(graph, node); }

void BuildBinary(Builder& builder, const Node& node) {
  if (const auto chain = EltwiseOf(builder.graph(), node)) {
    Tensor tensor = builder.Float(node.inputs[chain->subject]);
    const Tensor result = builder.New(tensor.desc, tensor.dims);
    RunEltwise(builder, tensor, result, chain->functions[0]);
    return builder.Set(node.outputs[0], result);
  }
  const Tensor a = builder.Float(node.inputs[0]), b = builder.Float(node.inputs[1]);
  const Dims dims = BroadcastDims(builder, node, a.dims, b.dims);
  if (CountOf(dims) == 0) return builder.Set(node.outputs[0], builder.NewPlain(dims));
  Fusion fusion(builder, node.outputs[0], dims, {.desc_dims = dims, .channel = 0, .sum = false, .tensors = false});
  bool fused = false;
  const Tensor result = RunBinary(builder, node, BinaryAlgorithm(node.op_type), a, b, dims, &fusion, &fused);
  if (fused) fusion.Commit();
  builder.Set(fused ? fusion.value() : node.outputs[0], result);
}

constexpr Operator kOperators[] = {
    {"Add", 7, 14, false, BinaryRefusal, BuildBinary},
    {"Sub", 7, 14, false, BinaryRefusal, BuildBinary},
    {"Mul", 7, 14, false, BinaryRefusal, BuildBinary},
    {"Div", 7, 14, false, BinaryRefusal, BuildBinary},
};

}  // namespace

dnnl::algorithm BinaryAlgorithm(std::string_view op_type) {
  if (op_type == "Add") return dnnl::algorithm::binary_add;
  if (op_type == "Sub") return dnnl::algorithm::binary_sub;
  if (op_type == "Mul") return dnnl::algorithm::binary_mul;
  if (op_type == "Div") return dnnl::algorithm::binary_div;
  return dnnl::algorithm::undef;
}

Dims BroadcastDims(const Builder& builder, const Node& node, const Dims& a, const Dims& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  const Dims padded_a = Padded(a, rank), padded_b = Padded(b, rank);
  Dims dims;
  for (std::size_t i = 0; i < rank; ++i) {
    if (padded_a[i] != padded_b[i] && padded_a[i] != 1 && padded_b[i] != 1)
      builder.Fail(node, "expected shapes that broadcast, found " + Show(a) + " and " + Show(b));
    dims.push_back(padded_a[i] == 1 ? padded_b[i] : padded_a[i]);
  }
  return dims;
}

Tensor RunBinary(Builder& builder, const Node& node, dnnl::algorithm algorithm, Tensor a, Tensor b, const Dims& dims,
                 const Fusion* fusion, bool* fused) {
  const bool commutes = algorithm == dnnl::algorithm::binary_add || algorithm == dnnl::algorithm::binary_mul;
  if (commutes && Padded(a.dims, dims.size()) != dims) std::swap(a, b);
  if (Padded(a.dims, dims.size()) != dims) a = builder.Expanded(a, dims);
  if (a.dims != dims) a = builder.View(builder.Plain(a), dims);
  Dims other = Padded(b.dims, dims.size());
  Desc left = a.desc;
  Tensor right;
  const auto choose = [&] {
    if (other == dims) {
      if (b.dims != dims) b = builder.View(builder.Plain(b), dims);
      right = builder.As(b, a.desc);
      if (Builder::IsPlain(a.desc)) {
        left = Builder::PlainDesc({CountOf(dims)});
        right = builder.View(right, {CountOf(dims)});
      }
    } else if (!Builder::IsPlain(a.desc) && IsAlongChannels(other)) {
      right = builder.View(builder.Plain(b), other);
    } else {
      a = builder.Plain(a);
      Dims merged, merged_other;
      Merge(dims, other, merged, merged_other);
      left = Builder::PlainDesc(merged);
      right = builder.View(builder.Plain(b), merged_other);
    }
  };
  choose();
  std::optional<Description> found = Find(builder, algorithm, left, right.desc, nullptr);
  if ((!found || IsReference(*found)) && other != dims) {
    b = builder.Expanded(b, dims);
    other = dims;
    choose();
    found = Find(builder, algorithm, left, right.desc, nullptr);
  }
  if (!found) builder.Fail(node, "oneDNN has no primitive for " + Show(a.dims) + " and " + Show(b.dims));
  if (fusion != nullptr && !fusion->empty()) {
    const auto with_fusion = Find(builder, algorithm, left, right.desc, fusion);
    if (with_fusion && !IsReference(*with_fusion)) {
      found = with_fusion;
      *fused = true;
    }
  }
  Tensor source = a;
  source.desc = left;
  Tensor result = builder.New(found->dst_desc(), dims);
  builder.Run<dnnl::binary>(*found, {{DNNL_ARG_SRC_0, source}, {DNNL_ARG_SRC_1, right}, {DNNL_ARG_DST, result}});
  result.desc = a.desc;
  return result;
}

std::span<const Operator> BinaryOperators() { return kOperators; }

}  // namespace sardonyx_onednn
