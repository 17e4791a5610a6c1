// ops/registry.h - a session's operators: the rows of custom domains first, then the built-in tables.
#pragma once

#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ops/op_def.h"

namespace sardonyx::ops {

// The operator families, one word each: X(Unary) declares UnaryOps(), the table at the end of unary.cpp.
#define SDX_OP_FAMILIES(X) \
  X(ArgMinMax)             \
  X(Attention)             \
  X(BatchNorm)             \
  X(BiasGelu)              \
  X(Binary)                \
  X(Cast)                  \
  X(CausalConv)            \
  X(CenterCropPad)         \
  X(Clip)                  \
  X(Col2Im)                \
  X(ConcatSplit)           \
  X(Constant)              \
  X(ControlFlow)           \
  X(Conv)                  \
  X(ConvTranspose)         \
  X(Cumulative)            \
  X(DeformConv)            \
  X(DepthSpace)            \
  X(Det)                   \
  X(Dropout)               \
  X(Einsum)                \
  X(EmbedLayerNorm)        \
  X(Expand)                \
  X(Gather)                \
  X(GatherBlockQuantized)  \
  X(Gemm)                  \
  X(GlobalPool)            \
  X(GridSample)            \
  X(GroupQueryAttention)   \
  X(Identity)              \
  X(InstanceNorm)          \
  X(LayerNorm)             \
  X(LinearAttention)       \
  X(Loss)                  \
  X(MatMul)                \
  X(MatMulNBits)           \
  X(MaxUnpool)             \
  X(MlCategories)          \
  X(MlFeatures)            \
  X(MlLinear)              \
  X(MlMaps)                \
  X(MlSvm)                 \
  X(MlTree)                \
  X(MultiHeadAttention)    \
  X(NonMaxSuppression)     \
  X(Optional)              \
  X(Pad)                   \
  X(Pool)                  \
  X(Pow)                   \
  X(ProjectedAttention)    \
  X(Quantize)              \
  X(QuantizedConv)         \
  X(QuantizedMatMul)       \
  X(Random)                \
  X(Recurrent)             \
  X(Reduce)                \
  X(Region)                \
  X(Resize)                \
  X(RotaryEmbedding)       \
  X(Scan)                  \
  X(Scatter)               \
  X(Selection)             \
  X(Sequence)              \
  X(Shape)                 \
  X(Signal)                \
  X(Slice)                 \
  X(Softmax)               \
  X(Text)                  \
  X(TfIdf)                 \
  X(Tokenizer)             \
  X(TopK)                  \
  X(Training)              \
  X(Transpose)             \
  X(Unary)                 \
  X(UnaryTest)             \
  X(Unique)                \
  X(Variadic)              \
  X(Where)

#define SDX_DECLARE(Family) std::span<const OpDef> Family##Ops();
SDX_OP_FAMILIES(SDX_DECLARE)
#undef SDX_DECLARE

class Registry {
 public:
  Registry();  // the built-in operators
  // Adds rows that are found before the built-in ones; the span must outlive the registry.
  void AddFirst(std::span<const OpDef> ops);
  // The row that covers the version; nullptr if no row does.
  const OpDef* Find(std::string_view domain, std::string_view name, int since_version) const;
  // False if the operator's newest version is another row's: an upgrade to this row's semantics does not end there.
  bool IsNewest(const OpDef& op) const { return !superseded_.contains(&op); }
  // True if any row has this name, whatever its version.
  bool HasName(std::string_view domain, std::string_view name) const;
  std::vector<const OpDef*> All() const;  // sorted by domain and name

 private:
  using Name = std::pair<std::string_view, std::string_view>;  // domain and name, which the rows own
  struct Hash {
    std::size_t operator()(const Name& name) const;
  };
  void Add(std::span<const OpDef> ops, bool first);
  std::unordered_map<Name, std::vector<const OpDef*>, Hash> rows_;
  std::unordered_set<const OpDef*> superseded_;
};

}  // namespace sardonyx::ops
