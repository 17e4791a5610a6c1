// ops/errors/error_codes.cpp - which operators of ONNX Runtime call wrong inputs of a run invalid arguments.
#include "ops/errors/error_codes.h"

#include <algorithm>
#include <string_view>

#include "ir/node_error.h"
#include "ops/errors/late_errors.h"

namespace sardonyx::ops {
namespace {

struct Named {
  std::string_view domain, op_type;
  friend constexpr auto operator<=>(const Named&, const Named&) = default;
};

// tests/python/test_error_codes.py compares them with ONNX Runtime's.
constexpr Named kInvalidArguments[] = {
    {"", "AffineGrid"},
    {"", "ConvTranspose"},
    {"", "CumSum"},
    {"", "DepthToSpace"},
    {"", "Einsum"},
    {"", "Expand"},
    {"", "GRU"},
    {"", "Gather"},
    {"", "GatherElements"},
    {"", "GatherND"},
    {"", "Gemm"},
    {"", "ImageDecoder"},  // ONNX Runtime has no kernel: damaged images are wrong arguments as damaged text is
    {"", "InstanceNormalization"},
    {"", "LSTM"},
    {"", "LayerNormalization"},
    {"", "MaxUnpool"},
    {"", "OneHot"},
    {"", "RMSNormalization"},
    {"", "RNN"},
    {"", "Range"},
    {"", "ReverseSequence"},
    {"", "RoiAlign"},
    {"", "RotaryEmbedding"},
    {"", "Scatter"},
    {"", "ScatterElements"},
    {"", "ScatterND"},
    {"", "SequenceAt"},
    {"", "SequenceErase"},
    {"", "SequenceInsert"},
    {"", "Slice"},
    {"", "SpaceToDepth"},
    {"", "SplitToSequence"},
    {"", "Tile"},
    {"ai.onnx.ml", "ArrayFeatureExtractor"},
    {"com.microsoft", "Attention"},
    {"com.microsoft", "BiasGelu"},
    {"com.microsoft", "DecoderMaskedMultiHeadAttention"},
    {"com.microsoft", "EmbedLayerNormalization"},
    {"com.microsoft", "FastGelu"},
    {"com.microsoft", "GatherND"},
    {"com.microsoft", "GroupQueryAttention"},
    {"com.microsoft", "MoE"},
    {"com.microsoft", "QAttention"},
    {"com.microsoft", "QMoE"},
    {"com.microsoft", "RotaryEmbedding"},
    {"com.microsoft", "SkipLayerNormalization"},
    {"com.microsoft", "SkipSimplifiedLayerNormalization"},
    {"com.microsoft", "Tokenizer"},
};
static_assert(std::ranges::is_sorted(kInvalidArguments));

// Their kernels leave the exceptions of the standard library alone.
constexpr Named kRuntimeExceptions[] = {{"", "ArgMax"}, {"", "ArgMin"}, {"", "Cast"}, {"", "CastLike"}};
static_assert(std::ranges::is_sorted(kRuntimeExceptions));

Code CodeOfWrongInputs(const Node& node) {
  // Layout passes move operators there, which keep their codes.
  const std::string_view domain = node.domain == "com.ms.internal.nhwc" ? std::string_view() : node.domain;
  const Named name{domain, node.op_type};
  if (std::ranges::binary_search(kInvalidArguments, name)) return Code::kInvalidArgument;
  return std::ranges::binary_search(kRuntimeExceptions, name) ? Code::kRuntimeException : Code::kFail;
}

Code CodeInRun(const Node& node, const Error& error) {
  const std::optional<LateError> late = FindLateError(node, error);
  return late && late->code ? *late->code : CodeOfWrongInputs(node);
}

bool IsOfInputs(const Graph& graph, const Node& node, const OpDef& op, const Error& error) {
  const bool wrong = error.code() == Code::kInvalidArgument || error.code() == Code::kInvalidGraph;
  if (!wrong || (op.traits & kCustom) != 0 || IsPostponed(node)) return false;
  return !NamesNode(error) || std::string_view(error.what()).starts_with(ErrorPrefix(graph, node));
}

}  // namespace

Error AsLoadError(const Graph& graph, const Node& node, const OpDef& op, const Error& error) {
  return AtNode(graph, node, IsOfInputs(graph, node, op, error) ? Error(Code::kFail, error.what()) : error);
}

Error AsRunError(const Graph& graph, const Node& node, const OpDef& op, const Error& error) {
  return AtNode(graph, node, IsOfInputs(graph, node, op, error) ? Error(CodeInRun(node, error), error.what()) : error);
}

std::optional<Error> AsLateError(const Graph& graph, const Node& node, const Node& newest, const OpDef& op,
                                 const Error& error) {
  if (!IsOfInputs(graph, newest, op, error) || !FindLateError(node, error)) return std::nullopt;
  return AtNode(graph, newest, Error(CodeInRun(node, error), error.what()));
}

}  // namespace sardonyx::ops
