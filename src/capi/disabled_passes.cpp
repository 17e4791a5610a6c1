// capi/disabled_passes.cpp - the config entries that switch optimizer passes off, with ONNX Runtime's names or ours.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "capi/options.h"
#include "optimizer/pipeline.h"

namespace sardonyx::capi {
namespace {

// ONNX Runtime's transformers that one of our passes stands for; its names may end in a level ("GeluFusionL2").
struct Alias {
  std::string_view theirs, ours;
};
constexpr Alias kAliases[] = {
    {"ConstantFolding", "fold_constants"},
    {"ConvBNFusion", "fuse_conv_batch_norm"},
    {"ConvBnFusion", "fuse_conv_batch_norm"},
    {"DynamicQuantizeMatMulFusion", "fuse_dynamic_quantization"},
    {"EliminateDropout", "eliminate_identity"},
    {"EliminateIdentity", "eliminate_identity"},
    {"GeluFusion", "fuse_gelu"},
    {"LayerNormFusion", "fuse_layer_norm"},
    {"MatMulIntegerToFloatFusion", "fuse_dynamic_quantization"},
    {"QDQPropagationTransformer", "move_quantization"},
    {"QDQSelectorActionTransformer", "fuse_lookup"},
    {"QDQSelectorActionTransformer", "fuse_quantized_operator"},
    {"QDQSelectorActionTransformer", "fuse_quantized_product"},
    {"ReluQuantFusion", "quantize_activations"},
};

// What makes integer operators of Quantize- and DequantizeLinear nodes.
constexpr std::string_view kQuantizationPasses[] = {"fuse_lookup", "fuse_quantized_operator", "fuse_quantized_product",
                                                    "move_quantization", "quantize_activations"};

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
