// capi/disabled_passes.cpp - the config entry that switches optimizer passes off, with ONNX Runtime's names or ours.
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
    {"ConstantFolding", "fold_constants"},      {"EliminateIdentity", "eliminate_identity"},
    {"EliminateDropout", "eliminate_identity"}, {"ConvBNFusion", "fuse_conv_batch_norm"},
    {"ConvBnFusion", "fuse_conv_batch_norm"},   {"GeluFusion", "fuse_gelu"},
    {"LayerNormFusion", "fuse_layer_norm"},
};

std::string_view PassNamed(std::string_view name) {
  for (const Alias& alias : kAliases) {
    if (name == alias.theirs) return alias.ours;
    const bool has_level = name.size() == alias.theirs.size() + 2 && name[alias.theirs.size()] == 'L';
    if (has_level && name.substr(0, alias.theirs.size()) == alias.theirs) return alias.ours;
  }
  return name;
}

}  // namespace

// A transformer of ONNX Runtime that we do not have is off already, so unknown names are no error.
void DisablePasses(runtime::SessionOptions& options) {
  const std::string list = options.Config("optimization.disable_specified_optimizers", "");
  const std::vector<optimizer::PassInfo> passes = optimizer::AllPasses();
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find_first_of(";,", begin), list.size());
    const std::string_view name = PassNamed(std::string_view(list).substr(begin, end - begin));
    for (const optimizer::PassInfo& pass : passes) {
      if (pass.name == name) options.disabled_passes.emplace_back(name);
    }
    begin = end + 1;
  }
}

}  // namespace sardonyx::capi
