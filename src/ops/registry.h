// ops/registry.h - a session's operators: the built-in tables, and the custom operators of sessions that have some.
#pragma once

#include <map>
#include <span>
#include <string>
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
  X(AttnLstm)              \
  X(BatchNorm)             \
  X(BiasGelu)              \
  X(BiasSoftmax)           \
  X(BifurcationDetector)   \
  X(Binary)                \
  X(Branches)              \
  X(Cast)                  \
  X(CausalConv)            \
  X(CenterCropPad)         \
  X(ChannelBias)           \
  X(Clip)                  \
  X(Col2Im)                \
  X(ComplexMul)            \
  X(ConcatSplit)           \
  X(Constant)              \
  X(ControlFlow)           \
  X(Conv)                  \
  X(ConvTranspose)         \
  X(Crop)                  \
  X(Cumulative)            \
  X(DeformConv)            \
  X(DepthSpace)            \
  X(Det)                   \
  X(Dropout)               \
  X(DynamicTimeWarping)    \
  X(Einsum)                \
  X(EmbedLayerNorm)        \
  X(Expand)                \
  X(ExpandedConv)          \
  X(FlexAttention)         \
  X(Experts)               \
  X(FourBitProduct)        \
  X(Gates)                 \
  X(Gather)                \
  X(GatherBlockQuantized)  \
  X(Gemm)                  \
  X(GlobalPool)            \
  X(GridSample)            \
  X(GroupNorm)             \
  X(GroupQueryAttention)   \
  X(Identity)              \
  X(ImageDecoder)          \
  X(InstanceNorm)          \
  X(Inverse)               \
  X(JoinedNBits)           \
  X(LayerNorm)             \
  X(LinearAttention)       \
  X(Loss)                  \
  X(MatMul)                \
  X(MatMulNBits)           \
  X(MaxPoolWithMask)       \
  X(MaxUnpool)             \
  X(MlCategories)          \
  X(MlFeatures)            \
  X(MlLinear)              \
  X(MlMaps)                \
  X(MlSvm)                 \
  X(MlTree)                \
  X(MultiHeadAttention)    \
  X(MurmurHash)            \
  X(Nchwc)                 \
  X(NGram)                 \
  X(NonMaxSuppression)     \
  X(Optional)              \
  X(OrderedInt8)           \
  X(PackedAttention)       \
  X(Pad)                   \
  X(Padding)               \
  X(ParametricSoftplus)    \
  X(Pool)                  \
  X(PositionBias)          \
  X(Pow)                   \
  X(ProjectedAttention)    \
  X(Quantize)              \
  X(QuantizedConv)         \
  X(QuantizedMatMul)       \
  X(Random)                \
  X(Recurrent)             \
  X(RealFourier)           \
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
  X(SparseAttention)       \
  X(SparseMatMul)          \
  X(Text)                  \
  X(TfIdf)                 \
  X(Tokenizer)             \
  X(TopK)                  \
  X(Training)              \
  X(Transpose)             \
  X(Unary)                 \
  X(UnaryTest)             \
  X(Unfold)                \
  X(Unique)                \
  X(Variadic)              \
  X(Where)                 \
  X(WordConvEmbedding)

// Marked as hot so that linkers put them side by side (no other function is marked): every process calls each of them,
// once, and code around each would become resident with it, 1.7 MB in all.
#define SDX_DECLARE(Family) [[gnu::hot]] std::span<const OpDef> Family##Ops();
SDX_OP_FAMILIES(SDX_DECLARE)
#undef SDX_DECLARE

class Registry {
 public:
  Registry();  // the built-in operators
  // Adds rows that are found before the built-in ones; the span must outlive the registry.
  void AddFirst(std::span<const OpDef> ops);
  // Adds an operator of a custom domain, which must outlive the registry. Nodes of `domain` and the row's name that
  // import the row's version or a newer one, up to that of the next row of the name, mean this operator. The row's own
  // domain is `domain`, or ReplacingDomain(domain) if a built-in operator has the name.
  void AddCustom(const OpDef& op, std::string_view domain);
  // The custom operator that a node of a model means: its newest version up to `opset`, the newest of all if the model
  // does not import the domain (0). nullptr if there is none.
  const OpDef* FindCustom(std::string_view domain, std::string_view name, std::int64_t opset) const;
  // The first version of each custom operator of this name.
  std::vector<int> CustomVersions(std::string_view domain, std::string_view name) const;
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
  std::map<std::pair<std::string, std::string>, std::vector<const OpDef*>> custom_;  // by the names in models
};

// In a session, nodes that a custom operator takes over from a built-in one of the same name have a domain of their
// own, so that nothing that knows the built-in operator by its name mistakes them for it.
std::string ReplacingDomain(std::string_view domain);
// The domain that the model's author wrote for a node of this one.
std::string_view AuthorsDomain(std::string_view domain);

}  // namespace sardonyx::ops
