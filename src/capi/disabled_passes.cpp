// capi/disabled_passes.cpp - the config entries that switch optimizer passes off, with ONNX Runtime's names or ours.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "capi/options.h"
#include "optimizer/pipeline.h"

namespace sardonyx::capi {
namespace {

// ONNX Runtime's transformers and the passes that do their work here, a row for each pair. Its names may end in a level
// ("GeluFusionL2"). Several of its names may stand for one pass, which is then off as a whole.
struct Alias {
  std::string_view theirs, ours;
};
constexpr Alias kAliases[] = {
    {"BiasGeluFusion", "fuse_product_epilogue"},
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
    {"ReshapeFusion", "fold_shapes"},
    {"SimplifiedLayerNormFusion", "fuse_layer_norm"},
    {"SkipLayerNormFusion", "fuse_skip_layer_norm"},
    {"TransposeOptimizer", "merge_views"},
    {"TransposeOptimizer", "move_views"},
    {"UnsqueezeElimination", "merge_views"},
};

// What makes integer operators of Quantize- and DequantizeLinear nodes.
constexpr std::string_view kQuantizationPasses[] = {
    "fuse_block_quantized_product", "fuse_lookup",       "fuse_quantized_operator",
    "fuse_quantized_product",       "move_quantization", "quantize_activations"};

bool Names(std::string_view name, const Alias& alias) {
  const bool has_level = name.size() == alias.theirs.size() + 2 && name[alias.theirs.size()] == 'L';
  return name == alias.theirs || (has_level && name.starts_with(alias.theirs));
}

}  // namespace

// A transformer of ONNX Runtime that we do not have is off already, so unknown names are no error.
void DisablePasses(runtime::SessionOptions& options) {
  const std::string list = options.Config("optimization.disable_specified_optimizers", "");
  const std::vector<optimizer::PassInfo> passes = optimizer::AllPasses();
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find_first_of(";,", begin), list.size());
    const std::string_view name = std::string_view(list).substr(begin, end - begin);
    for (const optimizer::PassInfo& pass : passes) {
      const bool named = std::any_of(std::begin(kAliases), std::end(kAliases),
                                     [&](const Alias& alias) { return alias.ours == pass.name && Names(name, alias); });
      if (named || pass.name == name) options.disabled_passes.emplace_back(pass.name);
    }
    begin = end + 1;
  }
  if (options.Config("session.disable_quant_qdq", "0") != "1") return;
  options.disabled_passes.insert(options.disabled_passes.end(), std::begin(kQuantizationPasses),
                                 std::end(kQuantizationPasses));
}

}  // namespace sardonyx::capi
