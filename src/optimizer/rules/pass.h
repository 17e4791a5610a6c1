// optimizer/rules/pass.h - what a pass is: rules, or a function where rules are not enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/debug_build.h"
#include "base/joined_text.h"
#include "base/logging.h"
#include "base/parallel.h"
#include "optimizer/rules/explanation.h"
#include "optimizer/rules/rule.h"

namespace sardonyx::optimizer {

struct ExchangeOptions;  // optimizer/rules/exchange_options.h

enum class Level { kDisable = 0, kBasic = 1, kExtended = 2, kLayout = 3, kAll = 99 };  // ONNX Runtime's numbers

struct PassContext {
  const ops::Registry& registry;
  const Logger* logger = nullptr;
  // A folded value may not be larger than this unless it is smaller than its inputs.
  std::size_t max_fold_bytes = std::size_t{64} << 20;
  std::size_t fold_limit = SIZE_MAX;  // no folded value may be larger than this, whatever its inputs
  bool keep_dequantization = false;   // DequantizeLinear of a constant is not folded
  bool fold_half_weights = false;     // a Cast of weights of float16 is folded, although products read them as they are
  Parallel* parallel = nullptr;       // for folding
  // Transpositions of constants of at least this size that only matrix products read are left to fuse_matmul_transpose:
  // the product packs the constant where it lies, so no second copy is made of an embedding that is also the last
  // weight.
  std::size_t min_kept_transpose_bytes = SIZE_MAX;
  bool approximate_gelu = false;              // Gelu may become its tanh form
  bool clean_quantization = false;            // QuantizeLinear and DequantizeLinear pairs that only round may go
  std::int64_t block_product_accuracy = 4;    // accuracy_level that fuse_block_quantized_product sets
  const ExchangeOptions* exchange = nullptr;  // of a model that is written for ONNX Runtime
  bool checks_reports = kDebugBuild;          // a pass that changes the graph and does not say so is an error
  Explanation* explanation = nullptr;         // null unless somebody asked for this pass

  // Reports why a node that the pass looked at stays as it is. Returns false, so that a condition can end with it.
  template <typename... Parts>
  bool No(const Graph& graph, NodeId node, const Parts&... parts) const {
    if (explanation != nullptr) explanation->Left(Describe(graph, graph.node(node)), JoinedText(parts...), true);
    return false;
  }
  // The same for a node that is far from what the pass looks for: reported only to those who ask for this one pass.
  template <typename... Parts>
  bool FarFrom(const Graph& graph, NodeId node, const Parts&... parts) const {
    if (explanation != nullptr) explanation->Left(Describe(graph, graph.node(node)), JoinedText(parts...), false);
    return false;
  }
  // Reports more about what became of a node than its rewrite shows. Returns true.
  template <typename... Parts>
  bool Yes(const Graph& graph, NodeId node, const Parts&... parts) const {
    if (explanation != nullptr) explanation->Noted(Describe(graph, graph.node(node)), JoinedText(parts...));
    return true;
  }
};

// A pass that changes results runs only if the user asks for it.
struct Consent {
  bool PassContext::*given = nullptr;  // null: the pass needs none
  std::string_view config_key;         // the session's config entry that gives it
};

struct Pass {
  std::string_view name;  // for the log, explanations and disabled_passes
  Level level = Level::kBasic;
  std::span<const Rule> rules = {};
  bool (*run)(Graph&, PassContext&) = nullptr;  // true if it changed the graph
  Consent consent = {};
  bool takes_transposes = false;  // large transposed constants are folded only after it (min_kept_transpose_bytes)
  bool makes_candidates = false;  // if it changes the graph its stage starts again: earlier passes find more to do
};

}  // namespace sardonyx::optimizer
