// runtime/disabled_passes.cpp - the config entries that switch optimizer passes off, with ONNX Runtime's names or ours.
#include "runtime/disabled_passes.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "optimizer/pipeline.h"

namespace sardonyx::runtime {
namespace {

// ONNX Runtime's transformers and the passes that do their work here, a row for each pair. Its names may end in a level
// ("GeluFusionL2"). Several of its names may stand for one pass, which is then off as a whole.
struct Alias {
  std::string_view theirs, ours;
};
constexpr Alias kAliases[] = {
    {"BiasGeluFusion", "fuse_product_epilogue"},
    {"ClipQuantFusion", "quantize_activations"},
    {"ClipQuantRewrite", "quantize_activations"},
    {"ConstantFoldingDQ", "fold_constants"},
    {"ConstantSharing", "eliminate_common_subexpressions"},
    {"DQMatMulNBitsFusion", "fuse_block_quantized_product"},
    {"DQMatMulToMatMulNBits", "fuse_block_quantized_product"},
    {"DoubleQDQPairsRemover", "fuse_lookup"},
    {"BiasSkipLayerNormFusion", "fuse_skip_layer_norm"},
    {"AttentionFusion", "fuse_attention"},
    {"CastChainElimination", "eliminate_casts"},
    {"CastElimination", "eliminate_casts"},
    {"CommonSubexpressionElimination", "eliminate_common_subexpressions"},
    {"ConstantFolding", "fold_constants"},
    {"ConstantFolding", "inline_bodies"},
    {"ConvActivationFusion", "fuse_conv_activation"},
    {"ConvAddActivationFusion", "fuse_conv_activation"},
    {"ConvAddFusion", "fuse_conv_scale"},
    {"ConvBNFusion", "fuse_conv_batch_norm"},
    {"ConvBnFusion", "fuse_conv_batch_norm"},
    {"ConvMulFusion", "fuse_conv_scale"},
    {"DivMulFusion", "simplify_nodes"},
    {"DynamicQuantizeMatMulFusion", "fuse_dynamic_quantization"},
    {"EliminateDropout", "eliminate_dropout"},
    {"EliminateIdentity", "eliminate_identity"},
    {"EliminateSlice", "simplify_slices"},
    {"EmbedLayerNormFusion", "fuse_embed_layer_norm"},
    {"ExpandElimination", "simplify_nodes"},
    {"FastGeluFusion", "fuse_gelu"},
    {"FuseReluClip", "fuse_relu_clip"},
    {"GatherSliceToSplitFusion", "simplify_slices"},
    {"GatherToSliceFusion", "simplify_slices"},
    {"GatherToSplitFusion", "simplify_slices"},
    {"GeluApproximation", "approximate_gelu"},
    {"GeluFusion", "fuse_gelu"},
    {"GemmActivationFusion", "fuse_product_epilogue"},
    {"GemmSumFusion", "simplify_nodes"},
    {"GemmTransposeFusion", "fuse_matmul_transpose"},
    {"GroupQueryAttentionFusion", "fuse_attention"},
    {"LayerNormFusion", "fuse_layer_norm"},
    {"MatMulActivationFusion", "fuse_product_epilogue"},
    {"MatMulAddFusion", "fuse_matmul_add"},
    {"MatMulAddFusion", "fuse_product_epilogue"},
    {"MatMulIntegerToFloatFusion", "fuse_dynamic_quantization"},
    {"MatMulNBitsFusion", "fuse_block_quantized_bias"},
    {"MatMulScaleFusion", "fuse_matmul_transpose"},
    {"MatMul_BatchNormalization_Fusion", "fuse_product_batch_norm"},
    {"MatmulTransposeFusion", "fuse_matmul_transpose"},
    {"NchwcTransformer", "change_layout"},
    {"NhwcTransformer", "change_layout"},
    {"NoopElimination", "simplify_nodes"},
    {"NotWhereFusion", "simplify_nodes"},
    {"Pad_Fusion", "fuse_pad"},
    {"PreShapeNodeElimination", "eliminate_casts"},
    {"QDQFinalCleanupTransformer", "eliminate_quantization"},
    {"QDQPropagationTransformer", "move_quantization"},
    {"QDQSelectorActionTransformer", "fuse_block_quantized_product"},
    {"QDQSelectorActionTransformer", "fuse_quantized_operator"},
    {"QDQSelectorActionTransformer", "fuse_quantized_product"},
    {"QDQSelectorActionTransformer", "fuse_lookup"},
    {"QuickGeluFusion", "fuse_gelu"},
    {"ReluQuantFusion", "quantize_activations"},
    {"ReluQuantRewrite", "quantize_activations"},
    {"ReshapeFusion", "fold_shapes"},
    {"SimplifiedLayerNormFusion", "fuse_layer_norm"},
    {"SkipLayerNormFusion", "fuse_skip_layer_norm"},
    {"TransposeOptimizer", "merge_views"},
    {"TransposeOptimizer", "move_views"},
    {"UnsqueezeElimination", "merge_views"},
    {"WeightBiasQuantization", "quantize_weights"},
};

// Its transformers whose work is never done here, or always (docs/optimizer.md says which and why): they may be named.
constexpr std::string_view kWithoutCounterpart[] = {
    "Avx2WeightS8ToU8Transformer",
    "BiasDropoutFusion",
    "BiasSoftmaxFusion",
    "CastFloat16Transformer",
    "EnsureUniqueDQForNodeUnit",
    "FreeDimensionOverrideTransformer",
    "FuseFp16InitializerToFp32NodeTransformer",
    "GqaValueLayoutTransformer",
    "GroupQueryAttentionPreNormFusion",
    "InsertCastTransformer",
    "LabelEncoderFusion",
    "MatMulNBitsMlpFusion",
    "MatMulNBitsQkvFusion",
    "MemcpyTransformer",
    "QDQS8ToU8Transformer",
    "RemoveDuplicateCastTransformer",
    "RocmBlasAltImpl",
    "SliceConcatToSpaceToDepthFusion",
    "WhereDummyDq",
};

// What makes integer operators of Quantize- and DequantizeLinear nodes.
constexpr std::string_view kQuantizationPasses[] = {
    "fuse_block_quantized_product", "fuse_lookup",          "fuse_quantized_operator", "fuse_quantized_product",
    "move_quantization",            "quantize_activations", "quantize_weights"};

bool Names(std::string_view name, std::string_view theirs) {
  const bool has_level = name.size() == theirs.size() + 2 && name[theirs.size()] == 'L';
  return name == theirs || (has_level && name.starts_with(theirs));
}
bool Names(std::string_view name, const Alias& alias) { return Names(name, alias.theirs); }

// The names of the list, without blanks around them.
std::vector<std::string> DisabledNames(const SessionOptions& options) {
  const std::string list = options.Config("optimization.disable_specified_optimizers", "");
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find_first_of(";,", begin), list.size());
    const std::size_t first = list.find_first_not_of(' ', begin), last = list.find_last_not_of(' ', end - 1);
    if (first < end) names.push_back(list.substr(first, last + 1 - first));
    begin = end + 1;
  }
  return names;
}

bool IsKnown(const std::string& name, const std::vector<optimizer::PassInfo>& passes) {
  const auto names = [&](const auto& theirs) { return Names(name, theirs); };
  return std::any_of(std::begin(kAliases), std::end(kAliases), names) ||
         std::any_of(std::begin(kWithoutCounterpart), std::end(kWithoutCounterpart), names) ||
         std::any_of(passes.begin(), passes.end(), [&](const optimizer::PassInfo& pass) { return pass.name == name; });
}

}  // namespace

void DisablePasses(SessionOptions& options) {
  const std::vector<optimizer::PassInfo> passes = optimizer::AllPasses();
  for (const std::string& name : DisabledNames(options)) {
    for (const optimizer::PassInfo& pass : passes) {
      const bool named = std::any_of(std::begin(kAliases), std::end(kAliases),
                                     [&](const Alias& alias) { return alias.ours == pass.name && Names(name, alias); });
      if (named || pass.name == name) options.disabled_passes.emplace_back(pass.name);
    }
  }
  if (options.Config("session.disable_quant_qdq", "0") != "1") return;
  options.disabled_passes.insert(options.disabled_passes.end(), std::begin(kQuantizationPasses),
                                 std::end(kQuantizationPasses));
}

void WarnOfDisabledNames(const SessionOptions& options, const Logger& logger) {
  const std::vector<optimizer::PassInfo> passes = optimizer::AllPasses();
  std::vector<std::string> known;
  for (const optimizer::PassInfo& pass : passes) known.emplace_back(pass.name);
  for (const Alias& alias : kAliases) known.emplace_back(alias.theirs);
  known.insert(known.end(), std::begin(kWithoutCounterpart), std::end(kWithoutCounterpart));
  for (const std::string& name : DisabledNames(options)) {
    if (IsKnown(name, passes)) continue;
    const std::string closest = ClosestName(name, known);
    logger.Warn("there is no optimizer '", name, "' to switch off",
                closest.empty() ? "" : "; did you mean '" + closest + "'?");
  }
}

}  // namespace sardonyx::runtime
